"""`range`, `enumerate`, `zip`, `reversed`, `iter` and `next`."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Final

from lictor_ir.terms import FALSE, TRUE, Const, Term, apply, const, or_, results
from lictor_prove.python.kinds import KEYED, VIEWS, WHOLE, Kind, kind_of, undefined
from lictor_prove.python.machine.machine_state import Machine
from lictor_prove.python.machine.path_merging import choose, merge, solid
from lictor_prove.python.machine.symbolic_values import (
    NONE_VALUE,
    ContainerItem,
    OnceV,
    RangeV,
    SequenceV,
    Sym,
    SymbolicValue,
    TupleV,
    known,
    renamed,
)
from lictor_prove.python.machine.symbolic_values import (
    count as sequence_count,
)
from lictor_prove.python.operations.arithmetic import known_int
from lictor_prove.python.operations.comparisons import whole
from lictor_prove.python.operations.container_contents import count_of
from lictor_prove.python.operations.containers import rounds
from lictor_prove.python.operations.iterables import KnownItems, UnknownItems, plan, unchanged
from lictor_prove.python.operations.unknown.containers import item_at
from lictor_prove.python.operations.unknown.iterables import may_end, zipped
from lictor_prove.python.refusals import Raises, refuse

Args = Sequence[SymbolicValue]
REVERSIBLE: Final = frozenset({Kind.STR, Kind.TUPLE, Kind.LIST, Kind.RANGE, *KEYED, *VIEWS})


def make_range(machine: Machine, args: Args, _: Mapping[str, SymbolicValue]) -> SymbolicValue:
    """`range(stop)`, `range(start, stop)`, `range(start, stop, step)`."""
    bounds = [_bound(machine, arg) for arg in args]
    values = [bound.value if isinstance(bound, Const) else None for bound in bounds]
    if all(isinstance(value, int) for value in values):
        if len(values) == 3 and values[2] == 0:
            raise Raises("ValueError", "the step of a range is not 0")
        made = range(*[value for value in values if isinstance(value, int)])
        if max(abs(made.start), abs(made.stop)) > sys.maxsize // 2:
            refuse("limits.iterations", "the range has no length in Python", "Use a smaller one.")
        return RangeV(made)
    if len(bounds) == 3:
        refuse(
            "range.step",
            "a range with a step and unknown bounds is not supported",
            "Leave the step out.",
        )
    start, stop = (const(0), bounds[0]) if len(bounds) == 1 else (bounds[0], bounds[1])
    index = machine.fresh_index()
    count = stop if isinstance(start, Const) and start.value == 0 else apply("sub", stop, start)
    number = Sym(apply("add", start, index))
    return SequenceV(count, index, number, TRUE, "range", tells_length=True)


def _bound(machine: Machine, arg: SymbolicValue) -> Term:
    cases = machine.cases(arg)
    if len(cases) > 1:
        refuse("range.bound", "the type of this bound depends on the path", "Use an int.")
    one = cases[0][1]
    if kind_of(machine, one) not in WHOLE:
        undefined(machine, "range()", one)
    assert isinstance(one, Sym)
    return whole(one.term)


def make_enumerate(
    machine: Machine, args: Args, keywords: Mapping[str, SymbolicValue]
) -> SymbolicValue:
    """`enumerate(xs, start)`."""
    if len(args) > 1 and keywords:
        raise Raises("TypeError", "enumerate() is given its start twice")
    given = args[1] if len(args) > 1 else keywords.get("start", known(0))
    start = known_int(given)
    if start is None:
        refuse("enumerate.start", "enumerate needs a known start", "Write the start out.")

    def of(value: SymbolicValue) -> SymbolicValue:
        how = plan(machine, value)
        if isinstance(how, UnknownItems):
            index = machine.fresh_index()
            item, keep = how.item(index)
            if keep is not TRUE:
                _filtered("enumerate")
            number = Sym(apply("add", index, const(start)))
            pair = TupleV((number, item))
            return SequenceV(how.over, index, pair, keep, "iterator", how.watched)
        numbered: list[ContainerItem] = []
        for at, entry in enumerate(how.entries):
            before = (
                count_of(earlier.present for earlier in how.entries[:at])
                if _gaps(how)
                else const(at)
            )
            number = Sym(apply("add", before, const(start)))
            numbered.append(ContainerItem(entry.present, TupleV((number, entry.value))))
        return OnceV(tuple(numbered), how.watched)

    return machine.each(args[0], of)


def _gaps(how: KnownItems) -> bool:
    return any(entry.present is not TRUE for entry in how.entries)


def _filtered(what: str) -> None:
    refuse(
        "list.filtered",
        f"{what} of a filtered list of unknown length is not supported",
        "Loop over it with `for`.",
    )


def make_zip(machine: Machine, args: Args, _: Mapping[str, SymbolicValue]) -> SymbolicValue:
    """`zip(xs, ys)`."""
    columns: list[KnownItems] = []
    for arg in args:
        cases = machine.cases(arg)
        how = plan(machine, cases[0][1]) if len(cases) == 1 else None
        if not isinstance(how, KnownItems) or _gaps(how):
            if machine.declares_unknowns and len(cases) == 1:
                return zipped(machine, args)
            refuse(
                "list.symbolic",
                "zip() is supported for lists whose length is known",
                "Loop over one of them, and take the other's item by index.",
            )
        columns.append(how)
    size = min(len(column.entries) for column in columns)
    rows = [
        ContainerItem(TRUE, TupleV(tuple(column.entries[at].value for column in columns)))
        for at in range(size)
    ]
    return OnceV(tuple(rows), tuple(one for column in columns for one in column.watched))


def make_reversed(machine: Machine, args: Args, _: Mapping[str, SymbolicValue]) -> SymbolicValue:
    """`reversed(xs)`."""

    def of(value: SymbolicValue) -> SymbolicValue:
        if kind_of(machine, value) not in REVERSIBLE:
            undefined(machine, "reversed()", value)
        how = plan(machine, value)
        if isinstance(how, KnownItems):
            return OnceV(tuple(reversed(how.entries)), how.watched)
        index = machine.fresh_index()
        size = rounds(how.over)
        mirrored = apply("sub", apply("sub", size, const(1)), index)
        item, keep = how.item(index)
        if keep is not TRUE:
            _filtered("reversed")
        back = renamed(item, {index: mirrored})
        return SequenceV(
            how.over, index, back, keep, "iterator", how.watched, tells_length=_tells_length(value)
        )

    return machine.each(args[0], of)


def make_iter(machine: Machine, args: Args, _: Mapping[str, SymbolicValue]) -> SymbolicValue:
    """`iter(xs)`."""

    def of(value: SymbolicValue) -> SymbolicValue:
        how = plan(machine, value)
        if isinstance(how, KnownItems):
            return OnceV(how.entries, how.watched)
        index = machine.fresh_index()
        item, keep = how.item(index)
        picked = value.picked if isinstance(value, SequenceV) else None
        return SequenceV(
            *(how.over, index, item, keep, "iterator", how.watched, picked),
            tells_length=_tells_length(value),
        )

    return machine.each(args[0], of)


def _tells_length(value: SymbolicValue) -> bool:
    return isinstance(value, SequenceV) and value.tells_length


def take_next(machine: Machine, args: Args, _: Mapping[str, SymbolicValue]) -> SymbolicValue:
    """`next(iterator)`, `next(iterator, default)`; nobody else has the iterator, so it is its first item."""

    def of(value: SymbolicValue) -> SymbolicValue:
        if kind_of(machine, value) != Kind.ITERATOR:
            undefined(machine, "next()", value)
        if isinstance(value, SequenceV):
            unchanged(machine, value.watched)
            held = solid(value)
            some = apply("lt", const(0), sequence_count(held))
            return first(machine, some, item_at(held, const(0)), args[1:])
        assert isinstance(value, OnceV)
        unchanged(machine, value.watched)
        items = [(entry.present, entry.value) for entry in value.items]
        there = or_(*(present for present, _ in items))
        return first(machine, there, choose(items) if items else NONE_VALUE, args[1:])

    return machine.each(args[0], of)


def first(machine: Machine, there: Term, item: SymbolicValue, default: Args) -> SymbolicValue:
    """The item where it is there, else the default, or the end of the run."""
    if default:
        return merge(there, item, default[0])
    if there is FALSE:
        raise Raises("StopIteration", "next() of nothing")
    if any(each.call.startswith("u") for each in results(there)):
        may_end(machine, there, "next() of what may have no item")
    else:
        machine.require(there, "there is a next item (StopIteration)")
    return item
