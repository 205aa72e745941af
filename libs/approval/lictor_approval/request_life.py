r"""The life of a request, folded from its entries.

    requested -> approved -> executing -> executed, compensated, partial, in_doubt, failed
        |  \         |
        |   rejected, expired, stale

    a call:  requested <-> endorsed, delegated -> approved -> calling -> called, call_failed
                                  |                  |
                                  +------------------+-> rejected, expired, stale, cancelled

A request is decided once; an approval may be taken back until it is used. What has started can't be stopped from here,
and what has ended stays as it ended. For a call, the session's log says what was used: where that came before an
approval ended, but is recorded here after it, `executing` follows all the same. An approval for the rest of a session
may be taken back after it was used; only its first use is recorded here.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from lictor_approval.errors import BrokenLog, StepRefused
from lictor_approval.signed_decisions import claimed
from lictor_schema.approvals.approval import (
    AnyApprovalRequest,
    ApprovalDecision,
    ApprovalEntry,
    ApprovalExecution,
    ApprovalRequest,
    ApprovalState,
)
from lictor_schema.approvals.call_approval import CallApprovalRequest, params_hash
from lictor_schema.core.base_model import utc_millis
from lictor_schema.core.canonical_json import content_hash
from lictor_schema.sessions.session_questions import Params

_ENDED_OPEN = frozenset({ApprovalState.REJECTED, ApprovalState.EXPIRED, ApprovalState.STALE})
_FOLLOWS = {
    ApprovalState.REQUESTED: _ENDED_OPEN | {ApprovalState.APPROVED},
    ApprovalState.APPROVED: _ENDED_OPEN | {ApprovalState.EXECUTING},
    ApprovalState.EXECUTING: frozenset(
        {
            ApprovalState.EXECUTED,
            ApprovalState.COMPENSATED,
            ApprovalState.PARTIAL,
            ApprovalState.IN_DOUBT,
            ApprovalState.FAILED,
        }
    ),
}
_CALL_ENDED_OPEN = _ENDED_OPEN | {ApprovalState.CANCELLED}
_CALL_UNDECIDED = _CALL_ENDED_OPEN | {
    ApprovalState.ENDORSED,
    ApprovalState.DELEGATED,
    ApprovalState.APPROVED,
}
_CALL_FOLLOWS = {
    ApprovalState.REQUESTED: _CALL_UNDECIDED,
    ApprovalState.ENDORSED: _CALL_UNDECIDED,
    ApprovalState.DELEGATED: _CALL_UNDECIDED,
    ApprovalState.APPROVED: _CALL_ENDED_OPEN | {ApprovalState.CALLING},
    ApprovalState.CALLING: frozenset({ApprovalState.CALLED, ApprovalState.CALL_FAILED}),
}
_USED = (ApprovalState.CALLING, ApprovalState.CALLED, ApprovalState.CALL_FAILED)
_DECIDED_BY = {
    ApprovalState.ENDORSED: "approve",
    ApprovalState.APPROVED: "approve",
    ApprovalState.REJECTED: "reject",
    ApprovalState.DELEGATED: "delegate",
}


@dataclass(frozen=True, slots=True)
class ClaimedDecision:
    """A decision as its entry holds it. Nobody has checked its signature here."""

    signed: str
    decision: ApprovalDecision


@dataclass(frozen=True, slots=True)
class RequestLife:
    """A request as its entries leave it."""

    request: AnyApprovalRequest
    state: ApprovalState
    changed_at: str
    by: str
    decisions: tuple[ClaimedDecision, ...] = ()
    """Everything that people or policies decided about it, in order."""
    approved_at: str | None = None
    """When it became approved, by the clock of the approval service; null if it never was."""
    execution: ApprovalExecution | None = None
    reason: str | None = None

    @property
    def signed(self) -> str | None:
        """The last decision, as it was signed."""
        return self.decisions[-1].signed if self.decisions else None

    @property
    def decision(self) -> ApprovalDecision | None:
        """What the last decision says."""
        return self.decisions[-1].decision if self.decisions else None

    @property
    def program(self) -> ApprovalRequest:
        """The request, which is about a program; StepRefused for every other."""
        if not isinstance(self.request, ApprovalRequest):
            raise StepRefused(
                f"request {self.request.request_id} is about a call, not about a program",
                "name the request of a program",
            )
        return self.request

    @property
    def call(self) -> CallApprovalRequest:
        """The request, which is about a tool call; StepRefused for every other."""
        if not isinstance(self.request, CallApprovalRequest):
            raise StepRefused(
                f"request {self.request.request_id} is about a program, not about a call",
                "name the request of a call",
            )
        return self.request

    @property
    def agreed(self) -> tuple[ClaimedDecision, ...]:
        """The approvals by which it may be used."""
        return agreed(self.request, self.decisions)

    @property
    def is_reusable(self) -> bool:
        """Whether everybody approved it for the same call again, and nobody has taken that back."""
        last = self.decision
        return (
            self.approved_at is not None
            and last is not None
            and last.decision == "approve"
            and all(each.decision.scope == "session" for each in self.agreed)
        )

    @property
    def due(self) -> str:
        """Until when it is open: to be decided, or, once approved, to be used."""
        return self.due_once_approved if self.approved_at is not None else self.request.expires_at

    @property
    def due_once_approved(self) -> str:
        """Until when it may be used by the approvals that it has."""
        return use_until(self.request, [each.decision for each in self.agreed])

    def may_become(self, state: ApprovalState) -> bool:
        """Whether that state can follow."""
        if isinstance(self.request, ApprovalRequest):
            return state in _FOLLOWS.get(self.state, ())
        if state is ApprovalState.CALLING and self.state in _CALL_ENDED_OPEN:
            return self.approved_at is not None and self.execution is None
        if state is ApprovalState.REJECTED and self.state in _USED:
            return self.is_reusable
        return state in _CALL_FOLLOWS.get(self.state, ())


REQUEST_KINDS = ("program", "call")
"""What people are asked about."""


def kind_of(life: RequestLife) -> str:
    """What a request is about."""
    return "program" if isinstance(life.request, ApprovalRequest) else "call"


def use_until(request: AnyApprovalRequest, approvals: Sequence[ApprovalDecision]) -> str:
    """Until when it may be used by these approvals: no longer than each of them says, nor than policies let a call."""
    if not approvals:
        return request.expires_at
    until = min(each.expires_at for each in approvals)
    if isinstance(request, ApprovalRequest):
        return until
    within = timedelta(seconds=min(ask.use_within_s for ask in request.asks))
    last = datetime.fromisoformat(max(each.decided_at for each in approvals))
    return min(until, utc_millis(last + within))


def agreed(
    request: AnyApprovalRequest, decisions: Sequence[ClaimedDecision]
) -> tuple[ClaimedDecision, ...]:
    """The approvals that agree with the last one about the parameters: one each person, good when that was given."""
    approvals = [each for each in decisions if each.decision.decision == "approve"]
    if not approvals:
        return ()
    last = approvals[-1].decision
    wanted = instead(request, last)
    return tuple(
        each
        for each in _newest(approvals)
        if each.decision.expires_at > last.decided_at
        and same_params(instead(request, each.decision), wanted)
    )


def edits(
    request: AnyApprovalRequest, decisions: Iterable[ClaimedDecision], at: str
) -> tuple[ClaimedDecision, ...]:
    """The approvals with other parameters that stand at a moment: one each person, who said nothing else since."""
    approvals = [each for each in decisions if each.decision.decision == "approve"]
    return tuple(
        each
        for each in _newest(approvals)
        if each.decision.expires_at > at and instead(request, each.decision) is not None
    )


def _newest(approvals: Sequence[ClaimedDecision]) -> Iterable[ClaimedDecision]:
    newest = {each.decision.by: each for each in approvals}
    return (each for each in approvals if newest[each.decision.by] is each)


def instead(request: AnyApprovalRequest, decision: ApprovalDecision) -> Params | None:
    """The parameters that an approval puts in place of those asked about; None where it names these, or none."""
    params = decision.params
    if params is None or not isinstance(request, CallApprovalRequest):
        return params
    return None if params_hash(params) == request.binding.params_hash else params


def same_params(one: Params | None, other: Params | None) -> bool:
    """Whether two decisions let a call be made with the same parameters; none: those it was asked about with."""
    # Not by `==`: for Python 1, 1.0 and True are equal.
    return content_hash(one) == content_hash(other)


def folded(entries: Iterable[ApprovalEntry]) -> RequestLife | None:
    """The request after its entries; None without any; BrokenLog when they don't follow from each other."""
    life: RequestLife | None = None
    for entry in entries:
        life = after(life, entry)
    return life


def after(life: RequestLife | None, entry: ApprovalEntry) -> RequestLife:
    """The request after one more entry."""
    if life is None:
        if entry.request is None:
            raise _broken(entry, "nothing was asked for before it")
        return RequestLife(entry.request, entry.state, entry.at, entry.by)
    if entry.request_id != life.request.request_id:
        raise _broken(entry, f"the log is that of request {life.request.request_id}")
    if not life.may_become(entry.state):
        raise _broken(entry, f"it follows `{life.state}`")
    life = replace(life, state=entry.state, changed_at=entry.at, by=entry.by, reason=entry.reason)
    if entry.signed is not None:
        try:
            decision = claimed(entry.signed)
        except StepRefused as error:
            raise _broken(entry, error.reason) from None
        if decision.decision != _DECIDED_BY[entry.state]:
            raise _broken(entry, f"the decision in it is to {decision.decision}")
        life = replace(life, decisions=(*life.decisions, ClaimedDecision(entry.signed, decision)))
    if entry.state is ApprovalState.APPROVED:
        life = replace(life, approved_at=entry.at)
    if entry.execution is not None:
        life = replace(life, execution=entry.execution)
    return life


def _broken(entry: ApprovalEntry, why: str) -> BrokenLog:
    return BrokenLog(
        f"entry {entry.entry_id} of request {entry.request_id} says `{entry.state}`, but {why}",
        "ask for it again, and find out who wrote to stream APPROVALS",
    )
