"""The batch loop when servers go away under it: it waits, comes back by itself, loses and doubles nothing."""

import asyncio
import shutil
from itertools import accumulate

from lictor_bus.names import streams

NUMBERS = [number for number in range(1, 61) if number != 13]
TOTALS = list(accumulate(NUMBERS))


async def send_all(bench):
    for number in NUMBERS:
        await bench.send_until_stored("a", number)


async def test_a_killed_broker_is_waited_for(own_servers, own_bench):
    async with own_bench.running():
        sending = asyncio.create_task(send_all(own_bench))
        await own_bench.until(streams.DECISIONS, 10)
        await own_servers.kill_nats()
        await own_servers.start_nats()
        await sending
        await own_bench.until(streams.DECISIONS, len(NUMBERS))
    assert await own_bench.totals("a") == TOTALS


async def test_a_killed_store_is_waited_for(own_servers, own_bench):
    async with own_bench.running():
        sending = asyncio.create_task(send_all(own_bench))
        await own_bench.until(streams.DECISIONS, 10)
        await own_servers.kill_redis()
        await sending
        await own_servers.start_redis()
        await own_bench.until(streams.DECISIONS, len(NUMBERS))
    assert await own_bench.totals("a") == TOTALS


async def test_a_store_that_comes_back_as_it_was_earlier_is_folded_on_from_there(
    own_servers, own_bench, tmp_path
):
    """As after a power loss that took its last second."""
    data, kept = tmp_path / "servers" / "redis", tmp_path / "earlier"
    async with own_bench.running():
        for number in NUMBERS[:20]:
            await own_bench.send("a", number)
        await own_bench.until(streams.DECISIONS, 20)
        shutil.copytree(data, kept, ignore=shutil.ignore_patterns("*.sock"))
        for number in NUMBERS[20:40]:
            await own_bench.send("a", number)
        await own_bench.until(streams.DECISIONS, 40)
        await own_servers.kill_redis()
        shutil.rmtree(data)
        shutil.copytree(kept, data)
        await own_servers.start_redis()
        for number in NUMBERS[40:]:
            await own_bench.send("a", number)
        await own_bench.until(streams.DECISIONS, len(NUMBERS))
    assert await own_bench.totals("a") == TOTALS


async def test_a_worker_says_what_it_waits_for(own_servers, own_bench):
    workers = [own_bench.worker(partition) for partition in (0, 1)]
    async with own_bench.running(*workers):
        await own_bench.send("a", 1)
        await own_bench.until(streams.DECISIONS, 1)
        assert [worker.trouble for worker in workers] == [None, None]
        await own_servers.kill_redis()
        await own_bench.send("a", 2)
        async with asyncio.timeout(30):
            while not any(worker.trouble for worker in workers):
                await asyncio.sleep(0.02)
        assert any("Connect" in (worker.trouble or "") for worker in workers)
        await own_servers.start_redis()
        await own_bench.until(streams.DECISIONS, 2)
