"""The contract algebra: what a guarantee may say about the effects of a run.

A contract is a closed tree. It reads effects by name or event class, never the program: nothing that a program defines
can change what a guarantee means. Predicates and keys are terms over the fields of one effect, `field("addr", STR)`;
contracts about a fluent read `KEY` and `VALUE`.

The relation of a contract is the effects of the names it covers that satisfy its condition. Contracts speak about every
run: `All` holds when the predicate holds of every effect in the relation, on every path, for every input.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, is_dataclass
from enum import StrEnum
from typing import Final, cast

from lictor_ir.terms import Term, Var, var
from lictor_ir.types import Type

FIELD_PREFIX: Final = "e."
KEY_NAME, VALUE_NAME = "key", "value"


def field(name: str, type_: Type) -> Var:
    """The field of the effect that a predicate speaks about."""
    return var(FIELD_PREFIX + name, type_)


@dataclass(frozen=True, slots=True)
class Relation:
    """Effects by what they are: calls of these functions, or calls that perform an event of these classes."""

    effects: tuple[str, ...] = ()
    """Names of trusted functions."""
    events: tuple[str, ...] = ()
    """Names of event classes; subclasses are listed too. An effect that performs two of them counts twice."""
    where: Term | None = None
    """Only those effects of which this holds."""


class Comparison(StrEnum):
    """How an aggregate is held against a bound."""

    AT_MOST = "<="
    LESS = "<"
    AT_LEAST = ">="
    MORE = ">"
    EXACTLY = "=="


UPPER: Final = (Comparison.AT_MOST, Comparison.LESS)
"""Bounds that whatever is added brings nearer: once broken, they stay broken."""


@dataclass(frozen=True, slots=True)
class Anything:
    """Nothing is promised, and that is said."""


@dataclass(frozen=True, slots=True)
class All:
    """The predicate holds of every effect of the relation."""

    relation: Relation
    holds: Term


@dataclass(frozen=True, slots=True)
class Empty:
    """There is no such effect."""

    relation: Relation


@dataclass(frozen=True, slots=True)
class Distinct:
    """No two effects of the relation have equal keys."""

    relation: Relation
    key: Term


@dataclass(frozen=True, slots=True)
class Count:
    """How many effects of the relation there are, against a bound."""

    relation: Relation
    comparison: Comparison
    bound: Term


@dataclass(frozen=True, slots=True)
class Sum:
    """The sum of a number over the relation, against a bound."""

    relation: Relation
    of: Term
    comparison: Comparison
    bound: Term


@dataclass(frozen=True, slots=True)
class SharesValue:
    """Some effect of one relation and some effect of the other have equal keys."""

    left: Relation
    right: Relation
    key: Term


@dataclass(frozen=True, slots=True)
class AtEnd:
    """At the end of the run, the predicate over KEY and VALUE holds for every key of the fluent."""

    fluent: str
    holds: Term
    key: Term | None = None
    """Only for this key."""


@dataclass(frozen=True, slots=True)
class Before:
    """Every effect of `then` has an effect of `first` before it, with an equal key where keys are given."""

    first: Relation
    then: Relation
    first_key: Term | None = None
    then_key: Term | None = None


@dataclass(frozen=True, slots=True)
class NeverAfter:
    """Once an effect of `first` happened, none of `then` happens."""

    first: Relation
    then: Relation


@dataclass(frozen=True, slots=True)
class Both:
    """All of the parts; true for none."""

    parts: tuple[Contract, ...]


Contract = (
    Anything
    | All
    | Empty
    | Distinct
    | Count
    | Sum
    | SharesValue
    | AtEnd
    | Before
    | NeverAfter
    | Both
)


def leaves(contract: Contract) -> Iterator[Contract]:
    """The parts of a contract that are no conjunctions, in order."""
    if isinstance(contract, Both):
        for part in contract.parts:
            yield from leaves(part)
    else:
        yield contract


def relations(contract: Contract) -> tuple[Relation, ...]:
    """The relations that a contract reads."""
    match contract:
        case All() | Empty() | Distinct() | Count() | Sum():
            return (contract.relation,)
        case SharesValue():
            return (contract.left, contract.right)
        case Before() | NeverAfter():
            return (contract.first, contract.then)
        case Both():
            return tuple(relation for part in contract.parts for relation in relations(part))
        case Anything() | AtEnd():
            return ()


def terms_of(contract: Contract) -> Iterator[Term]:
    """The terms that a contract is written with: conditions, predicates, keys and bounds."""
    stack: list[object] = [contract]
    while stack:
        part = stack.pop()
        if isinstance(part, Term):
            yield part
        elif isinstance(part, tuple):
            stack.extend(reversed(cast(tuple[object, ...], part)))
        elif is_dataclass(part):
            stack.extend(getattr(part, each.name) for each in reversed(fields(part)))
