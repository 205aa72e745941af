"""Values for people, as Python would write them; long ones are cut."""

from __future__ import annotations

from typing import Any, Final, cast

from lictor_ir.operators import decimal
from lictor_ir.values import EnumValue, Open, RowValue

MAX_TEXT: Final = 480
MAX_ITEMS: Final = 4


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
        case _:
            told = (
                ascii(value) if isinstance(value, str) and not value.isprintable() else repr(value)
            )
    return told if len(told) <= most else told[:most] + "…"
