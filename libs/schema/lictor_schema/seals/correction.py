"""Corrections: an operator has a sealed episode sealed again, in a further version."""

from pydantic import Field

from lictor_schema.core.base_model import (
    ContentHash,
    Count,
    Identifier,
    Model,
    Positive,
    Text,
    UuidText,
)
from lictor_schema.seals.episode import OutcomeCode
from lictor_schema.services.desk_answer import DeskAnswer


class CorrectionOrder(Model):
    """An operator has a sealed episode corrected: sealed once more, as its next version."""

    request_id: UuidText = Field(description="Unique id; asking again with it changes nothing")
    episode_id: Identifier = Field(description="The episode")
    by: Identifier = Field(description="Who orders it; never the actor of the episode")
    reason: Text = Field(description="Why; it is sealed with the correction")
    outcome: OutcomeCode | None = Field(
        default=None, description="How it really ended; null leaves the outcome as it is"
    )
    archive: bool = Field(
        default=False,
        description="Whether this is the last version: an archived episode stays as it is",
    )
    dry_run: bool = Field(default=False, description="Whether to tell only what would be sealed")


class CorrectionAnswer(DeskAnswer):
    """What came of the order to correct an episode."""

    version: Positive | None = Field(default=None, description="The version that was sealed")
    hash: ContentHash | None = Field(default=None, description="The hash of its seal")
    late: Count | None = Field(
        default=None, description="How many messages it covers that the version before did not"
    )
