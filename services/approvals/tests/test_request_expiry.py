"""Time: requests that nobody decides and approvals that nobody uses, by the broker's timer."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta

from approval_bus import PATIENCE_S, Bus, until
from approval_samples import BOB

from lictor_approvals.request_log import BELL
from lictor_bus.fold.timers import timer_messages
from lictor_bus.names import streams, subjects
from lictor_bus.wire.publish import Outgoing, publish_all, publish_one
from lictor_schema.core.base_model import utc_millis

SHORT = timedelta(milliseconds=400)


async def test_a_request_that_nobody_decides_expires(bus: Bus) -> None:
    async with bus.service(decide_within=SHORT):
        await bus.prove()
        await bus.until_states("expired")
        (life,) = await bus.lives()
        assert "nobody decided" in str(life.reason)
        late = await bus.decide(life)
        assert "`expired` already" in str(late.reason)


async def test_an_approval_that_nothing_uses_expires(bus: Bus) -> None:
    async with bus.service():
        await bus.prove()
        await bus.until_states("requested")
        (life,) = await bus.lives()
        until_then = utc_millis(bus.now() + SHORT)
        assert (await bus.decide(life, expires_at=until_then)).state == "approved"
        await bus.until_states("expired")
        assert "nothing ran" in str((await bus.lives())[0].reason)


async def test_a_request_expires_though_the_service_was_away_when_its_time_was_up(
    bus: Bus,
) -> None:
    async with bus.service(decide_within=SHORT):
        await bus.prove()
        await bus.until_handled()
    (life,) = await bus.lives()
    await until(lambda: utc_millis(bus.now()) > life.due)
    async with bus.service():
        await bus.until_states("expired")


async def test_timers_that_were_lost_are_set_anew_at_the_start(bus: Bus) -> None:
    async with bus.service(decide_within=SHORT):
        await bus.prove()
        await bus.until_handled()
    await bus.client.jetstream().purge_stream(streams.TIMERS)
    async with bus.service():
        await bus.until_states("expired")


async def test_a_decision_after_the_time_does_not_count_though_no_timer_rang(bus: Bus) -> None:
    async with bus.service():
        await bus.prove()
        await bus.until_states("requested")
        (life,) = await bus.lives()
        bus.apart = timedelta(hours=25)
        answer = await bus.decide(life, BOB, at=bus.now())
        assert "time was up" in str(answer.reason)


async def test_a_timer_that_rings_early_twice_or_for_a_moment_that_moved_ends_nothing(
    bus: Bus,
) -> None:
    async with bus.service():
        await bus.prove()
        await bus.until_states("requested")
        (life,) = await bus.lives()
        request_id = life.request.request_id
        for _ in range(2):
            now_us = int(bus.now().timestamp() * 1e6)
            rung = timer_messages([BELL.timer(request_id, now_us)])
            async with _ticking(bus):
                await publish_all(bus.client, streams.TIMERS, rung)
        assert await bus.states() == ["requested"]


async def test_a_timer_of_a_request_that_is_not_there_becomes_a_dead_letter(bus: Bus) -> None:
    async with bus.service():
        nobody = "00000000-0000-5000-8000-000000000001"
        body = BELL.timer(nobody, 1).message.body  # pyright: ignore[reportAttributeAccessIssue]
        rung = Outgoing(subjects.tick("approval", nobody), body)
        async with _ticking(bus):
            await publish_one(bus.client, streams.TIMERS, rung)
        (letter,) = await bus.dead()
        assert "no request" in letter.letter.reason


async def test_a_request_that_expired_rings_no_more_and_expires_once(bus: Bus) -> None:
    async with bus.service(decide_within=SHORT):
        await bus.prove()
        await bus.until_states("expired")
        (life,) = await bus.lives()
        now_us = int(bus.now().timestamp() * 1e6)
        rung = timer_messages([BELL.timer(life.request.request_id, now_us)])
        async with _ticking(bus):
            await publish_all(bus.client, streams.TIMERS, rung)
        assert [entry.state.value for entry in await bus.entries()] == ["requested", "expired"]


@asynccontextmanager
async def _ticking(bus: Bus) -> AsyncIterator[None]:
    """Waits until a tick that is set off inside was handled, and every other."""
    js = bus.client.jetstream()

    async def delivered() -> tuple[int, bool]:
        info = await js.consumer_info(streams.TIMERS, "tick-approval")
        number = info.delivered.consumer_seq if info.delivered else 0
        return number, not info.num_pending and not info.num_ack_pending

    before, _ = await delivered()
    yield
    end = time.monotonic() + PATIENCE_S
    while (now := await delivered())[0] == before or not now[1]:
        assert time.monotonic() < end, "no tick was handled"
        await asyncio.sleep(0.01)
