"""Signed notes with Ed25519 keys: C2SP signed-note v1.0.0.

A note is a text, an empty line, and one line for each signature. Signatures by unknown keys are
ignored, as the specification demands: so a log can change its key and witnesses can cosign. A known
key whose signature does not hold spoils the whole note.
"""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from lictor_seal import base64_text
from lictor_seal.errors import NoteError, SealError, UnknownSignerError
from lictor_seal.keys import SigningKey, VerifyingKey, key_name_problem

ED25519: Final = b"\x01"
_KEY_HASH_SIZE: Final = 4
_SIGNATURE_PREFIX: Final = "\u2014 "

MAX_NOTE_SIZE: Final = 1_000_000
MAX_SIGNATURES: Final = 64


@dataclass(frozen=True, slots=True)
class NoteSignature:
    """One signature line: the claimed signer, and the signature."""

    key_name: str
    key_hash: bytes
    signature: bytes


@dataclass(frozen=True, slots=True)
class Note:
    """A parsed note. Nothing in it may be believed before `verify_note` accepted it."""

    text: str
    signatures: tuple[NoteSignature, ...]


@dataclass(frozen=True, slots=True)
class VerifiedNote:
    """A note's text, and the known keys whose signatures over it hold (at least one)."""

    text: str
    signers: tuple[VerifyingKey, ...]
    ignored: int


def key_hash(key: VerifyingKey, kind: bytes = ED25519) -> bytes:
    """The four bytes by which a signature line names its key and kind: a hint, not a proof."""
    identity = key.name.encode() + b"\n" + kind + key.public_bytes
    return hashlib.sha256(identity).digest()[:_KEY_HASH_SIZE]


def format_verifier_key(key: VerifyingKey) -> str:
    """The key as `name+hash+base64`, the form other signed-note tools take."""
    encoded = base64_text.encode(ED25519 + key.public_bytes)
    return f"{key.name}+{key_hash(key).hex()}+{encoded}"


def parse_verifier_key(text: str) -> VerifyingKey:
    """The key that `name+hash+base64` stands for; raises NoteError when the parts disagree."""
    # Base64 may contain plus signs, a name may not: split from the left.
    parts = text.split("+", 2)
    if len(parts) != 3:
        raise NoteError(f"verifier key {text[:80]!r}: expected name+hash+base64")
    name, hash_hex, encoded = parts
    try:
        identity = base64_text.decode(encoded)
    except ValueError as error:
        raise NoteError(f"verifier key of {name[:80]!r}: the key is {error}") from error
    if identity[:1] != ED25519:
        raise NoteError(f"verifier key of {name[:80]!r} is not of type Ed25519 (0x01)")
    try:
        key = VerifyingKey(name, identity[1:])
    except SealError as error:
        raise NoteError(f"verifier key {text[:80]!r}: {error}") from error
    if hash_hex != key_hash(key).hex():
        raise NoteError(
            f"verifier key of {name}: the hash {hash_hex[:16]!r} does not belong to this name and"
            f" key, {key_hash(key).hex()} does; copy the verifier key again from its owner"
        )
    return key


def sign_note(text: str, *signers: SigningKey) -> str:
    """The note with this text and a signature by each key."""
    problem = _text_problem(text)
    if problem is not None:
        raise NoteError(f"the text of a note {problem}")
    if not signers:
        raise NoteError("a note needs a key that signs it")
    lines = (
        signature_line(
            NoteSignature(key.name, key_hash(key.verifying_key), key.sign(text.encode()))
        )
        for key in signers
    )
    return f"{text}\n{''.join(lines)}"


def signature_line(signature: NoteSignature) -> str:
    """A signature as a line of a note."""
    encoded = base64_text.encode(signature.key_hash + signature.signature)
    return f"{_SIGNATURE_PREFIX}{signature.key_name} {encoded}\n"


def _text_problem(text: str) -> str | None:
    if not text.endswith("\n"):
        return "does not end with a newline"
    if any(character < " " and character != "\n" for character in text):
        return "contains a control character other than newline"
    if any("\ud800" <= character <= "\udfff" for character in text):
        return "contains a lone surrogate"
    return None


def parse_note(text: str) -> Note:
    """Split a note into text and signatures, without verifying anything."""
    if len(text) > MAX_NOTE_SIZE:
        raise NoteError(f"the note is longer than {MAX_NOTE_SIZE} characters")
    problem = _text_problem(text)
    if problem is not None:
        raise NoteError(f"the note {problem}")
    body, separator, signature_block = text.rpartition("\n\n")
    if not separator or not signature_block:
        raise NoteError("the note has no signatures after an empty line")
    lines = signature_block.removesuffix("\n").split("\n")
    if len(lines) > MAX_SIGNATURES:
        raise NoteError(f"the note has {len(lines)} signatures, at most {MAX_SIGNATURES} are read")
    signatures = tuple(_parse_signature(number, line) for number, line in enumerate(lines, 1))
    signers = {(signature.key_name, signature.key_hash) for signature in signatures}
    if len(signers) < len(signatures):
        # Ed25519 is deterministic: nobody has a reason to sign one text twice with one key.
        raise NoteError("the note has two signatures by the same key")
    return Note(body + "\n", signatures)


def _parse_signature(number: int, line: str) -> NoteSignature:
    where = f"signature line {number} of the note"
    name, separator, encoded = line.removeprefix(_SIGNATURE_PREFIX).partition(" ")
    if not line.startswith(_SIGNATURE_PREFIX) or not separator:
        raise NoteError(f"{where} is not an em dash, a key name and a Base64 signature")
    problem = key_name_problem(name)
    if problem is not None:
        raise NoteError(f"{where}: the key name {problem}")
    try:
        data = base64_text.decode(encoded)
    except ValueError as error:
        raise NoteError(f"{where}: the signature is {error}") from error
    if len(data) <= _KEY_HASH_SIZE:
        raise NoteError(f"{where}: the signature is too short")
    return NoteSignature(name, data[:_KEY_HASH_SIZE], data[_KEY_HASH_SIZE:])


def verify_note(note: Note, known_keys: Iterable[VerifyingKey]) -> VerifiedNote:
    """The note's text and known signers; raises NoteError unless at least one is known."""
    # Different keys may share name and hash, which is short: all of them are tried.
    by_identity: dict[tuple[str, bytes], list[VerifyingKey]] = {}
    for key in known_keys:
        by_identity.setdefault((key.name, key_hash(key)), []).append(key)
    message = note.text.encode()
    signers: list[VerifyingKey] = []
    ignored = 0
    for signature in note.signatures:
        candidates = by_identity.get((signature.key_name, signature.key_hash), [])
        if not candidates:
            ignored += 1
            continue
        signer = next((k for k in candidates if k.verifies(signature.signature, message)), None)
        if signer is None:
            raise NoteError(f"the signature of {signature.key_name} over the note does not hold")
        signers.append(signer)
    if not signers:
        names = ", ".join(sorted({signature.key_name for signature in note.signatures}))
        raise UnknownSignerError(
            f"no trusted key signed the note (signature lines name: {names[:200]})"
        )
    return VerifiedNote(note.text, tuple(signers), ignored)
