"""The leaves of a log as static files: the entry bundles of C2SP tlog-tiles.

A bundle holds the data of 256 leaves, each after its length in two bytes. A sealed episode may be longer than two bytes
can say; the bundle it falls into then stands elsewhere, with lengths of four bytes, and the standard path stays empty.
"""

from collections.abc import Sequence
from typing import Final

from lictor_seal.errors import MerkleError
from lictor_seal.log.tiles import TILE_WIDTH, Read, TileFile, index_path

_LIMIT: Final = 0xFFFF
_STANDARD: Final = ("tile/entries", 2)
_LONG: Final = ("entries-u32", 4)
ENTRY_FOLDERS: Final = (_STANDARD[0], _LONG[0])
"""Where entries are: never in both at once."""


def entry_file(index: int, leaves: Sequence[bytes]) -> TileFile:
    """The bundle of up to 256 leaves, the first of which is number ``index * 256``."""
    if not 1 <= len(leaves) <= TILE_WIDTH:
        raise MerkleError(f"entries: a bundle holds 1 to {TILE_WIDTH} leaves, not {len(leaves)}")
    folder, length = _STANDARD if max(map(len, leaves)) <= _LIMIT else _LONG
    data = b"".join(len(leaf).to_bytes(length, "big") + leaf for leaf in leaves)
    return TileFile(f"{folder}/{index_path(index, len(leaves))}", data)


def read_entries(index: int, width: int, read: Read) -> list[bytes]:
    """The leaves of a stored bundle; raises MerkleError unless there are exactly ``width``."""
    for wanted in dict.fromkeys((width, TILE_WIDTH)):
        for folder, length in (_STANDARD, _LONG):
            path = f"{folder}/{index_path(index, wanted)}"
            data = read(path)
            if data is not None:
                return _parse(path, data, length, wanted)[:width]
    raise MerkleError(
        f"{_STANDARD[0]}/{index_path(index, width)} is missing; export the log again into an empty directory"
    )


def _parse(path: str, data: bytes, length: int, width: int) -> list[bytes]:
    leaves: list[bytes] = []
    position = 0
    while position < len(data):
        start = position + length
        position = start + int.from_bytes(data[start - length : start], "big")
        leaves.append(data[start:position])
    if position != len(data) or len(leaves) != width:
        raise MerkleError(
            f"{path} does not hold {width} whole entries; it was cut or changed: export the log again"
        )
    return leaves
