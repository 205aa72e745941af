"""Items of an unknown number, of which it is known what may stand at each index."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from lictor_ir.document import Binder, Fact, FactKind
from lictor_ir.provenance import made_of
from lictor_ir.terms import (
    TRUE,
    Result,
    Term,
    Var,
    apply,
    const,
    eq,
    ite,
    results,
    substitute,
)
from lictor_ir.types import BOOL, INT, STR
from lictor_prove.python.machine.machine_state import Machine
from lictor_prove.python.machine.path_merging import (
    as_sequence,
    choose,
    merge,
)
from lictor_prove.python.machine.symbolic_values import (
    KEYED,
    Composite,
    Content,
    InstanceRef,
    ObjectV,
    Ref,
    SequenceV,
    Sym,
    SymbolicValue,
    TupleV,
    UnionV,
    count,
    renamed,
)
from lictor_prove.python.machine.unknown_values import flows, is_made, unknown, within
from lictor_prove.python.refusals import refuse


def with_picked(machine: Machine, held: SequenceV) -> SequenceV:
    """The same, with those that are kept, for whoever asks how many they are, or for one of them."""
    if held.keep is TRUE:
        return held
    why = "which items a filtered list keeps"
    flowing = (held.over, held.keep, *_told(machine, held.item))
    labels = made_of(flowing, machine.inputs, machine.unknowns)
    size = count(SequenceV(held.over, held.index, held.item, TRUE))
    places: list[Term] = []

    def item(each: tuple[Binder, ...]) -> SymbolicValue:
        place = unknown(machine, INT, why, flowing, each=each).term
        places.append(place)
        return renamed(held.item, {held.index: within(place, size)})

    # Of nothing nothing is kept: a run in which there is nothing goes one way.
    some = apply("lt", const(0), size)
    picked = sequence(machine, item, labels, why, size, some)
    (place,) = places
    if not machine.dead:
        assert isinstance(place, Result)
        is_kept = substitute(held.keep, {held.index: within(place, size)})
        machine.facts.append(Fact(place.call, FactKind.HOLDS, is_kept))
        note_distinct(machine, picked.index, within(place, size))
    return replace(held, picked=picked)


def one_of_many(machine: Machine, held: Content) -> Content:
    """What one of the objects holds that together hold this: some of it."""
    if held.held == ():
        return held
    index = machine.fresh_index()
    every = as_sequence(held, index)
    why = "what one of the containers holds that a loop made"
    labels = _decided_by(machine, held)

    def item(each: tuple[Binder, ...]) -> SymbolicValue:
        place = unknown(machine, INT, why, (), labels=labels, each=each).term
        return renamed(every.item, {every.index: within(place, count(every))})

    return Content(held.kind, sequence(machine, item, labels, why, count(every)))


def _decided_by(machine: Machine, held: Content) -> set[str]:
    """What one of many objects is made of, and what may have decided which of them is read, or was changed.

    Nobody knows which it is, nor by what it was chosen: it may have been anything that was there.
    """
    made = made_of(flowing_terms(machine, held), machine.inputs, machine.unknowns)
    is_in_loop = any(each.kind == "going" for each in machine.targets)
    calls = (each for each in machine.returned_rows if is_in_loop or is_made(machine, each))
    return {*made, *calls}


def one_held(machine: Machine, bag: Ref) -> SymbolicValue:
    """What a field holds of one of the instances that together hold this."""
    held = machine.stored(bag)
    if held.held == ():
        refuse(
            "dataclass.loop",
            "what a loop of unknown length leaves in the fields of an instance can't be told",
            "Make the instance before the loop, or don't assign to its fields.",
        )
    every = as_sequence(held, machine.fresh_index())
    why = "what a field holds of one of the instances that a loop made"
    labels = _decided_by(machine, held)
    place = unknown(machine, INT, why, (), labels=labels).term
    return renamed(every.item, {every.index: within(place, count(every))})


def one_of(
    machine: Machine,
    values: Sequence[SymbolicValue],
    labels: Iterable[str],
    why: str,
    each: tuple[Binder, ...] = (),
) -> SymbolicValue:
    """One of these, nobody knows which."""
    if len(values) == 1:
        return values[0]
    if len(values) == 2:
        which = unknown(machine, BOOL, why, (), labels=labels, each=each)
        return merge(which.term, values[0], values[1])
    number = unknown(machine, INT, why, (), labels=labels, each=each).term
    return choose([(eq(number, const(at)), value) for at, value in enumerate(values)])


def sequence(
    machine: Machine,
    item: Callable[[tuple[Binder, ...]], SymbolicValue],
    labels: Iterable[str],
    why: str,
    most: Term | None = None,
    some: Term = TRUE,
) -> SequenceV:
    """Items of an unknown number, at most so many; `item` makes what stands at each index of a loop over them.

    `some`: where that is false, there are none.
    """
    size = bounded(unknown(machine, INT, why, (), labels=labels).term, most)
    size = ite(some, size, const(0))
    index = machine.fresh_index()
    return SequenceV(size, index, item((Binder(index, size),)), TRUE)


def note_keys(machine: Machine, kind: str, held: SequenceV) -> None:
    """Note that keys of a dict, and items of a set, are other ones at each index, where a fact can say so."""
    key = held.item
    if kind in KEYED and isinstance(key, TupleV):
        key = key.items[0]
    # Others may be equal and not the same.
    if kind in (*KEYED, "set") and isinstance(key, Sym) and key.type in (INT, STR):
        note_distinct(machine, held.index, key.term)


def note_distinct(machine: Machine, index: Var, term: Term) -> None:
    """Note that it is another one at each index, if it is made of an unknown that is computed for each."""
    if machine.dead:
        return
    read = {each.call for each in results(term)}
    # About the last of them: a fact reads what was there before what it is about.
    for about in reversed(machine.unknowns):
        if about.id in read and about.binders and about.binders[-1].index is index:
            machine.facts.append(Fact(about.id, FactKind.DISTINCT, term))
            return


def bounded(number: Term, most: Term | None) -> Term:
    """The number, but not below 0, and not above `most`."""
    least = ite(apply("lt", number, const(0)), const(0), number)
    return least if most is None else ite(apply("lt", most, least), most, least)


def flowing_terms(
    machine: Machine, value: SymbolicValue | Content, seen: frozenset[int] = frozenset()
) -> list[Term]:
    if isinstance(value, Content):
        held = value.held
        if isinstance(held, SequenceV):
            return _told(machine, held, seen)
        return [
            term
            for entry in held
            for term in (
                entry.present,
                *_told(machine, entry.value, seen),
                *(() if entry.key is None else _told(machine, entry.key, seen)),
            )
        ]
    return _told(machine, value, seen)


def _told(machine: Machine, value: SymbolicValue, seen: frozenset[int] = frozenset()) -> list[Term]:
    """What flows into it; nothing flows into functions and the like. `seen`: the objects around, which it may hold."""
    match value:
        case UnionV(options):
            return [term for guard, one in options for term in (guard, *_told(machine, one, seen))]
        case Composite(items):
            return [term for item in items for term in _told(machine, item, seen)]
        case InstanceRef(id_) | Ref(id_) if id_ in seen:
            return []
        case InstanceRef(id_):
            is_there = id_ in machine.bags or all(map(machine.store.get, value.keys))
            fields = machine.fields(value) if is_there else ()
            return [term for each in fields for term in _told(machine, each, seen | {id_})]
        case SequenceV():
            return [value.over, value.keep, *_told(machine, value.item, seen)]
        case Ref(id_):
            is_there = machine.store.get(id_) is not None
            return flowing_terms(machine, machine.stored(value), seen | {id_}) if is_there else []
        case Sym() | ObjectV():
            return list(flows(machine, value))
        case _:
            return []
