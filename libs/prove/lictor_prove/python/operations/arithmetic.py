"""Operators on values, exactly as Python has them.

An operation that may raise is an obligation that it does not; one that raises for these types is `Raises`. What the
format has no operator for is computed by Python itself when the operands are known, and refused otherwise.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable
from typing import Any, Final, NoReturn

from lictor_ir.terms import FALSE, TRUE, App, Const, Term, and_, apply, const, eq, ite, not_, or_
from lictor_ir.types import FLOAT, INT
from lictor_prove.python.kinds import (
    DICTS,
    NUMERIC,
    SETS,
    WHOLE,
    Kind,
    by_pair,
    entry_of_pair,
    kind_of,
    undefined,
)
from lictor_prove.python.library import unknown_members
from lictor_prove.python.machine.machine_state import Machine
from lictor_prove.python.machine.path_merging import merge
from lictor_prove.python.machine.symbolic_values import (
    ObjectV,
    Sym,
    SymbolicValue,
    boolean,
    described,
    is_known,
    known,
    known_scalar,
)
from lictor_prove.python.machine.unknown_values import unknown
from lictor_prove.python.operations import container_operators
from lictor_prove.python.operations.comparisons import as_term, whole
from lictor_prove.python.operations.containers import known_text
from lictor_prove.python.operations.unknown.results import modelled
from lictor_prove.python.refusals import MAX_ITERATIONS, MAX_TEXT, Raises, refuse, unmodelled

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


# -- operators -------------------------------------------------------------------------------------


def binary(
    machine: Machine, op: ast.operator, left: SymbolicValue, right: SymbolicValue
) -> SymbolicValue:
    """`left op right`."""
    symbol = SYMBOLS[type(op)]
    return machine.each_pair(left, right, lambda a, b: _binary(machine, symbol, a, b))


def _binary(machine: Machine, op: str, left: SymbolicValue, right: SymbolicValue) -> SymbolicValue:
    if isinstance(left, ObjectV) or isinstance(right, ObjectV):
        found = unknown_members.operation(machine, f"`{op}`", [left, right])
        return found or undefined(machine, f"`{op}`", left, right)
    operation = entry_of_pair(machine, OPERATORS[op], f"`{op}`", left, right)
    return modelled(machine, f"`{op}`", [left, right], lambda: operation(machine, op, left, right))


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


def _joined(_: Machine, __: str, left: SymbolicValue, right: SymbolicValue) -> SymbolicValue:
    return concat(as_term(left), as_term(right))


def _repeated(machine: Machine, _: str, left: SymbolicValue, right: SymbolicValue) -> SymbolicValue:
    value, count = (right, left) if kind_of(machine, left) in WHOLE else (left, right)
    times = known_int(count)
    if times is None:
        unmodelled(
            "operator.repeat",
            "repeating by a number that is not known is not supported",
            "Repeat by a number that is written out.",
        )
    if abs(times) > sys.maxsize:
        raise Raises("OverflowError", "the number of repetitions does not fit an index")
    times = max(times, 0)
    if kind_of(machine, value) != Kind.STR:
        return container_operators.repeated(machine, value, times)
    term = as_term(value)
    text = known_text(value)
    if times * (1 if text is None else len(text)) > MAX_TEXT:
        _too_large()
    if text is not None:
        return known(text * times)
    return concat(*[term] * times) if times else known("")


def _percent(_: Machine, __: str, ___: SymbolicValue, ____: SymbolicValue) -> NoReturn:
    unmodelled("string.percent", "`%` formatting is outside the subset", 'Use an f-string: f"{x}".')


def _unsupported(_: Machine, op: str, left: SymbolicValue, right: SymbolicValue) -> NoReturn:
    refuse(
        "operator.kind",
        f"`{op}` of {described(left)} and {described(right)} is outside the subset",
        "Make a set or list of each first.",
    )


def _logic(_: Machine, op: str, left: SymbolicValue, right: SymbolicValue) -> SymbolicValue:
    a, b = as_term(left), as_term(right)
    return boolean(and_(a, b) if op == "&" else or_(a, b) if op == "|" else not_(eq(a, b)))


def _bits(machine: Machine, op: str, left: SymbolicValue, right: SymbolicValue) -> SymbolicValue:
    return _by_python(machine, op, whole(as_term(left)), whole(as_term(right)))


def _numbers(machine: Machine, op: str, left: SymbolicValue, right: SymbolicValue) -> SymbolicValue:
    a, b = whole(as_term(left)), whole(as_term(right))
    if a.type == b.type == INT:
        return _ints(machine, op, a, b)
    return _floats(machine, op, to_float(machine, a), to_float(machine, b))


def to_float(machine: Machine, term: Term) -> Term:
    """The number as a float; a huge int raises OverflowError."""
    term = whole(term)
    if term.type == FLOAT:
        return term
    converted = apply("float_of_int", term)
    fits = not_(apply("is_inf", converted))
    if fits is TRUE:
        return converted
    if not machine.declares_unknowns:
        machine.require(fits, "the int is not too large for a float (OverflowError)")
        return converted
    why = "a float of an int that is too large for one (OverflowError)"
    return as_term(
        merge(fits, Sym(converted), unknown(machine, FLOAT, why, (term,), may_raise=True))
    )


def _ints(machine: Machine, op: str, a: Term, b: Term) -> SymbolicValue:
    match op:
        case "+":
            if any(isinstance(one, App) and len(one.args) > MAX_ITERATIONS for one in (a, b)):
                _too_large()
            return Sym(apply("add", a, b))
        case "-":
            return Sym(apply("sub", a, b))
        case "*":
            if _size(a) + _size(b) > MAX_TEXT:
                _too_large()
            return Sym(apply("mul", a, b))
        case "//" | "%":
            machine.require(
                not_(eq(b, const(0))),
                "the divisor is not zero (ZeroDivisionError)",
                error="ZeroDivisionError",
            )
            return Sym(apply("floordiv" if op == "//" else "mod", a, b))
        case "/":
            return _int_division(machine, a, b)
        case _:
            return _power(machine, a, b)


def _size(term: Term) -> int:
    """How large a product with it gets: squaring in a loop doubles the digits, or the factors, each time."""
    if isinstance(term, Const) and isinstance(term.value, int):
        return term.value.bit_length()
    return len(term.args) if isinstance(term, App) and term.op == "mul" else 1


def _int_division(machine: Machine, a: Term, b: Term) -> SymbolicValue:
    machine.require(
        not_(eq(b, const(0))),
        "the divisor is not zero (ZeroDivisionError)",
        error="ZeroDivisionError",
    )
    if isinstance(a, Const) and isinstance(b, Const):
        if b.value == 0:
            return known(0.0)
        return _by_python(machine, "/", a, b)
    quotient = Sym(apply("fdiv", apply("float_of_int", a), apply("float_of_int", b)))
    is_exact = and_(*(apply("le", apply("abs", term), const(EXACT)) for term in (a, b)))
    if not machine.declares_unknowns:
        machine.require(
            is_exact, "the operands of / are at most 2**53, so that the quotient is known exactly"
        )
        return quotient
    why = "the quotient of ints beyond 2**53 has no exact model"
    return merge(is_exact, quotient, unknown(machine, FLOAT, why, (a, b), may_raise=True))


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
            machine.require(
                not_(eq(b, const(0.0))),
                "the divisor is not zero (ZeroDivisionError)",
                error="ZeroDivisionError",
            )
            return Sym(apply("fdiv", a, b))
        case _:
            return _by_python(machine, op, a, b)


def _by_python(machine: Machine, op: str, a: Term, b: Term) -> SymbolicValue:
    """What Python computes, of known numbers."""
    if not isinstance(a, Const) or not isinstance(b, Const):
        unmodelled(
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
        machine.require(FALSE, f"no {type(error).__name__}: {error}", error=type(error).__name__)
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
    symbol, kinds, function = _UNARY[type(op)]

    def of(one: SymbolicValue) -> SymbolicValue:
        if kind_of(machine, one) not in kinds:
            undefined(machine, f"`{symbol}`", one)
        return Sym(function(whole(as_term(one))))

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


def known_int(value: SymbolicValue) -> int | None:
    """The value of a known int or bool."""
    if is_known(value):
        held = known_scalar(value)
        if isinstance(held, int):
            return int(held)
    return None


# -- the tables ------------------------------------------------------------------------------------

Operation = Callable[[Machine, str, SymbolicValue, SymbolicValue], SymbolicValue]

_ARITHMETIC: Final = (NUMERIC, NUMERIC, _numbers)
_SET_ALGEBRA: Final = (
    (Kind.SET, Kind.SET, container_operators.combined_sets),
    (SETS, SETS, _unsupported),
    # Views take any iterable on the other side.
    ((Kind.KEYS, Kind.ITEMS), Kind, _unsupported),
    (Kind, (Kind.KEYS, Kind.ITEMS), _unsupported),
)
_BITWISE: Final = ((Kind.BOOL, Kind.BOOL, _logic), (WHOLE, WHOLE, _bits), *_SET_ALGEBRA)
_SEQUENCES: Final = (Kind.STR, Kind.TUPLE, Kind.LIST)

OPERATORS: Final[dict[str, dict[tuple[Kind, Kind], Operation]]] = {
    "+": by_pair(
        [
            _ARITHMETIC,
            (Kind.STR, Kind.STR, _joined),
            (Kind.TUPLE, Kind.TUPLE, container_operators.joined_tuples),
            (Kind.LIST, Kind.LIST, container_operators.joined_lists),
        ]
    ),
    "-": by_pair([_ARITHMETIC, *_SET_ALGEBRA]),
    "*": by_pair([_ARITHMETIC, (_SEQUENCES, WHOLE, _repeated), (WHOLE, _SEQUENCES, _repeated)]),
    "/": by_pair([_ARITHMETIC]),
    "//": by_pair([_ARITHMETIC]),
    "%": by_pair([_ARITHMETIC, (Kind.STR, Kind, _percent)]),
    "**": by_pair([_ARITHMETIC]),
    "<<": by_pair([(WHOLE, WHOLE, _bits)]),
    ">>": by_pair([(WHOLE, WHOLE, _bits)]),
    "&": by_pair(_BITWISE),
    "^": by_pair(_BITWISE),
    "|": by_pair([*_BITWISE, (DICTS, DICTS, container_operators.combined_dicts)]),
}
"""What each operator is on which kinds. What is not here is a TypeError, or refused where a kind is open."""

_UNARY: Final[dict[type[ast.unaryop], tuple[str, tuple[Kind, ...], Callable[[Term], Term]]]] = {
    ast.USub: ("-", NUMERIC, lambda number: apply("neg", number)),
    ast.UAdd: ("+", NUMERIC, lambda number: number),
    ast.Invert: ("~", WHOLE, lambda number: apply("sub", apply("neg", number), const(1))),
}
