"""Text of unknown origin, so that a person sees all of it and takes nothing for what it is not.

Some characters steer a terminal, some show nothing, some are drawn over others: two texts may look the same, or one
grow into the lines above. And a terminal begins a line that is too long again at its left edge, where ours begin.
"""

import json
import shutil
import unicodedata
from collections.abc import Iterator

_WIDE_ENOUGH = 100
"""Columns, where nobody knows how wide the place is in which it will be read."""
_LEAST_ROOM = 20
_MOST_MARKS = 2
"""So many marks stand on one letter in the orthographies of living languages, but for rare ones."""
_SHOWS_NOTHING = frozenset(
    chr(code)
    for first, last in (
        # Default_Ignorable_Code_Point of Unicode 16, without what is not printable anyway.
        (0x034F, 0x034F),
        (0x115F, 0x1160),
        (0x17B4, 0x17B5),
        (0x180B, 0x180F),
        (0x3164, 0x3164),
        (0xFE00, 0xFE0F),
        (0xFFA0, 0xFFA0),
        (0xE0100, 0xE01EF),
        # The blank of Braille, and a note head that nobody sees.
        (0x2800, 0x2800),
        (0x1D159, 0x1D159),
    )
    for code in range(first, last + 1)
)


def unseen(text: str) -> Iterator[tuple[str, bool]]:
    """Each character, and whether it must not be written as it is."""
    marks = 0
    for char in text:
        marks = marks + 1 if _is_mark(char) else 0
        yield char, not char.isprintable() or char in _SHOWS_NOTHING or marks > _MOST_MARKS


def harmless_json(text: str) -> str:
    """The same JSON with all that could steer a terminal escaped: JSON itself asks that only of C0 controls."""
    # Outside of strings there is nothing but ASCII; what is no character of the first plane is a pair.
    return spelled_out(text)


def spelled_out(text: str, limit: int | None = None) -> str:
    """One line in which every character is seen: what would steer a terminal, shows nothing or is piled up, is escaped.

    For values and texts that somebody decides about: two of them that differ never look the same for a blank.
    """
    if not (text.isascii() and text.isprintable()):
        text = "".join(json.dumps(char)[1:-1] if hidden else char for char, hidden in unseen(text))
    return text if limit is None or len(text) <= limit else text[: limit - 1] + "…"


def printable(text: str, limit: int | None = None) -> str:
    """Text of unknown origin as one harmless line: nothing in it can steer a terminal."""
    if not (text.isascii() and text.isprintable()):
        text = "".join(" " if hidden else char for char, hidden in unseen(text))
    shown = " ".join(text.split())
    return shown if limit is None or len(shown) <= limit else shown[: limit - 1] + "…"


def folded(line: str, first: str, later: str, columns: int | None = None) -> Iterator[str]:
    """A line in parts that no terminal breaks again: `first` stands before it, `later` before each that goes on."""
    columns = columns or shutil.get_terminal_size((_WIDE_ENOUGH, 24)).columns
    # One less: some terminals break a line that just fits.
    room = max(_LEAST_ROOM, columns - max(len(first), len(later)) - 1)
    before, part, width = first, "", 0
    for char in line:
        wide = _columns_of(char)
        # A mark stays on its letter; `unseen` lets so few of them pass that they can't fill a line.
        if width + wide > room and not _is_mark(char):
            yield before + part
            before, part, width = later, "", 0
        part, width = part + char, width + wide
    yield before + part


def _is_mark(char: str) -> bool:
    return unicodedata.category(char) in ("Mn", "Me")


def _columns_of(char: str) -> int:
    """How many columns it takes at most: what is wide in some terminals only counts as wide."""
    return 2 if unicodedata.east_asian_width(char) in "WFA" else 1
