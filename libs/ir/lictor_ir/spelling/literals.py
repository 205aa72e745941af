"""How known scalars are spelled where JSON's own numbers and strings would lose something.

Each value has exactly one spelling, and reading refuses every other one: two documents that say the same are the same
bytes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Final, TypeVar

from lictor_ir.errors import FormError

MAX_DECIMAL_BITS: Final = 8_192
"""Longer integers are spelled in hex: Python refuses to read very long decimals, and would be slow at it."""
MAX_INT_BITS: Final = 131_072
"""Longer integers are neither written nor read: no program that is proved has them."""
MAX_REAL_BITS: Final = 16_384
"""The same for each part of a fraction. Reading one finds its common divisor, which takes the square of its length."""

_DECIMAL: Final = re.compile(r"-?[0-9]+", re.ASCII)
_HEX: Final = re.compile(r"-?0x[0-9a-f]+", re.ASCII)
_T = TypeVar("_T")


def spell_int(value: int) -> str:
    """`-12`, or `0x…` from about 2 400 digits on. FormError when it is too long to be read again."""
    bits = value.bit_length()
    if bits > MAX_INT_BITS:
        raise FormError(f"an integer has {bits} bits; at most {MAX_INT_BITS} can be spelled")
    return str(value) if bits <= MAX_DECIMAL_BITS else hex(value)


def read_int(text: str) -> int:
    """The integer that `spell_int` spells so."""
    if len(text) > MAX_INT_BITS // 4 + len("-0x"):
        raise FormError(f"{_shown(text)} is too long; an integer has at most {MAX_INT_BITS} bits")
    if _HEX.fullmatch(text):
        return _same(text, int(text, 16), spell_int)
    if _DECIMAL.fullmatch(text) and len(text) <= MAX_DECIMAL_BITS // 3:
        return _same(text, int(text), spell_int)
    raise FormError(f"{_shown(text)} is no integer as the format spells it")


def spell_real(value: Fraction) -> str:
    """`3/4`; whole numbers too have a denominator. FormError when it is too long to be read again."""
    _check_parts(value.numerator, value.denominator)
    return f"{spell_int(value.numerator)}/{spell_int(value.denominator)}"


def read_real(text: str) -> Fraction:
    """The rational number that `spell_real` spells so."""
    above, slash, below = text.partition("/")
    if not slash:
        raise FormError(f"{_shown(text)} is no fraction: write 3/4, or 3/1 for a whole number")
    numerator, denominator = read_int(above), read_int(below)
    if denominator <= 0:
        raise FormError(f"{_shown(text)} is no fraction: its denominator must be positive")
    _check_parts(numerator, denominator)
    return _same(text, Fraction(numerator, denominator), spell_real)


def _check_parts(numerator: int, denominator: int) -> None:
    bits = max(numerator.bit_length(), denominator.bit_length())
    if bits > MAX_REAL_BITS:
        raise FormError(f"a fraction has a part of {bits} bits; it may have {MAX_REAL_BITS}")


def spell_float(value: float) -> str:
    """C99 hex (`0x1.8000000000000p+1`), `inf`, `-inf` or `nan`: every bit that a program can tell."""
    return value.hex()


def read_float(text: str) -> float:
    """The float that `spell_float` spells so."""
    try:
        value = float.fromhex(text)
    except (ValueError, OverflowError):
        raise FormError(f"{_shown(text)} is no float as the format spells it") from None
    return _same(text, value, spell_float)


def is_text(value: str) -> bool:
    """Whether the string is text: without halves of surrogate pairs, which UTF-8 does not have."""
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


_ESCAPES: Final = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
_UNESCAPES: Final = {escape[1]: char for char, escape in _ESCAPES.items()}


def quote(value: str) -> str:
    r"""The string in double quotes; what can't be seen is spelled `\u{200b}`, so nobody is misled by it."""
    return f'"{"".join(map(_escaped, value))}"'


def unquote(text: str) -> str:
    """The string that `quote` spells so, given with its quotes."""
    return "".join(_unescaped(text))


def _escaped(char: str) -> str:
    if char in _ESCAPES:
        return _ESCAPES[char]
    return char if char.isprintable() else f"\\u{{{ord(char):x}}}"


def _unescaped(text: str) -> Iterator[str]:
    at, end = 1, len(text) - 1
    while at < end:
        char = text[at]
        if char != "\\":
            yield char
            at += 1
            continue
        escape = text[at + 1]
        if escape in _UNESCAPES:
            yield _UNESCAPES[escape]
            at += 2
            continue
        close = text.find("}", at, at + 10)
        digits = text[at + 3 : close]
        known = close > 0 and text[at + 1 : at + 3] == "u{"
        if not known or not re.fullmatch(r"[0-9a-f]{1,6}", digits):
            raise FormError(rf"{_shown(text[at : at + 4])} is no escape; write \n or \u{{200b}}")
        if int(digits, 16) > 0x10FFFF:
            raise FormError(f"U+{digits} is no character")
        yield chr(int(digits, 16))
        at = close + 1


def _same(text: str, value: _T, spell: Callable[[_T], str]) -> _T:
    if spell(value) != text:
        raise FormError(f"{_shown(text)} must be spelled {_shown(spell(value))}")
    return value


def _shown(text: str) -> str:
    return repr(text if len(text) <= 60 else text[:60] + "…")
