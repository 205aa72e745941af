"""What the sealer remembers of the log, as a file: the checkpoint it goes on from, and the append that is under way.

    lictor-signed-head/v1 <SHA-256 of the body> <bytes of the body>
    <the last checkpoint that is known to be stored, as EPISODES holds it, or null>
    <the checkpoint of the append that is under way>
    {"headers": {...}, "id": "...", "subject": "..."}     for each of its leaves,
    <leaf>                                                and the leaf itself
    stored                                                what became of it; or `dropped`; or nothing

The last line comes behind the body, without a sync: where a crash leaves none, or half of one, nobody knows what became
of the append, which is the case that the body is there for. An older sealer wrote a checkpoint alone. Pure.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Final, NamedTuple, Self

from lictor_seal import (
    CheckpointError,
    Frontier,
    SealError,
    StoredCheckpoint,
    checkpoint_in,
    position_in,
)

FORMAT: Final = "lictor-signed-head/v1"
STORED: Final = b"stored\n"
DROPPED: Final = b"dropped\n"

_PREFIX: Final = f"{FORMAT} ".encode()
_NONE: Final = b"null"


class HeadFileError(Exception):
    """The file does not say what was signed."""


class SealedLeaf(NamedTuple):
    """A leaf on its way into the log: published again, it is the same leaf, so the same tree."""

    subject: str
    message_id: str
    headers: Mapping[str, str]
    leaf: bytes


@dataclass(frozen=True, slots=True)
class SignedTree:
    """A checkpoint as EPISODES stores it, with what it states."""

    stored: bytes
    note: str
    frontier: Frontier
    place: int
    """Where in EPISODES it was made to stand."""

    @classmethod
    def read(cls, stored: bytes) -> Self:
        """From the body of its message; raises SealError when there is none, or its frontier is another's."""
        checkpoint = StoredCheckpoint.from_bytes(stored)
        stated, frontier = checkpoint_in(checkpoint.note), checkpoint.frontier
        if (stated.size, stated.root) != (frontier.size, frontier.root()):
            raise CheckpointError("the frontier is not that of the signed tree")
        return cls(stored, checkpoint.note, frontier, position_in(stated))


@dataclass(frozen=True, slots=True)
class PendingAppend:
    """An append that was signed, and may be stored or not."""

    tree: SignedTree
    leaves: tuple[SealedLeaf, ...]


@dataclass(frozen=True, slots=True)
class Remembered:
    """What the file says."""

    confirmed: SignedTree | None = None
    """The last checkpoint that is known to have been stored; what is pending was built on it."""
    pending: PendingAppend | None = None

    @property
    def base(self) -> Frontier:
        """The tree that what is pending was built on."""
        return Frontier() if self.confirmed is None else self.confirmed.frontier

    def to_bytes(self) -> bytes:
        """The file; there is something pending whenever it is written."""
        assert self.pending is not None
        lines = [
            _NONE if self.confirmed is None else self.confirmed.stored,
            self.pending.tree.stored,
        ]
        for each in self.pending.leaves:
            meta = {"headers": dict(each.headers), "id": each.message_id, "subject": each.subject}
            lines += (json.dumps(meta).encode(), each.leaf)
        body = b"\n".join((*lines, b""))
        return b"%b%b %d\n%b" % (_PREFIX, sha256(body).hexdigest().encode(), len(body), body)

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """What a file says; raises HeadFileError when it can't be read or was changed."""
        try:
            if not data.startswith(_PREFIX):
                return cls(SignedTree.read(data))
            return cls._parse(*data[len(_PREFIX) :].split(b"\n", 1))
        except (SealError, ValueError, KeyError, TypeError) as error:
            raise HeadFileError(str(error)) from error

    @classmethod
    def _parse(cls, first: bytes, rest: bytes = b"") -> Self:
        digest, size = first.split(b" ")
        body, became = rest[: int(size)], rest[int(size) :]
        if sha256(body).hexdigest().encode() != digest:
            raise HeadFileError("it was changed or cut off")
        base, tree, *leaves = body.splitlines()
        confirmed = None if base == _NONE else SignedTree.read(base)
        pending = PendingAppend(SignedTree.read(tree), tuple(_leaves(leaves)))
        # Behind what an earlier crash may have left of such a line.
        if became.endswith(STORED):
            return cls(pending.tree)
        return cls(confirmed, None if became.endswith(DROPPED) else pending)


def _leaves(lines: Sequence[bytes]) -> Iterator[SealedLeaf]:
    for meta, leaf in zip(lines[::2], lines[1::2], strict=True):
        value = json.loads(meta)
        yield SealedLeaf(value["subject"], value["id"], value["headers"], leaf)
