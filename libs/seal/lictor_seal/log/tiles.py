"""The tree of a log as static files: C2SP tlog-tiles, with tiles of height 8.

A tile is a row of up to 256 hashes of one level of the tree. A full one never changes, so appending touches the right
edge only: at most one unfinished tile a level, whatever the log's length. Every proof can be read from tiles.

    edge, files = Edge().append(leaves)      the tiles that these leaves completed
    edge.partial_tiles()                     and those that are still open
    TileTree(size, read).consistency(10)     a proof, by reading a few tiles
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, Self, TypeAlias

from lictor_seal.errors import MerkleError
from lictor_seal.log.merkle import (
    EMPTY_ROOT,
    HASH_SIZE,
    MAX_TREE_SIZE,
    Frontier,
    Proof,
    leaf_hash,
    node_hash,
)

TILE_HEIGHT: Final = 8
TILE_WIDTH: Final = 1 << TILE_HEIGHT

_MAX_LEVEL: Final = 63
_PATH: Final = re.compile(
    r"tile/(?P<level>0|[1-9][0-9]?)/(?P<index>(?:x[0-9]{3}/){0,5}[0-9]{3})(?:\.p/(?P<width>[1-9][0-9]{0,2}))?"
)

Read: TypeAlias = Callable[[str], bytes | None]
"""The content of a file of the log, by its path; None when there is none."""


class TileFile(NamedTuple):
    """One static file of the log."""

    path: str
    data: bytes


def index_path(index: int, width: int = TILE_WIDTH) -> str:
    """`x001/x234/067` for 1234067, with `.p/<width>` when it is partial."""
    groups = [f"{index % 1000:03}"]
    while index := index // 1000:
        groups.append(f"x{index % 1000:03}")
    suffix = "" if width == TILE_WIDTH else f".p/{width}"
    return "/".join(reversed(groups)) + suffix


@dataclass(frozen=True, slots=True)
class Tile:
    """Which tile: its level, its index in the level, and how many hashes it holds."""

    level: int
    index: int
    width: int = TILE_WIDTH

    def __post_init__(self) -> None:
        if not 0 <= self.level <= _MAX_LEVEL or self.index < 0 or not 1 <= self.width <= TILE_WIDTH:
            raise MerkleError(
                f"tile: level {self.level}, index {self.index}, width {self.width}: a level is in 0..{_MAX_LEVEL},"
                f" a width in 1..{TILE_WIDTH}"
            )

    @property
    def path(self) -> str:
        """Where tlog-tiles puts it."""
        return f"tile/{self.level}/{index_path(self.index, self.width)}"

    @classmethod
    def parse(cls, path: str) -> Self:
        """The tile whose path this is; raises MerkleError for any other spelling."""
        found = _PATH.fullmatch(path)
        if found is not None:
            index = int(found["index"].replace("x", "").replace("/", ""))
            width = int(found["width"]) if found["width"] else TILE_WIDTH
            if int(found["level"]) <= _MAX_LEVEL and width <= TILE_WIDTH:
                tile = cls(int(found["level"]), index, width)
                if tile.path == path:
                    return tile
        raise MerkleError(f"tile: {path[:120]!r} is not tile/<level>/<index>[.p/<width>]")


def tiles_of(size: int) -> Iterator[Tile]:
    """Every tile of a tree of this size, level by level."""
    _check_size(size)
    level, width = 0, size
    while width:
        full, partial = divmod(width, TILE_WIDTH)
        for index in range(full):
            yield Tile(level, index)
        if partial:
            yield Tile(level, full, partial)
        level, width = level + 1, full


def _check_size(size: int) -> None:
    if not 0 <= size <= MAX_TREE_SIZE:
        raise MerkleError(f"tiles: size {size} is not between 0 and {MAX_TREE_SIZE}")


def _perfect_root(hashes: Sequence[bytes]) -> bytes:
    """The root over a power of two of hashes."""
    while len(hashes) > 1:
        hashes = [node_hash(hashes[i], hashes[i + 1]) for i in range(0, len(hashes), 2)]
    return hashes[0]


@dataclass(frozen=True, slots=True)
class Edge:
    """The unfinished tiles of a tree, lowest level first: all that appending needs."""

    size: int = 0
    levels: tuple[tuple[bytes, ...], ...] = ()

    def __post_init__(self) -> None:
        _check_size(self.size)
        if [len(hashes) for hashes in self.levels] != _widths(self.size):
            raise MerkleError(
                f"tiles: the unfinished tiles of a tree of size {self.size} have the widths"
                f" {_widths(self.size)}; load those that were stored with that size"
            )

    def append(self, leaves: Sequence[bytes]) -> tuple["Edge", tuple[TileFile, ...]]:
        """The edge after these leaves, and the tiles that they completed."""
        rising = [leaf_hash(leaf) for leaf in leaves]
        completed: list[TileFile] = []
        levels: list[tuple[bytes, ...]] = []
        while rising or len(levels) < len(self.levels):
            level = len(levels)
            known = self.levels[level] if level < len(self.levels) else ()
            hashes = (*known, *rising)
            first = self.size >> TILE_HEIGHT * (level + 1)
            whole = len(hashes) // TILE_WIDTH
            rows = [hashes[n * TILE_WIDTH : (n + 1) * TILE_WIDTH] for n in range(whole)]
            completed += (
                TileFile(Tile(level, first + n).path, b"".join(row)) for n, row in enumerate(rows)
            )
            rising = [_perfect_root(row) for row in rows]
            levels.append(hashes[whole * TILE_WIDTH :])
        return Edge(self.size + len(leaves), tuple(levels)), tuple(completed)

    def partial_tiles(self) -> tuple[TileFile, ...]:
        """The unfinished tiles as files."""
        return tuple(
            TileFile(
                Tile(level, self.size >> TILE_HEIGHT * (level + 1), len(hashes)).path,
                b"".join(hashes),
            )
            for level, hashes in enumerate(self.levels)
            if hashes
        )

    def frontier(self) -> Frontier:
        """The same edge as peaks."""
        peaks: list[bytes] = []
        for hashes in reversed(self.levels):
            start = 0
            for height in range(TILE_HEIGHT - 1, -1, -1):
                if len(hashes) >> height & 1:
                    peaks.append(_perfect_root(hashes[start : start + (1 << height)]))
                    start += 1 << height
        return Frontier(self.size, tuple(peaks))

    def root(self) -> bytes:
        """The root of the whole tree."""
        return self.frontier().root()

    @classmethod
    def load(cls, size: int, read: Read) -> Self:
        """The edge of a tree of this size, from its stored tiles."""
        _check_size(size)
        levels = tuple(
            read_tile(Tile(level, size >> TILE_HEIGHT * (level + 1), width), read) if width else ()
            for level, width in enumerate(_widths(size))
        )
        return cls(size, levels)


def _widths(size: int) -> list[int]:
    """How many hashes the unfinished tile of each level has."""
    widths: list[int] = []
    while size:
        widths.append(size % TILE_WIDTH)
        size //= TILE_WIDTH
    return widths


def read_tile(tile: Tile, read: Read) -> tuple[bytes, ...]:
    """The hashes of a stored tile; of a partial one that is gone, those of the full one in its place."""
    path, data = tile.path, read(tile.path)
    if data is None and tile.width < TILE_WIDTH:
        path = Tile(tile.level, tile.index).path
        data = read(path)
        expected = TILE_WIDTH * HASH_SIZE
    else:
        expected = tile.width * HASH_SIZE
    if data is None:
        raise MerkleError(f"{tile.path} is missing; export the log again into an empty directory")
    if len(data) != expected:
        raise MerkleError(
            f"{path} has {len(data)} bytes, not {expected}; it was cut or changed: export the log again"
        )
    hashes = tuple(data[i : i + HASH_SIZE] for i in range(0, expected, HASH_SIZE))
    return hashes[: tile.width]


class TileTree:
    """A tree of which only tiles are there. What it gives is as good as its tiles: verify every proof."""

    def __init__(self, size: int, read: Read) -> None:
        _check_size(size)
        self.size = size
        self._read = read
        self._tiles: dict[Tile, tuple[bytes, ...]] = {}

    def root(self, size: int | None = None) -> bytes:
        """The root of the tree, or of what it was when it had fewer leaves."""
        size = self._within(self.size if size is None else size)
        return self._range(0, size) if size else EMPTY_ROOT

    def inclusion(self, index: int, size: int | None = None) -> Proof:
        """The proof that the leaf at ``index`` is in the tree of the first ``size`` leaves."""
        size = self._within(self.size if size is None else size)
        if not 0 <= index < size:
            raise MerkleError(f"inclusion proof: leaf {index} is not among {size} leaves")
        proof: list[bytes] = []
        start, end = 0, size
        while end - start > 1:
            middle = start + _split(end - start)
            if index < middle:
                proof.append(self._range(middle, end))
                end = middle
            else:
                proof.append(self._range(start, middle))
                start = middle
        return tuple(reversed(proof))

    def consistency(self, old_size: int, size: int | None = None) -> Proof:
        """The proof that the tree of the first ``old_size`` leaves is a prefix of the one of ``size``."""
        size = self._within(self.size if size is None else size)
        if not 0 <= old_size <= size:
            raise MerkleError(
                f"consistency proof: old size {old_size} is not between 0 and {size};"
                " ask for a size the log has passed"
            )
        if old_size in (0, size):
            return ()
        proof: list[bytes] = []
        start, end = 0, size
        while old_size != end:
            middle = start + _split(end - start)
            if old_size <= middle:
                proof.append(self._range(middle, end))
                end = middle
            else:
                proof.append(self._range(start, middle))
                start = middle
        # The old tree itself starts the path when it is a node: the verifier knows its root.
        return tuple(reversed(proof)) if start == 0 else (self._range(start, end), *reversed(proof))

    def _within(self, size: int) -> int:
        if not 0 <= size <= self.size:
            raise MerkleError(f"the log has {self.size} leaves; there is no tree of {size} in it")
        return size

    def _range(self, start: int, end: int) -> bytes:
        """The root over some leaves that stand together under one node of the tree."""
        count = end - start
        if count & (count - 1) == 0:
            return self._node(count.bit_length() - 1, start // count)
        middle = start + _split(count)
        return node_hash(self._range(start, middle), self._range(middle, end))

    def _node(self, height: int, index: int) -> bytes:
        """The complete node at this height, from the one tile that holds what is below it."""
        level, inside = divmod(height, TILE_HEIGHT)
        number, first = divmod(index << inside, TILE_WIDTH)
        width = min(TILE_WIDTH, (self.size >> TILE_HEIGHT * level) - number * TILE_WIDTH)
        tile = Tile(level, number, width)
        if tile not in self._tiles:
            self._tiles[tile] = read_tile(tile, self._read)
        return _perfect_root(self._tiles[tile][first : first + (1 << inside)])


def _split(count: int) -> int:
    """The largest power of two smaller than the count."""
    return 1 << (count - 1).bit_length() - 1
