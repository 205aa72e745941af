"""Connections to NATS and Redis that come back by themselves, and say clearly when they can't."""

import asyncio
import logging
from urllib.parse import urlsplit

from nats.aio.client import Client
from nats.errors import Error as NatsError
from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import ExponentialBackoff
from redis.exceptions import RedisError

from lictor_bus.errors import BrokerUnreachable, StoreUnreachable
from lictor_bus.streams import check_server_version

log = logging.getLogger("lictor.bus")


async def connect_nats(url: str, *, name: str, timeout_s: float = 5.0) -> Client:
    """A NATS connection that reconnects for ever; the first connection must succeed in time."""

    async def on_error(error: Exception) -> None:
        log.warning("nats: %s", error or type(error).__name__)

    async def on_disconnected() -> None:
        if not client.is_closed and not client.is_draining:
            log.warning("nats: disconnected from %s", _printable(url))

    async def on_reconnected() -> None:
        log.info("nats: reconnected")

    client = Client()
    try:
        async with asyncio.timeout(timeout_s):
            await client.connect(
                url,
                name=name,
                connect_timeout=2,
                max_reconnect_attempts=-1,
                reconnect_time_wait=0.25,  # pyright: ignore[reportArgumentType] -- typed as int, slept as a float
                ping_interval=5,
                max_outstanding_pings=2,
                error_cb=on_error,
                disconnected_cb=on_disconnected,
                reconnected_cb=on_reconnected,
                pending_size=16 * 1024 * 1024,
                # Every subject is made by lictor_bus.subjects.
                skip_subject_validation=True,
            )
    except (NatsError, OSError, TimeoutError) as error:
        raise BrokerUnreachable(
            f"NATS does not answer at {_printable(url)} ({_cause(error)}); "
            "start it with `lictor up`, or set LICTOR_NATS_URL."
        ) from None
    try:
        check_server_version(client)
    except Exception:
        await client.close()
        raise
    return client


async def connect_redis(url: str) -> "Redis":
    """A Redis client that retries short outages by itself; the first ping must succeed."""
    client: Redis = Redis.from_url(  # pyright: ignore[reportUnknownMemberType] -- redis-py leaves **kwargs untyped
        url,
        socket_connect_timeout=2,
        socket_timeout=10,
        health_check_interval=15,
        retry=Retry(ExponentialBackoff(cap=1.0, base=0.05), 3),
    )
    try:
        await client.ping()  # pyright: ignore[reportUnknownMemberType, reportGeneralTypeIssues] -- typed as sync-or-async
    except (RedisError, OSError, TimeoutError) as error:
        await client.aclose()
        raise StoreUnreachable(
            f"Redis does not answer at {_printable(url)} ({_cause(error)}); "
            "start it with `lictor up`, or set LICTOR_REDIS_URL."
        ) from None
    return client


def _printable(url: str) -> str:
    """The address without user and password."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.hostname}" + (f":{parts.port}" if parts.port else "")


def _cause(error: BaseException) -> str:
    return str(error).removeprefix("nats: ") or type(error).__name__
