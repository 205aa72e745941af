"""New packs from a signed channel take over without a restart; anything doubtful is refused and the old stay."""

import asyncio
import json
import os
import shutil
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import nats
import pytest
from nats.aio.client import Client
from reporting import ROOT, apply_streams, publish_events, reach, service_process, wait_until_ready
from workload import story_events

from lictor.history.stream_replay import replay
from lictor_bus.logs.packs import read_switches, store_bundle
from lictor_bus.names import subjects
from lictor_bus.names.streams import PACKS, declare
from lictor_bus.wire.publish import Outgoing, publish_one
from lictor_bus.wire.read import read_from
from lictor_local.embedded_servers import Endpoints
from lictor_policy.packs.bundle import bundle_directory
from lictor_schema.core.base_model import utc_millis
from lictor_schema.core.canonical_json import canonical_json
from lictor_schema.packs.release import PackBundle, PackRelease, ReleaseRefusal, ReleaseTaken
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

    def release(self, *, rollback_of: str | None = None, days: int | None = 90) -> PackRelease:
        """A release of the packs as they are now, which expires so many days from now."""
        bundled = bundle_directory(self.packs)
        self.number += 1
        now = datetime.now(UTC)
        return PackRelease(
            channel="main",
            number=self.number,
            bundle_hash=bundled.bundle_hash,
            packs=bundled.config.packs,
            rollback_of=rollback_of,
            released_at=utc_millis(now),
            expires_at=None if days is None else utc_millis(now + timedelta(days=days)),
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


async def test_a_refused_downgrade_does_not_come_into_force_at_a_restart(
    clean_infra: Endpoints, tmp_path: Path
):
    """The first release of a channel is held against the packs that it would replace, as any other."""
    async with started(clean_infra, tmp_path) as running:
        before = (await running.health())["config_hash"]
        local = (tmp_path / "packs/no-silence/policy.yaml").read_text("utf-8")
        running.raise_version("0.0.1")
        at = await running.publish(running.release())
        assert "is not newer than" in await running.refused(at)
    (tmp_path / "packs/no-silence/policy.yaml").write_text(local)
    for _ in range(2):
        async with started(clean_infra, tmp_path) as running:
            assert (await running.health())["config_hash"] == before
            refusals = await read_from(running.client, PACKS, subjects.pack_refusal("main"), 1, 100)
            assert len(refusals) == 1


async def without_packs(client: Client) -> None:
    """The broker's data is lost, but for EVENTS, which names a bundle that it can't hold."""
    await client.jetstream().delete_stream(PACKS)
    await client.jetstream().delete_stream("EVENTS")


async def in_force_then_older_on_a_new_broker(
    clean_infra: Endpoints, tmp_path: Path, **memory: str
) -> tuple[PackRelease, str]:
    """Two releases come into force, the broker is made anew; returns the first release, and what was in force."""
    async with started(clean_infra, tmp_path, **memory) as running:
        running.raise_version("9.0.0")
        old = running.release()
        await running.publish(old)
        await running.until_in_force(bundle_directory(running.packs).config.config_hash)
        running.raise_version("10.0.0")
        await running.publish(running.release())
        newest = bundle_directory(running.packs).config.config_hash
        await running.until_in_force(newest)
    client = await nats.connect(clean_infra.nats_url)
    await without_packs(client)
    await client.close()
    return old, newest


async def test_an_old_release_replayed_onto_a_new_broker_is_refused_by_the_file(
    clean_infra: Endpoints, tmp_path: Path
):
    memory = {"LICTOR_PACK_MEMORY": str(tmp_path / "memory")}
    old, newest = await in_force_then_older_on_a_new_broker(clean_infra, tmp_path, **memory)
    shutil.rmtree(tmp_path / "packs")
    async with started(clean_infra, tmp_path, **memory) as running:
        # Neither PACKS nor the local packs have it: the bundle beside the file does.
        assert (await running.health())["config_hash"] == newest
        running.raise_version("9.0.0")
        at = await running.publish(old)
        assert "not newer than 2, which came into force" in await running.refused(at)
        assert (await running.health())["config_hash"] == newest
        running.raise_version("11.0.0")
        running.number = 2
        await running.publish(running.release())
        await running.until_in_force(bundle_directory(running.packs).config.config_hash)
    # What came in while nobody followed is held to the same, and recorded.
    shutil.rmtree(tmp_path / "memory")
    client = await nats.connect(clean_infra.nats_url)
    away = Evaluator(clean_infra, client, tmp_path / "packs")
    at = await away.send(sign_release(old, KEY).encode())
    async with started(clean_infra, tmp_path, **memory) as running:
        # The file is gone too, and the stream remembers.
        assert "not newer than 3, which came into force" in await running.refused(at)
        assert (tmp_path / "memory/main.json").exists()
    await client.close()


async def test_with_both_memories_lost_a_floor_still_refuses_an_old_release(
    clean_infra: Endpoints, tmp_path: Path
):
    old, _ = await in_force_then_older_on_a_new_broker(clean_infra, tmp_path)
    shutil.rmtree(tmp_path / "packs")
    async with started(clean_infra, tmp_path, LICTOR_PACK_FLOOR="2") as running:
        before = (await running.health())["config_hash"]
        running.raise_version("9.0.0")
        at = await running.publish(old)
        assert "below LICTOR_PACK_FLOOR, 2" in await running.refused(at)
        assert (await running.health())["config_hash"] == before


async def test_an_expired_release_is_refused_running_and_at_the_start(
    clean_infra: Endpoints, tmp_path: Path
):
    async with started(clean_infra, tmp_path) as running:
        before = (await running.health())["config_hash"]
        local = (tmp_path / "packs/no-silence/policy.yaml").read_text("utf-8")
        running.raise_version("9.0.0")
        expired = running.release(days=-1)
        at = await running.publish(expired)
        assert "expired at" in await running.refused(at)
        at = await running.publish(running.release())
        await running.until_in_force(bundle_directory(running.packs).config.config_hash)
        running.raise_version("10.0.0")
        at = await running.publish(running.release(days=None))
        assert "never expires, unlike 2" in await running.refused(at)
        await without_packs(running.client)
    client = await nats.connect(clean_infra.nats_url)
    (tmp_path / "packs/no-silence/policy.yaml").write_text(local)
    await declare(client, PACKS)
    away = Evaluator(clean_infra, client, tmp_path / "packs")
    at = await away.send(sign_release(expired, KEY).encode())
    async with started(clean_infra, tmp_path) as running:
        assert "expired at" in await running.refused(at)
        assert (await running.health())["config_hash"] == before
    await client.close()


async def test_what_is_in_force_stays_when_it_expires_and_health_says_so(
    clean_infra: Endpoints, tmp_path: Path
):
    memory = tmp_path / "memory"
    async with started(clean_infra, tmp_path, LICTOR_PACK_MEMORY=str(memory)) as running:
        running.raise_version("9.0.0")
        await running.publish(running.release())
        released = bundle_directory(running.packs).config.config_hash
        await running.until_in_force(released)
        await without_packs(running.client)
    # As it stands there long after: time can't be moved in another process.
    taken = ReleaseTaken.from_json((memory / "main.json").read_bytes())
    later = taken.model_copy(update={"expires_at": "2026-01-01T00:00:00.000Z"})
    (memory / "main.json").write_bytes(later.to_json())
    async with started(clean_infra, tmp_path, LICTOR_PACK_MEMORY=str(memory)) as running:
        health = await running.health()
        assert (health["config_hash"], health["ready"]) == (released, True)
        assert "EXPIRED at 2026-01-01T00:00:00.000Z and stays in force" in health["detail"]


async def test_a_release_in_force_that_can_not_be_used_stops_the_start_until_a_newer_one_comes(
    clean_infra: Endpoints, tmp_path: Path
):
    """Its key was revoked: neither an older release nor the local packs take its place."""
    memory = {"LICTOR_PACK_MEMORY": str(tmp_path / "memory")}
    async with started(clean_infra, tmp_path, **memory) as running:
        running.raise_version("9.0.0")
        await running.publish(running.release())
        await running.until_in_force(bundle_directory(running.packs).config.config_hash)
    heir = SigningKey.generate("lictor-packs-2")
    trust = {"LICTOR_PACK_TRUST": str(tmp_path / "heir.json")}
    (tmp_path / "heir.json").write_bytes(TrustStore.of([heir.verifying_key]).to_bytes())
    await apply_streams(clean_infra.nats_url)
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "lictor_policy_evaluator"),
        cwd=ROOT,
        env={
            **os.environ,
            "LICTOR_NATS_URL": clean_infra.nats_url,
            "LICTOR_REDIS_URL": clean_infra.redis_url,
            "LICTOR_PACK_CHANNEL": "main",
            **memory,
            **trust,
        },
        stderr=asyncio.subprocess.PIPE,
    )
    _, err = await process.communicate()
    assert process.returncode == 1
    assert "release 1 of channel main was in force and can't be used any more" in err.decode()
    client = await nats.connect(clean_infra.nats_url)
    away = Evaluator(clean_infra, client, tmp_path / "packs", number=1)
    away.raise_version("10.0.0")
    await away.publish(away.release(), heir)
    async with started(clean_infra, tmp_path, **memory, **trust) as running:
        released = bundle_directory(running.packs).config.config_hash
        assert (await running.health())["config_hash"] == released
    await client.close()


async def test_a_memory_that_can_not_be_read_stops_the_start(
    clean_infra: Endpoints, tmp_path: Path
):
    (tmp_path / "memory").mkdir()
    (tmp_path / "memory/main.json").write_text("{")
    trust = tmp_path / "trust.json"
    trust.write_bytes(TrustStore.of([KEY.verifying_key]).to_bytes())
    await apply_streams(clean_infra.nats_url)
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "lictor_policy_evaluator"),
        cwd=ROOT,
        env={
            **os.environ,
            "LICTOR_NATS_URL": clean_infra.nats_url,
            "LICTOR_REDIS_URL": clean_infra.redis_url,
            "LICTOR_PACK_CHANNEL": "main",
            "LICTOR_PACK_TRUST": str(trust),
            "LICTOR_PACK_MEMORY": str(tmp_path / "memory"),
        },
        stderr=asyncio.subprocess.PIPE,
    )
    _, err = await process.communicate()
    assert process.returncode == 1
    assert "says which release was in force" in err.decode()


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
