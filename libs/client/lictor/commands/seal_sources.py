"""The bundle files that `lictor seal` reads."""

import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from lictor_seal.bundle import MAX_BUNDLE_SIZE


class BundleFile:
    """A file whose first line, the seal, is at hand while the rest is read only when it is needed."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.first = file.readline(MAX_BUNDLE_SIZE + 1)
        self._left = self.first

    def readline(self, size: int, /) -> bytes:
        """The next line, or as much of it as that."""
        return self._file.readline(size) if not self._left else self._take(size)

    def read(self, size: int, /) -> bytes:
        """So many bytes, or all that are left."""
        taken = self._take(size)
        return taken + self._file.read(size - len(taken))

    def _take(self, size: int) -> bytes:
        taken, self._left = self._left[:size], self._left[size:]
        return taken


@contextmanager
def opened(name: str) -> Generator[BundleFile]:
    """A bundle by its path; - for stdin."""
    if name == "-":
        yield BundleFile(sys.stdin.buffer)
        return
    with Path(name).open("rb") as file:
        yield BundleFile(file)
