"""The bundle files that `lictor seal` reads, and the trust file for them."""

import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from lictor.installation.directories import data_directory
from lictor.installation.endpoints import find_running
from lictor_seal import Seal, SealBundle, SealError, TrustStore
from lictor_seal.bundle import MAX_BUNDLE_SIZE

NOT_COMPLETE = "not every message was there any more when it was sealed, or could be covered"


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


def trust_file_for(bundle: bytes) -> Path | None:
    """The trust file that `lictor up` wrote here, if it holds the key that sealed the bundle."""
    running = find_running()
    path = Path(running.trust_file) if running else data_directory() / "keys" / "trust.json"
    try:
        seal = Seal.of(SealBundle.from_bytes(bundle).sealed_episode)
        known = TrustStore.load(path).by_id(seal.metadata.key_id)
    except (SealError, OSError):
        return None
    return None if known is None else path
