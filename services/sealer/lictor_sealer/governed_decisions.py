"""Every governed decision, as its log tells it: folded when it is asked about, changed by appending to the log.

What was folded before is kept in this process, and believed only after the log was asked where it ends. An entry is
appended right after the one that it was decided on: what was decided on anything older is refused by the broker, and
decided again.
"""

import asyncio
import random
import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol, TypeVar
from weakref import WeakValueDictionary

from lictor_bus.errors import BusError, SequenceConflict
from lictor_bus.names import subjects
from lictor_bus.wire.delivery import Delivery
from lictor_contracts.decision.state import Deciding, Switch, fold, fold_switch
from lictor_contracts.errors import ContractError
from lictor_schema.contracts.decision_log import (
    AnyDecisionEntry,
    DecisionClosed,
    SwitchEngaged,
    SwitchReleased,
)
from lictor_sealer.decision_log import DecisionLog

_MAX_KNOWN = 10_000
_TRIES = 24
_LONGEST_PAUSE_S = 0.1


class DecisionOvertaken(BusError):
    """Others changed the decision each time we were about to."""


@dataclass(frozen=True, slots=True)
class Known:
    """A decision up to a place in its log."""

    state: Deciding | None = None
    last: int = 0
    """Sequence of the last message of the log, an entry or not."""


@dataclass(frozen=True, slots=True)
class KnownSwitch:
    """The kill-switch up to a place in its log."""

    switch: Switch
    last: int = 0
    entries: tuple[tuple[int, SwitchEngaged | SwitchReleased], ...] = ()
    """All of them, each with its sequence: people turn it, so they are few."""


class DecisionAt(NamedTuple):
    """What a question is decided on."""

    state: Deciding | None
    switch: Switch
    now_us: int
    after: int


class HasEntry(Protocol):
    """What comes of a question: an entry, perhaps, and whatever else."""

    @property
    def entry(self) -> AnyDecisionEntry | None:
        """What is to be appended; None when nothing changes."""
        ...


R = TypeVar("R", bound=HasEntry)


@dataclass(frozen=True, slots=True)
class _Nothing:
    entry: None = None


class Decisions:
    """All decisions, for one instance of the service."""

    def __init__(self, log: DecisionLog, *, now_ns: Callable[[], int] = time.time_ns) -> None:
        self._log = log
        self._now_ns = now_ns
        self._known: OrderedDict[str, Known] = OrderedDict()
        self._switch = KnownSwitch(Switch())
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    def now_us(self) -> int:
        """The clock."""
        return self._now_ns() // 1000

    async def known(self, key: str) -> Known:
        """A decision as its log tells it now."""
        last = await self._log.last(key)
        known = self._known.get(key, Known())
        if known.last > last:
            known = Known()  # the stream was made anew
        if known.last < last:
            state = known.state
            for sequence, entry in await self._log.read(key, known.last, last):
                if entry is not None:
                    state = _folded(state, entry, sequence)
            known = Known(state, last)
        self._remember(key, known)
        return known

    async def switch(self) -> KnownSwitch:
        """The kill-switch as its log tells it now."""
        last = await self._log.last(subjects.SWITCH_KEY)
        known = self._switch
        if known.last > last:
            known = KnownSwitch(Switch())
        if known.last < last:
            switch, entries = known.switch, list(known.entries)
            for sequence, entry in await self._log.read(subjects.SWITCH_KEY, known.last, last):
                if isinstance(entry, SwitchEngaged | SwitchReleased):
                    switch = fold_switch(switch, entry, sequence)
                    entries.append((sequence, entry))
            known = KnownSwitch(switch, last, tuple(entries))
        self._switch = known
        return known

    async def change(self, key: str, decide: Callable[[DecisionAt], R | Awaitable[R]]) -> R:
        """Decide on what the log says now, and append what comes of it, if anything does."""
        lock = self._locks.setdefault(key, asyncio.Lock())
        async with lock:
            for attempt in range(_TRIES):
                if attempt:
                    await asyncio.sleep(random.uniform(0, _LONGEST_PAUSE_S))
                known, held = await asyncio.gather(self.known(key), self.switch())
                decided = decide(DecisionAt(known.state, held.switch, self.now_us(), known.last))
                outcome = await decided if isinstance(decided, Awaitable) else decided
                if outcome.entry is None:
                    return outcome
                try:
                    sequence = await self._log.append(key, outcome.entry, known.last)
                except SequenceConflict:
                    continue
                state = _folded(known.state, outcome.entry, sequence)
                self._remember(key, Known(state, sequence))
                return outcome
        raise DecisionOvertaken("others change the decision all the time")

    async def change_if(
        self, key: str, decide: "Callable[[DecisionAt], Awaitable[R | None]]"
    ) -> R | None:
        """The same, where there may be nothing to decide."""
        missing = _Nothing()

        async def decided(at: DecisionAt) -> "R | _Nothing":
            found = await decide(at)
            return missing if found is None else found

        outcome = await self.change(key, decided)
        return None if isinstance(outcome, _Nothing) else outcome

    async def closed_by(self, key: str, record_id: str) -> Deciding | None:
        """The decision as it was when a record closed it, with the kill-switch's turns meanwhile; None for none."""
        state: Deciding | None = None
        for sequence, entry in await self._log.read(key, 0, await self._log.last(key)):
            if entry is None:
                continue
            state = _folded(state, entry, sequence)
            if isinstance(entry, DecisionClosed) and entry.record_id == record_id:
                turns = (await self.switch()).entries
                return replace(state, switched=_meanwhile(turns, state.begun_at, sequence))
        return None

    async def stored(self, key: str) -> AsyncIterator[Delivery]:
        """A log up to where it ends now, message by message as it is stored."""
        async for each in self._log.stored(key, 0, await self._log.last(key)):
            yield each

    async def turn(self, decide: Callable[[Switch, int, int], R]) -> R:
        """The same for the kill-switch."""
        key = subjects.SWITCH_KEY
        async with self._locks.setdefault(key, asyncio.Lock()):
            for _ in range(_TRIES):
                known = await self.switch()
                outcome = decide(known.switch, self.now_us(), known.last)
                if outcome.entry is None:
                    return outcome
                try:
                    await self._log.append(key, outcome.entry, known.last)
                except SequenceConflict:
                    continue
                return outcome
        raise DecisionOvertaken("others turn the kill-switch all the time")

    def _remember(self, key: str, known: Known) -> None:
        self._known[key] = known
        self._known.move_to_end(key)
        if len(self._known) > _MAX_KNOWN:
            self._known.popitem(last=False)


def _meanwhile(
    turns: tuple[tuple[int, SwitchEngaged | SwitchReleased], ...], begun_at: int, closed_at: int
) -> tuple[SwitchEngaged | SwitchReleased, ...]:
    """The turns between two places in the stream, and the one before that still held at the first."""
    before = [each for sequence, each in turns if sequence < begun_at]
    held = before[-1:] if before and isinstance(before[-1], SwitchEngaged) else []
    return (*held, *(each for sequence, each in turns if begun_at < sequence < closed_at))


def _folded(state: Deciding | None, entry: AnyDecisionEntry, sequence: int) -> Deciding:
    try:
        return fold(state, entry, sequence)
    except ContractError as error:
        raise BusError(str(error)) from None
