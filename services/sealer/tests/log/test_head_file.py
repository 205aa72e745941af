"""The file of what was signed: read as it was written, or not at all."""

import os
from pathlib import Path

import pytest
from sealed_history import KEY, episode

from lictor_seal import Frontier
from lictor_sealer.log.head_file import (
    DROPPED,
    STORED,
    HeadFileError,
    PendingAppend,
    Remembered,
    SealedLeaf,
    SignedTree,
)
from lictor_sealer.log.signed_head import SignedHead
from lictor_sealer.log.tree import Draft, Head, append_leaves, seal_in_runs

AT = "2026-01-31T12:00:00.000Z"


def leaves(*names: str) -> tuple[SealedLeaf, ...]:
    [sealed] = seal_in_runs([Draft(episode(name), AT) for name in names], KEY)
    return tuple(
        SealedLeaf(f"lictor.ep.{name}", name, {"Lictor-Task": "ä"}, leaf)
        for name, leaf in zip(names, sealed, strict=True)
    )


def remembered() -> Remembered:
    """A log of one leaf, and an append of two."""
    first = append_leaves(Head(Frontier(), 0), [each.leaf for each in leaves("a")], KEY)
    second = leaves("b", "c")
    appended = append_leaves(Head(first.frontier, 2), [each.leaf for each in second], KEY)
    return Remembered(
        SignedTree.read(first.checkpoint),
        PendingAppend(SignedTree.read(appended.checkpoint), second),
    )


def test_what_is_written_is_read_again() -> None:
    written = remembered()
    assert Remembered.from_bytes(written.to_bytes()) == written
    first = Remembered(None, written.pending)
    assert Remembered.from_bytes(first.to_bytes()) == first


def test_the_last_line_says_what_became_of_the_append() -> None:
    written = remembered()
    assert written.pending is not None
    data = written.to_bytes()
    assert Remembered.from_bytes(data + STORED) == Remembered(written.pending.tree)
    assert Remembered.from_bytes(data + DROPPED) == Remembered(written.confirmed)
    # Of a line that a crash cut off, nothing is concluded; a whole one may follow it.
    for torn in (b"sto", b"drop", bytes(7)):
        assert Remembered.from_bytes(data + torn) == written
        assert Remembered.from_bytes(data + torn + STORED) == Remembered(written.pending.tree)


def test_a_checkpoint_alone_as_older_sealers_wrote_it_is_read() -> None:
    confirmed = remembered().confirmed
    assert confirmed is not None
    assert Remembered.from_bytes(confirmed.stored) == Remembered(confirmed)


def test_a_file_that_is_cut_off_anywhere_is_not_believed() -> None:
    data = remembered().to_bytes()
    for size in range(len(data)):
        with pytest.raises(HeadFileError):
            Remembered.from_bytes(data[:size])


def test_a_file_with_a_changed_byte_is_not_believed() -> None:
    data = remembered().to_bytes()
    for place in range(len(data)):
        changed = bytearray(data)
        changed[place] ^= 1
        with pytest.raises(HeadFileError):
            Remembered.from_bytes(bytes(changed))


def test_a_checkpoint_alone_with_the_frontier_of_another_tree_is_not_believed() -> None:
    written = remembered()
    assert written.confirmed is not None
    assert written.pending is not None
    _, _, old = written.confirmed.stored.partition(b'"frontier"')
    note, _, _ = written.pending.tree.stored.partition(b'"frontier"')
    with pytest.raises(HeadFileError, match="frontier"):
        Remembered.from_bytes(note + b'"frontier"' + old)


def _inode(path: Path) -> int:
    return path.stat().st_ino


async def test_what_another_sealer_left_is_on_the_disk_before_it_is_gone_on_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "signed-head"
    written = remembered()
    assert written.pending is not None
    path.write_bytes(written.to_bytes())
    wanted = {_inode(path), _inode(tmp_path)}
    synced: set[int] = set()
    sync = os.fsync

    def noting(fd: int) -> None:
        sync(fd)
        synced.add(os.fstat(fd).st_ino)

    monkeypatch.setattr(os, "fsync", noting)
    head = SignedHead(path)
    async with head.held():
        assert head.remembered == written
        # The same append again, as after a crash between the new name of the file and the sync of its folder.
        head.write_ahead(written.confirmed, written.pending)
    assert wanted <= synced
