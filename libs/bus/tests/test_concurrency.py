"""Work side by side: whatever becomes of it, nothing is at work any more when it has ended."""

import asyncio

import pytest

from lictor_bus.concurrency import together


class Work:
    """Goes on until it is cancelled, and takes a moment to end then."""

    def __init__(self) -> None:
        self.began = asyncio.Event()
        self.has_ended = False

    async def run(self) -> None:
        try:
            self.began.set()
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0.01)
            self.has_ended = True


async def the(value: object) -> object:
    await asyncio.sleep(0)
    return value


async def test_all_give_their_results() -> None:
    assert list(await together(the(1), the("2"))) == [1, "2"]
    assert list(await together(*(the(n) for n in range(5)))) == list(range(5))
    assert list(await together()) == []


async def test_when_one_fails_the_others_have_ended_before_its_error_is_raised() -> None:
    work = Work()

    async def fail() -> None:
        await work.began.wait()
        raise ValueError("a defect")

    with pytest.raises(ValueError, match="a defect"):
        await together(work.run(), fail())
    assert work.has_ended


async def test_when_the_caller_is_cancelled_all_have_ended() -> None:
    works = [Work(), Work()]
    calling = asyncio.create_task(together(*(work.run() for work in works)))
    for work in works:
        await work.began.wait()
    calling.cancel()
    with pytest.raises(asyncio.CancelledError):
        await calling
    assert all(work.has_ended for work in works)
