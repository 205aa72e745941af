"""`+`, `*`, `|`, `&`, `-` and `^` of containers that the program made. Which kinds have them is in `arithmetic`."""

from __future__ import annotations

from typing import NoReturn

from lictor_prove.python.kinds import Kind, kind_of, undefined
from lictor_prove.python.machine.machine_state import Machine
from lictor_prove.python.machine.path_merging import concatenated
from lictor_prove.python.machine.symbolic_values import Ref, SymbolicValue, TupleV
from lictor_prove.python.operations.container_contents import entries
from lictor_prove.python.operations.containers import bounded, check_size, put, set_operation
from lictor_prove.python.operations.unknown.containers import (
    is_unknown,
    iterated,
    made,
    sequence_of,
    shuffled,
)
from lictor_prove.python.refusals import refuse


def joined_tuples(_: Machine, op: str, left: SymbolicValue, right: SymbolicValue) -> SymbolicValue:
    """`+` of tuples."""
    if not isinstance(left, TupleV) or not isinstance(right, TupleV):
        _of_unknown(op)
    return TupleV((*left.items, *right.items))


def joined_lists(
    machine: Machine, op: str, left: SymbolicValue, right: SymbolicValue
) -> SymbolicValue:
    """`+` of lists."""
    if machine.declares_unknowns and any(sequence_of(machine, each) for each in (left, right)):
        both = concatenated(iterated(machine, left), iterated(machine, right))
        return made(machine, "list", both)
    one, other = _made(op, left, right)
    return machine.make("list", bounded((*entries(machine, one), *entries(machine, other))))


def combined_sets(
    machine: Machine, op: str, left: SymbolicValue, right: SymbolicValue
) -> SymbolicValue:
    """`|`, `&`, `-`, `^` of sets."""
    if machine.declares_unknowns and any(is_unknown(machine, each) for each in (left, right)):
        both = concatenated(iterated(machine, left), iterated(machine, right))
        return made(machine, "set", shuffled(machine, both, f"what `{op}` of sets gives"))
    return machine.make("set", set_operation(machine, op, *_made(op, left, right)))


def change_set(machine: Machine, op: str, ref: Ref, right: SymbolicValue) -> None:
    """`|=`, `&=`, `-=`, `^=` of a set."""
    cases = machine.cases(right)
    other = cases[0][1]
    kind = kind_of(machine, other)
    if len(cases) > 1 or kind in (Kind.FROZENSET, Kind.KEYS, Kind.ITEMS):
        refuse("assign.in-place", f"`{op}=` with this value is not supported", "Use a set.")
    if kind != Kind.SET:
        undefined(machine, f"`{op}=` of a set with", other)
    machine.replace(ref, set_operation(machine, op, *_made(op, ref, other)))


def combined_dicts(
    machine: Machine, op: str, left: SymbolicValue, right: SymbolicValue
) -> SymbolicValue:
    """`|` of dicts."""
    one, other = _made(op, left, right)
    # The reflected operator of a class below comes first, also of the one on the right.
    factory = machine.factories.get(one.id) or machine.factories.get(other.id)
    kind = "dict" if factory is None else "defaultdict"
    made = machine.make(kind, entries(machine, one), factory=factory)
    for entry in entries(machine, other):
        assert entry.key is not None
        put(machine, made, entry.key, entry.value, entry.present)
    return made


def _made(op: str, left: SymbolicValue, right: SymbolicValue) -> tuple[Ref, Ref]:
    if not isinstance(left, Ref) or not isinstance(right, Ref):
        _of_unknown(op)
    return left, right


def _of_unknown(op: str) -> NoReturn:
    refuse(
        "list.symbolic",
        f"`{op}` with a container that the program did not write out is not supported",
        "Loop over each list in turn.",
    )


def repeated(machine: Machine, value: SymbolicValue, times: int) -> SymbolicValue:
    """A list or tuple, so many times."""
    match value:
        case TupleV(items):
            check_size(len(items) * times)
            return TupleV(items * times)
        case Ref():
            held = entries(machine, value)
            check_size(len(held) * times)
            return machine.make("list", held * times)
        case _:
            _of_unknown("*")
