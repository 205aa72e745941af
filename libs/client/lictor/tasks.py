"""A governed task, as the agent that works on it sees it."""

import uuid
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal

from lictor_schema.approvals.approval import ApprovalEntry
from lictor_schema.decisions.decision import DecisionRecord
from lictor_schema.events.claim import CheckpointStructure, Claim, PromisedFollowup
from lictor_schema.events.event_types import EventType
from lictor_schema.events.evidence import Quality
from lictor_schema.events.operator_context import EvidenceRef, ExternalizedPath, ReportAnchor
from lictor_schema.gates.gate import GateAnswer, ReportedBy
from lictor_schema.proofs.proof import ProofResult
from lictor_schema.sessions.session_questions import ToolGateAnswer

if TYPE_CHECKING:
    from lictor.event_publishing import Published
    from lictor.governed_decision import GovernedDecision
    from lictor.governor import Governor
    from lictor.programs import Program
    from lictor.run_results import RunReport

ClaimTypeName = Literal["progress", "completion", "verified_completion"]
EvidenceClassName = Literal[
    "tool_output",
    "file_change",
    "verification_output",
    "decision_record",
    "external_reply",
    "runtime_artifact",
    "operator_message",
]
QualityName = Literal["none", "weak", "moderate", "strong", "decisive"]
StatusName = Literal[
    "active",
    "in_progress",
    "waiting_user",
    "paused",
    "blocked",
    "pending_verification",
    "awaiting_review",
    "failed",
    "completed",
]


class Task:
    """A handle on one task; every method that reports returns when the event is durable."""

    def __init__(
        self,
        governor: "Governor",
        task_id: str,
        correlation_id: str,
        now: Callable[[], datetime],
    ) -> None:
        self._governor = governor
        self._now = now
        self.task_id = task_id
        self.correlation_id = correlation_id

    async def checkpoint(
        self,
        message: str,
        *,
        operator_visible: bool = True,
        claim: Claim | str | None = None,
        structure: CheckpointStructure | Mapping[str, str | None] | None = None,
        promised_followup: PromisedFollowup | Mapping[str, Any] | None = None,
        reminder_only: bool = False,
        evidence_refs: Sequence[EvidenceRef | Mapping[str, str]] = (),
        event_id: str | None = None,
    ) -> "Published":
        """Report on the progress; a claim given as text is a claim of progress."""
        payload = {
            "message": message,
            "operator_visible": operator_visible,
            "claim": {"type": "progress", "text": claim} if isinstance(claim, str) else claim,
            "structure": structure,
            "promised_followup": promised_followup,
            "reminder_only": reminder_only,
        }
        return await self.emit(
            "task_checkpoint_sent", payload, evidence_refs=evidence_refs, event_id=event_id
        )

    async def attach_evidence(
        self,
        summary: str,
        *,
        refs: Sequence[EvidenceRef | Mapping[str, str]],
        quality: QualityName,
        evidence_class: EvidenceClassName = "verification_output",
        supports: Sequence[ClaimTypeName] | None = None,
        next_step: bool = False,
        evidence_id: str | None = None,
        event_id: str | None = None,
    ) -> "Published":
        """Add one piece of evidence: what it shows, where it can be inspected, what it supports.

        Without `supports` it is offered for every claim that its quality can back; an empty one offers it for none.
        """
        if supports is None:
            supports = [claim.value for claim in Quality(quality).can_support]
        item = {
            "evidence_id": evidence_id or str(uuid.uuid4()),
            "task_id": self.task_id,
            "correlation_id": self.correlation_id,
            "agent_id": self._governor.identity.agent_id,
            "class": evidence_class,
            "quality": quality,
            "summary": summary,
            "captured_at": self._now(),
            "refs": refs,
            "supports": {"claim_types": supports, "next_step": next_step},
        }
        return await self.emit("task_evidence_attached", {"items": [item]}, event_id=event_id)

    async def claim_complete(
        self,
        text: str,
        *,
        message: str | None = None,
        verified: bool = False,
        evidence_refs: Sequence[EvidenceRef | Mapping[str, str]] = (),
        event_id: str | None = None,
    ) -> "Published":
        """Say that the task is done; `message` is what the operator would read."""
        claim = {"type": "verified_completion" if verified else "completion", "text": text}
        return await self.emit(
            "task_claimed_complete",
            {"claim": claim, "message": text if message is None else message},
            evidence_refs=evidence_refs,
            event_id=event_id,
        )

    async def change_status(
        self,
        to_status: StatusName,
        reason: str,
        *,
        from_status: StatusName | None = None,
        claim: Claim | None = None,
        decided_by: str | None = None,
        event_id: str | None = None,
    ) -> "Published":
        """Report that the task's status moves; `decided_by` names the operator who decided it."""
        payload = {
            "from_status": from_status,
            "to_status": to_status,
            "reason": reason,
            "claim": claim,
            "decided_by": decided_by,
        }
        return await self.emit("task_status_changed", payload, event_id=event_id)

    async def emit(
        self,
        event_type: EventType,
        payload: Mapping[str, Any],
        *,
        evidence_refs: Sequence[EvidenceRef | Mapping[str, str]] = (),
        event_id: str | None = None,
    ) -> "Published":
        """Report any canonical event of this task; the envelope is filled in here."""
        identity = self._governor.identity
        return await self._governor.publish(
            {
                "event_id": event_id or str(uuid.uuid4()),
                "event_type": event_type,
                "runtime": identity.runtime,
                "adapter_version": identity.adapter_version,
                "agent_id": identity.agent_id,
                "task_id": self.task_id,
                "correlation_id": self.correlation_id,
                "timestamp": self._now(),
                "payload": payload,
                "evidence_refs": evidence_refs,
                "operator_context": identity.operator,
            }
        )

    def decisions(self) -> AsyncGenerator[DecisionRecord, None]:
        """Every decision on this task, from its first, as they are made."""
        return self._governor.decisions(self.task_id, since_start=True)

    async def decision_on(
        self, event: "Published | str", timeout_s: float = 10.0
    ) -> DecisionRecord:
        """The decision on one event of this task."""
        return await self._governor.decision_on(event, task_id=self.task_id, timeout_s=timeout_s)

    async def may(
        self, tool: str, params: Mapping[str, Any], *, timeout_s: float = 2.0
    ) -> ToolGateAnswer:
        """May this tool be called for this task? No answer is a denial."""
        return await self._governor.may(tool, params, task_id=self.task_id, timeout_s=timeout_s)

    async def may_report(
        self,
        message: str,
        *,
        claim: Claim | Mapping[str, Any] | None = None,
        structure: CheckpointStructure | Mapping[str, str | None] | None = None,
        promised_followup: PromisedFollowup | Mapping[str, Any] | None = None,
        reminder_only: bool = False,
        event_type: ReportedBy | None = None,
        evidence_refs: Sequence[EvidenceRef | Mapping[str, str]] = (),
        timeout_s: float = 2.0,
    ) -> GateAnswer:
        """May this message about the task be shown to the operator? No answer is a denial.

        `event_type` is the event that will tell it: `task_checkpoint_sent` (`checkpoint`) or `task_claimed_complete`
        (`claim_complete`). Left out, nothing but a completion claim is judged as the latter.
        """
        return await self._governor.may_report(
            message,
            task_id=self.task_id,
            claim=claim,
            structure=structure,
            promised_followup=promised_followup,
            reminder_only=reminder_only,
            event_type=event_type,
            evidence_refs=evidence_refs,
            timeout_s=timeout_s,
        )

    async def may_dispatch(
        self,
        purpose: str,
        *,
        mode: Literal["interactive", "silent"] = "interactive",
        report_anchor: ReportAnchor | Mapping[str, Any] | None = None,
        externalized_path: ExternalizedPath | Mapping[str, Any] | None = None,
        child_session_key: str | None = None,
        run_id: str | None = None,
        expected_by: datetime | None = None,
        attempt: int = 1,
        evidence_refs: Sequence[EvidenceRef | Mapping[str, str]] = (),
        timeout_s: float = 2.0,
    ) -> GateAnswer:
        """May the task dispatch this subagent? No answer is a denial."""
        return await self._governor.may_dispatch(
            purpose,
            task_id=self.task_id,
            mode=mode,
            report_anchor=report_anchor,
            externalized_path=externalized_path,
            child_session_key=child_session_key,
            run_id=run_id,
            expected_by=expected_by,
            attempt=attempt,
            evidence_refs=evidence_refs,
            timeout_s=timeout_s,
        )

    def decision(self, *, timeout_s: float = 2.0) -> "GovernedDecision":
        """The decision of this task under the envelope of its type: `async with task.decision() as decision`."""
        return self._governor.decision(self.task_id, timeout_s=timeout_s)

    async def prove(
        self, *programs: "Program | str", timeout_s: float = 120.0
    ) -> list[ProofResult]:
        """What the prover finds about programs that are to run in this task; only `proved` may."""
        return await self._governor.prove(
            *programs,
            task_id=self.task_id,
            correlation_id=self.correlation_id,
            timeout_s=timeout_s,
        )

    async def approval(self, proved: ProofResult, timeout_s: float = 600.0) -> ApprovalEntry:
        """What was decided about a proved program; NotInTime when nothing was. Only `approved` may run."""
        return await self._governor.approval(proved, timeout_s=timeout_s)

    async def result(self, request: ApprovalEntry | str, timeout_s: float = 600.0) -> "RunReport":
        """What became of an approved program: what it returned, each call with its result, or why it failed."""
        return await self._governor.result(request, timeout_s=timeout_s)

    async def sealed(self, timeout_s: float = 30.0) -> bytes:
        """The seal bundle of this task once it is closed."""
        return await self._governor.sealed(self.task_id, timeout_s=timeout_s)
