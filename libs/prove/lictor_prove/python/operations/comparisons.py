"""Whether Python takes a value for true, and comparisons."""

from __future__ import annotations

import ast
from typing import Final

from lictor_ir.terms import FALSE, TRUE, Const, Term, apply, const, eq, not_, or_
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
    FunctionV,
    MatchV,
    MethodV,
    Opaque,
    PatternV,
    RangeV,
    Ref,
    SchemaV,
    SequenceV,
    Sym,
    SymbolicValue,
    TrustedV,
    TupleV,
    boolean,
    described,
)
from lictor_prove.python.operations import container_contents, containers
from lictor_prove.python.operations.equality import equal
from lictor_prove.python.refusals import Raises, refuse

NUMBERS: Final = (BOOL, INT, FLOAT)
_EMPTY: Final[dict[Type, Term]] = {INT: const(0), FLOAT: const(0.0), STR: const("")}


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
    match value:
        case Sym(term):
            return _term_truth(term)
        case TupleV(items):
            return const(bool(items))
        case Ref():
            return or_(*(entry.present for entry in container_contents.entries(machine, value)))
        case RangeV(held):
            return const(bool(held))
        case SequenceV() if value.keep is TRUE and value.reusable:
            return apply("lt", const(0), containers.length(machine, value))
        case FunctionV() | TrustedV() | MethodV() | MatchV() | PatternV() | SchemaV():
            return TRUE
        case _:
            refuse(
                "value.truth",
                f"whether {described(value)} is true can't be told",
                "Compare it with something that is known.",
            )


def _term_truth(term: Term) -> Term:
    if term.type == BOOL:
        return term
    if term.type == NONE:
        return FALSE
    if term.type in _EMPTY:
        return not_(eq(term, _EMPTY[term.type]))
    match term.type:
        case RowOf():
            return TRUE
        case TupleOf(items):
            return const(bool(items))
        case ListOf() | SetOf() | MapOf():
            return apply("lt", const(0), apply("len", term))
        case _:
            refuse(
                "value.truth",
                f"whether a value of type {term.type} is true can't be told",
                "Compare it with `==`.",
            )


# -- comparison ------------------------------------------------------------------------------------


def compare(machine: Machine, op: ast.cmpop, left: SymbolicValue, right: SymbolicValue) -> Term:
    """`left op right`."""
    match op:
        case ast.Is() | ast.IsNot():
            same = as_term(machine.each_pair(left, right, lambda a, b: boolean(_is(a, b))))
            return same if isinstance(op, ast.Is) else not_(same)
        case ast.In() | ast.NotIn():
            inside = as_term(
                machine.each_pair(
                    left, right, lambda a, b: boolean(containers.contains(machine, b, a))
                )
            )
            return inside if isinstance(op, ast.In) else not_(inside)
        case ast.Eq() | ast.NotEq():
            same = as_term(
                machine.each_pair(left, right, lambda a, b: boolean(equal(machine, a, b)))
            )
            return same if isinstance(op, ast.Eq) else not_(same)
        case ast.Lt():
            return less(machine, left, right)
        case ast.Gt():
            return less(machine, right, left)
        case ast.LtE():
            return less(machine, left, right, or_equal=True)
        case _:
            return less(machine, right, left, or_equal=True)


def _is(left: SymbolicValue, right: SymbolicValue) -> Term:
    for one, other in ((left, right), (right, left)):
        if isinstance(one, Sym) and isinstance(one.term, Const) and one.type in (NONE, BOOL):
            if not isinstance(other, Sym):
                if isinstance(other, Opaque):
                    break
                return FALSE
            if other.type == ANY:
                break
            return eq(one.term, other.term) if one.type == other.type else FALSE
    refuse(
        "operator.is",
        "`is` is supported with None, True and False only",
        "Use `==`, or `is None`.",
    )


def less(
    machine: Machine, left: SymbolicValue, right: SymbolicValue, *, or_equal: bool = False
) -> Term:
    """`left < right`, or `<=`."""
    op = "le" if or_equal else "lt"
    return as_term(machine.each_pair(left, right, lambda a, b: boolean(_less(machine, op, a, b))))


def _less(machine: Machine, op: str, left: SymbolicValue, right: SymbolicValue) -> Term:
    if isinstance(left, Sym) and isinstance(right, Sym):
        if left.type in NUMBERS and right.type in NUMBERS:
            return apply(op, whole(left.term), whole(right.term))
        if left.type == right.type == STR:
            return apply(op, left.term, right.term)
    known_left, known_right = (
        container_contents.known_value(machine, left),
        container_contents.known_value(machine, right),
    )
    if (
        known_left is not container_contents.UNKNOWN
        and known_right is not container_contents.UNKNOWN
    ):
        container_contents.without_nan(known_left)
        container_contents.without_nan(known_right)
        try:
            outcome = known_left <= known_right if op == "le" else known_left < known_right
        except TypeError as error:
            raise Raises("TypeError", str(error)) from error
        return const(bool(outcome))
    if _kind(left) != _kind(right) or _kind(left) in ("none", "function"):
        raise Raises("TypeError", f"{described(left)} and {described(right)} can't be ordered")
    refuse(
        "operator.order",
        f"the order of {described(left)} and {described(right)} is not supported",
        "Compare numbers or strings.",
    )


def whole(term: Term) -> Term:
    """A number; bools count as ints."""
    return apply("int_of_bool", term) if term.type == BOOL else term


def _kind(value: SymbolicValue) -> str:
    match value:
        case Sym():
            if value.type in NUMBERS:
                return "number"
            return str(value.type).partition("<")[0]
        case TupleV():
            return "tuple"
        case Ref():
            return "container"
        case FunctionV() | TrustedV() | MethodV():
            return "function"
        case _:
            return type(value).__name__
