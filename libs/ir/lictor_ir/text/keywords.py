"""The words of the text form, and how names are written between them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

HEADER: Final = "effect-ir v1"

INFIX: Final[Mapping[str, tuple[str, int]]] = {
    "or": ("or", 1),
    "and": ("and", 2),
    "==": ("eq", 4),
    "<": ("lt", 4),
    "<=": ("le", 4),
    "in": ("in", 4),
    "+": ("add", 5),
    "-": ("sub", 5),
    "*": ("mul", 6),
    "//": ("floordiv", 6),
    "%": ("mod", 6),
}
"""Operators between operands, by how they are written: the operator, and how tightly it binds."""

MATCHES: Final = "matches"
NOT_LEVEL, COMPARISON_LEVEL, POSTFIX_LEVEL, PRIMARY_LEVEL = 3, 4, 7, 8

REPEATED: Final = frozenset({"or", "and", "add", "mul"})
"""Infix operators that take any number of operands, from two on: `a + b + c` is one application."""

KEYWORDS: Final = frozenset(
    {
        *("true", "false", "none", "nan", "inf"),
        *("and", "or", "not", "in", "matches", "if", "then", "else", "as"),
        *("result", "row", "from", "not_from", "same_row", "e", "s", "event"),
    }
)
"""Words that are names only between backquotes; where others stand, no name can."""

BEFORE_OPERANDS: Final = frozenset(
    {"and", "or", "not", "in", "matches", "if", "then", "else", "when", "by"}
    | {"first", "next", "distinct", "holds"}
)
"""Words after which a minus sign belongs to a number."""

_PLAIN: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def spell_name(name: str) -> str:
    """The name, between backquotes where it could be taken for something else."""
    return name if _PLAIN.fullmatch(name) and name not in KEYWORDS else f"`{name}`"
