"""What no guarantee limits: the first thing that whoever approves a program should read.

A guarantee limits calls when one call more can break it. "At least one call", "some two calls share a value" and the
call that must come first ask for something and limit nothing; `where` limits only the calls that it chooses.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from lictor_ir.contracts import (
    FIELD_PREFIX,
    All,
    AtEnd,
    Before,
    Comparison,
    Contract,
    Count,
    Distinct,
    Empty,
    NeverAfter,
    Relation,
    SharesValue,
    Sum,
    leaves,
)
from lictor_ir.document import Atom, Document
from lictor_ir.terms import TRUE, App, Const, Term, children, variables


@dataclass(frozen=True, slots=True)
class Unconstrained:
    """Kinds of calls, events and state by how far guarantees limit them; names in the order of the document."""

    free: tuple[tuple[str, str], ...]
    """What no guarantee limits: `call`, `event` or `state`, and the name."""
    partly: tuple[tuple[str, str], ...]
    """What guarantees limit only in part."""
    unread: tuple[tuple[str, tuple[str, ...]], ...]
    """Of calls that are limited: arguments that are not written out, and that no guarantee reads."""


@dataclass(frozen=True, slots=True)
class _Limit:
    """What one contract limits."""

    relation: Relation
    whole: bool
    forbids: bool = False


def silence(document: Document) -> Unconstrained:
    """What no guarantee of the document limits, of all that it may do."""
    parts = [part for each in document.guarantees for part in leaves(each.contract)]
    limits = [limit for part in parts for limit in _limits(part)]
    reads = [read for part in parts for read in _reads(part)]
    kinds = {event.name: frozenset(event.kinds) for event in document.events}
    declared = {effect.name: effect.parameters for effect in document.effects}
    free: list[tuple[str, str]] = []
    partly: list[tuple[str, str]] = []
    unread: list[tuple[str, tuple[str, ...]]] = []

    def note(what: str, name: str, whole: bool | None) -> None:
        if not whole:
            (free if whole is None else partly).append((what, name))

    effects = dict.fromkeys(atom.effect for atom in document.atoms)
    for effect in effects:
        atoms = [atom for atom in document.atoms if atom.effect == effect]
        whole = _limited(atoms, limits, kinds)
        note("call", effect, whole)
        if whole is not None:
            found = tuple(
                each.name
                for each in declared[effect]
                if _is_unread(each.name, atoms, limits, reads, kinds)
            )
            unread += [(effect, found)] if found else []
    performed = dict.fromkeys(each.event for atom in document.atoms for each in atom.events)
    for event in performed:
        about = [each.whole for each in limits if not kinds[event].isdisjoint(each.relation.events)]
        note("event", event, any(about) if about else None)
    ends = [part for part in parts if isinstance(part, AtEnd) and part.holds is not TRUE]
    for fluent in dict.fromkeys(each.fluent for atom in document.atoms for each in atom.updates):
        about = [part.key is None for part in ends if part.fluent == fluent]
        note("state", fluent, any(about) if about else None)
    return Unconstrained(tuple(free), tuple(partly), tuple(unread))


def _limits(contract: Contract) -> Iterator[_Limit]:
    upper = (Comparison.AT_MOST, Comparison.LESS, Comparison.EXACTLY)
    match contract:
        case All(relation, holds) if holds is not TRUE:
            yield _Limit(relation, relation.where is None)
        case Empty(relation):
            yield _Limit(relation, relation.where is None, forbids=relation.where is None)
        case Distinct(relation):
            yield _Limit(relation, relation.where is None)
        case Count(relation, comparison) if comparison in upper:
            yield _Limit(relation, relation.where is None)
        case Sum(relation, _, comparison):
            # At least so much forbids only what is negative.
            yield _Limit(relation, relation.where is None and comparison in upper)
        case Before(then=relation):
            yield _Limit(relation, relation.where is None)
        case NeverAfter(first, then):
            yield _Limit(first, first.where is None)
            yield _Limit(then, then.where is None)
        case _:
            pass


def _limited(
    atoms: list[Atom], limits: list[_Limit], kinds: dict[str, frozenset[str]]
) -> bool | None:
    """Whether the calls are limited: all of them, only some (False), or none (None)."""
    found: bool | None = None
    for limit in limits:
        if atoms[0].effect in limit.relation.effects:
            reached = len(atoms)
        else:
            reached = sum(_performs(atom, limit.relation, kinds) for atom in atoms)
        if reached:
            found = found or (limit.whole and reached == len(atoms))
    return found


def _performs(atom: Atom, relation: Relation, kinds: dict[str, frozenset[str]]) -> bool:
    return any(not kinds[each.event].isdisjoint(relation.events) for each in atom.events)


# -- arguments -------------------------------------------------------------------------------------


def _reads(contract: Contract) -> Iterator[tuple[Relation, frozenset[str]]]:
    """The relations of a contract, with the fields that it reads of each."""
    match contract:
        case All(relation, term) | Distinct(relation, term) | Sum(relation, term):
            read = [(relation, term)]
        case Empty(relation) | Count(relation):
            read = [(relation, None)]
        case SharesValue(left, right, key):
            read = [(left, key), (right, key)]
        case Before(first, then, first_key, then_key):
            read = [(first, first_key), (then, then_key)]
        case NeverAfter(first, then):
            read = [(first, None), (then, None)]
        case _:
            read = []
    for relation, term in read:
        terms = [each for each in (relation.where, term) if each is not None]
        names = (variable.name.removeprefix(FIELD_PREFIX) for variable in variables(*terms))
        yield relation, frozenset(names)


def _is_unread(
    name: str,
    atoms: list[Atom],
    limits: list[_Limit],
    reads: list[tuple[Relation, frozenset[str]]],
    kinds: dict[str, frozenset[str]],
) -> bool:
    """Whether calls of one effect pass an argument that is not written out, and that no guarantee reads."""
    effect = atoms[0].effect
    if any(limit.forbids and effect in limit.relation.effects for limit in limits):
        return False
    passing = [atom for atom in atoms if name in atom.arguments]
    if all(_written_out(atom.arguments[name]) for atom in passing):
        return False
    if any(effect in relation.effects and name in names for relation, names in reads):
        return False
    return not all(_read_as_event(atom, name, reads, kinds) for atom in passing)


def _read_as_event(
    atom: Atom,
    name: str,
    reads: list[tuple[Relation, frozenset[str]]],
    kinds: dict[str, frozenset[str]],
) -> bool:
    """Whether the argument is a field of an event that the call performs, and guarantees read it there."""
    return any(
        term is atom.arguments[name] and field in names
        for performed in atom.events
        for relation, names in reads
        if not kinds[performed.event].isdisjoint(relation.events)
        for field, term in performed.fields.items()
    )


def _written_out(term: Term) -> bool:
    """Whether the value stands in the document: a constant, or a list of such."""
    if isinstance(term, App) and term.op in ("list", "tuple", "set"):
        return all(isinstance(part, Const) for part in children(term))
    return isinstance(term, Const)
