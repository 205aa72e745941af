"""How the front-end says no: inside it as one exception, outside as `Rejected` with line and column."""

from __future__ import annotations

import ast
from typing import Final, NoReturn


class SubsetRefusal(Exception):
    """Something that is outside the language; the reader turns it into `Rejected`, predicates into `ProveError`."""

    def __init__(self, code: str, message: str, remedy: str, node: ast.AST | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.remedy = remedy
        self.node = node
        """Where; None means where the machine stands."""


class Unmodelled(SubsetRefusal):
    """An operation that Python has for these operands and that has no exact model: its result may be unknown."""


class Raises(Exception):
    """The operation raises for these operands, whatever their values are.

    A value may be one of several things; then this is an obligation that it is not this one, else a refusal.
    """

    def __init__(self, error: str, message: str, remedy: str = "") -> None:
        super().__init__(message)
        self.error = error
        self.message = message
        self.remedy = remedy or "Pass values that this operation takes."


def refuse(code: str, message: str, remedy: str, node: ast.AST | None = None) -> NoReturn:
    """Stop reading the program."""
    raise SubsetRefusal(code, message, remedy, node)


def unmodelled(code: str, message: str, remedy: str) -> NoReturn:
    """Stop reading the program, unless the table of unknown results has the operation."""
    raise Unmodelled(code, message, remedy)


MAX_SOURCE_BYTES: Final = 512 * 1024
MAX_DEPTH: Final = 120
"""Nesting of the syntax tree."""
MAX_STEPS: Final = 300_000
"""Statements and expressions executed."""
MAX_ATOMS: Final = 10_000
MAX_OBLIGATIONS: Final = 50_000
MAX_ITERATIONS: Final = 10_000
"""Iterations of one loop that is unrolled, and items of one container."""
MAX_TEXT: Final = 100_000
"""Characters of a string, bits of a number, that is computed while reading."""
MAX_ALTERNATIVES: Final = 32
"""What one value may be, on different paths, without being one term."""
MAX_CALL_DEPTH: Final = 24
"""Helpers that call helpers."""
MAX_REPEAT: Final = 1_000
"""Bounds of `{m,n}` in a regular expression."""
MAX_PATTERN: Final = 1_000
"""Characters of a regular expression."""
