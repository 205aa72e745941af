"""Work side by side that ends together."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar, overload

A = TypeVar("A")
B = TypeVar("B")


@overload
async def together(
    one: Coroutine[Any, Any, A], other: Coroutine[Any, Any, B], /
) -> tuple[A, B]: ...


@overload
async def together(*work: Coroutine[Any, Any, A]) -> list[A]: ...


async def together(*work: Coroutine[Any, Any, Any]) -> Any:
    """The results of all; if one fails, the others are cancelled and waited for, and its error is raised.

    `asyncio.gather` leaves the others at work, for nobody: they go on asking a store that is being closed, and the
    connection that they make then is closed by nobody.
    """
    tasks = [asyncio.ensure_future(each) for each in work]
    try:
        return await asyncio.gather(*tasks)
    except BaseException:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        raise
