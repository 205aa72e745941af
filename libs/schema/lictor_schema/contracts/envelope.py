"""Contracts that bound a decision: the timing envelope, the safe action, verification.

Field names are camelCase at the wire. Checks that a contract can hold at all (stage budgets within
the deadline, a ladder that ends in safety) are made where it is read, so no such contract exists.
"""

from enum import StrEnum
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from lictor_schema.core.base_model import (
    MAX_ITEMS,
    CamelModel,
    ContentHash,
    Count,
    Details,
    Identifier,
    Label,
    OptionalText,
    Positive,
    Scalar,
    Text,
)


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


class Threshold(StrEnum):
    """A blast radius that obligations start strictly above; `none` means from tiny on."""

    rank: int

    def __new__(cls, value: str) -> "Threshold":
        member = str.__new__(cls, value)
        member._value_ = value
        member.rank = len(cls.__members__)
        return member

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


class TargetRef(CamelModel):
    """One resource an action touches."""

    type: Label = Field(description="What kind of resource")
    id: Identifier = Field(description="Which one")


class Precondition(CamelModel):
    """A declarative check made before dispatch; never code."""

    fact: Label = Field(description="The fact looked at")
    operator: Literal["equals", "not_equals", "greater_than", "less_than", "in", "contains"] = (
        Field(description="How it is compared")
    )
    value: Scalar = Field(default=None, description="What it is compared with")
    values: Annotated[tuple[Scalar, ...], Field(min_length=1, max_length=64)] | None = Field(
        default=None, description="The choices, exactly for the operator `in`"
    )

    @model_validator(mode="after")
    def _choices_go_with_in(self) -> Self:
        if (self.operator == "in") != (self.values is not None):
            raise PydanticCustomError(
                "precondition_values", "values must be given exactly for the operator `in`"
            )
        return self


class Authorization(CamelModel):
    """Who lets the action happen."""

    mode: Literal["auto", "hitl", "blocked"] = Field(
        description="At once, after a human's approval, or not at all"
    )
    policy_ref: Identifier | None = Field(default=None, description="The rule that says so")
    approver: Identifier | None = Field(default=None, description="Who approves")


class RollbackPlan(CamelModel):
    """How the action can be undone."""

    type: Literal["none", "compensate", "restore", "revert"] = Field(description="In which way")
    instructions: Details | None = Field(default=None, description="Parameters of the undoing")
    timeout_ms: Count | None = Field(default=None, description="Time the undoing may take")


class RetryPolicy(CamelModel):
    """How often an action is tried again."""

    max_retries: Count | None = Field(default=None, description="Tries after the first")
    backoff_ms: Count | None = Field(default=None, description="Wait between tries")


class ExecutionPlan(CamelModel):
    """How the action is carried out."""

    execution_slo_ms: Count | None = Field(default=None, description="Time it should take")
    timeout_ms: Count | None = Field(default=None, description="Time it may take")
    retry_policy: RetryPolicy | None = Field(default=None, description="Tries after a failure")


class SafeActionContract(CamelModel):
    """What one action may do; satisfied before it is dispatched (the strict form)."""

    action_id: Identifier = Field(description="Unique, never reused")
    action_type: Label = Field(description="What is done")
    blast_radius_tier: BlastRadius = Field(description="How far it can reach")
    target_refs: Annotated[tuple[TargetRef, ...], Field(min_length=1, max_length=MAX_ITEMS)] = (
        Field(description="What it touches; at least one resource")
    )
    preconditions: Annotated[tuple[Precondition, ...], Field(max_length=64)] = Field(
        default=(), description="Checks made before dispatch"
    )
    constraints: Details = Field(description="Rate limits, scope bounds, change windows")
    authorization: Authorization = Field(description="Who lets it happen")
    idempotency_key: Identifier | None = Field(
        default=None,
        description="Same key and body: done once; null only where the envelope demands no key",
    )
    rollback_plan: RollbackPlan = Field(description="How it is undone")
    execution: ExecutionPlan | None = Field(default=None, description="How it is carried out")


class VerificationResult(StrEnum):
    """What a verifier found; `na` when none had to run."""

    PASS = "pass"
    FAIL = "fail"
    INCONCLUSIVE = "inconclusive"
    NA = "na"


class Verification(CamelModel):
    """Whether the result of a decision was checked, and what came out."""

    required: bool = Field(description="Whether it was mandatory")
    result: VerificationResult = Field(description="What came out")
    method: Label | None = Field(default=None, description="The verifier used")
    details: Details | None = Field(default=None, description="What it saw")
    explanation: Text | None = Field(default=None, description="The result in words")

    @model_validator(mode="after")
    def _result_names_its_method(self) -> Self:
        if self.result is not VerificationResult.NA and self.method is None:
            raise PydanticCustomError(
                "verification_without_method", "a verification result must name its method"
            )
        return self
