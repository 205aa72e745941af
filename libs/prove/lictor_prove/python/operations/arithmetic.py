"""Operators on values, exactly as Python has them.

An operation that may raise is an obligation that it does not; one that raises for these types is `Raises`. What the
format has no operator for is computed by Python itself when the operands are known, and refused otherwise.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any, Final, NoReturn

from lictor_ir.terms import FALSE, App, Const, Term, and_, apply, const, eq, ite, not_, or_
from lictor_ir.types import (
    ANY,
    BOOL,
    FLOAT,
    INT,
    STR,
)
from lictor_prove.python.machine.machine_state import Machine
from lictor_prove.python.machine.symbolic_values import (
    ContractV,
    Opaque,
    Sym,
    SymbolicValue,
    boolean,
    described,
    is_known,
    known,
    known_scalar,
)
from lictor_prove.python.operations import containers
from lictor_prove.python.operations.comparisons import NUMBERS, whole
from lictor_prove.python.refusals import MAX_ITERATIONS, MAX_TEXT, Raises, refuse

EXACT: Final = 2**53
"""Up to here every int is a float, and dividing two of them as floats rounds once, as Python does."""
MAX_EXPONENT: Final = 64

SYMBOLS: Final[dict[type[ast.operator], str]] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.Pow: "**",
    ast.LShift: "<<",
    ast.RShift: ">>",
    ast.BitOr: "|",
    ast.BitAnd: "&",
    ast.BitXor: "^",
}

_PYTHON: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "//": lambda a, b: a // b,
    "%": lambda a, b: a % b,
    "**": lambda a, b: a**b,
    "<<": lambda a, b: a << b,
    ">>": lambda a, b: a >> b,
    "|": lambda a, b: a | b,
    "&": lambda a, b: a & b,
    "^": lambda a, b: a ^ b,
    "/": lambda a, b: a / b,
}


# -- arithmetic ------------------------------------------------------------------------------------


def binary(
    machine: Machine, op: ast.operator, left: SymbolicValue, right: SymbolicValue
) -> SymbolicValue:
    """`left op right`."""
    symbol = SYMBOLS[type(op)]
    return machine.each_pair(left, right, lambda a, b: _binary(machine, symbol, a, b))


def _binary(machine: Machine, op: str, left: SymbolicValue, right: SymbolicValue) -> SymbolicValue:
    for operand in (left, right):
        if isinstance(operand, Opaque | ContractV) or (
            isinstance(operand, Sym) and operand.type == ANY
        ):
            refuse(
                "value.opaque",
                f"{described(operand)} can't be computed with",
                "Only pass it on, or compare it with `==`.",
            )
    if isinstance(left, Sym) and isinstance(right, Sym):
        if left.type in NUMBERS and right.type in NUMBERS:
            return _numbers(machine, op, left, right)
        if op == "+" and left.type == right.type == STR:
            return concat(left.term, right.term)
    if op == "*":
        for repeated, count in ((left, right), (right, left)):
            if isinstance(count, Sym) and count.type in (INT, BOOL):
                return _repeated(machine, repeated, count)
    if op == "%" and isinstance(left, Sym) and left.type == STR:
        refuse("string.percent", "`%` formatting is outside the subset", 'Use an f-string: f"{x}".')
    return containers.combined(machine, op, left, right)


def concat(*parts: Term) -> Sym:
    """The strings after each other."""
    many = sum(
        len(part.args) if isinstance(part, App) and part.op == "concat" else 1 for part in parts
    )
    if many > MAX_ITERATIONS:
        _too_large()
    return Sym(apply("concat", *parts))


def _too_large() -> NoReturn:
    refuse(
        "limits.term",
        "a value here grows beyond what is read",
        "Compute less at once; doubling in a loop grows very fast.",
    )


def _repeated(machine: Machine, value: SymbolicValue, count: Sym) -> SymbolicValue:
    times = _known_int(count)
    if times is None:
        refuse(
            "operator.repeat",
            "repeating by a number that is not known is not supported",
            "Repeat by a number that is written out.",
        )
    times = max(times, 0)
    if isinstance(value, Sym) and value.type == STR:
        size = (
            len(value.term.value)
            if isinstance(value.term, Const) and isinstance(value.term.value, str)
            else 1
        )
        if times * size > MAX_TEXT:
            _too_large()
        if isinstance(value.term, Const):
            return known(str(value.term.value) * times)
        return concat(*[value.term] * times) if times else known("")
    return containers.repeated(machine, value, times)


def _known_int(value: Sym) -> int | None:
    held = value.term.value if isinstance(value.term, Const) else None
    return int(held) if isinstance(held, int) else None


def _numbers(machine: Machine, op: str, left: Sym, right: Sym) -> SymbolicValue:
    if left.type == right.type == BOOL and op in ("&", "|", "^"):
        a, b = left.term, right.term
        return boolean(and_(a, b) if op == "&" else or_(a, b) if op == "|" else not_(eq(a, b)))
    a, b = whole(left.term), whole(right.term)
    if op in ("<<", ">>", "&", "|", "^"):
        return _by_python(machine, op, a, b)
    if a.type == b.type == INT:
        return _ints(machine, op, a, b)
    return _floats(machine, op, to_float(machine, a), to_float(machine, b))


def to_float(machine: Machine, term: Term) -> Term:
    """The number as a float; a huge int raises OverflowError."""
    term = whole(term)
    if term.type == FLOAT:
        return term
    converted = apply("float_of_int", term)
    machine.require(
        not_(apply("is_inf", converted)), "the int is not too large for a float (OverflowError)"
    )
    return converted


def _ints(machine: Machine, op: str, a: Term, b: Term) -> SymbolicValue:
    match op:
        case "+":
            if any(isinstance(one, App) and len(one.args) > MAX_ITERATIONS for one in (a, b)):
                _too_large()
            return Sym(apply("add", a, b))
        case "-":
            return Sym(apply("sub", a, b))
        case "*":
            if _bits(a) + _bits(b) > MAX_TEXT:
                _too_large()
            return Sym(apply("mul", a, b))
        case "//" | "%":
            machine.require(not_(eq(b, const(0))), "the divisor is not zero (ZeroDivisionError)")
            return Sym(apply("floordiv" if op == "//" else "mod", a, b))
        case "/":
            return _int_division(machine, a, b)
        case _:
            return _power(machine, a, b)


def _bits(term: Term) -> int:
    """How large a product with it gets: squaring in a loop doubles the digits, or the factors, each time."""
    if isinstance(term, Const) and isinstance(term.value, int):
        return term.value.bit_length()
    return len(term.args) if isinstance(term, App) and term.op == "mul" else 1


def _int_division(machine: Machine, a: Term, b: Term) -> SymbolicValue:
    machine.require(not_(eq(b, const(0))), "the divisor is not zero (ZeroDivisionError)")
    if isinstance(a, Const) and isinstance(b, Const):
        if b.value == 0:
            return known(0.0)
        return _by_python(machine, "/", a, b)
    for term in (a, b):
        machine.require(
            apply("le", apply("abs", term), const(EXACT)),
            "the operands of / are at most 2**53, so that the quotient is known exactly",
        )
    return Sym(apply("fdiv", apply("float_of_int", a), apply("float_of_int", b)))


def _power(machine: Machine, a: Term, b: Term) -> SymbolicValue:
    if isinstance(a, Const) and isinstance(b, Const):
        return _by_python(machine, "**", a, b)
    exponent = b.value if isinstance(b, Const) else None
    if not isinstance(exponent, int) or not 0 <= exponent <= MAX_EXPONENT:
        refuse(
            "operator.power",
            f"a power is supported with a known exponent from 0 to {MAX_EXPONENT}",
            "Write the exponent out, or multiply.",
        )
    return Sym(apply("mul", *[a] * exponent)) if exponent else known(1)


def _floats(machine: Machine, op: str, a: Term, b: Term) -> SymbolicValue:
    match op:
        case "+":
            return Sym(apply("add", a, b))
        case "-":
            return Sym(apply("sub", a, b))
        case "*":
            return Sym(apply("mul", a, b))
        case "/":
            machine.require(not_(eq(b, const(0.0))), "the divisor is not zero (ZeroDivisionError)")
            return Sym(apply("fdiv", a, b))
        case _:
            return _by_python(machine, op, a, b)


def _by_python(machine: Machine, op: str, a: Term, b: Term) -> SymbolicValue:
    """What Python computes, of known numbers."""
    if not isinstance(a, Const) or not isinstance(b, Const):
        refuse(
            "operator.numbers",
            f"`{op}` is supported here for known numbers only",
            "Use + - * // % on ints, + - * / on floats.",
        )
    left, right = a.value, b.value
    assert isinstance(left, int | float)
    assert isinstance(right, int | float)
    if isinstance(left, int) and isinstance(right, int):
        bits = left.bit_length() or 1
        if (op == "**" and abs(right) * bits > MAX_TEXT) or (
            op == "<<" and bits + right > MAX_TEXT
        ):
            _too_large()
    try:
        outcome = _PYTHON[op](left, right)
    except (ZeroDivisionError, OverflowError, ValueError) as error:
        machine.require(FALSE, f"no {type(error).__name__}: {error}")
        return Sym(a)
    except TypeError as error:
        raise Raises("TypeError", str(error)) from error
    if isinstance(outcome, complex):
        refuse(
            "operator.power", "this power is a complex number", "Use numbers that are not negative."
        )
    return known(outcome)


def unary(machine: Machine, op: ast.unaryop, value: SymbolicValue) -> SymbolicValue:
    """`-x`, `+x`, `~x`."""

    def of(one: SymbolicValue) -> SymbolicValue:
        if not isinstance(one, Sym) or one.type not in NUMBERS:
            if isinstance(one, Opaque) or (isinstance(one, Sym) and one.type == ANY):
                refuse(
                    "value.opaque", f"{described(one)} can't be computed with", "Only pass it on."
                )
            raise Raises("TypeError", f"bad operand for a unary operator: {described(one)}")
        term = whole(one.term)
        match op:
            case ast.UAdd():
                return Sym(term)
            case ast.USub():
                return Sym(apply("neg", term))
            case _:
                if term.type != INT:
                    raise Raises("TypeError", "bad operand for ~: a float")
                return Sym(apply("sub", apply("neg", term), const(1)))

    return machine.each(value, of)


def clamp_index(index: Term, length: Term) -> Term:
    """An index of a slice as Python reads it: negative ones count from the end, and never below 0."""
    if isinstance(index, Const) and isinstance(index.value, int) and index.value >= 0:
        return index
    back = apply("add", length, index)
    floor = ite(apply("lt", back, const(0)), const(0), back)
    if isinstance(index, Const):
        return floor
    return ite(apply("lt", index, const(0)), floor, index)


def is_number(value: SymbolicValue) -> bool:
    """Whether it is a bool, int or float."""
    return isinstance(value, Sym) and value.type in NUMBERS


def known_int(value: SymbolicValue) -> int | None:
    """The value of a known int or bool."""
    if is_known(value):
        held = known_scalar(value)
        if isinstance(held, int):
            return int(held)
    return None
