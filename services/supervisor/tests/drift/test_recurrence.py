"""Sightings of drift on a real bus: counted once each, whatever restarts, is lost or comes again."""

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta

import pytest
import redis.asyncio
from learning_bus import NOW, Bus, learning_bus, learning_supervisor, sighting

from lictor_bus.logs.dead_letters import list_dead
from lictor_bus.names import streams
from lictor_bus.wire.publish import Outgoing, publish_one
from lictor_contracts.drift.events import PATCH_FOR
from lictor_local.embedded_servers import Endpoints
from lictor_schema.contracts.drift import DriftSeverity, DriftType, TriageState
from lictor_schema.contracts.patch import PatchState

GREEN, YELLOW, RED = DriftSeverity.GREEN, DriftSeverity.YELLOW, DriftSeverity.RED


@pytest.fixture
async def bus(clean_infra: Endpoints, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Bus]:
    """The broker forgets message ids at once: what is exactly once here is so without them."""
    monkeypatch.setattr(streams, "DUPLICATE_WINDOW_S", 0.1)
    async with learning_bus(clean_infra) as ready:
        yield ready


async def test_the_third_sighting_of_a_cause_is_red_and_asks_for_one_patch(bus: Bus) -> None:
    """Contract scenario 48: the third time is red, with a proposal."""
    async with learning_supervisor(bus.endpoints):
        await bus.see(*(sighting(f"e{number}") for number in range(5)))
        found = await bus.until_drift(5)
    assert [event.severity for event in found] == [GREEN, YELLOW, RED, RED, RED]
    (proposed,) = await bus.patches()
    assert proposed.state is PatchState.PROPOSED
    assert proposed.request is not None
    assert proposed.request.drift_ids == tuple(event.drift_id for event in found[:3])


async def test_restarts_and_a_lost_store_neither_lose_nor_double_anything(bus: Bus) -> None:
    """Contract scenario 48: the third time is red, with a proposal."""
    async with learning_supervisor(bus.endpoints):
        await bus.see(sighting("e1"), sighting("e2"))
        await bus.until_drift(2)
    async with redis.asyncio.from_url(bus.endpoints.redis_url) as store:
        await store.flushall()
    await asyncio.sleep(0.2)
    await bus.see(sighting("e3"))
    async with learning_supervisor(bus.endpoints):
        await bus.until_drift(3)
    async with redis.asyncio.from_url(bus.endpoints.redis_url) as store:
        await store.flushall()
    await asyncio.sleep(0.2)
    async with learning_supervisor(bus.endpoints):
        await bus.see(sighting("e4"))
        found = await bus.until_drift(4)
    assert [event.severity for event in found] == [GREEN, YELLOW, RED, RED]
    assert len({event.drift_id for event in found}) == 4
    assert len(await bus.patches()) == 1


async def test_a_sighting_that_comes_again_counts_once_and_keeps_its_triage(bus: Bus) -> None:
    """Contract scenario 49: redelivery keeps the triage."""
    first = sighting("e1")
    async with learning_supervisor(bus.endpoints):
        await bus.see(first)
        await bus.until_drift(1)
        assert (await bus.move(first.drift_id, TriageState.TRIAGED)).outcome == "done"
        await bus.see(first, first, again=True)
        await bus.see(sighting("e2"))
        found = await bus.until_drift(2)
        refused = await bus.move(first.drift_id, TriageState.TRIAGED)
    assert [event.severity for event in found] == [GREEN, YELLOW]
    assert (refused.outcome, refused.state) == ("refused", "triaged")
    assert [letter async for letter in list_dead(bus.client)] == []


async def test_a_cause_seen_worse_in_the_same_episode_is_told_again_and_keeps_its_triage(
    bus: Bus,
) -> None:
    mild, worse = sighting("e1"), sighting("e1", severity=RED)
    async with learning_supervisor(bus.endpoints):
        await bus.see(mild)
        await bus.until_drift(1)
        await bus.move(mild.drift_id, TriageState.TRIAGED)
        await bus.see(worse, mild, again=True)
        await bus.see(sighting("e2"))
        found = await bus.until_drift(3)
        planned = await bus.move(mild.drift_id, TriageState.PATCH_PLANNED)
    assert [(event.episode_id, event.severity) for event in found] == [
        ("e1", GREEN),
        ("e1", RED),
        ("e2", RED),
    ]
    assert planned.state == "patch_planned"
    assert await bus.patches() == [], "it was seen in two episodes only"


async def test_every_type_of_drift_travels_with_its_own_severity(bus: Bus) -> None:
    """Contract scenario 52: eight types, eight emitters, eight patches."""
    seen = [sighting("e", drift_type=kind, severity=YELLOW) for kind in DriftType]
    async with learning_supervisor(bus.endpoints):
        await bus.see(*seen)
        found = await bus.until_drift(8)
    assert sorted(found, key=lambda each: each.drift_type) == sorted(
        seen, key=lambda each: each.drift_type
    )
    assert {each.drift_type: each.recommended_patch_type for each in found} == dict(PATCH_FOR)


async def test_two_causes_in_an_episode_stay_two_and_neither_touches_the_other(bus: Bus) -> None:
    """Contract scenario 46: two causes, two events."""
    red = sighting("e", drift_type=DriftType.VERIFY, severity=RED)
    yellow = sighting("e", drift_type=DriftType.TIME, severity=YELLOW)
    async with learning_supervisor(bus.endpoints):
        await bus.see(red, yellow)
        found = await bus.until_drift(2)
    assert found == [red, yellow]


async def test_after_a_rejected_patch_later_drift_asks_for_another(bus: Bus) -> None:
    async with learning_supervisor(bus.endpoints):
        await bus.see(*(sighting(f"e{number}") for number in range(3)))
        await bus.until_drift(3)
        (first,) = await bus.patches()
        answer = await bus.step(patch_id=first.patch_id, step="reject", by="ada", reason="no")
        assert answer.outcome == "done"
        await bus.until_settled(1)
        before, after = NOW, NOW + timedelta(hours=2)
        await bus.see(sighting("old", at=before), sighting("new", at=after))
        await bus.until_drift(5)
    second = (await bus.patches())[-1]
    assert second.patch_id != first.patch_id
    assert second.request is not None
    assert second.request.attempt == 2
    assert len(await bus.patches()) == 3


async def test_what_is_no_sighting_becomes_a_dead_letter_and_stops_nobody(bus: Bus) -> None:
    event = sighting("e1")
    other = sighting("e1", cause="another")
    bodies = [
        b"{",
        event.to_json().replace(b'"green"', b'"mauve"'),
        event.model_copy(update={"cause": "not what was hashed"}).to_json(),
        other.to_json(),
    ]
    subject = f"lictor.drifting.{event.fingerprint.key.removeprefix('sha256:')}"
    async with learning_supervisor(bus.endpoints):
        for body in bodies:
            await publish_one(bus.client, streams.DRIFT, Outgoing(subject, body))
        await bus.see(event)
        assert await bus.until_drift(1) == [event]
        letters = [letter async for letter in list_dead(bus.client)]
    assert len(letters) == len(bodies)
    assert all(letter.letter.reason and letter.letter.remedy for letter in letters)


async def test_a_foreign_message_among_the_events_does_not_hide_what_was_published(
    bus: Bus,
) -> None:
    async with learning_supervisor(bus.endpoints):
        await bus.see(sighting("e1"))
        await bus.until_drift(1)
    copied = Outgoing(
        "lictor.drift.bypass.green", b'{"error":"no"}', None, {"Lictor-Source-Sequence": "99"}
    )
    await publish_one(bus.client, streams.DRIFT, copied)
    async with redis.asyncio.from_url(bus.endpoints.redis_url) as store:
        await store.flushall()
    await asyncio.sleep(0.2)
    async with learning_supervisor(bus.endpoints):
        await bus.see(sighting("e2"))
        async with asyncio.timeout(60):
            while await _messages(bus, "lictor.drift.bypass.yellow") < 1:
                await asyncio.sleep(0.02)
    assert await _messages(bus, "lictor.drift.bypass.green") == 2, "ours once, and the foreign one"


async def _messages(bus: Bus, subject: str) -> int:
    from lictor_bus.wire.read import read_from

    return len(await read_from(bus.client, streams.DRIFT, subject, 1, 100))
