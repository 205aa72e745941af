"""Whether a tool call may be made that people were asked about: for the gate, which believes nothing of the log.

It reads the log of the request with a parser of its own, and judges it by its own copy of the approvers' keys: whoever
writes to stream APPROVALS can keep a call from being made, and can't let one be made.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from lictor_approval.call_decisions import counted, moment
from lictor_approval.errors import ApprovalError
from lictor_approval.request_life import (
    RequestLife,
    agreed,
    folded,
    instead,
    same_params,
    use_until,
)
from lictor_approval.signed_decisions import Approvers
from lictor_schema.approvals.approval import ApprovalEntry, ApprovalState
from lictor_schema.approvals.call_approval import CallApprovalRequest
from lictor_schema.core.base_model import utc_millis
from lictor_schema.sessions.session_questions import Params

Standing = Literal[
    "waiting", "approved", "edited", "rejected", "expired", "cancelled", "stale", "broken"
]
"""`edited`: approved with other parameters; `broken`: the log says what this installation does not believe."""


@dataclass(frozen=True, slots=True)
class CallStanding:
    """How the request for a call stands at a moment."""

    standing: Standing
    until: str
    """Until when somebody may decide; once approved, until when it may be used."""
    why: str
    signed: tuple[str, ...] = ()
    """The signed decisions that let the call be made, in their order, with the delegations that they rest on."""
    reusable: bool = False
    """Whether the same call may be made again in this session."""
    params: Params | None = None
    """The parameters that the call may be made with; exactly in standing `edited`."""
    guidance: str | None = None
    """What whoever decided tells the agent: the reason of the last who did."""
    may_ask_again: bool = False
    """Whether a rejected call may be asked about again at once."""
    decided_by: tuple[str, ...] = ()
    """Who has decided so far."""
    settled_at: str | None = None
    """When people were no longer waited for, by the clock of the approval service but never later than now; None while
    they are."""

    @property
    def lifts(self) -> bool:
        """Whether a call may be made by it: with the parameters of the request, or with `params`."""
        return self.standing in ("approved", "edited")


def standing_in_log(
    request: CallApprovalRequest,
    entries: Iterable[ApprovalEntry],
    approvers: Approvers,
    now: datetime,
) -> CallStanding:
    """How a request of the session's log stands by the entries of its own; without any, it waits."""
    try:
        life = folded(entries)
    except ApprovalError as error:
        return _without(request, now, "broken", error.reason)
    if life is None:
        return _without(request, now, "waiting", "the approval service has not taken it in yet")
    if life.request.to_json() != request.to_json():
        return _without(
            request, now, "broken", "its log is about something else than the session's"
        )
    return standing(life, approvers, now)


def standing(life: RequestLife, approvers: Approvers, now: datetime) -> CallStanding:
    """How a request stands; StepRefused when it is not about a call.

    That the request is the one of the session's log is for the caller to see to, or for `standing_in_log`.
    """
    request, settled = life.call, _settled_at(life, now)
    why = life.reason or f"it is `{life.state}`"
    match life.state:
        case ApprovalState.REQUESTED | ApprovalState.ENDORSED | ApprovalState.DELEGATED:
            return _waiting(life, approvers, now)
        case ApprovalState.APPROVED:
            return _approved(life, approvers, now)
        case ApprovalState.REJECTED:
            return _rejected(life, approvers, now)
        case ApprovalState.EXPIRED:
            return CallStanding("expired", life.due, why, settled_at=settled)
        case ApprovalState.CANCELLED:
            return CallStanding("cancelled", request.expires_at, why, settled_at=settled)
        case ApprovalState.CALLING | ApprovalState.CALLED | ApprovalState.CALL_FAILED:
            found = _approved(life, approvers, now) if life.is_reusable else None
            if found is not None and (found.reusable or not found.lifts):
                return found
            return CallStanding("stale", life.due, "it was used", settled_at=settled)
        case _:
            return CallStanding("stale", request.expires_at, why, settled_at=settled)


def _settled_at(life: RequestLife, now: datetime) -> str:
    """When people were no longer waited for; the clock of the approval service is not believed beyond ours."""
    return min(life.approved_at or life.changed_at, utc_millis(now))


def _waiting(life: RequestLife, approvers: Approvers, now: datetime) -> CallStanding:
    found = counted(life.call, life.decisions, approvers, now)
    told: list[str] = []
    for each in found.progress(life.call, approvers):
        of = ", ".join(each.ask.approvers) or "the approvers"
        told.append(f"{each.missing} of {of} for {each.ask.policy_id}")
    said = (each.decision for each in found.decisions)
    by = tuple(dict.fromkeys(each.by for each in said if each.decision == "approve"))
    return _without(life.call, now, "waiting", f"it waits for {'; '.join(told)}", by=by)


def _approved(life: RequestLife, approvers: Approvers, now: datetime) -> CallStanding:
    request, settled = life.call, _settled_at(life, now)
    # What the log claims may end an approval here, and never makes or lengthens one.
    if now >= moment(life.due_once_approved):
        return _over(life.due_once_approved, settled)
    claimed = life.agreed[-1].decision
    found = counted(request, life.decisions, approvers, now, is_settled=True)
    agreeing = agreed(request, found.decisions)
    told = "; ".join(found.refused) or "too few of those whom the policies ask have approved it"
    why = f"the approval does not count here: {told}"
    if not agreeing or any(each.missing for each in found.progress(request, approvers)):
        return _without(request, now, "broken", why, settled_at=settled)
    last = agreeing[-1].decision
    params = instead(request, last)
    is_late = moment(last.decided_at) >= moment(request.expires_at)
    if is_late or not same_params(params, instead(request, claimed)):
        return _without(request, now, "broken", why, settled_at=settled)
    until = use_until(request, [each.decision for each in agreeing])
    if now >= moment(until):
        return _over(until, settled)
    by = tuple(each.decision.by for each in agreeing)
    return CallStanding(
        "approved" if params is None else "edited",
        until,
        f"{', '.join(by)} approved it",
        signed=tuple(
            each.signed
            for each in found.decisions
            if each in agreeing or each.decision.decision == "delegate"
        ),
        reusable=all(each.decision.scope == "session" for each in agreeing),
        params=params,
        guidance=last.reason,
        decided_by=by,
        settled_at=settled,
    )


def _over(until: str, settled_at: str) -> CallStanding:
    return CallStanding(
        "expired", until, f"the approval was good until {until}", settled_at=settled_at
    )


def _rejected(life: RequestLife, approvers: Approvers, now: datetime) -> CallStanding:
    request, settled, said = life.call, _settled_at(life, now), life.decision
    # No entry is `rejected` without a decision to reject.
    assert said is not None
    found = counted(request, life.decisions, approvers, now, is_settled=True)
    is_counted = bool(found.decisions) and found.decisions[-1].signed == life.signed
    may = any(each.may_fill.get(said.by) for each in found.progress(request, approvers))
    if not is_counted or not may:
        told = "; ".join(found.refused) or f"{said.by} is none of those whom the policies ask"
        why = f"the rejection does not count here: {told}"
        return _without(request, now, "broken", why, settled_at=settled)
    return CallStanding(
        "rejected",
        request.expires_at,
        f"{said.by} rejected it",
        guidance=said.reason,
        may_ask_again=said.may_ask_again is True,
        decided_by=(said.by,),
        settled_at=settled,
    )


def _without(
    request: CallApprovalRequest,
    now: datetime,
    standing: Literal["waiting", "broken"],
    why: str,
    *,
    by: tuple[str, ...] = (),
    settled_at: str | None = None,
) -> CallStanding:
    """One by which nothing may be made; once its time is up, the call may be asked about anew."""
    until = request.expires_at
    if now < moment(until):
        return CallStanding(standing, until, why, decided_by=by, settled_at=settled_at)
    late = f"nobody decided until {until}" if standing == "waiting" else why
    return CallStanding("expired", until, late, decided_by=by, settled_at=settled_at or until)
