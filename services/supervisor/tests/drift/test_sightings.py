"""Sightings are published once, also by a sealer that died long ago, when the broker has forgotten their ids."""

import asyncio
import uuid

import pytest
from governing_bus import HASH, governing_bus

from lictor_bus.errors import MessageRefused
from lictor_bus.fold.processor import Parsed, Sourced
from lictor_bus.names import streams, subjects
from lictor_bus.wire.delivery import Delivery
from lictor_bus.wire.publish import Outgoing
from lictor_local.embedded_servers import Endpoints
from lictor_schema.contracts.decision_log import (
    ActionDispatched,
    AnyDecisionEntry,
    ContractViolation,
    SpreadCounted,
)
from lictor_supervisor.drift.sightings import BELL, SightingOutbox, SightingProcessor, SightingState

NOW_US = 1_700_000_000_000_000
KEY = subjects.decision_key("rt", "task-1")


def dispatched(problem: str | None = "no contract", due_us: int | None = None) -> ActionDispatched:
    return ActionDispatched(
        kind="action_dispatched",
        entry_id=str(uuid.uuid4()),
        at_us=NOW_US,
        request_id="q-1",
        runtime="rt",
        task_id="task-1",
        agent_id="agent",
        decision_type="refund",
        episode_id="episode-1",
        next_due_us=due_us,
        action_id="a-1",
        action_type="refund",
        action_hash=HASH,
        problem=problem,
    )


def counted(severity: str, actual: int | None) -> SpreadCounted:
    violation = ContractViolation(
        gate="feature_ttl",
        field="freshness.featureTtls.balance",
        limit=5,
        actual=actual,
        severity=severity,  # pyright: ignore[reportArgumentType] -- one of the two
        message="balance is old; capture it again",
    )
    told = dispatched().model_dump(exclude={"kind", "action_id", "action_type", "action_hash"})
    del told["problem"]
    return SpreadCounted(
        **told,
        kind="spread_counted",
        hops=0,
        fanout=0,
        tool_calls=0,
        chain_depth=0,
        violations=(violation,),
    )


def stored(entry: AnyDecisionEntry, key: str = KEY) -> Delivery:
    headers = {"Nats-Msg-Id": entry.entry_id}
    return Delivery(subjects.decision_log(key), entry.to_json(), headers, 7, NOW_US * 1000)


def stepped(
    state: SightingState | None, entry: AnyDecisionEntry
) -> tuple[SightingState, tuple[Outgoing, ...]]:
    processor = SightingProcessor()
    delivery = stored(entry)
    found = processor.step(state, processor.parse(delivery), delivery)
    again = processor.decode_state(processor.encode_state(found.state))
    assert again == found.state
    return found.state, found.outputs


def test_a_cause_is_told_once_and_again_when_it_is_worse() -> None:
    state, first = stepped(None, counted("soft", 9))
    assert len(first) == 1
    state, same = stepped(state, counted("soft", 10))
    assert same == ()
    state, worse = stepped(state, counted("hard", 11))
    assert [each.message_id for each in worse] == [f"{first[0].message_id}:red"]
    assert stepped(state, counted("soft", 12))[1] == ()


def test_the_timer_follows_what_the_last_entry_names() -> None:
    processor = SightingProcessor()
    state, _ = stepped(None, dispatched(None, NOW_US + 5))
    assert processor.timers(None, state, True) == (BELL.timer(KEY, NOW_US + 5),)
    assert processor.timers(state, state, True) == ()
    assert len(processor.timers(state, state, False)) == 1
    ended, _ = stepped(state, dispatched(None))
    assert processor.timers(state, ended, True) == (BELL.timer(KEY, None),)


def test_what_is_no_entry_of_the_log_is_refused() -> None:
    entry = dispatched()
    processor = SightingProcessor()
    good = stored(entry)
    bad = [
        good._replace(headers={}),
        good._replace(body=b"{}"),
        good._replace(body=good.body.replace(b'"rt"', b'"other"')),
        stored(entry, "switch"),
        good._replace(body=good.body.replace(b'"at_us":', b'"surplus":1,"at_us":')),
    ]
    for each in bad:
        with pytest.raises(MessageRefused):
            processor.parse(each)
    assert isinstance(processor.parse(good), Parsed)


async def test_a_sighting_is_found_again_when_the_broker_has_forgotten_its_id(
    clean_infra: Endpoints,
) -> None:
    async with governing_bus(clean_infra) as asker:
        js = asker.client.jetstream()
        config = (await js.stream_info(streams.DRIFT)).config
        config.duplicate_window = 0.1
        await js.update_stream(config)
        _, outputs = stepped(None, dispatched())
        sourced = [Sourced(KEY, 7, each) for each in outputs]
        await SightingOutbox(asker.client).publish(sourced)
        await asyncio.sleep(0.3)
        restarted = SightingOutbox(asker.client)
        assert await restarted.published({KEY}) == {}
        await restarted.publish(sourced)
        assert len(await asker.sightings()) == 1
        await SightingOutbox(asker.client).publish(sourced)
        assert len(await asker.sightings()) == 2, "the broker remembers the id after all"
