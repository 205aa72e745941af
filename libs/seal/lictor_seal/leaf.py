"""Sealing straight to bytes: what `seal_episode`, `leaf_data` and `SealBundle.to_bytes` give, without doing it thrice.

A sealed episode stands in canonical JSON under its hash, in its leaf and in its bundle. Here the episode is written
once, in two parts, before and after the place of its `seal`; the three texts are put together from these. A property
test holds that the bytes are those of the plain way.
"""

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Final, NamedTuple

from lictor_schema.core.canonical_json import CanonicalError, canonical_json, hash_bytes, plain_json
from lictor_schema.seals.episode import DecisionEpisode
from lictor_seal import base64_text
from lictor_seal.bundle import FORMAT
from lictor_seal.errors import SealError
from lictor_seal.keys import SigningKey
from lictor_seal.log.merkle import Proof
from lictor_seal.seal import SealMetadata, link_to_previous, refuse_sealed, signed_envelope

_SEAL: Final = "seal"
_OPEN: Final = b'{"episode":{'
_CLOSE: Final = b"}}"
# How UTF-8 starts a character beyond the BMP.
_BEYOND_BMP: Final = re.compile(rb"[\xf0-\xf4]")


class UnsignedLeaf(NamedTuple):
    """An episode that is hashed under its seal and waits for the signature of the key that the seal names."""

    before: bytes
    after: bytes
    metadata: SealMetadata
    hash_text: str
    signer: SigningKey

    def sign(self) -> bytes:
        """The data of the log's leaf."""
        signature = self.signer.sign(signed_envelope(self.signer.key_id, self.hash_text))
        members = _seal_members(self.metadata, base64_text.encode(signature))
        seal = b'"seal":{"hash":"%b",%b}' % (self.hash_text.encode(), members)
        return b"{%b}" % _joined(self.before, seal, self.after)


def unsigned_leaf(
    episode: DecisionEpisode | Mapping[str, object],
    *,
    sealed_at: str,
    signer: SigningKey,
    previous: Mapping[str, object] | None = None,
) -> UnsignedLeaf:
    """All of sealing an episode now but the signature; the rules are those of `seal_episode`."""
    is_model = isinstance(episode, DecisionEpisode)
    members = episode.model_dump(mode="json", by_alias=True) if is_model else episode
    refuse_sealed(members, signer)
    version, previous_hash = (1, None) if previous is None else link_to_previous(members, previous)
    metadata = SealMetadata(sealed_at, version, previous_hash, signer.key_id)
    try:
        before, after = _parts(members, is_model=is_model)
    except CanonicalError as error:
        raise SealError(f"the episode has no canonical JSON: {error}") from error
    hashed = b'{"episode":{%b},"seal":{%b}}' % (_joined(before, after), _seal_members(metadata))
    return UnsignedLeaf(before, after, metadata, hash_bytes(hashed), signer)


def seal_leaf(
    episode: DecisionEpisode | Mapping[str, object],
    *,
    sealed_at: str,
    signer: SigningKey,
    previous: Mapping[str, object] | None = None,
) -> bytes:
    """The data of the log's leaf for an episode that is sealed now; the rules are those of `seal_episode`."""
    return unsigned_leaf(episode, sealed_at=sealed_at, signer=signer, previous=previous).sign()


def _joined(*parts: bytes) -> bytes:
    return b",".join(filter(None, parts))


def _seal_members(metadata: SealMetadata, signature: str | None = None) -> bytes:
    """The members of a seal after its hash, in canonical order: nothing that metadata can hold needs an escape."""
    previous = "null" if metadata.previous_hash is None else f'"{metadata.previous_hash}"'
    signed = "" if signature is None else f'"signature":"{signature}",'
    return (
        f'"keyId":"{metadata.key_id}","previousHash":{previous},"sealedAt":"{metadata.sealed_at}",'
        f'{signed}"version":{metadata.version}'
    ).encode()


def _parts(episode: Mapping[str, object], *, is_model: bool) -> tuple[bytes, bytes]:
    """The members of an episode in canonical order, cut where its seal comes."""
    before: dict[object, object] = {}
    after: dict[object, object] = {}
    for name, value in episode.items():
        # RFC 8785 sorts by UTF-16 units; for what comes after `seal` that is the same as by code points.
        if isinstance(name, str) and name > _SEAL:  # pyright: ignore[reportUnnecessaryIsInstance] -- a caller may
            after[name] = value
        elif name != _SEAL:
            before[name] = value
    return _members(before, is_model=is_model), _members(after, is_model=is_model)


def _members(part: Mapping[object, object], *, is_model: bool) -> bytes:
    if is_model:
        # An episode that its model made holds text, bounded whole numbers and no fractions (a test looks at its
        # schema). The plain form then differs from RFC 8785 in the order of names beyond the BMP only.
        text = plain_json(part)
        if text.isascii() or _BEYOND_BMP.search(text) is None:
            return text[1:-1]
    # Within an object, as everywhere else: so the limit of depth is the same.
    return canonical_json({"episode": part})[len(_OPEN) : -len(_CLOSE)]


def bundle_of_leaf(leaf: bytes, index: int, proof: Proof, checkpoint: str) -> bytes:
    """The file of a seal bundle around a leaf."""
    siblings = ",".join(map(_quoted, proof))
    middle = f'"format":"{FORMAT}","inclusionProof":[{siblings}],"leafIndex":{index}'.encode()
    return b'{"checkpoint":%b,%b,"sealedEpisode":%b}\n' % (_string(checkpoint), middle, leaf)


@lru_cache(maxsize=4096)
def _quoted(sibling: bytes) -> str:
    """A hash in JSON; the proofs of a batch share most of theirs."""
    return f'"{base64_text.encode(sibling)}"'


@lru_cache(maxsize=4)
def _string(text: str) -> bytes:
    """A text in canonical JSON; the bundles of a batch share their checkpoint."""
    return canonical_json(text)
