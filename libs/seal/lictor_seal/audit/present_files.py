"""Every file that lies in an exported log has to be explained by what was signed, or it is reported.

Whoever reads the directory later need not read the same files as this check: a full tile beside a partial one, or
entries in both folders, would show them another log. What older exports left is explained: the beginnings of tiles.
"""

from collections.abc import Iterable, Sequence

from lictor_seal.audit.report import Findings
from lictor_seal.errors import MerkleError
from lictor_seal.log.entry_bundles import ENTRY_FOLDERS, entry_file
from lictor_seal.log.merkle import HASH_SIZE
from lictor_seal.log.tiles import Read, Tile, TileFile, index_path

_PARTIAL = ".p/"


class PresentFiles:
    """The names of all files that are there, less those that have been explained."""

    def __init__(self, names: Iterable[str], read: Read, findings: Findings) -> None:
        self._read = read
        self._findings = findings
        self._left: dict[str, set[str]] = {}
        for name in names:
            self._left.setdefault(name.partition(_PARTIAL)[0], set()).add(name)

    def expect(self, path: str) -> None:
        """A file that was checked."""
        self._left.get(path.partition(_PARTIAL)[0], set()).discard(path)

    def tile(self, signed: TileFile) -> None:
        """A tile of the tree was checked; what else claims its place must be a beginning of it."""
        for name in self._take(signed.path):
            try:
                width = Tile.parse(name).width
            except MerkleError:
                width = 0
            beginning = signed.data[: width * HASH_SIZE]
            self._compare(name, beginning if width * HASH_SIZE == len(beginning) > 0 else None)

    def entries(self, index: int, leaves: Sequence[bytes]) -> None:
        """A bundle of leaves was checked; what else claims its place must be a beginning of it, in its own folder."""
        for folder in ENTRY_FOLDERS:
            for name in self._take(f"{folder}/{index_path(index)}"):
                self._compare(name, _beginning(name, index, leaves))

    def finish(self) -> None:
        """Report what nothing has explained."""
        for name in sorted(name for names in self._left.values() for name in names):
            self._unexplained(name)

    def _take(self, path: str) -> list[str]:
        return sorted(self._left.pop(path.partition(_PARTIAL)[0], ()))

    def _compare(self, name: str, signed: bytes | None) -> None:
        if signed is None:
            self._unexplained(name)
        elif self._read(name) != signed:
            self._findings.add(
                name, "it holds something else than the log that the checkpoint signs"
            )

    def _unexplained(self, name: str) -> None:
        self._findings.add(
            name,
            "it is no part of the log that the checkpoint signs: remove it; if an export was interrupted, export again",
        )


def _beginning(name: str, index: int, leaves: Sequence[bytes]) -> bytes | None:
    """What a file of this name holds, if it is one that an export of these leaves, or of fewer, writes."""
    _, _, digits = name.partition(_PARTIAL)
    plain = digits.isascii() and digits.isdecimal() and len(digits) <= 3
    width = int(digits) if plain else len(leaves)
    if not 1 <= width <= len(leaves):
        return None
    file = entry_file(index, leaves[:width])
    return file.data if file.path == name else None
