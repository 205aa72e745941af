"""What a trusted call returned, as a value of the program.

Scalars, rows and lists of them are terms of the document. Of anything else only its shape is known: a dict has some
number of keys and values, nobody knows which. The parts are unknowns that are made of the call.
"""

from __future__ import annotations

from collections.abc import Callable

from lictor_ir.document import Binder
from lictor_ir.provenance import made_of
from lictor_ir.terms import Term
from lictor_ir.types import BOOL, NONE, MapOf, OptionalOf, SetOf, TupleOf, Type
from lictor_prove.python.machine.machine_state import Machine
from lictor_prove.python.machine.path_merging import merge
from lictor_prove.python.machine.symbolic_values import (
    NONE_VALUE,
    SequenceV,
    Sym,
    SymbolicValue,
    TupleV,
)
from lictor_prove.python.machine.unknown_sequences import sequence
from lictor_prove.python.machine.unknown_values import unknown
from lictor_prove.python.operations.unknown.containers import made


def returned(machine: Machine, whole: Term) -> SymbolicValue:
    """The value that a result stands for."""
    if not isinstance(whole.type, OptionalOf | TupleOf | MapOf | SetOf):
        return Sym(whole)
    return _shaped(machine, whole, whole.type, ())


def _shaped(machine: Machine, whole: Term, type_: Type, each: tuple[Binder, ...]) -> SymbolicValue:
    """A value of the type that is a part of the whole; another one for each index of these loops."""

    def part(inner: Type, each: tuple[Binder, ...] = each) -> SymbolicValue:
        return _shaped(machine, whole, inner, each)

    match type_:
        case OptionalOf(item):
            there = unknown(machine, BOOL, "whether a call returned None", (whole,), each=each)
            return merge(there.term, part(item), NONE_VALUE)
        case TupleOf(items):
            return TupleV(tuple(map(part, items)))
        case MapOf(key, value):
            pairs = _several(machine, whole, lambda at: TupleV((part(key, at), part(value, at))))
            return made(machine, "dict", pairs)
        case SetOf(item):
            return made(machine, "set", _several(machine, whole, lambda at: part(item, at)))
        case _ if type_ == NONE:
            return NONE_VALUE
        case _:
            return unknown(machine, type_, "a part of what a call returned", (whole,), each=each)


def _several(
    machine: Machine, whole: Term, item: Callable[[tuple[Binder, ...]], SymbolicValue]
) -> SequenceV:
    labels = made_of((whole,), machine.inputs, machine.unknowns)
    return sequence(machine, item, labels, "how much a call returned")
