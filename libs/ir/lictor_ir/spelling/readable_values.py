"""Values for people, as Python would write them; long ones are cut."""

from __future__ import annotations

import re
from typing import Any, Final, cast

from lictor_ir.operators import decimal
from lictor_ir.values import EnumValue, Open, RowValue

MAX_TEXT: Final = 480
MAX_ITEMS: Final = 4
_RUN: Final = re.compile(r"(.)\1{39,}", re.DOTALL)
"""The same character so often that counting it says more."""


def value_text(value: Any, most: int = MAX_TEXT) -> str:
    """The value, cut where it gets long; characters that can't be seen are spelled."""
    match value:
        case RowValue(schema, columns):
            inside = ", ".join(f"{name}={value_text(each)}" for name, each in columns.items())
            told = f"{schema}({inside})"
        case Open():
            told = "unknown"
        case EnumValue(enum, member):
            told = f"{enum}.{member}"
        case list():
            items = cast(list[Any], value)
            more = f", … {len(items)} in all" if len(items) > MAX_ITEMS else ""
            told = f"[{', '.join(map(value_text, items[:MAX_ITEMS]))}{more}]"
        case int() if not isinstance(value, bool):
            told = decimal(value)
        case str():
            told = _text(value)
        case _:
            told = repr(value)
    return told if len(told) <= most else told[:most] + "…"


def short_text(value: Any) -> str:
    """The value within a sentence: numbers of any length, and cut soon."""
    return value_text(value, 60)


def _text(value: str) -> str:
    parts: list[str] = []
    at = 0
    for run in _RUN.finditer(value):
        if run.start() > at:
            parts.append(_spelled(value[at : run.start()]))
        parts.append(f"{_spelled(run[1])} * {len(run[0])}")
        at = run.end()
    if at < len(value) or not parts:
        parts.append(_spelled(value[at:]))
    return " + ".join(parts)


def _spelled(value: str) -> str:
    return repr(value) if value.isprintable() else ascii(value)
