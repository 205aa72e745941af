"""Loops at work in a test, as a service runs them, and connections that end with it."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from lictor_bus.service.service import Runnable
from lictor_bus.wire.connection import TolerantClient, close_nats, connect_nats

PATIENCE_S = 60.0


@asynccontextmanager
async def connection(url: str, name: str = "test") -> AsyncIterator[TolerantClient]:
    """A connection to the broker, until the block ends."""
    client = await connect_nats(url, name=name)
    try:
        yield client
    finally:
        await close_nats(client)


@asynccontextmanager
async def at_work(*loops: Runnable) -> AsyncIterator[Sequence["asyncio.Task[None]"]]:
    """Loops at work; when the block ends, they finish what they have in hand."""
    tasks = [asyncio.create_task(loop.run()) for loop in loops]
    try:
        async with asyncio.timeout(PATIENCE_S):
            # One that broke says so below.
            while any(loop.trouble for loop in loops) and not any(task.done() for task in tasks):
                await asyncio.sleep(0.01)
        yield tasks
    finally:
        for loop in loops:
            loop.stop()
        await asyncio.gather(*tasks)
