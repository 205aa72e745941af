"""What names and attributes mean in a program."""

from __future__ import annotations

import builtins as python
from collections.abc import Mapping
from typing import Final

from lictor_ir.document import Schema
from lictor_ir.terms import Term, column
from lictor_ir.types import RowOf
from lictor_prove.python import attributes
from lictor_prove.python.machine.machine_state import Machine
from lictor_prove.python.machine.symbolic_values import BuiltinV, SchemaV, Sym, SymbolicValue
from lictor_prove.python.operations.builtin_functions import BUILTINS
from lictor_prove.python.refusals import Raises, refuse

_DANGEROUS: Final = frozenset(
    {
        "__import__",
        "breakpoint",
        "compile",
        "delattr",
        "dir",
        "eval",
        "exec",
        "getattr",
        "globals",
        "hasattr",
        "input",
        "locals",
        "memoryview",
        "open",
        "setattr",
        "type",
        "vars",
    }
)
_NEAREST: Final = {
    "map": "Use a comprehension: [f(x) for x in xs].",
    "filter": "Use a comprehension: [x for x in xs if p(x)].",
    "frozenset": "Use set.",
    "eval": "Write the expression out.",
    "exec": "Write the code out.",
    "getattr": "Write the attribute: x.name.",
    "id": "Compare with `==`.",
    "bytes": "Use a string.",
    "type": "Use isinstance.",
    "input": "Take a parameter, or call a trusted function.",
    "open": "Call a trusted function.",
}


def lookup(machine: Machine, name: str) -> SymbolicValue:
    """What a name means: in the function, the functions around it, the module, and the builtins, in this order."""
    frame = machine.frame
    while True:
        if name in frame.names:
            return machine.held(frame.id, name)
        if frame.above is None:
            break
        frame = frame.above
    if name in BUILTINS:
        return BuiltinV(name)
    if hasattr(python, name):
        refuse(
            "builtin.dangerous" if name in _DANGEROUS else "builtin.unsupported",
            f"{name} is outside the subset"
            + (": it can do what nobody sees in the program" if name in _DANGEROUS else ""),
            _NEAREST.get(name, "See docs/python-subset.md for the builtins there are."),
        )
    refuse("name.unknown", f"{name} is not defined", "Define or import it.")


def attribute(
    machine: Machine, owner: SymbolicValue, name: str, schemas: Mapping[str, Schema]
) -> SymbolicValue:
    """`owner.name`, of values; attributes of modules are resolved where modules are known."""
    match owner:
        case Sym(term) if isinstance(owner.type, RowOf):
            return row_column(term, schemas[owner.type.schema], name)
        case SchemaV(schema):
            refuse(
                "attribute.column",
                f"{schema.name}.{name} names a column, which is for contracts",
                f"Read the column of a row: row.{name}.",
            )
        case _:
            return attributes.attribute(machine, owner, name)


def row_column(row: Term, schema: Schema, name: str) -> SymbolicValue:
    """`row.name`."""
    for known in schema.columns:
        if known.name == name:
            return Sym(column(row, name, known.type))
    raise Raises("AttributeError", f"{schema.name} has no column {name!r}")
