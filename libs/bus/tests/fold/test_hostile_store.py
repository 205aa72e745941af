"""Somebody changes what a fold keeps in Redis: it is noticed, and folded again without a second result."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from lictor_bus.errors import ForgedState
from lictor_bus.fold.partition_worker import PartitionWorker
from lictor_bus.fold.state_store import Commit, StateReader, StateStore
from lictor_bus.fold.state_tags import StateTags
from lictor_bus.names import streams, subjects

PARTITIONS = 2
PARTITION = str(subjects.partition_of("a", PARTITIONS))
ROOT = f"lictor:{{totals:{PARTITION}}}"
STATE = f"{ROOT}:0:t:a"
KEY = b"secret"


class Alarm:
    def __init__(self) -> None:
        self.count = 0

    def __call__(self) -> None:
        self.count += 1


@pytest.fixture
def alarm() -> Alarm:
    return Alarm()


def store(bench: Any, alarm: Alarm, key: bytes = KEY) -> StateStore:
    return StateStore(bench.redis, "totals", PARTITION, StateTags(key, "totals", alarm))


def reader(bench: Any, key: bytes = KEY) -> StateReader:
    return StateReader(bench.redis, "totals", PARTITION, StateTags(key, "totals"))


def worker(bench: Any, alarm: Alarm, key: bytes = KEY) -> PartitionWorker[Any, Any, Any]:
    return bench.worker(int(PARTITION), store=store(bench, alarm, key))


async def test_an_idle_fold_is_folded_again_when_a_reader_finds_something(
    bench: Any, alarm: Alarm
) -> None:
    async with bench.running(worker(bench, alarm)):
        await bench.send("a", 1, 2)
        await folded(bench, b"3")
        await bench.redis.hset(STATE, "s", b"1000")
        with pytest.raises(ForgedState):
            await reader(bench).peek("a")
        await folded(bench, b"3")
    assert alarm.count == 1
    assert await bench.totals("a") == [1, 3]


async def test_a_fold_whose_store_was_emptied_is_complete_again_though_nothing_comes(
    bench: Any, alarm: Alarm
) -> None:
    async with bench.running(worker(bench, alarm)):
        await bench.send("a", 1, 2)
        await folded(bench, b"3")
        await bench.redis.flushall()
        await folded(bench, b"3")
    assert await bench.totals("a") == [1, 3]


async def folded(bench: Any, state: bytes) -> None:
    """Wait until the state is this one."""
    async with asyncio.timeout(30):
        while True:
            try:
                if (await reader(bench).peek("a")).state == state:
                    return
            except ForgedState:
                pass
            await asyncio.sleep(0.05)


async def read(bench: Any) -> dict[bytes, bytes]:
    return await bench.redis.hgetall(STATE)


async def put_in(bench: Any, content: dict[bytes, bytes]) -> None:
    await bench.redis.delete(STATE)
    if content:
        await bench.redis.hset(STATE, mapping=content)


async def copied_from_another(bench: Any, before: dict[bytes, bytes]) -> None:  # noqa: ARG001
    await bench.redis.copy(f"{ROOT}:0:t:{OTHER}", STATE, replace=True)


async def put_back(bench: Any, before: dict[bytes, bytes]) -> None:
    found = await read(bench)
    await put_in(bench, {**found, b"s": before[b"s"]})


async def removed(bench: Any, before: dict[bytes, bytes]) -> None:  # noqa: ARG001
    await put_in(bench, {})


async def made_with_another_key(bench: Any, before: dict[bytes, bytes]) -> None:
    """What a store with the attacker's key would write, with all that goes with it."""
    del before
    cursor = int(await bench.redis.get(f"{ROOT}:0:cursor"))
    own = StateStore(bench.redis, "totals", PARTITION, StateTags(b"guess", "totals"))
    await own.commit(cursor, cursor, Commit({"a": (b"1000", None)}, []))


async def cursor_moved_on(bench: Any, before: dict[bytes, bytes]) -> None:  # noqa: ARG001
    await bench.redis.incr(f"{ROOT}:0:cursor")


async def cursor_removed(bench: Any, before: dict[bytes, bytes]) -> None:  # noqa: ARG001
    await bench.redis.delete(f"{ROOT}:0:cursor", f"{ROOT}:0:check")


async def of_another_type(bench: Any, before: dict[bytes, bytes]) -> None:  # noqa: ARG001
    for name in (STATE, f"{ROOT}:0:cursor", f"{ROOT}:0:check", f"{ROOT}:generation"):
        await bench.redis.delete(name)
        await bench.redis.rpush(name, "garbage")


async def generation_of_no_number(bench: Any, before: dict[bytes, bytes]) -> None:  # noqa: ARG001
    await bench.redis.set(f"{ROOT}:generation", b"\xff")


async def said_to_be_handled(bench: Any, before: dict[bytes, bytes]) -> None:  # noqa: ARG001
    """The message that is about to come, as if it had been folded."""
    await bench.redis.hset(STATE, f"e:m{bench._id + 1}", "1")


OTHER = next(
    name
    for name in (f"b{number}" for number in range(100))
    if str(subjects.partition_of(name, PARTITIONS)) == PARTITION
)
Attack = Callable[[Any, dict[bytes, bytes]], Awaitable[None]]


@pytest.mark.parametrize(
    ("attack", "running"),
    [
        *((attack, True) for attack in (put_back, removed, said_to_be_handled)),
        *(
            (attack, running)
            for attack in (
                copied_from_another,
                made_with_another_key,
                cursor_moved_on,
                cursor_removed,
                of_another_type,
                generation_of_no_number,
            )
            for running in (True, False)
        ),
    ],
)
async def test_whatever_is_changed_the_fold_comes_to_the_same(
    bench: Any, alarm: Alarm, attack: Attack, running: bool
) -> None:
    """Under a worker that runs, and while none does; decision 040 says what is not noticed then."""
    async with bench.running(worker(bench, alarm)):
        await bench.send(OTHER, 500)
        await bench.send("a", 1)
        await folded(bench, b"1")
        before = await read(bench)
        await bench.send("a", 2)
        await folded(bench, b"3")
        if running:
            await attack(bench, before)
            await bench.send("a", 3)
            await folded(bench, b"6")
    if not running:
        await attack(bench, before)
        async with bench.running(worker(bench, alarm)):
            await bench.send("a", 3)
            await folded(bench, b"6")
    assert await bench.totals("a") == [1, 3, 6]
    assert await bench.count(streams.DEAD) == 0
    assert alarm.count


async def test_states_of_another_key_or_of_none_are_folded_again_once(
    bench: Any, alarm: Alarm
) -> None:
    async with bench.running(worker(bench, alarm, b"old key")):
        await bench.send("a", 1, 2)
        await folded_with(bench, b"old key")
    async with bench.running(worker(bench, alarm)):
        await folded(bench, b"3")
        await bench.send("a", 3)
        await folded(bench, b"6")
    assert await bench.totals("a") == [1, 3, 6]
    assert alarm.count == 1


async def folded_with(bench: Any, key: bytes) -> None:
    async with asyncio.timeout(30):
        while (await reader(bench, key).peek("a")).state != b"3":
            await asyncio.sleep(0.02)
