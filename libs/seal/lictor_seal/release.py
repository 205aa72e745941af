"""Signed releases of policy packs: a C2SP signed note around the release's canonical JSON.

The first line of the note names what it is, so that a signature over anything else, such as a log's checkpoint,
can never pass for one.
"""

from datetime import datetime
from typing import Final

from lictor_schema.canonical import CanonicalError, canonical_json
from lictor_schema.pack_releases import PackRelease
from lictor_seal.errors import NoteError, ReleaseError
from lictor_seal.keys import SigningKey
from lictor_seal.note import parse_note, sign_note, verify_note
from lictor_seal.trust import TrustStore

_HEADER: Final = "lictor-pack-release/v1\n"


def sign_release(release: PackRelease, signer: SigningKey) -> str:
    """The release as a signed note."""
    return sign_note(
        _HEADER + canonical_json(release.model_dump(mode="json")).decode() + "\n", signer
    )


def open_release(data: bytes, trust: TrustStore, received: datetime) -> PackRelease:
    """The release in a note that a key signed which was trusted when it was received."""
    try:
        note = parse_note(data.decode("utf-8"))
        verified = verify_note(note, (trusted.key for trusted in trust.keys))
    except (UnicodeDecodeError, NoteError) as error:
        raise ReleaseError(f"the release is not signed by a trusted key: {error}") from error
    problems: list[str] = []
    for signer in verified.signers:
        trusted = trust.by_id(signer.key_id)
        problem = "is not in the trust store" if trusted is None else trusted.problem_at(received)
        if problem is None:
            break
        problems.append(f"the key {signer.name} {problem}")
    else:
        raise ReleaseError(f"the release is not signed by a trusted key: {'; '.join(problems)}")
    if not verified.text.startswith(_HEADER):
        raise ReleaseError("what was signed is no release of policy packs")
    try:
        return PackRelease.from_json(verified.text.removeprefix(_HEADER))
    # ValueError: the model's own complaint.
    except (ValueError, CanonicalError) as error:
        raise ReleaseError(f"the signed release can't be read: {error}") from error
