"""What the log's stream keeps beside its leaves: a signed checkpoint, and the frontier of the tree it covers."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self, cast

from lictor_schema.core.canonical_json import CanonicalError, parse_json
from lictor_seal.errors import CheckpointError, MerkleError
from lictor_seal.log.checkpoint import Checkpoint
from lictor_seal.log.merkle import Frontier


def position_line(sequence: int) -> str:
    """The line by which a checkpoint says where in the stream it was made to stand."""
    return f"EPISODES {sequence}"


def position_in(checkpoint: Checkpoint) -> int:
    """Where in the stream a checkpoint was made to stand; CheckpointError when it does not say."""
    word, _, number = (*checkpoint.extensions, "")[0].partition(" ")
    if word != "EPISODES" or not number.isdecimal():
        raise CheckpointError("it does not say where in EPISODES it stands: it is of no Lictor log")
    return int(number)


@dataclass(frozen=True, slots=True)
class StoredCheckpoint:
    """The body of a message on `lictor.log.checkpoint`. Nothing in it is verified yet."""

    note: str
    frontier: Frontier

    def to_bytes(self) -> bytes:
        """The message's body."""
        value = {"checkpoint": self.note, "frontier": self.frontier.to_json_value()}
        return json.dumps(value, separators=(",", ":")).encode()

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """The checkpoint in a message; raises CheckpointError or MerkleError when there is none."""
        try:
            value: object = parse_json(data)
        except CanonicalError as error:
            raise CheckpointError(f"the checkpoint message can't be read: {error}") from error
        members = cast(dict[str, object], value) if isinstance(value, dict) else {}
        if set(members) != {"checkpoint", "frontier"}:
            raise CheckpointError("the checkpoint message is not `checkpoint` and `frontier`")
        note, frontier = members["checkpoint"], members["frontier"]
        if not isinstance(note, str) or not isinstance(frontier, dict):
            raise MerkleError("the checkpoint message: a note and a frontier were expected")
        return cls(note, Frontier.from_json_value(cast(Mapping[str, object], frontier)))
