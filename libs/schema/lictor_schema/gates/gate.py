"""Gates: what a runtime asks before it acts, and the answer it gets."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from lictor_schema.core.base_model import (
    MAX_ITEMS,
    Count,
    Identifier,
    Label,
    Model,
    OptionalText,
    Positive,
    Text,
    Timestamp,
)
from lictor_schema.events.claim import (
    COMPLETION_CLAIMS,
    CheckpointStructure,
    Claim,
    PromisedFollowup,
)
from lictor_schema.events.operator_context import EvidenceRef, ExternalizedPath, ReportAnchor
from lictor_schema.events.payloads import TaskMode, WorkflowShape

EvidenceRefs = Annotated[tuple[EvidenceRef, ...], Field(max_length=MAX_ITEMS)]
ReportedBy = Literal["task_checkpoint_sent", "task_claimed_complete"]
"""The events that tell of a report."""


class GateRequest(Model):
    """What every question to a gate says."""

    request_id: Identifier = Field(description="Unique id; the answer repeats it")
    runtime: Label = Field(description="The asking runtime")
    agent_id: Identifier = Field(description="The agent that wants to act")
    task_id: Identifier = Field(description="The governed task")
    session_id: Identifier | None = Field(default=None, description="The agent's session")
    requested_at: Timestamp = Field(description="When it was asked")

    @property
    def session(self) -> str:
        """The session asked about; a runtime without sessions has one for each task."""
        return self.session_id or self.task_id


class ReportGateRequest(GateRequest):
    """May this message be shown to the operator?"""

    message: Text = Field(description="The message as the agent wrote it")
    claim: Claim | None = Field(default=None, description="What it claims, if anything")
    structure: CheckpointStructure | None = Field(
        default=None, description="The five checkpoint answers, where given"
    )
    promised_followup: PromisedFollowup | None = Field(
        default=None, description="A further report it promises"
    )
    reminder_only: bool = Field(
        default=False, description="Whether it only follows a reminder, without work in between"
    )
    event_type: ReportedBy | None = Field(
        default=None,
        description="The event that will tell it; null for `task_claimed_complete` when it is nothing but a"
        " completion claim, else `task_checkpoint_sent`",
    )
    evidence_refs: EvidenceRefs = Field(
        default=(), description="What the event that will tell it points to"
    )

    @property
    def told_by(self) -> ReportedBy:
        """The event that will tell it; without a claim it can only be a report."""
        if self.claim is None or self.event_type is not None:
            return self.event_type if self.claim and self.event_type else "task_checkpoint_sent"
        is_report = (
            self.structure is not None or self.promised_followup is not None or self.reminder_only
        )
        completes = self.claim.type in COMPLETION_CLAIMS and not is_report
        return "task_claimed_complete" if completes else "task_checkpoint_sent"


class DispatchGateRequest(GateRequest):
    """May this task or subagent be dispatched? It says what the event that will tell it says."""

    dispatch_kind: Literal["task", "subagent"] = Field(description="What is to be dispatched")
    mode: TaskMode = Field(description="Whether it will report by itself")
    purpose: Text = Field(description="What it is to do")
    report_anchor: ReportAnchor | None = Field(default=None, description="Where reports are owed")
    externalized_path: ExternalizedPath | None = Field(
        default=None, description="How a silent task will be heard of"
    )
    child_session_key: Identifier | None = Field(default=None, description="The child's session")
    run_id: Identifier | None = Field(
        default=None, description="Id of the dispatch of a subagent; null for the request's"
    )
    expected_by: Timestamp | None = Field(
        default=None, description="When the result of a subagent is expected"
    )
    attempt: Positive = Field(default=1, description="Which attempt of a subagent, from 1")
    channel: Label | None = Field(
        default=None, description="Channel of a new task; null for that of its report anchor"
    )
    workflow_shape: WorkflowShape = Field(
        default="single-agent", description="Whether a new task will dispatch children"
    )
    parent_task_id: Identifier | None = Field(
        default=None, description="The task that dispatches a new task, if one does"
    )
    checkpoint_interval_s: Positive | None = Field(
        default=None, description="Seconds between due checkpoints of a new task; null for none"
    )
    silence_timeout_s: Positive | None = Field(
        default=None, description="Seconds without a visible update of a new task; null for any"
    )
    decision_type: Label = Field(
        default="task_completion", description="The decision type of a new task"
    )
    evidence_refs: EvidenceRefs = Field(
        default=(), description="What the event that will tell it points to"
    )


class GateAnswer(Model):
    """The answer of any gate."""

    request_id: Identifier = Field(description="The question")
    decision: Literal["allow", "deny", "rewrite", "wait", "ask"] = Field(
        description="The answer; `ask`, of the tool gate alone: a person decides"
    )
    reason: Text = Field(description="Why")
    remedy: Text | None = Field(
        default=None, description="What to do about it; always given with `deny`, `wait` and `ask`"
    )
    policy_id: Identifier = Field(description="The rule that decided")
    message: OptionalText | None = Field(
        default=None, description="The text to use instead; exactly with `rewrite`"
    )
    retry_after_ms: Count | None = Field(default=None, description="When to ask again")

    @model_validator(mode="after")
    def _answer_is_complete(self) -> Self:
        if (self.decision == "rewrite") != (self.message is not None):
            raise PydanticCustomError(
                "gate_message", "message must be given exactly when decision is `rewrite`"
            )
        if self.decision in ("deny", "wait", "ask") and self.remedy is None:
            raise PydanticCustomError(
                "gate_remedy", "decision `deny`, `wait` and `ask` need a remedy"
            )
        return self

    @classmethod
    def allow(cls, request_id: str, policy_id: str, reason: str) -> "GateAnswer":
        """Go on."""
        return cls(request_id=request_id, decision="allow", policy_id=policy_id, reason=reason)

    @classmethod
    def deny(cls, request_id: str, policy_id: str, reason: str, remedy: str) -> "GateAnswer":
        """Don't, and here is what would help."""
        return cls(
            request_id=request_id,
            decision="deny",
            policy_id=policy_id,
            reason=reason,
            remedy=remedy,
        )

    @classmethod
    def rewrite(cls, request_id: str, policy_id: str, reason: str, message: str) -> "GateAnswer":
        """Say this instead."""
        return cls(
            request_id=request_id,
            decision="rewrite",
            policy_id=policy_id,
            reason=reason,
            message=message,
        )

    @classmethod
    def wait(
        cls, request_id: str, policy_id: str, reason: str, remedy: str, retry_after_ms: int
    ) -> "GateAnswer":
        """Not yet."""
        return cls(
            request_id=request_id,
            decision="wait",
            policy_id=policy_id,
            reason=reason,
            remedy=remedy,
            retry_after_ms=retry_after_ms,
        )
