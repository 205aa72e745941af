"""What Python's operations give where no exact model applies: the type of the result, and whether it may raise.

One table. An operation on kinds that have no row here, and that no exact model takes, is refused. The enumeration holds
every row against Python: a result of exactly this type, and no error where the row has none.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Final

from lictor_ir.types import BOOL, FLOAT, INT, STR, ListOf, TupleOf, Type
from lictor_prove.python.kinds import (
    DICTS,
    KEYED,
    NUMERIC,
    SETS,
    WHOLE,
    Group,
    Kind,
    kind_of,
    members,
)
from lictor_prove.python.machine.machine_state import Machine
from lictor_prove.python.machine.symbolic_values import SymbolicValue, TupleV
from lictor_prove.python.machine.unknown_values import flows, unknown
from lictor_prove.python.operations.unknown.containers import made, sequence_of
from lictor_prove.python.refusals import Unmodelled


@dataclass(frozen=True, slots=True)
class UnknownResult:
    """A row: for operands of these kinds, a value of this type."""

    operands: tuple[Group, ...]
    type: Type
    may_raise: bool = False
    optional: int = 0
    """How many of the last operands may be left out."""

    def fits(self, kinds: Sequence[Kind]) -> bool:
        """Whether operands of these kinds are those of the row."""
        least = len(self.operands) - self.optional
        return least <= len(kinds) <= len(self.operands) and all(
            kind in members(group) for kind, group in zip(kinds, self.operands, strict=False)
        )


def modelled(
    machine: Machine,
    operation: str,
    operands: Sequence[SymbolicValue],
    exact: Callable[[], SymbolicValue],
) -> SymbolicValue:
    """What the exact model says, or a declared unknown where it does not apply and the table has the operation."""
    if not machine.declares_unknowns:
        return exact()
    mark, atoms = machine.mark(), len(machine.atoms)
    try:
        return exact()
    except Unmodelled as refusal:
        if len(machine.atoms) != atoms:
            # What calls something is never left to a table.
            raise
        machine.go_back(mark)
        return unknown_result(machine, operation, operands, refusal)


def unknown_result(
    machine: Machine, operation: str, operands: Sequence[SymbolicValue], refusal: Unmodelled
) -> SymbolicValue:
    """A fresh unknown of the type that the table has; the refusal where it has none."""
    found = [
        _row(operation, kinds)
        for kinds in product(
            *([kind_of(machine, one) for _, one in machine.cases(each)] for each in operands)
        )
    ]
    first = found[0]
    if first is None or any(row is None or row.type != first.type for row in found):
        raise refusal
    may_raise = any(row.may_raise for row in found if row is not None)
    return fresh(
        machine,
        first.type,
        f"{operation} has no exact model here",
        operands,
        may_raise=may_raise,
    )


def fresh(
    machine: Machine,
    type_: Type,
    why: str,
    operands: Sequence[SymbolicValue],
    *,
    may_raise: bool = False,
) -> SymbolicValue:
    """A fresh unknown; a tuple of them where the type is one."""
    made_of = tuple(flows(machine, *operands))
    if isinstance(type_, TupleOf):
        return TupleV(
            tuple(unknown(machine, each, why, made_of, may_raise=may_raise) for each in type_.items)
        )
    value = unknown(machine, type_, why, made_of, may_raise=may_raise)
    if isinstance(type_, ListOf):
        # A list of the program's own: it may change it.
        held = sequence_of(machine, value)
        assert held is not None
        return made(machine, "list", held)
    return value


def _row(operation: str, kinds: Sequence[Kind]) -> UnknownResult | None:
    return next((row for row in RESULTS.get(operation, ()) if row.fits(kinds)), None)


def _row_of(
    type_: Type, *operands: Group, may_raise: bool = False, optional: int = 0
) -> tuple[UnknownResult, ...]:
    return (UnknownResult(operands, type_, may_raise, optional),)


_TEXT: Final = Kind.STR
_BOUND: Final = (*WHOLE, Kind.NONE)
_STRIPPED: Final = (Kind.STR, Kind.NONE)
_SHOWN: Final = (
    *NUMERIC,
    Kind.STR,
    Kind.NONE,
    Kind.LIST,
    Kind.TUPLE,
    Kind.DICT,
    *SETS,
    Kind.RANGE,
    Kind.INSTANCE,
)
"""Kinds whose text nothing but Python decides."""
_STRINGS: Final = ListOf(STR)

RESULTS: Final[dict[str, tuple[UnknownResult, ...]]] = {
    **{
        f"str.{name}": _row_of(STR, _TEXT)
        for name in ("capitalize", "casefold", "lower", "swapcase", "title", "upper")
    },
    **{
        f"str.{name}": _row_of(STR, _TEXT, _STRIPPED, optional=1)
        for name in ("strip", "lstrip", "rstrip")
    },
    **{
        f"str.{name}": _row_of(BOOL, _TEXT)
        for name in (
            *("isalnum", "isalpha", "isascii", "isdecimal", "isdigit", "isidentifier", "islower"),
            *("isnumeric", "isprintable", "isspace", "istitle", "isupper"),
        )
    },
    **{
        f"str.{name}": _row_of(STR, _TEXT, WHOLE, _TEXT, may_raise=True, optional=1)
        for name in ("center", "ljust", "rjust")
    },
    "str.zfill": _row_of(STR, _TEXT, WHOLE, may_raise=True),
    "str.expandtabs": _row_of(STR, _TEXT, WHOLE, may_raise=True, optional=1),
    "str.replace": _row_of(STR, _TEXT, _TEXT, _TEXT, WHOLE, may_raise=True, optional=1),
    "str.removeprefix": _row_of(STR, _TEXT, _TEXT),
    "str.removesuffix": _row_of(STR, _TEXT, _TEXT),
    "str.count": _row_of(INT, _TEXT, _TEXT, _BOUND, _BOUND, optional=2),
    "str.find": _row_of(INT, _TEXT, _TEXT, _BOUND, _BOUND, optional=2),
    "str.rfind": _row_of(INT, _TEXT, _TEXT, _BOUND, _BOUND, optional=2),
    "str.index": _row_of(INT, _TEXT, _TEXT, _BOUND, _BOUND, may_raise=True, optional=2),
    "str.rindex": _row_of(INT, _TEXT, _TEXT, _BOUND, _BOUND, may_raise=True, optional=2),
    "str.startswith": _row_of(BOOL, _TEXT, _TEXT, _BOUND, _BOUND, optional=2),
    "str.endswith": _row_of(BOOL, _TEXT, _TEXT, _BOUND, _BOUND, optional=2),
    "str.split": (
        UnknownResult((_TEXT,), _STRINGS),
        UnknownResult((_TEXT, Kind.NONE, WHOLE), _STRINGS, may_raise=True, optional=1),
        UnknownResult((_TEXT, _TEXT, WHOLE), _STRINGS, may_raise=True, optional=1),
    ),
    "str.rsplit": (
        UnknownResult((_TEXT,), _STRINGS),
        UnknownResult((_TEXT, _STRIPPED, WHOLE), _STRINGS, may_raise=True, optional=1),
    ),
    "str.splitlines": _row_of(_STRINGS, _TEXT, WHOLE, may_raise=True, optional=1),
    "str.partition": _row_of(TupleOf((STR, STR, STR)), _TEXT, _TEXT, may_raise=True),
    "str.rpartition": _row_of(TupleOf((STR, STR, STR)), _TEXT, _TEXT, may_raise=True),
    # Ints of too many digits have no text, nor has what holds them.
    **{
        name: (
            UnknownResult(((Kind.STR, Kind.NONE, Kind.BOOL, Kind.FLOAT),), STR),
            UnknownResult(((*_SHOWN, Kind.DEFAULTDICT, Kind.COUNTER),), STR, may_raise=True),
        )
        for name in ("str()", "repr()")
    },
    "int()": (
        UnknownResult((Kind.FLOAT,), INT, may_raise=True),
        UnknownResult((_TEXT, WHOLE), INT, may_raise=True, optional=1),
    ),
    "float()": _row_of(FLOAT, _TEXT, may_raise=True),
    "ord()": _row_of(INT, _TEXT, may_raise=True),
    "chr()": _row_of(STR, WHOLE, may_raise=True),
    "round()": (
        UnknownResult((Kind.FLOAT,), INT, may_raise=True),
        UnknownResult((Kind.FLOAT, WHOLE), FLOAT, may_raise=True),
        UnknownResult((WHOLE, WHOLE), INT, may_raise=True),
    ),
    "math.floor()": _row_of(INT, Kind.FLOAT, may_raise=True),
    "math.ceil()": _row_of(INT, Kind.FLOAT, may_raise=True),
    "math.trunc()": _row_of(INT, Kind.FLOAT, may_raise=True),
    "math.sqrt()": _row_of(FLOAT, NUMERIC, may_raise=True),
    "`/`": _row_of(FLOAT, NUMERIC, NUMERIC, may_raise=True),
    "`//`": (
        UnknownResult((WHOLE, WHOLE), INT, may_raise=True),
        UnknownResult((NUMERIC, NUMERIC), FLOAT, may_raise=True),
    ),
    "`%`": (
        UnknownResult((WHOLE, WHOLE), INT, may_raise=True),
        UnknownResult((NUMERIC, NUMERIC), FLOAT, may_raise=True),
        UnknownResult((_TEXT, _SHOWN), STR, may_raise=True),
    ),
    "`<<`": _row_of(INT, WHOLE, WHOLE, may_raise=True),
    "`>>`": _row_of(INT, WHOLE, WHOLE, may_raise=True),
    "`&`": _row_of(INT, WHOLE, WHOLE),
    "`|`": _row_of(INT, WHOLE, WHOLE),
    "`^`": _row_of(INT, WHOLE, WHOLE),
    "`*`": (
        UnknownResult((_TEXT, WHOLE), STR, may_raise=True),
        UnknownResult((WHOLE, _TEXT), STR, may_raise=True),
    ),
    "a slice": _row_of(STR, _TEXT, _BOUND, _BOUND, _BOUND, may_raise=True),
    "`in`": _row_of(
        BOOL, (*_SHOWN, Kind.ROW), (Kind.LIST, Kind.TUPLE, *KEYED, *SETS, Kind.ITERATOR)
    ),
    "order": (
        UnknownResult((Kind.TUPLE, Kind.TUPLE), BOOL, may_raise=True),
        UnknownResult((Kind.LIST, Kind.LIST), BOOL, may_raise=True),
        UnknownResult((SETS, SETS), BOOL),
    ),
    "`==`": (
        UnknownResult((Kind.TUPLE, Kind.TUPLE), BOOL),
        UnknownResult((Kind.LIST, Kind.LIST), BOOL),
        UnknownResult((DICTS, DICTS), BOOL),
        UnknownResult((SETS, SETS), BOOL),
        UnknownResult((Kind.INSTANCE, Kind.INSTANCE), BOOL),
    ),
}
"""By the names that messages have for operations; methods with their owner first."""
