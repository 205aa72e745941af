"""`collections.Counter`: a dict of counts, which says 0 of a key that it lacks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from lictor_ir.document import Binder
from lictor_ir.terms import TRUE, apply, const, ite
from lictor_ir.types import INT
from lictor_prove.python.kinds import KEYED, NUMERIC, WHOLE, Kind, kind_of
from lictor_prove.python.machine.machine_state import Machine
from lictor_prove.python.machine.symbolic_values import (
    NONE_VALUE,
    BuiltinV,
    ContainerItem,
    Sym,
    SymbolicValue,
    TupleV,
    Unbound,
    count,
    is_known,
    is_none,
    known,
    known_scalar,
)
from lictor_prove.python.machine.unknown_sequences import sequence
from lictor_prove.python.machine.unknown_values import flows, unknown
from lictor_prove.python.operations import container_contents, container_methods, containers
from lictor_prove.python.operations.arithmetic import known_int
from lictor_prove.python.operations.comparisons import whole
from lictor_prove.python.operations.subscripts import lookup
from lictor_prove.python.operations.unknown import containers as unknown_containers
from lictor_prove.python.operations.unknown.containers import is_unknown, labels_of
from lictor_prove.python.refusals import Unmodelled, refuse

Args = Sequence[SymbolicValue]


def make(machine: Machine, args: Args, _: Mapping[str, SymbolicValue]) -> SymbolicValue:
    """`Counter()`, or `Counter(items)`."""
    if not args:
        return machine.make("Counter", ())
    return machine.each(args[0], lambda one: _counted(machine, one))


def _counted(machine: Machine, items: SymbolicValue) -> SymbolicValue:
    if kind_of(machine, items) in KEYED:
        refuse(
            "counter.items",
            "a Counter of a dict takes its values for counts",
            "Count the keys of a list, or write `counts.copy()`.",
        )
    try:
        held = container_methods.items_of(machine, items)
    except Unmodelled:
        if not machine.declares_unknowns:
            raise
        return _of_unknown(machine, items)
    made = machine.make("Counter", ())
    for entry in held:
        before = machine.each(entry.value, lambda key: lookup(machine, made, key, known(0)))
        assert isinstance(before, Sym)
        more = Sym(apply("add", before.term, const(1)))
        containers.put(machine, made, entry.value, more, entry.present)
    return made


def _of_unknown(machine: Machine, items: SymbolicValue) -> SymbolicValue:
    """Some of the items, each with a number that is not larger than theirs."""
    held = unknown_containers.iterated(machine, items)
    if isinstance(held.item, Unbound):
        return machine.make("Counter", ())
    containers.hashable(machine, held.item)
    unknown_containers.one_key(machine, TupleV((held.item, NONE_VALUE)))
    why, most = "what a Counter holds", count(held)

    def pair(each: tuple[Binder, ...]) -> SymbolicValue:
        key = unknown_containers.some_item(machine, held, why, each=each)
        number = unknown(machine, INT, why, flows(machine, held), each=each).term
        number = ite(apply("lt", most, number), most, number)
        return TupleV((key, Sym(ite(apply("lt", number, const(1)), const(1), number))))

    pairs = sequence(machine, pair, labels_of(machine, held), why, most)
    return unknown_containers.made(machine, "Counter", pairs)


def most_common(machine: Machine, owner: SymbolicValue, args: Args) -> SymbolicValue:
    """`c.most_common(n)`: in a known order where all counts are known."""
    ref, asked = containers.as_ref(owner), args[0] if args else NONE_VALUE
    cases = machine.cases(asked)
    if len(cases) > 1 or not (is_none(cases[0][1]) or kind_of(machine, cases[0][1]) in WHOLE):
        refuse("counter.most", "most_common() takes an int, or nothing", "Pass an int.")
    asked = cases[0][1]
    if not is_unknown(machine, ref):
        entries = container_contents.entries(machine, ref)
        are_known = all(
            entry.present is TRUE
            and is_known(entry.value)
            and isinstance(known_scalar(entry.value), int)
            for entry in entries
        )
        if are_known and (is_none(asked) or known_int(asked) is not None):
            return _in_order(machine, entries, None if is_none(asked) else known_int(asked))
    held = unknown_containers.opened(machine, ref)
    if isinstance(held.item, Unbound):
        return machine.make("list", ())
    values = unknown_containers.pair_part(held.item, 1)
    if not {kind_of(machine, one) for _, one in machine.cases(values)} <= set(NUMERIC):
        refuse("counter.most", "this Counter holds more than numbers", "Sort its items().")
    size = count(held)
    if not is_none(asked):
        assert isinstance(asked, Sym)
        number = whole(asked.term)
        least = ite(apply("lt", number, const(0)), const(0), number)
        size = ite(apply("lt", size, least), size, least)
    why = "the order of the most common items"
    pairs = unknown_containers.shuffled(machine, held, why, flowing=[asked], size=size)
    return unknown_containers.made(machine, "list", pairs)


def _in_order(
    machine: Machine, entries: Sequence[ContainerItem], most: int | None
) -> SymbolicValue:
    def number(entry: ContainerItem) -> int:
        held = known_scalar(entry.value)
        assert isinstance(held, int)
        return held

    found = sorted(entries, key=number, reverse=True)
    some = found if most is None else found[: max(most, 0)]
    pairs = [TupleV((entry.key, entry.value)) for entry in some if entry.key is not None]
    return machine.make_list(pairs)


def total(machine: Machine, owner: SymbolicValue, _: Args) -> SymbolicValue:
    """`c.total()`."""
    ref = containers.as_ref(owner)
    view = (
        unknown_containers.view(Kind.VALUES)(machine, ref, ())
        if is_unknown(machine, ref)
        else container_methods.view(Kind.VALUES)(machine, ref, ())
    )
    return machine.call(BuiltinV("sum"), [view])
