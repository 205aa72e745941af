"""Equality, once: Python's `==`, and the one that containers use, which takes an object for equal to itself.

The two differ for NaN only. A float that may be NaN is therefore compared inside a container only with what is known
not to be; otherwise the program is refused, for terms don't say which object a float is.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final, NoReturn

from lictor_ir.terms import FALSE, TRUE, Const, Term, and_, apply, const, eq, not_, or_
from lictor_ir.types import ANY, BOOL, FLOAT, Type
from lictor_prove.python.kinds import DICTS, KEYED, NUMERIC, SETS, Kind, by_kind, by_pair, kind_of
from lictor_prove.python.machine.machine_state import Machine
from lictor_prove.python.machine.symbolic_values import (
    ColumnV,
    ContainerItem,
    Content,
    InstanceRef,
    InstanceV,
    ObjectV,
    RangeV,
    Ref,
    SequenceV,
    Sym,
    SymbolicValue,
    TupleV,
    UnionV,
    boolean,
    described,
)
from lictor_prove.python.operations import instances
from lictor_prove.python.operations.container_contents import configurations, term_of
from lictor_prove.python.refusals import unmodelled

Equality = Callable[[Machine, SymbolicValue, SymbolicValue], Term]


def equal(machine: Machine, left: SymbolicValue, right: SymbolicValue) -> Term:
    """`left == right`."""
    one, other = kind_of(machine, left), kind_of(machine, right)
    if (function := EQUALITY.get((one, other))) is not None:
        return function(machine, left, right)
    if (function := EQUALITY.get((other, one))) is not None:
        return function(machine, right, left)
    if one in FAMILIES and other in FAMILIES and FAMILIES[one] != FAMILIES[other]:
        return FALSE
    _cannot(left, right)


def _cannot(left: SymbolicValue, right: SymbolicValue) -> NoReturn:
    unmodelled(
        "operator.equality",
        f"whether {described(left)} equals {described(right)} can't be told",
        "Compare scalars, lists, tuples, dicts or sets.",
    )


def _numbers(_: Machine, left: SymbolicValue, right: SymbolicValue) -> Term:
    one, other = _term(left), _term(right)
    if one.type != other.type:
        one, other = (
            apply("int_of_bool", term) if term.type == BOOL else term for term in (one, other)
        )
    return eq(one, other)


def _scalars(_: Machine, left: SymbolicValue, right: SymbolicValue) -> Term:
    return eq(_term(left), _term(right))


def _rows(_: Machine, left: SymbolicValue, right: SymbolicValue) -> Term:
    one, other = _term(left), _term(right)
    # Rows of different classes are never equal, whatever their columns are.
    return eq(one, other) if one.type == other.type else FALSE


def _members(_: Machine, left: SymbolicValue, right: SymbolicValue) -> Term:
    one, other = _term(left), _term(right)
    if one.type != other.type:
        # Both may be strings.
        _cannot(left, right)
    return eq(one, other)


def _containers(machine: Machine, left: SymbolicValue, right: SymbolicValue) -> Term:
    match left, right:
        case Ref(), Ref():
            return _contents(machine, left, right)
        case TupleV(), TupleV():
            return _items(machine, left.items, right.items)
        case (SequenceV(), _) | (_, SequenceV()):
            _cannot(left, right)
        case _:
            return eq(term_of(machine, left), term_of(machine, right))


def _instances(machine: Machine, left: SymbolicValue, right: SymbolicValue) -> Term:
    one, other = (
        each if isinstance(each, InstanceV | InstanceRef) else _cannot(left, right)
        for each in (left, right)
    )
    # Instances of different classes are never equal, whatever their fields hold.
    if one.made is not other.made:
        return FALSE
    machine.step()
    return _items(machine, instances.values(machine, one), instances.values(machine, other))


def _ranges(_: Machine, left: SymbolicValue, right: SymbolicValue) -> Term:
    if not isinstance(left, RangeV) or not isinstance(right, RangeV):
        _cannot(left, right)
    return const(left.known == right.known)


def _anything(machine: Machine, left: SymbolicValue, right: SymbolicValue) -> Term:
    if not isinstance(left, Sym) or not isinstance(right, Sym | Ref | TupleV):
        _cannot(left, right)
    return eq(left.term, term_of(machine, right))


def _column(_: Machine, left: SymbolicValue, right: SymbolicValue) -> Term:
    column, value = (left, right) if isinstance(left, ColumnV) else (right, left)
    if not isinstance(column, ColumnV) or not isinstance(value, Sym):
        _cannot(left, right)
    return apply("from", value.term, param=f"{column.schema}.{column.column}")


def _term(value: SymbolicValue) -> Term:
    assert isinstance(value, Sym)
    return value.term


EQUALITY: Final[dict[tuple[Kind, Kind], Equality]] = by_pair(
    [
        (Kind.COLUMN, Kind, _column),
        (Kind, Kind.COLUMN, _column),
        (Kind.ANY, Kind, _anything),
        (NUMERIC, NUMERIC, _numbers),
        (Kind.STR, Kind.STR, _scalars),
        (Kind.NONE, Kind.NONE, _scalars),
        (Kind.TUPLE, Kind.TUPLE, _containers),
        (Kind.LIST, Kind.LIST, _containers),
        (DICTS, DICTS, _containers),
        (SETS, SETS, _containers),
        (Kind.RANGE, Kind.RANGE, _ranges),
        (Kind.ROW, Kind.ROW, _rows),
        (Kind.ENUM, Kind.ENUM, _members),
        (Kind.INSTANCE, Kind.INSTANCE, _instances),
    ]
)
"""Equality of two kinds, in either order."""

FAMILIES: Final = by_kind(
    {
        Kind.NONE: "none",
        NUMERIC: "number",
        Kind.STR: "string",
        Kind.TUPLE: "tuple",
        Kind.LIST: "list",
        KEYED: "dict",
        (*SETS, Kind.KEYS, Kind.ITEMS): "set",
        Kind.VALUES: "values",
        Kind.RANGE: "range",
        Kind.ITERATOR: "iterator",
        Kind.ROW: "row",
        Kind.INSTANCE: "instance",
        Kind.PATTERN: "pattern",
        Kind.MATCH: "match",
        (
            Kind.FUNCTION,
            Kind.TRUSTED,
            Kind.BUILTIN,
            Kind.CLASS,
            Kind.METHOD,
            Kind.MODULE,
            Kind.ROW_CLASS,
            Kind.DATACLASS,
        ): "code",
    }
)
"""Values of different families are never equal. A kind that is not here may equal anything: the members of an enum can
be strings."""


# -- inside containers -----------------------------------------------------------------------------


def same(machine: Machine, left: SymbolicValue, right: SymbolicValue) -> Term:
    """Whether a container takes the two for equal: one object, or equal."""

    def of(one: SymbolicValue, other: SymbolicValue) -> SymbolicValue:
        if isinstance(one, ColumnV) or isinstance(other, ColumnV):
            _cannot(one, other)
        if (
            isinstance(one, Sym)
            and isinstance(other, Sym)
            and not _comparable(one.term, other.term)
        ):
            unmodelled(
                "float.identity",
                "a float that may be NaN is looked for in a container: NaN equals nothing, but is found where it is"
                " the same object",
                "Compare floats with `==`, one by one.",
            )
        return boolean(equal(machine, one, other))

    found = machine.each_pair(left, right, of)
    assert isinstance(found, Sym)
    return found.term


def _comparable(left: Term, right: Term) -> bool:
    if _has_float(left.type) and _has_float(right.type):
        return _not_nan(left) or _not_nan(right)
    return True


def _has_float(type_: Type) -> bool:
    return type_ in (FLOAT, ANY)


def _not_nan(term: Term) -> bool:
    return isinstance(term, Const) and not (
        isinstance(term.value, float) and math.isnan(term.value)
    )


def _items(
    machine: Machine, left: tuple[SymbolicValue, ...], right: tuple[SymbolicValue, ...]
) -> Term:
    if len(left) != len(right):
        # Of tuples Python compares the items all the same, up to the first that differ.
        both = (TupleV(left), TupleV(right))
        if any(_holds_decimal(machine, each) for each in both):
            _cannot(*both)
        return FALSE
    return and_(*(same(machine, one, other) for one, other in zip(left, right, strict=True)))


def _holds_decimal(machine: Machine, value: SymbolicValue) -> bool:
    """Whether something in it may be a Decimal: comparing that may raise."""
    match value:
        case ObjectV(kind):
            return kind == Kind.DECIMAL
        case UnionV(options):
            return any(_holds_decimal(machine, one) for _, one in options)
        case TupleV(items):
            return any(_holds_decimal(machine, item) for item in items)
        case SequenceV():
            return _holds_decimal(machine, value.item)
        case Ref():
            machine.step()
            held = machine.stored(value).held
            if isinstance(held, SequenceV):
                return _holds_decimal(machine, held.item)
            return any(_holds_decimal(machine, entry.value) for entry in held)
        case _:
            return False


def _contents(machine: Machine, left: Ref, right: Ref) -> Term:
    if left.id == right.id and left.id not in machine.pools:
        return TRUE
    machine.step()
    one, other = machine.content(left), machine.content(right)
    if one.kind == "list":
        return _lists(machine, one, other)
    keyed = one.is_dict
    return and_(
        *(_found(machine, entry, other, keyed=keyed) for entry in one.entries),
        *(_found(machine, entry, one, keyed=False, by_key=keyed) for entry in other.entries),
    )


def _found(
    machine: Machine, entry: ContainerItem, content: Content, *, keyed: bool, by_key: bool = False
) -> Term:
    """Where the entry is present, so is its like in the other container."""
    alike: list[Term] = []
    for other in content.entries:
        if keyed or by_key:
            assert entry.key is not None
            assert other.key is not None
            here = same(machine, entry.key, other.key)
            if keyed and here is not FALSE:
                here = and_(here, same(machine, entry.value, other.value))
        else:
            here = same(machine, entry.value, other.value)
        alike.append(and_(other.present, here))
    return or_(not_(entry.present), *alike)


def _lists(machine: Machine, left: Content, right: Content) -> Term:
    options: list[Term] = []
    for one_guard, one in configurations(machine, left):
        for other_guard, other in configurations(machine, right):
            if len(one) == len(other):
                items = _items(machine, tuple(e.value for e in one), tuple(e.value for e in other))
                options.append(and_(one_guard, other_guard, items))
    return or_(*options)
