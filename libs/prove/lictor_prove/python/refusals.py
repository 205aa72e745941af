"""How the front-end says no: inside it as one exception, outside as `Rejected` with line and column."""

from __future__ import annotations

import ast
from typing import NoReturn


class Refusal(Exception):
    """Something that is outside the language; the reader turns it into `Rejected`, predicates into `ProveError`."""

    def __init__(self, code: str, message: str, remedy: str, node: ast.AST | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.remedy = remedy
        self.node = node
        """Where; None means where the machine stands."""


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
    raise Refusal(code, message, remedy, node)
