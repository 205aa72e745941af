"""Connections to Redis that come back by themselves, say clearly when they can't, and end when they are told to."""

from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import ExponentialBackoff
from redis.exceptions import RedisError

from lictor_bus.errors import BusError, StoreUnreachable
from lictor_bus.wire.address import shown
from lictor_bus.wire.connection import cause

OnConnect = Callable[[Any], Awaitable[None]]
"""Given every connection that is made, before it is used; has to call its ``on_connect``."""


class _Closable(Redis):
    """redis-py, which closes what is connected at that moment; here nothing is connected later either.

    A connection that some other task is just making would stay open, and be found by nobody.
    """

    is_closed = False

    async def aclose(self, close_connection_pool: bool | None = None) -> None:
        self.is_closed = True
        await super().aclose(close_connection_pool)


async def connect_redis(
    url: str, on_connect: OnConnect | None = None, *, ca: Path | None = None
) -> Redis:
    """A Redis client that retries short outages by itself; the first ping must succeed.

    ``ca`` names the certificates by which a server behind ``rediss://`` is known.
    """
    tls: Mapping[str, Any] = (
        {} if ca is None or not url.startswith("rediss://") else {"ssl_ca_certs": str(ca)}
    )

    async def made(connection: Any) -> None:
        if client.is_closed:
            # No ConnectionError: that would be tried again. redis-py disconnects it.
            raise RedisError("this client is closed")
        await (connection.on_connect() if on_connect is None else on_connect(connection))

    try:
        client: _Closable = _Closable.from_url(  # pyright: ignore[reportUnknownMemberType, reportAssignmentType] -- redis-py leaves **kwargs untyped
            url,
            socket_connect_timeout=2,
            socket_timeout=10,
            health_check_interval=15,
            retry=Retry(ExponentialBackoff(cap=1.0, base=0.05), 3),
            redis_connect_func=made,
            **tls,
        )
    except ValueError:
        # Its text may hold a part of the password.
        raise BusError(
            f"{shown(url)!r} is not an address such as redis://127.0.0.1:6379/0."
        ) from None
    try:
        await client.ping()  # pyright: ignore[reportUnknownMemberType, reportGeneralTypeIssues] -- typed as sync-or-async
    except (RedisError, OSError, TimeoutError) as error:
        await client.aclose()
        raise StoreUnreachable(
            f"Redis does not answer at {shown(url)} ({cause(error)}); "
            "start that server, or name another one in LICTOR_REDIS_URL."
        ) from None
    except BaseException:
        await client.aclose()
        raise
    return client
