"""Items and slices: reading them, and setting items."""

from __future__ import annotations

from typing import Final, NoReturn

from lictor_ir.spelling.readable_values import short_text
from lictor_ir.terms import TRUE, Const, Term, and_, apply, const, eq, ite, not_, or_
from lictor_ir.types import BOOL, INT, NONE, STR, ListOf
from lictor_prove.python.kinds import (
    KEYED,
    WHOLE,
    Kind,
    by_kind,
    entry_of,
    kind_of,
    undefined,
)
from lictor_prove.python.library import unknown_members
from lictor_prove.python.machine.machine_state import Machine
from lictor_prove.python.machine.path_merging import choose, merge
from lictor_prove.python.machine.symbolic_values import (
    NONE_VALUE,
    ContainerItem,
    ObjectV,
    RangeV,
    Ref,
    SequenceV,
    Sym,
    SymbolicValue,
    TupleV,
    count,
    described,
    is_known,
    known,
    known_scalar,
    renamed,
)
from lictor_prove.python.operations import (
    container_contents,
    containers,
    default_dicts,
)
from lictor_prove.python.operations.arithmetic import clamp_index, known_int
from lictor_prove.python.operations.comparisons import whole
from lictor_prove.python.operations.unknown import containers as unknown_containers
from lictor_prove.python.operations.unknown import iterables as unknown_iterables
from lictor_prove.python.operations.unknown.containers import (
    is_unknown,
    item_at,
    made,
    opened,
    sequence_of,
)
from lictor_prove.python.operations.unknown.iterables import index_of
from lictor_prove.python.operations.unknown.results import modelled
from lictor_prove.python.refusals import Raises, refuse, unmodelled


def item(machine: Machine, owner: SymbolicValue, index: SymbolicValue) -> SymbolicValue:
    """`owner[index]`."""
    owners = machine.cases(owner)
    if any(kind_of(machine, one) == Kind.DEFAULTDICT for _, one in owners):
        # What is missing is put in: on each path by itself.
        return machine.on_each_path(
            owners,
            lambda one: machine.on_each_path(
                machine.cases(index), lambda at: _item(machine, one, at)
            ),
        )
    return machine.each_pair(owner, index, lambda one, at: _item(machine, one, at))


def _item(machine: Machine, owner: SymbolicValue, index: SymbolicValue) -> SymbolicValue:
    if isinstance(owner, ObjectV):
        found = unknown_members.operation(machine, "an item", [owner, index])
        return found or undefined(machine, "an item", owner)
    return entry_of(machine, ITEMS, "an item", owner)(machine, owner, index)


def _unread(_: Machine, owner: SymbolicValue, __: SymbolicValue) -> NoReturn:
    refuse(
        "subscript.opaque",
        f"items of {described(owner)} can't be read",
        "Return a list of rows, or scalars, from the trusted function.",
    )


def _by_key(machine: Machine, owner: SymbolicValue, index: SymbolicValue) -> SymbolicValue:
    return (
        lookup(machine, owner, index) if isinstance(owner, Ref) else _unread(machine, owner, index)
    )


def _count(machine: Machine, owner: SymbolicValue, index: SymbolicValue) -> SymbolicValue:
    """What a Counter says of a key: 0 where it has none, and it gets none."""
    return lookup(machine, containers.as_ref(owner), index, known(0))


def _by_index(machine: Machine, owner: SymbolicValue, index: SymbolicValue) -> SymbolicValue:
    at = _index(machine, index)
    match owner:
        case TupleV(items):
            return _of_items(machine, items, at)
        case Ref() if is_unknown(machine, owner):
            held = opened(machine, owner)
            return item_at(held, index_of(machine, held, at, owner))
        case Ref():
            options = container_contents.configurations(machine, machine.content(owner))
            return machine.under(
                options, lambda held: _of_items(machine, tuple(e.value for e in held), at)
            )
        case Sym(term) if owner.type == STR:
            place = _place(machine, at, apply("len", term), "string")
            return Sym(apply("substring", term, place, const(1)))
        case Sym(term) if isinstance(owner.type, ListOf):
            return Sym(apply("at", term, _place(machine, at, apply("len", term), "list")))
        case RangeV(held):
            place = _place(machine, at, const(len(held)), "range")
            return Sym(apply("add", const(held.start), apply("mul", place, const(held.step))))
        case SequenceV() if owner.keep is TRUE:
            place = _place(machine, at, containers.rounds(owner.over), owner.kind)
            return renamed(owner.item, {owner.index: place})
        case SequenceV() if owner.picked is not None:
            held = owner.picked
            return item_at(held, index_of(machine, held, at, owner))
        case SequenceV():
            refuse(
                "subscript.filtered",
                "an item of a filtered list of unknown length can't be told",
                "Loop over it.",
            )
        case _:
            _unread(machine, owner, index)


ITEMS: Final = by_kind(
    {
        (Kind.STR, Kind.TUPLE, Kind.LIST, Kind.RANGE): _by_index,
        Kind.DICT: _by_key,
        Kind.DEFAULTDICT: default_dicts.read,
        Kind.COUNTER: _count,
        Kind.MATCH: _unread,
    }
)


def _index(machine: Machine, index: SymbolicValue) -> Term:
    if kind_of(machine, index) not in WHOLE:
        undefined(machine, "an index", index)
    assert isinstance(index, Sym)
    return whole(index.term)


def _place(machine: Machine, index: Term, length: Term, what: str) -> Term:
    """The index, from the beginning; out of bounds is an IndexError."""
    text = f"the index is within the {what} (IndexError)"
    if isinstance(index, Const) and isinstance(index.value, int):
        if index.value >= 0:
            machine.require(apply("lt", index, length), text, error="IndexError")
            return index
        machine.require(apply("le", const(-index.value), length), text, error="IndexError")
        return apply("add", length, index)
    machine.require(
        and_(apply("le", apply("neg", length), index), apply("lt", index, length)),
        text,
        error="IndexError",
    )
    return ite(apply("lt", index, const(0)), apply("add", length, index), index)


def _of_items(machine: Machine, items: tuple[SymbolicValue, ...], at: Term) -> SymbolicValue:
    if isinstance(at, Const) and isinstance(at.value, int):
        if -len(items) <= at.value < len(items):
            return items[at.value]
        raise Raises("IndexError", f"index {short_text(at.value)} of {len(items)} items")
    if not items:
        raise Raises("IndexError", "an index into nothing")
    place = _place(machine, at, const(len(items)), "list")
    return choose([(eq(place, const(n)), one) for n, one in enumerate(items)])


def lookup(
    machine: Machine, ref: Ref, key: SymbolicValue, default: SymbolicValue | None = None
) -> SymbolicValue:
    """`d[key]`, or `d.get(key, default)`."""
    if is_unknown(machine, ref):
        return unknown_containers.lookup(machine, ref, key, default)
    hits = default_dicts.known_hits(machine, ref, key)
    found = or_(*(guard for guard, _ in hits))
    if default is not None:
        return choose([*hits, (not_(found), default)]) if found is not TRUE else choose(hits)
    if not hits:
        shown = short_text(known_scalar(key)) if is_known(key) else described(key)
        raise Raises("KeyError", f"{shown} is no key of this dict")
    machine.require(found, "the key is in the dict (KeyError)", error="KeyError")
    return choose(hits)


# -- slices ----------------------------------------------------------------------------------------


def part(
    machine: Machine,
    owner: SymbolicValue,
    lower: SymbolicValue | None,
    upper: SymbolicValue | None,
    step: SymbolicValue | None,
) -> SymbolicValue:
    """`owner[lower:upper:step]`."""
    bounds = [NONE_VALUE if each is None else each for each in (lower, upper, step)]
    return machine.each(
        owner,
        lambda one: modelled(
            machine, "a slice", [one, *bounds], lambda: _part(machine, one, lower, upper, step)
        ),
    )


def _part(
    machine: Machine,
    owner: SymbolicValue,
    lower: SymbolicValue | None,
    upper: SymbolicValue | None,
    step: SymbolicValue | None,
) -> SymbolicValue:
    kind = kind_of(machine, owner)
    if kind not in SLICED:
        if kind in (*KEYED, Kind.MATCH):
            # Slices can be hashed since Python 3.12: the error depends on it.
            refuse("slice.kind", f"a slice of a {kind} is outside the subset", "Use its items.")
        undefined(machine, "a slice", owner)
    start, stop = _bound(lower), _bound(upper)
    stride = 1 if step is None or _bound(step) is None else known_int(step)
    if stride is None or stride == 0:
        unmodelled(
            "slice.step", "the step of this slice is not known, or 0", "Write a step, or none."
        )
    if all(bound is None or isinstance(bound, Const) for bound in (start, stop)):
        where = slice(_held(start), _held(stop), stride)
        match owner:
            case TupleV(items):
                return TupleV(items[where])
            case RangeV(numbers):
                return RangeV(numbers[where])
            case Ref() if not is_unknown(machine, owner):
                options = container_contents.configurations(machine, machine.content(owner))
                return containers.union_of(
                    [(guard, machine.make("list", held[where])) for guard, held in options]
                )
            case Sym(term) if isinstance(term, Const) and isinstance(term.value, str):
                return known(term.value[where])
            case _:
                pass
    if stride == 1 and kind == Kind.LIST and machine.declares_unknowns:
        held = sequence_of(machine, owner)
        if held is None and isinstance(owner, Ref):
            held = opened(machine, owner)
        if held is not None:
            size = count(held)
            first = clamp_index(start, size) if start is not None else const(0)
            last = clamp_index(stop, size) if stop is not None else size
            return made(machine, "list", unknown_iterables.part(held, first, last))
    if stride == 1 and isinstance(owner, Sym) and kind in (Kind.STR, Kind.LIST):
        term, size = owner.term, apply("len", owner.term)
        first = clamp_index(start, size) if start is not None else const(0)
        last = clamp_index(stop, size) if stop is not None else size
        if kind == Kind.STR:
            return Sym(apply("substring", term, first, apply("sub", last, first)))
        last = ite(apply("lt", size, last), size, last)
        index = machine.fresh_index()
        place = apply("add", first, index)
        return SequenceV(apply("sub", last, first), index, Sym(apply("at", term, place)), TRUE)
    unmodelled(
        "slice.symbolic",
        "this slice of something unknown is not supported",
        "Use known bounds, and no step.",
    )


SLICED: Final = frozenset({Kind.STR, Kind.TUPLE, Kind.LIST, Kind.RANGE})


def _bound(value: SymbolicValue | None) -> Term | None:
    if value is None or (isinstance(value, Sym) and value.type == NONE):
        return None
    if isinstance(value, Sym) and value.type in (INT, BOOL):
        return whole(value.term)
    refuse("slice.bound", "a bound of a slice is an int or None", "Use ints.")


def _held(term: Term | None) -> int | None:
    if term is None:
        return None
    assert isinstance(term, Const)
    assert isinstance(term.value, int)
    return term.value


# -- setting ---------------------------------------------------------------------------------------


def assign(
    machine: Machine, owner: SymbolicValue, index: SymbolicValue, value: SymbolicValue
) -> None:
    """`owner[index] = value`."""

    def of(one: SymbolicValue) -> SymbolicValue:
        _assign(machine, one, index, value)
        return NONE_VALUE

    machine.on_each_path(machine.cases(owner), of)


def _assign(
    machine: Machine, ref: SymbolicValue, index: SymbolicValue, value: SymbolicValue
) -> None:
    if not isinstance(ref, Ref):
        refuse(
            "assign.item",
            f"items of {described(ref)} can't be set",
            "Set items of lists and dicts that the program made.",
        )
    if machine.content(ref).is_dict:
        if is_unknown(machine, ref):
            unknown_containers.put(machine, ref, index, value)
        else:
            containers.put(machine, ref, index, value)
        return
    if machine.content(ref).kind == "set":
        refuse("assign.item", "a set has no items by index", "Use `add` and `discard`.")
    if is_unknown(machine, ref):
        at = _index(machine, index)
        unknown_containers.change(machine, ref, opened(machine, ref))
        place = index_of(machine, opened(machine, ref), at, ref)
        unknown_iterables.replaced(machine, ref, place, value)
        return
    held = container_contents.entries(machine, ref)
    if any(entry.present is not TRUE for entry in held):
        refuse(
            "assign.guarded",
            "how long this list is depends on the path, so its items can't be set",
            "Set the item before the list grows in a branch.",
        )
    found = machine.cases(index)
    if len(found) > 1:
        refuse("assign.union", "the type of this index depends on the path", "Use an int.")
    try:
        at = _index(machine, found[0][1])
    except Raises as problem:
        refuse("error.certain", f"{problem.error}: {problem.message}", problem.remedy)
    place = _place(machine, at, const(len(held)), "list")
    machine.replace(
        ref,
        [
            ContainerItem(TRUE, merge(eq(place, const(n)), value, entry.value))
            for n, entry in enumerate(held)
        ],
    )
