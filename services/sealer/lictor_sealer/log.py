"""The transparency log: an RFC 6962 tree over sealed episodes, kept in the EPISODES stream itself.

Each append is one atomic batch: the sealed episodes, then the signed checkpoint that covers them with the tree's
frontier beside it. The stream is the log's only storage, and the broker stores such a batch whole or not at all, so a
crash can neither lose a leaf nor fork the tree; the batch also names the sequence it expects to follow, so a second
sealer can't append beside the first. Pure: the I/O is in ``app``.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lictor_schema import DecisionEpisode
from lictor_seal import (
    Checkpoint,
    CheckpointError,
    Frontier,
    MerkleError,
    NoteError,
    SealBundle,
    SigningKey,
    extend,
    leaf_data,
    seal_episode,
    sign_checkpoint,
    verify_checkpoint,
)


class LogError(Exception):
    """The log's stored head can't be trusted; the message says what to do."""


@dataclass(frozen=True, slots=True)
class Head:
    """Where the log stands: its frontier, and the stream sequence of its last checkpoint."""

    frontier: Frontier
    sequence: int


@dataclass(frozen=True, slots=True)
class Draft:
    """An episode to be sealed, and the broker's time for it."""

    episode: DecisionEpisode
    sealed_at: str


@dataclass(frozen=True, slots=True)
class Appended:
    """What one append writes: a bundle a draft, then the checkpoint."""

    frontier: Frontier
    bundles: tuple[bytes, ...]
    checkpoint: bytes


def append(head: Head, drafts: Sequence[Draft], key: SigningKey) -> Appended:
    """Seal the drafts and extend the tree by them."""
    sealed = [
        seal_episode(
            draft.episode.model_dump(mode="json", by_alias=True),
            sealed_at=draft.sealed_at,
            signer=key,
        )
        for draft in drafts
    ]
    frontier, proofs = extend(head.frontier, [leaf_data(episode) for episode in sealed])
    # Where the checkpoint will stand in the stream is signed with it: one that is published again, or put
    # elsewhere, is no head. The broker stores the batch there or not at all.
    sequence = head.sequence + len(drafts) + 1
    checkpoint = Checkpoint(key.name, frontier.size, frontier.root(), (_position(sequence),))
    note = sign_checkpoint(checkpoint, key)
    bundles = tuple(
        SealBundle(episode, head.frontier.size + number, proof, note).to_bytes()
        for number, (episode, proof) in enumerate(zip(sealed, proofs, strict=True))
    )
    message = json.dumps(
        {"checkpoint": note, "frontier": frontier.to_json_value()}, separators=(",", ":")
    ).encode()
    return Appended(frontier, bundles, message)


def _position(sequence: int) -> str:
    return f"EPISODES {sequence}"


def read_head(checkpoint: bytes, sequence: int, key: SigningKey) -> Head:
    """The head that a stored checkpoint states, if our own signature on it holds."""
    try:
        stored: Mapping[str, Any] = json.loads(checkpoint)
        frontier = Frontier.from_json_value(stored["frontier"])
        stated, _ = verify_checkpoint(stored["checkpoint"], [key.verifying_key])
    except (ValueError, KeyError, TypeError, MerkleError, NoteError, CheckpointError) as error:
        raise LogError(
            f"the log's last checkpoint (EPISODES {sequence}) does not verify with this key: {error}; "
            "give the sealer the key that wrote the log, or restore the stream"
        ) from error
    if stated.size != frontier.size or stated.root != frontier.root():
        raise LogError(
            f"the log's frontier (EPISODES {sequence}) does not match its signed checkpoint; restore the stream"
        )
    if stated.extensions != (_position(sequence),):
        raise LogError(
            f"the log's last checkpoint was not made to stand at EPISODES {sequence}: somebody put it there; "
            "only the sealer may write there: restore the stream"
        )
    return Head(frontier, sequence)
