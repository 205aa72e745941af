"""Contracts as formulas over a symbolic trace: what `lictor_ir.evaluation.contract_truth` says of a concrete one.

Formulas are exact: each is true of a trace exactly when the contract holds of it, so they may be assumed as well as
refuted. What can't be put so raises UnsupportedError.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations

from lictor_ir.analysis.contract_parts import Leaf, Quiet
from lictor_ir.analysis.trace_variables import SymbolicTrace, TraceRow
from lictor_ir.contracts import (
    KEY_NAME,
    VALUE_NAME,
    All,
    Anything,
    AtEnd,
    Before,
    Both,
    Count,
    Distinct,
    Empty,
    NeverAfter,
    Relation,
    SharesValue,
    Sum,
)
from lictor_ir.errors import TermError, UnsupportedError
from lictor_ir.goals.aggregates import compared
from lictor_ir.scalars import rewriting
from lictor_ir.terms import (
    FALSE,
    TRUE,
    Const,
    Term,
    and_,
    apply,
    const,
    implies,
    ite,
    not_,
    or_,
    substitute,
    variables,
)
from lictor_ir.types import BOOL, FLOAT, INT, REAL, Type

Covered = Sequence[tuple[TraceRow, Term]]


def formula(leaf: Leaf, trace: SymbolicTrace) -> Term:
    """That the leaf holds of the trace; `AtEnd` of all keys is asked key by key (`at_end`)."""
    match leaf:
        case Anything():
            return TRUE
        case Both(parts):
            return and_(*(formula(part, trace) for part in parts))
        case All(relation, holds):
            return and_(
                *(implies(here, trace.read(row, holds)) for row, here in _rows(relation, trace))
            )
        case Empty(relation):
            return and_(*(not_(here) for _, here in _rows(relation, trace)))
        case Quiet(over, fluents):
            moved = [each.present for each in trace.changes if each.fluent in fluents]
            rows = [here for relation in over for _, here in _rows(relation, trace)]
            return not_(or_(*rows, *moved))
        case Distinct(relation, key):
            return _distinct(_rows(relation, trace), key, trace)
        case Count(relation, comparison, bound):
            return compared(comparison, rows_in(relation, trace), bound)
        case Sum():
            return _sum(leaf, trace)
        case SharesValue(left, right, key):
            return or_(
                *(
                    and_(here, there, _equal(one, key, other, key, trace))
                    for one, here in _rows(left, trace)
                    for other, there in _rows(right, trace)
                )
            )
        case Before():
            return _before(leaf, trace)
        case NeverAfter(first, then):
            return and_(
                *(
                    not_(and_(here, there))
                    for one, here in _rows(first, trace)
                    for other, there in _rows(then, trace)
                    if one.step < other.step
                )
            )
        case AtEnd(_, _, key):
            if key is None:
                raise UnsupportedError("what holds of every key is asked key by key")
            return at_end(leaf, key, trace)


def violated(leaf: Leaf, trace: SymbolicTrace) -> Term:
    """That the leaf does not hold of the trace, in a form that shows which row breaks it."""
    match leaf:
        case All(relation, holds):
            return or_(
                *(and_(here, not_(trace.read(row, holds))) for row, here in _rows(relation, trace))
            )
        case Empty(relation):
            return or_(*(here for _, here in _rows(relation, trace)))
        case _:
            return not_(formula(leaf, trace))


def rows_in(
    relation: Relation, trace: SymbolicTrace, only: Sequence[TraceRow] | None = None
) -> Term:
    """How many rows the relation has, of all or of these."""
    ones: list[Term] = [
        ite(here, const(1), const(0))
        for row, here in _rows(relation, trace)
        if only is None or row in only
    ]
    return apply("add", *ones) if ones else const(0)


def total(contract: Sum, trace: SymbolicTrace, only: Sequence[TraceRow] | None = None) -> Term:
    """The sum over the rows of the relation, of all or of these; floats as a run adds them, in order."""
    type_ = _added_in(contract.of.type)
    added: Term = zero(type_)
    for row, here in _rows(contract.relation, trace):
        if only is None or row in only:
            amount = _as_number(trace.read(row, contract.of))
            if type_ == FLOAT:
                added = ite(here, apply("add", added, amount), added)
            else:
                added = apply("add", added, ite(here, amount, zero(type_)))
    return added


def at_end(contract: AtEnd, key: Term, trace: SymbolicTrace) -> Term:
    """That the predicate holds of what the fluent has for that key in the end."""
    declared = {each.name: each for each in trace.scope.fluents}
    fluent = declared.get(contract.fluent)
    if fluent is None:
        raise UnsupportedError(f"the fluent {contract.fluent!r} is not declared")
    expand, equal = trace.expander.expand, trace.expander.equal
    key = expand(key)
    found = expand(fluent.initial)
    for change in trace.changes:
        if change.fluent == fluent.name:
            here = and_(change.present, equal(change.key, key))
            found = ite(here, expand(change.value), found)
    names = {KEY_NAME: key, VALUE_NAME: found}
    given: dict[Term, Term] = {
        variable: names[variable.name]
        for variable in variables(contract.holds)
        if variable.name in names
    }
    try:
        return expand(substitute(contract.holds, given))
    except TermError as error:
        raise UnsupportedError(str(error)) from None


def _rows(relation: Relation, trace: SymbolicTrace) -> Covered:
    return [(row, here) for row, here in trace.covered(relation) if here is not FALSE]


def _distinct(rows: Covered, key: Term, trace: SymbolicTrace) -> Term:
    return and_(
        *(
            not_(and_(here, there, _equal(one, key, other, key, trace)))
            for (one, here), (other, there) in combinations(rows, 2)
            # A step calls one effect only.
            if one.step != other.step or one.is_event or other.is_event
        )
    )


def _before(contract: Before, trace: SymbolicTrace) -> Term:
    first, then = _rows(contract.first, trace), _rows(contract.then, trace)
    told: list[Term] = []
    for later, there in then:
        found: list[Term] = []
        for earlier, here in first:
            if earlier.step < later.step:
                alike = TRUE
                if contract.first_key is not None and contract.then_key is not None:
                    alike = _equal(earlier, contract.first_key, later, contract.then_key, trace)
                found.append(and_(here, alike))
        told.append(implies(there, or_(*found)))
    return and_(*told)


def _equal(
    one: TraceRow, key: Term, other: TraceRow, other_key: Term, trace: SymbolicTrace
) -> Term:
    return trace.expander.equal(trace.raw(one, key), trace.raw(other, other_key))


def _sum(contract: Sum, trace: SymbolicTrace) -> Term:
    added = total(contract, trace)
    return compared(contract.comparison, added, _limit(contract.bound, added.type))


def _limit(bound: Term, type_: Type) -> Term:
    """A bound that a sum of that type is compared with exactly."""
    bound = _as_number(bound)
    if type_ == REAL and isinstance(bound, Const) and isinstance(bound.value, float):
        try:
            return const(Fraction(bound.value))
        except (ValueError, OverflowError):
            raise UnsupportedError("a sum is compared with what is no number") from None
    return bound


def _added_in(type_: Type) -> Type:
    if type_ in (INT, BOOL):
        return INT
    if type_ in (REAL, FLOAT):
        return type_
    raise UnsupportedError(f"values of type {type_} are added")


def _as_number(term: Term) -> Term:
    return apply("int_of_bool", term) if term.type == BOOL else term


def zero(type_: Type) -> Const:
    """The sum of nothing, in that type."""
    if type_ == INT:
        return const(0)
    return const(Fraction(0)) if type_ == REAL else const(0.0)


def at_most(amount: Term, most: Term) -> Term:
    """That one amount is at most another of the same type."""
    return rewriting.ordered("le", amount, most)
