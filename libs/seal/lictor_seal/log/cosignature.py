"""Cosignatures of witnesses: C2SP tlog-cosignature, `cosignature/v1` with Ed25519.

A witness states that a checkpoint is the largest one it has seen of a log, and consistent with all before it. So a log
that shows different trees to different readers would have to deceive its witnesses too.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from lictor_seal.errors import CheckpointError, NoteError, SealError, WitnessRefusedError
from lictor_seal.keys import SIGNATURE_SIZE, SigningKey, VerifyingKey
from lictor_seal.log.checkpoint import Checkpoint, parse_checkpoint_text, verify_checkpoint
from lictor_seal.log.consistency_proof import ConsistencyProof, check_consistent
from lictor_seal.note.signed_note import Note, NoteSignature, key_hash, parse_note, signature_line

_KIND: Final = b"\x04"
_TIME_SIZE: Final = 8
_MAX_TIME: Final = (1 << 63) - 1


@dataclass(frozen=True, slots=True)
class Cosignature:
    """A witness, and when it cosigned (POSIX seconds)."""

    witness: VerifyingKey
    time: int

    @property
    def instant(self) -> datetime:
        """The time; a far future becomes the last moment there is."""
        try:
            return datetime.fromtimestamp(self.time, UTC)
        except (OverflowError, ValueError, OSError):
            return datetime.max.replace(tzinfo=UTC)


def _message(text: str, time: int) -> bytes:
    return f"cosignature/v1\ntime {time}\n{text}".encode()


def cosign(note_text: str, witness: SigningKey, time: int) -> str:
    """The note with the witness's cosignature as of ``time``; one it had made before gives way.

    Nothing is judged here: `witness_checkpoint` does that.
    """
    if not 0 <= time <= _MAX_TIME:
        raise NoteError(f"cosignature: {time} is no POSIX time from 0 to 2**63 - 1")
    note = parse_note(note_text)
    parse_checkpoint_text(note.text)
    own = key_hash(witness.verifying_key, _KIND)
    signature = witness.sign(_message(note.text, time))
    line = NoteSignature(witness.name, own, time.to_bytes(_TIME_SIZE, "big") + signature)
    kept = [s for s in note.signatures if (s.key_name, s.key_hash) != (witness.name, own)]
    return f"{note.text}\n{''.join(map(signature_line, (*kept, line)))}"


def cosignatures(note_text: str, witnesses: Iterable[VerifyingKey]) -> tuple[Cosignature, ...]:
    """The cosignatures of these witnesses on a checkpoint; raises NoteError when one does not hold.

    Lines of others are ignored, as signed-note demands.
    """
    note = parse_note(note_text)
    return tuple(
        found
        for witness in witnesses
        for found in _of_witness(note, witness, key_hash(witness, _KIND))
    )


def _of_witness(note: Note, witness: VerifyingKey, identity: bytes) -> Sequence[Cosignature]:
    for signature in note.signatures:
        if (signature.key_name, signature.key_hash) != (witness.name, identity):
            continue
        stamp, made = signature.signature[:_TIME_SIZE], signature.signature[_TIME_SIZE:]
        time = int.from_bytes(stamp, "big")
        if len(made) != SIGNATURE_SIZE or time > _MAX_TIME:
            raise NoteError(f"the cosignature of {witness.name} is not a time and a signature")
        if not witness.verifies(made, _message(note.text, time)):
            raise NoteError(f"the cosignature of {witness.name} does not hold")
        return (Cosignature(witness, time),)
    return ()


def witness_checkpoint(
    note_text: str,
    *,
    seen: str | None,
    proof: ConsistencyProof | None,
    log_keys: Sequence[VerifyingKey],
    witness: SigningKey,
    time: int,
) -> str:
    """The cosigned note, if the checkpoint follows from the last one ``seen``; else WitnessRefusedError.

    ``seen`` is the note that the witness kept, None before the first: that one is taken as it is.
    """
    try:
        found, _ = verify_checkpoint(note_text, log_keys)
        if seen is not None:
            known = parse_checkpoint_text(parse_note(seen).text)
            if known.origin == found.origin and found.size < known.size:
                raise CheckpointError(
                    f"it has {found.size} leaves, but {known.size} were seen: the log was cut, or this is an old copy"
                )
            check_consistent(known, found, proof)
    except SealError as error:
        raise WitnessRefusedError(f"the checkpoint is not cosigned: {error}") from error
    return cosign(note_text, witness, time)


def checkpoint_in(note_text: str) -> Checkpoint:
    """What a note states, without a look at its signatures."""
    return parse_checkpoint_text(parse_note(note_text).text)
