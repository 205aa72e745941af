r"""The seal of a decision episode.

    sealed    = the episode with one more member, `seal`
    hash      = SHA-256 of the RFC 8785 JSON of {"episode": the episode without its seal,
                "seal": the seal without `hash` and `signature`}
    signature = Ed25519 over "lictor.seal.v1\n<keyId>\n<hash>\n"

So the hash covers `sealedAt`, `version`, `previousHash` and `keyId` too, and a signature made for a
seal means nothing anywhere else (a checkpoint of the same key has another form of third line).

All functions work on the JSON form of an episode: an episode that was written by a newer version of
the schema still verifies.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Self, cast

from lictor_schema.core.canonical_json import CanonicalError, content_hash
from lictor_seal import base64_text
from lictor_seal.errors import AlreadySealedError, SealError
from lictor_seal.keys import SIGNATURE_SIZE, SigningKey

_SEAL: Final = "seal"
_ENVELOPE_TAG: Final = "lictor.seal.v1"
_CONTENT_HASH: Final = re.compile(r"sha256:[0-9a-f]{64}")
_KEY_ID: Final = re.compile(r"ed25519:[0-9a-f]{64}")
_MAX_VERSION: Final = (1 << 53) - 1


@dataclass(frozen=True, slots=True)
class SealMetadata:
    """What a seal says besides hash and signature; the hash covers all of it."""

    sealed_at: str
    version: int
    previous_hash: str | None
    key_id: str

    def __post_init__(self) -> None:
        try:
            parse_utc(self.sealed_at)
        except ValueError as error:
            raise SealError(f"seal.sealedAt: {error}") from error
        if not 1 <= self.version <= _MAX_VERSION:
            raise SealError(f"seal.version: {self.version} is not a whole number from 1 on")
        if (self.version == 1) != (self.previous_hash is None):
            raise SealError(
                f"seal.previousHash: version {self.version} must"
                f" {'not ' if self.version == 1 else ''}name the hash of the version before it"
            )
        if self.previous_hash is not None and _CONTENT_HASH.fullmatch(self.previous_hash) is None:
            raise SealError("seal.previousHash: not `sha256:` and 64 lower-case hex digits")
        if _KEY_ID.fullmatch(self.key_id) is None:
            raise SealError("seal.keyId: not `ed25519:` and 64 lower-case hex digits")

    def to_json_value(self) -> dict[str, object]:
        """The members of the seal that are hashed."""
        return {
            "sealedAt": self.sealed_at,
            "version": self.version,
            "previousHash": self.previous_hash,
            "keyId": self.key_id,
        }


@dataclass(frozen=True, slots=True)
class Seal:
    """A seal whose form is right; whether it holds is another question."""

    metadata: SealMetadata
    hash: str
    signature: bytes

    @classmethod
    def of(cls, sealed_episode: Mapping[str, object]) -> Self:
        """The seal in a sealed episode; raises SealError when there is none or it is malformed."""
        value = sealed_episode.get(_SEAL)
        if not isinstance(value, dict):
            raise SealError("the episode has no seal; only a sealed episode can be verified")
        members = cast(dict[str, object], value)
        expected = {"sealedAt", "version", "previousHash", "keyId", "hash", "signature"}
        if set(members) != expected:
            wrong = ascii(sorted(set(members) ^ expected))[:160]
            raise SealError(f"seal: members missing or unknown: {wrong}")
        version, previous_hash = members["version"], members["previousHash"]
        if type(version) is not int:
            raise SealError("seal.version: not a whole number")
        if previous_hash is not None and not isinstance(previous_hash, str):
            raise SealError("seal.previousHash: neither a string nor null")
        metadata = SealMetadata(
            sealed_at=_text(members, "sealedAt"),
            version=version,
            previous_hash=previous_hash,
            key_id=_text(members, "keyId"),
        )
        hash_text = _text(members, "hash")
        if _CONTENT_HASH.fullmatch(hash_text) is None:
            raise SealError("seal.hash: not `sha256:` and 64 lower-case hex digits")
        try:
            signature = base64_text.decode(_text(members, "signature"))
        except ValueError as error:
            raise SealError(f"seal.signature: {error}") from error
        if len(signature) != SIGNATURE_SIZE:
            raise SealError(f"seal.signature: {len(signature)} bytes, not {SIGNATURE_SIZE}")
        return cls(metadata, hash_text, signature)


def _text(members: Mapping[str, object], name: str) -> str:
    value = members[name]
    if not isinstance(value, str):
        raise SealError(f"seal.{name}: not a string")
    return value


def seal_hash(episode: Mapping[str, object], metadata: SealMetadata) -> str:
    """The hash of a seal with this metadata over this episode; its own `seal` is left out."""
    bare = {name: value for name, value in episode.items() if name != _SEAL}
    try:
        return content_hash({"episode": bare, "seal": metadata.to_json_value()})
    except CanonicalError as error:
        raise SealError(f"the episode has no canonical JSON: {error}") from error


def signed_envelope(key_id: str, hash_text: str) -> bytes:
    """The bytes a seal's signature is made over."""
    return f"{_ENVELOPE_TAG}\n{key_id}\n{hash_text}\n".encode()


def seal_episode(
    episode: Mapping[str, object],
    *,
    sealed_at: str,
    signer: SigningKey,
    previous: Mapping[str, object] | None = None,
) -> dict[str, object]:
    """The episode with its seal: the JSON form of a SealedEpisode.

    A `seal` that the caller brings along is ignored, unless it is the one this key made of this very episode: a sealed
    episode is never sealed again.

    A correction names the sealed episode it corrects as ``previous``: it becomes the next version and carries the hash
    of the one before, which stays as it is.
    """
    refuse_sealed(episode, signer)
    bare = {name: value for name, value in episode.items() if name != _SEAL}
    version, previous_hash = (1, None) if previous is None else link_to_previous(bare, previous)
    metadata = SealMetadata(sealed_at, version, previous_hash, signer.key_id)
    hash_text = seal_hash(bare, metadata)
    signature = signer.sign(signed_envelope(signer.key_id, hash_text))
    seal: dict[str, object] = {
        **metadata.to_json_value(),
        "hash": hash_text,
        "signature": base64_text.encode(signature),
    }
    return {**bare, _SEAL: seal}


def refuse_sealed(episode: Mapping[str, object], signer: SigningKey) -> None:
    """Raise AlreadySealedError for an episode with a seal that this key made of it."""
    if _SEAL in episode and _is_sealed_by(episode, signer):
        raise AlreadySealedError(
            "the episode is sealed already, with this key; it stays as it is: seal a corrected episode"
            " with this one as `previous`"
        )


def _is_sealed_by(episode: Mapping[str, object], signer: SigningKey) -> bool:
    try:
        seal = Seal.of(episode)
        return (
            seal.metadata.key_id == signer.key_id
            and seal_hash(episode, seal.metadata) == seal.hash
            and signer.verifying_key.verifies(
                seal.signature, signed_envelope(signer.key_id, seal.hash)
            )
        )
    except SealError:
        return False


def link_to_previous(
    episode: Mapping[str, object], previous: Mapping[str, object]
) -> tuple[int, str]:
    """The version after ``previous``, and its hash."""
    seal = Seal.of(previous)
    if seal_hash(previous, seal.metadata) != seal.hash:
        raise SealError(
            "previous: the episode was changed after it was sealed; take the sealed one from the log"
        )
    ours, theirs = episode.get("episodeId"), previous.get("episodeId")
    if ours != theirs:
        raise SealError(
            f"previous: it is episode {ascii(theirs)[:80]}, not {ascii(ours)[:80]};"
            " a correction keeps the id of what it corrects"
        )
    return seal.metadata.version + 1, seal.hash


_UTC: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3}Z")


def parse_utc(text: str) -> datetime:
    """The time a text like 2026-01-31T12:00:00.000Z names; raises ValueError for any other form."""
    if _UTC.fullmatch(text) is None:
        raise ValueError(f"{text[:40]!r} is not a UTC time like 2026-01-31T12:00:00.000Z")
    try:
        return datetime.fromisoformat(text)
    except ValueError as error:
        raise ValueError(f"{text!r} is not a time that exists ({error})") from error
