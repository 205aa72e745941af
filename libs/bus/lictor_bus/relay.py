"""The tick relay: publishes what a timer carries when the broker says that it is due.

It keeps no state: the message was written when the timer was set, and a tick is acknowledged only when its
message is stored. The message goes out without a message id: ids can be foreseen, and whoever used one first would
silence the timer. If a tick is relayed twice, the reader of the stream recognises the second by what is in it.
"""

import asyncio
import logging

from nats.errors import Error as NatsError
from nats.js.errors import Error as JetStreamError

from lictor_bus.connection import TolerantClient
from lictor_bus.dead import DeadLetters
from lictor_bus.delivery import Delivery
from lictor_bus.errors import BusError, Refused
from lictor_bus.publish import publish_one
from lictor_bus.pull import PullConsumer, PullSettings
from lictor_bus.streams import TIMERS
from lictor_bus.telemetry import Telemetry
from lictor_bus.timers import due_message

log = logging.getLogger("lictor.relay")

_IDLE_S = 1.0
_PAUSE_S = 1.0


class TickRelay:
    """Relays the ticks of one kind of timer to one stream."""

    def __init__(
        self,
        client: TolerantClient,
        kind: str,
        *,
        to_stream: str,
        to_prefix: str,
        dead: DeadLetters,
        telemetry: Telemetry,
    ) -> None:
        self._client = client
        self._consumer = PullConsumer(
            client,
            TIMERS,
            f"tick-{kind}",
            f"lictor.tick.{kind}.*",
            PullSettings(each_on_its_own=True),
        )
        self._to_stream = to_stream
        self._to_prefix = to_prefix
        self._dead = dead
        self._telemetry = telemetry
        self._stopping = asyncio.Event()
        self.trouble: str | None = "starting"

    def stop(self) -> None:
        """Finish the ticks in hand, then return from ``run``."""
        self._stopping.set()
        self._consumer.interrupt()

    async def run(self) -> None:
        """Relay until stopped; outages are waited out, and no tick is lost meanwhile."""
        while not self._stopping.is_set():
            try:
                await self._consumer.open()
                self.trouble = None
                while not self._stopping.is_set():
                    ticks = await self._consumer.next_batch(_IDLE_S)
                    for ticked in ticks:
                        await self._relay(ticked)
                        await self._consumer.acknowledge(ticked)
            except (BusError, NatsError, JetStreamError, OSError, TimeoutError) as error:
                self.trouble = f"{type(error).__name__}: {error}"
                self._telemetry.reopened(type(error).__name__)
                log.warning("%s: %s; trying again", self._consumer.durable, self.trouble)
                try:
                    async with asyncio.timeout(_PAUSE_S):
                        await self._stopping.wait()
                except TimeoutError:
                    continue
        await self._consumer.close()

    async def _relay(self, ticked: Delivery) -> None:
        try:
            message = due_message(ticked)
        except KeyError as missing:
            message = None
            reason = f"a tick without header {missing}"
        else:
            reason = f"a tick may not publish on {message.subject}"
        if message is None or not message.subject.startswith(self._to_prefix):
            await self._dead.bury(
                TIMERS, ticked, Refused(reason, remedy="set timers through lictor_bus.timers only")
            )
            return
        await publish_one(self._client, self._to_stream, message)
