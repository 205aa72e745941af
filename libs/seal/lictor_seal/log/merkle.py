"""Merkle tree hashing and proofs as RFC 6962 section 2.1 and RFC 9162 section 2.1 define them.

Every function takes the *data* of a leaf, never its hash: so the leaf prefix cannot be forgotten
and an inner node cannot pass as a leaf.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Self, TypeAlias, cast

from lictor_seal import base64_text
from lictor_seal.errors import MerkleError

HASH_SIZE: Final = 32
EMPTY_ROOT: Final = hashlib.sha256(b"").digest()

# 2**53 - 1: a size beyond it could not be written as a JSON number that every reader agrees on.
MAX_TREE_SIZE: Final = (1 << 53) - 1

Proof: TypeAlias = tuple[bytes, ...]


def leaf_hash(data: bytes) -> bytes:
    """SHA-256 of 0x00 and the leaf's data."""
    return hashlib.sha256(b"\x00" + data).digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    """SHA-256 of 0x01 and the hashes of the two children."""
    return hashlib.sha256(b"\x01" + left + right).digest()


def _fold(peaks: Sequence[bytes]) -> bytes:
    """The hash of the subtree that perfect subtrees of falling size form."""
    folded = peaks[-1]
    for peak in reversed(peaks[:-1]):
        folded = node_hash(peak, folded)
    return folded


@dataclass(frozen=True, slots=True)
class Frontier:
    """The right edge of a tree: all that is needed to append to it and to compute its root.

    `peaks` are the roots of the perfect subtrees the leaves fall into, largest first: one for each
    set bit of `size`.
    """

    size: int = 0
    peaks: tuple[bytes, ...] = ()

    def __post_init__(self) -> None:
        if not 0 <= self.size <= MAX_TREE_SIZE:
            raise MerkleError(f"frontier: size {self.size} is not between 0 and {MAX_TREE_SIZE}")
        if len(self.peaks) != self.size.bit_count():
            raise MerkleError(
                f"frontier: a tree of size {self.size} has {self.size.bit_count()} peaks,"
                f" {len(self.peaks)} were given; load the frontier that was stored with that size"
            )
        if any(len(peak) != HASH_SIZE for peak in self.peaks):
            raise MerkleError(f"frontier: every peak must be a SHA-256 hash of {HASH_SIZE} bytes")

    def append(self, leaf: bytes) -> "Frontier":
        """The frontier after one more leaf."""
        node = leaf_hash(leaf)
        peaks = list(self.peaks)
        remaining = self.size
        while remaining & 1:
            node = node_hash(peaks.pop(), node)
            remaining >>= 1
        return Frontier(self.size + 1, (*peaks, node))

    def root(self) -> bytes:
        """The Merkle tree hash of all leaves so far."""
        return _fold(self.peaks) if self.peaks else EMPTY_ROOT

    def to_json_value(self) -> dict[str, object]:
        """The JSON form, to be stored beside a checkpoint."""
        return {"size": self.size, "peaks": [base64_text.encode(peak) for peak in self.peaks]}

    @classmethod
    def from_json_value(cls, value: Mapping[str, object]) -> Self:
        """The frontier whose JSON form this is; raises MerkleError when it is not one."""
        size, peaks = value.get("size"), value.get("peaks")
        if set(value) != {"size", "peaks"} or type(size) is not int or not isinstance(peaks, list):
            raise MerkleError("frontier: expected an object with an integer `size` and `peaks`")
        try:
            decoded = tuple(base64_text.decode(str(peak)) for peak in cast(list[object], peaks))
        except ValueError as error:
            raise MerkleError(f"frontier: a peak is {error}") from error
        return cls(size, decoded)


def extend(frontier: Frontier, leaves: Sequence[bytes]) -> tuple[Frontier, tuple[Proof, ...]]:
    """Append a batch: the new frontier, and each new leaf's inclusion proof against its root.

    Needs nothing but the frontier and the batch: every sibling on the path of a new leaf is either
    above another new leaf or was a peak before. Cost: O(batch * log size).
    """
    if not leaves:
        return frontier, ()
    levels = _levels_above(frontier, leaves)
    old_size, size = frontier.size, frontier.size + len(leaves)
    old_peaks = _peaks_by_height(frontier)

    def node(height: int, index: int) -> bytes:
        first_new = old_size >> height
        return old_peaks[height] if index < first_new else levels[height][index - first_new]

    heights = [h for h in range(size.bit_length() - 1, -1, -1) if size >> h & 1]
    peaks = tuple(node(h, (size >> h) - 1) for h in heights)
    # What follows the path inside a peak's own subtree is the same for all leaves under it: the
    # peaks to its right folded into one hash, then the peaks to its left, nearest first.
    tails = {
        height: ((_fold(peaks[k + 1 :]),) if k + 1 < len(peaks) else ()) + peaks[:k][::-1]
        for k, height in enumerate(heights)
    }

    # Downwards, so that what neighbours share is put together once: the path of a node that is no peak is its sibling
    # and the path of its parent.
    paths: list[Proof] = []
    for height in range(heights[0], -1, -1):
        first, end, first_parent = old_size >> height, size >> height, old_size >> height + 1
        paths = [
            tails[height]
            if end & 1 and index == end - 1
            else (node(height, index ^ 1), *paths[(index >> 1) - first_parent])
            for index in range(first, end)
        ]
    return Frontier(size, peaks), tuple(paths)


def _peaks_by_height(frontier: Frontier) -> dict[int, bytes]:
    size = frontier.size
    heights = (h for h in range(size.bit_length() - 1, -1, -1) if size >> h & 1)
    return dict(zip(heights, frontier.peaks, strict=True))


def _levels_above(frontier: Frontier, leaves: Sequence[bytes]) -> list[list[bytes]]:
    """For each height the complete nodes that have a new leaf under them, left to right."""
    old_peaks = _peaks_by_height(frontier)
    level = [leaf_hash(leaf) for leaf in leaves]
    levels = [level]
    height, first = 0, frontier.size
    while level:
        # An odd first index means that its left sibling was complete before: an old peak.
        children = [old_peaks[height], *level] if first & 1 else level
        level = [node_hash(children[i], children[i + 1]) for i in range(0, len(children) - 1, 2)]
        levels.append(level)
        height, first = height + 1, first >> 1
    return levels


def tree_root(leaves: Sequence[bytes]) -> bytes:
    """The Merkle tree hash of leaves held in memory."""
    return extend(Frontier(), leaves)[0].root()


def consistency_proof(leaves: Sequence[bytes], old_size: int) -> Proof:
    """The proof that the tree over the first `old_size` leaves is a prefix of the whole tree.

    For trees held in memory: it hashes all leaves, as RFC 9162 section 2.1.4.1 writes it down.
    """
    if not 0 <= old_size <= len(leaves):
        raise MerkleError(
            f"consistency proof: old size {old_size} is not between 0 and {len(leaves)},"
            " the number of leaves; ask for a size the log has passed"
        )
    if old_size in (0, len(leaves)):
        return ()
    return _subproof(leaves, old_size, old_root_is_known=True)


def _subproof(leaves: Sequence[bytes], old_size: int, *, old_root_is_known: bool) -> Proof:
    if old_size == len(leaves):
        return () if old_root_is_known else (tree_root(leaves),)
    split = 1 << (len(leaves) - 1).bit_length() - 1
    left, right = leaves[:split], leaves[split:]
    if old_size <= split:
        inner = _subproof(left, old_size, old_root_is_known=old_root_is_known)
        return (*inner, tree_root(right))
    return (*_subproof(right, old_size - split, old_root_is_known=False), tree_root(left))


def verify_inclusion(
    leaf: bytes, index: int, size: int, proof: Sequence[bytes], root: bytes
) -> bool:
    """Whether the proof shows the leaf at `index` of the tree with this size and root."""
    if not 0 <= index < size <= MAX_TREE_SIZE or any(len(h) != HASH_SIZE for h in proof):
        return False
    position, last = index, size - 1
    computed = leaf_hash(leaf)
    for sibling in proof:
        if last == 0:
            return False
        if position & 1 or position == last:
            computed = node_hash(sibling, computed)
            # On the right edge a node may have no sibling for several levels: climb past them.
            while not position & 1 and position:
                position, last = position >> 1, last >> 1
        else:
            computed = node_hash(computed, sibling)
        position, last = position >> 1, last >> 1
    return last == 0 and computed == root


def verify_consistency(
    old_size: int, old_root: bytes, new_size: int, new_root: bytes, proof: Sequence[bytes]
) -> bool:
    """Whether the proof shows that the old tree is a prefix of the new one."""
    if not 0 <= old_size <= new_size <= MAX_TREE_SIZE or any(len(h) != HASH_SIZE for h in proof):
        return False
    if old_size == 0:
        return not proof and old_root == EMPTY_ROOT and (new_size > 0 or new_root == EMPTY_ROOT)
    if old_size == new_size:
        return not proof and old_root == new_root
    # An old tree of a power of two leaves is itself a node of the new one: it starts the path.
    path = list(proof) if old_size & (old_size - 1) else [old_root, *proof]
    if not path:
        return False
    position, last = old_size - 1, new_size - 1
    while position & 1:
        position, last = position >> 1, last >> 1
    old_computed = new_computed = path[0]
    for sibling in path[1:]:
        if last == 0:
            return False
        if position & 1 or position == last:
            old_computed = node_hash(sibling, old_computed)
            new_computed = node_hash(sibling, new_computed)
            while not position & 1 and position:
                position, last = position >> 1, last >> 1
        else:
            new_computed = node_hash(new_computed, sibling)
        position, last = position >> 1, last >> 1
    return last == 0 and old_computed == old_root and new_computed == new_root
