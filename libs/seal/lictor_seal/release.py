"""Signed releases of policy packs: a C2SP signed note around the release's canonical JSON.

The first line of the note names what it is, so that a signature over anything else, such as a log's checkpoint,
can never pass for one.
"""

from datetime import datetime

from lictor_schema.canonical import CanonicalError
from lictor_schema.pack_releases import PackRelease
from lictor_seal.errors import NoteError, ReleaseError
from lictor_seal.keys import SigningKey
from lictor_seal.statement import open_statement, sign_statement
from lictor_seal.trust import TrustStore

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
