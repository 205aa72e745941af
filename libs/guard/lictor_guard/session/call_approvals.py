"""The entries and answers about calls that people are asked about, and the question that cancels a request."""

from lictor_guard.facts.approval_facts import ASKING, CallRequest, request_name
from lictor_guard.facts.fact import Facts
from lictor_guard.facts.session_facts import IDENTITY, TALLY
from lictor_guard.log.entry_stamp import Fields, Stamp, done, identity_of, refused
from lictor_guard.session import tool_gate
from lictor_guard.session.asking import (
    WAITING,
    Ask,
    AskedQuestion,
    AskVerdict,
    Permit,
    Refuse,
    Unsettled,
)
from lictor_schema.sessions.session_log import (
    ApprovalCancelled,
    CallAsked,
    CallDenied,
    CallReserved,
)
from lictor_schema.sessions.session_questions import (
    CancelApprovalRequest,
    Denial,
    SessionAnswer,
    ToolGateAnswer,
    ToolGateRequest,
)

APPROVED = "lictor.approval.approved"
UNKNOWN_REQUEST = "lictor.approval.unknown"
ASK_AGAIN_MS = 2_000
"""When somebody who waits should look again: people decide in seconds at the earliest."""
_AGAIN = "wait, and make the same call again: it is made as soon as it is approved"
_OLD_CLIENT = "call again when it is approved"

CallEntry = CallDenied | CallReserved | CallAsked


class CallApprovals:
    """Makes what verdicts on asked calls lead to."""

    def __init__(self, stamp: Stamp) -> None:
        self._stamp = stamp

    def outcome(
        self,
        request: ToolGateRequest,
        asked: AskedQuestion,
        verdict: AskVerdict,
        denied_by: str | None = None,
    ) -> tuple[CallEntry | None, ToolGateAnswer | Unsettled]:
        """The entry and the answer; `denied_by` is the entry that denied this call id before."""
        match verdict:
            case Unsettled():
                return None, verdict
            case Ask():
                return self._asked(request, asked, verdict)
            case Permit():
                return self._permitted(request, asked, verdict)
            case Refuse():
                return self._denied(request, asked, verdict, denied_by)

    def names_for_cancel(self, request: CancelApprovalRequest) -> frozenset[str]:
        """The facts that cancelling a request needs."""
        return frozenset((IDENTITY, TALLY, ASKING, request_name(request.approval_request)))

    def cancel(
        self, request: CancelApprovalRequest, facts: Facts, now_us: int
    ) -> tuple[ApprovalCancelled | None, SessionAnswer]:
        """The agent does not want to make a call any more; asked again, it changes nothing."""
        identity = identity_of(facts)
        if identity is None:
            return None, SessionAnswer(**refused(request, tool_gate.unknown_session()))
        against = tool_gate.against_other_task(identity, request.task_id)
        if against:
            return None, SessionAnswer(**refused(request, against[0]))
        known = facts.get(request_name(request.approval_request))
        if not isinstance(known, CallRequest):
            return None, SessionAnswer(**refused(request, _unknown(request.approval_request)))
        if known.agent_id != request.agent_id:
            return None, SessionAnswer(**refused(request, _others(request.approval_request)))
        if known.is_spent or known.standing in ("rejected", "expired", "cancelled"):
            how = "used" if known.is_spent else known.standing
            return None, SessionAnswer(
                **done(request, f"The request does not wait any more: it is {how}.")
            )
        entry = ApprovalCancelled(
            kind="approval_cancelled",
            **self._stamp.on(request, facts, now_us),
            approval_request=request.approval_request,
            why=request.why,
            request_id=request.request_id,
        )
        return entry, SessionAnswer(**done(request, "The request is cancelled."))

    def _asked(
        self,
        request: ToolGateRequest,
        asked: AskedQuestion,
        verdict: Ask,
    ) -> tuple[CallAsked | None, ToolGateAnswer]:
        entry = None
        if verdict.new is not None:
            fields = self._stamp.on(request, asked.facts, asked.now_us)
            entry = CallAsked(
                kind="call_asked", **fields, request=verdict.new, replaces=verdict.replaces
            )
        approval = verdict.approval
        note = () if verdict.note is None else (verdict.note,)
        if not request.knows_ask:
            waits = f"Request {approval.request_id} is waiting for a person"
            reason = tool_gate.joined((waits, *note))
            denial = Denial(policy_id=WAITING, reason=reason, remedy=_OLD_CLIENT)
            return entry, self._answer(
                request,
                "deny",
                WAITING,
                reason,
                remedy=_OLD_CLIENT,
                denials=(denial,),
                approval=approval,
            )
        return entry, self._answer(
            request,
            "ask",
            asked.asks[0].ask.policy_id,
            tool_gate.joined((*(each.ask.reason for each in asked.asks), *note)),
            remedy=_AGAIN,
            approval=approval,
            retry_after_ms=ASK_AGAIN_MS,
        )

    def _permitted(
        self, request: ToolGateRequest, asked: AskedQuestion, verdict: Permit
    ) -> tuple[CallReserved | None, ToolGateAnswer]:
        entry = None
        if verdict.permission is not None:
            entry = CallReserved(
                kind="call_reserved",
                **self._stamp.on(request, asked.facts, asked.now_us),
                **_call(request),
                permission=verdict.permission,
            )
        who = ", ".join(verdict.approval.decided_by)
        reason = f"Approved by {who}." if who else "It is approved."
        return entry, self._answer(request, "allow", APPROVED, reason, approval=verdict.approval)

    def _denied(
        self,
        request: ToolGateRequest,
        asked: AskedQuestion,
        verdict: Refuse,
        denied_by: str | None,
    ) -> tuple[CallDenied | None, ToolGateAnswer]:
        denial = verdict.denial
        entry = None
        if denied_by is None:
            entry = CallDenied(
                kind="call_denied",
                **self._stamp.on(request, asked.facts, asked.now_us),
                **_call(request),
                denials=(denial,),
                approval=verdict.recorded,
            )
        return entry, self._answer(
            request,
            "deny",
            denial.policy_id,
            denial.reason,
            remedy=denial.remedy,
            denials=(denial,),
            record_id=denied_by if entry is None else entry.entry_id,
            approval=verdict.approval,
        )

    def _answer(
        self, request: ToolGateRequest, decision: str, policy_id: str, reason: str, **more: object
    ) -> ToolGateAnswer:
        fields: Fields = {
            "request_id": request.request_id,
            "decision": decision,
            "policy_id": policy_id,
            "reason": reason,
            "definition_hash": self._stamp.guarded.hash,
            **more,
        }
        return ToolGateAnswer(**fields)


def _call(request: ToolGateRequest) -> Fields:
    return {
        "call_id": request.call_id,
        "tool": request.tool,
        "params": request.params,
        "resources": request.resources,
    }


def _others(request_id: str) -> Denial:
    return Denial(
        policy_id=UNKNOWN_REQUEST,
        reason=f"Request {request_id} is about a call of another agent of this session.",
        remedy="Have that agent cancel it.",
    )


def _unknown(request_id: str) -> Denial:
    return Denial(
        policy_id=UNKNOWN_REQUEST,
        reason=f"This session asked for no request {request_id}.",
        remedy="Name the request of an answer `ask` of this session.",
    )
