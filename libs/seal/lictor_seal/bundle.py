"""The seal bundle: one file from which a sealed episode verifies offline.

A bundle is the RFC 8785 JSON of the object below and one newline, so that a bundle has exactly one
spelling: no byte of the file can be changed without changing what it says.

    {"format": "lictor-seal-bundle/v1",
     "sealedEpisode": {...},          the leaf of the log is the RFC 8785 JSON of this value
     "leafIndex": 41,
     "inclusionProof": ["<Base64>"],  sibling hashes from the leaf up, as RFC 6962 orders them
     "checkpoint": "<signed note>"}   size and root the proof leads to

With the format ``lictor-seal-bundle/v2`` the messages that the episode covers follow, one part a line (`contents`).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Self, cast

from lictor_schema.core.canonical_json import CanonicalError, canonical_json, parse_json
from lictor_seal import base64_text
from lictor_seal.errors import BundleError
from lictor_seal.log.merkle import HASH_SIZE, MAX_TREE_SIZE, Proof

FORMAT: Final = "lictor-seal-bundle/v1"
FORMAT_WITH_CONTENTS: Final = "lictor-seal-bundle/v2"
MAX_BUNDLE_SIZE: Final = 32 * 1024 * 1024

_MEMBERS: Final = {"format", "sealedEpisode", "leafIndex", "inclusionProof", "checkpoint"}
# A tree of MAX_TREE_SIZE leaves is 53 levels high.
_MAX_PROOF_LENGTH: Final = MAX_TREE_SIZE.bit_length()


def leaf_data(sealed_episode: Mapping[str, object]) -> bytes:
    """The data of the log's leaf for a sealed episode."""
    try:
        return canonical_json(dict(sealed_episode))
    except CanonicalError as error:
        raise BundleError(f"the sealed episode has no canonical JSON: {error}") from error


@dataclass(frozen=True, slots=True)
class SealBundle:
    """A sealed episode with the proof that a log holds it. Nothing in it is verified yet."""

    sealed_episode: Mapping[str, object]
    leaf_index: int
    inclusion_proof: Proof
    checkpoint: str
    with_contents: bool = False
    """Whether the parts with its messages follow in the file."""

    def to_bytes(self) -> bytes:
        """The file's content, without the parts that may follow."""
        document = {
            "format": FORMAT_WITH_CONTENTS if self.with_contents else FORMAT,
            "sealedEpisode": dict(self.sealed_episode),
            "leafIndex": self.leaf_index,
            "inclusionProof": [base64_text.encode(sibling) for sibling in self.inclusion_proof],
            "checkpoint": self.checkpoint,
        }
        try:
            return canonical_json(document) + b"\n"
        except CanonicalError as error:
            raise BundleError(f"the bundle has no canonical JSON: {error}") from error

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """The bundle in these bytes; raises BundleError unless they are exactly one bundle."""
        members = _parse(data)
        episode, index = members["sealedEpisode"], members["leafIndex"]
        proof, checkpoint = members["inclusionProof"], members["checkpoint"]
        if not isinstance(episode, dict):
            raise BundleError("sealedEpisode is not an object")
        if type(index) is not int or not 0 <= index <= MAX_TREE_SIZE:
            raise BundleError("leafIndex is not a whole number from 0 on")
        if not isinstance(proof, list) or len(cast(list[object], proof)) > _MAX_PROOF_LENGTH:
            raise BundleError(f"inclusionProof is not an array of at most {_MAX_PROOF_LENGTH}")
        if not isinstance(checkpoint, str):
            raise BundleError("checkpoint is not a string")
        siblings = tuple(_parse_hash(n, h) for n, h in enumerate(cast(list[object], proof)))
        with_contents = members["format"] == FORMAT_WITH_CONTENTS
        return cls(cast(dict[str, object], episode), index, siblings, checkpoint, with_contents)


def _parse(data: bytes) -> dict[str, object]:
    if len(data) > MAX_BUNDLE_SIZE:
        raise BundleError(f"the file is larger than {MAX_BUNDLE_SIZE} bytes")
    try:
        document: object = parse_json(data)
        canonical = canonical_json(document)
    except CanonicalError as error:
        raise BundleError(str(error)) from error
    if not isinstance(document, dict):
        raise BundleError("the file does not hold a JSON object")
    members = cast(dict[str, object], document)
    if members.get("format") not in (FORMAT, FORMAT_WITH_CONTENTS):
        raise BundleError(
            f"`format` is neither {FORMAT!r} nor {FORMAT_WITH_CONTENTS!r}; this is another kind or version of file"
        )
    if set(members) != _MEMBERS:
        wrong = ascii(sorted(set(members) ^ _MEMBERS))[:160]
        raise BundleError(f"members missing or unknown: {wrong}")
    if data != canonical + b"\n":
        raise BundleError(
            "the file is not the canonical JSON (RFC 8785) of its content and one newline;"
            " it was changed or re-formatted after it was exported"
        )
    return members


def _parse_hash(number: int, text: object) -> bytes:
    if not isinstance(text, str):
        raise BundleError(f"inclusionProof[{number}] is not a string")
    try:
        digest = base64_text.decode(text)
    except ValueError as error:
        raise BundleError(f"inclusionProof[{number}] is {error}") from error
    if len(digest) != HASH_SIZE:
        raise BundleError(f"inclusionProof[{number}] has {len(digest)} bytes, not {HASH_SIZE}")
    return digest
