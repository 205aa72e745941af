"""What a gate answered, kept: the question, the answer, and what it was judged by."""

from typing import Annotated, Literal

from pydantic import Field

from lictor_schema.contracts.decision_questions import ActionGateAnswer, ActionGateRequest
from lictor_schema.core.base_model import (
    MAX_ITEMS,
    ContentHash,
    Count,
    Identifier,
    Model,
    Text,
    UtcMillis,
    UuidText,
)
from lictor_schema.decisions.decision import Disposition, MatchedRule
from lictor_schema.events.event_types import EventType
from lictor_schema.gates.gate import DispatchGateRequest, GateAnswer, ReportGateRequest
from lictor_schema.sessions.session_questions import (
    StopGateAnswer,
    StopGateRequest,
    ToolGateAnswer,
    ToolGateRequest,
)


class GateRecord(Model):
    """One answer of a gate with everything an auditor needs to see why it was given."""

    record_id: UuidText = Field(description="Id of this answer; also the message id")
    recorded_at: UtcMillis = Field(description="When it was answered")
    gate: Literal["report", "dispatch"] = Field(description="The gate")
    request: ReportGateRequest | DispatchGateRequest = Field(description="The question, whole")
    answer: GateAnswer = Field(description="The answer, whole")
    disposition: Disposition | None = Field(
        default=None,
        description="What the packs made of the act; null when it was refused before they looked",
    )
    judged_as: EventType | None = Field(
        default=None,
        description="The event that the act was judged as; null when it was not judged",
    )
    matched_rules: Annotated[tuple[MatchedRule, ...], Field(max_length=MAX_ITEMS)] = Field(
        default=(), description="Every pack rule that fired, strongest first"
    )
    gate_rules: Annotated[tuple[Identifier, ...], Field(max_length=16)] = Field(
        default=(), description="Every built-in gate rule that stood against it"
    )
    missing: Annotated[tuple[Text, ...], Field(max_length=64)] = Field(
        default=(), description="What was asked for and not found"
    )
    config_hash: ContentHash = Field(description="Hash of the packs and settings in force")
    state_sequence: Count | None = Field(
        default=None,
        description="Sequence in EVENTS up to which the task's history was counted; null when unknown",
    )


class SessionGateRecord(Model):
    """An answer of the tool or stop gate that stands in no session's log: an allowed call, or a refusal without one."""

    record_id: UuidText = Field(description="Id of this answer; also the message id")
    recorded_at: UtcMillis = Field(description="When it was answered")
    gate: Literal["tool", "stop"] = Field(description="The gate")
    request: ToolGateRequest | StopGateRequest = Field(description="The question, whole")
    answer: ToolGateAnswer | StopGateAnswer = Field(description="The answer, whole")
    state_sequence: Count | None = Field(
        description="Sequence in SESSIONS up to which the session's history was counted; null when unknown"
    )


class ActionGateRecord(Model):
    """A denial of the action gate that stands in no decision's log."""

    record_id: UuidText = Field(description="Id of this answer; also the message id")
    recorded_at: UtcMillis = Field(description="When it was answered")
    gate: Literal["action"] = Field(description="The gate")
    asked_by: Text = Field(description="The runtime whose subject it was asked on, as its token")
    task_id: Identifier | None = Field(description="The task; null when the question tells none")
    request: ActionGateRequest | None = Field(
        description="The question, whole; null when it can't be read"
    )
    question_sha256: ContentHash = Field(description="Hash of the question as it came")
    question_size: Count = Field(description="Its bytes")
    answer: ActionGateAnswer = Field(description="The answer, whole")
