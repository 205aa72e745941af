"""Accounts are added, rotated and removed under load: nobody waits, nothing is lost, and nobody else is cut off."""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Callable
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path

import nats
import pytest
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.errors import Error as NatsError
from reporting import ROOT, service_process, sized_stream, wait_until_ready
from secured_nats import Secured, secured_server

from lictor.errors import LictorError
from lictor.event_publishing import read_event, store_event
from lictor_bus.names import subjects
from lictor_bus.names.roles import roles
from lictor_bus.wire.connection import TolerantClient, connect_nats, url_in_file
from lictor_local.accounts import Accounts, AccountsFolder
from lictor_local.embedded_servers import Endpoints
from lictor_local.permission import is_permitted

EVENT: dict[str, object] = {
    "event_id": "e",
    "event_type": "task_started",
    "adapter_version": "1",
    "agent_id": "agent",
    "timestamp": "2026-01-31T12:00:00Z",
    "payload": {
        "title": "t",
        "mode": "interactive",
        "workflow_shape": "single-agent",
        "channel": "terminal",
    },
    "evidence_refs": [],
    "operator_context": {"channel": "terminal"},
}


class Reporting:
    """A runtime that reports all the time, each event of a task of its own, until it is stopped."""

    def __init__(self, client: Client, runtime: str) -> None:
        self._client = client
        self._runtime = runtime
        self._stopped = False
        self.stored = 0
        self._task = asyncio.create_task(self._report())

    async def _report(self) -> None:
        while not self._stopped:
            task = f"{self._runtime}-{self.stored}"
            event = {**EVENT, "runtime": self._runtime, "task_id": task, "correlation_id": task}
            # Without a limit of its own: it is about whether events get through, not how fast.
            await store_event(self._client, read_event(event), timeout_s=120)
            self.stored += 1

    async def more(self, count: int = 50) -> None:
        """Wait until that many more are stored."""
        wanted = self.stored + count
        async with asyncio.timeout(120):
            while self.stored < wanted and not self._task.done():
                await asyncio.sleep(0.01)
        if self._task.done():
            await self._task

    async def stop(self) -> None:
        self._stopped = True
        await self._task


async def change(
    secured: Secured, how: Callable[[Accounts], Accounts], role: str, *, ends: bool = False
) -> None:
    """Change the accounts of the running server, and wait until it has read them."""
    before = secured.folder.read()
    secured.change(how)
    url = before.url(role, newest=False) if ends else secured.url(role)
    async with asyncio.timeout(60):
        while await is_permitted(url) == ends:
            await asyncio.sleep(0.02)
    # Twice, as `lictor up` does it: the server uses the imports of a new account from its next reload on.
    secured.reload()


async def follow_credential(secured: Secured, role: str) -> TolerantClient:
    """As services and the SDK connect: by a file that is read again."""
    where = partial(url_in_file, secured.folder.credential(role))
    return await connect_nats(where, name="test")


async def test_no_event_is_lost_and_no_decision_missed_while_accounts_change(
    clean_infra: Endpoints, tmp_path: Path
) -> None:
    async with AsyncExitStack() as running:
        secured = await running.enter_async_context(secured_server(clean_infra, tmp_path))
        ops = await connect_nats(secured.url("ops"), name="test")
        running.push_async_callback(ops.close)
        evaluator = secured.folder.credential("policy-evaluator")
        await running.enter_async_context(
            service_process(
                "lictor_policy_evaluator",
                secured.endpoints("policy-evaluator"),
                LICTOR_NATS_URL="",
                LICTOR_NATS_URL_FILE=str(evaluator),
            )
        )
        await wait_until_ready(ops, "policy-evaluator")
        switches = await sized_stream(ops, "EVENTS")
        own = await follow_credential(secured, "openclaw")
        running.push_async_callback(own.close)
        cut_off: list[str] = []

        async def on_disconnected() -> None:
            cut_off.append("codex")

        other = await nats.connect(
            secured.url("codex"),
            disconnected_cb=on_disconnected,
            inbox_prefix=subjects.inboxes("codex"),
        )
        running.push_async_callback(other.close)
        changed, unchanged = Reporting(own, "openclaw"), Reporting(other, "codex")

        await changed.more()
        await change(secured, lambda it: it.completed(["newcomer"]), "newcomer")
        newcomer = await follow_credential(secured, "newcomer")
        running.push_async_callback(newcomer.close)
        added = Reporting(newcomer, "newcomer")
        await added.more()
        for role in ("openclaw", "policy-evaluator"):
            await change(secured, lambda it, role=role: it.rotated(role), role)
            await changed.more()
            # Whoever is connected under the old password still is.
            assert await is_permitted(secured.folder.read().url(role, newest=False))
            await change(secured, lambda it, role=role: it.retired(role), role, ends=True)
            await changed.more()
            await unchanged.more()
        await added.stop()
        await change(secured, lambda it: it.without("newcomer"), "newcomer", ends=True)
        await changed.more()
        for each in (changed, unchanged):
            await each.stop()
        told = changed.stored + unchanged.stored + added.stored
        stored = await sized_stream(ops, "EVENTS") - switches
        async with asyncio.timeout(120):
            while await sized_stream(ops, "DECISIONS") < told:
                await asyncio.sleep(0.05)
        # One is stored twice where its answer was lost with the password that its message id was made with.
        assert told <= stored <= told + 2
        assert await sized_stream(ops, "DECISIONS") == told
        assert not cut_off
        assert other.is_connected


async def test_a_runtime_goes_on_following_what_is_stored_for_it_when_another_is_added(
    clean_infra: Endpoints, tmp_path: Path
) -> None:
    async with secured_server(clean_infra, tmp_path) as secured:
        client = await connect_nats(secured.url("codex"), name="test")
        evaluator = await connect_nats(secured.url("policy-evaluator"), name="test")
        heard: list[bytes] = []

        async def take(message: Msg) -> None:
            heard.append(message.data)

        await client.subscribe(subjects.stored_for("codex"), cb=take)
        await client.flush()
        for name in ("one", "two", "three"):
            await change(secured, lambda it, name=name: it.completed([name]), name)
            await evaluator.request("lictor.dec.codex.allow.task", name.encode(), timeout=5)
        async with asyncio.timeout(60):
            while len(heard) < 3:
                await asyncio.sleep(0.02)
        assert heard == [b"one", b"two", b"three"]
        await client.close()
        await evaluator.close()


async def test_a_client_whose_password_is_retired_comes_back_with_the_new_one(
    clean_infra: Endpoints, tmp_path: Path
) -> None:
    async with secured_server(clean_infra, tmp_path) as secured:
        client = await follow_credential(secured, "codex")
        await change(secured, lambda it: it.rotated("codex"), "codex")
        await change(secured, lambda it: it.retired("codex"), "codex", ends=True)
        async with asyncio.timeout(60):
            while True:
                try:
                    answer = await client.request("lictor.ev.codex.task", b"{}", timeout=1)
                    break
                except NatsError:
                    await asyncio.sleep(0.02)
        assert json.loads(answer.data)["stream"] == "EVENTS"
        assert list(secured.folder.read().users["codex"]) == ["codex.2"]
        await client.close()


# The folder.


def test_everything_in_the_folder_is_for_its_owner_alone(tmp_path: Path) -> None:
    folder = AccountsFolder(tmp_path / "accounts")
    folder.write(Accounts.new(["codex"], address="h:1", service_address="nats:2"))
    files = [path for path in folder.path.rglob("*") if path.is_file()]
    assert len(files) == len(roles(["codex"])) + 2
    for path in (folder.path, *folder.path.rglob("*")):
        assert path.stat().st_mode & 0o077 == 0, path
    urls = {path.parent.name: path.read_text().strip() for path in folder.credentials.glob("*/*")}
    assert urls["codex"].endswith("@h:1")
    assert urls["ops"].endswith("@h:1")
    assert urls["sealer"].endswith("@nats:2")


def test_passwords_have_256_bits_and_nobody_shares_one() -> None:
    accounts = Accounts.new(["codex", "openclaw"], address="h:1").rotated("sealer")
    passwords = [each for users in accounts.users.values() for each in users.values()]
    assert len(set(passwords)) == len(passwords) == len(roles(["codex", "openclaw"])) + 1
    assert all(len(each) == 43 for each in passwords)


def test_a_change_keeps_everybody_else_s_password(tmp_path: Path) -> None:
    folder = AccountsFolder(tmp_path)
    first = Accounts.new(["codex"], address="h:1")
    folder.write(first)
    folder.write(folder.read().completed(["openclaw"]).rotated("codex"))
    read = folder.read()
    for role, users in first.users.items():
        assert users.items() <= read.users[role].items()
    assert list(read.users["codex"]) == ["codex", "codex.2"]
    assert folder.credential("openclaw").exists()
    folder.write(read.retired("codex").without("openclaw"))
    assert list(folder.read().users["codex"]) == ["codex.2"]
    assert list(folder.read().rotated("codex").users["codex"]) == ["codex.2", "codex.3"]
    assert not folder.credential("openclaw").exists()


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        (lambda it: it.retired("codex"), "make a new one with `lictor account rotate codex`"),
        (lambda it: it.rotated("codex").rotated("codex"), "lictor account retire codex"),
        (lambda it: it.rotated("nobody"), "'nobody' is not the name of a role here"),
        (lambda it: it.without("sealer"), "'sealer' is not the name of a runtime here"),
        (lambda it: it.completed(["ops"]), "a name of Lictor's own"),
    ],
)
def test_what_can_t_be_changed_is_refused_with_a_sentence(
    wrong: Callable[[Accounts], Accounts], told: str
) -> None:
    with pytest.raises(LictorError, match=told):
        wrong(Accounts.new(["codex"], address="h:1"))


def test_make_secrets_makes_the_accounts_of_compose_once(tmp_path: Path) -> None:
    (tmp_path / "deploy" / "redis").mkdir(parents=True)
    template = "deploy/redis/users.acl.in"
    (tmp_path / template).write_bytes((ROOT / template).read_bytes())
    script = tmp_path / "deploy" / "make-secrets"
    script.write_bytes((ROOT / "deploy/make-secrets").read_bytes())
    (tmp_path / ".env").write_text("MINE=1\n")
    environment = {**os.environ, "LICTOR": str(Path(sys.executable).with_name("lictor"))}
    for names in (["my-runtime"], ["my-runtime", "another"]):
        subprocess.run(
            ["sh", str(script), *names], check=True, capture_output=True, env=environment
        )
        written = (tmp_path / ".env").read_text().splitlines()
        kept = dict(line.split("=", 1) for line in written)
        assert len(kept) == len(written)
        assert kept["MINE"] == "1"
        assert kept["LICTOR_UID"] != "0"
    folder = AccountsFolder(tmp_path / "deploy" / "secrets")
    assert folder.read().runtimes == ("my-runtime", "another")
    assert folder.credential("sealer").read_text().endswith("@nats:4222\n")
    assert folder.credential("my-runtime").read_text().endswith("@127.0.0.1:4222\n")
    uid = int(kept["LICTOR_UID"])
    rehearser = folder.credential("rehearser").parent
    for path in folder.path.rglob("*"):
        own = path == rehearser or rehearser in path.parents
        assert path.stat().st_uid == (int(kept["LICTOR_REHEARSER_UID"]) if own else uid), path
    assert not [path for path in folder.path.rglob("*") if path.stat().st_mode & 0o077]
