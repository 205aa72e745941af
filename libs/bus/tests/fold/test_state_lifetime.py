"""What is forgotten, and when, follows from the stream alone: live and in a fold from the start."""

import asyncio
import json
from datetime import datetime

from lictor_bus.fold.state_store import Commit, Lifetime, StateReader, StateStore
from lictor_bus.names import streams, subjects
from lictor_bus.wire.publish import Outgoing, publish_one
from lictor_bus.wire.read import read_from

PARTITIONS = 2


async def send(bench, key: str, message_id: str, number: int) -> None:
    """Without an id for the broker, which would drop a second message with it."""
    body = json.dumps({"id": message_id, "n": number}).encode()
    await publish_one(bench.client, streams.EVENTS, Outgoing(subjects.event("test", key), body))


async def until_the_brokers_clock_has_moved(bench, seconds: float) -> None:
    moments: list[datetime] = []
    async with asyncio.timeout(30):
        while not moments or (moments[-1] - moments[0]).total_seconds() < seconds:
            await send(bench, "clock", f"tick {len(moments)}", 0)
            ticks = await read_from(bench.client, streams.EVENTS, "lictor.ev.*.*.clock", 1, 1000)
            moments = [each.stored_at for each in ticks]
            await asyncio.sleep(0.05)


def workers(bench):
    return [bench.worker(partition, keep_s=1) for partition in range(PARTITIONS)]


async def totals_reach(bench, key: str, count: int) -> list[int]:
    async with asyncio.timeout(30):
        while len(totals := await bench.totals(key)) < count:
            await asyncio.sleep(0.02)
    return totals


async def test_a_key_that_was_quiet_for_long_begins_anew_also_when_the_store_was_lost(bench):
    async with bench.running(*workers(bench)):
        await send(bench, "a", "first", 1)
        await send(bench, "a", "second", 1)
        await totals_reach(bench, "a", 2)
        await until_the_brokers_clock_has_moved(bench, 1.2)
        # The id was used before, by what is forgotten now. Its total has an id that the broker still remembers.
        await send(bench, "a", "first", 5)
        await send(bench, "a", "third", 2)
        assert await totals_reach(bench, "a", 3) == [1, 2, 7]
    await bench.redis.flushall()
    partition = subjects.partition_of("a", PARTITIONS)
    reader = StateReader(bench.redis, "totals", str(partition))
    async with bench.running(*workers(bench)), asyncio.timeout(30):
        await send(bench, "a", "fourth", 1)
        assert (await totals_reach(bench, "a", 4))[:3] == [1, 2, 7]
        while (found := await reader.peek("a")).state is None:
            await asyncio.sleep(0.02)
    # By now it may have been quiet for long again.
    assert found.state in (b"8", b"1")
    assert await bench.count(streams.DEAD) == 0


async def test_the_same_id_twice_in_one_life_is_refused_still(bench):
    async with bench.running(*workers(bench)):
        await send(bench, "a", "first", 1)
        await send(bench, "a", "first", 1)
        await bench.until(streams.DEAD, 1)
    assert await bench.totals("a") == [1]


async def test_a_state_that_came_after_a_forgotten_one_stands_without_its_ids(bench):
    store, reader = StateStore(bench.redis, "s", "0"), StateReader(bench.redis, "s", "0")
    await store.open("made")
    old = Commit({"k": (b"old", Lifetime(60, 1_000))}, [("k", "id", 1)])
    await store.commit(0, 1, old)
    assert (await reader.peek("k"))[1:] == (b"old", 1_000, 1)
    loaded = await store.load([1], [("k", "id")])
    assert (loaded.until_us, loaded.seen) == ({"k": 1_000}, {("k", "id"): 1})
    await store.commit(1, 2, Commit({"k": (b"new", None)}, [("k", "other", 2)], {"k"}))
    loaded = await store.load([2], [("k", "id"), ("k", "other")])
    assert (loaded.until_us, loaded.seen) == ({}, {("k", "other"): 2})
    assert await bench.redis.ttl("lictor:{s:0}:0:t:k") == -1


async def test_a_state_that_is_to_be_kept_after_all_has_no_end_any_more(bench):
    store = StateStore(bench.redis, "s", "0")
    await store.open("made")
    await store.commit(0, 1, Commit({"k": (b"1", Lifetime(60, 1_000))}, []))
    week = 7 * 24 * 3600
    assert week < await bench.redis.ttl("lictor:{s:0}:0:t:k") <= week + 60
    await store.commit(1, 2, Commit({"k": (b"2", None)}, []))
    assert (await store.load([2], [("k", "id")])).until_us == {}
    assert await bench.redis.ttl("lictor:{s:0}:0:t:k") == -1
