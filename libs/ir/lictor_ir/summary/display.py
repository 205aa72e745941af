r"""How names, strings and numbers of a document are shown to a person.

Nothing that an agent wrote may look like something else, or like words of ours. Whatever is shown is ASCII on one line:
every other character is told by its code point (`\u{200b}`), and so is a space that could be overlooked. What is too
long is cut, with its length and the beginning of its SHA-256: two strings that differ are never shown alike.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Final

from lictor_ir.spelling.literals import spell_int, spell_real
from lictor_ir.values import EnumValue

DIGEST_LENGTH: Final = 16
MAX_STRING, _HEAD, _TAIL = 64, 32, 16
MAX_NAME: Final = 48
MAX_NUMBER: Final = 40

_PLAIN: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)*")
_ESCAPES: Final = {'"': '\\"', "`": "\\u{60}", "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}

WORDS: Final = frozenset(
    {
        *("and", "or", "not", "if", "then", "else", "where", "only", "the", "its", "new", "minus"),
        *("event", "events", "index", "input", "item", "result"),
        *("true", "false", "none", "nothing", "NaN", "infinity"),
    }
)
"""Words of our own: a name that is spelled like one of them stands between backquotes."""


def digest(*parts: str) -> str:
    """The beginning of a SHA-256 that tells these parts from all others."""
    whole = hashlib.sha256()
    for part in parts:
        data = part.encode("utf-8", "surrogatepass")
        whole.update(f"{len(data)}:".encode())
        whole.update(data)
    return whole.hexdigest()[:DIGEST_LENGTH]


def string(text: str) -> str:
    """A string literal, in double quotes."""
    return _fitted(_pieces(text), '"', MAX_STRING, text)


def name(text: str) -> str:
    """A name: as it is, or between backquotes where it could be taken for something else."""
    if len(text) <= MAX_NAME and _PLAIN.fullmatch(text) and text not in WORDS:
        return text
    return _fitted(_pieces(text), "`", MAX_NAME, text)


def constant(value: bool | int | float | str | Fraction | EnumValue | None) -> str:
    """A known scalar; each type is spelled as no other is."""
    match value:
        case bool():
            return "true" if value else "false"
        case None:
            return "none"
        case int():
            return _number(spell_int(value))
        case float():
            return {"inf": "infinity", "-inf": "-infinity", "nan": "NaN"}.get(
                repr(value), repr(value)
            )
        case Fraction():
            return _number(spell_real(value))
        case str():
            return string(value)
        case EnumValue(enum, member):
            return f"{name(enum)}::{name(member)}"


def exact(text: str, most: int) -> str:
    """Text of the format itself (a pattern, a type), made ASCII."""
    pieces = [
        char if char.isascii() and char.isprintable() else f"\\u{{{ord(char):x}}}" for char in text
    ]
    whole = re.sub(r" {2,}", lambda found: "\\u{20}" * len(found[0]), "".join(pieces))
    return cut(whole, most)


def cut(text: str, most: int) -> str:
    """The text, or its beginning with how long it is and what tells it from others."""
    if len(text) <= most:
        return text
    ending = f" ... ({len(text)} characters, sha256 {digest(text)})"
    return text[: max(most - len(ending), 0)] + ending


def listed(parts: Sequence[str], most: int, *, between: str = ", ") -> str:
    """The parts after each other, or as many as have room and the number of the others."""
    whole = between.join(parts)
    if len(whole) <= most:
        return whole
    rest = list(parts)
    shown: list[str] = []
    room = most - len(_others(rest, between))
    while rest and room >= len(rest[0]):
        room -= len(rest[0]) + len(between)
        shown.append(rest.pop(0))
    return between.join([*shown, _others(rest, between)])


def _others(rest: Sequence[str], between: str) -> str:
    told = f"{len(rest)} more" if len(rest) > 1 else "1 more"
    return f"... {told} (sha256 {digest(*rest, between)})"


def _pieces(text: str) -> list[str]:
    """Each character as it is shown."""
    last = len(text) - 1
    return [
        _escaped(char, overlooked=at in (0, last) or " " in (text[at - 1], text[at + 1]))
        for at, char in enumerate(text)
    ]


def _escaped(char: str, *, overlooked: bool) -> str:
    if char in _ESCAPES:
        return _ESCAPES[char]
    if not (char.isascii() and char.isprintable()) or (char == " " and overlooked):
        return f"\\u{{{ord(char):x}}}"
    return char


def _fitted(pieces: Sequence[str], mark: str, most: int, text: str) -> str:
    if sum(map(len, pieces)) <= most:
        return f"{mark}{''.join(pieces)}{mark}"
    head = "".join(_within(pieces, _HEAD))
    tail = "".join(reversed(list(_within(reversed(pieces), _TAIL))))
    return (
        f"{mark}{head}{mark}...{mark}{tail}{mark} ({len(text)} characters, sha256 {digest(text)})"
    )


def _within(pieces: Iterable[str], room: int) -> Iterable[str]:
    for piece in pieces:
        room -= len(piece)
        if room < 0:
            return
        yield piece


def _number(text: str) -> str:
    if len(text) <= MAX_NUMBER:
        return text
    return f"{text[:12]}...{text[-6:]} ({len(text)} characters, sha256 {digest(text)})"
