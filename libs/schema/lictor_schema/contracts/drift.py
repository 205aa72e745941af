"""Drift: a decision that did not go as its contract says, named by its cause."""

from enum import StrEnum
from typing import Annotated, Self

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from lictor_schema.core.base_model import (
    MAX_ITEMS,
    CamelModel,
    ContentHash,
    Identifier,
    Label,
    Model,
    OptionalText,
    Positive,
    Text,
    Timestamp,
    UuidText,
)
from lictor_schema.core.canonical_json import content_hash
from lictor_schema.core.ranked_text import RankedText

FINGERPRINT_VERSION = 1


class DriftType(StrEnum):
    """What drifted."""

    TIME = "time"
    FRESHNESS = "freshness"
    FALLBACK = "fallback"
    BYPASS = "bypass"
    VERIFY = "verify"
    OUTCOME = "outcome"
    FANOUT = "fanout"
    CONTENTION = "contention"


class DriftSeverity(RankedText):
    """How soon somebody must look: green (log only) < yellow (review) < red (at once)."""

    GREEN = "green"
    YELLOW = "yellow"
    RED = "red"


class PatchType(StrEnum):
    """What kind of change would stop the drift."""

    DTE_CHANGE = "dte_change"
    TTL_CHANGE = "ttl_change"
    CACHE_BUNDLE_CHANGE = "cache_bundle_change"
    ROUTING_CHANGE = "routing_change"
    VERIFICATION_CHANGE = "verification_change"
    ACTION_SCOPE_TIGHTEN = "action_scope_tighten"
    MANUAL_REVIEW = "manual_review"


class TriageState(RankedText):
    """How far the handling of a drift event is; it only moves forward."""

    NEW = "new"
    TRIAGED = "triaged"
    PATCH_PLANNED = "patch_planned"
    PATCHED = "patched"
    VERIFIED = "verified"

    def may_become(self, state: "TriageState") -> bool:
        """Whether this step is legal: the next state, nothing else."""
        return state.rank == self.rank + 1


class Fingerprint(CamelModel):
    """What recurrences of one cause have in common."""

    key: ContentHash = Field(description="Hash of decision type, drift type and cause")
    version: Positive = Field(description="Version of the algorithm that made the key")

    @classmethod
    def of(cls, decision_type: str, drift_type: DriftType, cause: str) -> "Fingerprint":
        """The fingerprint of a cause; measured values and episode ids must stay out of it."""
        key = content_hash([decision_type, drift_type.value, cause])
        return cls(key=key, version=FINGERPRINT_VERSION)


class DriftEvent(CamelModel):
    """One cause of drift, seen once."""

    drift_id: Identifier = Field(description="Unique id")
    episode_id: Identifier = Field(description="The episode it was seen in")
    decision_type: Label = Field(description="The decision type of that episode")
    drift_type: DriftType = Field(description="What drifted")
    cause: Label = Field(description="The cause, without measured values")
    severity: DriftSeverity = Field(description="How soon somebody must look")
    detected_at: Timestamp = Field(description="When it was detected")
    evidence_refs: Annotated[tuple[Identifier, ...], Field(max_length=MAX_ITEMS)] = Field(
        description="What shows it"
    )
    recommended_patch_type: PatchType = Field(description="What would stop it")
    fingerprint: Fingerprint = Field(description="What its recurrences have in common")
    notes: OptionalText | None = Field(default=None, description="More about it")


class TriageEntry(Model):
    """One step in the handling of a drift event."""

    entry_id: UuidText = Field(description="Unique id, also the message id")
    drift_id: Identifier = Field(description="The drift event")
    state: TriageState = Field(description="Where it stands from here on")
    by: Identifier = Field(description="Who moved it; the sealer for the first")
    at: Timestamp = Field(description="When")
    request_id: UuidText | None = Field(default=None, description="The request that asked for it")
    reason: Text | None = Field(default=None, description="Why")
    event: DriftEvent | None = Field(
        default=None, description="The drift event as published; exactly in state `new`"
    )

    @model_validator(mode="after")
    def _begins_with_the_event(self) -> Self:
        if (self.state is TriageState.NEW) != (self.event is not None):
            raise PydanticCustomError("triage_event", "event must be given exactly in state `new`")
        if self.event is not None and self.event.drift_id != self.drift_id:
            raise PydanticCustomError("triage_drift", "event must be the one that drift_id names")
        return self


class TriageMove(Model):
    """An operator moves a drift event one step forward."""

    request_id: UuidText = Field(description="Unique id; asking again with it changes nothing")
    drift_id: Identifier = Field(description="The drift event")
    to: TriageState = Field(description="Where it shall stand")
    by: Identifier = Field(description="Who moves it")
    reason: Text | None = Field(default=None, description="Why")
