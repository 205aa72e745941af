"""Ticks: what the broker delivers when a timer is due, and the relay that publishes what the timer carries.

The relay keeps no state: the message was written when the timer was set, and a tick is acknowledged only when its
message is stored. The message goes out without a message id: ids can be foreseen, and whoever used one first would
silence the timer. If a tick is relayed twice, the reader of the stream recognises the second by what is in it.
"""

from collections.abc import Sequence

from lictor_bus.errors import MessageRefused
from lictor_bus.fold.timers import due_message
from lictor_bus.logs.dead_letters import DeadLetters
from lictor_bus.loops.handling_loop import BatchHandler, HandlingLoop
from lictor_bus.names import subjects
from lictor_bus.names.streams import TIMERS
from lictor_bus.service.telemetry import ServiceTelemetry
from lictor_bus.wire.connection import TolerantClient
from lictor_bus.wire.delivery import Delivery
from lictor_bus.wire.publish import publish_one
from lictor_bus.wire.pull import PullConsumer, PullSettings

_EACH_ON_ITS_OWN = PullSettings(each_on_its_own=True)


class TickLoop(HandlingLoop):
    """Hands the ticks of one kind of timer to a handler, which returns those that are done.

    The others come again by themselves. Several instances may run: each tick goes to one of them.
    """

    def __init__(
        self,
        client: TolerantClient,
        kind: str,
        handle: BatchHandler,
        *,
        telemetry: ServiceTelemetry,
        settings: PullSettings = _EACH_ON_ITS_OWN,
    ) -> None:
        consumer = PullConsumer(
            client, TIMERS, f"tick-{kind}", subjects.TICK.where(kind=kind), settings
        )
        super().__init__(consumer, handle, telemetry=telemetry)


class TickRelay(TickLoop):
    """Relays the ticks of one kind of timer to one stream."""

    def __init__(
        self,
        client: TolerantClient,
        kind: str,
        *,
        to_stream: str,
        to_prefix: str,
        dead: DeadLetters,
        telemetry: ServiceTelemetry,
    ) -> None:
        super().__init__(client, kind, self._relay_each, telemetry=telemetry)
        self._client = client
        self._to_stream = to_stream
        self._to_prefix = to_prefix
        self._dead = dead

    async def _relay_each(self, ticks: Sequence[Delivery]) -> Sequence[Delivery]:
        for ticked in ticks:
            await self._relay(ticked)
        return ticks

    async def _relay(self, ticked: Delivery) -> None:
        try:
            message = due_message(ticked)
        except KeyError as missing:
            message = None
            reason = f"a tick without header {missing}"
        else:
            reason = f"a tick may not publish on {message.subject}"
        if message is None or not message.subject.startswith(self._to_prefix):
            await self._dead.store(
                TIMERS,
                ticked,
                MessageRefused(reason, remedy="set timers through lictor_bus.fold.timers only"),
            )
            return
        await publish_one(self._client, self._to_stream, message)
