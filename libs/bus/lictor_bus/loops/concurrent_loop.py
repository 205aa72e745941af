"""A loop over messages that have nothing to do with each other, many side by side, each taking as long as it takes.

No batch loop: nothing is folded from one to the next. Every message is worked on by itself, kept from being delivered
again while it is, and acknowledged when it is done. What can't be processed goes to the dead letters; what an outage
interrupts comes again, here or elsewhere.
"""

import asyncio
import logging
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import suppress

from lictor_bus.errors import MessageRefused
from lictor_bus.logs.dead_letters import DeadLetters
from lictor_bus.loops.outages import OUTAGES, refused_at_last
from lictor_bus.loops.stall_watch import StallWatch
from lictor_bus.service.telemetry import ServiceTelemetry
from lictor_bus.wire.connection import TolerantClient
from lictor_bus.wire.delivery import Delivery
from lictor_bus.wire.provenance import is_foreign
from lictor_bus.wire.pull import PullConsumer, PullSettings

ACK_WAIT_S = 12.0
_STILL_AT_IT_S = ACK_WAIT_S / 3
_IDLE_S = 1.0
_PAUSE_S = 1.0

MessageHandler = Callable[[Delivery], Awaitable[str | None]]
"""Does what one message asks for, and returns the outcome; None when nothing was to be done.

Raises MessageRefused for what can't be processed, and what OUTAGES names for what should come again.
"""


class ConcurrentLoop:
    """Takes messages from a consumer and has each handled, for as long as it runs."""

    def __init__(
        self,
        client: TolerantClient,
        stream: str,
        filter_subject: str,
        handle: MessageHandler,
        *,
        service: str,
        durable: str,
        at_once: int,
        dead: DeadLetters,
        telemetry: ServiceTelemetry,
        on_end: Callable[[], None] | None = None,
    ) -> None:
        # What waits for its turn is held here too, so that finding room for it takes no round trip.
        settings = PullSettings(each_on_its_own=True, batch=2 * at_once, ack_wait_s=ACK_WAIT_S)
        self._consumer = PullConsumer(client, stream, durable, filter_subject, settings)
        self._stall = StallWatch(self._consumer)
        self._client = client
        self._stream = stream
        self._handle = handle
        self._service = service
        self._log = logging.getLogger(f"lictor.{service}")
        self._room = asyncio.Semaphore(2 * at_once)
        self._dead = dead
        self._telemetry = telemetry
        self._on_end = on_end
        self._held: dict[int, Delivery] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._stopping = asyncio.Event()
        self.trouble: str | None = "starting"

    def stop(self) -> None:
        """Take nothing more; what is in hand is finished, or delivered again to another."""
        self._stopping.set()
        self._consumer.interrupt()

    async def run(self) -> None:
        """Work until stopped; outages of NATS and Redis are waited out."""
        keeping = asyncio.create_task(self._keep_held())
        try:
            while not self._stopping.is_set():
                try:
                    await self._consumer.open()
                    self.trouble = None
                    while not self._stopping.is_set():
                        deliveries = await self._consumer.next_batch(_IDLE_S)
                        for delivery in deliveries:
                            await self._begin(delivery)
                        if not deliveries and not self._held:
                            self.trouble = await self._stall.look()
                except OUTAGES as error:
                    await self._wait_out(error)
            if self._tasks:
                await asyncio.wait(self._tasks)
        finally:
            keeping.cancel()
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(keeping, *self._tasks, return_exceptions=True)
            if self._on_end is not None:
                await asyncio.to_thread(self._on_end)
        await self._consumer.close()

    async def _wait_out(self, error: Exception) -> None:
        self.trouble = f"{type(error).__name__}: {error}"
        self._telemetry.reopened(type(error).__name__)
        self._log.warning("%s: %s; trying again", self._service, self.trouble)
        with suppress(TimeoutError):
            async with asyncio.timeout(_PAUSE_S):
                await self._stopping.wait()

    async def _begin(self, delivery: Delivery) -> None:
        if delivery.sequence in self._held:
            # It came again while it is worked on: from now on this delivery is the one to acknowledge.
            self._held[delivery.sequence] = delivery
            return
        await self._room.acquire()
        self._held[delivery.sequence] = delivery
        task = asyncio.create_task(self._finish(delivery))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _finish(self, delivery: Delivery) -> None:
        try:
            await self._answer(delivery)
            await self._consumer.acknowledge(self._held[delivery.sequence])
        except OUTAGES as error:
            self._log.warning("%s %d: %s; it comes again", self._stream, delivery.sequence, error)
        finally:
            del self._held[delivery.sequence]
            self._room.release()

    async def _answer(self, delivery: Delivery) -> None:
        if is_foreign(delivery):
            return
        started = time.monotonic()
        try:
            outcome = await self._handle(delivery)
        except MessageRefused as refusal:
            await self._dead.store(self._stream, delivery, refusal)
            return
        except OUTAGES as error:
            refusal = refused_at_last(error, delivery)
            if refusal is None:
                raise
            await self._dead.store(self._stream, delivery, refusal)
            return
        except Exception as error:  # noqa: BLE001 -- a defect that one message meets must not stop the others
            self._log.exception("%s %d", self._stream, delivery.sequence)
            reason = f"{type(error).__name__}: {error}"
            remedy = f"a defect of the {self._service}: report it; the program must not run"
            await self._dead.store(self._stream, delivery, MessageRefused(reason, remedy=remedy))
            return
        if outcome is not None:
            self._telemetry.batch_done(
                Counter([outcome]), started, delivery.stored_at_ns, time.time_ns()
            )

    async def _keep_held(self) -> None:
        """Tell the broker that what is held is still worked on."""
        while True:
            await asyncio.sleep(_STILL_AT_IT_S)
            with suppress(*OUTAGES):
                for held in list(self._held.values()):
                    await self._client.publish(held.ack_subject, b"+WPI")
