"""Drift: a decision that did not go as its contract says, named by its cause."""

from enum import StrEnum
from typing import Annotated

from pydantic import Field

from lictor_schema.core.base_model import (
    MAX_ITEMS,
    CamelModel,
    ContentHash,
    Identifier,
    Label,
    OptionalText,
    Positive,
    Timestamp,
)
from lictor_schema.core.canonical_json import content_hash

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


class DriftSeverity(StrEnum):
    """How soon somebody must look: green (log only) < yellow (review) < red (at once)."""

    rank: int

    def __new__(cls, value: str) -> "DriftSeverity":
        member = str.__new__(cls, value)
        member._value_ = value
        member.rank = len(cls.__members__)
        return member

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


class TriageState(StrEnum):
    """How far the handling of a drift event is; it only moves forward."""

    rank: int

    def __new__(cls, value: str) -> "TriageState":
        member = str.__new__(cls, value)
        member._value_ = value
        member.rank = len(cls.__members__)
        return member

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
