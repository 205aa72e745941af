"""A worker that has a backlog and gets none of it says so; a quiet stream is not mistaken for that."""

import asyncio
import json
from contextlib import asynccontextmanager

from lictor_bus.names import streams

PATIENCE_S = 60


@asynccontextmanager
async def paused(bench, partition):
    """The broker delivers nothing of a partition, and says nothing about it to those who pull."""
    subject = f"$JS.API.CONSUMER.PAUSE.{streams.EVENTS}.totals-{partition}"
    until = json.dumps({"pause_until": "2100-01-01T00:00:00Z"}).encode()
    assert b'"paused":true' in (await bench.client.request(subject, until, timeout=5)).data
    try:
        yield
    finally:
        await bench.client.request(subject, b"{}", timeout=5)


async def until(holds):
    async with asyncio.timeout(PATIENCE_S):
        while not holds():
            await asyncio.sleep(0.02)


async def test_a_worker_whose_backlog_does_not_shrink_is_not_well_until_it_does(bench):
    worker = bench.worker(0)
    async with bench.running(worker):
        await until(lambda: worker.trouble is None)
        async with paused(bench, 0):
            await bench.send("a", *range(1, 4))
            await bench.send("b", *range(1, 4))
            await bench.send("c", *range(1, 4))
            await until(lambda: worker.trouble is not None)
            assert "wait for totals-0, and none is processed" in worker.trouble
        await until(lambda: worker.trouble is None)


async def test_a_worker_without_a_backlog_is_well_however_long_nothing_comes(bench):
    worker = bench.worker(0)
    async with bench.running(worker):
        await until(lambda: worker.trouble is None)
        async with paused(bench, 0):
            looks = 0
            look = worker._stall.look

            async def counted():
                nonlocal looks
                told = await look()
                looks += 1
                return told

            worker._stall.look = counted
            await until(lambda: looks > 5)
            assert worker.trouble is None
