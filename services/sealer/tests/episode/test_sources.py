"""An episode covers what every stream holds about its task, up to the moment the task closed."""

from collections.abc import AsyncIterator

import pytest
from closing_bus import TASK, Log, closing_bus, record
from task_messages import (
    SESSION,
    action_denied,
    advice,
    gate_answer,
    guard_denial,
    proof,
    receipt,
    store,
    tool_allowed,
    uuid,
)

from lictor_bus.names import streams, subjects
from lictor_bus.wire.publish import Outgoing, publish_one
from lictor_schema.core.canonical_json import content_hash, hash_bytes
from lictor_schema.seals.episode import OutcomeCode
from lictor_schema.seals.episode_sources import EpisodeSources
from lictor_sealer.episode import sources as sources_module


@pytest.fixture
async def log(clean_infra) -> AsyncIterator[Log]:
    async with closing_bus(clean_infra) as log:
        yield log


async def the_sources(log: Log, number: int = 0) -> EpisodeSources:
    found = (await log.episodes())[number].sources
    assert found is not None
    assert await log.letters() == []
    return found


def others(found: EpisodeSources) -> dict[str, int]:
    """How many messages there are of each kind but decision records, and events, which these tests don't store."""
    return {
        each.name: each.count for each in found.strands if each.name not in ("records", "events")
    }


async def test_everything_about_a_task_is_under_a_root_and_what_matters_can_be_read(log):
    first, last = record("e1"), record("e2", closes=True)
    await log.decide(first)
    denied, allowed, answered = guard_denial(TASK), tool_allowed(TASK), gate_answer(TASK, 2)
    proved, kept = proof(TASK), receipt(TASK, first.record_id)
    raised = advice(TASK, 1, delivered=False)
    handed = advice(TASK, 2, delivered=True)
    await store(log.client, denied, allowed, answered, proved, kept, raised, handed)
    await log.decide(last)
    await log.seal()

    found = await the_sources(log)
    assert [each.name for each in found.strands if not each.complete] == ["events"]
    assert await log.messages() == {
        "records": [first.to_json(), last.to_json()],
        "guard": [denied.body],
        "proofs": [proved.body],
        "gates": [allowed.body, answered.body],
        "receipts": [kept.body],
        "session": [raised.body, handed.body],
    }
    assert found.unreadable == 0
    [told] = found.proofs
    assert (told.verdict, told.program_hash) == ("rejected", content_hash(1))
    assert told.reason == "no-layer: there is no layer"
    [stopped] = found.guard
    assert (stopped.tool, stopped.decision, stopped.policy_id) == ("Bash", "block", "rate")
    # Not by a plain hash, from which what is erased could be guessed.
    assert stopped.message_hash != hash_bytes(denied.body)
    [answer] = found.gates
    assert (answer.gate, answer.decision) == ("report", "deny")
    [advised] = found.guidance
    assert (advised.summary, advised.delivered_after) == ("half of the time is used", "call-2")
    [reported] = found.receipts
    assert (reported.record_id, reported.delivery_state) == (first.record_id, "queued")


async def test_what_was_stored_after_the_closing_is_late_whenever_the_sealer_looks(log):
    closing = record("e1", closes=True)
    await store(log.client, gate_answer(TASK, 1))
    await log.decide(closing)
    await store(log.client, receipt(TASK, closing.record_id), gate_answer(TASK, 2), proof(TASK))
    await log.seal()
    found = await the_sources(log)
    assert others(found) == {"gates": 1}
    [stored] = await log.closings()
    assert found.covered_until_us == stored.stored_at_ns // 1000


async def test_what_each_gate_held_back_can_be_read(log):
    await log.decide(record("e1"))
    await store(
        log.client, gate_answer(TASK, 1), action_denied(TASK, 2), gate_answer(TASK, 3, "allow")
    )
    await log.decide(record("e2", closes=True))
    await log.seal()
    found = await the_sources(log)
    assert [(each.gate, each.decision) for each in found.gates] == [
        ("report", "deny"),
        ("action", "deny"),
    ]
    assert (others(found), found.unreadable) == ({"gates": 3}, 0)


async def test_what_another_runtime_said_under_the_name_of_a_task_is_not_in_its_episode(log):
    await log.decide(record("e1"))
    for message in (
        action_denied(TASK, 1, asked_by="stranger"),
        gate_answer(TASK, 2),
        guard_denial(TASK, 3),
        proof(TASK, 4),
        receipt(TASK, uuid(5), 5),
    ):
        of_stranger = message.subject.replace(".test.", ".stranger.")
        await store(log.client, message._replace(subject=of_stranger))
    await log.decide(record("e2", closes=True))
    await log.seal()
    found = await the_sources(log)
    assert others(found) == {}
    [episode] = await log.episodes()
    assert episode.outcome.code == "success"


async def test_messages_about_other_tasks_are_left_out_of_a_shared_session(log):
    await log.decide(record("e1"))
    mine, other = advice(TASK, 1, delivered=True), advice("other", 2, feedback=2, delivered=True)
    await store(log.client, guard_denial(TASK), proof("other", 7), mine, other)
    await log.decide(record("e2", closes=True))
    await log.seal()
    found = await the_sources(log)
    assert others(found) == {"guard": 1, "session": 1}
    assert [each.feedback_id for each in found.guidance] == [uuid(1001)]


async def test_sessions_are_found_by_the_record_the_denials_and_the_allowed_calls(log):
    await log.decide(record("e1", session="told"))
    names = ("told", "denied", "allowed", "unheard-of")
    for number, name in enumerate(names):
        await store(log.client, advice(TASK, number, feedback=number, delivered=True, session=name))
    await store(
        log.client,
        guard_denial(TASK, 9, session="denied"),
        tool_allowed(TASK, 9, session="allowed"),
    )
    await log.decide(record("e2", closes=True))
    await log.seal()
    assert {each.session_id for each in (await the_sources(log)).guidance} == {
        "told",
        "denied",
        "allowed",
    }


async def test_an_episode_after_a_first_one_covers_only_what_came_since(log):
    await log.decide(record("e1"))
    await store(log.client, gate_answer(TASK, 1))
    await log.decide(record("e2", closes=True))
    between = receipt(TASK, record("e2").record_id)
    await store(log.client, between)
    await log.decide(record("e3"))
    await store(log.client, gate_answer(TASK, 2), gate_answer(TASK, 3))
    await log.decide(record("e4", closes=True))
    await log.seal()
    one, two = await the_sources(log, 0), await the_sources(log, 1)
    assert others(one) == {"gates": 1}
    assert others(two) == {"gates": 2, "receipts": 1}


async def test_what_nobody_of_ours_wrote_is_counted_and_does_not_stop_the_seal(log):
    await log.decide(record("e1"))
    for subject, stream in (
        (subjects.proof("test", "proved", TASK), streams.PROOFS),
        (subjects.gated("test", "tool", TASK), streams.GATES),
        (subjects.guard_decision("test", "allow", TASK), streams.DECISIONS),
        (subjects.receipt("test", "acked", TASK, uuid(1)), streams.RECEIPTS),
        (subjects.session_log(subjects.session_key("test", SESSION)), streams.SESSIONS),
    ):
        await publish_one(log.client, stream, Outgoing(subject, b'{"type":"io.nats.jetstream"}'))
    await log.decide(record("e2", closes=True, session=SESSION))
    await log.seal()
    found = await the_sources(log)
    assert found.unreadable == 4
    # An answer of the broker that was led into a session's log is none of its entries.
    assert "session" not in {each.name for each in found.strands}


async def test_more_than_can_be_read_of_a_kind_stands_under_the_root_alone(log, monkeypatch):
    monkeypatch.setattr(sources_module, "MAX_NOTES", 2)
    await log.decide(record("e1"))
    answers = [gate_answer(TASK, number) for number in range(5)]
    await store(log.client, *answers)
    await log.decide(record("e2", closes=True))
    await log.seal()
    found = await the_sources(log)
    assert [each.record_id for each in found.gates] == [uuid(0), uuid(1)]
    assert (await log.messages())["gates"] == [each.body for each in answers]


async def test_an_outcome_rests_on_more_than_the_first_of_a_kind(log):
    """However many harmless answers and receipts came before."""
    await log.decide(record("e1"))
    await store(log.client, *(gate_answer(TASK, n) for n in range(1, 251)))
    await store(log.client, action_denied(TASK, 300), action_denied(TASK, 301))
    await log.decide(record("e2", closes=True))
    await log.seal()
    [episode] = await log.episodes()
    assert episode.outcome.code is OutcomeCode.FAIL
    assert episode.sources is not None
    noted = [each.gate for each in episode.sources.gates]
    assert noted == ["report"] * 198 + ["action"] * 2


async def test_a_decision_that_could_not_be_carried_out_is_no_success_however_late_that_is_told(
    log,
):
    last = record("e1")
    await log.decide(last)
    await store(log.client, *(receipt(TASK, last.record_id, n) for n in range(1, 251)))
    failed = receipt(TASK, uuid(7), 300)
    words = failed.body.replace(b'"planned"', b'"failed"').replace(b'"queued"', b'"failed"')
    await store(log.client, failed._replace(body=words))
    await log.decide(record("e2", closes=True))
    await log.seal()
    [episode] = await log.episodes()
    assert episode.outcome.code is OutcomeCode.PARTIAL


async def test_receipts_of_more_records_than_the_broker_tells_at_once_are_covered(log):
    await log.decide(record("e1"))
    receipts = [receipt(TASK, uuid(number), number) for number in range(1_100)]
    await store(log.client, *receipts)
    await log.decide(record("e2", closes=True))
    await log.seal()
    assert others(await the_sources(log)) == {"receipts": 1_100}
    assert (await log.messages())["receipts"] == [each.body for each in receipts]
