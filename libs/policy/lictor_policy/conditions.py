"""Conditions compiled once to closures, with every comparison type-checked at load."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from lictor_policy.facts import FACTS, Fact, FactType, Predicate, unknown_name
from lictor_policy.moments import Fail
from lictor_policy.strict_yaml import Path
from lictor_policy.temporal import ask
from lictor_schema.evidence import Quality
from lictor_schema.packs import Condition
from lictor_schema.temporal import DURATION_MEANING, duration_seconds

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
        fact = asked.fact
    else:
        name = condition.fact or ""
        fact = facts.get(name)
        if fact is None:
            raise fail((*path, "fact"), unknown_name("fact", name, facts))
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
            return seconds * 1_000_000
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
