"""Regular expressions of the format: the regular ones only, matched against a whole string.

Front-ends translate their dialect into these few forms. They have no captures, no look-around and no back-references,
so matching is linear here and a regular language in every solver.
"""

from __future__ import annotations

import re
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
    """The same language for Python's `re.fullmatch` with DOTALL: how terms over known strings are evaluated."""
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
    """Whether the whole text is in the language."""
    return re.fullmatch(python_pattern(regex), text) is not None


def _in_class(char: str) -> str:
    return f"\\U{ord(char):08x}"
