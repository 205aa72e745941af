"""Envelopes that are released, or patched, govern what begins from then on; supervisor and evaluator keep running."""

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nats
import pytest
from governing_bus import Asker, write_pack
from nats.aio.client import Client
from reporting import service_process, wait_until_ready

import lictor
from lictor_local.embedded_servers import Endpoints
from lictor_policy.packs.bundle import bundle_directory
from lictor_schema.contracts.decision_log import DecisionBegun
from lictor_seal import SigningKey, TrustStore

KEY = SigningKey.generate("lictor-packs")
CHANGE = [{"op": "set", "path": "/spec/envelopes/0/deadlineMs", "old": 60_000, "new": 60_500}]


@dataclass
class Installation:
    """Both services, following one channel, with packs of envelopes alone."""

    endpoints: Endpoints
    client: Client
    folder: Path
    running: AsyncExitStack
    supervisor: asyncio.subprocess.Process

    @property
    def packs(self) -> Path:
        return self.folder / "packs"

    @property
    def environment(self) -> dict[str, str]:
        return {
            "LICTOR_PACKS": str(self.packs),
            "LICTOR_PACK_CHANNEL": "main",
            "LICTOR_PACK_TRUST": str(self.folder / "trust.json"),
        }

    async def start(self, name: str) -> asyncio.subprocess.Process:
        module = f"lictor_{name.replace('-', '_')}"
        started = await self.running.enter_async_context(
            service_process(module, self.endpoints, **self.environment)
        )
        await wait_until_ready(self.client, name)
        return started

    async def command(self, *words: str) -> tuple[int, list[dict[str, Any]], str]:
        """A command of `lictor`, with what it says as JSON."""
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            *("-c", "import sys; from lictor_cli.main import main; sys.exit(main())", *words),
            *("--json", "--url", self.endpoints.nats_url),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        out, err = await process.communicate()
        return (
            process.returncode or 0,
            [json.loads(line) for line in out.splitlines()],
            err.decode(),
        )

    async def publish(self, **changes: Any) -> dict[str, Any]:
        """Release the pack with some of its envelope changed."""
        write_pack(self.packs, **changes)
        key = str(self.folder / "key.pem")
        code, told, err = await self.command("pack", "publish", str(self.packs), "--key", key)
        assert (code == 0) is (told[-1]["what"] == "in force"), err
        return told[-1]

    async def begin(self, title: str) -> DecisionBegun:
        """Start a task and begin its decision, as an agent does."""
        async with lictor.connect(
            self.endpoints.nats_url, runtime="rt", agent_id="agent"
        ) as governor:
            task = await governor.start_task(title, decision_type="refund", task_id=title)
            async with task.decision():
                pass
        return await self.begun(title)

    async def begun(self, task: str) -> DecisionBegun:
        entry = (await Asker(self.client, task).entries())[0]
        assert isinstance(entry, DecisionBegun)
        return entry


@pytest.fixture
async def installation(clean_infra: Endpoints, tmp_path: Path) -> AsyncIterator[Installation]:
    write_pack(tmp_path / "packs")
    KEY.save(tmp_path / "key.pem")
    (tmp_path / "trust.json").write_bytes(TrustStore.of([KEY.verifying_key]).to_bytes())
    async with AsyncExitStack() as running:
        client = await nats.connect(clean_infra.nats_url)
        running.push_async_callback(client.close)
        made = Installation(clean_infra, client, tmp_path, running, supervisor=None)  # pyright: ignore[reportArgumentType] -- started next
        await made.start("policy-evaluator")
        made.supervisor = await made.start("supervisor")
        yield made


async def test_a_release_governs_what_begins_after_it_and_a_refused_one_nothing(
    installation: Installation,
) -> None:
    first = await installation.begin("one")
    assert (await installation.publish(pack_version="1.5.0", deadlineMs=61_000))["what"] == (
        "in force"
    )
    second = await installation.begin("two")
    assert [(each.pack.pack_version, each.dte.deadline_ms) for each in (first, second)] == [
        ("1.4.0", 60_000),
        ("1.5.0", 61_000),
    ]
    refused = await installation.publish(pack_version="1.4.9", deadlineMs=70_000)
    assert refused["what"] == "refused"
    assert "is not newer than 1.5.0" in refused["detail"]
    # Killed, it comes back to what is in force, and not to the files beside it.
    installation.supervisor.kill()
    await installation.supervisor.wait()
    installation.supervisor = await installation.start("supervisor")
    third = await installation.begin("three")
    assert (third.pack, third.dte_hash) == (second.pack, second.dte_hash)
    assert await installation.begun("one") == first


async def test_an_approved_patch_governs_what_begins_after_it_is_applied(
    installation: Installation,
) -> None:
    before = await installation.begin("one")
    change = installation.folder / "change.json"
    change.write_text(json.dumps(CHANGE))
    packs = ("--packs", str(installation.packs))
    why = ("--by", "ada", "--reason", "carriers answer late")
    code, told, err = await installation.command(
        "patch", "propose", "refunds", str(change), *packs, *why
    )
    assert code == 0, err
    patch = told[-1]["patch_id"]
    unapproved = await installation.command("patch", "apply", patch, "--by", "bob", *packs)
    assert unapproved[0] == 1
    code, _, err = await installation.command("patch", "approve", patch, "--by", "bob")
    assert code == 0, err
    assert (await installation.begin("two")).dte == before.dte
    key = ("--key", str(installation.folder / "key.pem"))
    code, told, err = await installation.command(
        "patch", "apply", patch, "--by", "bob", *packs, *key
    )
    assert (code, told[-1]["what"]) == (0, "in force"), err
    after = await installation.begin("three")
    assert (before.dte.deadline_ms, after.dte.deadline_ms) == (60_000, 60_500)
    assert (before.pack.pack_version, after.pack.pack_version) == ("1.4.0", "1.4.1")
    assert after.pack == bundle_directory(installation.packs).config.packs[0]
