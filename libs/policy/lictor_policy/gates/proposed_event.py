"""The event that an act would be, made from the question a gate is asked about it."""

from datetime import datetime
from typing import TypedDict

from lictor_policy.task.state import TaskState
from lictor_schema.core.time import from_micros
from lictor_schema.events.event import (
    Event,
    SubagentSpawned,
    TaskCheckpointSent,
    TaskClaimedComplete,
    TaskStarted,
)
from lictor_schema.events.operator_context import EvidenceRef, OperatorContext
from lictor_schema.events.payloads import (
    SubagentSpawnedPayload,
    TaskCheckpointSentPayload,
    TaskClaimedCompletePayload,
    TaskStartedPayload,
)
from lictor_schema.gates.gate import DispatchGateRequest, ReportGateRequest

_ADAPTER = "lictor-gate"

Told = ReportGateRequest | DispatchGateRequest


class _Envelope(TypedDict):
    """What the events have in common."""

    event_id: str
    runtime: str
    adapter_version: str
    agent_id: str
    task_id: str
    correlation_id: str
    timestamp: datetime
    evidence_refs: tuple[EvidenceRef, ...]
    operator_context: OperatorContext


def report_event(state: TaskState, request: ReportGateRequest) -> Event:
    """A report, or a claim of completion, as it would be reported."""
    claim = request.claim
    if claim is not None and request.told_by == "task_claimed_complete":
        return TaskClaimedComplete(
            **_of_task(state, request),
            event_type="task_claimed_complete",
            payload=TaskClaimedCompletePayload(claim=claim, message=request.message),
        )
    return TaskCheckpointSent(
        **_of_task(state, request),
        event_type="task_checkpoint_sent",
        payload=TaskCheckpointSentPayload(
            message=request.message,
            operator_visible=True,
            claim=claim,
            structure=request.structure,
            promised_followup=request.promised_followup,
            reminder_only=request.reminder_only,
        ),
    )


def spawn_event(state: TaskState, request: DispatchGateRequest, now_us: int) -> Event:
    """The dispatch of a child."""
    return SubagentSpawned(
        **_of_task(state, request),
        event_type="subagent_spawned",
        payload=SubagentSpawnedPayload(
            run_id=request.run_id or request.request_id,
            child_session_key=request.child_session_key or request.request_id,
            dispatch_at=from_micros(now_us),
            expected_by=request.expected_by,
            purpose=request.purpose,
            report_anchor=request.report_anchor,
            attempt=request.attempt,
        ),
    )


def start_event(request: DispatchGateRequest) -> Event:
    """The start of a new task."""
    anchor = request.report_anchor
    channel = request.channel or (anchor.channel if anchor is not None else "operator")
    return TaskStarted(
        **_envelope(request, request.task_id, OperatorContext(channel=channel)),
        event_type="task_started",
        payload=TaskStartedPayload(
            title=request.purpose,
            mode=request.mode,
            workflow_shape=request.workflow_shape,
            channel=channel,
            checkpoint_interval_s=request.checkpoint_interval_s,
            silence_timeout_s=request.silence_timeout_s,
            report_anchor=anchor,
            externalized_path=request.externalized_path,
            parent_task_id=request.parent_task_id,
            session_id=request.session_id,
            decision_type=request.decision_type,
        ),
    )


def _of_task(state: TaskState, request: Told) -> _Envelope:
    operator_id, channel, session_id, thread_ref, locale = state.operator
    operator = OperatorContext(
        operator_id=operator_id,
        channel=channel,
        session_id=session_id,
        thread_ref=thread_ref,
        locale=locale,
    )
    return _envelope(request, state.correlation_id, operator)


def _envelope(request: Told, correlation_id: str, operator: OperatorContext) -> _Envelope:
    return _Envelope(
        event_id=request.request_id,
        runtime=request.runtime,
        adapter_version=_ADAPTER,
        agent_id=request.agent_id,
        task_id=request.task_id,
        correlation_id=correlation_id,
        timestamp=request.requested_at,
        evidence_refs=request.evidence_refs,
        operator_context=operator,
    )
