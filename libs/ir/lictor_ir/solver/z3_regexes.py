"""Regular expressions of the format for Z3, which matches whole strings too."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any, Final

from lictor_ir.errors import UnsupportedError
from lictor_ir.json.regexes import parts
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
from lictor_ir.terms import HIGHEST_CHARACTER

HIGHEST: Final = 0x2FFFF
"""The last character of SMT-LIB's strings."""
_PAST: Final = f"a regular expression tells characters above U+{HIGHEST_CHARACTER:X} apart, where solvers can't follow"
MAX_REPEAT: Final = 2_000
MAX_DEPTH: Final = 100


def regex_for_z3(regex: Regex, z3: Any, text: Callable[[str], Any]) -> Any:
    """The language for Z3; `text` makes its string constants, in the context that is used."""
    demand_known_characters(regex)
    return _Regexes(z3, text).regex(regex)


def demand_known_characters(regex: Regex) -> None:
    """Raise unless all characters past those of literals are alike to the expression: a solver has few of them."""
    todo = [regex]
    while todo:
        part = todo.pop()
        todo.extend(parts(part))
        match part:
            case ReText(text) if text and ord(max(text)) > HIGHEST_CHARACTER:
                raise UnsupportedError(_PAST)
            case ReRange():
                _demand_range(part)
            case ReNotIn(ranges):
                for each in ranges:
                    _demand_range(each)
            case _:
                pass


def _demand_range(found: ReRange) -> None:
    first, last = ord(found.first), ord(found.last)
    if first <= last and not (
        last <= HIGHEST_CHARACTER or (last == sys.maxunicode and first <= HIGHEST_CHARACTER + 1)
    ):
        raise UnsupportedError(_PAST)


class _Regexes:
    def __init__(self, z3: Any, text: Callable[[str], Any]) -> None:
        self._z3 = z3
        self._text = text
        empty = text("")
        self._context = empty.ctx
        self._sort = z3.ReSort(empty.sort())

    def regex(self, regex: Regex, depth: int = 0) -> Any:
        """The language for Z3; expressions are as deep as someone wrote them."""
        z3 = self._z3
        if depth > MAX_DEPTH:
            raise UnsupportedError("a regular expression is nested too deeply")
        match regex:
            case ReText(text):
                return z3.Re(self._text(text))
            case ReRange(first, last):
                return self._characters(ord(first), ord(last))
            case ReAny():
                return z3.AllChar(self._sort, self._context)
            case ReNothing():
                return z3.Empty(self._sort)
            case ReConcat(pieces):
                made = [self.regex(piece, depth + 1) for piece in pieces]
                if not made:
                    return z3.Re(self._text(""))
                return z3.Concat(*made) if len(made) > 1 else made[0]
            case ReUnion(choices):
                return self._union([self.regex(choice, depth + 1) for choice in choices])
            case ReRepeat(piece, least, most):
                return self._repeated(self.regex(piece, depth + 1), least, most)
            case ReNotIn(ranges):
                return self._union([self._characters(*gap) for gap in gaps(ranges)])

    def _union(self, choices: list[Any]) -> Any:
        z3 = self._z3
        if not choices:
            return z3.Empty(self._sort)
        return z3.Union(*choices) if len(choices) > 1 else choices[0]

    def _characters(self, first: int, last: int) -> Any:
        z3 = self._z3
        if first > min(last, HIGHEST):
            return z3.Empty(self._sort)
        start, end = self._text(chr(first)), self._text(chr(min(last, HIGHEST)))
        return z3.ReRef(
            z3.z3core.Z3_mk_re_range(self._context.ref(), start.ast, end.ast), self._context
        )

    def _repeated(self, piece: Any, least: int, most: int | None) -> Any:
        z3 = self._z3
        if max(least, most or 0) > MAX_REPEAT:
            raise UnsupportedError("a regular expression repeats too often")
        nothing = z3.Re(self._text(""))
        if most is None:
            exact = [z3.Loop(piece, least, least)] if least else []
            return z3.Concat(*exact, z3.Star(piece)) if exact else z3.Star(piece)
        if most == 0:  # Z3 would take it for no limit
            return nothing
        if least > most:
            return z3.Empty(self._sort)
        return z3.Loop(piece, least, most)


def gaps(ranges: Sequence[ReRange]) -> list[tuple[int, int]]:
    """The characters that no range holds, as ranges of code points."""
    found: list[tuple[int, int]] = []
    start = 0
    for first, last in sorted((ord(each.first), ord(each.last)) for each in ranges):
        if first > start:
            found.append((start, min(first - 1, HIGHEST)))
        start = max(start, last + 1)
    if start <= HIGHEST:
        found.append((start, HIGHEST))
    return [(first, last) for first, last in found if first <= last]
