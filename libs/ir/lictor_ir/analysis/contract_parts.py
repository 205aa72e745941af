"""Contracts taken apart into what is argued about one at a time."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction

from lictor_ir.contracts import (
    UPPER,
    Anything,
    AtEnd,
    Before,
    Comparison,
    Contract,
    Count,
    Empty,
    NeverAfter,
    Relation,
    SharesValue,
    Sum,
    leaves,
    relations,
)
from lictor_ir.errors import IrError
from lictor_ir.evaluation.term_values import Environment, value
from lictor_ir.goals.goal import Strength
from lictor_ir.terms import Term


@dataclass(frozen=True, slots=True)
class Quiet:
    """Nothing happens that these are about; its negation is what tells a trace from a trivial one."""

    relations: tuple[Relation, ...]
    fluents: tuple[str, ...] = ()


Leaf = Contract | Quiet


def parts_of(contracts: Iterable[Contract]) -> Iterator[Contract]:
    """All that the contracts say, each part once; an exact amount is an upper and a lower bound."""
    seen: set[Contract] = set()
    for contract in contracts:
        for leaf in leaves(contract):
            for part in _halves(leaf):
                if not isinstance(part, Anything) and part not in seen:
                    seen.add(part)
                    yield part


def _halves(leaf: Contract) -> tuple[Contract, ...]:
    if isinstance(leaf, Count | Sum) and leaf.comparison is Comparison.EXACTLY:
        return (
            replace(leaf, comparison=Comparison.AT_MOST),
            replace(leaf, comparison=Comparison.AT_LEAST),
        )
    return (leaf,)


def spoken_of(leaf: Leaf) -> tuple[Relation, ...]:
    """The relations that it reads."""
    return leaf.relations if isinstance(leaf, Quiet) else relations(leaf)


def fluents_of(leaf: Leaf) -> tuple[str, ...]:
    """The fluents that it reads."""
    if isinstance(leaf, Quiet):
        return leaf.fluents
    return (leaf.fluent,) if isinstance(leaf, AtEnd) else ()


def limit(bound: Term) -> Fraction | None:
    """The number that an amount is held against; None when it is none that can be counted with."""
    try:
        found = value(bound, Environment())
    except IrError:
        return None
    if isinstance(found, float) and not math.isfinite(found):
        return None
    return Fraction(found) if isinstance(found, int | float | Fraction) else None


def most_rows(contract: Contract) -> int | None:
    """How many rows it allows at most; None when it does not limit them."""
    if isinstance(contract, Empty):
        return 0
    if not isinstance(contract, Count) or contract.comparison not in UPPER:
        return None
    found = limit(contract.bound)
    if found is None:
        return None
    top = math.floor(found) if contract.comparison is Comparison.AT_MOST else math.ceil(found) - 1
    return max(top, -1)


def least_rows(contract: Count) -> int | None:
    """How many rows a lower bound demands."""
    found = limit(contract.bound)
    if found is None:
        return None
    if contract.comparison is Comparison.AT_LEAST:
        return max(0, math.ceil(found))
    return max(0, math.floor(found) + 1)


def subject(leaf: Contract) -> tuple[Relation, ...]:
    """The relations without whose rows it says nothing; none for what forbids, which is kept by doing nothing."""
    match leaf:
        case Empty():
            return ()
        case Count() if most_rows(leaf) == 0:
            return ()
        case Before():
            return (leaf.then,)
        case NeverAfter() | SharesValue():
            return relations(leaf)
        case _:
            return relations(leaf)


def is_about_the_end(contract: Contract) -> bool:
    """Whether a part of it can only hold of runs that come to their end: it wants something to have happened."""
    return any(
        isinstance(part, SharesValue | AtEnd)
        or (isinstance(part, Count | Sum) and part.comparison not in UPPER)
        for part in parts_of([contract])
    )


def relied_on(leaf: Contract, proved: Iterable[tuple[Contract, Strength]]) -> list[Contract]:
    """What of the proved may be relied on for this leaf.

    What holds of completed runs alone helps only what is about their end: all else must hold however early a run ends.
    """
    at_end = is_about_the_end(leaf)
    return [each for each, strength in proved if at_end or strength is Strength.EVERY_PREFIX]
