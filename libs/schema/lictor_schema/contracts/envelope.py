"""The envelope of a decision: how long it may take, what it may rest on, and what happens when it does not hold.

Field names are camelCase at the wire. Checks that a contract can hold at all (stage budgets within
the deadline, a ladder that ends in safety) are made where it is read, so no such contract exists.
"""

from enum import StrEnum
from typing import Annotated, Self

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from lictor_schema.core.base_model import (
    MAX_ITEMS,
    CamelModel,
    ContentHash,
    Count,
    Identifier,
    Label,
    OptionalText,
    Positive,
)
from lictor_schema.core.ranked_text import RankedText


class BlastRadius(StrEnum):
    """How far an action can reach: tiny < small < medium < large.

    tiny: one record, read or append; small: one record, changed; medium: several records or one of
    high value; large: across systems, or irreversible at scale.
    """

    rank: int

    def __new__(cls, value: str) -> "BlastRadius":
        member = str.__new__(cls, value)
        member._value_ = value
        member.rank = len(cls.__members__) + 1
        return member

    TINY = "tiny"
    SMALL = "small"
    MEDIUM = "medium"
    LARGE = "large"


class Threshold(RankedText):
    """A blast radius that obligations start strictly above; `none` means from tiny on."""

    NONE = "none"
    TINY = "tiny"
    SMALL = "small"
    MEDIUM = "medium"
    LARGE = "large"

    def is_exceeded_by(self, tier: BlastRadius) -> bool:
        """Whether the obligation holds for an action of this tier (strictly above)."""
        return tier.rank > self.rank


class DegradeStep(StrEnum):
    """What can be done instead of the full decision."""

    CACHE_BUNDLE = "cache_bundle"
    SMALL_MODEL = "small_model"
    RULES_ONLY = "rules_only"
    HITL = "hitl"
    ABSTAIN = "abstain"
    BYPASS = "bypass"


class StageBudgets(CamelModel):
    """Milliseconds each stage may take."""

    context: Count = Field(description="Gathering context")
    plan: Count = Field(description="Planning")
    act: Count = Field(description="Acting")
    verify: Count = Field(description="Verifying")

    @property
    def total(self) -> int:
        """All stages together."""
        return self.context + self.plan + self.act + self.verify


class Freshness(CamelModel):
    """How old context may be when it is used."""

    default_ttl_ms: Count = Field(description="Age allowed for features not listed")
    feature_ttls: Annotated[dict[Label, Count], Field(max_length=MAX_ITEMS)] = Field(
        default_factory=dict[str, int], description="Age allowed by feature name"
    )
    allow_stale_if_safe: bool = Field(
        default=False, description="Whether stale context only degrades a safe action"
    )


class Limits(CamelModel):
    """How far a decision may spread."""

    max_hops: Count = Field(description="Hand-overs between agents")
    max_fanout: Count = Field(description="Children at once")
    max_tool_calls: Count = Field(description="Tool calls")
    max_chain_depth: Count = Field(description="Nested calls")


class DegradeRung(CamelModel):
    """One rung of the ladder."""

    step: DegradeStep = Field(description="What is done on this rung")
    max_extra_ms: Count | None = Field(default=None, description="Extra time it may take")
    approver: Identifier | None = Field(
        default=None, description="Who must approve; required for `bypass`"
    )

    @model_validator(mode="after")
    def _bypass_names_its_approver(self) -> Self:
        if self.step is DegradeStep.BYPASS and self.approver is None:
            raise PydanticCustomError(
                "bypass_without_approver", "a `bypass` rung must name its approver"
            )
        return self


class VerificationRule(CamelModel):
    """When an action must be verified, and how."""

    required_above_blast_radius: Threshold = Field(
        description="Verification is mandatory strictly above this tier"
    )
    methods: Annotated[tuple[Label, ...], Field(max_length=64)] = Field(
        default=(), description="Verifiers that may be used"
    )
    verify_timeout_ms: Count = Field(default=0, description="Hard time limit of the verify stage")


class SafeActionRule(CamelModel):
    """What an action under this envelope may request."""

    require_idempotency: bool = Field(description="Whether an idempotency key is demanded")
    require_rollback_above: Threshold = Field(
        description="A rollback plan is mandatory strictly above this tier"
    )
    blast_radius_max: BlastRadius = Field(description="The largest tier allowed")
    allowed_action_types: Annotated[tuple[Label, ...], Field(max_length=MAX_ITEMS)] | None = Field(
        default=None, description="Action types allowed; null for all"
    )


class PolicyPackRef(CamelModel):
    """The pack an envelope came from."""

    policy_pack_hash: ContentHash | None = Field(default=None, description="Its content hash")
    policy_pack_version: Label | None = Field(default=None, description="Its version")


class DTE(CamelModel):
    """Decision Timing Envelope: the budget and bounds of one decision type."""

    decision_type: Label = Field(description="The decision type it governs")
    version: Label = Field(description="Its version")
    description: OptionalText | None = Field(default=None, description="What it is for")
    deadline_ms: Positive = Field(description="Time for the whole decision")
    stage_budgets_ms: StageBudgets = Field(description="Time by stage")
    freshness: Freshness = Field(description="How old context may be")
    limits: Limits = Field(description="How far it may spread")
    degrade_ladder: Annotated[tuple[DegradeRung, ...], Field(min_length=1, max_length=16)] = Field(
        description="What is done instead, in order; `abstain` must be among it"
    )
    verification: VerificationRule = Field(description="When results are verified")
    safe_action: SafeActionRule = Field(description="What actions may request")
    policy_pack: PolicyPackRef | None = Field(default=None, description="The pack it came from")

    @model_validator(mode="after")
    def _can_hold(self) -> Self:
        if self.stage_budgets_ms.total > self.deadline_ms:
            raise PydanticCustomError(
                "budgets_over_deadline",
                "stageBudgetsMs add up to {total}, more than deadlineMs {deadline}; lower a budget",
                {"total": self.stage_budgets_ms.total, "deadline": self.deadline_ms},
            )
        steps = [rung.step for rung in self.degrade_ladder]
        if DegradeStep.ABSTAIN not in steps:
            raise PydanticCustomError(
                "ladder_without_abstain", "degradeLadder must contain `abstain`; add that rung"
            )
        if len(set(steps)) != len(steps):
            raise PydanticCustomError(
                "ladder_repeats", "degradeLadder names a step twice; keep one rung of each"
            )
        return self
