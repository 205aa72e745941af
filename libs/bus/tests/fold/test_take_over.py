"""A fold that goes on under another name: no hole, no repeat, whoever dies in between."""

import asyncio
from typing import Any

import pytest
from redis.exceptions import ResponseError

from lictor_bus.errors import BusError
from lictor_bus.fold.state_store import StateStore
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


async def test_the_new_fold_goes_on_with_the_states_of_the_old_one(bench: Any) -> None:
    await folded_by_the_old_one(bench)
    left = await keys(bench, "totals")
    await bench.send("a", 4)
    async with bench.running(new(bench)):
        await until_committed(bench, "sums", 6)
    assert await bench.totals("a") == [1, 3, 6, 10]
    assert await bench.totals("b") == [10]
    assert await keys(bench, "sums") == [key.replace("totals", "sums") for key in left]
    assert await bench.redis.pttl("lictor:{sums:x}:0:t:b") > 0
    assert await bench.redis.pttl("lictor:{sums:x}:0:t:a") == -1
    assert await keys(bench, "totals") == []
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


@pytest.mark.parametrize("dies_at", ["set", "unlink", "_copy_keys"])
async def test_whoever_dies_while_taking_over_leaves_nothing_out(
    bench: Any, dies_at: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    await folded_by_the_old_one(bench)
    dying = bench.take_over("totals", "sums")

    async def dies(*_: Any, **__: Any) -> None:
        raise BusError("died here")

    with monkeypatch.context() as patched:
        patched.setattr(dying if dies_at == "_copy_keys" else bench.redis, dies_at, dies)
        with pytest.raises(BusError, match="died here"):
            await dying.finish()
    await bench.send("a", 4)
    async with bench.running(new(bench)):
        await until_committed(bench, "sums", 6)
    assert await bench.totals("a") == [1, 3, 6, 10]
    assert await keys(bench, "totals") == []


async def test_what_the_new_fold_has_is_never_overwritten(bench: Any) -> None:
    """Also when the old service came back for a while, or the new fold had to start over."""
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
    await StateStore(bench.redis, "sums", "x").start_over()
    async with bench.running(old(bench)):
        await until_committed(bench, "totals", 6)
    await bench.send("a", 5)
    async with bench.running(new(bench)):
        await bench.until(streams.DECISIONS, 6)
    assert await bench.totals("a") == [1, 3, 6, 10, 15]
    assert await bench.redis.get("lictor:{sums:x}:0:cursor") is None


async def test_who_comes_late_to_a_take_over_does_not_undo_it(
    bench: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another finishes it between this one's look at the new fold and its look at the old one."""
    await folded_by_the_old_one(bench)
    late = bench.take_over("totals", "sums")
    look = late._began

    async def overtaken() -> bool:
        began = await look()
        await bench.take_over("totals", "sums").finish()
        return began

    monkeypatch.setattr(late, "_began", overtaken)
    await late.finish()
    assert await cursor(bench, "sums") == 5
    assert await bench.redis.get("lictor:{sums:x}:generation") is None
    await bench.send("a", 4)
    async with bench.running(new(bench)):
        await until_committed(bench, "sums", 6)
    assert await bench.totals("a") == [1, 3, 6, 10]


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


async def test_a_store_that_can_not_copy_is_folded_from_the_start(
    bench: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a Redis cluster, where the keys of the two folds are not in one place."""
    await folded_by_the_old_one(bench)
    following = new(bench)

    async def refused(**_: Any) -> None:
        await bench.redis.hset("lictor:{sums:x}:0:t:a", "s", "6")
        raise ResponseError("CROSSSLOT Keys in request don't hash to the same slot")

    monkeypatch.setattr(following._take_over, "_copy_keys", refused)
    await bench.send("a", 4)
    async with bench.running(following):
        await until_committed(bench, "sums", 6)
    assert await bench.totals("a") == [1, 3, 6, 10]


async def test_where_nothing_was_folded_before_nothing_is_taken_over(bench: Any) -> None:
    started = asyncio.get_running_loop().time()
    await bench.take_over("totals", "sums").finish()
    # It looks for the old fold and does not wait for a silence.
    assert asyncio.get_running_loop().time() - started < bench.quiet_s
    await bench.send("a", 1)
    async with bench.running(new(bench)):
        await until_committed(bench, "sums", 1)
    assert await bench.totals("a") == [1]
