"""Sections of a text, fitted into a number of lines and characters.

What has no room is told as a number, by kind, with the beginning of the SHA-256 of what it says: two texts that were
shortened differ wherever the whole ones do.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from lictor_ir.summary import display

MAX_ENTRY: Final = 360
"""Longer entries are cut, with their length and digest."""
MAX_KINDS: Final = 60


@dataclass(frozen=True, slots=True)
class SummaryEntry:
    """One thing to tell."""

    text: str
    about: str = ""
    """What it is about, for counting what has no room."""

    def line(self) -> str:
        return f"- {display.cut(self.text, MAX_ENTRY)}"


@dataclass(frozen=True, slots=True)
class Section:
    """Things to tell under one title."""

    title: str
    entries: tuple[SummaryEntry, ...]
    noun: str
    """What an entry is: `call`."""

    def lines(self, most: int | None, *, final: bool = True) -> list[str]:
        """The title and so many entries, the others as a number; nothing when there are none.

        Before it is final, the digest of the others is only as long as it will be.
        """
        if not self.entries:
            return []
        told = self.entries if most is None or len(self.entries) <= most else self.entries[:most]
        lines = [self.title, *(entry.line() for entry in told)]
        rest = self.entries[len(told) :]
        if rest:
            more = "more " if told else ""
            digest = _digest(rest) if final else _digest(())
            lines.append(f"- {len(rest)} {more}{self.noun}{_s(rest)}{_kinds(rest)} {digest}")
        return lines


@dataclass(frozen=True, slots=True)
class Room:
    """How much may be told."""

    characters: int
    lines: int

    def holds(self, lines: Sequence[str]) -> bool:
        """Whether the lines fit."""
        return len(lines) <= self.lines and sum(map(len, lines)) + len(lines) <= self.characters


def fitted(
    head: Sequence[str], sections: Sequence[Section], foot: Sequence[str], room: Room | None
) -> list[str]:
    """All lines, or as many entries of each section as have room: first as many of each, then more from the top on."""
    counts: list[int | None] = [None] * len(sections)

    def lines(*, final: bool = False) -> list[str]:
        body = (
            section.lines(most, final=final) for section, most in zip(sections, counts, strict=True)
        )
        return [*head, *(line for part in body for line in part), *foot]

    if room is None or room.holds(lines()):
        return lines(final=True)
    counts = [0] * len(sections)
    if not room.holds(lines()):
        return [*head, *_only_counted(sections), *foot]
    growing = True
    while growing:
        growing = False
        for at, section in enumerate(sections):
            before = counts[at] or 0
            if before < len(section.entries):
                counts[at] = before + 1
                if room.holds(lines()):
                    growing = True
                else:
                    counts[at] = before
    return lines(final=True)


def _only_counted(sections: Sequence[Section]) -> Iterator[str]:
    entries = [entry for section in sections for entry in section.entries]
    told = ", ".join(
        f"{len(section.entries)} {section.noun}{_s(section.entries)}"
        for section in sections
        if section.entries
    )
    yield f"THE REST HAS NO ROOM HERE: {told} {_digest(entries)}"


def _kinds(entries: Sequence[SummaryEntry]) -> str:
    counted = Counter(entry.about for entry in entries if entry.about)
    told = ", ".join(f"{number} of {display.name(name)}" for name, number in counted.items())
    if not told:
        return ""
    return f": {told}" if len(told) <= MAX_KINDS else f" of {len(counted)} kinds"


def _digest(entries: Sequence[SummaryEntry]) -> str:
    return f"(sha256 {display.digest(*(entry.text for entry in entries))}); see `lictor ir show`"


def _s(entries: Sequence[SummaryEntry]) -> str:
    return "" if len(entries) == 1 else "s"
