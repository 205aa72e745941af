"""The broker of a service's request/reply side, which stops when it is asked to, even if the server is away."""

import asyncio
import logging
from types import TracebackType
from typing import Any

from faststream.nats import NatsBroker
from nats.aio.client import Client

from lictor_bus.wire.connection import TolerantClient, Whereabouts, close_nats, inbox_prefix

log = logging.getLogger("lictor.service")


class ControlBroker(NatsBroker):
    """FastStream drains for as long as it takes, and fails when the connection is lost; this one does neither.

    And it looks its address up again when it reconnects.
    """

    def __init__(self, where: Whereabouts, *, stop_within_s: float, **options: Any) -> None:
        client = TolerantClient(where)
        url = client.found or ""
        super().__init__(url, inbox_prefix=inbox_prefix(url), **options)
        self._client = client
        self._stop_within_s = stop_within_s

    async def _connect(self) -> Client:
        await self._client.connect(**self._connection_kwargs)
        self.config.connect(self._client)
        return self._client

    async def stop(
        self,
        exc_type: type[BaseException] | None = None,
        exc_val: BaseException | None = None,
        exc_tb: TracebackType | None = None,
    ) -> None:
        """Answer what was asked already, if the server is there, and close in any case."""
        connection = self._connection
        drained = asyncio.create_task(super().stop(exc_type, exc_val, exc_tb))
        # Not a timeout around it: nats-py takes the cancellation for the end of the drain, and goes on to flush.
        await asyncio.wait({drained}, timeout=self._stop_within_s)
        if connection is not None:
            await close_nats(connection)
        if not drained.done():
            drained.cancel()
            drained.add_done_callback(_forget)
            log.warning("gates: not drained in %.1f s, closed", self._stop_within_s)
        elif problem := drained.exception():
            log.warning("gates: closed without a drain (%s)", problem)
        self._connection = None


def _forget(task: "asyncio.Task[None]") -> None:
    """Take note of how it ended, so that nobody reports it as missed."""
    if not task.cancelled():
        task.exception()
