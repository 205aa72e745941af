"""How entries change what a session knows of the calls that people were asked about."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from lictor_guard.facts.approval_facts import (
    ASKING,
    AskedCall,
    Asking,
    CallRequest,
    Pauses,
    TakenBack,
    WaitingRequest,
    asked_name,
    request_name,
)
from lictor_guard.facts.fact import Changes, Fact, Facts
from lictor_guard.facts.session_facts import IDENTITY, Identity
from lictor_guard.log.deadline_pauses import put_off, with_pauses
from lictor_guard.plugins.tool_call import Call
from lictor_guard.session.call_requests import ask_hashes, request_hash
from lictor_schema.approvals.call_approval import (
    CallApprovalRequest,
    resources_hash,
)
from lictor_schema.core.time import SECOND_US, to_micros
from lictor_schema.sessions.session_log import (
    AnySessionEntry,
    ApprovalCancelled,
    CallAsked,
    CallDenied,
    CallReserved,
)
from lictor_schema.sessions.session_questions import CallApproval

ANSWERED_AGAIN_US = 60 * SECOND_US
_ENDED = ("rejected", "expired", "cancelled")


def micros(text: str) -> int:
    """A moment as text in microseconds since 1970."""
    return to_micros(datetime.fromisoformat(text))


def asked_signature(request: CallApprovalRequest) -> str:
    """The signature of the call that a request is about."""
    return call_signature(request.binding.tool, request.params)


def edited_signature(tool: str, approval: CallApproval) -> str | None:
    """The signature of the call that was approved in place of another; None where none was."""
    edited = approval.standing == "edited" and approval.params is not None
    return call_signature(tool, approval.params or {}) if edited else None


def approval_names(entry: AnySessionEntry) -> frozenset[str]:
    """The facts about requests that folding an entry needs; none for most entries."""
    match entry:
        case CallAsked():
            request = entry.request
            asked = asked_name(request.binding.agent_id, asked_signature(request))
            return frozenset((IDENTITY, ASKING, asked))
        case ApprovalCancelled():
            return frozenset((IDENTITY, ASKING, request_name(entry.approval_request)))
        case CallReserved() if entry.permission is not None:
            return frozenset((IDENTITY, ASKING, request_name(entry.permission.request.request_id)))
        case CallDenied() if entry.approval is not None:
            own = names_of_refusal(entry.agent_id, entry.tool, entry.approval)
            return frozenset((IDENTITY, ASKING, *own))
        case _:
            return frozenset()


def names_of_refusal(agent_id: str, tool: str, approval: CallApproval) -> tuple[str, ...]:
    """The request that people refused, and what stands for the call that they approved in place of it."""
    edited = edited_signature(tool, approval)
    instead = () if edited is None else (asked_name(agent_id, edited),)
    return request_name(approval.request_id), *instead


def fold_asked(entry: CallAsked, at_us: int, facts: Facts) -> Changes:
    """A call waits for people. What was asked about the same call before stands for it no longer."""
    request = entry.request
    name = request_name(request.request_id)
    asked = asked_name(request.binding.agent_id, asked_signature(request))
    replaced = _pointed_to(facts, asked)
    asking = _taken_back(_asking(facts), replaced, at_us)
    if request.binding.number <= asking.asked:
        # It stands in the log twice.
        return {}
    expires_us = micros(request.expires_at)
    waiting = _without(asking, replaced)
    waiting[request.request_id] = WaitingRequest(
        policies=tuple(each.policy_id for each in request.asks),
        expires_us=expires_us,
        # Where one of those who ask wants the time to run, it runs.
        pauses_deadline=all(each.pauses_deadline for each in request.asks),
        since_us=at_us,
    )
    number = request.binding.number
    return {
        asked: AskedCall(request_id=request.request_id),
        name: CallRequest(
            request_hash=request_hash(request),
            agent_id=request.binding.agent_id,
            signature=asked_signature(request),
            policies=tuple(each.policy_id for each in request.asks),
            asks=ask_hashes(request.asks),
            resources_hash=request.binding.resources_hash,
            expires_at=request.expires_at,
            expires_us=expires_us,
        ),
        **_waits_now(
            asking.model_copy(update={"asked": number}), _open(waiting, at_us), at_us, at_us, facts
        ),
    }


def fold_used(entry: CallReserved, at_us: int, facts: Facts) -> Changes:
    """A call is going to be made by an approval."""
    permission = entry.permission
    if permission is None:
        return {}
    name = request_name(permission.request.request_id)
    known = facts.get(name)
    if not isinstance(known, CallRequest):
        return {}
    used = {
        # A request that was approved with other parameters stays denied as it was asked; and what has ended since stays
        # ended where an entry stands in the log twice.
        "standing": "used" if known.standing == "waiting" else known.standing,
        "used_by": entry.call_id,
        "used_resources": resources_hash(entry.resources),
        "reusable": permission.reusable,
    }
    return {
        name: known.model_copy(update=used),
        **_settled([permission.request.request_id], at_us, facts, permission.settled_at),
    }


def fold_refused(entry: CallDenied, at_us: int, facts: Facts) -> Changes:
    """People did not let a call be made, or not as it was; the time was up, or it is denied for that again."""
    approval = entry.approval
    if approval is None:
        return {}
    name = request_name(approval.request_id)
    known = facts.get(name)
    if not isinstance(known, CallRequest) or known.is_spent or known.standing in _ENDED:
        return {}
    if approval.standing not in ("rejected", "edited", "expired"):
        return {}
    if approval.standing == known.standing:
        # Other parameters stand for a call once: it may have been asked about anew.
        return {}
    said = {
        "standing": approval.standing,
        "guidance": approval.guidance,
        "decided_by": approval.decided_by,
        "may_ask_again": approval.may_ask_again is True,
        "params": approval.params,
    }
    settled, bound = [approval.request_id], dict[str, Fact | None]()
    edited = edited_signature(entry.tool, approval)
    if edited is not None:
        asked = asked_name(entry.agent_id, edited)
        # What that call was asked about itself is not waited for any more.
        settled.append(_pointed_to(facts, asked) or "")
        bound[asked] = AskedCall(request_id=approval.request_id)
    return {
        **bound,
        name: known.model_copy(update=said),
        **_settled(settled, at_us, facts, approval.settled_at),
    }


def fold_cancelled(entry: ApprovalCancelled, at_us: int, facts: Facts) -> Changes:
    """The agent wants to make a call no more."""
    name = request_name(entry.approval_request)
    known = facts.get(name)
    if not isinstance(known, CallRequest) or known.is_spent:
        return {}
    asking = _taken_back(_asking(facts), entry.approval_request, at_us)
    return {
        name: known.model_copy(update={"standing": "cancelled"}),
        **_waits_now(asking, _without(asking, entry.approval_request), at_us, at_us, facts),
    }


def permitted_by(entry: CallReserved) -> Mapping[str, Any]:
    """What is marked of a call that people allowed: by which request, and until when the same answer is given again.

    Whoever lost the answer asks again within seconds. Later it may be somebody who has made the call, and forgot.
    """
    permission = entry.permission
    if permission is None:
        return {}
    until_us = entry.at_us + ANSWERED_AGAIN_US
    if permission.until is not None:
        until_us = min(until_us, micros(permission.until))
    return {"approval": permission.request.request_id, "again_until_us": until_us}


def _settled(
    requests: Sequence[str], at_us: int, facts: Facts, settled_at: str | None = None
) -> Changes:
    """Some requests are not waited for any more, since a moment that nobody was told of before."""
    asking = _asking(facts)
    waiting = _without(asking, *requests)
    settled_us = at_us if settled_at is None else micros(settled_at)
    return _waits_now(asking, waiting, at_us, settled_us, facts)


def _taken_back(asking: Asking, request_id: str | None, at_us: int) -> Asking:
    """The same with one more request that was taken back, if people may still have been at it."""
    request = asking.waiting.get(request_id or "")
    if request is None or at_us >= request.expires_us:
        return asking
    counts = dict(asking.taken_back or {})
    for policy in request.policies:
        before = counts.get(policy)
        if before is not None and at_us < before.until_us:
            counts[policy] = before.model_copy(update={"count": before.count + 1})
        else:
            since_us = at_us if request.since_us is None else request.since_us
            until_us = at_us + request.expires_us - since_us
            counts[policy] = TakenBack(count=1, until_us=until_us)
    return asking.model_copy(update={"taken_back": counts})


def _waits_now(
    asking: Asking, waiting: Mapping[str, WaitingRequest], at_us: int, settled_us: int, facts: Facts
) -> Changes:
    """What waits from now on, and the deadline by it."""
    pauses = with_pauses(asking.pauses or Pauses(), asking.waiting, waiting, at_us, settled_us)
    identity = facts.get(IDENTITY)
    known = {"waiting": dict(waiting), "pauses": None if pauses == Pauses() else pauses}
    now: Changes = {ASKING: asking.model_copy(update=known)}
    if not isinstance(identity, Identity) or identity.deadline_us is None:
        return now
    return {**now, IDENTITY: put_off(identity, pauses, waiting, at_us)}


def _open(waiting: Mapping[str, WaitingRequest], at_us: int) -> dict[str, WaitingRequest]:
    return {name: each for name, each in waiting.items() if each.expires_us > at_us}


def _without(asking: Asking, *requests: str | None) -> dict[str, WaitingRequest]:
    return {name: each for name, each in asking.waiting.items() if name not in requests}


def _pointed_to(facts: Facts, asked: str) -> str | None:
    found = facts.get(asked)
    return found.request_id if isinstance(found, AskedCall) else None


def _asking(facts: Facts) -> Asking:
    found = facts.get(ASKING)
    return found if isinstance(found, Asking) else Asking()


def call_signature(tool: str, params: Mapping[str, Any]) -> str:
    """The signature of a call of a tool with these parameters."""
    return Call(
        call_id="", tool=tool, params=params, resources=(), agent_id="", spec=None
    ).signature
