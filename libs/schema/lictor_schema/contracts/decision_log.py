"""The log of a governed decision: everything that happened to it, in order, on the ACTIONS stream.

The log is the truth; whatever is known of a decision is a fold of it. An entry tells what was found and chosen, not
just what was asked, so that nobody has to judge anything again to know what happened.
"""

from typing import Annotated, Generic, Literal, TypeVar

from pydantic import AfterValidator, Field, JsonValue, TypeAdapter
from pydantic_core import PydanticCustomError

from lictor_schema.contracts.action import SafeActionContract
from lictor_schema.contracts.envelope import DTE, DegradeStep
from lictor_schema.contracts.verification import Verification
from lictor_schema.core.base_model import (
    MAX_ITEMS,
    ContentHash,
    Count,
    Details,
    Identifier,
    Label,
    Model,
    Positive,
    Scalar,
    Text,
    UuidText,
    is_left_out,
)
from lictor_schema.core.canonical_json import CanonicalError, canonical_json, refuse_duplicate_keys
from lictor_schema.decisions.decision import PackStamp
from lictor_schema.seals.episode import OutcomeCode

K = TypeVar("K", bound=str)

StageName = Literal["context", "plan", "act", "verify"]
ActionOutcome = Literal["success", "partial", "fail"]

MAX_VALUE_BYTES = 16 * 1024
"""How large the value of a feature may be, as canonical JSON."""


def _bounded(value: JsonValue) -> JsonValue:
    try:
        size = len(canonical_json(value))
    except CanonicalError as error:
        raise PydanticCustomError("feature_value", "{why}", {"why": str(error)}) from None
    if size > MAX_VALUE_BYTES:
        raise PydanticCustomError(
            "feature_value",
            "has {size} bytes, more than {limit}; give what was decided on, or its hash",
            {"size": size, "limit": MAX_VALUE_BYTES},
        )
    return value


FeatureValue = Annotated[JsonValue, AfterValidator(_bounded)]
"""What a feature of the context was: any JSON value of at most 16 KiB; null says nothing."""


class ContractViolation(Model):
    """One bound of the envelope that did not hold."""

    gate: Literal["deadline", "stage_budget", "feature_ttl", "limits"] = Field(
        description="What was looked at"
    )
    field: Text = Field(description="The bound, as the envelope spells it")
    limit: Count | None = Field(description="What was allowed; null when it can't be compared")
    actual: Scalar = Field(description="What was measured; null when it is missing")
    severity: Literal["hard", "soft"] = Field(
        description="hard: must not go on; soft: must degrade"
    )
    message: Text = Field(description="The same in words, with what to do")


class ContractReason(Model):
    """One thing that stands against an action."""

    code: Label = Field(description="Which one")
    field: Text = Field(description="Where, as the wire spells it")
    message: Text = Field(description="What is the case")
    remedy: Text = Field(description="What would help")
    decision: Literal["wait", "refuse"] = Field(description="What this alone leads to")


class RungTaken(Model):
    """What the ladder says is done instead, and why."""

    step: DegradeStep | None = Field(description="The rung; null for the undegraded path")
    rationale: Details = Field(description="The reason and the numbers behind it")
    ladder: Annotated[tuple[DegradeStep, ...], Field(max_length=16)] = Field(
        description="The ladder it was chosen from"
    )
    exhausted: bool = Field(default=False, description="Whether no rung that would help was left")
    approved_by: Identifier | None = Field(default=None, description="Who answers for a `bypass`")


class RetriesSeen(Model):
    """How often something had to be tried again because it was taken."""

    kind: Literal["lock", "rate_limit"] = Field(description="Why it was taken")
    resource: Label = Field(description="What was taken")
    count: Count = Field(description="Tries after the first")
    gave_up: bool = Field(default=False, description="Whether it was given up in the end")


Violations = Annotated[tuple[ContractViolation, ...], Field(max_length=MAX_ITEMS)]
Reasons = Annotated[tuple[ContractReason, ...], Field(max_length=MAX_ITEMS)]


class DecisionEntry(Model, Generic[K]):
    """What every entry about a decision says."""

    kind: K = Field(description="What happened")
    entry_id: UuidText = Field(description="Id of the entry; also the message id")
    at_us: Positive = Field(
        description="When, in microseconds since 1970; never before the entry that precedes it"
    )
    request_id: Identifier = Field(description="The question or tick that led to it")
    runtime: Label = Field(description="The runtime")
    task_id: Identifier = Field(description="The governed task")
    agent_id: Identifier = Field(description="Whose decision it is")
    decision_type: Label = Field(description="The decision type that governs it")
    episode_id: Identifier = Field(description="The episode it will be part of")
    next_due_us: Positive | None = Field(
        default=None, description="When time must be looked at next; null for never"
    )


class CallsSince(Model):
    """From where on tool calls of the task count: what was stored before the decision began does not."""

    session_id: Identifier | None = Field(description="The session of the task, as it was told")
    gates_sequence: Count = Field(description="The last message of GATES then")
    sessions_sequence: Count = Field(description="The last message of SESSIONS then")


class DecisionBegun(DecisionEntry[Literal["decision_begun"]]):
    """A decision began; this envelope holds for it to its end."""

    dte: DTE = Field(description="The envelope, whole")
    dte_hash: ContentHash = Field(description="Its content hash")
    pack: PackStamp = Field(description="The pack it came from")
    switch_sequence: Count | None = Field(
        default=None,
        description="Sequence in EVENTS of the switch that had put the pack in force; null in older logs",
    )
    calls_since: CallsSince | None = Field(
        default=None,
        exclude_if=is_left_out,
        description="From where on tool calls count that the tool gate saw; absent in older logs",
    )


class StageBegun(DecisionEntry[Literal["stage_begun"]]):
    """A stage began, perhaps degraded because too little time was left for it."""

    stage: StageName = Field(description="The stage")
    violations: Violations = Field(default=(), description="Why it is degraded")
    rung: RungTaken | None = Field(default=None, description="What is done instead")


class StageEnded(DecisionEntry[Literal["stage_ended"]]):
    """A stage ended."""

    stage: StageName = Field(description="The stage")
    took_ms: Count = Field(description="Time of all its runs so far")
    budget_ms: Count = Field(description="Time it may take")


class ContextCaptured(DecisionEntry[Literal["context_captured"]]):
    """A feature of the context was captured."""

    feature: Label = Field(description="Its name")
    captured_at_us: Positive = Field(description="When, in microseconds since 1970, as told")
    value: FeatureValue = Field(
        default=None, exclude_if=lambda value: value is None, description="What it was, if told"
    )


class SpreadCounted(DecisionEntry[Literal["spread_counted"]]):
    """How far the decision has spread."""

    hops: Count = Field(description="Hand-overs between agents")
    fanout: Count = Field(description="Children at once")
    tool_calls: Count = Field(description="Tool calls")
    chain_depth: Count = Field(description="Nested calls")
    violations: Violations = Field(default=(), description="Limits that are exceeded")


class ActionJudged(DecisionEntry[Literal["action_judged"]]):
    """The action gate answered."""

    contract: SafeActionContract = Field(description="The action")
    action_hash: ContentHash = Field(description="Its content hash: what approvals name")
    decision: Literal["allow", "wait", "refuse"] = Field(description="The answer")
    standing: Literal["first", "in_flight", "done", "conflict"] = Field(
        description="What was known of its idempotency key"
    )
    reasons: Reasons = Field(default=(), description="Everything that stands against it")
    violations: Violations = Field(default=(), description="Bounds that do not hold now")
    fresh_at_plan: Annotated[tuple[Label, ...], Field(max_length=MAX_ITEMS)] = Field(
        default=(), description="Features too old now that were fresh when the plan was made"
    )
    oldest_ms: Count | None = Field(
        default=None, description="Age of the oldest feature at this moment"
    )
    approvers: Annotated[tuple[Identifier, ...], Field(max_length=MAX_ITEMS)] = Field(
        default=(), description="Whose approvals counted"
    )
    rung: RungTaken | None = Field(default=None, description="What the ladder says")
    calls_seen: Count = Field(
        default=0,
        exclude_if=is_left_out,
        description="Tool calls that the tool gate let through for the task since it began",
    )


class ActionApproved(DecisionEntry[Literal["action_approved"]]):
    """Somebody approved one exact action."""

    approver: Identifier = Field(description="Who")
    action_hash: ContentHash = Field(description="Content hash of the action's contract")
    reason: Text = Field(description="Why")


class BypassApproved(DecisionEntry[Literal["bypass_approved"]]):
    """Somebody approved that the ladder's `bypass` is taken."""

    approver: Identifier = Field(description="Who")
    reason: Text = Field(description="Why")


class ActionDispatched(DecisionEntry[Literal["action_dispatched"]]):
    """An action was sent; told also when nothing allowed it."""

    action_id: Identifier = Field(description="The action")
    action_type: Label = Field(description="What is done")
    action_hash: ContentHash | None = Field(default=None, description="The contract, as told")
    problem: Label | None = Field(
        default=None, description="Why no allowance covers it; null when one does"
    )


class ActionFinished(DecisionEntry[Literal["action_finished"]]):
    """An action ended."""

    action_id: Identifier = Field(description="The action")
    outcome: ActionOutcome = Field(description="How")
    result_hash: ContentHash = Field(description="Content hash of the result")
    expected: Details = Field(
        default_factory=dict[str, Scalar], description="What it should have changed"
    )
    observed: Details = Field(default_factory=dict[str, Scalar], description="What it changed")
    retries: Annotated[tuple[RetriesSeen, ...], Field(max_length=64)] = Field(
        default=(), description="What had to be tried again"
    )
    retries_allowed: Count | None = Field(
        default=None, description="How often its contract allows that"
    )


class ActionVerified(DecisionEntry[Literal["action_verified"]]):
    """A verifier looked at what an action did."""

    action_id: Identifier = Field(description="The action")
    verification: Verification = Field(description="What it found")
    timed_out: bool = Field(default=False, description="Whether it took too long")
    rung: RungTaken | None = Field(default=None, description="What the ladder says to it")
    check_hash: ContentHash | None = Field(
        default=None,
        exclude_if=is_left_out,
        description="Hash of the method and the expectation: only the same check answers it anew",
    )


class Degraded(DecisionEntry[Literal["degraded"]]):
    """A stage did not begin: the ladder says to do something else."""

    stage: StageName = Field(description="The stage")
    violations: Violations = Field(default=(), description="Why")
    rung: RungTaken = Field(description="What is done instead")


class DeadlinePassed(DecisionEntry[Literal["deadline_passed"]]):
    """The deadline passed, and the decision had not ended."""

    elapsed_ms: Count = Field(description="Time since it began")
    deadline_ms: Positive = Field(description="What was allowed")
    rung: RungTaken = Field(description="What the ladder says")


class StageOverrun(DecisionEntry[Literal["stage_overrun"]]):
    """A stage's budget ran out, and it had not ended."""

    stage: StageName = Field(description="The stage")
    took_ms: Count = Field(description="Time of all its runs so far")
    budget_ms: Count = Field(description="Time it may take")
    rung: RungTaken = Field(description="What the ladder says")


class DecisionFrozen(DecisionEntry[Literal["decision_frozen"]]):
    """Somebody stopped the decision."""

    by: Identifier = Field(description="Who")
    reason: Text = Field(description="Why")


class DecisionResumed(DecisionEntry[Literal["decision_resumed"]]):
    """Somebody other than its actor let the decision go on."""

    by: Identifier = Field(description="Who")
    reason: Text = Field(description="Why")


class DecisionEnded(DecisionEntry[Literal["decision_ended"]]):
    """The agent is done: nothing more is planned, dispatched or verified."""

    elapsed_ms: Count = Field(description="Time since it began")
    deadline_ms: Positive = Field(description="What was allowed")


class DecisionClosed(DecisionEntry[Literal["decision_closed"]]):
    """The task was closed; what comes of the decision is sealed as it stands here."""

    record_id: UuidText = Field(description="The decision record that closed the task")
    elapsed_ms: Count = Field(description="Time since it began, or until it ended")
    deadline_ms: Positive = Field(description="What was allowed")
    claimed: OutcomeCode = Field(description="The outcome by the records alone")
    outcome: OutcomeCode = Field(description="The outcome that may be told")
    verification: Verification = Field(description="What counts as its verification")
    unverified: Count = Field(
        default=0, description="Actions that were sent, had to be verified, and were not"
    )
    refused: Count = Field(
        default=0,
        exclude_if=is_left_out,
        description="Actions that were asked for and refused, to the end",
    )
    unapproved: Count = Field(
        default=0, exclude_if=is_left_out, description="Actions that nobody approved"
    )
    unsent: Count = Field(
        default=0, exclude_if=is_left_out, description="Actions that were allowed and not sent"
    )
    calls_seen: Count = Field(
        default=0,
        exclude_if=is_left_out,
        description="Tool calls that the tool gate let through for the task until it was closed",
    )
    violations: Violations = Field(
        default=(), exclude_if=is_left_out, description="Limits that are exceeded"
    )


class SwitchEntry(Model, Generic[K]):
    """What every entry about the kill-switch says."""

    kind: K = Field(description="What happened")
    entry_id: UuidText = Field(description="Id of the entry; also the message id")
    at_us: Positive = Field(description="When, in microseconds since 1970")
    request_id: Identifier = Field(description="The question that led to it")
    by: Identifier = Field(description="Who")
    reason: Text = Field(description="Why")


class SwitchEngaged(SwitchEntry[Literal["switch_engaged"]]):
    """Everything halts: active decisions are frozen, and none begins."""


class SwitchReleased(SwitchEntry[Literal["switch_released"]]):
    """Decisions may begin again; frozen ones stay frozen."""


AnyDecisionEntry = Annotated[
    DecisionBegun
    | StageBegun
    | StageEnded
    | ContextCaptured
    | SpreadCounted
    | ActionJudged
    | ActionApproved
    | BypassApproved
    | ActionDispatched
    | ActionFinished
    | ActionVerified
    | Degraded
    | DeadlinePassed
    | StageOverrun
    | DecisionFrozen
    | DecisionResumed
    | DecisionEnded
    | DecisionClosed
    | SwitchEngaged
    | SwitchReleased,
    Field(discriminator="kind"),
]
"""Any entry, told apart by `kind`."""

DECISION_ENTRY_ADAPTER: TypeAdapter[AnyDecisionEntry] = TypeAdapter(AnyDecisionEntry)


def parse_decision_entry(data: bytes | str) -> AnyDecisionEntry:
    """Read one entry; raises pydantic.ValidationError, or CanonicalError for duplicate keys."""
    refuse_duplicate_keys(data)
    return DECISION_ENTRY_ADAPTER.validate_json(data, by_name=False, by_alias=True)
