"""Conditions compiled once to closures, with every comparison type-checked at load."""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from lictor_policy.conditions.evidence_requirements import named_fact
from lictor_policy.conditions.facts import FACTS, Fact, FactType, Predicate, unknown_name
from lictor_policy.conditions.moments import Fail
from lictor_policy.conditions.session_conditions import WATCH, SessionQuestion, was_told
from lictor_policy.conditions.temporal_conditions import (
    TemporalQuestion,
    ask,
    asks_session,
    never_fails,
)
from lictor_policy.packs.strict_yaml import Path
from lictor_schema.core.time import SECOND_US
from lictor_schema.events.evidence import Quality
from lictor_schema.packs.pack import Condition, Rule
from lictor_schema.packs.temporal_conditions import DURATION_MEANING, duration_seconds

FITTING: dict[FactType, tuple[str, ...]] = {
    FactType.BOOL: ("equals", "not_equals"),
    FactType.INT: ("equals", "not_equals", "greater_than", "less_than", "in"),
    FactType.QUALITY: ("equals", "not_equals", "greater_than", "less_than", "in"),
    FactType.DURATION: ("greater_than", "less_than"),
    FactType.STR: ("equals", "not_equals", "in", "contains"),
}
"""The comparators that fit each type of fact."""
_WANTED = {
    FactType.QUALITY: f"one of {', '.join(Quality)}",
    FactType.DURATION: "a duration such as 90s, 10m, 2h or 1d",
}


def compile_condition(
    condition: Condition, path: Path, fail: Fail, *, facts: Mapping[str, Fact] = FACTS
) -> Predicate:
    """The closure that decides a condition over the facts given."""

    def each(parts: tuple[Condition, ...], group: str) -> tuple[Predicate, ...]:
        return tuple(
            compile_condition(part, (*path, group, index), fail, facts=facts)
            for index, part in enumerate(parts)
        )

    if condition.all_of is not None:
        return _all(each(condition.all_of, "all"))
    if condition.any_of is not None:
        return _any(each(condition.any_of, "any"))
    if condition.negated is not None:
        inner = compile_condition(condition.negated, (*path, "not"), fail, facts=facts)
        return lambda state, event, position: not inner(state, event, position)
    return read_leaf(condition, path, fail, facts=facts).holds


# Two and three parts are spelled out: a loop costs as much as a part, and most groups are that small.


def _all(parts: tuple[Predicate, ...]) -> Predicate:
    def holds(state: Any, event: Any, position: Any) -> bool:
        for part in parts:  # noqa: SIM110 -- a generator costs more than the parts
            if not part(state, event, position):
                return False
        return True

    match parts:
        case (one,):
            return one
        case (one, two):
            return lambda state, event, position: (
                one(state, event, position) and two(state, event, position)
            )
        case (one, two, three):
            return lambda state, event, position: (
                one(state, event, position)
                and two(state, event, position)
                and three(state, event, position)
            )
        case _:
            return holds


def _any(parts: tuple[Predicate, ...]) -> Predicate:
    def holds(state: Any, event: Any, position: Any) -> bool:
        for part in parts:  # noqa: SIM110 -- a generator costs more than the parts
            if part(state, event, position):
                return True
        return False

    match parts:
        case (one,):
            return one
        case (one, two):
            return lambda state, event, position: (
                one(state, event, position) or two(state, event, position)
            )
        case (one, two, three):
            return lambda state, event, position: (
                one(state, event, position)
                or two(state, event, position)
                or three(state, event, position)
            )
        case _:
            return holds


@dataclass(frozen=True, slots=True)
class Leaf:
    """A comparison of a fact, or of what a temporal leaf asks as if it were one."""

    fact: Fact
    comparator: str
    expected: Any
    """In the form the fact is computed in."""
    holds: Predicate


def read_leaf(
    condition: Condition, path: Path, fail: Fail, *, facts: Mapping[str, Fact] = FACTS
) -> Leaf:
    """What a condition that is no group compares, checked."""
    asked = ask(condition, path, fail)
    if asked is not None:
        if asks_session(condition):
            question = _session_question(condition, asked, path, fail)
            told = was_told(question.name)
            fact = Fact(question.name, FactType.BOOL, "It just came true for the session", told)
            return Leaf(fact, "equals", True, told)
        return _compared(condition, asked.fact, path, fail)
    name = condition.fact or ""
    fact = facts.get(name) or named_fact(name)
    if fact is None:
        raise fail((*path, "fact"), unknown_name("fact", name, facts))
    return _compared(condition, fact, path, fail)


def session_questions(condition: Condition) -> Iterator[SessionQuestion]:
    """What a condition, checked before, asks about the session of a task."""
    for part in (*(condition.all_of or ()), *(condition.any_of or ())):
        yield from session_questions(part)
    if asks_session(condition) and (asked := ask(condition, (), never_fails)) is not None:
        yield _session_question(condition, asked, (), never_fails)


def check_session_leaves(rule: Rule, fail: Fail) -> None:
    """A condition over a session comes true in one event of its own: only what can then hold is taken."""
    leaves = list(_session_leaves(rule.conditions, ("conditions",), fail, negated=False))
    if leaves and WATCH not in rule.triggers.event_types:
        raise fail(
            ("triggers", "event_types"),
            f"lacks {WATCH}, the event by which a condition of scope session comes true; add it",
        )


def _session_leaves(
    condition: Condition, path: Path, fail: Fail, *, negated: bool
) -> Iterator[Path]:
    """Where such leaves stand; of those that must hold together there can be one."""
    if asks_session(condition):
        if negated:
            raise fail(path, "a condition of scope session can't stand under not; turn it around")
        yield path
    for index, part in enumerate(condition.any_of or ()):
        yield from _session_leaves(part, (*path, "any", index), fail, negated=negated)
    found: list[Path] = []
    for index, part in enumerate(condition.all_of or ()):
        within = list(_session_leaves(part, (*path, "all", index), fail, negated=negated))
        if within and found:
            raise fail(
                within[0],
                "two conditions of scope session never come true in the same event; use one",
            )
        found += within
    yield from found
    if condition.negated is not None:
        yield from _session_leaves(condition.negated, (*path, "not"), fail, negated=True)


def _session_question(
    condition: Condition, asked: TemporalQuestion, path: Path, fail: Fail
) -> SessionQuestion:
    leaf = _compared(condition, asked.fact, path, fail)
    given = "".join(f" {name} {json.dumps(value)}" for name, value in condition.comparisons())
    return SessionQuestion(f"session: {asked.fact.name}{given}", asked.kept, leaf.holds)


def _compared(condition: Condition, fact: Fact, path: Path, fail: Fail) -> Leaf:
    comparisons = condition.comparisons()
    # Order and neighbourhood are so or not; they are written without a comparator.
    comparator, given = comparisons[0] if comparisons else ("equals", True)
    if comparator not in FITTING[fact.type]:
        fitting = ", ".join(FITTING[fact.type])
        raise fail(
            (*path, comparator),
            f"{fact.name} is a {fact.type.value}, which has no {comparator}; use one of {fitting}",
        )
    where = (*path, comparator)
    if isinstance(given, tuple):
        expected: Any = frozenset(
            _operand(fact, comparator, value, (*where, index), fail)
            for index, value in enumerate(given)
        )
    else:
        expected = _operand(fact, comparator, given, where, fail)
    return Leaf(fact, comparator, expected, _comparison(fact.compute, comparator, expected))


def _comparison(compute: Callable[..., Any], comparator: str, expected: Any) -> Predicate:
    # Spelled out: a comparison passed in as a function costs as much again as the fact.
    match comparator:
        case "equals" if expected is True:
            return compute
        case "equals" if expected is False:
            return lambda state, event, position: not compute(state, event, position)
        case "equals":
            return lambda state, event, position: compute(state, event, position) == expected
        case "not_equals" if expected is True:
            return lambda state, event, position: not compute(state, event, position)
        case "not_equals" if expected is False:
            return compute
        case "not_equals":
            return lambda state, event, position: compute(state, event, position) != expected
        case "greater_than":
            return lambda state, event, position: compute(state, event, position) > expected
        case "less_than":
            return lambda state, event, position: compute(state, event, position) < expected
        case "in":
            return lambda state, event, position: compute(state, event, position) in expected
        case _:
            return lambda state, event, position: expected in compute(state, event, position)


def _operand(fact: Fact, comparator: str, value: Any, path: Path, fail: Fail) -> Any:
    """What the fact is compared with, in the form the fact is computed in."""
    match fact.type:
        case FactType.BOOL if isinstance(value, bool):
            return value
        case FactType.INT if isinstance(value, int) and not isinstance(value, bool):
            return value
        case FactType.QUALITY if isinstance(value, str) and value in tuple(Quality):
            return Quality(value).rank
        case FactType.DURATION if isinstance(value, str):
            seconds = duration_seconds(value)
            if seconds is None:
                raise fail(path, f"{DURATION_MEANING}, not {value!r}")
            return seconds * SECOND_US
        case FactType.STR if isinstance(value, str):
            if fact.values is not None and comparator != "contains" and value not in fact.values:
                known = ", ".join(repr(name) for name in fact.values)
                raise fail(path, f"{fact.name} is never {value!r}; it is one of {known}")
            return value
        case _:
            raise fail(
                path,
                f"{fact.name} is compared with {value!r}, a {type(value).__name__};"
                f" it needs {_WANTED.get(fact.type, fact.type.value)}",
            )
