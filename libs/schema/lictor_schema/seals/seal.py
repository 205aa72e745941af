"""Seals: who signed an episode, over which bytes, and where it stands in the log."""

from typing import Annotated, Self

from pydantic import Field, StringConstraints, model_validator
from pydantic_core import PydanticCustomError

from lictor_schema.core.base_model import CamelModel, ContentHash, Positive, UtcMillis
from lictor_schema.seals.episode import DecisionEpisode, EpisodeState

KeyId = Annotated[str, StringConstraints(pattern=r"^ed25519:[0-9a-f]{64}$")]
"""A signing key by the hash of its public half."""
Signature = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9+/]{86}==$")]
"""An Ed25519 signature in base64."""


class Seal(CamelModel):
    """The seal of an episode; hash and signature cover everything else in it."""

    sealed_at: UtcMillis = Field(description="When it was sealed")
    version: Positive = Field(description="1 for the first seal, then one more for each patch")
    previous_hash: ContentHash | None = Field(
        description="Hash of the version before; null exactly for version 1"
    )
    key_id: KeyId = Field(description="The key that signed; looked up in a trust store")
    hash: ContentHash = Field(description="Hash over the episode and the rest of the seal")
    signature: Signature = Field(description="Ed25519 over the domain-tagged key id and hash")

    @model_validator(mode="after")
    def _versions_are_linked(self) -> Self:
        if (self.version == 1) != (self.previous_hash is None):
            raise PydanticCustomError(
                "seal_link", "previousHash must be null for version 1 and given for every other"
            )
        return self


class SealedEpisode(DecisionEpisode):
    """An episode that can no longer be changed unnoticed."""

    seal: Seal = Field(description="Its seal")

    @property
    def state(self) -> EpisodeState:
        """Where it stands in its life."""
        archived = self.correction is not None and self.correction.archived
        return EpisodeState.ARCHIVED if archived else EpisodeState.SEALED

    @model_validator(mode="after")
    def _a_correction_says_why(self) -> Self:
        if (self.seal.version == 1) != (self.correction is None):
            raise PydanticCustomError(
                "seal_correction",
                "correction must be null in version 1 and given in every other",
            )
        return self
