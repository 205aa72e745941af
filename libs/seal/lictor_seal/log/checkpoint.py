"""Checkpoints, a log's signed statement of its size and root: C2SP tlog-checkpoint."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Self

from lictor_seal import base64_text
from lictor_seal.errors import CheckpointError
from lictor_seal.keys import SigningKey, VerifyingKey
from lictor_seal.log.merkle import HASH_SIZE, MAX_TREE_SIZE, Frontier
from lictor_seal.note.signed_note import VerifiedNote, parse_note, sign_note, verify_note

_DECIMAL: Final = re.compile(r"0|[1-9][0-9]{0,18}")


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """What a log says of itself: who it is, how many leaves it has, and their root."""

    origin: str
    size: int
    root: bytes
    extensions: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not 0 <= self.size <= MAX_TREE_SIZE:
            raise CheckpointError(f"checkpoint: size {self.size} is not in 0..{MAX_TREE_SIZE}")
        if len(self.root) != HASH_SIZE:
            raise CheckpointError(f"checkpoint: the root has {len(self.root)} bytes, not 32")
        for line in (self.origin, *self.extensions):
            if not line or "\n" in line:
                raise CheckpointError("checkpoint: origin and extensions must be non-empty lines")

    @classmethod
    def of(cls, origin: str, frontier: Frontier) -> Self:
        """The checkpoint of a log whose tree has this frontier."""
        return cls(origin, frontier.size, frontier.root())

    def to_text(self) -> str:
        """The note text, the bytes a log signs."""
        lines = (self.origin, str(self.size), base64_text.encode(self.root), *self.extensions)
        return "".join(f"{line}\n" for line in lines)


def parse_checkpoint_text(text: str) -> Checkpoint:
    """The checkpoint a note's text states; raises CheckpointError when it states none."""
    if not text.endswith("\n"):
        raise CheckpointError("checkpoint: the text does not end with a newline")
    lines = text.removesuffix("\n").split("\n")
    if len(lines) < 3 or not all(lines):
        raise CheckpointError("checkpoint: expected at least three non-empty lines")
    origin, size, encoded_root, *extensions = lines
    if _DECIMAL.fullmatch(size) is None:
        raise CheckpointError(f"checkpoint: the size {size[:40]!r} is not a decimal number")
    try:
        root = base64_text.decode(encoded_root)
    except ValueError as error:
        raise CheckpointError(f"checkpoint: the root is {error}") from error
    return Checkpoint(origin, int(size), root, tuple(extensions))


def sign_checkpoint(checkpoint: Checkpoint, signer: SigningKey) -> str:
    """The checkpoint as a signed note. The key's name must be the log's origin."""
    if signer.name != checkpoint.origin:
        raise CheckpointError(
            f"checkpoint: the key is named {signer.name}, the log {checkpoint.origin};"
            " a log signs with a key of its own name"
        )
    return sign_note(checkpoint.to_text(), signer)


def verify_checkpoint(
    note_text: str, known_keys: Iterable[VerifyingKey]
) -> tuple[Checkpoint, VerifyingKey]:
    """The checkpoint in a signed note and the log's key that signed it.

    Raises NoteError or CheckpointError unless a known key with the origin's name signed it: a key
    that is trusted for one log says nothing about another.
    """
    verified: VerifiedNote = verify_note(parse_note(note_text), known_keys)
    checkpoint = parse_checkpoint_text(verified.text)
    for signer in verified.signers:
        if signer.name == checkpoint.origin:
            return checkpoint, signer
    names = ", ".join(signer.name for signer in verified.signers)
    raise CheckpointError(
        f"checkpoint: of the log {checkpoint.origin[:80]!r}, but signed by {names};"
        " a log signs with a key of its own name"
    )
