"""Decision episodes: the record of one governed task, and its seal.

No field holds a fraction, so an episode hashes the same in every language.
"""

from enum import StrEnum
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from lictor_schema.contracts.action import SafeActionContract, TargetRef
from lictor_schema.contracts.envelope import BlastRadius, DegradeStep
from lictor_schema.contracts.verification import Verification
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
    Text,
    UtcMillis,
    UuidText,
    is_left_out,
)
from lictor_schema.seals.episode_sources import MAX_NOTES, Correction, EpisodeSources, NoteText

MAX_RECORDS = 20_000
"""How many decision records an episode can name; all of them are under the root of the strand `records`."""

LISTED_RECORDS = 200
"""How many the sealer names: the log's leaf stays small, whatever the number of records."""


class EpisodeState(StrEnum):
    """Where an episode stands in its life."""

    PENDING = "pending"
    ACTIVE = "active"
    FROZEN = "frozen"
    SEALED = "sealed"
    ARCHIVED = "archived"

    def may_become(self, state: "EpisodeState") -> bool:
        """Whether this step is legal; there are no shortcuts."""
        return state in _NEXT_STATES[self]


_NEXT_STATES: dict[EpisodeState, tuple[EpisodeState, ...]] = {
    EpisodeState.PENDING: (EpisodeState.ACTIVE,),
    EpisodeState.ACTIVE: (EpisodeState.SEALED, EpisodeState.FROZEN),
    EpisodeState.FROZEN: (EpisodeState.ACTIVE,),
    EpisodeState.SEALED: (EpisodeState.ARCHIVED,),
    EpisodeState.ARCHIVED: (),
}


class OutcomeCode(StrEnum):
    """How a decision ended."""

    SUCCESS = "success"
    PARTIAL = "partial"
    FAIL = "fail"
    ABSTAIN = "abstain"
    BYPASSED = "bypassed"


class Actor(CamelModel):
    """Who made the decision."""

    type: Literal["agent", "human", "system"] = Field(description="What kind of actor")
    id: Identifier = Field(description="Which one")
    version: Label | None = Field(default=None, description="Its version")


class DteRef(CamelModel):
    """The envelope that governed the decision."""

    decision_type: Label = Field(description="The decision type it governs")
    version: Label = Field(description="Its version")
    dte_hash: ContentHash | None = Field(default=None, description="Content hash of the envelope")
    policy_pack_hash: ContentHash | None = Field(
        default=None, description="Content hash of the pack it came from"
    )


class FeatureNote(CamelModel):
    """One feature of the context: how old it was when an action was asked for. Its value stands in the log alone."""

    name: Label = Field(description="The feature")
    captured_at: UtcMillis | None = Field(description="When it was captured last; null for never")
    ttl_ms: Count = Field(description="How long it counts as fresh")
    age_ms: Count | None = Field(
        description="Its greatest age at a question to the gate; null when none was asked"
    )
    breach: bool = Field(description="Whether it was too old, or missing, at such a question")


class EpisodeContext(CamelModel):
    """What the decision knew."""

    snapshot_id: Identifier = Field(description="The state it was made from")
    captured_at: UtcMillis = Field(description="When that state was captured")
    ttl_ms: Count | None = Field(
        description="How long it counts as fresh; null when no envelope said"
    )
    max_feature_age_ms: Count | None = Field(
        description="Age of the oldest feature used; null when none was measured"
    )
    ttl_breaches_count: Count = Field(description="Features that were too old")
    evidence_refs: Annotated[tuple[Identifier, ...], Field(max_length=MAX_ITEMS)] = Field(
        description="Evidence looked at"
    )
    features: Annotated[tuple[FeatureNote, ...], Field(max_length=MAX_NOTES)] = Field(
        default=(),
        exclude_if=is_left_out,
        description="The first features of a governed decision, those that were too old before the others",
    )


class RefusedAction(CamelModel):
    """An action that was asked for and not done."""

    action_id: Identifier = Field(description="The action")
    action_type: Label = Field(description="What was to be done")
    blast_radius_tier: BlastRadius = Field(description="How far it would have reached")
    target_refs: Annotated[tuple[TargetRef, ...], Field(max_length=8)] = Field(
        description="The first of what it would have touched"
    )
    action_hash: ContentHash = Field(description="Content hash of its contract")
    status: Literal["refused", "never_approved", "never_sent"] = Field(
        description="Refused by the gate; waiting for an approval to the end; or allowed, and not sent"
    )
    reason: NoteText = Field(description="What stood against it, in words")
    codes: Annotated[tuple[Label, ...], Field(max_length=16)] = Field(
        default=(), description="The same by name, such as `blast_radius`"
    )
    rung: DegradeStep | None = Field(description="What the ladder said to it; null for nothing")
    asked_at: UtcMillis = Field(description="When the gate answered last")


class ApprovalNote(CamelModel):
    """Somebody's approval of one exact action, or of the ladder's bypass."""

    by: Identifier = Field(description="Who")
    reason: NoteText = Field(description="Why")
    at: UtcMillis = Field(description="When")
    action_id: Identifier | None = Field(description="The action; null for the bypass")
    action_hash: ContentHash | None = Field(
        description="Content hash of its contract; null for the bypass"
    )


class Intervention(CamelModel):
    """Somebody stopped the decision or everything, or let it go on."""

    what: Literal["frozen", "resumed", "halted", "released"] = Field(
        description="This decision, or by the kill-switch everything"
    )
    by: Identifier = Field(description="Who")
    reason: NoteText = Field(description="Why")
    at: UtcMillis = Field(description="When")


class Plan(CamelModel):
    """How the decision came about."""

    planner: Literal["llm", "rules", "hybrid"] = Field(description="What planned it")
    summary: Text = Field(description="The plan in short")
    plan_ref: Identifier | None = Field(default=None, description="Where the plan lies")


class Outcome(CamelModel):
    """How the decision ended."""

    code: OutcomeCode = Field(description="The result")
    reason: OptionalText | None = Field(default=None, description="Why")
    effects: Details | None = Field(default=None, description="What changed")


class StageMs(CamelModel):
    """Milliseconds each stage took."""

    context: Count = Field(description="Gathering context")
    plan: Count = Field(description="Planning")
    act: Count = Field(description="Acting")
    verify: Count = Field(description="Verifying")


class Telemetry(CamelModel):
    """What was measured; null where nothing was, never a guess."""

    end_to_end_ms: Count = Field(description="From the first event to the last")
    p95_ms: Count | None = Field(default=None, description="95th percentile of a decision")
    p99_ms: Count | None = Field(default=None, description="99th percentile of a decision")
    jitter_ms: Count | None = Field(default=None, description="Spread of a decision's time")
    hop_count: Count = Field(description="Hand-overs between agents")
    fanout: Count = Field(description="Children at once")
    stage_ms: StageMs | None = Field(default=None, description="Time by stage")
    fallback_used: bool = Field(description="Whether a ladder rung was used")
    fallback_step: DegradeStep | None = Field(default=None, description="Which one")

    @model_validator(mode="after")
    def _fallback_is_named(self) -> Self:
        if self.fallback_used != (self.fallback_step is not None):
            raise PydanticCustomError(
                "fallback_unnamed", "fallbackStep must be given exactly when fallbackUsed is true"
            )
        return self


class PolicyPackStamp(CamelModel):
    """A pack that was in force."""

    policy_pack_id: Identifier = Field(description="The pack")
    policy_pack_version: Label = Field(description="Its version")
    policy_pack_hash: ContentHash = Field(description="Its content hash")


class PolicyProfileStamp(CamelModel):
    """A profile that changed the packs in force."""

    profile_id: Identifier = Field(description="The profile")
    profile_hash: ContentHash = Field(description="Its content hash")


class PolicyStamp(CamelModel):
    """The policy that was in force."""

    config_hash: ContentHash = Field(description="Hash of the packs and settings together")
    packs: Annotated[tuple[PolicyPackStamp, ...], Field(max_length=MAX_ITEMS)] = Field(
        description="Every pack, matched or not"
    )
    profiles: Annotated[tuple[PolicyProfileStamp, ...], Field(max_length=MAX_ITEMS)] = Field(
        default=(), description="The profiles that changed them, in their order"
    )


class DegradeStamp(CamelModel):
    """Which rung of the ladder was taken, and why."""

    step: DegradeStep | None = Field(description="The rung; null for the undegraded path")
    rationale: Details = Field(description="The reason and the numbers behind it")
    ladder: Annotated[tuple[DegradeStep, ...], Field(max_length=16)] = Field(
        description="The ladder it was chosen from"
    )


class RecordDigest(CamelModel):
    """One decision record that the episode covers."""

    record_id: UuidText = Field(description="The record")
    record_hash: ContentHash = Field(
        description="The record's salted commitment; its content hash where `sources.contents` is null"
    )


class DecisionEpisode(CamelModel):
    """Everything that was decided about one task, from its start to its end."""

    episode_id: Identifier = Field(description="Stable unique id")
    decision_type: Label = Field(description="The decision type that governed it")
    task_id: Identifier = Field(description="The governed task")
    runtime: Label = Field(description="The runtime the task ran in")
    correlation_id: Identifier = Field(description="The workflow it belongs to")
    started_at: UtcMillis = Field(description="The first event")
    ended_at: UtcMillis = Field(description="The last event")
    decision_window_ms: Positive | None = Field(
        description="The deadline that applied; null when no envelope governed the task"
    )
    actor: Actor = Field(description="Who made the decision")
    dte_ref: DteRef | None = Field(description="The envelope that governed it, if one did")
    context: EpisodeContext = Field(description="What the decision knew")
    plan: Plan = Field(description="How it came about")
    actions: Annotated[tuple[SafeActionContract, ...], Field(max_length=MAX_ITEMS)] = Field(
        description="What was done"
    )
    verification: Verification = Field(description="Whether the result was checked")
    outcome: Outcome = Field(description="How it ended")
    telemetry: Telemetry = Field(description="What was measured")
    policy: PolicyStamp = Field(description="The policy in force")
    degrade: DegradeStamp = Field(description="The rung taken")
    records: Annotated[tuple[RecordDigest, ...], Field(min_length=1, max_length=MAX_RECORDS)] = (
        Field(
            description="The first decision records covered, in stream order; all of them are in the strand `records`"
        )
    )
    sources: EpisodeSources | None = Field(
        default=None,
        description="What else the streams held about the task; null when nobody looked",
    )
    correction: Correction | None = Field(
        default=None, description="Exactly in a corrected version: why there is one"
    )
    refused_actions: Annotated[tuple[RefusedAction, ...], Field(max_length=MAX_NOTES)] = Field(
        default=(),
        exclude_if=is_left_out,
        description="The first actions that were asked for and not done",
    )
    approvals: Annotated[tuple[ApprovalNote, ...], Field(max_length=MAX_NOTES)] = Field(
        default=(), exclude_if=is_left_out, description="The first approvals, in their order"
    )
    interventions: Annotated[tuple[Intervention, ...], Field(max_length=MAX_NOTES)] = Field(
        default=(),
        exclude_if=is_left_out,
        description="The first times that it was stopped or resumed, in their order",
    )
    shortened: Annotated[tuple[Label, ...], Field(max_length=MAX_NOTES)] = Field(
        default=(),
        exclude_if=is_left_out,
        description="Lists, such as `actions`, that hold only their beginning, because the leaf would be too large; "
        "the messages under the roots hold everything",
    )

    @model_validator(mode="after")
    def _is_consistent(self) -> Self:
        # UtcMillis sorts as text.
        if self.ended_at < self.started_at:
            raise PydanticCustomError(
                "ends_before_start", "endedAt lies before startedAt; correct one of them"
            )
        if self.degrade.step is DegradeStep.ABSTAIN and self.outcome.code in (
            OutcomeCode.SUCCESS,
            OutcomeCode.PARTIAL,
        ):
            raise PydanticCustomError(
                "abstain_outcome",
                "outcome.code must be `abstain`, or worse, when degrade.step is `abstain`",
            )
        if self.refused_actions and self.outcome.code is OutcomeCode.SUCCESS:
            raise PydanticCustomError(
                "refused_success",
                "outcome.code can't be `success` when an action was asked for and not done",
            )
        if (
            self.verification.required
            and self.outcome.code is OutcomeCode.SUCCESS
            and self.verification.result != "pass"
        ):
            raise PydanticCustomError(
                "unverified_success",
                "outcome.code can't be `success` while a required verification has not passed",
            )
        return self
