"""One timer for each thing that waits for a moment, a session or a decision, and what happens when it rings.

A timer only says whose it is and for which moment it was set. The log of that entity says what is due then: a tick
that comes twice, early or late finds nobody due, or what is due, and never more.
"""

import json
import logging
import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta

from nats.errors import Error as NatsError
from nats.js.errors import Error as JetStreamError

from lictor_bus.concurrency import together
from lictor_bus.errors import BusError, MessageRefused
from lictor_bus.fold.tick_relay import TickLoop
from lictor_bus.fold.timers import CancelTimer, SetTimer
from lictor_bus.logs.dead_letters import DeadLetters
from lictor_bus.loops.outages import refused_at_last
from lictor_bus.names.streams import TIMERS
from lictor_bus.names.subjects import tick
from lictor_bus.service.telemetry import ServiceTelemetry
from lictor_bus.wire.connection import TolerantClient
from lictor_bus.wire.delivery import Delivery
from lictor_bus.wire.publish import Outgoing
from lictor_bus.wire.pull import PullSettings
from lictor_schema.core.time import EPOCH, SECOND_US

log = logging.getLogger("lictor.ringing")

_KEY = re.compile(r"~?[A-Za-z0-9_-]{1,128}\Z")
# How far two clocks, the broker's and that of who set the timer, may be apart.
_SKEW_US = 60 * SECOND_US
# Each tick is a few round trips, and perhaps a question to another service: they are made side by side, and a batch
# must be done well before the broker delivers it again.
_SETTINGS = PullSettings(each_on_its_own=True, batch=64, ack_wait_s=30.0)

DueHandler = Callable[[str, int], Awaitable[None]]
"""Looks at what is due for the owner of a timer, by its key, at a moment not before the one given.

Raises MessageRefused for a tick that can never be handled, another BusError to be asked again later.
"""


@dataclass(frozen=True, kw_only=True)
class EntityTimerKind:
    """A kind of timer: whose it is, and who alone may set it."""

    kind: str
    of: str
    """What each timer belongs to: `session`."""
    set_by: str
    """The service that sets them."""

    def timer(self, key: str, due_us: int | None) -> SetTimer | CancelTimer:
        """The timer of one owner: set for a moment, or cancelled."""
        if due_us is None:
            return CancelTimer(self.kind, key)
        # The broker counts milliseconds: it must not ring before the moment.
        due = EPOCH + timedelta(milliseconds=-(-due_us // 1000))
        body = json.dumps({self.of: key, "due_us": due_us}).encode()
        return SetTimer(self.kind, key, due, Outgoing(tick(self.kind, key), body))

    def read(self, ticked: Delivery) -> tuple[str, int]:
        """Whose timer rang, and for which moment it was set; MessageRefused for what this bell did not set."""
        remedy = f"set {self.kind} timers through {self.set_by} only"
        try:
            body = json.loads(ticked.body)
            key, due_us = body[self.of], body["due_us"]
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise MessageRefused(f"not a {self.kind} tick: {error!r}", remedy=remedy) from None
        if not isinstance(key, str) or not _KEY.match(key):
            raise MessageRefused(f"a {self.kind} tick names no {self.of}", remedy=remedy)
        if ticked.subject != tick(self.kind, key):
            reason = f"a {self.kind} tick names another {self.of} than its subject"
            raise MessageRefused(reason, remedy=remedy)
        stored_us = ticked.stored_at_ns // 1000
        if type(due_us) is not int or not 0 < due_us <= stored_us + _SKEW_US:
            raise MessageRefused(f"a {self.kind} tick rings before it is due", remedy=remedy)
        return key, due_us


class EntityTimers(TickLoop):
    """Rings for every owner whose timer is due, many side by side."""

    def __init__(
        self,
        client: TolerantClient,
        bell: EntityTimerKind,
        ring: DueHandler,
        *,
        dead: DeadLetters,
        telemetry: ServiceTelemetry,
    ) -> None:
        super().__init__(client, bell.kind, self._ring_all, telemetry=telemetry, settings=_SETTINGS)
        self._bell = bell
        self._ring = ring
        self._dead = dead

    async def _ring_all(self, ticks: Sequence[Delivery]) -> Sequence[Delivery]:
        done = await together(*(self._ring_one(ticked) for ticked in ticks))
        return [ticked for ticked, is_done in zip(ticks, done, strict=True) if is_done]

    async def _ring_one(self, ticked: Delivery) -> bool:
        try:
            await self._ring(*self._bell.read(ticked))
        except MessageRefused as refusal:
            await self._dead.store(TIMERS, ticked, refusal)
        except (BusError, NatsError, JetStreamError, OSError, TimeoutError) as error:
            refusal = refused_at_last(error, ticked)
            if refusal is None:
                log.warning(
                    "%s tick %d: %s; it comes again", self._bell.kind, ticked.sequence, error
                )
                return False
            await self._dead.store(TIMERS, ticked, refusal)
        except Exception as error:
            # A defect that one of them meets must not silence the others.
            log.exception("%s tick %d", self._bell.kind, ticked.sequence)
            reason = f"{type(error).__name__}: {error}"
            remedy = f"a defect of {self._bell.set_by}: report it; the next question looks at the time too"
            await self._dead.store(TIMERS, ticked, MessageRefused(reason, remedy=remedy))
        return True
