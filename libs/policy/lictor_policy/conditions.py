"""Conditions compiled once to closures, with every comparison type-checked at load."""

import operator
from collections.abc import Callable, Mapping
from typing import Any

from lictor_policy.errors import PackError
from lictor_policy.facts import FACTS, Fact, FactType, Predicate, unknown_name
from lictor_policy.strict_yaml import Path
from lictor_schema.evidence import Quality
from lictor_schema.packs import Condition

Fail = Callable[[Path, str], PackError]
"""Makes the error for a field; the caller knows file and rule."""

FITTING: dict[FactType, tuple[str, ...]] = {
    FactType.BOOL: ("equals", "not_equals"),
    FactType.INT: ("equals", "not_equals", "greater_than", "less_than", "in"),
    FactType.QUALITY: ("equals", "not_equals", "greater_than", "less_than", "in"),
    FactType.STR: ("equals", "not_equals", "in", "contains"),
}
"""The comparators that fit each type of fact."""
_COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "equals": operator.eq,
    "not_equals": operator.ne,
    "greater_than": operator.gt,
    "less_than": operator.lt,
    "in": lambda value, members: value in members,
    "contains": operator.contains,
}
_QUALITIES = ", ".join(Quality)


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
    return _leaf(condition, path, fail, facts)


def _all(parts: tuple[Predicate, ...]) -> Predicate:
    def holds(state: Any, event: Any, position: Any) -> bool:
        for part in parts:  # noqa: SIM110 -- a generator costs more than the parts
            if not part(state, event, position):
                return False
        return True

    return parts[0] if len(parts) == 1 else holds


def _any(parts: tuple[Predicate, ...]) -> Predicate:
    def holds(state: Any, event: Any, position: Any) -> bool:
        for part in parts:  # noqa: SIM110 -- a generator costs more than the parts
            if part(state, event, position):
                return True
        return False

    return parts[0] if len(parts) == 1 else holds


def _leaf(condition: Condition, path: Path, fail: Fail, facts: Mapping[str, Fact]) -> Predicate:
    name = condition.fact or ""
    fact = facts.get(name)
    if fact is None:
        raise fail((*path, "fact"), unknown_name("fact", name, facts))
    comparator, given = condition.comparisons()[0]
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
    return _comparison(fact.compute, comparator, expected)


def _comparison(compute: Callable[..., Any], comparator: str, expected: Any) -> Predicate:
    if comparator == "equals" and expected is True:
        return compute
    compare = _COMPARE[comparator]
    return lambda state, event, position: compare(compute(state, event, position), expected)


def _operand(fact: Fact, comparator: str, value: Any, path: Path, fail: Fail) -> Any:
    """What the fact is compared with, in the form the fact is computed in."""
    match fact.type:
        case FactType.BOOL if isinstance(value, bool):
            return value
        case FactType.INT if isinstance(value, int) and not isinstance(value, bool):
            return value
        case FactType.QUALITY if isinstance(value, str) and value in tuple(Quality):
            return Quality(value).rank
        case FactType.STR if isinstance(value, str):
            if fact.values is not None and comparator != "contains" and value not in fact.values:
                known = ", ".join(repr(name) for name in fact.values)
                raise fail(path, f"{fact.name} is never {value!r}; it is one of {known}")
            return value
        case _:
            wanted = f"one of {_QUALITIES}" if fact.type is FactType.QUALITY else fact.type.value
            raise fail(
                path,
                f"{fact.name} is compared with {value!r}, a {type(value).__name__};"
                f" it needs {wanted}",
            )
