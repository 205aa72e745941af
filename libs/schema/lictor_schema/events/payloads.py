"""The payloads of the sixteen event types, one class each."""

from typing import Annotated, Literal

from pydantic import Field

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
from lictor_schema.events.claim import CheckpointStructure, Claim, PromisedFollowup, TaskStatus
from lictor_schema.events.evidence import EvidenceItem
from lictor_schema.events.operator_context import EvidenceRef, ExternalizedPath, ReportAnchor

TaskMode = Literal["interactive", "silent"]
WorkflowShape = Literal["single-agent", "parent-child"]
ResultSource = Literal["completion_event", "history_fetch", "manual_recovery"]


class TaskStartedPayload(Model):
    """A governed task begins; its reporting obligations are fixed here."""

    title: Text = Field(description="What the task is, in a line")
    mode: TaskMode = Field(description="Whether the agent will report by itself as it works")
    workflow_shape: WorkflowShape = Field(description="Whether children will be dispatched")
    channel: Label = Field(description="Channel the operator is reported to")
    checkpoint_interval_s: Positive | None = Field(
        default=None, description="Seconds between due checkpoints; null for none"
    )
    silence_timeout_s: Positive | None = Field(
        default=None, description="Seconds without a visible update that count as silence"
    )
    report_anchor: ReportAnchor | None = Field(default=None, description="Where reports are owed")
    externalized_path: ExternalizedPath | None = Field(
        default=None, description="How a silent task will be heard of"
    )
    parent_task_id: Identifier | None = Field(default=None, description="The dispatching task")
    session_id: Identifier | None = Field(default=None, description="The agent's session")
    decision_type: Label = Field(
        default="task_completion", description="The decision type whose envelope governs the task"
    )


class TaskCheckpointDuePayload(Model):
    """A checkpoint has become due; normally emitted by a timer."""

    checkpoint_number: Positive = Field(description="Which checkpoint, counted from 1")
    due_at: Timestamp = Field(description="When it was due")
    last_visible_update_at: Timestamp | None = Field(
        default=None, description="When the operator last saw something"
    )


class TaskCheckpointSentPayload(Model):
    """The agent reports on its progress."""

    message: Text = Field(description="The report's text")
    operator_visible: bool = Field(description="Whether the operator can see it")
    claim: Claim | None = Field(default=None, description="What the report claims, if anything")
    structure: CheckpointStructure | None = Field(
        default=None, description="The five checkpoint answers, where given"
    )
    promised_followup: PromisedFollowup | None = Field(
        default=None, description="A further report it promises"
    )
    reminder_only: bool = Field(
        default=False, description="Whether it only follows a reminder, without work in between"
    )


class TaskStatusChangedPayload(Model):
    """The task's reported status moves."""

    from_status: TaskStatus | None = Field(
        default=None, description="Status before; null when it had none"
    )
    to_status: TaskStatus = Field(description="Status after")
    reason: Text = Field(description="Why it moved")
    claim: Claim | None = Field(default=None, description="What the change claims, if anything")
    decided_by: Identifier | None = Field(
        default=None,
        description="The operator who decided it; null when the agent or its runtime moved it",
    )


class TaskClaimedCompletePayload(Model):
    """The agent says that the task is done."""

    claim: Claim = Field(description="The completion claim")
    message: Text = Field(description="The text meant for the operator")


class TaskEvidenceAttachedPayload(Model):
    """Evidence items are added to the task."""

    items: Annotated[tuple[EvidenceItem, ...], Field(min_length=1, max_length=MAX_ITEMS)] = Field(
        description="The items; each names the task of the envelope"
    )


class SubagentSpawnedPayload(Model):
    """A child run was dispatched."""

    run_id: Identifier = Field(description="Id of this one dispatch")
    child_session_key: Identifier = Field(description="Stable key of the child's session")
    dispatch_at: Timestamp = Field(description="When it was dispatched")
    expected_by: Timestamp | None = Field(default=None, description="When its result is expected")
    purpose: Text | None = Field(default=None, description="What the child is to do")
    report_anchor: ReportAnchor | None = Field(default=None, description="Where reports are owed")
    attempt: Positive = Field(default=1, description="Which attempt at this work, from 1")


class SubagentSpawnFailedPayload(Model):
    """A child run could not be dispatched."""

    run_id: Identifier = Field(description="Id of the dispatch that failed")
    failed_at: Timestamp = Field(description="When it failed")
    error: Text = Field(description="What went wrong")
    child_session_key: Identifier | None = Field(
        default=None, description="Key of the child's session, if one was made"
    )
    retryable: bool = Field(default=False, description="Whether trying again may help")
    operator_notified: bool = Field(
        default=False, description="Whether the operator has been told already"
    )
    attempt: Positive = Field(default=1, description="Which attempt at this work, from 1")


class SubagentCompletedPayload(Model):
    """A child's result was received; it is not yet known to the operator."""

    run_id: Identifier = Field(description="Id of the dispatch")
    child_session_key: Identifier = Field(description="Stable key of the child's session")
    completion_received_at: Timestamp = Field(description="When the result was really received")
    outcome: Literal["success", "partial", "failure"] = Field(description="How the child ended")
    result_source: ResultSource = Field(description="How the result was obtained")
    summary: OptionalText | None = Field(default=None, description="The result in short")
    error: Text | None = Field(default=None, description="What went wrong, if it did")
    result_ref: EvidenceRef | None = Field(default=None, description="Where the result lies")
    forward_by: Timestamp | None = Field(
        default=None, description="When the operator must have seen it"
    )


class SubagentResultForwardedPayload(Model):
    """A child's result was passed on."""

    run_id: Identifier = Field(description="Id of the dispatch")
    child_session_key: Identifier = Field(description="Stable key of the child's session")
    forwarded_at: Timestamp = Field(description="When it was passed on")
    message: Text = Field(description="The text that was passed on")
    operator_visible: bool = Field(description="Whether the operator can see it")
    presentation: Literal["direct", "relayed", "placeholder"] = Field(
        default="relayed", description="Whether it is the result itself, a retelling, or a stand-in"
    )
    channel: Label | None = Field(default=None, description="Channel it went to")


class SubagentResultNotForwardedPayload(Model):
    """A child's result is there but did not reach the operator in time."""

    run_id: Identifier = Field(description="Id of the dispatch")
    child_session_key: Identifier = Field(description="Stable key of the child's session")
    completion_received_at: Timestamp = Field(description="When the result was received")
    forward_due_at: Timestamp = Field(description="When it should have been visible")
    result_source: ResultSource | None = Field(
        default=None, description="How the result was obtained, if known"
    )
    recovery_action: Text | None = Field(default=None, description="What was tried to recover it")
    recovery_attempts: Count = Field(default=0, description="How often recovery was tried")


class SilenceTimeoutPayload(Model):
    """The operator has seen nothing for too long."""

    silent_since: Timestamp = Field(description="The last visible sign of the task")
    timeout_s: Positive = Field(description="The silence allowed, in seconds")


class WatchdogFiredPayload(Model):
    """A watch over the task found an obligation unmet."""

    watchdog: Label = Field(description="Name of the watch")
    condition: Literal[
        "checkpoint_overdue",
        "silence",
        "subagent_overdue",
        "promised_followup_due",
        "heartbeat_lost",
        "session_condition",
    ] = Field(description="What it found")
    fired_at: Timestamp = Field(description="When it fired")
    due_at: Timestamp | None = Field(default=None, description="When the obligation was due")
    run_id: Identifier | None = Field(default=None, description="The child run concerned")
    detail: Text | None = Field(
        default=None, description="The obligation, such as what was promised"
    )
    occurrence: Positive = Field(default=1, description="How often it fired for this obligation")


class OperatorReviewRequestedPayload(Model):
    """Somebody asks the operator to look."""

    request_id: Identifier = Field(description="Id of the request")
    requested_by: Literal["agent", "policy", "operator"] = Field(description="Who asks")
    question: Text = Field(description="What the operator is asked")
    blocking: bool = Field(description="Whether the task waits for the answer")
    reason: Text | None = Field(default=None, description="Why it is asked")
    claim: Claim | None = Field(default=None, description="The claim to be judged")
    policy_id: Identifier | None = Field(default=None, description="The rule that asked for it")
    respond_by: Timestamp | None = Field(default=None, description="When an answer is needed")
    evidence_ids: Annotated[tuple[Identifier, ...], Field(max_length=MAX_ITEMS)] = Field(
        default=(), description="Evidence to look at"
    )


class ReportAnchorMissingPayload(Model):
    """Work was about to be dispatched without a place to report to."""

    dispatch_kind: Literal["task", "subagent"] = Field(description="What was to be dispatched")
    detected_at: Timestamp = Field(description="When it was noticed")
    run_id: Identifier | None = Field(default=None, description="The dispatch concerned")
    child_session_key: Identifier | None = Field(default=None, description="The child concerned")
    expected_channel: Label | None = Field(default=None, description="Where an anchor was expected")
    detail: Text | None = Field(default=None, description="More about it")


class ForcedOperatorUpdatePayload(Model):
    """An update was made because a decision demanded it."""

    policy_id: Identifier = Field(description="The rule that demanded it")
    source_event_id: Identifier = Field(description="The event that made the rule fire")
    message: Text = Field(description="The update's text")
    operator_visible: bool = Field(description="Whether the operator can see it")
    structure: CheckpointStructure | None = Field(
        default=None, description="The five checkpoint answers, where given"
    )
    decision_record_id: Identifier | None = Field(
        default=None, description="The decision record that demanded it"
    )
    channel: Label | None = Field(default=None, description="Channel it went to")
