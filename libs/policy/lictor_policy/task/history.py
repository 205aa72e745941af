"""What a task's past is remembered by: for each thing that some condition asks, a few numbers.

A memory has a name that says what it holds, so conditions that ask the same share it, and the next version of a
pack finds it again. Only what is asked for is kept. How much a memory holds depends on the conditions, never on
how long the past is.
"""

from abc import ABC, abstractmethod
from bisect import bisect_left
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import ClassVar, Self
from zlib import crc32

from lictor_policy.conditions.moments import CompiledMoment, Measure
from lictor_policy.events.position import EventPosition
from lictor_policy.task.state import History, Memory, TaskState
from lictor_schema.decisions.decision import Disposition
from lictor_schema.events.event import Event
from lictor_schema.events.event_types import EVENT_TYPES, EventType

NONE = -1
"""In a memory: no such time, no such length of time."""

_PLAN = "plan"
"""Beside the memories: a check of the names that are kept, so that another plan is noticed at once."""

Note = Callable[[Memory, Event, int], Memory | None]
"""A memory, an event and the broker's time in; the memory after it out, or None where it stays as it is."""


Notes = tuple[tuple[str, Note], ...]
"""What to do, by the name of the memory."""


@dataclass(frozen=True)
class MemoryKind(ABC):
    """One memory that conditions ask for."""

    name: str
    looks_back: ClassVar[bool] = False
    """Whether it matters, for want of any such moment, since when it is kept."""
    limit: int = field(default=0, kw_only=True)
    """How far it must be able to count, where it holds more than one number."""
    span_us: int = field(default=0, kw_only=True)
    """How far back it must reach then."""

    @abstractmethod
    def on_event(self, event_type: EventType) -> Note | None:
        """What to do when an event of that type happens."""

    @abstractmethod
    def on_decision(self, disposition: Disposition) -> Note | None:
        """What to do when an event was decided so."""

    def enough_for(self, other: "MemoryKind") -> Self:
        """The memory that is enough for both; they have the same name."""
        return replace(
            self, limit=max(self.limit, other.limit), span_us=max(self.span_us, other.span_us)
        )


@dataclass(frozen=True)
class _OfMoment(MemoryKind):
    """A memory that one kind of moment adds to."""

    moment: CompiledMoment

    @abstractmethod
    def add(self, memory: Memory, now: int) -> Memory: ...

    def on_event(self, event_type: EventType) -> Note | None:
        return self._note(self.moment.on_event(event_type))

    def on_decision(self, disposition: Disposition) -> Note | None:
        return self._note(self.moment.on_decision(disposition))

    def _note(self, matches: Callable[[Event], bool] | None) -> Note | None:
        if matches is None:
            return None
        add = self.add
        return lambda memory, event, now: add(memory, now) if matches(event) else None


@dataclass(frozen=True)
class MomentCount(_OfMoment):
    """How many there were: `[number]`."""

    @classmethod
    def of(cls, moment: CompiledMoment) -> "MomentCount":
        return cls(f"count {moment.name}", moment)

    def add(self, memory: Memory, now: int) -> Memory:  # noqa: ARG002 -- the shape of a memory
        return [memory[0] + 1] if memory else [1]


@dataclass(frozen=True)
class Latest(_OfMoment):
    """When the last one was: `[time]`."""

    looks_back = True

    @classmethod
    def of(cls, moment: CompiledMoment) -> "Latest":
        return cls(f"last {moment.name}", moment)

    def add(self, memory: Memory, now: int) -> Memory:
        return [max(memory[0], now)] if memory else [now]


@dataclass(frozen=True)
class Times(_OfMoment):
    """When the last few were, oldest first: no more than are compared with, none older than any window."""

    looks_back = True

    @classmethod
    def of(cls, moment: CompiledMoment, limit: int, span_us: int) -> "Times":
        return cls(f"times {moment.name}", moment, limit=limit, span_us=span_us)

    def add(self, memory: Memory, now: int) -> Memory:
        # A broker's clock may be set back; a past that is out of order couldn't be searched.
        now = max(memory[-1], now) if memory else now
        oldest = now - self.span_us
        # One more than compared with, so that "more than" can be decided.
        kept = memory[-self.limit :] if self.limit else []
        return [*kept[bisect_left(kept, oldest) :], now]


@dataclass(frozen=True)
class PreviousMoment(_OfMoment):
    """`[when the event before this one was such a moment, when this one is]`, `NONE` where it isn't."""

    @classmethod
    def of(cls, moment: CompiledMoment) -> "PreviousMoment":
        return cls(f"previous {moment.name}", moment)

    def add(self, memory: Memory, now: int) -> Memory:
        return [memory[0] if memory else NONE, now]

    def on_event(self, event_type: EventType) -> Note | None:
        matches = self.moment.on_event(event_type)

        def note(memory: Memory, event: Event, now: int) -> Memory | None:
            before = memory[1] if memory else NONE
            this = now if matches is not None and matches(event) else NONE
            return None if not memory and this == NONE else [before, this]

        return note


@dataclass(frozen=True)
class Order(MemoryKind):
    """`[when the last first was that still counts, time from one to the latest then]`, or `NONE`."""

    first: CompiledMoment
    then: CompiledMoment
    without: CompiledMoment | None

    @classmethod
    def of(
        cls, first: CompiledMoment, then: CompiledMoment, without: CompiledMoment | None
    ) -> "Order":
        between = "" if without is None else f" without {without.name}"
        return cls(f"order {first.name} before {then.name}{between}", first, then, without)

    def on_event(self, event_type: EventType) -> Note | None:
        return self._note(*(each and each.on_event(event_type) for each in self._roles()))

    def on_decision(self, disposition: Disposition) -> Note | None:
        return self._note(*(each and each.on_decision(disposition) for each in self._roles()))

    def _roles(self) -> tuple[CompiledMoment | None, ...]:
        return self.first, self.then, self.without

    @staticmethod
    def _note(
        is_first: Callable[[Event], bool] | None,
        is_then: Callable[[Event], bool] | None,
        is_without: Callable[[Event], bool] | None,
    ) -> Note | None:
        if is_first is None and is_then is None and is_without is None:
            return None

        def note(memory: Memory, event: Event, now: int) -> Memory | None:
            came, gap = memory or _NOTHING
            # In this order: what is both doesn't come before itself, nor between itself and anything.
            if is_then is not None and is_then(event):
                gap = NONE if came == NONE else max(0, now - came)
            if is_without is not None and is_without(event):
                came = NONE
            if is_first is not None and is_first(event):
                came = now
            after = [came, gap]
            return None if after == (memory or _NOTHING) else after

        return note


_NOTHING: Memory = [NONE, NONE]


@dataclass(frozen=True)
class _OfMeasure(MemoryKind):
    """A memory that a measure adds to; nothing is noted for an amount of zero."""

    measure: Measure

    @abstractmethod
    def add(self, memory: Memory, amount: int, now: int) -> Memory: ...

    def on_event(self, event_type: EventType) -> Note | None:
        if event_type not in self.measure.event_types:
            return None
        measured, add = self.measure.amount, self.add

        def note(memory: Memory, event: Event, now: int) -> Memory | None:
            amount = int(measured(event))
            return add(memory, amount, now) if amount else None

        return note

    def on_decision(self, disposition: Disposition) -> Note | None:
        del disposition


@dataclass(frozen=True)
class MeasureTotal(_OfMeasure):
    """The total: `[number]`."""

    @classmethod
    def of(cls, measure: Measure) -> "MeasureTotal":
        return cls(f"total {measure.name}", measure)

    def add(self, memory: Memory, amount: int, now: int) -> Memory:  # noqa: ARG002 -- the shape of a memory
        return [memory[0] + amount] if memory else [amount]


@dataclass(frozen=True)
class Amounts(_OfMeasure):
    """The last few amounts, oldest first, each after its time: `[time, amount, ...]`.

    No more than add up to what is compared with, none older than any window.
    """

    looks_back = True

    @classmethod
    def of(cls, measure: Measure, limit: int, span_us: int) -> "Amounts":
        return cls(f"amounts {measure.name}", measure, limit=limit, span_us=span_us)

    def add(self, memory: Memory, amount: int, now: int) -> Memory:
        now = max(memory[-2], now) if memory else now
        oldest, total, start = now - self.span_us, amount, len(memory)
        while start and total <= self.limit and memory[start - 2] >= oldest:
            start -= 2
            total += memory[start + 1]
        return [*memory[start:], now, amount]


@dataclass(frozen=True, slots=True)
class HistoryPlan:
    """Every memory that the conditions in force ask for, and what adds to it."""

    names: frozenset[str]
    looking_back: tuple[str, ...]
    """Those of them for which it matters since when they are kept."""
    check: Memory | None
    on_event: dict[EventType, Notes]
    on_decision: dict[Disposition, Notes]

    @classmethod
    def of(cls, wanted: Iterable[MemoryKind]) -> "HistoryPlan":
        """The plan that is enough for all; what is asked for twice is kept once."""
        memories: dict[str, MemoryKind] = {}
        for each in wanted:
            known = memories.get(each.name)
            memories[each.name] = each if known is None else known.enough_for(each)
        kept = memories.values()
        happening: dict[EventType, Notes] = {
            event_type: _notes((each.name, each.on_event(event_type)) for each in kept)
            for event_type in EVENT_TYPES
        }
        deciding: dict[Disposition, Notes] = {
            disposition: _notes((each.name, each.on_decision(disposition)) for each in kept)
            for disposition in Disposition
        }
        looking_back = tuple(each.name for each in kept if each.looks_back)
        check = [crc32("\n".join(sorted(memories)).encode())] if memories else None
        return cls(frozenset(memories), looking_back, check, happening, deciding)

    def note(self, state: TaskState, event: Event, position: EventPosition) -> TaskState:
        """The event happens; called before it is judged, so that it counts."""
        begins = event.event_type == "task_started" or not state.started
        history = self.happened(state.history, event, position.stored_us, begins=begins)
        return state if history is state.history else state.changed(history=history)

    def note_decision(
        self, state: TaskState, event: Event, disposition: Disposition, position: EventPosition
    ) -> TaskState:
        """The event was decided on."""
        history = self.decided(state.history, event, disposition, position.stored_us)
        return state if history is state.history else state.changed(history=history)

    def happened(self, history: History, event: Event, now: int, *, begins: bool) -> History:
        """A past after an event; the same object where nothing changed.

        When the event doesn't begin it, there was more before than was kept under another plan.
        """
        if history.get(_PLAN) != self.check:
            history = self._taken_over(history, now, begins=begins)
        return _noted(history, self.on_event[event.event_type], event, now)

    def _taken_over(self, history: History, now: int, *, begins: bool) -> History:
        # What isn't kept up must go: found again later, it would have gaps.
        names = self.names.union(map(kept_since, self.looking_back))
        kept = {name: memory for name, memory in history.items() if name in names}
        if not begins:
            for name in self.looking_back:
                if name not in history:
                    kept.setdefault(kept_since(name), [now])
        return kept if self.check is None else {**kept, _PLAN: self.check}

    def decided(
        self, history: History, event: Event, disposition: Disposition, now: int
    ) -> History:
        """A past after the decision on an event; the same object where nothing changed."""
        return _noted(history, self.on_decision[disposition], event, now)


def kept_since(name: str) -> str:
    """The name of the memory that says since when another is kept, where that isn't the beginning."""
    return f"since {name}"


def _notes(found: Iterable[tuple[str, Note | None]]) -> Notes:
    return tuple((name, note) for name, note in found if note is not None)


def _noted(history: History, notes: Notes, event: Event, now: int) -> History:
    changes: History = {}
    for name, note in notes:
        memory = note(history.get(name, _EMPTY), event, now)
        if memory is not None:
            changes[name] = memory
    return {**history, **changes} if changes else history


_EMPTY: Memory = []
