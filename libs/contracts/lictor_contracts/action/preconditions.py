"""Declarative checks of facts: typed, without coercion, and met only by a fact that is there.

A fact that is missing, or of another type than the comparison needs, does not meet it, whatever the operator: nothing
is known of it. A boolean is no number, and `1` is not `"1"`. Two comparisons need a word: `not_equals` null asks
whether the fact has a value, so any type meets it; and `contains` with an empty text would hold for every text, so
nothing meets it.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from lictor_contracts.envelope.bounds import told
from lictor_schema.contracts.action import Precondition
from lictor_schema.core.base_model import MAX_SAFE_INTEGER

_TYPES: dict[type, str] = {
    str: "text",
    bool: "a boolean",
    int: "a whole number",
    type(None): "null",
}
_SPOKEN = {
    "equals": "equal",
    "not_equals": "not equal",
    "greater_than": "be greater than",
    "less_than": "be less than",
    "in": "be one of",
    "contains": "contain",
}


@dataclass(frozen=True, slots=True)
class Unmet:
    """A precondition that does not hold."""

    precondition: Precondition
    why: str
    """What is the case, and what should be."""


def unmet(preconditions: Iterable[Precondition], facts: Mapping[str, object]) -> tuple[Unmet, ...]:
    """Every precondition that the facts do not meet, in their order."""
    found: list[Unmet] = []
    for each in preconditions:
        why = _why_not(each, facts)
        if why is not None:
            found.append(Unmet(each, why))
    return tuple(found)


def is_scalar(value: object) -> bool:
    """Whether it is text, a boolean, a whole number within 2**53 - 1, or null."""
    if type(value) is int:
        return -MAX_SAFE_INTEGER <= value <= MAX_SAFE_INTEGER
    return type(value) in _TYPES


def same(one: object, other: object) -> bool:
    """Whether both are scalars of the same type and equal: True is not 1."""
    return is_scalar(one) and type(one) is type(other) and one == other


def _why_not(check: Precondition, facts: Mapping[str, object]) -> str | None:
    name = check.fact
    if name not in facts:
        return f"{name} is not known, and must {_wanted(check)}"
    fact = facts[name]
    if not is_scalar(fact):
        return f"{name} is {told(fact)}, which is no plain value, and must {_wanted(check)}"
    if not _comparable(check, fact):
        return f"{name} is {_TYPES[type(fact)]}, which can't be compared; it must {_wanted(check)}"
    if not _holds(check, fact):
        return f"{name} is {told(fact)}, and must {_wanted(check)}"
    return None


def _comparable(check: Precondition, fact: object) -> bool:
    match check.operator:
        case "equals":
            return type(fact) is type(check.value)
        case "not_equals":
            return check.value is None or type(fact) is type(check.value)
        case "greater_than" | "less_than":
            return type(fact) is int and type(check.value) is int
        case "in":
            return any(type(fact) is type(choice) for choice in check.values or ())
        case "contains":
            return type(fact) is str and type(check.value) is str and check.value != ""


def _holds(check: Precondition, fact: object) -> bool:
    value = check.value
    match check.operator:
        case "equals":
            return fact == value
        case "not_equals":
            return fact != value
        case "greater_than":
            return type(fact) is int and type(value) is int and fact > value
        case "less_than":
            return type(fact) is int and type(value) is int and fact < value
        case "in":
            return any(same(fact, choice) for choice in check.values or ())
        case "contains":
            return type(fact) is str and type(value) is str and value in fact


def _wanted(check: Precondition) -> str:
    wanted = told(check.value) if check.values is None else ", ".join(map(told, check.values))
    return f"{_SPOKEN[check.operator]} {wanted}"
