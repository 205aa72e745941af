"""What can go wrong in the guard, each with a text for people."""

from collections.abc import Sequence
from dataclasses import dataclass

Place = tuple[str | int, ...]
"""Where in a document: names of fields, and places in lists."""


class GuardError(Exception):
    """Root of this library's errors."""


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong with a definition."""

    place: Place
    text: str
    source: str | None = None
    """The file, where it comes from one."""
    line: int | None = None

    def __str__(self) -> str:
        if self.source is None:
            return f"{spelled(self.place)}: {self.text}"
        where = self.source if self.line is None else f"{self.source}:{self.line}"
        return (
            f"{where}: {spelled(self.place)}: {self.text}"
            if self.place
            else f"{where}: {self.text}"
        )


class DefinitionError(GuardError):
    """An agent definition can't be used; names the place and what would help."""

    def __init__(self, message: str, problems: Sequence[Problem] = ()) -> None:
        super().__init__(message)
        self.problems = tuple(problems)
        """Everything that is wrong, where it is known part by part."""

    @classmethod
    def of(cls, problems: Sequence[Problem]) -> "DefinitionError":
        """One error that lists all problems."""
        return cls("\n".join(map(str, problems)), problems)


class FactError(GuardError):
    """A stored fact can't be read: another version wrote it, or it is damaged."""


class SessionStateError(GuardError):
    """A session's state can't be kept, read or set back; says why."""


def spelled(place: Place) -> str:
    """A place as people write it: `sections[1].policies[0].requires.deploy`."""
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in place)
    return text.removeprefix(".") or "the document"
