"""The connections of a service: one owner, who closes them when everything that uses them has ended."""

from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from types import TracebackType
from typing import Self

from redis.asyncio import Redis

from lictor_bus.service.settings import ServiceSettings
from lictor_bus.wire.connection import TolerantClient, close_nats, connect_nats
from lictor_bus.wire.redis_connection import OnConnect, connect_redis


class Connections:
    """Makes connections, and closes them in reverse order, however the service ends."""

    def __init__(self, service: str, settings: ServiceSettings) -> None:
        self._service = service
        self._settings = settings
        self._ends = AsyncExitStack()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self._ends.aclose()

    async def nats(self, purpose: str) -> TolerantClient:
        """A connection to the broker, which shows the service and its purpose as the connection's name."""
        client = await connect_nats(
            self._settings.nats_url, name=f"lictor-{self._service}-{purpose}"
        )
        self._ends.push_async_callback(close_nats, client)
        return client

    async def redis(self, on_connect: OnConnect | None = None) -> Redis:
        """A client of the store, with connections of its own."""
        settings = self._settings
        client = await connect_redis(settings.redis_url, on_connect, ca=settings.redis_ca)
        self._ends.push_async_callback(client.aclose)
        return client

    def at_end(self, close: Callable[[], Awaitable[None]]) -> None:
        """Have something closed before the connections that were made until now."""
        self._ends.push_async_callback(close)
