"""Regular expressions of the format: the regular ones only, matched against a whole string.

Front-ends translate their dialect into these few forms. They have no captures, no look-around and no back-references,
so matching never backtracks here, and is a regular language in every solver.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ReText:
    """Exactly this text; the empty text matches the empty string."""

    text: str


@dataclass(frozen=True, slots=True)
class ReRange:
    """One character from `first` to `last`, both included, by code point."""

    first: str
    last: str


@dataclass(frozen=True, slots=True)
class ReAny:
    """Any one character."""


@dataclass(frozen=True, slots=True)
class ReNothing:
    """No string at all."""


@dataclass(frozen=True, slots=True)
class ReConcat:
    """Each part after the other."""

    parts: tuple[Regex, ...]


@dataclass(frozen=True, slots=True)
class ReUnion:
    """One of the choices."""

    choices: tuple[Regex, ...]


@dataclass(frozen=True, slots=True)
class ReRepeat:
    """The part from `least` to `most` times; without `most`, any number of times from `least`."""

    part: Regex
    least: int
    most: int | None


@dataclass(frozen=True, slots=True)
class ReNotIn:
    """Any one character that none of these ranges holds."""

    ranges: tuple[ReRange, ...]


Regex = ReText | ReRange | ReAny | ReNothing | ReConcat | ReUnion | ReRepeat | ReNotIn


def python_pattern(regex: Regex) -> str:
    """The same language for Python's `re.fullmatch` with DOTALL, which backtracks: for trusted expressions only."""
    match regex:
        case ReText(text):
            return f"(?:{re.escape(text)})"
        case ReRange(first, last):
            return f"[{_in_class(first)}-{_in_class(last)}]"
        case ReAny():
            return r"[\s\S]"
        case ReNothing():
            return r"[^\s\S]"
        case ReConcat(parts):
            return "(?:" + "".join(map(python_pattern, parts)) + ")"
        case ReUnion(choices):
            return "(?:" + "|".join(map(python_pattern, choices)) + ")" if choices else r"[^\s\S]"
        case ReRepeat(part, least, most):
            return f"(?:{python_pattern(part)}){{{least},{'' if most is None else most}}}"
        case ReNotIn(ranges):
            inside = "".join(f"{_in_class(r.first)}-{_in_class(r.last)}" for r in ranges)
            return f"[^{inside}]" if inside else r"[\s\S]"


def full_match(regex: Regex, text: str) -> bool:
    """Whether the whole text is in the language, without the backtracking of Python's `re`."""
    return len(text) in _ends(regex, text, frozenset((0,)))


def _ends(regex: Regex, text: str, starts: frozenset[int]) -> frozenset[int]:
    """Where matches may end that begin at one of these places."""
    match regex:
        case ReText(part):
            return frozenset(at + len(part) for at in starts if text.startswith(part, at))
        case ReRange(first, last):
            return _after(text, starts, lambda char: first <= char <= last)
        case ReAny():
            return _after(text, starts, lambda _: True)
        case ReNothing():
            return frozenset()
        case ReConcat(parts):
            for part in parts:
                starts = _ends(part, text, starts)
            return starts
        case ReUnion(choices):
            return frozenset[int]().union(*(_ends(choice, text, starts) for choice in choices))
        case ReRepeat(part, least, most):
            return _repeated(part, least, most, text, starts)
        case ReNotIn(ranges):
            return _after(
                text, starts, lambda char: not any(r.first <= char <= r.last for r in ranges)
            )


def _after(text: str, starts: frozenset[int], fits: Callable[[str], bool]) -> frozenset[int]:
    return frozenset(at + 1 for at in starts if at < len(text) and fits(text[at]))


def _repeated(
    part: Regex, least: int, most: int | None, text: str, starts: frozenset[int]
) -> frozenset[int]:
    for _ in range(least):
        further = _ends(part, text, starts)
        if further == starts:  # more of the same changes nothing
            break
        starts = further
    reached = newest = starts
    left = None if most is None else most - least
    while newest and left != 0:
        newest = _ends(part, text, newest) - reached
        reached |= newest
        left = None if left is None else left - 1
    return reached


def _in_class(char: str) -> str:
    return f"\\U{ord(char):08x}"
