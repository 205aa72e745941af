"""Temporal conditions as facts: counts, time since, totals, order. What they need is a memory of the past."""

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from lictor_policy.conditions.facts import Fact, FactType, unknown_name
from lictor_policy.conditions.moments import MEASURES, Fail, compile_moment
from lictor_policy.errors import PackError
from lictor_policy.events.position import EventPosition
from lictor_policy.packs.strict_yaml import Path
from lictor_policy.task.history import (
    NONE,
    Amounts,
    Latest,
    MeasureTotal,
    MemoryKind,
    MomentCount,
    Order,
    PreviousMoment,
    Times,
    kept_since,
)
from lictor_policy.task.state import History, TaskState
from lictor_schema.core.time import SECOND_US
from lictor_schema.events.event import Event
from lictor_schema.packs.pack import Condition
from lictor_schema.packs.temporal_conditions import (
    MAX_COUNTED_MOMENTS,
    Before,
    CountOf,
    Moment,
    SinceLast,
    TotalOf,
    as_moment,
    duration_seconds,
)
from lictor_schema.packs.temporal_conditions import Previous as PreviousForm

NEVER = 1 << 62
"""The microseconds since what never happened: longer than any duration."""


@dataclass(frozen=True, slots=True)
class TemporalQuestion:
    """What a temporal leaf asks, as a fact of the task, and the memory it is answered from."""

    fact: Fact
    kept: MemoryKind


def ask(condition: Condition, path: Path, fail: Fail) -> TemporalQuestion | None:
    """The question of a temporal leaf; None when the condition is no such leaf."""
    if asks_session(condition):
        _refuse_where(condition, path, fail)
    if condition.count is not None:
        return _count(condition.count, _compared(condition), (*path, "count"), fail)
    if condition.since is not None:
        return _since(condition.since, _compared(condition), (*path, "since"), fail)
    if condition.total is not None:
        return _total(condition.total, _compared(condition), (*path, "total"), fail)
    if condition.before is not None:
        return _before(condition.before, (*path, "before"), fail)
    if condition.previous is not None:
        return _previous(condition.previous, (*path, "previous"), fail)
    return None


def _refuse_where(condition: Condition, path: Path, fail: Fail) -> None:
    """A session is known by the decisions on its events, and those don't repeat what the events say."""
    before = condition.before
    moments = (
        {"count": condition.count, "since": condition.since}
        if before is None
        else {"first": before.first, "then": before.then, "without": before.without}
    )
    for name, moment in moments.items():
        if isinstance(moment, Moment) and moment.where is not None:
            at = (*path, name) if before is None else (*path, "before", name)
            raise fail((*at, "where"), "has no use under scope session; name event and decision")


def memories(condition: Condition) -> Iterator[MemoryKind]:
    """Every memory of a task's past that a condition, checked before, is answered from."""
    for part in (*(condition.all_of or ()), *(condition.any_of or ())):
        yield from memories(part)
    if condition.negated is not None:
        yield from memories(condition.negated)
    if not asks_session(condition):
        asked = ask(condition, (), never_fails)
        if asked is not None:
            yield asked.kept


def asks_session(condition: Condition) -> bool:
    """Whether a condition is a leaf about the past of the whole session."""
    form = condition.count or condition.since or condition.before
    return form is not None and form.scope == "session"


def never_fails(path: Path, problem: str) -> PackError:
    """For a condition that was checked before."""
    return PackError(f"{'.'.join(map(str, path))}: {problem}")


class _Compared(NamedTuple):
    """What the answer to a leaf is compared with."""

    comparator: str
    largest: int
    """The largest number, as far as it is compared with numbers."""

    @property
    def asks_for_little(self) -> bool:
        """Whether the leaf can hold because there was no more than that."""
        return self.comparator in ("equals", "less_than", "in")


def _compared(condition: Condition) -> _Compared:
    comparator, given = condition.comparisons()[0]
    numbers = given if isinstance(given, tuple) else (given,)
    return _Compared(comparator, max(0, *(each for each in numbers if type(each) is int), 0))


def _still_open(history: History, since: str, start: int) -> bool:
    """Whether a window began before its memory was kept: then there may have been more than is known."""
    kept = history.get(since)
    return kept is not None and start < kept[0]


def _count(form: CountOf, compared: _Compared, path: Path, fail: Fail) -> TemporalQuestion:
    largest = compared.largest
    moment = compile_moment(form, path, fail)
    if largest > MAX_COUNTED_MOMENTS:
        raise fail(path, f"is compared with {largest}; a count goes up to {MAX_COUNTED_MOMENTS}")
    label = f"count of {moment.name}{_within(form.within)}"
    if form.within is None:
        tally = MomentCount.of(moment)
        return TemporalQuestion(_number(label, tally.name), tally)
    span = _micros(form.within)
    times = Times.of(moment, largest, span)
    name, since, doubt = times.name, kept_since(times.name), compared.asks_for_little

    def count(state: TaskState, _event: Event, position: EventPosition) -> int:
        start = position.stored_us - span
        if doubt and _still_open(state.history, since, start):
            return largest + 1
        kept = state.history.get(name)
        # A moment exactly as long ago as the window is long lies within it.
        return 0 if kept is None else len(kept) - bisect_left(kept, start)

    return TemporalQuestion(
        Fact(label, FactType.INT, "How many there were in the window", count), times
    )


def _since(form: SinceLast, compared: _Compared, path: Path, fail: Fail) -> TemporalQuestion:
    moment = compile_moment(form, path, fail)
    latest = Latest.of(moment)
    name = latest.name
    # Whether it is long ago follows from when the memory begins; whether it was just now can't.
    otherwise = kept_since(name) if compared.comparator == "greater_than" else name

    def since(state: TaskState, _event: Event, position: EventPosition) -> int:
        kept = state.history.get(name) or state.history.get(otherwise)
        return NEVER if kept is None else max(0, position.stored_us - kept[0])

    return TemporalQuestion(
        Fact(f"time since {moment.name}", FactType.DURATION, "How long ago the last was", since),
        latest,
    )


def _total(form: TotalOf, compared: _Compared, path: Path, fail: Fail) -> TemporalQuestion:
    largest = compared.largest
    measure = MEASURES.get(form.of)
    if measure is None:
        raise fail((*path, "of"), unknown_name("measure", form.of, MEASURES))
    label = f"total of {measure.name}{_within(form.within)}"
    if form.within is None:
        total = MeasureTotal.of(measure)
        return TemporalQuestion(_number(label, total.name), total)
    if largest > MAX_COUNTED_MOMENTS:
        raise fail(
            path,
            f"is compared with {largest}; a total within a window goes up to {MAX_COUNTED_MOMENTS},"
            " one without a window as far as you like",
        )
    span = _micros(form.within)
    amounts = Amounts.of(measure, largest, span)
    name, since, doubt = amounts.name, kept_since(amounts.name), compared.asks_for_little

    def sum_up(state: TaskState, _event: Event, position: EventPosition) -> int:
        oldest = position.stored_us - span
        if doubt and _still_open(state.history, since, oldest):
            return largest + 1
        kept = state.history.get(name, ())
        at, total = len(kept), 0
        while at and total <= largest and kept[at - 2] >= oldest:
            at -= 2
            total += kept[at + 1]
        return total

    return TemporalQuestion(Fact(label, FactType.INT, measure.meaning, sum_up), amounts)


def _before(form: Before, path: Path, fail: Fail) -> TemporalQuestion:
    first = compile_moment(as_moment(form.first), (*path, "first"), fail)
    then = compile_moment(as_moment(form.then), (*path, "then"), fail)
    without = (
        None
        if form.without is None
        else compile_moment(as_moment(form.without), (*path, "without"), fail)
    )
    order = Order.of(first, then, without)
    name = order.name
    longest = NEVER if form.within is None else _micros(form.within)

    def came_before(state: TaskState, _event: Event, _position: EventPosition) -> bool:
        kept = state.history.get(name)
        return kept is not None and NONE < kept[1] <= longest

    label = name.removeprefix("order ") + _within(form.within)
    return TemporalQuestion(
        Fact(label, FactType.BOOL, "They came in this order", came_before), order
    )


def _previous(form: PreviousForm, path: Path, fail: Fail) -> TemporalQuestion:
    moment = compile_moment(form, path, fail)
    previous = PreviousMoment.of(moment)
    name = previous.name
    longest = NEVER if form.within is None else _micros(form.within)

    def was_previous(state: TaskState, _event: Event, position: EventPosition) -> bool:
        kept = state.history.get(name)
        return kept is not None and kept[0] != NONE and position.stored_us - kept[0] <= longest

    label = f"previous event is {moment.name}{_within(form.within)}"
    return TemporalQuestion(
        Fact(label, FactType.BOOL, "The event before was that", was_previous), previous
    )


def _number(label: str, name: str) -> Fact:
    def number(state: TaskState, _event: Event, _position: EventPosition) -> int:
        kept = state.history.get(name)
        return 0 if kept is None else kept[0]

    return Fact(label, FactType.INT, "How much there was so far", number)


def _within(window: str | None) -> str:
    return "" if window is None else f" within {window}"


def _micros(duration: str) -> int:
    return (duration_seconds(duration) or 0) * SECOND_US
