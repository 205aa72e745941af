"""Amounts in parameters of calls, to the last digit: whole numbers of millionths of a millionth.

A number with a fraction was a float before it came here, so it counts as the shortest decimal that is read as that
float; up to fifteen digits, that is what was written. Longer ones are refused, as is whatever is no plain number.
"""

import re
from decimal import Decimal
from typing import Any

from lictor_guard.errors import GuardError
from lictor_guard.text.wording import quoted

PLACES = 12
MAX_DIGITS = 18
"""Before the point."""
_PLAIN = re.compile(rf"[0-9]{{1,{MAX_DIGITS}}}(\.[0-9]{{1,{PLACES}}})?")
_FLOAT_DIGITS = 15


class NoAmountError(GuardError):
    """A value is no amount that can be added up."""


def units_of(value: Any) -> int:
    """An amount in units; NoAmountError says why a value is none."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise NoAmountError("is no number")
    if isinstance(value, float):
        value = _written(value)
    text = str(value)
    if text.startswith("-"):
        raise NoAmountError("is negative")
    if not _PLAIN.fullmatch(text):
        raise NoAmountError(
            f"is {quoted(text)}, not a plain number of at most {MAX_DIGITS} digits and {PLACES} decimals"
        )
    whole, _, decimals = text.partition(".")
    return int(whole + decimals.ljust(PLACES, "0"))


def spelled_amount(units: int) -> str:
    """An amount as people write it."""
    whole, decimals = divmod(units, 10**PLACES)
    rest = f"{decimals:0{PLACES}d}".rstrip("0")
    return f"{whole}.{rest}" if rest else str(whole)


def _written(value: float) -> str:
    exact = Decimal(repr(value))
    if not exact.is_finite():
        raise NoAmountError("is no number")
    if len(exact.as_tuple().digits) > _FLOAT_DIGITS:
        raise NoAmountError(f"has more than {_FLOAT_DIGITS} digits; give it as text")
    # Without an exponent, and without the zeros of 5.0.
    text = f"{exact:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
