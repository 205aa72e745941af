"""Timers of sessions, in a real broker: they ring not before they are due, for one instance, and none is lost."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest

from lictor_bus.errors import BusError, MessageRefused
from lictor_bus.fold import entity_timers
from lictor_bus.fold.entity_timers import EntityTimers
from lictor_bus.fold.timers import timer_messages
from lictor_bus.logs.dead_letters import DeadLetters, list_dead
from lictor_bus.names import streams, subjects
from lictor_bus.service.telemetry import ServiceTelemetry
from lictor_bus.wire.connection import TolerantClient, connect_nats
from lictor_bus.wire.publish import Outgoing, publish_all, publish_one
from lictor_bus.wire.pull import PullSettings
from lictor_feedback.projectors import BELL

KEY = subjects.session_key("sdk", "a session of mine")
OTHER = subjects.session_key("sdk", "another")


@pytest.fixture
async def client(clean_infra) -> AsyncIterator[TolerantClient]:
    client = await connect_nats(clean_infra.nats_url, name="test")
    await streams.declare(client, streams.TIMERS, streams.DEAD)
    yield client
    await client.close()


@pytest.fixture(autouse=True)
def quick_redelivery(monkeypatch) -> None:
    quick = PullSettings(each_on_its_own=True, batch=64, ack_wait_s=0.5)
    monkeypatch.setattr(entity_timers, "_SETTINGS", quick)


class Rung:
    """Notes who was rung for; fails first as often as it is told to."""

    def __init__(self, *failures: Exception) -> None:
        self.rung: list[tuple[str, int]] = []
        self.tried = 0
        self._failures = list(failures)
        self._rang = asyncio.Event()

    async def __call__(self, key: str, due_us: int) -> None:
        self.tried += 1
        if self._failures:
            raise self._failures.pop(0)
        self.rung.append((key, due_us))
        self._rang.set()

    async def times(self, count: int) -> None:
        async with asyncio.timeout(60):
            while len(self.rung) < count:
                self._rang.clear()
                await self._rang.wait()


@asynccontextmanager
async def rung_by(
    client: TolerantClient, *rings: Callable[[str, int], Awaitable[None]]
) -> AsyncIterator[None]:
    loops = [
        EntityTimers(
            client,
            BELL,
            ring,
            dead=DeadLetters(client, "feedback"),
            telemetry=ServiceTelemetry("feedback"),
        )
        for ring in rings
    ]
    tasks = [asyncio.create_task(loop.run()) for loop in loops]
    try:
        yield
    finally:
        for loop in loops:
            loop.stop()
        await asyncio.gather(*tasks)


async def order(client: TolerantClient, key: str, due_us: int | None) -> None:
    await publish_all(client, streams.TIMERS, timer_messages([BELL.timer(key, due_us)]))


def in_ms(milliseconds: int) -> int:
    """A moment, with microseconds that the broker does not count."""
    return time.time_ns() // 1000 + milliseconds * 1000 + 1


async def test_a_session_is_rung_for_when_it_is_due_and_not_before(client) -> None:
    rung = Rung()
    due = in_ms(300)
    async with rung_by(client, rung):
        await order(client, KEY, due)
        await rung.times(1)
        assert time.time_ns() // 1000 >= due
    assert rung.rung == [(KEY, due)]


async def test_a_later_moment_replaces_the_one_before_and_cancelling_forgets_it(client) -> None:
    rung = Rung()
    later = in_ms(500)
    async with rung_by(client, rung):
        await order(client, KEY, in_ms(200))
        await order(client, KEY, later)
        await order(client, OTHER, in_ms(100))
        await order(client, OTHER, None)
        await rung.times(1)
    assert rung.rung == [(KEY, later)]


async def test_a_tick_that_can_t_be_handled_now_comes_again(client) -> None:
    rung = Rung(BusError("the store is away"), BusError("still"))
    async with rung_by(client, rung):
        await order(client, KEY, in_ms(10))
        await rung.times(1)
    assert rung.tried == 3
    assert [letter async for letter in list_dead(client)] == []


async def test_a_defect_in_one_session_is_told_and_harms_no_other(client) -> None:
    rung = Rung(ZeroDivisionError("oops"), MessageRefused("no such session", remedy="begin it"))
    async with rung_by(client, rung):
        for key in (KEY, OTHER):
            await order(client, key, in_ms(1))
        async with asyncio.timeout(60):
            while rung.tried < 2:
                await asyncio.sleep(0.02)
        await order(client, KEY, in_ms(1))
        await rung.times(1)
    reasons = sorted([letter.letter.reason async for letter in list_dead(client)])
    assert reasons == ["ZeroDivisionError: oops", "no such session"]


async def test_two_instances_share_the_ticks(client) -> None:
    one, two = Rung(), Rung()
    keys = [subjects.session_key("sdk", str(number)) for number in range(20)]
    async with rung_by(client, one, two):
        for key in keys:
            await order(client, key, in_ms(50))
        async with asyncio.timeout(60):
            while len(one.rung) + len(two.rung) < len(keys):
                await asyncio.sleep(0.02)
    assert sorted(key for key, _ in one.rung + two.rung) == sorted(keys)


async def test_a_timer_rings_after_the_service_was_away(client) -> None:
    await order(client, KEY, in_ms(1))
    rung = Rung()
    async with rung_by(client, rung):
        await rung.times(1)
    assert rung.rung[0][0] == KEY


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[]",
        b'{"session": 1, "due_us": 1}',
        b'{"session": "a.b", "due_us": 1}',
        b'{"session": "other", "due_us": 1}',
        b'{"session": "mine", "due_us": true}',
        b'{"session": "mine", "due_us": 99999999999999999}',
    ],
)
async def test_what_is_no_tick_of_ours_is_buried(client, body) -> None:
    rung = Rung()
    await publish_one(client, streams.TIMERS, Outgoing(subjects.tick(BELL.kind, "mine"), body))
    async with rung_by(client, rung), asyncio.timeout(60):
        while not [letter async for letter in list_dead(client)]:
            await asyncio.sleep(0.02)
    assert rung.tried == 0
