"""Tiles: the layout that tlog-tiles prescribes, and proofs read from them."""

import pymerkle
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lictor_seal import (
    Edge,
    Frontier,
    MerkleError,
    Tile,
    TileTree,
    consistency_proof,
    entry_file,
    extend,
    leaf_hash,
    read_entries,
    tiles_of,
    tree_root,
    verify_consistency,
    verify_inclusion,
)

SIZES = [1, 2, 255, 256, 257, 511, 512, 513, 1000]


def leaves_of(size: int) -> list[bytes]:
    return [b"leaf %d" % number for number in range(size)]


def stored(leaves: list[bytes], steps: int = 97) -> tuple[Edge, dict[str, bytes]]:
    """A log that grew by small batches, as its files; partial tiles of the last size only."""
    edge, files = Edge(), dict[str, bytes]()
    for start in range(0, len(leaves), steps):
        edge, completed = edge.append(leaves[start : start + steps])
        files |= dict(completed)
    return edge, files | dict(edge.partial_tiles())


@pytest.mark.parametrize(
    ("tile", "path"),
    [
        (Tile(0, 0), "tile/0/000"),
        (Tile(0, 999), "tile/0/999"),
        (Tile(0, 1000), "tile/0/x001/000"),
        (Tile(0, 1234067), "tile/0/x001/x234/067"),
        (Tile(2, 67, 17), "tile/2/067.p/17"),
        (Tile(63, 1234067, 255), "tile/63/x001/x234/067.p/255"),
    ],
)
def test_a_path_is_the_one_that_the_specification_gives(tile: Tile, path: str) -> None:
    assert tile.path == path
    assert Tile.parse(path) == tile


@pytest.mark.parametrize(
    "path",
    [
        "tile/0/0",
        "tile/00/000",
        "tile/64/000",
        "tile/0/x000/001",
        "tile/0/001/002",
        "tile/0/000.p/256",
        "tile/0/000.p/0",
        "tile/0/000.p/01",
        "tile/0/000.p/999",
        "tile/entries/000",
        "/tile/0/000",
        "tile/0/000\n",
        "tile/0/" + "x123/" * 6 + "123",
        "",
    ],
)
def test_any_other_spelling_of_a_path_is_refused(path: str) -> None:
    with pytest.raises(MerkleError, match="is not tile"):
        Tile.parse(path)


@pytest.mark.parametrize("wrong", [(-1, 0, 1), (64, 0, 1), (0, -1, 1), (0, 0, 0), (0, 0, 257)])
def test_a_tile_that_can_not_be_is_refused(wrong: tuple[int, int, int]) -> None:
    with pytest.raises(MerkleError, match="a width in"):
        Tile(*wrong)


def test_a_tree_of_70000_has_the_tiles_that_the_specification_counts() -> None:
    tiles = list(tiles_of(70_000))
    counted = {
        (level, width): sum(tile.level == level and tile.width == width for tile in tiles)
        for level, width in {(tile.level, tile.width) for tile in tiles}
    }
    assert counted == {(0, 256): 273, (0, 112): 1, (1, 256): 1, (1, 17): 1, (2, 1): 1}
    assert [tile.path for tile in tiles_of(256)] == ["tile/0/000", "tile/1/000.p/1"]
    assert list(tiles_of(0)) == []


@pytest.mark.parametrize("size", SIZES)
def test_the_files_of_a_log_are_exactly_its_tiles(size: int) -> None:
    edge, files = stored(leaves_of(size))
    assert set(files) == {tile.path for tile in tiles_of(size)}
    assert all(len(files[tile.path]) == 32 * tile.width for tile in tiles_of(size))
    assert edge.root() == tree_root(leaves_of(size))


def test_the_hashes_in_a_tile_are_the_roots_of_what_it_stands_for() -> None:
    leaves = leaves_of(700)
    _, files = stored(leaves)
    assert files["tile/0/001"][:32] == leaf_hash(leaves[256])
    assert files["tile/1/000.p/2"] == tree_root(leaves[:256]) + tree_root(leaves[256:512])


@pytest.mark.parametrize("size", SIZES)
def test_an_edge_has_the_frontier_of_its_leaves_and_is_read_back(size: int) -> None:
    edge, files = stored(leaves_of(size))
    assert edge.frontier() == extend(Frontier(), leaves_of(size))[0]
    assert Edge.load(size, files.get) == edge


def test_appending_touches_the_right_edge_only() -> None:
    # A tree of a million leaves that nobody holds: only its unfinished tiles are there.
    size = 1_000_003
    widths = [size % 256, size // 256 % 256, size // 65536]
    edge = Edge(size, tuple(tuple(leaf_hash(b"%d" % n) for n in range(w)) for w in widths))
    longer, completed = edge.append(leaves_of(300))
    assert longer.size == size + 300
    assert [path for path, _ in completed] == [Tile(0, size // 256).path]
    assert len(longer.partial_tiles()) <= 3


def test_an_edge_whose_tiles_do_not_belong_to_its_size_is_refused() -> None:
    with pytest.raises(MerkleError, match="have the widths"):
        Edge(2, ((leaf_hash(b""),),))
    with pytest.raises(MerkleError, match="size"):
        Edge(-1)


@pytest.mark.parametrize("size", SIZES)
def test_proofs_read_from_tiles_are_those_of_the_leaves(size: int) -> None:
    leaves = leaves_of(size)
    _, files = stored(leaves)
    tree = TileTree(size, files.get)
    frontier, proofs = extend(Frontier(), leaves)
    assert tree.root() == frontier.root()
    for index in {0, 1, size // 2, size - 1} & set(range(size)):
        assert tree.inclusion(index) == proofs[index]
    for old_size in {0, 1, 2, size // 2, size - 1, size, 256, 255} & set(range(size + 1)):
        assert tree.consistency(old_size) == consistency_proof(leaves, old_size)
        assert tree.root(old_size) == tree_root(leaves[:old_size])


@given(size=st.integers(1, 900), data=st.data())
def test_every_proof_between_any_two_sizes_holds(size: int, data: st.DataObject) -> None:
    leaves = leaves_of(size)
    _, files = stored(leaves, data.draw(st.integers(1, 300)))
    tree = TileTree(size, files.get)
    new = data.draw(st.integers(1, size))
    old, index = data.draw(st.integers(0, new)), data.draw(st.integers(0, new - 1))
    root = tree.root(new)
    assert root == tree_root(leaves[:new])
    assert verify_inclusion(leaves[index], index, new, tree.inclusion(index, new), root)
    assert verify_consistency(old, tree.root(old), new, root, tree.consistency(old, new))


@pytest.mark.parametrize("size", [300, 700])
def test_pymerkle_accepts_what_is_read_from_tiles(size: int) -> None:
    leaves = leaves_of(size)
    _, files = stored(leaves)
    tree, theirs = (
        TileTree(size, files.get),
        pymerkle.InmemoryTree.init_from_entries(leaves, algorithm="sha256"),
    )
    assert tree.root() == theirs.get_root()
    for index in (0, 255, 256, size - 1):
        proof = theirs.prove_inclusion(index + 1)
        proof.path = [leaf_hash(leaves[index]), *tree.inclusion(index)]
        pymerkle.verify_inclusion(theirs.get_leaf(index + 1), tree.root(), proof)
    for old in (1, 255, 256, 257, size - 1):
        # Its consistency proofs order their hashes otherwise: its states must be consistent by ours.
        ours = tree.consistency(old)
        assert verify_consistency(old, theirs.get_root(old), size, theirs.get_root(size), ours)
        pymerkle.verify_consistency(
            tree.root(old), tree.root(), theirs.prove_consistency(old, size)
        )


def test_an_inclusion_proof_at_a_million_leaves_is_short_and_reads_few_tiles() -> None:
    size, asked = 1_000_000, []

    def read(path: str) -> bytes:
        asked.append(path)
        return bytes(32 * Tile.parse(path).width)

    assert len(TileTree(size, read).inclusion(654_321)) <= 40
    assert len(asked) <= 6


def test_a_partial_tile_that_is_gone_is_read_from_the_full_one() -> None:
    leaves = leaves_of(600)
    _, files = stored(leaves)
    # What a reader of an older checkpoint finds: the log went on, and dropped partial tiles that are full now.
    files |= {path: data for path, data in stored(leaves[:300])[1].items() if "tile/1/" in path}
    assert TileTree(300, files.get).root() == tree_root(leaves[:300])
    assert Edge.load(300, files.get).root() == tree_root(leaves[:300])


@pytest.mark.parametrize("data", [None, b"", bytes(31), bytes(33), bytes(32 * 256)])
def test_a_missing_or_cut_tile_is_named(data: bytes | None) -> None:
    _, files = stored(leaves_of(10))
    with pytest.raises(MerkleError, match=r"tile/0/000.p/10"):
        TileTree(10, {"tile/0/000.p/10": data}.get).root()
    assert files["tile/0/000.p/10"]


def test_a_proof_for_what_is_not_there_is_refused() -> None:
    _, files = stored(leaves_of(10))
    tree = TileTree(10, files.get)
    for wrong in (lambda: tree.inclusion(10), lambda: tree.root(11), lambda: tree.consistency(11)):
        with pytest.raises(MerkleError):
            wrong()
    with pytest.raises(MerkleError, match="old size 9"):
        tree.consistency(9, 8)


@given(st.lists(st.binary(max_size=300), min_size=1, max_size=256), st.integers(0, 2_000_000))
def test_entries_are_read_back_as_they_were_written(leaves: list[bytes], index: int) -> None:
    file = entry_file(index, leaves)
    assert file.path.startswith("tile/entries/")
    assert read_entries(index, len(leaves), dict([file]).get) == leaves


def test_an_entry_bundle_is_the_one_of_the_specification() -> None:
    assert entry_file(1234067, [b"abc", b""]) == (
        "tile/entries/x001/x234/067.p/2",
        b"\x00\x03abc\x00\x00",
    )


def test_a_bundle_with_an_entry_longer_than_64_kib_stands_elsewhere() -> None:
    leaves = [b"short", bytes(65_536), bytes(65_535)]
    file = entry_file(7, leaves)
    assert file.path == "entries-u32/007.p/3"
    assert read_entries(7, 3, dict([file]).get) == leaves
    assert entry_file(7, leaves[2:]).path == "tile/entries/007.p/1"


def test_entries_of_an_older_size_are_read_from_the_full_bundle() -> None:
    leaves = leaves_of(256)
    assert read_entries(0, 3, dict([entry_file(0, leaves)]).get) == leaves[:3]


@pytest.mark.parametrize(
    "data", [b"", b"\x00", b"\x00\x03ab", b"\x00\x01a", b"\x00\x01a\x00\x01b\x00"]
)
def test_cut_entries_are_refused(data: bytes) -> None:
    with pytest.raises(MerkleError, match="does not hold 2 whole entries"):
        read_entries(0, 2, {"tile/entries/000.p/2": data}.get)
    with pytest.raises(MerkleError, match="is missing"):
        read_entries(0, 2, {}.get)
    with pytest.raises(MerkleError, match="1 to 256 leaves"):
        entry_file(0, [])
