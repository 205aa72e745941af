"""A new key goes on with a log in its stream, by a hand-over; and nobody else does."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from lictor_bus.errors import BusError
from lictor_bus.fold.processor import Sourced
from lictor_bus.logs.dead_letters import DeadLetters
from lictor_bus.names import streams, subjects
from lictor_bus.wire.connection import connect_nats
from lictor_bus.wire.publish import Outgoing, publish_batch, publish_one
from lictor_bus.wire.read import read_from
from lictor_schema.core.base_model import utc_millis
from lictor_schema.core.canonical_json import canonical_json
from lictor_schema.core.ids import decision_id
from lictor_schema.decisions.decision import DecisionRecord
from lictor_seal import (
    Seal,
    SealBundle,
    SigningKey,
    StreamAudit,
    TrustedKey,
    TrustStore,
    verify_bundle,
)
from lictor_sealer.episode import gathering
from lictor_sealer.episode.sealing import ClosedTask, SealingOutbox
from lictor_sealer.log.keys import load_succession, publish_keys
from lictor_sealer.log.stream import EpisodeLog, load_head
from lictor_sealer.log.succession import LogSuccession, take_up
from lictor_sealer.log.tree import Head, append

OLD = SigningKey.from_seed("lictor.test/log", bytes(32))
NEW = SigningKey.from_seed("lictor.test/log", bytes([1]) * 32)
HASH = "sha256:" + "0" * 64
MOMENT = "2026-01-01T00:00:00.000Z"
NOW = datetime.now(UTC)


def windows(now: datetime = NOW) -> TrustStore:
    until, since = now + timedelta(hours=1), now - timedelta(minutes=1)
    return TrustStore(
        (
            TrustedKey(OLD.verifying_key, None, utc_millis(until)),
            TrustedKey(NEW.verifying_key, utc_millis(since), None),
        )
    )


def closing(task: str) -> DecisionRecord:
    value = {
        "record_id": decision_id(task, "bench", "e1", HASH, "no_rule_matched"),
        "recorded_at": MOMENT,
        "runtime": "test",
        "task_id": task,
        "agent_id": "agent",
        "correlation_id": "flow",
        "event_id": "e1",
        "event_type": "task_claimed_complete",
        "event_timestamp": MOMENT,
        "event_sequence": 1,
        "event_sha256": HASH,
        "trigger_event_ids": ["e1"],
        "decision": {
            "decision": "allow",
            "policy_id": "no_rule_matched",
            "severity": "info",
            "reason": "no rule matched this event",
            "rewritten_message": None,
            "suggested_status": None,
            "required_actions": [],
            "operator_notice": None,
        },
        "matched_rules": [],
        "config_hash": HASH,
        "decision_type": "report",
        "evidence": {"missing": ()},
        "receipt": {
            "status": "planned",
            "delivery_state": "prepared",
            "operator_notice_required": False,
        },
        "task_closed": True,
        "episode": {
            "title": "Work",
            "started_at": MOMENT,
            "packs": [],
            "profiles": [],
            "final_status": "completed",
        },
    }
    return DecisionRecord.from_json(canonical_json(value))


class Log:
    """The streams on a clean bus, and sealers with one key or another."""

    def __init__(self, client) -> None:
        self.client = client

    async def close(self, task: str) -> None:
        last = closing(task)
        out = Outgoing(subjects.decision(last.runtime, "allow", task), last.to_json())
        await publish_one(self.client, streams.DECISIONS, out)

    async def seal(
        self,
        task: str,
        key: SigningKey,
        succession: LogSuccession | None = None,
        now: datetime = NOW,
    ) -> Head:
        """Start a sealer with this key, and give it the task's closing."""
        succession = succession or LogSuccession()
        head = await take_up(self.client, key, succession, now)
        outbox = SealingOutbox(
            self.client,
            EpisodeLog(self.client, key, sealed_from=succession.sealed_from(key)),
            DeadLetters(self.client, "sealer"),
        )
        [stored] = await read_from(self.client, streams.DECISIONS, f"lictor.dec.*.*.{task}", 1, 1)
        await outbox.publish([Sourced(task, stored.sequence, ClosedTask(stored))])
        return head

    async def messages(self):
        return await read_from(self.client, streams.EPISODES, ">", 1, 100)

    async def audit(self, trust: TrustStore):
        audit = StreamAudit(trust)
        for stored in await self.messages():
            take = audit.checkpoint if stored.subject == subjects.LOG_CHECKPOINT else audit.episode
            take(stored.sequence, stored.body)
        return audit.finish()


@pytest.fixture
async def log(clean_infra) -> AsyncIterator[Log]:
    client = await connect_nats(clean_infra.nats_url, name="test")
    names = (streams.DECISIONS, streams.EPISODES, streams.DEAD, *gathering.STREAMS)
    await streams.declare(client, *names)
    yield Log(client)
    await client.close()


async def test_a_new_key_goes_on_after_a_hand_over_and_old_seals_stay_valid(log: Log):
    for task in ("first", "second", "third"):
        await log.close(task)
    succession = LogSuccession(OLD, windows())
    await log.seal("first", OLD)
    await log.seal("second", NEW, succession)
    # The setting may stay: the log is the new key's own now.
    await log.seal("third", NEW, succession)
    report = await log.audit(windows())
    assert report.ok, report.findings
    assert (report.size, report.checkpoints, report.hand_overs) == (3, 4, 1)
    bundles = [
        each.body for each in await log.messages() if each.subject != subjects.LOG_CHECKPOINT
    ]
    verified = [verify_bundle(body, windows()).verified for body in bundles]
    assert [each and each.key_id for each in verified] == [OLD.key_id, NEW.key_id, NEW.key_id]


async def test_a_task_that_closed_before_the_new_key_was_trusted_is_sealed_when_it_is(log: Log):
    await log.close("first")
    await log.seal("first", OLD)
    await log.close("waited")
    [stored] = await read_from(log.client, streams.DECISIONS, "lictor.dec.*.*.waited", 1, 1)
    later = stored.stored_at + timedelta(seconds=30)
    trust = TrustStore(
        (
            TrustedKey(OLD.verifying_key, None, utc_millis(later + timedelta(hours=1))),
            TrustedKey(NEW.verifying_key, utc_millis(later), None),
        )
    )
    with pytest.raises(BusError, match="trusted only from"):
        await log.seal("waited", NEW, LogSuccession(OLD, trust))
    await log.seal("waited", NEW, LogSuccession(OLD, trust), later)
    report = await log.audit(trust)
    assert report.ok, report.findings
    last = [each.body for each in await log.messages() if each.subject != subjects.LOG_CHECKPOINT][
        -1
    ]
    assert Seal.of(SealBundle.from_bytes(last).sealed_episode).metadata.sealed_at == utc_millis(
        later
    )


@pytest.mark.parametrize(
    "succession",
    [
        LogSuccession(),
        LogSuccession(None, windows()),
        LogSuccession(OLD, None),
        LogSuccession(NEW, windows()),
        LogSuccession(OLD, TrustStore.of([OLD.verifying_key, NEW.verifying_key])),
        LogSuccession(OLD, TrustStore.of([OLD.verifying_key])),
    ],
    ids=["no key", "no old key", "no store", "itself", "no windows", "not in the store"],
)
async def test_a_key_alone_does_not_go_on_with_the_log_of_another(
    log: Log, succession: LogSuccession
):
    await log.close("first")
    await log.close("second")
    await log.seal("first", OLD)
    before = len(await log.messages())
    with pytest.raises(BusError):
        await log.seal("second", NEW, succession)
    assert len(await log.messages()) == before


async def test_the_old_key_is_out_after_the_hand_over_even_if_its_sealer_still_runs(log: Log):
    await log.close("first")
    await log.close("second")
    await log.seal("first", OLD)
    running = SealingOutbox(
        log.client, EpisodeLog(log.client, OLD), DeadLetters(log.client, "sealer")
    )
    await take_up(log.client, NEW, LogSuccession(OLD, windows()), NOW)
    [stored] = await read_from(log.client, streams.DECISIONS, "lictor.dec.*.*.second", 1, 1)
    with pytest.raises(BusError, match="handed over"):
        await running.publish([Sourced("second", stored.sequence, ClosedTask(stored))])


async def test_a_log_that_changed_keys_without_a_hand_over_is_found_out(log: Log):
    await log.close("first")
    await log.close("second")
    await log.seal("first", OLD)
    # Someone with the new key and the right to write EPISODES goes on by himself.
    head = await load_head(log.client, OLD)
    appended = append(head, [], NEW)
    await publish_batch(
        log.client, streams.EPISODES, [Outgoing(subjects.LOG_CHECKPOINT, appended.checkpoint)]
    )
    report = await log.audit(windows())
    assert "did not hand it over" in report.findings[0].what


def test_the_environment_names_the_key_before_and_the_trust_store(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    OLD.save(tmp_path / "old.pem")
    (tmp_path / "trust.json").write_bytes(windows().to_bytes())
    assert load_succession(NEW) == LogSuccession()
    monkeypatch.setenv("LICTOR_SEAL_KEY_PREVIOUS", str(tmp_path / "old.pem"))
    with pytest.raises(BusError, match="LICTOR_SEAL_TRUST is not"):
        load_succession(NEW)
    monkeypatch.setenv("LICTOR_SEAL_TRUST", str(tmp_path / "trust.json"))
    assert load_succession(NEW) == LogSuccession(OLD, windows())
    monkeypatch.setenv("LICTOR_SEAL_TRUST", str(tmp_path / "absent.json"))
    with pytest.raises(BusError, match="no trust store"):
        load_succession(NEW)


def test_the_public_keys_are_written_for_others_and_none_is_ever_dropped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "public.json"
    publish_keys(NEW, LogSuccession())
    assert not path.exists()
    monkeypatch.setenv("LICTOR_SEAL_TRUST_PUBLISH", str(path))
    publish_keys(OLD, LogSuccession())
    assert TrustStore.load(path) == TrustStore.of([OLD.verifying_key])
    publish_keys(NEW, LogSuccession())
    assert {each.key.key_id for each in TrustStore.load(path).keys} == {OLD.key_id, NEW.key_id}
    publish_keys(NEW, LogSuccession(OLD, windows()))
    assert set(TrustStore.load(path).keys) == set(windows().keys)
    publish_keys(NEW, LogSuccession())
    assert set(TrustStore.load(path).keys) == set(windows().keys)
    path.write_text("{}")
    with pytest.raises(BusError, match="LICTOR_SEAL_TRUST_PUBLISH"):
        publish_keys(NEW, LogSuccession())
