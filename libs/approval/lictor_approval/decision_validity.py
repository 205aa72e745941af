"""Which decision counts, and until when: for the service that keeps it, and again for the runner that relies on it."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from lictor_approval.call_decisions import CLOCKS_APART, moment, state_after
from lictor_approval.errors import StepRefused
from lictor_approval.request_life import RequestLife
from lictor_approval.signed_decisions import Approvers, OpenedDecision
from lictor_contracts.action.judgement import one_person
from lictor_schema.approvals.approval import (
    AnyApprovalRequest,
    ApprovalDecision,
    ApprovalEntry,
    ApprovalExecution,
    ApprovalRequest,
    ApprovalState,
)
from lictor_schema.core.base_model import utc_millis
from lictor_schema.core.canonical_json import hash_bytes
from lictor_schema.core.ids import approval_entry_id

SERVICE = "approvals"
_LOOK_AGAIN = "look at the request again with `lictor approvals show`, and decide on what it says"


@dataclass(frozen=True, kw_only=True)
class ApprovalLimits:
    """How long things may take."""

    decide_within: timedelta = timedelta(hours=24)
    """From the request to the decision."""
    start_within: timedelta = timedelta(hours=1)
    """The longest an approval may be good for, from the decision on."""
    clocks_apart: timedelta = CLOCKS_APART
    """How old, or how far in the future, a decision may be when it is handed in."""


def decided(
    life: RequestLife, signed: str, approvers: Approvers, now: datetime, limits: ApprovalLimits
) -> ApprovalEntry:
    """The entry that a signed decision makes; StepRefused when it does not count."""
    state, decision = (
        _program_state_after(life, signed, approvers, now, limits)
        if isinstance(life.request, ApprovalRequest)
        else state_after(life, signed, approvers, now, limits.clocks_apart)
    )
    return ApprovalEntry(
        entry_id=approval_entry_id(
            life.request.request_id, state.value, hash_bytes(signed.encode())
        ),
        request_id=life.request.request_id,
        runtime=life.request.binding.runtime,
        state=state,
        by=decision.by,
        at=utc_millis(now),
        signed=signed,
        reason=decision.reason,
    )


def _program_state_after(
    life: RequestLife, signed: str, approvers: Approvers, now: datetime, limits: ApprovalLimits
) -> tuple[ApprovalState, ApprovalDecision]:
    opened = approvers.opened(signed, now)
    decision = opened.decision
    _check_about(life.program, opened)
    state = ApprovalState.APPROVED if decision.decision == "approve" else ApprovalState.REJECTED
    if not life.may_become(state):
        raise StepRefused(
            f"request {life.request.request_id} is `{life.state}` already",
            "a request is decided once; submit the program again if it shall run again",
        )
    if now >= moment(life.due):
        raise StepRefused(f"the time was up at {life.due}", "submit the program again")
    _check_times(decision, now, limits)
    return state, decision


def permission(life: RequestLife, approvers: Approvers, now: datetime) -> ApprovalDecision:
    """The decision by which a request may run now; StepRefused for every other request.

    Nothing of what the service has checked is believed: a runner asks this with its own copy of the approvers' keys.
    """
    request = life.program
    if life.state is not ApprovalState.APPROVED or life.signed is None:
        raise StepRefused(
            f"request {request.request_id} is `{life.state}`", "only what is approved can run"
        )
    opened = approvers.opened(life.signed, now)
    _check_about(request, opened)
    decision = opened.decision
    if decision.decision != "approve":
        raise StepRefused(f"{decision.by} rejected it", "submit the program again")
    if now >= moment(decision.expires_at):
        raise StepRefused(
            f"the approval was good until {decision.expires_at}", "submit the program again"
        )
    return decision


def withdrawn(life: RequestLife, state: ApprovalState, now: datetime, reason: str) -> ApprovalEntry:
    """The entry by which an open request becomes `expired`, `stale` or `cancelled`."""
    if not life.may_become(state):
        raise StepRefused(
            f"request {life.request.request_id} is `{life.state}`", "nothing is to be done"
        )
    return ApprovalEntry(
        entry_id=approval_entry_id(life.request.request_id, state.value),
        request_id=life.request.request_id,
        runtime=life.request.binding.runtime,
        state=state,
        by=SERVICE,
        at=utc_millis(now),
        reason=reason,
    )


def requested(request: AnyApprovalRequest) -> ApprovalEntry:
    """The entry a request begins with."""
    return ApprovalEntry(
        entry_id=approval_entry_id(request.request_id, ApprovalState.REQUESTED.value),
        request_id=request.request_id,
        runtime=request.binding.runtime,
        state=ApprovalState.REQUESTED,
        by=SERVICE,
        at=request.requested_at,
        request=request,
    )


def ran(
    life: RequestLife,
    state: ApprovalState,
    execution: ApprovalExecution,
    now: datetime,
    reason: str | None,
) -> ApprovalEntry:
    """The entry that says that what was approved begins, or how it ended."""
    if not life.may_become(state):
        raise StepRefused(
            f"request {life.request.request_id} is `{life.state}`",
            "it runs once, and only when it is approved",
        )
    return ApprovalEntry(
        entry_id=approval_entry_id(life.request.request_id, state.value, execution.execution_id),
        request_id=life.request.request_id,
        runtime=life.request.binding.runtime,
        state=state,
        by=execution.runner,
        at=utc_millis(now),
        execution=execution,
        reason=reason,
    )


def is_over(life: RequestLife, now: datetime) -> bool:
    """Whether an open request has had its time."""
    return life.state.is_open and now >= moment(life.due)


def _check_about(request: ApprovalRequest, opened: OpenedDecision) -> None:
    decision, agent = opened.decision, request.binding.agent_id
    if decision.decision == "delegate" or decision.scope is not None or decision.params is not None:
        raise StepRefused(
            "a program is approved as it is, once, by whoever signs; nobody else can be named",
            "approve or reject it",
        )
    if decision.request_id != request.request_id:
        raise StepRefused(
            f"the decision is about request {decision.request_id}, not {request.request_id}",
            _LOOK_AGAIN,
        )
    if decision.binding_hash != request.binding_hash:
        raise StepRefused(
            f"the decision is about {decision.binding_hash}; the request is about"
            f" {request.binding_hash}",
            _LOOK_AGAIN,
        )
    # A rejection takes nobody's say: an agent may always hold back its own program.
    key = opened.key
    if decision.decision == "approve" and any(
        one_person(name, agent) for name in (decision.by, key.name, key.key_id)
    ):
        raise StepRefused(
            f"{decision.by!r} is the agent that submitted the program", "have somebody else decide"
        )


def _check_times(decision: ApprovalDecision, now: datetime, limits: ApprovalLimits) -> None:
    said, until = moment(decision.decided_at), moment(decision.expires_at)
    if said > now + limits.clocks_apart:
        raise StepRefused(
            f"the decision is of {decision.decided_at}, which lies in the future",
            "correct the clock of whoever signed it",
        )
    if said < now - limits.clocks_apart:
        raise StepRefused(
            f"the decision is of {decision.decided_at}, longer ago than {limits.clocks_apart}",
            "decide again",
        )
    if until - said > limits.start_within:
        raise StepRefused(
            f"the approval would be good until {decision.expires_at}, longer than"
            f" {limits.start_within}",
            "sign one that is good for less time",
        )
    if until <= now:
        raise StepRefused(f"the approval was good until {decision.expires_at}", "decide again")
