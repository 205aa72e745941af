"""What is asked and told about governed decisions, by runtimes and by operators, and the answers."""

from typing import Annotated, Literal

from pydantic import Field

from lictor_schema.contracts.action import Precondition, SafeActionContract
from lictor_schema.contracts.decision_log import (
    ActionOutcome,
    FeatureValue,
    Reasons,
    RetriesSeen,
    RungTaken,
    StageName,
    Violations,
)
from lictor_schema.contracts.verification import Verification
from lictor_schema.core.base_model import (
    MAX_ITEMS,
    ContentHash,
    Count,
    Details,
    Identifier,
    Label,
    Model,
    Scalar,
    Text,
    Timestamp,
    UtcMillis,
)
from lictor_schema.decisions.decision import PackStamp
from lictor_schema.gates.gate import GateAnswer, GateRequest
from lictor_schema.seals.episode import EpisodeState


class ActionGateRequest(GateRequest):
    """May this action be dispatched?"""

    contract: SafeActionContract = Field(description="What the action may do")
    facts: Details = Field(
        default_factory=dict[str, Scalar], description="What its preconditions are held against"
    )


class ActionGateAnswer(GateAnswer):
    """The answer of the action gate, with everything that stands against the action."""

    action_hash: ContentHash | None = Field(
        default=None, description="Name of the contract: what an approval refers to"
    )
    reasons: Reasons = Field(default=(), description="All of them, in the order looked for")
    violations: Violations = Field(default=(), description="Bounds that do not hold now")
    rung: RungTaken | None = Field(default=None, description="What is to be done instead, and why")
    standing: Literal["first", "in_flight", "done", "conflict"] | None = Field(
        default=None, description="What was known of its idempotency key"
    )
    result_hash: ContentHash | None = Field(
        default=None, description="The first result, exactly for `done`"
    )


class StageBeginReport(Model):
    """A stage is about to begin."""

    what: Literal["stage_begun"] = Field(description="What is reported")
    stage: StageName = Field(description="The stage")


class StageEndReport(Model):
    """A stage has ended."""

    what: Literal["stage_ended"] = Field(description="What is reported")
    stage: StageName = Field(description="The stage")


class CaptureReport(Model):
    """A feature of the context was captured."""

    what: Literal["context_captured"] = Field(description="What is reported")
    feature: Label = Field(description="Its name")
    captured_at: Timestamp = Field(description="When")
    value: FeatureValue = Field(
        default=None, description="What it was, kept in the decision's log; null to leave it out"
    )


class SpreadReport(Model):
    """How far the decision has spread up to now."""

    what: Literal["spread_counted"] = Field(description="What is reported")
    hops: Count = Field(description="Hand-overs between agents")
    fanout: Count = Field(description="Children at once")
    tool_calls: Count = Field(description="Tool calls")
    chain_depth: Count = Field(description="Nested calls")


class DispatchReport(Model):
    """An action was sent."""

    what: Literal["action_dispatched"] = Field(description="What is reported")
    action_id: Identifier = Field(description="The action")
    action_type: Label = Field(description="What is done")
    action_hash: ContentHash | None = Field(
        default=None, description="The contract that was allowed"
    )


class FinishReport(Model):
    """An action has ended."""

    what: Literal["action_finished"] = Field(description="What is reported")
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


class EndReport(Model):
    """Nothing more is planned, dispatched or verified."""

    what: Literal["decision_ended"] = Field(description="What is reported")


AnyReport = Annotated[
    StageBeginReport
    | StageEndReport
    | CaptureReport
    | SpreadReport
    | DispatchReport
    | FinishReport
    | EndReport,
    Field(discriminator="what"),
]


class DecisionReport(GateRequest):
    """Something happened to a decision; told again under its `request_id`, it counts once."""

    report: AnyReport = Field(description="What")


class VerifyRequest(GateRequest):
    """Is what an action did what was expected?"""

    action_id: Identifier = Field(description="The action")
    method: Label = Field(description="The verifier, by name")
    expected: Details = Field(
        default_factory=dict[str, Scalar], description="What each field must hold, for most methods"
    )
    invariants: Annotated[tuple[Precondition, ...], Field(max_length=256)] = Field(
        default=(), description="What must hold of the state, for `invariant_check`"
    )
    observed: Annotated[dict[Label, Scalar], Field(max_length=MAX_ITEMS)] | None = Field(
        description="The state as it was read back; null when it could not be"
    )
    took_ms: Count = Field(description="How long reading it back took")

    @property
    def expectation(self) -> dict[str, object]:
        """What is expected, as a method reads it."""
        invariants: dict[str, object] = {"invariants": self.invariants} if self.invariants else {}
        return {**self.expected, **invariants}


class ContractAnswer(Model):
    """What every answer about a decision says."""

    request_id: Identifier = Field(description="The question")
    ok: bool = Field(description="Whether it was done")
    reason: Text = Field(description="What was done, or why not")
    remedy: Text | None = Field(default=None, description="What to do about it, when it wasn't")
    policy_id: Identifier | None = Field(default=None, description="The rule that stood against it")
    duplicate: bool = Field(default=False, description="Whether it had been told before")
    violations: Violations = Field(default=(), description="Bounds that do not hold now")
    rung: RungTaken | None = Field(default=None, description="What is to be done instead, and why")


class DecisionBeginAnswer(ContractAnswer):
    """A decision as it stands after it began."""

    episode_id: Identifier | None = Field(default=None, description="The episode it will be in")
    decision_type: Label | None = Field(default=None, description="Its decision type")
    dte_hash: ContentHash | None = Field(default=None, description="The envelope that holds")
    pack: PackStamp | None = Field(default=None, description="The pack it came from")
    deadline_at: UtcMillis | None = Field(default=None, description="When its time is up")


class VerifyAnswer(ContractAnswer):
    """What a verifier found."""

    verification: Verification | None = Field(default=None, description="The finding")


class ActionStanding(Model):
    """How one action stands."""

    action_id: Identifier = Field(description="The action")
    action_type: Label = Field(description="What is done")
    action_hash: ContentHash = Field(description="Content hash of its contract")
    decision: Literal["allow", "wait", "refuse"] = Field(description="The last answer")
    approvers: tuple[Identifier, ...] = Field(description="Who has approved exactly this")
    dispatches: Count = Field(description="How often it was sent")
    outcome: ActionOutcome | None = Field(description="How it ended; null while it has not")
    reasons: Reasons = Field(
        default=(), description="What it waits for, at the last answer: what an approver answers"
    )


class DecisionStanding(Model):
    """A decision as its log tells it."""

    episode_id: Identifier = Field(description="The episode it will be in")
    decision_type: Label = Field(description="Its decision type")
    agent_id: Identifier = Field(description="Whose decision it is")
    state: EpisodeState = Field(description="Where it stands in its life")
    by: Identifier = Field(description="Who brought it there")
    reason: Text = Field(description="Why")
    begun_at: UtcMillis = Field(description="When it began")
    deadline_at: UtcMillis = Field(description="When its time is up")
    ended: bool = Field(description="Whether the agent is done")
    entries: Count = Field(description="How many entries its log has")
    rung: RungTaken | None = Field(description="The rung it stands on")
    actions: tuple[ActionStanding, ...] = Field(description="Its actions")


class DecisionShowAnswer(ContractAnswer):
    """A decision as it stands."""

    standing: DecisionStanding | None = Field(default=None, description="How it stands")
    halted_by: Identifier | None = Field(
        default=None, description="Who engaged the kill-switch, while it is"
    )


class OperatorRequest(Model):
    """What every order of an operator says."""

    request_id: Identifier = Field(description="Unique id; the answer repeats it")
    by: Identifier = Field(description="Who orders it")
    reason: Text = Field(description="Why")
    requested_at: Timestamp = Field(description="When it was asked")


class TaskOrder(OperatorRequest):
    """An order about one decision: freeze it, or resume it."""

    runtime: Label = Field(description="The runtime of the task")
    task_id: Identifier = Field(description="The task")


class ApproveRequest(TaskOrder):
    """Approve one exact action, or that the ladder's `bypass` is taken."""

    action_hash: ContentHash | None = Field(
        description="Content hash of the action's contract; null approves the bypass"
    )


class SwitchOrder(OperatorRequest):
    """Engage or release the kill-switch."""
