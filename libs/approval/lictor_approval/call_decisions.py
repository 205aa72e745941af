"""Which decision about a tool call counts: for the service that keeps it, and again for the gate that relies on it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from lictor_approval.errors import StepRefused
from lictor_approval.quorum import AskProgress, asking_side, progress, seats_of
from lictor_approval.request_life import (
    ClaimedDecision,
    RequestLife,
    agreed,
    edits,
    instead,
    same_params,
)
from lictor_approval.signed_decisions import Approvers
from lictor_schema.approvals.approval import ApprovalDecision, ApprovalState
from lictor_schema.approvals.call_approval import CallApprovalRequest
from lictor_schema.core.base_model import utc_millis

MAX_DECISIONS = 64
"""So many decisions the log of one request holds; the entry that uses an approval holds them, too."""
CLOCKS_APART = timedelta(minutes=5)
"""How far the clock of whoever signs may be off."""
_LOOK_AGAIN = "look at the request again with `lictor approvals show`, and decide on what it says"


@dataclass(frozen=True, slots=True)
class Counted:
    """The decisions about a call that count at a moment."""

    decisions: tuple[ClaimedDecision, ...]
    refused: tuple[str, ...]
    """Why others don't."""

    @property
    def delegations(self) -> tuple[tuple[str, str], ...]:
        """Who named whom, in order."""
        said = (each.decision for each in self.decisions)
        return tuple((each.by, each.delegate) for each in said if each.delegate is not None)

    def progress(
        self, request: CallApprovalRequest, approvers: Approvers
    ) -> tuple[AskProgress, ...]:
        """How far the people are whom each policy asks, about the parameters that were approved last."""
        approved = [each.decision.by for each in agreed(request, self.decisions)]
        delegations = self.delegations
        return tuple(
            progress(ask, seats_of(ask, approvers, request.binding, delegations), approved)
            for ask in request.asks
        )


def opened_call_decision(
    request: CallApprovalRequest, signed: str, approvers: Approvers, now: datetime
) -> ApprovalDecision:
    """What an approver says about this call; StepRefused when it does not count now, or did not when it was signed."""
    opened = approvers.opened(signed, now)
    decision = opened.decision
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
    if decision.automatic is not None:
        raise StepRefused("no policy decides on a call", "have a person decide")
    trusted = approvers.people.by_id(opened.key.key_id)
    # What was opened was signed by one of these.
    assert trusted is not None
    side = asking_side(trusted, request.binding)
    if side is not None:
        raise StepRefused(
            f"{decision.by!r} is {side} that wants to call", "have somebody else decide"
        )
    said = moment(decision.decided_at)
    problem = trusted.problem_at(said)
    if problem is not None:
        raise StepRefused(
            f"the key {decision.by} {problem}, and the decision is of {decision.decided_at}",
            "sign with a key that was trusted then",
        )
    if said > now + CLOCKS_APART:
        raise StepRefused(
            f"the decision is of {decision.decided_at}, which lies in the future",
            "correct the clock of whoever signed it",
        )
    if said < moment(request.requested_at) - CLOCKS_APART:
        raise StepRefused(
            f"the decision is of {decision.decided_at}, before the call was asked about",
            "correct the clock of whoever signed it, and decide again",
        )
    _check_terms(request, decision)
    return decision


def _check_terms(request: CallApprovalRequest, decision: ApprovalDecision) -> None:
    if decision.scope == "session" and not all("session" in ask.remember for ask in request.asks):
        keeping = [ask.policy_id for ask in request.asks if "session" not in ask.remember]
        raise StepRefused(
            f"policy {', '.join(keeping)} lets nobody approve for the session",
            "approve it for this once",
        )
    last = latest_use(request)
    if decision.decision != "reject" and decision.expires_at > last:
        raise StepRefused(
            f"the decision would be good until {decision.expires_at}, longer than {last}",
            "sign one that is good for less time",
        )


def _check_names_its_params(
    request: CallApprovalRequest, before: Iterable[ClaimedDecision], decision: ApprovalDecision
) -> None:
    """Once somebody wants other parameters, an approval without any could mean these or those asked about."""
    if decision.decision != "approve" or decision.params is not None:
        return
    others = edits(request, before, decision.decided_at)
    if others:
        raise StepRefused(
            f"{others[-1].decision.by} wants it with other parameters, and the approval does not say which it means",
            "approve it with `--as-edited` or `--as-asked`, or reject it",
        )


def latest_use(request: CallApprovalRequest) -> str:
    """Until when a call could be made if it was approved in the last moment."""
    within = min(ask.use_within_s for ask in request.asks)
    return utc_millis(moment(request.expires_at) + timedelta(seconds=within))


def counted(
    request: CallApprovalRequest,
    decisions: Iterable[ClaimedDecision],
    approvers: Approvers,
    now: datetime,
    *,
    is_settled: bool = False,
) -> Counted:
    """Those that count now, in their order.

    A delegation has to be good when it is used: now, or, once that is settled, when the last who decided did.
    """
    opened: list[ClaimedDecision] = []
    refused: list[str] = []
    for each in decisions:
        try:
            decision = opened_call_decision(request, each.signed, approvers, now)
            _check_names_its_params(request, opened, decision)
        except StepRefused as error:
            refused.append(f"{each.decision.decision} by {each.decision.by}: {error.reason}")
            continue
        opened.append(each)
    said_at = [e.decision.decided_at for e in opened if e.decision.delegate is None]
    used_at = moment(said_at[-1]) if is_settled and said_at else now
    good_at = {"approve": now, "delegate": used_at}
    kept: list[ClaimedDecision] = []
    for each in opened:
        said = each.decision
        if said.decision in good_at and moment(said.expires_at) <= good_at[said.decision]:
            refused.append(f"{said.decision} by {said.by}: it was good until {said.expires_at}")
            continue
        kept.append(each)
    return Counted(tuple(kept), tuple(refused))


def state_after(
    life: RequestLife,
    signed: str,
    approvers: Approvers,
    now: datetime,
    clocks_apart: timedelta = CLOCKS_APART,
) -> tuple[ApprovalState, ApprovalDecision]:
    """What a decision that is handed in makes of the request; StepRefused when it does not count."""
    request = life.call
    decision = opened_call_decision(request, signed, approvers, now)
    before = counted(request, life.decisions, approvers, now)
    told = before.progress(request, approvers)
    mine = [each for each in told if each.may_fill.get(decision.by)]
    if not mine:
        raise StepRefused(
            f"{decision.by} is none of those whom the policies ask",
            "have one of them decide, or name you with `lictor approvals delegate`",
        )
    said = moment(decision.decided_at)
    if said < now - clocks_apart:
        raise StepRefused(
            f"the decision is of {decision.decided_at}, longer ago than {clocks_apart}",
            "decide again",
        )
    if decision.decision == "reject":
        return _allowed(life, ApprovalState.REJECTED), decision
    _allowed(life, ApprovalState.ENDORSED)
    if max(now, said) >= moment(request.expires_at):
        raise StepRefused(
            f"the time was up at {request.expires_at}",
            "have the call made again, so that it is asked about anew",
        )
    if moment(decision.expires_at) <= now:
        raise StepRefused(f"the decision was good until {decision.expires_at}", "decide again")
    if len(life.decisions) >= MAX_DECISIONS:
        raise StepRefused(
            f"there are {MAX_DECISIONS} decisions about it already",
            "reject it, and have the call made again",
        )
    if decision.delegate is not None:
        _check_delegation(mine, before, decision, decision.delegate, request, approvers)
        return ApprovalState.DELEGATED, decision
    _refuse_twice(request, before.decisions, decision)
    _check_names_its_params(request, life.decisions, decision)
    after = Counted((*before.decisions, ClaimedDecision(signed, decision)), ())
    missing = any(each.missing for each in after.progress(request, approvers))
    return (ApprovalState.ENDORSED if missing else ApprovalState.APPROVED), decision


def _allowed(life: RequestLife, state: ApprovalState) -> ApprovalState:
    if not life.may_become(state):
        raise StepRefused(
            f"request {life.request.request_id} is `{life.state}` already",
            "a request is decided once; have the call made again if it shall be made",
        )
    return state


def _refuse_twice(
    request: CallApprovalRequest, before: Sequence[ClaimedDecision], decision: ApprovalDecision
) -> None:
    own = [
        each.decision
        for each in before
        if each.decision.by == decision.by and each.decision.decision == "approve"
    ]
    if not own or own[-1].scope != decision.scope:
        return
    if same_params(instead(request, own[-1]), instead(request, decision)):
        raise StepRefused(
            f"{decision.by} has approved it at {own[-1].decided_at}, and counts once",
            "have another approver decide",
        )


def _check_delegation(
    mine: Sequence[AskProgress],
    before: Counted,
    decision: ApprovalDecision,
    to: str,
    request: CallApprovalRequest,
    approvers: Approvers,
) -> None:
    taker = approvers.person(to)
    if taker is None:
        raise StepRefused(
            f"{to!r} is no approver", "name one who has a key in the file of approvers"
        )
    side = asking_side(taker, request.binding)
    if side is not None:
        raise StepRefused(f"{to!r} is {side} that wants to call", "name somebody else")
    name = taker.key.name
    after = (*before.delegations, (decision.by, name))
    gained = [
        each
        for each in mine
        if set(seats_of(each.ask, approvers, request.binding, after).get(name, ()))
        - set(each.may_fill.get(name, ()))
    ]
    if all(name in each.may_fill for each in mine):
        raise StepRefused(f"{to!r} may decide already", "have them decide")
    if not gained:
        raise StepRefused(
            f"the say of {decision.by} was passed on to them, and can't be passed on again",
            "have whoever passed it on name another",
        )


def moment(text: str) -> datetime:
    """A time of a document."""
    return datetime.fromisoformat(text).astimezone(UTC)
