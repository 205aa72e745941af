"""The effects that a relation covers, when they happen, and in which order.

A loop's atoms happen once for each index. Goals speak about chosen iterations: each choice is a copy of the loops'
index variables, which in a negated goal are constants to be found.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from lictor_ir.contracts import FIELD_PREFIX, Relation
from lictor_ir.covered_effects import covered_fields
from lictor_ir.document import Atom, Binder, Document, Unknown, shared_loops
from lictor_ir.errors import TermError, UnsupportedError
from lictor_ir.provenance import ORIGIN_OPERATORS, resolve_origins
from lictor_ir.terms import (
    FALSE,
    TRUE,
    App,
    Term,
    Var,
    and_,
    apply,
    const,
    eq,
    or_,
    postorder,
    result,
    substitute,
    var,
    variables,
)
from lictor_ir.types import BOOL, INT


@dataclass(frozen=True, slots=True)
class Point:
    """A moment of a run: an atom, in the iteration that the indices name."""

    position: int
    binders: tuple[Binder, ...]
    indices: tuple[Term, ...]


def before(one: Point, other: Point) -> Term:
    """Whether one happens before the other: iteration by iteration, then in the order of the body."""
    shared = shared_loops(one.binders, other.binders)
    same: list[Term] = []
    ways: list[Term] = []
    for at in range(shared):
        ours, theirs = one.indices[at], other.indices[at]
        ways.append(and_(*same, apply("lt", ours, theirs)))
        same.append(eq(ours, theirs))
    ways.append(and_(*same, const(one.position < other.position)))
    return or_(*ways)


def at_or_before(one: Point, other: Point) -> Term:
    """Whether one happens before the other, or they are one call in one iteration."""
    if one.position != other.position:
        return before(one, other)
    return or_(before(one, other), and_(*map(eq, one.indices, other.indices)))


def copy_of(index: Var, copy: int) -> Var:
    """The index of a loop in another iteration than the first that is spoken of."""
    return var(f"{index.name}'{copy}", INT) if copy else index


def copied(binders: Sequence[Binder], copy: int) -> dict[Term, Term]:
    """The substitution that makes a copy."""
    return {binder.index: copy_of(binder.index, copy) for binder in binders} if copy else {}


def length(over: Term) -> Term:
    """How often a loop runs; not below zero for lists, but for counts it may be."""
    return over if over.type == INT else apply("len", over)


def in_bounds(binders: Sequence[Binder], values: Mapping[Term, Term]) -> Term:
    """Whether the indices are those of iterations."""
    bounds: list[Term] = []
    for binder in binders:
        index = values.get(binder.index, binder.index)
        over = substitute(binder.over, values)
        bounds += [apply("le", const(0), index), apply("lt", index, length(over))]
    return and_(*bounds)


@dataclass(frozen=True, slots=True)
class Occurrence:
    """An effect of a relation: an atom, or one of the events that it performs."""

    atom: Atom
    position: int
    fields: Mapping[str, Term]
    condition: Term
    """Its guard and the relation's condition."""
    unknowns: Sequence[Unknown]

    def read(self, term: Term) -> Term:
        """A predicate or key of the contract, about this effect."""
        return bound(term, self.fields, self.unknowns)

    def point(self, values: Mapping[Term, Term]) -> Point:
        """When it happens, in the iteration that the values choose."""
        binders = self.atom.binders
        return Point(
            self.position, binders, tuple(values.get(each.index, each.index) for each in binders)
        )

    def happens(self, values: Mapping[Term, Term]) -> Term:
        """Whether it happens in that iteration."""
        return and_(
            in_bounds(self.atom.binders, values),
            substitute(self.condition, values),
        )


def had_effect(atom: Atom) -> Term:
    """Whether the call had its effect: nobody knows it of one that fails, in no iteration.

    What it returned stands for that in goals: nothing else reads the result of a call that fails.
    """
    if not atom.fails:
        return TRUE
    return result(atom.id, BOOL, [binder.index for binder in atom.binders])


class OmittedError(UnsupportedError):
    """A predicate reads an argument that the call leaves to its default."""


def bound(term: Term, fields: Mapping[str, Term], unknowns: Sequence[Unknown]) -> Term:
    """The term with fields replaced by what the atom passes, and origins decided."""
    values: dict[Term, Term] = {}
    for variable in variables(term):
        if not variable.name.startswith(FIELD_PREFIX):
            continue
        name = variable.name.removeprefix(FIELD_PREFIX)
        if name not in fields:
            raise OmittedError(f"the call leaves {name!r} to its default, which is not known")
        values[variable] = fields[name]
    try:
        filled = substitute(term, values)
        if any(isinstance(part, App) and part.op in ORIGIN_OPERATORS for part in postorder(term)):
            filled = resolve_origins(filled, unknowns)
    except TermError as error:
        raise UnsupportedError(
            f"an argument has another type than the contract reads: {error}"
        ) from None
    return filled


def facts(document: Document, relation: Relation) -> tuple[list[Occurrence], list[str]]:
    """The effects of the relation in order, and for those that can't be told, why."""
    if not relation.effects and not relation.events:
        return [], ["the relation covers no effects by name"]
    events = {event.name: event for event in document.events}
    found: list[Occurrence] = []
    problems: list[str] = []
    for position, atom in enumerate(document.atoms):
        if atom.guard is FALSE:
            continue
        for fields in covered_fields(atom, relation, events):
            try:
                where = TRUE
                if relation.where is not None:
                    where = bound(relation.where, fields, document.unknowns)
            except UnsupportedError as why:
                problems.append(f"{atom.id} ({atom.effect}): {why}")
                continue
            condition = and_(atom.guard, had_effect(atom), where)
            found.append(Occurrence(atom, position, fields, condition, document.unknowns))
    return found, problems
