"""Writes goals as SMT-LIB 2.6 text for any solver: theories of ints, reals, Unicode strings, floating point, functions.

`unsat` means that the goal holds. The same goal always gives the same text: declarations are sorted, and every
application has a name, so that deep terms need no deep brackets.

The meaning is that of `lictor_ir.solver.z3_lowering`: what has no exact function is a declared one, of which true
things are said.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Final

from lictor_ir.errors import UnsupportedError
from lictor_ir.goals.goal import Goal
from lictor_ir.operators import decimal
from lictor_ir.places import parts, place, solver_order
from lictor_ir.regexes import (
    ReAny,
    ReConcat,
    Regex,
    ReNothing,
    ReNotIn,
    ReRange,
    ReRepeat,
    ReText,
    ReUnion,
)
from lictor_ir.scalars.rewriting import EXACT_INTS
from lictor_ir.solver.z3_regexes import (
    HIGHEST,
    MAX_DEPTH,
    MAX_REPEAT,
    demand_known_characters,
    gaps,
)
from lictor_ir.terms import App, Const, Matches, Term
from lictor_ir.types import BOOL, FLOAT, INT, REAL, STR, EnumOf, Type
from lictor_ir.values import EnumValue

_DOUBLE: Final = "(_ FloatingPoint 11 53)"
_PLAIN: Final = {
    "not": "not",
    "and": "and",
    "or": "or",
    "ite": "ite",
    "sub": "-",
    "neg": "-",
    "real_of_int": "to_real",
    "concat": "str.++",
    "len": "str.len",
    "contains": "str.contains",
    "substring": "str.substr",
    "find": "str.indexof",
}
_FLOATS: Final = {
    "add": "fp.add RNE",
    "mul": "fp.mul RNE",
    "sub": "fp.sub RNE",
    "fdiv": "fp.div RNE",
    "neg": "fp.neg",
    "abs": "fp.abs",
    "is_nan": "fp.isNaN",
    "is_inf": "fp.isInfinite",
}


def script(goal: Goal) -> str:
    """The goal as a script that ends with `(check-sat)`; UnsupportedError when it can't be written."""
    return Script().text(goal)


class Script:
    """One script, and how terms are spelled in it."""

    def __init__(self) -> None:
        self.members: dict[EnumValue, int] = {}
        self._named: dict[Term, str] = {}
        self._declared: dict[str, str] = {}
        self._lines: list[str] = []
        self._axioms: list[str] = []

    @property
    def spelled(self) -> Mapping[Term, str]:
        """Every term of the goal, as it is named in the script."""
        return self._named

    def text(self, goal: Goal) -> str:
        """The whole script."""
        formulas = [self._term(term) for term in (*goal.given, goal.refute)]
        wanted = "holds when unsat"
        if goal.undecided:
            wanted = f"not all of it, so unsat shows nothing: {'; '.join(goal.undecided)}"
        return "\n".join(
            [
                "(set-info :smt-lib-version 2.6)",
                f"(set-info :source |{_quoted(f'{goal.id}; {wanted}')}|)",
                "(set-logic ALL)",
                *(self._declared[name] for name in sorted(self._declared)),
                *self._lines,
                *(f"(assert {axiom})" for axiom in dict.fromkeys(self._axioms)),
                *(f"(assert {formula})" for formula in formulas),
                "(check-sat)",
                "",
            ]
        )

    def _term(self, root: Term) -> str:
        for term in solver_order(root):
            if term not in self._named:
                written = self._written(term)
                if isinstance(term, App | Matches) and place(term) is None:
                    name = f"t{len(self._lines)}"
                    self._lines.append(f"(define-fun {name} () {_sort(term.type)} {written})")
                    written = name
                self._named[term] = written
        return self._named[root]

    def _written(self, term: Term) -> str:
        if isinstance(term, Const):
            return self._constant(term)
        found = place(term)
        if found is not None:
            below = [self._named[index] for index in found.indices]
            return self._function(f"{found.name}:{term.type}", [INT] * len(below), term.type, below)
        below = [self._named[part] for part in parts(term)]
        if isinstance(term, Matches):
            demand_known_characters(term.regex)
            return f"(str.in_re {below[0]} {_regex(term.regex)})"
        assert isinstance(term, App)
        types = tuple(arg.type for arg in term.args)
        if term.op == "eq":
            return self._equal(types, below)
        if term.op in ("lt", "le"):
            return self._ordered(term.op, types, below)
        if types[0] == FLOAT and term.op in _FLOATS:
            return _left_to_right(_FLOATS[term.op], below)
        if term.op == "abs":
            zero = "0.0" if types[0] == REAL else "0"
            return f"(ite (>= {below[0]} {zero}) {below[0]} (- {below[0]}))"
        return self._application(term.op, below)

    def _function(self, name: str, takes: Sequence[Type], gives: Type, below: Sequence[str]) -> str:
        symbol = f"|{_quoted(name)}|"
        sorts = " ".join(map(_sort, takes))
        self._declared[symbol] = f"(declare-fun {symbol} ({sorts}) {_sort(gives)})"
        return f"({symbol} {' '.join(below)})" if below else symbol

    def _constant(self, term: Const) -> str:
        match term.value:
            case bool():
                return "true" if term.value else "false"
            case int():
                return _int(term.value)
            case Fraction():
                return _real(term.value)
            case float():
                return _float(term.value)
            case str():
                return _string(term.value)
            case EnumValue():
                return str(self.members.setdefault(term.value, len(self.members)))
            case None:
                raise UnsupportedError("None is no scalar of a solver")

    # -- comparison ------------------------------------------------------------------------------

    def _equal(self, types: Sequence[Type], below: Sequence[str]) -> str:
        if types[0] == types[1]:
            return f"({'fp.eq' if types[0] == FLOAT else '='} {below[0]} {below[1]})"
        if FLOAT in types and set(types) <= {INT, REAL, FLOAT}:
            at = types.index(FLOAT)
            other = _as_real(types[1 - at], below[1 - at])
            return f"(and {_finite(below[at])} (= (fp.to_real {below[at]}) {other}))"
        if set(types) == {INT, REAL}:
            return f"(= {_as_real(types[0], below[0])} {_as_real(types[1], below[1])})"
        raise UnsupportedError(f"{types[0]} and {types[1]} are compared")

    def _ordered(self, op: str, types: Sequence[Type], below: Sequence[str]) -> str:
        left, right = below
        sign = "<" if op == "lt" else "<="
        if types == (FLOAT, FLOAT):
            return f"({'fp.lt' if op == 'lt' else 'fp.leq'} {left} {right})"
        if types == (STR, STR):
            return f"(str.{sign} {left} {right})"
        left, right = (
            (left, right)
            if types[0] == types[1]
            else (_as_real(types[0], left), _as_real(types[1], right))
        )
        if FLOAT not in types:
            return f"({sign} {left} {right})"
        at = types.index(FLOAT)
        side = "fp.isPositive" if at else "fp.isNegative"
        endless = f"(and (fp.isInfinite {below[at]}) ({side} {below[at]}))"
        return f"(or {endless} (and {_finite(below[at])} ({sign} {left} {right})))"

    # -- applications ----------------------------------------------------------------------------

    def _application(self, op: str, below: list[str]) -> str:
        if op in _PLAIN:
            single = op in ("and", "or", "concat") and len(below) == 1
            return below[0] if single else f"({_PLAIN[op]} {' '.join(below)})"
        match op, below:
            case ("add", _) | ("mul", _):
                sign = "+" if op == "add" else "*"
                return f"({sign} {' '.join(below)})" if len(below) > 1 else below[0]
            case "floordiv", [a, b]:
                return f"(ite (= {b} 0) 0 (ite (> {b} 0) (div {a} {b}) (div (- {a}) (- {b}))))"
            case "mod", [a, b]:
                return (
                    f"(ite (= {b} 0) {a} (ite (> {b} 0) (mod {a} {b}) (- (mod (- {a}) (- {b})))))"
                )
            case "rdiv", [a, b]:
                return f"(ite (= {b} 0.0) 0.0 (/ {a} {b}))"
            case "int_of_bool", [a]:
                return f"(ite {a} 1 0)"
            case "startswith", [a, b]:
                return f"(str.prefixof {b} {a})"
            case "endswith", [a, b]:
                return f"(str.suffixof {b} {a})"
            case "str_of_int", [a]:
                negative = f'(str.++ "-" (str.from_int (- {a})))'
                return f"(ite (< {a} 0) {negative} (str.from_int {a}))"
            case "float_of_int", [a]:
                return self._float_of_int(a)
            case "count", [text, part]:
                return self._count(text, part)
            case "replace", [text, old, new]:
                return self._replaced(text, old, new)
            case _:
                raise UnsupportedError(f"{op} has no meaning in a solver here")

    def _float_of_int(self, number: str) -> str:
        nearest = self._function("float_of_int", [INT], FLOAT, [number])
        most = str(EXACT_INTS)
        small = f"(and (>= {number} (- {most})) (<= {number} {most}))"
        exact = f"(and {_finite(nearest)} (= (fp.to_real {nearest}) (to_real {number})))"
        high, low = _float(float(EXACT_INTS)), _float(float(-EXACT_INTS))
        self._axioms += [
            f"(not (fp.isNaN {nearest}))",
            f"(=> {small} {exact})",
            f"(=> (> {number} {most}) (fp.geq {nearest} {high}))",
            f"(=> (< {number} (- {most})) (fp.leq {nearest} {low}))",
            f"(=> (= {number} 0) (fp.isPositive {nearest}))",
        ]
        return nearest

    def _count(self, text: str, part: str) -> str:
        count = self._function("count", [STR, STR], INT, [text, part])
        empty = f'(= {part} "")'
        self._axioms += [
            f"(>= {count} 0)",
            f"(=> {empty} (= {count} (+ (str.len {text}) 1)))",
            f"(=> (not {empty}) (= (= {count} 0) (not (str.contains {text} {part}))))",
            f"(=> (not {empty}) (<= {count} (str.len {text})))",
        ]
        return count

    def _replaced(self, text: str, old: str, new: str) -> str:
        made = self._function("replace", [STR, STR, STR], STR, [text, old, new])
        empty = f'(= {old} "")'
        self._axioms += [
            f"(=> (or {empty} (not (str.contains {text} {old}))) (= {made} {text}))",
            f"(=> (and (= {text} {old}) (not {empty})) (= {made} {new}))",
            f"(=> (= (str.len {old}) (str.len {new})) (= (str.len {made}) (str.len {text})))",
            f"(=> (and (= (str.len {old}) 1) (not (str.contains {new} {old})))"
            f" (not (str.contains {made} {old})))",
        ]
        return made


# -- spelling --------------------------------------------------------------------------------------


def _sort(type_: Type) -> str:
    if isinstance(type_, EnumOf):
        return "Int"
    sorts: dict[Type, str] = {
        BOOL: "Bool",
        INT: "Int",
        REAL: "Real",
        FLOAT: _DOUBLE,
        STR: "String",
    }
    found = sorts.get(type_)
    if found is None:
        raise UnsupportedError(f"a value of type {type_} has no sort in a solver")
    return found


def _quoted(name: str) -> str:
    """A name between bars, which may not hold bars or backslashes."""
    return "".join(
        char if char.isascii() and char.isprintable() and char not in "|\\" else f"%{ord(char):x}%"
        for char in name
    )


def _int(value: int) -> str:
    return decimal(value) if value >= 0 else f"(- {decimal(-value)})"


def _real(value: Fraction) -> str:
    whole = f"(/ {decimal(abs(value.numerator))}.0 {decimal(value.denominator)}.0)"
    return whole if value >= 0 else f"(- {whole})"


def _float(value: float) -> str:
    if math.isnan(value):
        return "(_ NaN 11 53)"
    bits = f"{struct.unpack('>Q', struct.pack('>d', value))[0]:064b}"
    return f"(fp #b{bits[0]} #b{bits[1:12]} #b{bits[12:]})"


def _string(value: str) -> str:
    """A string literal; a backslash is spelled by its code, so that nothing in the text is read as an escape."""
    spelled = [
        '""'
        if char == '"'
        else char
        if " " <= char <= "~" and char != "\\"
        else f"\\u{{{ord(char):x}}}"
        for char in value
    ]
    return f'"{"".join(spelled)}"'


def _finite(number: str) -> str:
    return f"(not (or (fp.isNaN {number}) (fp.isInfinite {number})))"


def _as_real(type_: Type, number: str) -> str:
    if type_ == FLOAT:
        return f"(fp.to_real {number})"
    return f"(to_real {number})" if type_ == INT else number


def _left_to_right(function: str, below: Sequence[str]) -> str:
    if len(below) == 1:
        return f"({function} {below[0]})" if "RNE" not in function else below[0]
    total = below[0]
    for part in below[1:]:
        total = f"({function} {total} {part})"
    return total


def _regex(regex: Regex, depth: int = 0) -> str:
    if depth > MAX_DEPTH:
        raise UnsupportedError("a regular expression is nested too deeply")
    match regex:
        case ReText(text):
            return f"(str.to_re {_string(text)})"
        case ReRange(first, last):
            return _range(ord(first), ord(last))
        case ReAny():
            return "re.allchar"
        case ReNothing():
            return "re.none"
        case ReConcat(pieces):
            made = [_regex(piece, depth + 1) for piece in pieces]
            if not made:
                return '(str.to_re "")'
            return f"(re.++ {' '.join(made)})" if len(made) > 1 else made[0]
        case ReUnion(choices):
            return _union([_regex(choice, depth + 1) for choice in choices])
        case ReRepeat(piece, least, most):
            return _repeated(_regex(piece, depth + 1), least, most)
        case ReNotIn(ranges):
            return _union([_range(*gap) for gap in gaps(ranges)])


def _union(choices: Sequence[str]) -> str:
    if not choices:
        return "re.none"
    return f"(re.union {' '.join(choices)})" if len(choices) > 1 else choices[0]


def _range(first: int, last: int) -> str:
    if first > min(last, HIGHEST):
        return "re.none"
    return f"(re.range {_string(chr(first))} {_string(chr(min(last, HIGHEST)))})"


def _repeated(piece: str, least: int, most: int | None) -> str:
    if max(least, most or 0) > MAX_REPEAT:
        raise UnsupportedError("a regular expression repeats too often")
    if most is None:
        return f"(re.++ ((_ re.^ {least}) {piece}) (re.* {piece}))" if least else f"(re.* {piece})"
    if least > most:
        return "re.none"
    return f"((_ re.loop {least} {most}) {piece})"
