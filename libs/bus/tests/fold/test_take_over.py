"""A fold that goes on under another name: no hole, no repeat, whoever dies in between."""

import asyncio
from typing import Any

from lictor_bus.logs.dead_letters import list_dead
from lictor_bus.names import streams, subjects

PATIENCE_S = 30.0


def old(bench: Any, **more: Any) -> Any:
    return bench.fold_of("totals", **more)


def new(bench: Any, **more: Any) -> Any:
    return bench.fold_of("sums", formerly="totals", **more)


async def keys(bench: Any, service: str) -> list[str]:
    found: list[Any] = await bench.redis.keys(f"lictor:{{{service}:x}}:*")
    return sorted(key.decode() for key in found)


async def durables(bench: Any) -> set[str]:
    found = await bench.client.jetstream().consumers_info(streams.EVENTS)
    return {each.name for each in found}


async def cursor(bench: Any, service: str) -> int:
    root = f"lictor:{{{service}:x}}"
    generation = int(await bench.redis.get(f"{root}:generation") or 0)
    return int(await bench.redis.get(f"{root}:{generation}:cursor") or 0)


async def until_committed(bench: Any, service: str, sequence: int) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while await cursor(bench, service) < sequence:
            await asyncio.sleep(0.02)


async def folded_by_the_old_one(bench: Any) -> None:
    """Two keys, a refused message, and a key that Redis will remove by itself."""
    await bench.send("a", 1, 2, 3)
    await bench.client.jetstream().publish(subjects.event("test", "c"), b"no number")
    async with bench.running(old(bench)):
        await until_committed(bench, "totals", 4)
    await bench.send("b", 10)
    async with bench.running(old(bench, keep_s=1000)):
        await until_committed(bench, "totals", 5)


async def test_the_new_fold_comes_to_the_states_of_the_old_one_and_publishes_nothing_again(
    bench: Any,
) -> None:
    await folded_by_the_old_one(bench)
    await bench.send("a", 4)
    async with bench.running(new(bench)):
        await until_committed(bench, "sums", 6)
    assert await bench.totals("a") == [1, 3, 6, 10]
    assert await bench.totals("b") == [10]
    assert await durables(bench) == {"sums-x"}
    assert await bench.count(streams.DEAD) == 1


async def test_a_batch_that_was_published_and_not_committed_is_not_published_again(
    bench: Any,
) -> None:
    await folded_by_the_old_one(bench)
    dying = old(bench)
    await bench.send("a", 4)

    async def fails(*_: Any) -> None:
        raise asyncio.CancelledError

    dying._store.commit = fails
    task = asyncio.create_task(dying.run())
    await asyncio.wait([task])
    assert await bench.totals("a") == [1, 3, 6, 10]
    async with bench.running(new(bench)):
        await until_committed(bench, "sums", 6)
        await bench.send("a", 5)
        await until_committed(bench, "sums", 7)
    assert await bench.totals("a") == [1, 3, 6, 10, 15]


async def test_while_the_old_service_is_at_work_the_new_one_waits_and_says_so(bench: Any) -> None:
    await bench.send("a", 1, 2)
    following = new(bench)
    async with bench.running(old(bench)):
        await until_committed(bench, "totals", 2)
        async with bench.running(following):
            async with asyncio.timeout(PATIENCE_S):
                while "an older totals still folds EVENTS" not in (following.trouble or ""):
                    await asyncio.sleep(0.02)
            await bench.send("a", 3)
            await until_committed(bench, "totals", 3)
            assert await keys(bench, "sums") == []
    async with bench.running(new(bench)):
        await until_committed(bench, "sums", 3)
    assert await bench.totals("a") == [1, 3, 6]


async def test_two_that_take_over_at_once_double_nothing(bench: Any) -> None:
    await folded_by_the_old_one(bench)
    async with bench.running(new(bench), new(bench)):
        for number in range(6, 26):
            await bench.send("a", 1)
            await until_committed(bench, "sums", number)
    assert await bench.totals("a") == [1, 3, 6, *range(7, 27)]


async def test_an_old_service_that_came_back_for_a_while_doubles_nothing(bench: Any) -> None:
    await folded_by_the_old_one(bench)
    async with bench.running(new(bench)):
        await until_committed(bench, "sums", 5)
    async with bench.running(old(bench)):
        await until_committed(bench, "totals", 5)
    await bench.send("a", 4)
    async with bench.running(new(bench)):
        await until_committed(bench, "sums", 6)
    assert await bench.totals("a") == [1, 3, 6, 10]
    assert await durables(bench) == {"sums-x"}


async def test_a_store_that_was_lost_is_folded_from_the_start_and_buries_nothing_again(
    bench: Any,
) -> None:
    await folded_by_the_old_one(bench)
    await bench.redis.flushall()
    await bench.send("a", 4)
    async with bench.running(new(bench)):
        await until_committed(bench, "sums", 6)
    assert await bench.totals("a") == [1, 3, 6, 10]
    assert [each.letter.service async for each in list_dead(bench.client)] == ["totals"]
    assert await durables(bench) == {"sums-x"}


async def test_where_nothing_was_folded_before_nothing_is_taken_over(bench: Any) -> None:
    started = asyncio.get_running_loop().time()
    await bench.take_over("totals").finish()
    # It looks for the old fold and does not wait for a silence.
    assert asyncio.get_running_loop().time() - started < bench.quiet_s
    await bench.send("a", 1)
    async with bench.running(new(bench)):
        await until_committed(bench, "sums", 1)
    assert await bench.totals("a") == [1]
