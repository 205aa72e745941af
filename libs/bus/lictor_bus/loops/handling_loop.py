"""A loop that hands the messages of a consumer to a handler, and acknowledges those that are done."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress

from lictor_bus.loops.outages import BROKER_OUTAGES
from lictor_bus.loops.stall_watch import StallWatch
from lictor_bus.service.telemetry import ServiceTelemetry
from lictor_bus.wire.delivery import Delivery
from lictor_bus.wire.provenance import is_foreign
from lictor_bus.wire.pull import PullConsumer

log = logging.getLogger("lictor.handling")

_IDLE_S = 1.0
_PAUSE_S = 1.0

BatchHandler = Callable[[Sequence[Delivery]], Awaitable[Sequence[Delivery]]]
"""Works on some messages and returns those that are done; the others come again by themselves."""


class HandlingLoop:
    """For messages that are handled by themselves: no state is folded, nothing is handled in batches."""

    def __init__(
        self, consumer: PullConsumer, handle: BatchHandler, *, telemetry: ServiceTelemetry
    ) -> None:
        self._consumer = consumer
        self._handle = handle
        self._telemetry = telemetry
        self._stall = StallWatch(consumer)
        self._stopping = asyncio.Event()
        self.trouble: str | None = "starting"

    def stop(self) -> None:
        """Finish what is in hand, then return from ``run``."""
        self._stopping.set()
        self._consumer.interrupt()

    async def run(self) -> None:
        """Go on until stopped; outages are waited out, and no message is lost meanwhile."""
        while not self._stopping.is_set():
            try:
                await self._consumer.open()
                self.trouble = None
                while not self._stopping.is_set():
                    messages = await self._consumer.next_batch(_IDLE_S)
                    if messages:
                        await self._take(messages)
                    else:
                        self.trouble = await self._stall.look()
            except BROKER_OUTAGES as error:
                self.trouble = f"{type(error).__name__}: {error}"
                self._telemetry.reopened(type(error).__name__)
                log.warning("%s: %s; trying again", self._consumer.durable, self.trouble)
                try:
                    async with asyncio.timeout(_PAUSE_S):
                        await self._stopping.wait()
                except TimeoutError:
                    continue
        await self._consumer.close()

    async def _take(self, messages: Sequence[Delivery]) -> None:
        holding = asyncio.create_task(self._consumer.hold(messages))
        try:
            ours = [message for message in messages if not is_foreign(message)]
            done = [] if not ours else list(await self._handle(ours))
            done += [message for message in messages if message not in ours]
        except BROKER_OUTAGES:
            with suppress(*BROKER_OUTAGES):
                for message in messages:
                    await self._consumer.give_back(message)
            raise
        finally:
            holding.cancel()
            await asyncio.gather(holding, return_exceptions=True)
        for message in done:
            await self._consumer.acknowledge(message)
