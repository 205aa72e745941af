"""A NATS user for each role, on a real server: everybody can do their work, and nobody another's."""

import asyncio
import json
import os
import re
import socket
import subprocess
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path

import nats
import pytest
from nats.aio.client import Client
from reporting import ROOT, service_process, wait_until_ready

import lictor
from lictor.embedded import Endpoints
from lictor.server_process import find_nats_server
from lictor.story import play
from lictor_bus.connection import connect_nats
from lictor_bus.errors import ReservedName
from lictor_bus.roles import password_variable, roles, users_config
from lictor_schema import OperatorContext
from lictor_seal import TrustStore, verify_bundle

RUNTIMES = ("openclaw", "codex")
SERVICES = {
    "policy-evaluator": "lictor_policy_evaluator",
    "sealer": "lictor_sealer",
    "feedback": "lictor_feedback",
    "prover": "lictor_prover",
}


@dataclass(frozen=True)
class Secured:
    """A server with users, and how to come to it as one of them."""

    port: int
    redis_url: str

    def url(self, user: str) -> str:
        return f"nats://{user}:p-{user}@127.0.0.1:{self.port}"

    def endpoints(self, user: str) -> Endpoints:
        return Endpoints(self.url(user), self.redis_url)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@pytest.fixture
async def secured(clean_infra: Endpoints, tmp_path: Path) -> AsyncIterator[Secured]:
    port = free_port()
    (tmp_path / "users.conf").write_text(users_config(RUNTIMES))
    config = tmp_path / "secured.conf"
    config.write_text(
        f'listen: "127.0.0.1:{port}"\nmax_payload: 4MB\n'
        f"jetstream {{ store_dir: {json.dumps(str(tmp_path / 'data'))} }}\ninclude users.conf\n"
    )
    passwords = {password_variable(role.user): f"p-{role.user}" for role in roles(RUNTIMES)}
    server = await asyncio.create_subprocess_exec(
        find_nats_server(),
        "-c",
        str(config),
        env={**os.environ, **passwords},
        stderr=asyncio.subprocess.DEVNULL,
    )
    found = Secured(port, clean_infra.redis_url)
    try:
        async with asyncio.timeout(30):
            while not await listens(port):
                assert server.returncode is None, "the server did not take its configuration"
                await asyncio.sleep(0.05)
        yield found
    finally:
        if server.returncode is None:
            server.terminate()
        await server.wait()


async def listens(port: int) -> bool:
    try:
        _, writer = await asyncio.open_connection("127.0.0.1", port)
    except OSError:
        return False
    writer.close()
    await writer.wait_closed()
    return True


async def test_every_role_can_do_its_work_from_the_first_event_to_the_seal(
    secured: Secured, tmp_path: Path
) -> None:
    async with AsyncExitStack() as running:
        ops = await connect_nats(secured.url("ops"), name="test")
        running.push_async_callback(ops.close)
        for name, module in SERVICES.items():
            await running.enter_async_context(
                service_process(
                    module,
                    secured.endpoints(name),
                    LICTOR_SEAL_KEY=str(tmp_path / "seal.pem"),
                    LICTOR_SEAL_KEY_CREATE="1",
                )
            )
        for name in SERVICES:
            await wait_until_ready(ops, name)
        operator = OperatorContext(operator_id="you", channel="terminal")
        async with lictor.connect(
            secured.url("openclaw"), runtime="openclaw", agent_id="agent", operator=operator
        ) as governor:
            # It has a checkpoint fall due, by a timer that the evaluator sets in the broker.
            ending = await play(governor, lambda _: None, lambda _: None)
    assert verify_bundle(ending.bundle, TrustStore.load(tmp_path / "trust.json")).ok


async def told_off(url: str, act: Callable[[Client], Awaitable[object]]) -> str:
    """What the server says to a user who does something it may not."""
    told: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    async def on_error(error: Exception) -> None:
        if not told.done():
            told.set_result(str(error).lower())

    client = await nats.connect(url, error_cb=on_error)
    try:
        await act(client)
        await client.flush()
        async with asyncio.timeout(10):
            return await told
    finally:
        await client.close()


@pytest.mark.parametrize(
    ("user", "subject"),
    [
        ("openclaw", "lictor.dec.allow.task"),
        ("openclaw", "lictor.ev.codex.task"),
        # Events of the evaluator's timers, and switches of its configuration.
        ("openclaw", "lictor.ev.lictor.task"),
        ("openclaw", "lictor.ev.0.lictor.config.switch"),
        ("openclaw", "lictor.ev.openclaw.lictor.config.switch"),
        ("openclaw", "lictor.receipt.codex"),
        ("openclaw", "lictor.ep.report.episode"),
        ("openclaw", "lictor.log.checkpoint"),
        ("openclaw", "lictor.sched.checkpoint.task"),
        ("openclaw", "lictor.tick.checkpoint.task"),
        ("openclaw", "lictor.packs.release.stable"),
        ("openclaw", "lictor.dead.sealer.DECISIONS.1"),
        ("openclaw", "_INBOX.codex.answer"),
        ("openclaw", "$JS.API.STREAM.DELETE.EVENTS"),
        ("openclaw", "$JS.API.STREAM.PURGE.DECISIONS"),
        ("openclaw", "$JS.API.STREAM.UPDATE.DECISIONS"),
        ("openclaw", "$JS.API.STREAM.CREATE.MINE"),
        ("openclaw", "$JS.API.CONSUMER.CREATE.EVENTS.mine.lictor.ev.>"),
        ("openclaw", "$JS.API.CONSUMER.DURABLE.CREATE.EVENTS.mine"),
        ("openclaw", "$JS.API.DIRECT.GET.EVENTS"),
        ("openclaw", "$JS.API.DIRECT.GET.DEAD"),
        ("policy-evaluator", "lictor.ep.report.episode"),
        ("policy-evaluator", "lictor.ev.openclaw.task"),
        ("policy-evaluator", "$JS.API.STREAM.PURGE.EVENTS"),
        ("sealer", "lictor.dec.allow.task"),
        ("sealer", "lictor.ev.openclaw.task"),
        ("feedback", "lictor.dec.allow.task"),
        ("prover", "lictor.dec.allow.task"),
        ("ops", "lictor.dec.allow.task"),
        ("ops", "lictor.ep.report.episode"),
        ("ops", "$JS.API.STREAM.DELETE.DECISIONS"),
    ],
)
async def test_nobody_publishes_what_is_not_theirs(
    secured: Secured, user: str, subject: str
) -> None:
    told = await told_off(secured.url(user), lambda client: client.publish(subject, b"{}"))
    assert f'permissions violation for publish to "{subject}"'.lower() in told


@pytest.mark.parametrize(
    ("user", "subject"),
    [
        ("openclaw", "_INBOX.>"),
        ("openclaw", "_INBOX.codex.>"),
        ("openclaw", "lictor.ev.>"),
        ("openclaw", "lictor.gate.report"),
        ("openclaw", "$JS.ACK.>"),
        ("feedback", "lictor.gate.report"),
        ("sealer", "_INBOX.policy-evaluator.>"),
    ],
)
async def test_nobody_listens_to_what_is_not_theirs(
    secured: Secured, user: str, subject: str
) -> None:
    told = await told_off(secured.url(user), lambda client: client.subscribe(subject))
    assert f'permissions violation for subscription to "{subject}"'.lower() in told


async def test_nobody_comes_in_without_a_name(secured: Secured) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", secured.port)
    assert (await reader.readline()).startswith(b"INFO ")
    writer.write(b"CONNECT {}\r\nPING\r\n")
    async with asyncio.timeout(10):
        assert (await reader.readline()).startswith(b"-ERR 'Authorization Violation'")
    writer.close()
    await writer.wait_closed()


def test_the_shipped_users_are_those_of_the_code() -> None:
    shipped = (ROOT / "deploy/nats/users.conf").read_text("utf-8")
    assert shipped == users_config(["my-runtime"]), (
        "write it anew: python -m lictor_bus.roles my-runtime > deploy/nats/users.conf"
    )


def test_compose_gives_the_server_every_password(tmp_path: Path) -> None:
    compose = (ROOT / "docker-compose.yml").read_text("utf-8")
    for role in roles(["my-runtime"]):
        variable = password_variable(role.user)
        assert f"{variable}: ${{{variable}:?" in compose
    (tmp_path / "deploy/nats").mkdir(parents=True)
    for name in ("deploy/make-secrets", "deploy/nats/users.conf"):
        (tmp_path / name).write_bytes((ROOT / name).read_bytes())
    for _ in range(2):
        subprocess.run(["sh", "deploy/make-secrets"], cwd=tmp_path, check=True, capture_output=True)
    secrets = (tmp_path / ".env").read_text("utf-8").splitlines()
    assert [line.partition("=")[0] for line in secrets] == [
        password_variable(role.user) for role in roles(["my-runtime"])
    ]
    assert all(re.fullmatch(r"\w+=p[0-9a-f]{48}", line) for line in secrets)
    assert (tmp_path / ".env").stat().st_mode & 0o077 == 0


@pytest.mark.parametrize(
    "name", ["lictor", "ops", "policy-evaluator", "sealer", "Ops", "policy_evaluator"]
)
def test_no_runtime_may_pass_for_one_of_ours(name: str) -> None:
    with pytest.raises(ReservedName, match="give the runtime another name"):
        roles(["openclaw", name])


def test_no_two_runtimes_share_a_password() -> None:
    with pytest.raises(ReservedName, match="NATS_PASSWORD_MY_RUNTIME"):
        roles(["my-runtime", "my_runtime"])
    assert [role.user for role in roles(["a", "b", "a"])][-2:] == ["a", "b"]
