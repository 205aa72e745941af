"""What the sealer makes of closings that come together, come again, or cover more than one answer of the broker."""

from collections.abc import AsyncIterator

import pytest

from lictor_bus import streams, subjects
from lictor_bus.connection import connect_nats
from lictor_bus.dead import DeadLetters, list_dead
from lictor_bus.processor import Sourced
from lictor_bus.publish import Outgoing, publish_one
from lictor_bus.read import read_from
from lictor_schema import DecisionRecord, SealedEpisode, canonical_json
from lictor_schema.ids import decision_id, episode_id
from lictor_seal import SealBundle, SigningKey, TrustStore, verify_bundle
from lictor_sealer.app import ClosedTask, SealingOutbox

KEY = SigningKey.from_seed("lictor.test/log", bytes(32))
HASH = "sha256:" + "0" * 64
MOMENT = "2026-01-01T00:00:00.000Z"
TASK = "task"


def record(event_id: str, *, closes: bool = False, missing: tuple[str, ...] = ()) -> DecisionRecord:
    value = {
        "record_id": decision_id(TASK, "bench", event_id, HASH, "no_rule_matched"),
        "recorded_at": MOMENT,
        "runtime": "test",
        "task_id": TASK,
        "agent_id": "agent",
        "correlation_id": "flow",
        "event_id": event_id,
        "event_type": "task_claimed_complete" if closes else "task_status_changed",
        "event_timestamp": MOMENT,
        "event_sequence": 1,
        "event_sha256": HASH,
        "trigger_event_ids": [event_id],
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
        "evidence": {"missing": missing},
        "receipt": {
            "status": "planned",
            "delivery_state": "prepared",
            "operator_notice_required": False,
        },
        "task_closed": closes,
        "episode": {
            "title": "Work",
            "started_at": MOMENT,
            "packs": [],
            "profiles": [{"profile_id": "solo", "profile_hash": HASH}],
            "final_status": "completed",
        }
        if closes
        else None,
    }
    return DecisionRecord.from_json(canonical_json(value))


class Log:
    """A log on a clean bus, and closings to bring to it."""

    def __init__(self, client) -> None:
        self.client = client

    async def decide(self, *records: DecisionRecord) -> None:
        for each in records:
            out = Outgoing(subjects.decision("allow", TASK), each.to_json())
            await publish_one(self.client, streams.DECISIONS, out)

    async def seal(self) -> None:
        """Give every closing in DECISIONS to a new outbox, as one batch."""
        stored = await self.closings()
        outbox = SealingOutbox(self.client, KEY, DeadLetters(self.client, "sealer"))
        await outbox.publish([Sourced(TASK, each.sequence, ClosedTask(each)) for each in stored])

    async def closings(self):
        found, after = [], 0
        while page := await read_from(self.client, streams.DECISIONS, ">", after + 1, 100):
            found += (each for each in page if DecisionRecord.from_json(each.body).task_closed)
            after = page[-1].sequence
        return found

    async def episodes(self) -> list[SealedEpisode]:
        """Every sealed episode, each verified."""
        trust = TrustStore.of([KEY.verifying_key])
        stored = await read_from(self.client, streams.EPISODES, "lictor.ep.>", 1, 100)
        assert all(verify_bundle(each.body, trust).ok for each in stored)
        return [
            SealedEpisode.from_json(canonical_json(SealBundle.from_bytes(each.body).sealed_episode))
            for each in stored
        ]

    async def letters(self):
        return [letter async for letter in list_dead(self.client)]


@pytest.fixture
async def log(clean_infra) -> AsyncIterator[Log]:
    client = await connect_nats(clean_infra.nats_url, name="test")
    await streams.declare(client, streams.DECISIONS, streams.EPISODES, streams.DEAD)
    yield Log(client)
    await client.close()


async def test_two_closings_of_one_task_in_one_batch_are_two_episodes(log):
    first = [record("e1"), record("e2", closes=True)]
    second = [record("e3"), record("e4"), record("e5", closes=True)]
    await log.decide(*first, *second)
    await log.seal()
    episodes = await log.episodes()
    assert [[digest.record_id for digest in episode.records] for episode in episodes] == [
        [each.record_id for each in first],
        [each.record_id for each in second],
    ]
    assert [episode.episode_id for episode in episodes] == [
        episode_id(TASK, "e1"),
        episode_id(TASK, "e3"),
    ]
    assert await log.letters() == []


async def test_an_episode_names_the_profiles_that_changed_its_packs(log):
    await log.decide(record("e1"), record("e2", closes=True))
    await log.seal()
    (episode,) = await log.episodes()
    assert [(each.profile_id, each.profile_hash) for each in episode.policy.profiles] == [
        ("solo", HASH)
    ]


async def test_a_batch_that_comes_again_seals_nothing_twice(log):
    await log.decide(record("e1", closes=True), record("e2", closes=True))
    await log.seal()
    await log.seal()
    assert len(await log.episodes()) == 2
    assert await log.letters() == []


@pytest.mark.parametrize("together", [True, False])
async def test_a_run_under_the_event_ids_of_an_earlier_one_is_buried_not_dropped(log, together):
    await log.decide(record("e1"), record("e2", closes=True))
    if not together:
        await log.seal()
    await log.decide(record("e1"), record("e2", closes=True))
    await log.seal()
    assert len(await log.episodes()) == 1
    [letter] = await log.letters()
    assert letter.letter.sequence == 4
    assert "of the closing at DECISIONS 2" in letter.letter.reason


async def test_an_episode_longer_than_one_answer_of_the_broker_is_sealed_whole(log):
    large = ("x" * 60_000,) * 60
    records = [record(f"e{number}", missing=large) for number in range(5)]
    records.append(record("last", closes=True))
    await log.decide(*records)
    assert len(await read_from(log.client, streams.DECISIONS, ">", 1, 100)) < len(records)
    await log.seal()
    [episode] = await log.episodes()
    assert [digest.record_id for digest in episode.records] == [each.record_id for each in records]
