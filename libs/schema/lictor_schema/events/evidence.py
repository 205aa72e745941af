"""Evidence: what backs a claim, of which class, and how strong."""

from enum import StrEnum
from typing import Annotated

from pydantic import Field

from lictor_schema.core.base_model import MAX_ITEMS, Identifier, Model, Text, Timestamp
from lictor_schema.core.ranked_text import RankedText
from lictor_schema.events.claim import ClaimType
from lictor_schema.events.operator_context import EvidenceRef, OperatorContext


class EvidenceClass(StrEnum):
    """What kind of thing the evidence is."""

    TOOL_OUTPUT = "tool_output"
    FILE_CHANGE = "file_change"
    VERIFICATION_OUTPUT = "verification_output"
    DECISION_RECORD = "decision_record"
    EXTERNAL_REPLY = "external_reply"
    RUNTIME_ARTIFACT = "runtime_artifact"
    OPERATOR_MESSAGE = "operator_message"


class Quality(RankedText):
    """How strong evidence is: none < weak < moderate < strong < decisive."""

    NONE = "none"
    WEAK = "weak"
    MODERATE = "moderate"
    STRONG = "strong"
    DECISIVE = "decisive"

    @property
    def can_support(self) -> tuple[ClaimType, ...]:
        """The claims that evidence of this quality can back: a completion needs `moderate`, a verified one `strong`."""
        return tuple(claim for claim, least in _LEAST_RANK.items() if self.rank >= least)


_LEAST_RANK = {
    ClaimType.PROGRESS: Quality.WEAK.rank,
    ClaimType.COMPLETION: Quality.MODERATE.rank,
    ClaimType.VERIFIED_COMPLETION: Quality.STRONG.rank,
}


class Supports(Model):
    """What an evidence item is offered in support of."""

    claim_types: Annotated[tuple[ClaimType, ...], Field(max_length=8)] = Field(
        description="Claim types the item backs; empty when it backs none"
    )
    next_step: bool = Field(
        default=False, description="Whether it backs an announced next step as concrete"
    )
    claim_event_id: Identifier | None = Field(
        default=None, description="The event whose claim it was captured for"
    )
    policy_ids: Annotated[tuple[Identifier, ...], Field(max_length=64)] = Field(
        default=(), description="Rules it was captured to satisfy"
    )


class EvidenceItem(Model):
    """One inspectable piece of evidence for one task."""

    evidence_id: Identifier = Field(description="Unique id; a UUID is recommended")
    task_id: Identifier = Field(description="The governed task")
    correlation_id: Identifier = Field(description="The workflow it belongs to")
    agent_id: Identifier = Field(description="The agent that produced it")
    evidence_class: EvidenceClass = Field(
        validation_alias="class",
        serialization_alias="class",
        description="What kind of thing it is",
    )
    quality: Quality = Field(description="How strong it is, judged when it was captured")
    summary: Text = Field(description="What it shows, in a sentence")
    captured_at: Timestamp = Field(description="When it was captured")
    refs: Annotated[tuple[EvidenceRef, ...], Field(min_length=1, max_length=MAX_ITEMS)] = Field(
        description="Where it can be inspected; at least one"
    )
    supports: Supports = Field(description="What it is offered in support of")
    source_event_id: Identifier | None = Field(
        default=None, description="The event it was drawn from"
    )
    operator_context: OperatorContext | None = Field(
        default=None, description="Who was watching when it was captured"
    )
