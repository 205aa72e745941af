"""What `lictor prove --fix` shows of a rejected program: how it could be rewritten, and what is proved of that."""

import difflib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from lictor.errors import LictorError


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A mechanical rewriting of a program that is rejected."""

    diff: str
    verdict: str
    """Of the program after it."""
    written: bool
    """Whether the file holds the program after it now."""


def unified(file: str, before: str, after: str) -> str:
    """The difference, as `patch` and `git apply` take it."""
    lines = difflib.unified_diff(
        before.splitlines(keepends=True),
        after.splitlines(keepends=True),
        f"a/{file.lstrip('/')}",
        f"b/{file.lstrip('/')}",
    )
    return "".join(_ended(lines))


def _ended(lines: Iterator[str]) -> Iterator[str]:
    for line in lines:
        yield line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"


def write(path: Path, before: str, text: str) -> None:
    """Put the program after the rewriting into its file, unless that holds something else by now."""
    try:
        # The program's own line ends stay what they are.
        unchanged = path.read_bytes() == before.encode()
        if unchanged:
            path.write_bytes(text.encode())
    except OSError as error:
        raise LictorError(f"{path} can't be written: {error.strerror or error}") from None
    if not unchanged:
        raise LictorError(f"{path} was changed while it was proved: nothing is written.")
