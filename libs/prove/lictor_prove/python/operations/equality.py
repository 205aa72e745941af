"""Equality, once: Python's `==`, and the one that containers use, which takes an object for equal to itself.

The two differ for NaN only. A float that may be NaN is therefore compared inside a container only with what is known
not to be; otherwise the program is refused, for terms don't say which object a float is.
"""

from __future__ import annotations

import math
from typing import NoReturn

from lictor_ir.terms import FALSE, TRUE, Const, Term, and_, apply, eq, not_, or_
from lictor_ir.types import (
    ANY,
    BOOL,
    FLOAT,
    INT,
    NONE,
    STR,
    ListOf,
    MapOf,
    RowOf,
    SetOf,
    TupleOf,
    Type,
)
from lictor_prove.python.machine.machine_state import Machine
from lictor_prove.python.machine.symbolic_values import (
    BuiltinV,
    ColumnV,
    ContainerItem,
    Content,
    ContractV,
    FunctionV,
    MatchV,
    MethodV,
    ModuleV,
    Opaque,
    PatternV,
    RangeV,
    Ref,
    SchemaV,
    Sym,
    SymbolicValue,
    TrustedV,
    TupleV,
    boolean,
    described,
)
from lictor_prove.python.operations.container_contents import configurations, term_of
from lictor_prove.python.refusals import refuse

_NUMBERS = (BOOL, INT, FLOAT)
_NO_TERMS = (
    BuiltinV,
    FunctionV,
    MatchV,
    MethodV,
    ModuleV,
    PatternV,
    RangeV,
    SchemaV,
    TrustedV,
)
"""Values that no term equals."""


def equal(machine: Machine, left: SymbolicValue, right: SymbolicValue) -> Term:
    """`left == right`."""
    match left, right:
        case Sym(), Sym():
            return _terms(left.term, right.term)
        case (ColumnV(), Sym()) | (Sym(), ColumnV()):
            column, value = (left, right) if isinstance(left, ColumnV) else (right, left)
            assert isinstance(column, ColumnV)
            assert isinstance(value, Sym)
            return apply("from", value.term, param=f"{column.schema}.{column.column}")
        case Ref(), Ref():
            return _contents(machine, left, right)
        case TupleV(), TupleV():
            return _items(machine, left.items, right.items)
        case RangeV(one), RangeV(other):
            return TRUE if one == other else FALSE
        case (Opaque() | ContractV(), _) | (_, Opaque() | ContractV()):
            _cannot(left, right)
        case (Sym(), Ref() | TupleV()) | (Ref() | TupleV(), Sym()):
            return _with_term(machine, left, right)
        case (Ref() | TupleV() | RangeV(), Ref() | TupleV() | RangeV()):
            return FALSE
        case (Sym(), _) | (_, Sym()):
            term, other = (left, right) if isinstance(left, Sym) else (right, left)
            assert isinstance(term, Sym)
            # A list that was made from one of unknown length is none of these: it may well be equal.
            if term.type != ANY and isinstance(other, _NO_TERMS):
                return FALSE
            _cannot(left, right)
        case _:
            _cannot(left, right)


def _cannot(left: SymbolicValue, right: SymbolicValue) -> NoReturn:
    refuse(
        "operator.equality",
        f"whether {described(left)} equals {described(right)} can't be told",
        "Compare scalars, lists, tuples, dicts or sets.",
    )


def _terms(left: Term, right: Term) -> Term:
    one, other = left.type, right.type
    if ANY in (one, other):
        return eq(left, right)
    if one in _NUMBERS and other in _NUMBERS:
        if one != other and BOOL in (one, other):
            left = apply("int_of_bool", left) if one == BOOL else left
            right = apply("int_of_bool", right) if other == BOOL else right
        return eq(left, right)
    if one == other and one in (STR, NONE):
        return eq(left, right)
    if _family(one) != _family(other):
        return FALSE
    return eq(left, right)


def _family(type_: Type) -> str:
    if type_ in _NUMBERS:
        return "number"
    return str(type_) if isinstance(type_, RowOf) else str(type_).partition("<")[0]


def _with_term(machine: Machine, left: SymbolicValue, right: SymbolicValue) -> Term:
    held, made = (left, right) if isinstance(left, Sym) else (right, left)
    assert isinstance(held, Sym)
    if isinstance(made, TupleV):
        fits = isinstance(held.type, TupleOf)
    else:
        assert isinstance(made, Ref)
        wanted = {"list": ListOf, "dict": MapOf, "set": SetOf}[machine.content(made).kind]
        fits = isinstance(held.type, wanted)
    if not fits and held.type != ANY:
        return FALSE
    return eq(held.term, term_of(machine, made))


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
            refuse(
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
        return FALSE
    return and_(*(same(machine, one, other) for one, other in zip(left, right, strict=True)))


def _contents(machine: Machine, left: Ref, right: Ref) -> Term:
    if left.id == right.id:
        return TRUE
    machine.step()
    one, other = machine.content(left), machine.content(right)
    if one.kind != other.kind:
        return FALSE
    if one.kind == "list":
        return _lists(machine, one, other)
    keyed = one.kind == "dict"
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
