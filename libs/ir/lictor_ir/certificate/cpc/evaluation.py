"""The values of terms without variables, by SMT-LIB's meaning of the operators."""

from __future__ import annotations

from fractions import Fraction
from math import floor, prod
from typing import Any, Final

from lictor_ir.certificate.cpc.errors import NotKnown, Refused
from lictor_ir.certificate.cpc.terms import MAX_BITS, MAX_CHARACTERS, Term, Terms, below

HIGHEST: Final = 0x2FFFF


def evaluated(terms: Terms, root: Term) -> Term:
    """The literal that a term without variables is equal to."""
    values: dict[Term, Any] = {}
    for term in below(root):
        args = [values[arg] for arg in term.args]
        terms.spend(1 + sum(len(arg) for arg in args if isinstance(arg, str)))
        value: Any = term.value if term.literal else _value(term.op, args)
        values[term] = value
        if (
            not isinstance(value, str)
            and max(_bits(value.numerator), _bits(value.denominator)) > MAX_BITS
        ):
            raise Refused("a number is too large")
    return terms.value(values[root], root.sort)


def _bits(number: Any) -> int:
    return max(number.numerator.bit_length(), number.denominator.bit_length())


def _value(op: str, args: list[Any]) -> Any:
    match op, args:
        case "not", [a]:
            return not a
        case "and", _:
            return all(args)
        case "or", _:
            return any(args)
        case "=>", [a, b]:
            return b or not a
        case (("=" | "xor"), [a, b]):
            return (a == b) == (op == "=")
        case "ite", [a, b, c]:
            return b if a else c
        case "@purify", [a]:
            return a
        case _ if op.startswith("str."):
            return _string_value(op, args)
        case _:
            return _number_value(op, args)


def _number_value(op: str, args: list[Any]) -> Any:
    match op, args:
        case "+", _:
            return sum(args)
        case "*", _:
            if sum(map(_bits, args)) > 2 * MAX_BITS:
                raise Refused("a number is too large")
            return prod(args)
        case "-", [a]:
            return -a
        case "-", [a, b]:
            return a - b
        case "<", [a, b]:
            return a < b
        case "<=", [a, b]:
            return a <= b
        case ">", [a, b]:
            return a > b
        case ">=", [a, b]:
            return a >= b
        case "abs", [a]:
            return abs(a)
        case (("/" | "div" | "mod"), [_, 0]):
            raise Refused("division by zero has no value that all agree on")
        case (("/_total" | "div_total" | "mod_total"), [a, 0]):
            return a if op == "mod_total" else 0
        case (("/" | "/_total"), [a, b]):
            return Fraction(a) / b
        case (("div" | "div_total"), [a, b]):
            return a // b if b > 0 else -(a // -b)
        case (("mod" | "mod_total"), [a, b]):
            return a % abs(b)
        case "to_real", [a]:
            return a
        case "to_int", [a]:
            return floor(a)
        case "is_int", [a]:
            return a == floor(a)
        case _:
            raise NotKnown(f"the value of {op}")


def _string_value(op: str, args: list[Any]) -> Any:
    match op, args:
        case "str.++", _:
            return "".join(args)
        case "str.len", [a]:
            return len(a)
        case (("str.substr" | "str.at"), [a, start, *rest]):
            length = rest[0] if rest else 1
            return a[start : start + length] if start >= 0 and length > 0 else ""
        case "str.contains", [a, b]:
            return b in a
        case "str.prefixof", [a, b]:
            return b.startswith(a)
        case "str.suffixof", [a, b]:
            return b.endswith(a)
        case "str.indexof", [a, b, start]:
            return a.find(b, start) if 0 <= start <= len(a) else -1
        case "str.replace", [a, b, c]:
            return a.replace(b, c, 1)
        case "str.replace_all", [a, b, c]:
            if b and a.count(b) * len(c) > MAX_CHARACTERS:
                raise Refused("a string is too long")
            return a.replace(b, c) if b else a
        case "str.to_code", [a]:
            return ord(a) if len(a) == 1 else -1
        case "str.from_code", [a]:
            return chr(a) if 0 <= a <= HIGHEST else ""
        case "str.to_int", [a]:
            if len(a) > MAX_BITS // 4:
                raise Refused("a number is too large")
            return int(a) if _digits(a) else -1
        case "str.from_int", [a]:
            return str(a) if a >= 0 else ""
        case "str.<", [a, b]:
            return a < b
        case "str.<=", [a, b]:
            return a <= b
        case "str.is_digit", [a]:
            return len(a) == 1 and _digits(a)
        case _:
            raise NotKnown(f"the value of {op}")


def _digits(text: str) -> bool:
    return text != "" and all("0" <= char <= "9" for char in text)
