"""Gates: what a runtime asks before it acts, and the answer it gets."""

from typing import Literal, Self

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from lictor_schema.claims import CheckpointStructure, Claim, PromisedFollowup
from lictor_schema.context import ExternalizedPath, ReportAnchor
from lictor_schema.model import (
    Count,
    Identifier,
    Label,
    Model,
    OptionalText,
    Text,
    Timestamp,
)
from lictor_schema.payloads import TaskMode, WorkflowShape


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


class DispatchGateRequest(GateRequest):
    """May this task or subagent be dispatched?"""

    dispatch_kind: Literal["task", "subagent"] = Field(description="What is to be dispatched")
    mode: TaskMode = Field(description="Whether it will report by itself")
    purpose: Text = Field(description="What it is to do")
    report_anchor: ReportAnchor | None = Field(default=None, description="Where reports are owed")
    externalized_path: ExternalizedPath | None = Field(
        default=None, description="How a silent task will be heard of"
    )
    child_session_key: Identifier | None = Field(default=None, description="The child's session")
    channel: Label | None = Field(
        default=None, description="Channel of a new task; null for that of its report anchor"
    )
    workflow_shape: WorkflowShape = Field(
        default="single-agent", description="Whether a new task will dispatch children"
    )
    parent_task_id: Identifier | None = Field(
        default=None, description="The task that dispatches a new task, if one does"
    )


class GateAnswer(Model):
    """The answer of any gate."""

    request_id: Identifier = Field(description="The question")
    decision: Literal["allow", "deny", "rewrite", "wait"] = Field(description="The answer")
    reason: Text = Field(description="Why")
    remedy: Text | None = Field(
        default=None, description="What to do about it; always given with `deny` and `wait`"
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
        if self.decision in ("deny", "wait") and self.remedy is None:
            raise PydanticCustomError("gate_remedy", "decision `deny` and `wait` need a remedy")
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
