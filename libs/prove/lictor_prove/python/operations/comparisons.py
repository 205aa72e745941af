"""Whether Python takes a value for true, and comparisons."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Final, NoReturn

from lictor_ir.terms import FALSE, TRUE, Term, apply, const, eq, not_, or_
from lictor_ir.types import BOOL, FLOAT, INT, STR, Type
from lictor_prove.python.kinds import (
    KEYED,
    NUMERIC,
    SETS,
    Kind,
    by_kind,
    by_pair,
    entry_of_pair,
    kind_of,
    undefined,
)
from lictor_prove.python.library import unknown_members
from lictor_prove.python.machine.machine_state import Machine
from lictor_prove.python.machine.symbolic_values import (
    InstanceRef,
    ObjectV,
    Ref,
    SequenceV,
    Sym,
    SymbolicValue,
    boolean,
    described,
    is_known,
)
from lictor_prove.python.operations import container_contents, containers
from lictor_prove.python.operations.equality import equal
from lictor_prove.python.operations.unknown.results import modelled
from lictor_prove.python.refusals import Raises, refuse, unmodelled

NUMBERS: Final = (BOOL, INT, FLOAT)
"""The types of terms that are numbers."""


# -- truth -----------------------------------------------------------------------------------------


def truth(machine: Machine, value: SymbolicValue) -> Term:
    """Whether Python takes the value for true."""
    if isinstance(value, Sym) and value.type == BOOL:
        return value.term
    return as_term(machine.each(value, lambda one: boolean(_truth(machine, one))))


def as_term(value: SymbolicValue) -> Term:
    """The term of what is known to be one."""
    assert isinstance(value, Sym)
    return value.term


def _truth(machine: Machine, value: SymbolicValue) -> Term:
    if isinstance(value, ObjectV):
        return unknown_members.either_way(machine, "whether an object is true has no model", value)
    function = TRUTH.get(kind_of(machine, value))
    if function is None:
        _untold(value)
    return function(machine, value)


def _untold(value: SymbolicValue) -> NoReturn:
    refuse(
        "value.truth",
        f"whether {described(value)} is true can't be told",
        "Compare it with something that is known.",
    )


def _not_zero(_: Machine, value: SymbolicValue) -> Term:
    term = as_term(value)
    return not_(eq(term, _ZEROS[term.type]))


def _not_empty(machine: Machine, value: SymbolicValue) -> Term:
    if isinstance(value, Ref) and not isinstance(machine.content(value).held, SequenceV):
        return or_(*(entry.present for entry in container_contents.entries(machine, value)))
    if isinstance(value, SequenceV) and value.keep is not TRUE and value.picked is None:
        _untold(value)
    return apply("lt", const(0), containers.length(machine, value))


_ZEROS: Final[dict[Type, Term]] = {INT: const(0), FLOAT: const(0.0), STR: const("")}

ALWAYS_TRUE: Final = (
    Kind.ROW,
    Kind.INSTANCE,
    Kind.PATTERN,
    Kind.MATCH,
    Kind.FUNCTION,
    Kind.TRUSTED,
    Kind.METHOD,
    Kind.ROW_CLASS,
    Kind.DATACLASS,
)
TRUTH: Final[dict[Kind, Callable[[Machine, SymbolicValue], Term]]] = by_kind(
    {
        Kind.NONE: lambda _, __: FALSE,
        Kind.BOOL: lambda _, value: as_term(value),
        (Kind.INT, Kind.FLOAT, Kind.STR): _not_zero,
        (Kind.TUPLE, Kind.LIST, *KEYED, *SETS): _not_empty,
        # A range knows that it is not empty also where len() can't say how long it is.
        Kind.RANGE: lambda _, value: apply("lt", const(0), containers.range_size(value)),
        ALWAYS_TRUE: lambda _, __: TRUE,
    }
)


# -- comparison ------------------------------------------------------------------------------------


def compare(machine: Machine, op: ast.cmpop, left: SymbolicValue, right: SymbolicValue) -> Term:
    """`left op right`."""
    return _COMPARISONS[type(op)](machine, left, right)


Relation = Callable[[Machine, SymbolicValue, SymbolicValue], Term]


def _pairwise(relation: Relation) -> Relation:
    return lambda machine, left, right: as_term(
        machine.each_pair(left, right, lambda a, b: boolean(relation(machine, a, b)))
    )


def _negated(relation: Relation) -> Relation:
    return lambda machine, left, right: not_(relation(machine, left, right))


def _is(machine: Machine, left: SymbolicValue, right: SymbolicValue) -> Term:
    for one, other in ((left, right), (right, left)):
        kind, another = kind_of(machine, one), kind_of(machine, other)
        if another == Kind.JSON and kind in _SINGLE and is_known(one):
            return unknown_members.either_way(machine, "what JSON holds has no model", other)
        if kind in _SINGLE and is_known(one) and another != Kind.ANY:
            return eq(as_term(one), as_term(other)) if kind == another else FALSE
    if isinstance(left, InstanceRef) and isinstance(right, InstanceRef):
        if left.id != right.id:
            # One that stands for many is none of those that the program still has by another name.
            return FALSE
        if left.id not in machine.bags:
            return TRUE
    refuse(
        "operator.is",
        "`is` is supported with None, True and False only",
        "Use `==`, or `is None`.",
    )


_SINGLE: Final = (Kind.NONE, Kind.BOOL)
"""Kinds whose equal values are one object."""


Order = Callable[[Machine, str, SymbolicValue, SymbolicValue], Term]


def less(
    machine: Machine, left: SymbolicValue, right: SymbolicValue, *, or_equal: bool = False
) -> Term:
    """`left < right`, or `<=`."""
    op = "le" if or_equal else "lt"
    return as_term(machine.each_pair(left, right, lambda a, b: boolean(_less(machine, op, a, b))))


def _less(machine: Machine, op: str, left: SymbolicValue, right: SymbolicValue) -> Term:
    if isinstance(left, ObjectV) or isinstance(right, ObjectV):
        found = unknown_members.operation(machine, "order", [left, right])
        return as_term(found or undefined(machine, "order", left, right))
    order = entry_of_pair(machine, ORDER, "order", left, right)
    return as_term(
        modelled(machine, "order", [left, right], lambda: boolean(order(machine, op, left, right)))
    )


def _ordered(_: Machine, op: str, left: SymbolicValue, right: SymbolicValue) -> Term:
    return apply(op, whole(as_term(left)), whole(as_term(right)))


def _by_python(machine: Machine, op: str, left: SymbolicValue, right: SymbolicValue) -> Term:
    one = container_contents.known_value(machine, left)
    other = container_contents.known_value(machine, right)
    if container_contents.UNKNOWN in (one, other):
        _unordered(machine, op, left, right)
    container_contents.without_nan(one)
    container_contents.without_nan(other)
    try:
        return const(one <= other if op == "le" else one < other)
    except TypeError as error:
        raise Raises("TypeError", str(error)) from error


def _unordered(_: Machine, __: str, left: SymbolicValue, right: SymbolicValue) -> NoReturn:
    unmodelled(
        "operator.order",
        f"the order of {described(left)} and {described(right)} is not supported",
        "Compare numbers or strings.",
    )


ORDER: Final[dict[tuple[Kind, Kind], Order]] = by_pair(
    [
        (NUMERIC, NUMERIC, _ordered),
        (Kind.STR, Kind.STR, _ordered),
        (Kind.TUPLE, Kind.TUPLE, _by_python),
        (Kind.LIST, Kind.LIST, _by_python),
        (SETS, SETS, _by_python),
        ((Kind.KEYS, Kind.ITEMS), (*SETS, Kind.KEYS, Kind.ITEMS), _unordered),
        (SETS, (Kind.KEYS, Kind.ITEMS), _unordered),
    ]
)


def _equal(machine: Machine, left: SymbolicValue, right: SymbolicValue) -> Term:
    if isinstance(left, ObjectV) or isinstance(right, ObjectV):
        return unknown_members.equal(machine, left, right)
    return as_term(
        modelled(machine, "`==`", [left, right], lambda: boolean(equal(machine, left, right)))
    )


_EQUAL: Final = _pairwise(_equal)


def _in(machine: Machine, item: SymbolicValue, held: SymbolicValue) -> Term:
    if isinstance(item, ObjectV) or isinstance(held, ObjectV):
        found = unknown_members.operation(machine, "`in`", [item, held])
        return as_term(found or undefined(machine, "`in`", item, held))
    return as_term(
        modelled(
            machine, "`in`", [item, held], lambda: boolean(containers.contains(machine, held, item))
        )
    )


_IN: Final = _pairwise(_in)
_COMPARISONS: Final[dict[type[ast.cmpop], Relation]] = {
    ast.Is: _pairwise(_is),
    ast.IsNot: _negated(_pairwise(_is)),
    ast.In: _IN,
    ast.NotIn: _negated(_IN),
    ast.Eq: _EQUAL,
    ast.NotEq: _negated(_EQUAL),
    ast.Lt: less,
    ast.LtE: lambda machine, left, right: less(machine, left, right, or_equal=True),
    ast.Gt: lambda machine, left, right: less(machine, right, left),
    ast.GtE: lambda machine, left, right: less(machine, right, left, or_equal=True),
}


def whole(term: Term) -> Term:
    """A number; bools count as ints."""
    return apply("int_of_bool", term) if term.type == BOOL else term
