"""The broker of a service's request/reply side, which stops when it is asked to, even if the server is away."""

import asyncio
import logging
from types import TracebackType
from typing import Any

from faststream.nats import NatsBroker

from lictor_bus.wire.connection import close_nats

log = logging.getLogger("lictor.service")


class ControlBroker(NatsBroker):
    """FastStream drains for as long as it takes, and fails when the connection is lost; this one does neither."""

    def __init__(self, url: str, *, stop_within_s: float, **options: Any) -> None:
        super().__init__(url, **options)
        self._stop_within_s = stop_within_s

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
