"""A part of the messages that an episode covers, as it is stored and as a line of a bundle file."""

from typing import Annotated, Literal

from pydantic import Field

from lictor_schema.core.base_model import CamelModel, ContentHash, Count, Positive


class PartEntry(CamelModel):
    """A message, or a piece of a long one; what is null is left out. An erased one has neither salt nor body."""

    strand: str = Field(
        description="The kind of message, as the episode's `sources.strands` name it"
    )
    at: Count = Field(description="Its sequence in its stream")
    piece: Count | None = Field(default=None, description="Which piece, from 0 on, of a long one")
    pieces: Positive | None = Field(default=None, description="How many pieces a long one has")
    stored_us: Count | None = Field(
        default=None, description="When the broker stored it, in microseconds since 1970"
    )
    subject: str | None = Field(default=None, description="Its subject")
    salt: str | None = Field(default=None, description="32 bytes in Base64")
    body: str | None = Field(default=None, description="Its exact bytes as text")
    base64: str | None = Field(
        default=None,
        description="Its exact bytes in Base64, where they are no text or that is shorter",
    )
    commitment: ContentHash | None = Field(
        default=None, description="Of an erased one: what the root is over"
    )
    erasure: Count | None = Field(
        default=None, description="Of an erased one: which of the part's erasures it was"
    )


class EpisodePart(CamelModel):
    """Some of the messages that an episode covers, in their order."""

    format: Literal["lictor-episode-part/v1"] = Field(description="Always this")
    episode_id: str = Field(description="The episode")
    entries: Annotated[tuple[PartEntry, ...], Field(min_length=1)] = Field(
        description="The messages"
    )
    erasures: tuple[str, ...] | None = Field(
        default=None,
        description="Signed notes that say who had entries erased and why (`lictor.erasure.v1`)",
    )
    before: tuple[str, ...] | None = Field(
        default=None,
        description="In the last part, and in every so-manieth: the ids of the parts before it",
    )
