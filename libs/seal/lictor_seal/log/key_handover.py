"""Key changes of a log: a checkpoint that says who hands over to whom, signed by both.

    <origin>
    <size>                                the tree as it was: a hand-over adds no leaf
    <root>
    EPISODES <sequence>
    hand-over <time> <old key id> <new key id>

The old key must agree, so a stolen new key alone continues nothing; the trust store must hold both with windows that
cover the time, so a stolen old key alone appoints nobody that its readers did not name themselves.
"""

import re
from dataclasses import dataclass, replace
from typing import Final

from lictor_seal.errors import CheckpointError
from lictor_seal.keys import SigningKey
from lictor_seal.log.checkpoint import Checkpoint, parse_checkpoint_text
from lictor_seal.note.signed_note import parse_note, sign_note, verify_note
from lictor_seal.seal import parse_utc
from lictor_seal.trust import TrustedKey, TrustStore

HAND_OVERS: Final = "hand-over"
"""The folder of an exported log that holds its hand-overs, by their number."""

_WORD: Final = "hand-over"
_KEY_ID: Final = r"ed25519:[0-9a-f]{64}"
_LINE: Final = re.compile(rf"{_WORD} (\S+) ({_KEY_ID}) ({_KEY_ID})")


@dataclass(frozen=True, slots=True)
class HandOver:
    """When a log went from one key to another."""

    at: str
    old_key_id: str
    new_key_id: str

    def __post_init__(self) -> None:
        try:
            parse_utc(self.at)
        except ValueError as error:
            raise CheckpointError(f"hand-over: {error}") from error
        if self.old_key_id == self.new_key_id:
            raise CheckpointError("hand-over: a key can't hand over to itself")

    def to_line(self) -> str:
        """Its line in a checkpoint."""
        return f"{_WORD} {self.at} {self.old_key_id} {self.new_key_id}"


def hand_over_in(checkpoint: Checkpoint) -> HandOver | None:
    """The hand-over that a checkpoint states; None when it states none."""
    lines = [line for line in checkpoint.extensions if line.startswith(_WORD)]
    if not lines:
        return None
    found = _LINE.fullmatch(lines[0])
    if found is None or len(lines) > 1:
        raise CheckpointError(f"hand-over: {lines[0][:80]!r} is not one time and two key ids")
    return HandOver(*found.groups())


def sign_hand_over(
    checkpoint: Checkpoint, old: SigningKey, new: SigningKey, *, at: str, trust: TrustStore
) -> str:
    """The checkpoint as the note by which the old key hands the log over; refused unless both are trusted then."""
    hand_over = HandOver(at, old.key_id, new.key_id)
    _check_trusted(hand_over, checkpoint.origin, trust)
    stated = replace(checkpoint, extensions=(*checkpoint.extensions, hand_over.to_line()))
    return sign_note(stated.to_text(), old, new)


def verify_hand_over(note_text: str, trust: TrustStore) -> HandOver:
    """The hand-over in a note; raises SealError unless both keys signed it and both were trusted then."""
    note = parse_note(note_text)
    checkpoint = parse_checkpoint_text(note.text)
    hand_over = hand_over_in(checkpoint)
    if hand_over is None:
        raise CheckpointError("the checkpoint states no hand-over")
    old, new = _check_trusted(hand_over, checkpoint.origin, trust)
    signed = {key.key_id for key in verify_note(note, [old.key, new.key]).signers}
    for role, key_id in (("old", hand_over.old_key_id), ("new", hand_over.new_key_id)):
        if key_id not in signed:
            raise CheckpointError(
                f"hand-over: the {role} key {key_id} did not sign it; both keys must"
            )
    return hand_over


def hand_over_path(number: int) -> str:
    """Where an exported log has the note of a hand-over, from 0 on."""
    return f"{HAND_OVERS}/{number}"


class KeySuccession:
    """Who wrote which leaves of a log, by its hand-overs: each begins where the one before it ended."""

    def __init__(self, origin: str) -> None:
        self._origin = origin
        self._steps: list[tuple[Checkpoint, HandOver]] = []

    def add(self, note_text: str, trust: TrustStore) -> Checkpoint:
        """The next hand-over; raises SealError unless it holds and follows from the one before."""
        hand_over = verify_hand_over(note_text, trust)
        checkpoint = parse_checkpoint_text(parse_note(note_text).text)
        if checkpoint.origin != self._origin:
            raise CheckpointError(
                f"hand-over: it is of {checkpoint.origin[:80]!r}, the log is {self._origin!r}"
            )
        if self._steps:
            before, last = self._steps[-1]
            if last.new_key_id != hand_over.old_key_id:
                raise CheckpointError(
                    f"hand-over: by {hand_over.old_key_id}, but {last.new_key_id} writes the log"
                )
            if checkpoint.size < before.size:
                raise CheckpointError(
                    f"hand-over: at {checkpoint.size} leaves, but the one before it was at {before.size}"
                )
        self._steps.append((checkpoint, hand_over))
        return checkpoint

    def __len__(self) -> int:
        return len(self._steps)

    def writer_of(self, leaf: int) -> str | None:
        """The key that had the log when a leaf came; None when no hand-over says so."""
        if not self._steps:
            return None
        writer = self._steps[0][1].old_key_id
        for checkpoint, hand_over in self._steps:
            if checkpoint.size <= leaf:
                writer = hand_over.new_key_id
        return writer

    @property
    def last(self) -> tuple[Checkpoint, HandOver] | None:
        """The last hand-over, and where it stands."""
        return self._steps[-1] if self._steps else None


def _check_trusted(
    hand_over: HandOver, origin: str, trust: TrustStore
) -> tuple[TrustedKey, TrustedKey]:
    old = _trusted(hand_over, "old", hand_over.old_key_id, origin, trust)
    new = _trusted(hand_over, "new", hand_over.new_key_id, origin, trust)
    if old.not_after is None or new.not_before is None:
        raise CheckpointError(
            "hand-over: the trust store must say until when the old key is trusted (`not_after`)"
            " and from when the new one is (`not_before`)"
        )
    return old, new


def _trusted(
    hand_over: HandOver, role: str, key_id: str, origin: str, trust: TrustStore
) -> TrustedKey:
    trusted = trust.by_id(key_id)
    if trusted is None:
        raise CheckpointError(
            f"hand-over: the trust store does not hold the {role} key {key_id}; add it with its window"
        )
    if trusted.key.name != origin:
        raise CheckpointError(
            f"hand-over: the {role} key is named {trusted.key.name}, the log {origin[:80]};"
            " a log signs with keys of its own name"
        )
    problem = trusted.problem_at(parse_utc(hand_over.at))
    if problem is not None:
        raise CheckpointError(
            f"hand-over: the {role} key {key_id} {problem}, the hand-over is of {hand_over.at};"
            " correct its window in the trust store, or wait"
        )
    return trusted
