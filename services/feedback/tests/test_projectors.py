"""What others hear of sessions, folded from their logs alone: once, also when the fold is lost and made again."""

import asyncio
import time
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from lictor_bus.names import streams, subjects
from lictor_bus.service.service import ServiceRuntime, connected
from lictor_bus.service.settings import ServiceSettings
from lictor_bus.service.telemetry import ServiceTelemetry
from lictor_bus.wire.publish import Outgoing, publish_one
from lictor_bus.wire.read import last_on_subjects, read_from
from lictor_feedback.projectors import projectors
from lictor_schema.sessions.feedback import StampedFeedback
from lictor_schema.sessions.session_log import (
    FeedbackDelivered,
    FeedbackRaised,
    SessionBegun,
    StopJudged,
)

NOW_US = time.time_ns() // 1000
HOUR_US = 3600 * 1_000_000


@pytest.fixture
async def runtime(clean_infra) -> AsyncIterator[ServiceRuntime]:
    settings = ServiceSettings(nats_url=clean_infra.nats_url, redis_url=clean_infra.redis_url)
    async with connected("feedback", settings, ServiceTelemetry("feedback")) as runtime:
        await streams.declare(
            runtime.client,
            streams.SESSIONS,
            streams.DECISIONS,
            streams.GUIDANCE,
            streams.TIMERS,
            streams.DEAD,
        )
        yield runtime


async def name_of(_definition_hash: str) -> str:
    return "coder"


@asynccontextmanager
async def projecting(runtime: ServiceRuntime) -> AsyncIterator[None]:
    """Both folds at work; at the end they have come to the end of SESSIONS."""
    workers = projectors(runtime, name_of)
    tasks = [asyncio.create_task(worker.run()) for worker in workers]
    yield
    last = (await runtime.client.jetstream().stream_info("SESSIONS")).state.last_seq
    async with asyncio.timeout(60):
        for fold in ("decisions", "guidance"):
            while int(await runtime.store.get(_cursor(fold)) or 0) < last:
                await asyncio.sleep(0.02)
    for worker in workers:
        worker.stop()
    await asyncio.gather(*tasks)


def _cursor(fold: str) -> str:
    return f"lictor:{{feedback:{fold}}}:0:cursor"


def stamp(session: str) -> dict[str, object]:
    return {
        "entry_id": str(uuid.uuid4()),
        "at_us": NOW_US,
        "runtime": "rt",
        "session_id": session,
        "task_id": f"task-of-{session}",
        "agent_id": "agent",
        "definition_hash": "sha256:" + "0" * 64,
    }


def begun(session: str, due_us: int | None) -> SessionBegun:
    return SessionBegun(
        kind="session_begun",
        **stamp(session),  # pyright: ignore[reportArgumentType]
        definition="coder",
        version="1",
        next_due_us=due_us,
    )


def advice() -> StampedFeedback:
    return StampedFeedback(
        provider="nag",
        summary="go on",
        feedback_id=str(uuid.uuid4()),
        raised_at="2026-01-31T12:00:00.000Z",
        call_index=1,
        trigger="calls",
        definition="coder",
    )


async def store(runtime: ServiceRuntime, session: str, *entries) -> None:
    key = subjects.session_key("rt", session)
    for entry in entries:
        message = Outgoing(subjects.session_log(key), entry.to_json(), entry.entry_id)
        await publish_one(runtime.client, streams.SESSIONS, message)


async def told(runtime: ServiceRuntime, session: str) -> list[str]:
    subject = subjects.guidance("rt", subjects.session_key("rt", session))
    found = await read_from(runtime.client, streams.GUIDANCE, subject, 1, 100)
    return [StampedFeedback.from_json(each.body).feedback_id for each in found]


async def has_timer(runtime: ServiceRuntime, session: str) -> bool:
    subject = subjects.schedule("guidance", subjects.session_key("rt", session))
    found = await last_on_subjects(runtime.client, streams.TIMERS, [subject])
    return any("Nats-Schedule" in each.headers for each in found)


async def test_a_fold_that_is_lost_sets_every_timer_again_and_tells_nothing_twice(runtime):
    given = advice()
    delivered = FeedbackDelivered(
        kind="feedback_delivered",
        **stamp("talks"),  # pyright: ignore[reportArgumentType]
        call_id="c1",
        feedback=(given,),
    )
    async with projecting(runtime):
        await store(runtime, "waits", begun("waits", NOW_US + HOUR_US))
        await store(runtime, "talks", begun("talks", NOW_US + HOUR_US), delivered)
    assert await told(runtime, "talks") == [given.feedback_id]
    assert await has_timer(runtime, "waits")
    assert not await has_timer(runtime, "talks")

    await runtime.store.flushall()
    await runtime.client.jetstream().purge_stream("TIMERS")
    async with projecting(runtime):
        await store(runtime, "another", begun("another", None))
    assert await told(runtime, "talks") == [given.feedback_id]
    assert await has_timer(runtime, "waits")
    assert not await has_timer(runtime, "talks")


async def test_feedback_that_a_timer_raised_is_told_when_it_is_raised_and_not_again(runtime):
    first, second = advice(), advice()
    raised = FeedbackRaised(
        kind="feedback_raised",
        **stamp("s"),  # pyright: ignore[reportArgumentType]
        feedback=(first,),
    )
    delivered = FeedbackDelivered(
        kind="feedback_delivered",
        **stamp("s"),  # pyright: ignore[reportArgumentType]
        call_id="c1",
        feedback=(first, second),
    )
    async with projecting(runtime):
        await store(runtime, "s", begun("s", None), raised, delivered)
    assert await told(runtime, "s") == [first.feedback_id, second.feedback_id]


async def test_a_session_that_ended_is_not_rung_for(runtime):
    stopped = StopJudged(
        kind="stop_judged",
        **stamp("s"),  # pyright: ignore[reportArgumentType]
        allowed=True,
        status="complete",
        attempt=0,
        stop_reason="done",
        reason="complete",
    )
    async with projecting(runtime):
        await store(runtime, "s", begun("s", NOW_US + HOUR_US), stopped)
    assert not await has_timer(runtime, "s")
    assert await read_from(runtime.client, streams.DECISIONS, subjects.DECISION.all, 1, 10) == []


async def test_what_is_no_entry_is_buried_and_stops_nothing(runtime):
    key = subjects.session_key("rt", "s")
    async with projecting(runtime):
        passed_over = begun("other", NOW_US + HOUR_US).to_json()
        denied = b'{"kind":"call_denied","entry_id":"x"}'
        for body in (b"{}", b"no JSON", denied, passed_over):
            await runtime.client.jetstream().publish(subjects.session_log(key), body)
        await store(runtime, "s", begun("s", NOW_US + HOUR_US))
    assert await has_timer(runtime, "s")
    dead = await runtime.client.jetstream().stream_info("DEAD")
    assert dead.state.messages == 4
