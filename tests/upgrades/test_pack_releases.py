"""New packs from a signed channel take over without a restart; anything doubtful is refused and the old stay."""

import asyncio
import json
import os
import shutil
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import nats
import pytest
from nats.aio.client import Client
from reporting import ROOT, apply_streams, publish_events, reach, service_process, wait_until_ready
from workload import story_events

from lictor.history.stream_replay import replay
from lictor_bus.logs.packs import read_switches, store_bundle
from lictor_bus.names import subjects
from lictor_bus.names.streams import PACKS
from lictor_bus.wire.publish import Outgoing, publish_one
from lictor_bus.wire.read import read_from
from lictor_local.embedded_servers import Endpoints
from lictor_policy.packs.bundle import bundle_directory
from lictor_schema.core.base_model import utc_millis
from lictor_schema.core.canonical_json import canonical_json
from lictor_schema.packs.release import PackBundle, PackRelease, ReleaseRefusal
from lictor_seal import SigningKey, TrustStore, sign_release

KEY = SigningKey.generate("lictor-packs")


@dataclass
class Evaluator:
    """One that follows a channel, and what the tests do to it."""

    endpoints: Endpoints
    client: Client
    packs: Path
    number: int = 0

    def raise_version(self, to: str) -> None:
        """Change a pack, and give it that version."""
        path = self.packs / "no-silence" / "policy.yaml"
        lines = path.read_text("utf-8").splitlines()
        at = next(n for n, line in enumerate(lines) if line.startswith("  version:"))
        path.write_text("\n".join([*lines[:at], f'  version: "{to}"', *lines[at + 1 :], ""]))

    def release(self, *, rollback_of: str | None = None) -> PackRelease:
        """A release of the packs as they are now."""
        bundled = bundle_directory(self.packs)
        self.number += 1
        return PackRelease(
            channel="main",
            number=self.number,
            bundle_hash=bundled.bundle_hash,
            packs=bundled.config.packs,
            rollback_of=rollback_of,
            released_at=utc_millis(datetime.now(UTC)),
        )

    async def publish(self, release: PackRelease, key: SigningKey = KEY) -> int:
        """Sign and publish, with the bundle of the packs as they are now."""
        await store_bundle(self.client, bundle_directory(self.packs).body)
        return await self.send(sign_release(release, key).encode())

    async def send(self, body: bytes) -> int:
        """Publish anything on the channel."""
        message = Outgoing(subjects.pack_release("main"), body)
        return await publish_one(self.client, PACKS, message) or 0

    async def health(self) -> dict[str, str]:
        answer = await self.client.request("lictor.health.policy-evaluator", b"", timeout=2)
        return json.loads(answer.data)

    async def until_in_force(self, config_hash: str) -> None:
        async with asyncio.timeout(60):
            while (await self.health())["config_hash"] != config_hash:
                await asyncio.sleep(0.05)

    async def refused(self, sequence: int) -> str:
        """Why the release at that place was refused."""
        subject = subjects.pack_refusal("main")
        async with asyncio.timeout(60):
            while True:
                for stored in await read_from(self.client, PACKS, subject, sequence, 10):
                    refusal = ReleaseRefusal.from_json(stored.body)
                    if refusal.sequence == sequence:
                        return refusal.reason
                await asyncio.sleep(0.05)


@asynccontextmanager
async def started(endpoints: Endpoints, folder: Path, **more: str) -> AsyncIterator[Evaluator]:
    packs = folder / "packs"
    if not packs.exists():
        shutil.copytree(ROOT / "policy-packs", packs)
    trust = folder / "trust.json"
    trust.write_bytes(TrustStore.of([KEY.verifying_key]).to_bytes())
    environment = {
        "LICTOR_PACKS": str(packs),
        "LICTOR_PACK_CHANNEL": "main",
        "LICTOR_PACK_TRUST": str(trust),
        **more,
    }
    client = await nats.connect(endpoints.nats_url)
    async with service_process("lictor_policy_evaluator", endpoints, **environment):
        await wait_until_ready(client, "policy-evaluator")
        yield Evaluator(endpoints, client, packs)
        await client.close()


@pytest.fixture
async def evaluator(clean_infra: Endpoints, tmp_path: Path) -> AsyncIterator[Evaluator]:
    """An evaluator that follows channel main."""
    async with started(clean_infra, tmp_path) as running:
        yield running


async def test_a_release_takes_over_without_a_restart_and_replays_without_a_difference(
    evaluator: Evaluator,
):
    first = (await evaluator.health())["config_hash"]
    events = story_events(400, prefix="t", checkpoint_interval_s=None)
    await publish_events(evaluator.client, events[:200])
    await reach(evaluator.client, "DECISIONS", 200)
    evaluator.raise_version("9.0.0")
    await evaluator.publish(evaluator.release())
    second = bundle_directory(evaluator.packs).config.config_hash
    await evaluator.until_in_force(second)
    await publish_events(evaluator.client, events[200:])
    await reach(evaluator.client, "DECISIONS", 400)
    report = await replay(evaluator.client)
    assert (report.same, report.differing, report.configs) == (400, 0, {first, second})


async def test_a_forged_or_replayed_or_mixed_up_release_is_refused_and_the_old_one_stays(
    evaluator: Evaluator,
):
    before = (await evaluator.health())["config_hash"]
    evaluator.raise_version("9.0.0")
    stranger = SigningKey.generate("lictor-packs")
    release = evaluator.release()
    signed = sign_release(release, KEY)
    at = await evaluator.publish(release, stranger)
    assert "not signed by a trusted key" in await evaluator.refused(at)
    at = await evaluator.send(signed.replace('"number":1', '"number":2').encode())
    assert "not signed by a trusted key" in await evaluator.refused(at)
    at = await evaluator.send(b"no release at all")
    assert "not signed by a trusted key" in await evaluator.refused(at)
    at = await evaluator.publish(release.model_copy(update={"channel": "other"}))
    assert "for channel other" in await evaluator.refused(at)
    missing = release.model_copy(update={"bundle_hash": "sha256:" + "0" * 64})
    at = await evaluator.send(sign_release(missing, KEY).encode())
    assert "does not hold the bundle" in await evaluator.refused(at)
    health = await evaluator.health()
    assert health["config_hash"] == before
    assert health["ready"]
    assert "refused PACKS" in health["detail"]
    # The genuine one still gets through, once.
    await evaluator.publish(release)
    await evaluator.until_in_force(bundle_directory(evaluator.packs).config.config_hash)
    at = await evaluator.publish(release)
    assert "it was published before" in await evaluator.refused(at)


async def test_a_bad_pack_is_refused_and_the_old_one_stays(evaluator: Evaluator):
    before = (await evaluator.health())["config_hash"]
    files = json.loads(bundle_directory(evaluator.packs).body)["files"]
    files["no-silence/policy.yaml"] = files["no-silence/policy.yaml"].replace(
        "checkpoint.is_overdue", "checkpoint.is_overdu"
    )
    body = canonical_json(PackBundle(files=files).model_dump(mode="json"))
    bundle_hash = await store_bundle(evaluator.client, body)
    bad = evaluator.release().model_copy(update={"bundle_hash": bundle_hash})
    at = await evaluator.send(sign_release(bad, KEY).encode())
    reason = await evaluator.refused(at)
    assert "no-silence/policy.yaml" in reason
    assert "checkpoint.is_overdu" in reason
    assert (await evaluator.health())["config_hash"] == before
    assert {len(await read_switches(evaluator.client, n)) for n in range(4)} == {1}


def without_methods(packs: Path) -> None:
    """Add a pack whose envelope demands verification, and names no method for it."""
    shutil.copytree(ROOT / "examples/packs/refunds", packs / "refunds")
    path = packs / "refunds/policy.yaml"
    path.write_text(path.read_text("utf-8").replace("methods: [read_after_write]", "methods: []"))


UNVERIFIABLE = "envelope refund of pack refunds: verification.methods: verification is mandatory"


async def test_a_release_whose_verification_nobody_can_do_is_refused(evaluator: Evaluator):
    before = (await evaluator.health())["config_hash"]
    without_methods(evaluator.packs)
    at = await evaluator.publish(evaluator.release())
    assert UNVERIFIABLE in await evaluator.refused(at)
    assert (await evaluator.health())["config_hash"] == before


async def test_going_back_needs_to_be_said(evaluator: Evaluator):
    old = bundle_directory(evaluator.packs)
    evaluator.raise_version("9.0.0")
    new = bundle_directory(evaluator.packs)
    await evaluator.publish(evaluator.release())
    await evaluator.until_in_force(new.config.config_hash)
    evaluator.raise_version("8.0.0")
    at = await evaluator.publish(evaluator.release())
    assert "is not newer than 9.0.0" in await evaluator.refused(at)
    at = await evaluator.publish(evaluator.release(rollback_of=old.bundle_hash))
    assert "is in force" in await evaluator.refused(at)
    await evaluator.publish(evaluator.release(rollback_of=new.bundle_hash))
    await evaluator.until_in_force(bundle_directory(evaluator.packs).config.config_hash)


async def test_a_restart_goes_on_with_the_release_and_not_with_the_local_packs(
    clean_infra: Endpoints, tmp_path: Path
):
    async with started(clean_infra, tmp_path) as running:
        local = (tmp_path / "packs/no-silence/policy.yaml").read_text("utf-8")
        running.raise_version("9.0.0")
        await running.publish(running.release())
        released = bundle_directory(running.packs).config.config_hash
        await running.until_in_force(released)
    (tmp_path / "packs/no-silence/policy.yaml").write_text(local)
    async with started(clean_infra, tmp_path) as running:
        assert (await running.health())["config_hash"] == released
        assert {len(await read_switches(running.client, n)) for n in range(4)} == {2}


async def test_a_pin_refuses_every_other_bundle(clean_infra: Endpoints, tmp_path: Path):
    pin = bundle_directory(ROOT / "policy-packs").bundle_hash
    async with started(clean_infra, tmp_path, LICTOR_PACK_PIN=pin) as running:
        running.raise_version("9.0.0")
        at = await running.publish(running.release())
        assert "LICTOR_PACK_PIN" in await running.refused(at)


async def test_a_start_with_what_is_not_wanted_or_can_not_be_kept_is_refused(
    clean_infra: Endpoints, tmp_path: Path
):
    await apply_streams(clean_infra.nats_url)
    trust = tmp_path / "trust.json"
    trust.write_bytes(TrustStore.of([KEY.verifying_key]).to_bytes())
    without_methods(tmp_path / "packs")
    for settings, told in (
        ({"LICTOR_PACK_PIN": "sha256:" + "0" * 64}, "LICTOR_PACK_PIN is sha256:000"),
        ({"LICTOR_PACK_CHANNEL": "main"}, "LICTOR_PACK_CHANNEL is set without LICTOR_PACK_TRUST"),
        (
            {"LICTOR_PACK_CHANNEL": "main", "LICTOR_PACK_TRUST": str(tmp_path / "no.json")},
            "there is no trust store",
        ),
        ({"LICTOR_PACKS": str(tmp_path / "packs")}, UNVERIFIABLE),
    ):
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "lictor_policy_evaluator"),
            cwd=ROOT,
            env={
                **os.environ,
                "LICTOR_NATS_URL": clean_infra.nats_url,
                "LICTOR_REDIS_URL": clean_infra.redis_url,
                **settings,
            },
            stderr=asyncio.subprocess.PIPE,
        )
        _, err = await process.communicate()
        assert process.returncode == 1
        assert told in err.decode()


async def test_the_command_publishes_and_tells_what_became_of_it(
    evaluator: Evaluator, tmp_path: Path
):
    key = tmp_path / "key.pem"
    KEY.save(key)

    async def publish(*options: str) -> tuple[int, list[dict[str, str]], str]:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            *("-c", "import sys; from lictor_cli.main import main; sys.exit(main())"),
            *("pack", "publish", str(evaluator.packs), "--key", str(key), "--json"),
            *("--url", evaluator.endpoints.nats_url, *options),
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        out, err = await process.communicate()
        told = [json.loads(line) for line in out.splitlines()]
        return process.returncode or 0, told, err.decode()

    evaluator.raise_version("9.0.0")
    code, told, err = await publish()
    assert (code, err) == (0, "")
    assert told[-1]["what"] == "in force"
    assert (await evaluator.health())["config_hash"] == told[-1]["config_hash"]
    evaluator.raise_version("8.0.0")
    code, told, _ = await publish()
    assert (code, told[-1]["what"]) == (1, "refused")
    code, told, _ = await publish("--rollback")
    assert (code, told[-1]["what"]) == (0, "in force")
    (evaluator.packs / "no-silence/policy.yaml").write_text("kind: [")
    code, told, err = await publish()
    assert (code, err) == (1, "lictor: nothing was published.\n")
