"""Signed statements: a C2SP signed note around the canonical JSON of one document.

The first line of the note names what kind of statement it is, so that a signature over anything else, such as a log's
checkpoint, can never pass for one.
"""

from dataclasses import dataclass
from datetime import datetime

from lictor_schema.core.base_model import Model
from lictor_schema.core.canonical_json import CanonicalError, canonical_json
from lictor_schema.packs.release import PackRelease
from lictor_seal.errors import NoteError, ReleaseError
from lictor_seal.keys import SigningKey, VerifyingKey
from lictor_seal.note.signed_note import parse_note, sign_note, verify_note
from lictor_seal.trust import TrustStore


@dataclass(frozen=True, slots=True)
class Statement:
    """The text of a document, and a key that signed it and was trusted at the time."""

    document: str
    signer: VerifyingKey


def sign_statement(kind: str, document: Model, signer: SigningKey) -> str:
    """The document as a signed note of that kind."""
    text = canonical_json(document.model_dump(mode="json")).decode()
    return sign_note(f"{kind}\n{text}\n", signer)


def open_statement(kind: str, data: bytes, trust: TrustStore, at: datetime) -> Statement:
    """What a key signed that is trusted at that time; NoteError for everything else."""
    try:
        note = parse_note(data.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise NoteError(f"it is not UTF-8 (byte {error.start})") from error
    verified = verify_note(note, (trusted.key for trusted in trust.keys))
    problems: list[str] = []
    for signer in verified.signers:
        trusted = trust.by_id(signer.key_id)
        problem = "is not in the trust store" if trusted is None else trusted.problem_at(at)
        if problem is None:
            break
        problems.append(f"the key {signer.name} {problem}")
    else:
        raise NoteError("; ".join(problems))
    header = f"{kind}\n"
    if not verified.text.startswith(header):
        raise NoteError(f"what was signed is no {kind}")
    return Statement(verified.text.removeprefix(header), signer)


_KIND = "lictor-pack-release/v1"


def sign_release(release: PackRelease, signer: SigningKey) -> str:
    """The release as a signed note."""
    return sign_statement(_KIND, release, signer)


def open_release(data: bytes, trust: TrustStore, received: datetime) -> PackRelease:
    """The release in a note that a key signed which was trusted when it was received."""
    try:
        statement = open_statement(_KIND, data, trust, received)
    except NoteError as error:
        raise ReleaseError(f"the release is not signed by a trusted key: {error}") from error
    try:
        return PackRelease.from_json(statement.document)
    # ValueError: the model's own complaint.
    except (ValueError, CanonicalError) as error:
        raise ReleaseError(f"the signed release can't be read: {error}") from error
