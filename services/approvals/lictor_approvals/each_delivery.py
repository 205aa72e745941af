"""Messages taken in one by one: what one of them meets keeps none of the others from being asked about."""

import logging
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence

from lictor_bus.errors import MessageRefused, UnreadableEntry
from lictor_bus.logs.dead_letters import DeadLetters
from lictor_bus.loops.outages import BROKER_OUTAGES, refused_at_last
from lictor_bus.service.telemetry import ServiceTelemetry
from lictor_bus.wire.delivery import Delivery

log = logging.getLogger("lictor.approvals")


class EachDelivery:
    """Hands a stream's messages to a handler, which says what became of each."""

    def __init__(
        self,
        stream: str,
        handle: Callable[[Delivery], Awaitable[str | None]],
        *,
        dead: DeadLetters,
        telemetry: ServiceTelemetry,
    ) -> None:
        self._stream = stream
        self._handle = handle
        self._dead = dead
        self._telemetry = telemetry

    async def handle(self, deliveries: Sequence[Delivery]) -> Sequence[Delivery]:
        """Take them in, in their order; those that are done, or set aside for good."""
        done: list[Delivery] = []
        for delivery in deliveries:
            started = time.monotonic()
            try:
                outcome = await self._handle(delivery)
            except MessageRefused as refusal:
                await self._dead.store(self._stream, delivery, refusal)
                outcome = "dead"
            except UnreadableEntry as error:
                refusal = refused_at_last(error, delivery)
                if refusal is None:
                    log.warning("%s %d: %s; it comes again", self._stream, delivery.sequence, error)
                    continue
                await self._dead.store(self._stream, delivery, refusal)
                outcome = "dead"
            except BROKER_OUTAGES:
                raise
            except Exception as error:
                # A defect that one message meets must not keep the others from being asked about.
                log.exception("%s %d", self._stream, delivery.sequence)
                reason = f"{type(error).__name__}: {error}"
                remedy = "a defect of the approval service: report it; nothing is approved by it"
                await self._dead.store(
                    self._stream, delivery, MessageRefused(reason, remedy=remedy)
                )
                outcome = "dead"
            done.append(delivery)
            if outcome is not None:
                counted = Counter([outcome])
                self._telemetry.batch_done(counted, started, delivery.stored_at_ns, time.time_ns())
        return done
