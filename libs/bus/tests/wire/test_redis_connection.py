"""A connection to Redis ends when it is told to, at whatever moment that is."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
import redis.asyncio
from redis.exceptions import RedisError

from lictor_bus.wire.quick_redis import QuickRedis
from lictor_bus.wire.redis_connection import connect_redis
from lictor_local.embedded_servers import Endpoints

# More turns of the event loop than it takes to connect and to be answered.
TURNS = 40


async def turns(count: int) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


@asynccontextmanager
async def leaves_none(url: str) -> AsyncIterator[None]:
    """Redis has no more connections after the block than before."""
    async with redis.asyncio.from_url(url) as watch:
        before = len(await watch.client_list())
        yield
        async with asyncio.timeout(30):
            # It notices the end of a connection in its own time.
            while len(await watch.client_list()) > before:
                await asyncio.sleep(0.01)


async def test_what_is_cancelled_while_it_connects_leaves_no_connection(
    clean_infra: Endpoints,
) -> None:
    async with leaves_none(clean_infra.redis_url):
        for count in range(TURNS):
            connecting = asyncio.create_task(connect_redis(clean_infra.redis_url))
            await turns(count)
            connecting.cancel()
            for client in await asyncio.gather(connecting, return_exceptions=True):
                if isinstance(client, redis.asyncio.Redis):
                    await client.aclose()


async def test_a_client_that_is_closed_while_others_connect_leaves_no_connection(
    clean_infra: Endpoints,
) -> None:
    async with leaves_none(clean_infra.redis_url):
        for count in range(TURNS):
            client = await connect_redis(clean_infra.redis_url)
            asking = [asyncio.ensure_future(client.get("key")) for _ in range(3)]
            await turns(count)
            await client.aclose()
            await asyncio.gather(*asking, return_exceptions=True)


async def test_a_closed_client_connects_no_more(clean_infra: Endpoints) -> None:
    client = await connect_redis(clean_infra.redis_url)
    await client.aclose()
    with pytest.raises(RedisError, match="closed"):
        await client.get("key")


async def test_the_quick_way_closed_while_it_connects_leaves_no_connection(
    clean_infra: Endpoints,
) -> None:
    async with leaves_none(clean_infra.redis_url):
        for count in range(TURNS):
            quick = QuickRedis(clean_infra.redis_url, lambda _server: None)
            asking = [asyncio.create_task(quick.ask("GET", "key")) for _ in range(3)]
            await turns(count)
            quick.close()
            await asyncio.gather(*asking, return_exceptions=True)
            with pytest.raises(RedisError, match="closed"):
                await quick.ask("GET", "key")
