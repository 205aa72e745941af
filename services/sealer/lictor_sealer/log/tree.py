"""The transparency log: an RFC 6962 tree over sealed episodes, kept in the EPISODES stream itself.

Each append is one atomic batch: the sealed episodes, then the signed checkpoint that covers them with the tree's
frontier beside it. The stream is the log's only storage, and the broker stores such a batch whole or not at all, so a
crash can neither lose a leaf nor fork the tree; the batch also names the sequence it expects to follow, so a second
sealer can't append beside the first. A new key goes on where an older one stopped only after a hand-over that both
signed. Pure: the I/O is in ``app``.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice
from typing import Final

from lictor_schema.seals.episode import DecisionEpisode
from lictor_seal import (
    Checkpoint,
    Frontier,
    SealError,
    SigningKey,
    StoredCheckpoint,
    TrustStore,
    bundle_of_leaf,
    extend,
    hand_over_in,
    position_line,
    sign_checkpoint,
    sign_hand_over,
    unsigned_leaf,
    verify_checkpoint,
)

_RUN: Final = 8


class LogError(Exception):
    """The log's stored head can't be trusted; the message says what to do."""


@dataclass(frozen=True, slots=True)
class Head:
    """Where the log stands: its frontier, and the stream sequence of its last checkpoint."""

    frontier: Frontier
    sequence: int
    checkpoint: bytes = field(default=b"", repr=False, compare=False)
    """The last checkpoint as the stream holds it; none before the first append."""


@dataclass(frozen=True, slots=True)
class Draft:
    """An episode to be sealed, the broker's time for it, and the sealed one that it corrects, if it does."""

    episode: DecisionEpisode
    sealed_at: str
    previous: Mapping[str, object] | None = None


@dataclass(frozen=True, slots=True)
class Appended:
    """What one append writes: a bundle a draft, then the checkpoint."""

    frontier: Frontier
    bundles: tuple[bytes, ...]
    checkpoint: bytes


def append(head: Head, drafts: Iterable[Draft], key: SigningKey) -> Appended:
    """Seal the drafts, each as it comes, and extend the tree by them."""
    return append_leaves(head, [*chain.from_iterable(seal_in_runs(drafts, key))], key)


def seal_in_runs(drafts: Iterable[Draft], key: SigningKey) -> Iterator[list[bytes]]:
    """The leaves of the drafts, in their order, a few at a time.

    A few go through each stage (made by the caller, hashed, signed) together: one by one, the stages drive each other's
    code and tables out of the processor's caches, and sealing takes a sixth longer. None of it depends on the log's
    head, so a caller can seal what comes next while the broker stores what came before.
    """
    waiting = iter(drafts)
    while run := tuple(islice(waiting, _RUN)):
        unsigned = [
            unsigned_leaf(
                draft.episode, sealed_at=draft.sealed_at, signer=key, previous=draft.previous
            )
            for draft in run
        ]
        yield [each.sign() for each in unsigned]


def append_leaves(head: Head, leaves: Sequence[bytes], key: SigningKey) -> Appended:
    """Extend the tree by leaves that are sealed already, with the same key."""
    frontier, proofs = extend(head.frontier, leaves)
    # Where the checkpoint will stand in the stream is signed with it: one that is published again, or put
    # elsewhere, is no head. The broker stores the batch there or not at all.
    sequence = head.sequence + len(leaves) + 1
    checkpoint = Checkpoint(key.name, frontier.size, frontier.root(), (position_line(sequence),))
    note = sign_checkpoint(checkpoint, key)
    bundles = tuple(
        bundle_of_leaf(leaf, head.frontier.size + number, proof, note)
        for number, (leaf, proof) in enumerate(zip(leaves, proofs, strict=True))
    )
    return Appended(frontier, bundles, StoredCheckpoint(note, frontier).to_bytes())


def hand_over(
    head: Head, old: SigningKey, new: SigningKey, *, at: str, trust: TrustStore
) -> Appended:
    """The checkpoint by which the log goes from one key to another; it adds no leaf."""
    frontier, position = head.frontier, position_line(head.sequence + 1)
    checkpoint = Checkpoint(new.name, frontier.size, frontier.root(), (position,))
    try:
        note = sign_hand_over(checkpoint, old, new, at=at, trust=trust)
    except SealError as error:
        raise LogError(f"the log can't be handed over to {new.key_id}: {error}") from error
    return Appended(frontier, (), StoredCheckpoint(note, frontier).to_bytes())


def read_head(checkpoint: bytes, sequence: int, key: SigningKey) -> Head:
    """The head that a stored checkpoint states, if our own signature on it holds."""
    try:
        stored = StoredCheckpoint.from_bytes(checkpoint)
        stated, _ = verify_checkpoint(stored.note, [key.verifying_key])
        handed = hand_over_in(stated)
    except SealError as error:
        raise LogError(
            f"the log's last checkpoint (EPISODES {sequence}) does not verify with this key: {error}; "
            "give the sealer the key that wrote the log, or let that key hand it over, or restore the stream"
        ) from error
    frontier = stored.frontier
    if stated.size != frontier.size or stated.root != frontier.root():
        raise LogError(
            f"the log's frontier (EPISODES {sequence}) does not match its signed checkpoint; restore the stream"
        )
    if stated.extensions[:1] != (position_line(sequence),):
        raise LogError(
            f"the log's last checkpoint was not made to stand at EPISODES {sequence}: somebody put it there; "
            "only the sealer may write there: restore the stream"
        )
    if handed is not None and handed.new_key_id != key.key_id:
        raise LogError(
            f"the log was handed over to {handed.new_key_id} at {handed.at}; give the sealer that key"
        )
    return Head(frontier, sequence, checkpoint)
