"""Every governed decision, according to its log: folded when it is asked about, changed by appending to the log.

What was folded before is kept in this process, and believed only after the log was asked where it ends. An entry is
appended right after the one that it was decided on: what was decided on anything older is refused by the broker, and
decided again.
"""

import asyncio
import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, Protocol, TypeVar
from weakref import WeakValueDictionary

from lictor_bus.concurrency import together
from lictor_bus.errors import UnreadableEntry
from lictor_bus.ledger import Ledger, Log, Reading
from lictor_bus.logs.decision_log import DecisionLog
from lictor_bus.names import streams, subjects
from lictor_bus.wire.delivery import Delivery
from lictor_bus.wire.publish import Outgoing
from lictor_schema.contracts.decision_log import (
    AnyDecisionEntry,
    SwitchEngaged,
    SwitchReleased,
)

_MAX_KNOWN = 10_000

DECISIONS = Ledger[AnyDecisionEntry, Any]("decision", streams.ACTIONS)
SWITCH = Ledger[AnyDecisionEntry, Any]("kill-switch", streams.ACTIONS)

S = TypeVar("S")
W = TypeVar("W")


@dataclass(frozen=True, slots=True)
class Folds(Generic[S, W]):
    """How decisions and the kill-switch follow from their logs: S is what is known of a decision, W of the switch."""

    decision: Callable[[S | None, AnyDecisionEntry, int], S]
    switch: Callable[[W, SwitchEngaged | SwitchReleased, int], W]
    unturned: W
    """The kill-switch before anybody turned it."""
    error: type[Exception]
    """What a fold raises for an entry that can't follow."""


@dataclass(frozen=True, slots=True)
class FoldedDecision(Generic[S]):
    """A decision up to a place in its log."""

    state: S | None = None
    last: int = 0
    """Sequence of the last message of the log, an entry or not."""


@dataclass(frozen=True, slots=True)
class KnownSwitch(Generic[W]):
    """The kill-switch up to a place in its log."""

    switch: W
    last: int = 0
    entries: tuple[tuple[int, SwitchEngaged | SwitchReleased], ...] = ()
    """All of them, each with its sequence: people turn it, so they are few."""


class DecisionAt(NamedTuple, Generic[S, W]):
    """What a question is decided on."""

    state: S | None
    switch: W
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


class Decisions(Generic[S, W]):
    """All decisions, for one instance of the service."""

    def __init__(
        self,
        log: DecisionLog,
        folds: Folds[S, W],
        *,
        now_ns: Callable[[], int] = time.time_ns,
    ) -> None:
        self._log = log
        self._folds = folds
        self._now_ns = now_ns
        self._known: OrderedDict[str, FoldedDecision[S]] = OrderedDict()
        self._switch = KnownSwitch(folds.unturned)
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    def now_us(self) -> int:
        """The clock."""
        return self._now_ns() // 1000

    async def known(self, key: str) -> FoldedDecision[S]:
        """A decision as its log is now."""
        last = await self._log.last(key)
        known: FoldedDecision[S] = self._known.get(key, FoldedDecision())
        if known.last > last:
            known = FoldedDecision()  # the stream was made anew
        if known.last < last:
            state = known.state
            for sequence, entry in await self._log.read(key, known.last, last):
                if entry is not None:
                    state = self._folded(state, entry, sequence)
            known = FoldedDecision(state, last)
        self._remember(key, known)
        return known

    async def switch(self) -> KnownSwitch[W]:
        """The kill-switch as its log is now."""
        last = await self._log.last(subjects.SWITCH_KEY)
        known = self._switch
        if known.last > last:
            known = KnownSwitch(self._folds.unturned)
        if known.last < last:
            switch, entries = known.switch, list(known.entries)
            for sequence, entry in await self._log.read(subjects.SWITCH_KEY, known.last, last):
                if isinstance(entry, SwitchEngaged | SwitchReleased):
                    switch = self._folds.switch(switch, entry, sequence)
                    entries.append((sequence, entry))
            known = KnownSwitch(switch, last, tuple(entries))
        self._switch = known
        return known

    async def change(self, key: str, decide: Callable[[DecisionAt[S, W]], R | Awaitable[R]]) -> R:
        """Decide on what the log says now, and append what comes of it, if anything does."""
        outcomes: list[R] = []

        async def judge(at: DecisionAt[S, W]) -> AnyDecisionEntry | None:
            decided = decide(at)
            outcomes.append(await decided if isinstance(decided, Awaitable) else decided)
            return outcomes[-1].entry

        async with self._locks.setdefault(key, asyncio.Lock()):
            await DECISIONS.change(self._log.appends, _DecisionLog(self, key), judge)
        return outcomes[-1]

    async def change_if(
        self, key: str, decide: "Callable[[DecisionAt[S, W]], Awaitable[R | None]]"
    ) -> R | None:
        """The same, where there may be nothing to decide."""
        missing = _Nothing()

        async def decided(at: DecisionAt[S, W]) -> "R | _Nothing":
            found = await decide(at)
            return missing if found is None else found

        outcome = await self.change(key, decided)
        return None if isinstance(outcome, _Nothing) else outcome

    async def folded(self, key: str) -> AsyncIterator[tuple[S, AnyDecisionEntry, int]]:
        """A decision from its beginning, entry by entry: what it was then, the entry, and its sequence."""
        state: S | None = None
        for sequence, entry in await self._log.read(key, 0, await self._log.last(key)):
            if entry is not None:
                state = self._folded(state, entry, sequence)
                yield state, entry, sequence

    async def stored(self, key: str) -> AsyncIterator[Delivery]:
        """A log up to where it ends now, message by message as it is stored."""
        async for each in self._log.stored(key, 0, await self._log.last(key)):
            yield each

    async def turn(self, decide: Callable[[W, int, int], R]) -> R:
        """The same for the kill-switch."""
        outcomes: list[R] = []

        def judge(known: KnownSwitch[W]) -> AnyDecisionEntry | None:
            outcomes.append(decide(known.switch, self.now_us(), known.last))
            return outcomes[-1].entry

        async with self._locks.setdefault(subjects.SWITCH_KEY, asyncio.Lock()):
            await SWITCH.change(self._log.appends, _SwitchLog(self), judge)
        return outcomes[-1]

    def appended(self, key: str, before: S | None, entry: AnyDecisionEntry, at: int) -> None:
        """An entry was appended to what is known of a decision."""
        self._remember(key, FoldedDecision(self._folded(before, entry, at), at))

    def _folded(self, state: S | None, entry: AnyDecisionEntry, sequence: int) -> S:
        try:
            return self._folds.decision(state, entry, sequence)
        except self._folds.error as error:
            raise UnreadableEntry(str(error)) from None

    def _remember(self, key: str, known: FoldedDecision[S]) -> None:
        self._known[key] = known
        self._known.move_to_end(key)
        if len(self._known) > _MAX_KNOWN:
            self._known.popitem(last=False)


class _DecisionLog(Log[AnyDecisionEntry, DecisionAt[S, W]]):
    """The log of one decision, read on from where it is known."""

    def __init__(self, decisions: Decisions[S, W], key: str) -> None:
        self._decisions = decisions
        self._key = key

    async def read(self) -> Reading[AnyDecisionEntry, DecisionAt[S, W]]:
        decisions = self._decisions
        known, held = await together(decisions.known(self._key), decisions.switch())
        at = DecisionAt(known.state, held.switch, decisions.now_us(), known.last)
        return Reading(at, known.last)

    def message(self, entry: AnyDecisionEntry) -> Outgoing:
        return _message(self._key, entry)

    async def appended(
        self,
        reading: Reading[AnyDecisionEntry, DecisionAt[S, W]],
        entry: AnyDecisionEntry,
        sequence: int,
    ) -> None:
        self._decisions.appended(self._key, reading.state.state, entry, sequence)


class _SwitchLog(Log[AnyDecisionEntry, KnownSwitch[W]]):
    """The log of the kill-switch."""

    def __init__(self, decisions: "Decisions[Any, W]") -> None:
        self._decisions = decisions

    async def read(self) -> Reading[AnyDecisionEntry, KnownSwitch[W]]:
        known = await self._decisions.switch()
        return Reading(known, known.last)

    def message(self, entry: AnyDecisionEntry) -> Outgoing:
        return _message(subjects.SWITCH_KEY, entry)


def _message(key: str, entry: AnyDecisionEntry) -> Outgoing:
    return Outgoing(subjects.decision_log(key), entry.to_json(), entry.entry_id)
