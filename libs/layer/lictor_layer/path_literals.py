"""Paths that a program may write in a contract's arguments. They are names: nothing looks at a disk.

`FilePath("notes/today.md")` is exactly that file, `DirectoryPath("notes")` a directory and what is below it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from lictor_layer.path_predicates import is_plain_path


@dataclass(frozen=True, slots=True)
class LexicalPath:
    """A path written plainly: it can't be spelled in a second way, but for a leading `./`."""

    __lictor_literal__: ClassVar[bool] = True

    value: str

    def __post_init__(self) -> None:
        if type(self.value) is not str:
            raise TypeError(f"a path is a str, not {type(self.value).__name__}")
        plain = self.value != "" and is_plain_path(self.value)
        if not plain or ":" in self.value or "\0" in self.value:
            raise ValueError(
                f"{self.value!r} is not written plainly: a path has no empty, `.` or `..` segments,"
                " no backslash and no colon"
            )


@dataclass(frozen=True, slots=True)
class FilePath(LexicalPath):
    """Exactly this file."""

    def __post_init__(self) -> None:
        LexicalPath.__post_init__(self)
        if self.value == "." or self.value.endswith("/"):
            raise ValueError(f"{self.value!r} names a directory; a FilePath names a file")


@dataclass(frozen=True, slots=True)
class DirectoryPath(LexicalPath):
    """This directory and what is below it."""
