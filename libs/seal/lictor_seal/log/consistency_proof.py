"""A consistency proof as a text file, in the form that C2SP tlog-witness gives the body of `add-checkpoint`.

old <size>
<hash, Base64>          one line a hash
                        an empty line
<signed checkpoint>     of the larger tree; left out where nobody signed one of that size
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Self

from lictor_seal import base64_text
from lictor_seal.errors import CheckpointError, MerkleError
from lictor_seal.log.checkpoint import Checkpoint
from lictor_seal.log.merkle import HASH_SIZE, MAX_TREE_SIZE, Proof, verify_consistency

_OLD: Final = re.compile(r"old (0|[1-9][0-9]{0,15})")
_MAX_HASHES: Final = 2 * MAX_TREE_SIZE.bit_length()


@dataclass(frozen=True, slots=True)
class ConsistencyProof:
    """The hashes that lead from a tree to a larger one. Nothing in it is verified yet."""

    old_size: int
    hashes: Proof
    checkpoint: str | None = None

    def to_text(self) -> str:
        """The file's content."""
        lines = (f"old {self.old_size}", *map(base64_text.encode, self.hashes))
        return "".join(f"{line}\n" for line in lines) + "\n" + (self.checkpoint or "")

    @classmethod
    def from_text(cls, text: str) -> Self:
        """The proof in a file; raises MerkleError when there is none."""
        head, separator, note = text.partition("\n\n")
        first, *lines = head.split("\n")
        stated = _OLD.fullmatch(first)
        if stated is None or not separator or len(lines) > _MAX_HASHES:
            raise MerkleError(
                "consistency proof: expected `old <size>`, the hashes in Base64 and an empty line;"
                " make it with `lictor log prove`"
            )
        return cls(int(stated[1]), _hashes(lines), note or None)


def _hashes(lines: Sequence[str]) -> Proof:
    try:
        hashes = tuple(map(base64_text.decode, lines))
    except ValueError as error:
        raise MerkleError(f"consistency proof: a hash is {error}") from error
    if any(len(each) != HASH_SIZE for each in hashes):
        raise MerkleError(f"consistency proof: every hash has {HASH_SIZE} bytes")
    return hashes


def check_consistent(known: Checkpoint, found: Checkpoint, proof: ConsistencyProof | None) -> str:
    """How two checkpoints of one log belong together; raises CheckpointError when they do not.

    ``known`` came from outside, ``found`` with what is judged; either may be the older one.
    """
    if known.origin != found.origin:
        raise CheckpointError(
            f"the known checkpoint is of the log {known.origin[:80]!r}, this one of {found.origin[:80]!r}"
        )
    if known.size == found.size:
        if known.root != found.root:
            raise CheckpointError(
                f"two different trees of {known.size} leaves are signed: the log was rewritten or forked"
            )
        return f"the tree of {known.size} leaves is the known one"
    old, new = sorted((known, found), key=lambda each: each.size)
    if proof is None:
        if old.size:
            raise CheckpointError(
                f"no proof that {old.size} leaves became {new.size}; make one with"
                f" `lictor log prove --from {old.size} --to {new.size}`"
            )
        proof = ConsistencyProof(0, ())
    if proof.old_size != old.size:
        raise CheckpointError(
            f"the proof starts at {proof.old_size} leaves, the older checkpoint has {old.size}"
        )
    if not verify_consistency(old.size, old.root, new.size, new.root, proof.hashes):
        raise CheckpointError(
            f"the proof does not lead from the tree of {old.size} leaves to that of {new.size}:"
            " the log was rewritten or forked, or the proof is of other trees"
        )
    return f"the tree of {old.size} leaves is a prefix of that of {new.size}"
