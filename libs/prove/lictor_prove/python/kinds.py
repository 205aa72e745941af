"""What kind of object a value is in Python: the columns of every table of what there is on which value.

A kind is exact. Where a value's kind is known the running value is an instance of just that type, never of a subclass
of it; where it is not known the kind is `ANY`, and whoever finds no row for `ANY` in a table refuses.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Final, NoReturn, TypeVar, assert_never

from lictor_ir.types import (
    ANY,
    BOOL,
    FLOAT,
    INT,
    NONE,
    STR,
    EnumOf,
    ListOf,
    MapOf,
    OptionalOf,
    RowOf,
    Scalar,
    SetOf,
    TupleOf,
)
from lictor_ir.types import Type as TermType
from lictor_prove.python.machine.machine_state import Machine
from lictor_prove.python.machine.symbolic_values import (
    BuiltinV,
    ColumnV,
    ContractV,
    DataClassV,
    ErrorV,
    ForeignV,
    FunctionV,
    Hole,
    InstanceRef,
    InstanceV,
    LanguageV,
    LiteralV,
    MatchV,
    MethodV,
    ModuleV,
    ObjectHole,
    ObjectV,
    OnceV,
    Opaque,
    PatternV,
    Poison,
    RangeV,
    RecordV,
    Ref,
    SchemaV,
    SequenceV,
    Sym,
    SymbolicValue,
    TrustedV,
    TupleV,
    Unbound,
    UnionV,
    described,
)
from lictor_prove.python.refusals import Raises, refuse

T = TypeVar("T")


class Kind(StrEnum):
    """The type of a value, spelled as Python spells it where Python has one name for it."""

    NONE = "NoneType"
    BOOL = "bool"
    INT = "int"
    FLOAT = "float"
    STR = "str"
    TUPLE = "tuple"
    LIST = "list"
    DICT = "dict"
    DEFAULTDICT = "defaultdict"
    COUNTER = "Counter"
    SET = "set"
    FROZENSET = "frozenset"
    """Of a layer; programs can't make one."""
    RANGE = "range"
    KEYS = "dict_keys"
    VALUES = "dict_values"
    ITEMS = "dict_items"
    ITERATOR = "iterator"
    """What Python gives only once: `enumerate`, `reversed`, `zip`, a generator."""
    ROW = "row"
    ENUM = "enum member"
    PATTERN = "Pattern"
    MATCH = "Match"
    FUNCTION = "function"
    """A function or lambda of the program."""
    TRUSTED = "trusted function"
    BUILTIN = "builtin function"
    """Of Python, or of a modelled module; no class."""
    CLASS = "type"
    """A builtin that is a class: `int`, `range`."""
    METHOD = "method"
    MODULE = "module"
    ROW_CLASS = "row class"
    INSTANCE = "instance"
    """Of a dataclass of the program."""
    DATACLASS = "dataclass"
    CONTRACT = "contract"
    """A contract, or another name that stands in guarantees only."""
    COLUMN = "column"
    """A column of a row class, in a predicate of a layer."""
    EFFECT = "effect"
    """What a predicate of a layer speaks about."""
    DATE = "date"
    DATETIME = "datetime"
    TIME = "time"
    TIMEDELTA = "timedelta"
    TIMEZONE = "timezone"
    DECIMAL = "Decimal"
    FRACTION = "Fraction"
    TEMPLATE = "Template"
    BYTES = "bytes"
    HASH = "HASH"
    UUID = "UUID"
    URL = "ParseResult"
    JSON = "json"
    """What `json.loads` gave, or a part of it: a bool, number, string, list, dict or None."""
    FOREIGN = "foreign object"
    """An object of a layer that a predicate refers to."""
    ERROR = "error"
    """One that is being handled."""
    ANY = "any"
    """Something that is not known, or not looked at."""


NUMERIC: Final = (Kind.BOOL, Kind.INT, Kind.FLOAT)
WHOLE: Final = (Kind.BOOL, Kind.INT)
DICTS: Final = (Kind.DICT, Kind.DEFAULTDICT)
KEYED: Final = (*DICTS, Kind.COUNTER)
SETS: Final = (Kind.SET, Kind.FROZENSET)
VIEWS: Final = (Kind.KEYS, Kind.VALUES, Kind.ITEMS)
OBJECTS: Final = (
    *(Kind.DATE, Kind.DATETIME, Kind.TIME, Kind.TIMEDELTA, Kind.TIMEZONE, Kind.DECIMAL),
    *(Kind.FRACTION, Kind.TEMPLATE, Kind.BYTES, Kind.HASH, Kind.UUID, Kind.URL, Kind.JSON),
)
"""Objects of the standard library, of which its table says what there is (`lictor_prove.python.library`)."""

OPEN: Final = frozenset(
    {
        *OBJECTS,
        Kind.ANY,
        Kind.COUNTER,
        Kind.ENUM,
        Kind.ROW,
        Kind.CLASS,
        Kind.ROW_CLASS,
        Kind.DATACLASS,
        Kind.CONTRACT,
        Kind.COLUMN,
        Kind.EFFECT,
        Kind.FOREIGN,
        Kind.ERROR,
    }
)
"""Kinds that may have operations which no documentation of Python tells: what a table lacks of them is refused, and
never taken for an error."""


def undefined(machine: Machine, operation: str, *values: SymbolicValue) -> NoReturn:
    """What no table has: refused where it may exist all the same, else the TypeError that Python raises."""
    for value in values:
        if kind_of(machine, value) in OPEN:
            refuse(
                "value.opaque",
                f"{operation} of {described(value)} is outside the subset",
                "Only pass it on, or compare it with `==`.",
            )
    kinds = " and ".join(kind_of(machine, value) for value in values)
    raise Raises("TypeError", f"{operation} is not defined for {kinds}")


def entry_of(machine: Machine, table: Mapping[Kind, T], operation: str, value: SymbolicValue) -> T:
    """What the table has for the kind of a value."""
    found = table.get(kind_of(machine, value))
    if found is None:
        undefined(machine, operation, value)
    return found


def entry_of_pair(
    machine: Machine,
    table: Mapping[tuple[Kind, Kind], T],
    operation: str,
    left: SymbolicValue,
    right: SymbolicValue,
) -> T:
    """What the table has for the kinds of two operands."""
    found = table.get((kind_of(machine, left), kind_of(machine, right)))
    if found is None:
        undefined(machine, operation, left, right)
    return found


Group = Kind | Iterable[Kind]


def members(group: Group) -> tuple[Kind, ...]:
    """The kinds of a group."""
    return (group,) if isinstance(group, Kind) else tuple(group)


def by_kind(rows: Mapping[Kind | tuple[Kind, ...], T]) -> dict[Kind, T]:
    """A table whose rows may stand for several kinds, one row for each."""
    found = dict[Kind, T]()
    for group, entry in rows.items():
        for kind in members(group):
            found.setdefault(kind, entry)
    return found


def by_pair(rows: Iterable[tuple[Group, Group, T]]) -> dict[tuple[Kind, Kind], T]:
    """The same for two operands; the first row that fits a pair is taken."""
    found = dict[tuple[Kind, Kind], T]()
    for left, right, entry in rows:
        for one in members(left):
            for other in members(right):
                found.setdefault((one, other), entry)
    return found


_SCALARS: Final[dict[TermType, Kind]] = {
    NONE: Kind.NONE,
    BOOL: Kind.BOOL,
    INT: Kind.INT,
    FLOAT: Kind.FLOAT,
    STR: Kind.STR,
    ANY: Kind.ANY,
}

CLASSES: Final = frozenset(
    {
        "bool",
        "dict",
        "enumerate",
        "float",
        "int",
        "list",
        "range",
        "reversed",
        "set",
        "str",
        "tuple",
        "zip",
    }
)
"""Builtins that are classes."""


def kind_of(machine: Machine, value: SymbolicValue) -> Kind:
    """What the value is. Nothing is known of a union: ask for each alternative (`machine.each`)."""
    match value:
        case Sym():
            return kind_of_type(value.type)
        case Ref():
            return Kind(machine.stored(value).kind)
        case SequenceV() | OnceV() | ObjectV():
            return Kind(value.kind)
        case BuiltinV(name):
            return Kind.CLASS if name in CLASSES else Kind.BUILTIN
        case Opaque():
            return Kind.ANY
        case _:
            # No default: a new class of values has to say here what it is.
            return KINDS[type(value)]


KINDS: Final[dict[type[SymbolicValue], Kind]] = {
    TupleV: Kind.TUPLE,
    InstanceV: Kind.INSTANCE,
    InstanceRef: Kind.INSTANCE,
    DataClassV: Kind.DATACLASS,
    RangeV: Kind.RANGE,
    PatternV: Kind.PATTERN,
    MatchV: Kind.MATCH,
    FunctionV: Kind.FUNCTION,
    TrustedV: Kind.TRUSTED,
    MethodV: Kind.METHOD,
    ModuleV: Kind.MODULE,
    SchemaV: Kind.ROW_CLASS,
    ContractV: Kind.CONTRACT,
    LanguageV: Kind.CONTRACT,
    LiteralV: Kind.CONTRACT,
    ColumnV: Kind.COLUMN,
    RecordV: Kind.EFFECT,
    ForeignV: Kind.FOREIGN,
    ErrorV: Kind.ERROR,
    UnionV: Kind.ANY,
    Unbound: Kind.ANY,
    Poison: Kind.ANY,
    Hole: Kind.ANY,
    ObjectHole: Kind.ANY,
}


def kind_of_type(type_: TermType) -> Kind:
    """What a value of a type of the format is in Python."""
    match type_:
        case Scalar():
            # No value of a program has the types `real` and `never`.
            return _SCALARS.get(type_, Kind.ANY)
        case ListOf():
            return Kind.LIST
        case TupleOf():
            return Kind.TUPLE
        case SetOf():
            return Kind.SET
        case MapOf():
            return Kind.DICT
        case OptionalOf():
            return Kind.ANY
        case RowOf():
            return Kind.ROW
        case EnumOf():
            return Kind.ENUM
        case _:
            assert_never(type_)
