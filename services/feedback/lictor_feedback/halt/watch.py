"""What is halted now, known by every instance before it allows a call.

The logs are the truth: that of operators' orders, and that of the kill-switch. An instance folds both in memory, and
believes what it folded only

* while the position in Redis says that nobody has stored an order since it looked (asked together with the session's
  facts, so that it costs no round trip of its own), in the process of Redis in which that was found;
* and for no longer than `LEASE_S` after it last began to read the logs, whatever Redis says.

Whoever stores an order unsettles the position before the order is answered, or waits until every lease has run out. So
a call that is asked about after the answer is judged by the order, by whichever instance.
"""

import asyncio
import logging
from contextlib import suppress
from dataclasses import dataclass
from typing import Protocol

from nats.aio.client import Client

from lictor_bus.concurrency import together
from lictor_bus.logs.halts import HaltsInForce, engaged_switch, ordered_halts
from lictor_bus.loops.outages import OUTAGES
from lictor_bus.names import streams, subjects
from lictor_bus.wire.read import last_sequence
from lictor_feedback.session.store import StoreAway

log = logging.getLogger("lictor.feedback")

LEASE_S = 5.0
"""So long an instance may believe what it read, if nobody tells it otherwise."""
_LOOK_EVERY_S = 1.0
_ASK_WITHIN_S = 1.0
# What clocks of several machines may differ by in that time, and more.
_MARGIN_S = 0.5


class SharedPosition(Protocol):
    """Says whether anybody stored an order since we looked."""

    @property
    def age(self) -> int: ...

    async def load(self) -> str | None: ...

    async def unsettle(self) -> bytes: ...

    async def settle(self, token: bytes, position: str) -> None: ...


@dataclass(frozen=True, slots=True)
class _Reading:
    """What was read of the logs."""

    number: int
    """Of readings, in the order in which they began."""
    began: float
    lasts: tuple[int, int]
    halts: HaltsInForce

    @property
    def position(self) -> str:
        return "{}.{}".format(*self.lasts)


class HaltWatch:
    """What is halted, for one instance of the service; a loop that looks every second, beside the gates."""

    def __init__(self, client: Client, shared: SharedPosition) -> None:
        self._client = client
        self._shared = shared
        self._known: _Reading | None = None
        self._numbers = 0
        self._settled_at_age = -1
        self._stopping = asyncio.Event()
        self.trouble: str | None = "starting"

    async def now(self) -> HaltsInForce:
        """Everything that halts sessions; an outage is raised, never taken for nothing."""
        settled = await self._shared.load()
        known = self._known
        if (
            known is not None
            and settled == known.position
            and self._settled_at_age == self._shared.age
            and asyncio.get_running_loop().time() - known.began <= LEASE_S
        ):
            return known.halts
        return await self._look()

    async def as_logged(self) -> HaltsInForce:
        """The same from the logs alone, whether the store answers or not."""
        return (await self._read()).halts

    async def announce(self) -> None:
        """An order was stored: return when no instance allows a call any more without having read it."""
        try:
            await self._shared.unsettle()
        except StoreAway as error:
            log.warning(
                "halts: the store does not answer (%s); waiting until all have looked", error
            )
            await asyncio.sleep(LEASE_S + _MARGIN_S)

    async def _look(self) -> HaltsInForce:
        age = self._shared.age
        token = await self._shared.unsettle()
        reading = await self._read()
        await self._shared.settle(token, reading.position)
        # Of another process of Redis than at the beginning, nothing is known.
        self._settled_at_age = age if self._shared.age == age else -1
        return reading.halts

    async def _read(self) -> _Reading:
        self._numbers += 1
        number, began = self._numbers, asyncio.get_running_loop().time()
        known = self._known
        orders, switch = await together(
            self._last(streams.SESSIONS, subjects.HALTS),
            self._last(streams.ACTIONS, subjects.decision_log(subjects.SWITCH_KEY)),
        )
        if known is not None and known.lasts == (orders, switch):
            reading = _Reading(number, began, known.lasts, known.halts)
        else:
            (ordered, orders), (engaged, switch) = await together(
                ordered_halts(self._client), engaged_switch(self._client)
            )
            halts = HaltsInForce(ordered, engaged)
            reading = _Reading(number, began, (orders, switch), halts)
        if self._known is None or self._known.number < number:
            self._known = reading
        return reading

    async def _last(self, stream: str, subject: str) -> int:
        return await last_sequence(self._client, stream, subject, timeout_s=_ASK_WITHIN_S)

    def stop(self) -> None:
        """Return from ``run``."""
        self._stopping.set()

    async def run(self) -> None:
        """Look at the logs every second: whoever stored an order may have died before it announced it."""
        while not self._stopping.is_set():
            try:
                await self._read()
                self.trouble = None
            except OUTAGES as error:
                self.trouble = f"what is halted can't be read: {type(error).__name__}: {error}"
                log.warning("%s", self.trouble)
            with suppress(TimeoutError):
                async with asyncio.timeout(_LOOK_EVERY_S):
                    await self._stopping.wait()
