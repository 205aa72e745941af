"""The values of operators, by SMT-LIB's meaning of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from math import floor, prod
from typing import Any, Final


def _quotient(a: int, b: int) -> int:
    return b and (a // b if b > 0 else -(a // -b))


def _rest(a: int, b: int) -> int:
    return a - b * _quotient(a, b)


def _substring(text: str, start: int, length: int) -> str:
    return text[start : start + length] if start >= 0 and length > 0 else ""


def _index(text: str, part: str, start: int) -> int:
    return text.find(part, start) if 0 <= start <= len(text) else -1


VALUES: Final[Mapping[str, Callable[[Any], Any]]] = {
    "not": lambda a: not a[0],
    "and": all,
    "or": any,
    "=>": lambda a: a[1] or not a[0],
    "=": lambda a: a[0] == a[1],
    "ite": lambda a: a[1] if a[0] else a[2],
    "@purify": lambda a: a[0],
    "+": sum,
    "*": prod,
    "-": lambda a: a[0] - a[1] if len(a) > 1 else -a[0],
    "<": lambda a: a[0] < a[1],
    "<=": lambda a: a[0] <= a[1],
    ">": lambda a: a[0] > a[1],
    ">=": lambda a: a[0] >= a[1],
    "/": lambda a: Fraction(a[0]) / a[1],
    "div": lambda a: _quotient(*a),
    "div_total": lambda a: _quotient(*a),
    "mod": lambda a: _rest(*a),
    "mod_total": lambda a: _rest(*a),
    "to_real": lambda a: Fraction(a[0]),
    "to_int": lambda a: floor(a[0]),
    "str.++": "".join,
    "str.len": lambda a: len(a[0]),
    "str.substr": lambda a: _substring(*a),
    "str.contains": lambda a: a[1] in a[0],
    "str.prefixof": lambda a: a[1].startswith(a[0]),
    "str.suffixof": lambda a: a[1].endswith(a[0]),
    "str.indexof": lambda a: _index(*a),
    "str.replace": lambda a: a[0].replace(a[1], a[2], 1),
    "str.to_code": lambda a: ord(a[0]) if len(a[0]) == 1 else -1,
    "str.<": lambda a: a[0] < a[1],
    "str.<=": lambda a: a[0] <= a[1],
}
"""What an operator makes of the values of its operands. No divisor is zero, but of those that are total."""
