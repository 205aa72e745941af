"""What builtins make of iterables whose length nobody knows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from lictor_ir.terms import TRUE, Const, Term, and_, apply, const, eq, ite
from lictor_ir.types import BOOL, FLOAT, INT, STR
from lictor_prove.python.kinds import KEYED, NUMERIC, WHOLE, Kind, kind_of
from lictor_prove.python.machine.machine_state import Machine
from lictor_prove.python.machine.path_merging import merge
from lictor_prove.python.machine.symbolic_values import (
    Content,
    OnceV,
    Ref,
    SequenceV,
    Sym,
    SymbolicValue,
    TupleV,
    Unbound,
    count,
    is_none,
)
from lictor_prove.python.machine.unknown_values import flows, unknown
from lictor_prove.python.operations.containers import hashable
from lictor_prove.python.operations.unknown.containers import (
    item_at,
    iterated,
    listed,
    made,
    one_key,
    shuffled,
    some_item,
)
from lictor_prove.python.refusals import Raises, refuse, unmodelled

_ORDERED: Final = (NUMERIC, (Kind.STR,))


def may_end(machine: Machine, condition: Term, why: str, *values: SymbolicValue) -> None:
    """The run ends here unless the condition holds: what comes after happens only where it does."""
    if machine.dead or machine.decided(condition) is True:
        return
    unknown(machine, BOOL, why, (condition, *flows(machine, *values)), may_raise=True)
    machine.suppose(condition)


def kinds_of(machine: Machine, value: SymbolicValue) -> set[Kind]:
    """What kinds a value may be of."""
    return {kind_of(machine, one) for _, one in machine.cases(value)}


def joined_text(machine: Machine, separator: SymbolicValue, items: SymbolicValue) -> SymbolicValue:
    """`separator.join(items)`."""
    held = iterated(machine, items)
    if not isinstance(held.item, Unbound) and kinds_of(machine, held.item) != {Kind.STR}:
        unmodelled("list.symbolic", "join of a list whose items may be no strings", "Join strings.")
    why = "join of a list of unknown length"
    return unknown(machine, STR, why, flows(machine, separator, held))


def total(machine: Machine, items: SymbolicValue, start: SymbolicValue) -> SymbolicValue:
    """`sum(items, start)`."""
    held = iterated(machine, items)
    if isinstance(held.item, Unbound):
        return start
    kinds = kinds_of(machine, held.item) | kinds_of(machine, start)
    if not kinds <= set(NUMERIC):
        unmodelled("builtin.sum", "sum() of these items is not supported", "Add numbers.")
    why, flowing = "sum of a list of unknown length", tuple(flows(machine, held, start))
    type_ = INT if kinds <= set(WHOLE) else FLOAT
    if type_ == FLOAT and kinds_of(machine, held.item) != {Kind.FLOAT}:
        unmodelled("builtin.sum", "sum() of ints and floats is not supported", "Use one type.")
    is_small = (
        isinstance(start, Sym) and isinstance(start.term, Const) and start.term.value in (0, 1)
    )
    may_raise = type_ == FLOAT and Kind.INT in kinds_of(machine, start) and not is_small
    found = unknown(machine, type_, why, flowing, may_raise=may_raise)
    if kinds_of(machine, start) == {Kind.INT} and type_ == INT:
        return found
    # Of nothing, it is the start as it is.
    return merge(apply("lt", const(0), count(held)), found, start)


def extreme(
    machine: Machine,
    name: str,
    items: SymbolicValue,
    key: SymbolicValue | None,
    default: SymbolicValue | None,
) -> SymbolicValue:
    """`min(items, key=…, default=…)`, or `max`."""
    held = iterated(machine, items)
    if isinstance(held.item, Unbound):
        if default is None:
            raise Raises("ValueError", f"{name}() of nothing")
        return default
    keys = ordered_by(machine, held, key, name)
    some = apply("lt", const(0), count(held))
    if default is None:
        may_end(machine, some, f"{name}() of a list that may be empty", items)
    best = some_item(machine, held, f"{name}() of a list of unknown length", [keys])
    return best if default is None else merge(some, best, default)


def ordered(
    machine: Machine, items: SymbolicValue, key: SymbolicValue | None, reverse: SymbolicValue
) -> SymbolicValue:
    """`sorted(items, key=…, reverse=…)`: the same items in an unknown order."""
    held = listed(machine, items)
    if isinstance(held.item, Unbound):
        return machine.make("list", ())
    keys = ordered_by(machine, held, key, "sorted")
    why = "the order of sorted items"
    return made(
        machine, "list", shuffled(machine, held, why, flowing=[keys, reverse], size=count(held))
    )


def ordered_by(
    machine: Machine, held: SequenceV, key: SymbolicValue | None, name: str
) -> SymbolicValue:
    """Executes the key function for each item, and returns what decides their order.

    It must not call anything, for nobody knows in which order.
    """
    from lictor_prove.python.interpreter.loops import symbolic_round

    if key is None or is_none(key):
        found = held.item
    else:
        function, index, atoms = key, machine.fresh_index(), len(machine.atoms)
        item = item_at(held, index)
        found = symbolic_round(
            machine, index, held.over, TRUE, lambda: machine.call(function, [item])
        )
        if len(machine.atoms) != atoms:
            refuse(
                "builtin.key",
                f"the key of {name}() makes trusted calls",
                "Make a list of what they return first.",
            )
    kinds = kinds_of(machine, found)
    if not any(kinds <= set(group) for group in _ORDERED):
        if not kinds <= {Kind.TUPLE, Kind.LIST, Kind.STR, Kind.NONE, *NUMERIC}:
            refuse("builtin.key", f"{name}() of these items is not supported", "Use a key.")
        why = f"{name}() may compare what has no order"
        unknown(machine, BOOL, why, flows(machine, held), may_raise=True)
    return found


def some_holds(machine: Machine, items: SymbolicValue, name: str) -> SymbolicValue:
    """`any(items)`, or `all`."""
    held = iterated(machine, items)
    if not isinstance(held.item, Unbound):
        known = {Kind.ROW, Kind.NONE, Kind.STR, Kind.LIST, *KEYED, Kind.TUPLE, *NUMERIC}
        if not kinds_of(machine, held.item) <= known:
            unmodelled(f"builtin.{name}", f"{name}() of these items is not supported", "Loop.")
    return unknown(machine, BOOL, f"{name}() of a list of unknown length", flows(machine, held))


def as_set(machine: Machine, items: SymbolicValue) -> SymbolicValue:
    """`set(items)`."""
    held = iterated(machine, items)
    if isinstance(held.item, Unbound):
        return machine.make("set", ())
    hashable(machine, held.item)
    return made(machine, "set", shuffled(machine, held, "the items of a set"))


def as_dict(machine: Machine, held: SequenceV) -> SymbolicValue:
    """A dict of these pairs."""
    if isinstance(held.item, Unbound):
        return machine.make("dict", ())
    for _, pair in machine.cases(held.item):
        if not isinstance(pair, TupleV) or len(pair.items) != 2:
            refuse("builtin.dict", "dict() takes a dict or pairs", "Use a display: {…}.")
        hashable(machine, pair.items[0])
    one_key(machine, held.item)
    return made(machine, "dict", shuffled(machine, held, "the items of a dict"))


def zipped(machine: Machine, columns: Sequence[SymbolicValue]) -> SymbolicValue:
    """`zip(xs, ys)`."""
    held = [iterated(machine, column) for column in columns]
    if any(isinstance(each.item, Unbound) for each in held):
        return SequenceV(const(0), held[0].index, TupleV(()), TRUE, "iterator")
    size = count(held[0])
    for each in held[1:]:
        size = ite(apply("lt", count(each), size), count(each), size)
    index = held[0].index
    row = TupleV(tuple(item_at(each, index) for each in held))
    read = tuple(one for column in columns for one in _watched(machine, column))
    return SequenceV(size, index, row, TRUE, "iterator", read)


def _watched(machine: Machine, value: SymbolicValue) -> tuple[tuple[int, Content], ...]:
    """The objects that an iterator over the value reads while it is used."""
    found: list[tuple[int, Content]] = []
    for _, one in machine.cases(value):
        match one:
            case Ref():
                found.append((one.id, machine.stored(one)))
            case SequenceV(watched=watched) | OnceV(watched=watched):
                found += watched
            case _:
                pass
    return tuple(found)


def part(held: SequenceV, first: Term, last: Term) -> SequenceV:
    """The items between two indices, which are not negative."""
    size = count(held)
    last = ite(apply("lt", size, last), size, last)
    place = apply("add", first, held.index)
    return SequenceV(apply("sub", last, first), held.index, item_at(held, place), TRUE)


def replaced(machine: Machine, ref: Ref, place: Term, value: SymbolicValue) -> None:
    """`xs[place] = value`, of a list of unknown content."""
    held = machine.content(ref).held
    assert isinstance(held, SequenceV)
    item = merge(eq(held.index, place), value, held.item)
    machine.hold(ref, Content("list", SequenceV(held.over, held.index, item, TRUE)))


def unpacked(machine: Machine, value: SymbolicValue, size: int) -> tuple[SymbolicValue, ...]:
    """The items of something that must have so many."""
    held = iterated(machine, value)
    may_end(
        machine, eq(count(held), const(size)), "a list is unpacked whose length is not known", value
    )
    return tuple(item_at(held, const(at)) for at in range(size))


def index_of(machine: Machine, held: SequenceV, at: Term, owner: SymbolicValue) -> Term:
    """The index from the beginning; the run ends where it is none."""
    size = count(held)
    if isinstance(at, Const) and isinstance(at.value, int):
        back = at.value < 0
        inside = apply("le", const(-at.value), size) if back else apply("lt", at, size)
        may_end(machine, inside, "an item of a list is read whose length is not known", owner)
        return apply("add", size, at) if back else at
    inside = and_(apply("le", apply("neg", size), at), apply("lt", at, size))
    may_end(machine, inside, "an item of a list is read whose length is not known", owner)
    return ite(apply("lt", at, const(0)), apply("add", size, at), at)
