"""Calls that people are asked about: what becomes of one against which nothing stands but policies that ask.

Every policy has been judged before. What people said stands elsewhere, is read only where a request waits for it, and
is verified by whoever reads it; it is believed here only about the very request that the session's own log holds.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pydantic import ValidationError

from lictor_guard.facts.approval_facts import (
    ASKING,
    AskedCall,
    Asking,
    CallRequest,
    asked_name,
    request_name,
)
from lictor_guard.facts.fact import Facts
from lictor_guard.facts.part_memory import plain
from lictor_guard.facts.session_facts import IDENTITY, CallSeen, Identity
from lictor_guard.log.approval_fold import call_signature, micros
from lictor_guard.plugins.tool_call import Call
from lictor_guard.session.asking_limits import too_many
from lictor_guard.session.call_files import are_as_shown
from lictor_guard.session.call_requests import (
    MAX_ASKS,
    PolicyAsk,
    ask_hashes,
    call_request,
    request_hash,
    same_people,
)
from lictor_guard.session.tool_gate import id_used
from lictor_guard.text.wording import beyond_agent
from lictor_schema.approvals.call_approval import (
    CallApprovalRequest,
    CallPermission,
    resources_hash,
)
from lictor_schema.core.canonical_json import CanonicalError
from lictor_schema.sessions.session_questions import (
    ApprovalStanding,
    CallApproval,
    CallAsk,
    Denial,
    Params,
)

WAITING = "lictor.approval.waiting"
REJECTED = "lictor.approval.rejected"
EDITED = "lictor.approval.edited"
EXPIRED = "lictor.approval.expired"
UNREADABLE = "lictor.approval.unreadable"
UNASKABLE = "lictor.approval.unaskable"
_MAX_TOLD = 4000


@dataclass(frozen=True, kw_only=True)
class ReadApproval:
    """How a request stands where people decide, as verified by whoever read it."""

    standing: ApprovalStanding | None
    """None where that can't be told; `problem` says why."""
    request: CallApprovalRequest | None = None
    """The request as it stands there."""
    signed: tuple[str, ...] = ()
    """The signed decisions of those who approved it."""
    reusable: bool = False
    params: Params | None = None
    """Other parameters, with which it was approved."""
    guidance: str | None = None
    decided_by: tuple[str, ...] = ()
    may_ask_again: bool = False
    until: str | None = None
    """Until when it may be used, once it is approved."""
    settled_at: str | None = None
    """Until when people were waited for."""
    problem: str | None = None
    """Why nothing that stands there lets the call be made; None where what stands there says it."""


Known = Mapping[str, ReadApproval | None]
"""The requests whose facts were loaded, by id; None for one that was not read where people decide."""


@dataclass(frozen=True)
class Unsettled:
    """In place of an answer: what must be known of a call that people are asked about."""

    request_id: str | None = None
    """The request that stands for it; None while it is not known whether there is one."""
    read: bool = False
    """Whether it must be read where people decide; else its facts are enough."""

    def beyond(self, known: Known | None, read: ReadApproval | None) -> Known:
        """What is known with it."""
        more = {} if self.request_id is None else {self.request_id: read}
        return {**(known or {}), **more}


@dataclass(frozen=True)
class Ask:
    """People are asked, or still asked."""

    approval: CallApproval
    new: CallApprovalRequest | None = None
    """The request, where it is made by this."""
    replaces: str | None = None
    """The request that waited in its place."""
    note: str | None = None
    """What whoever waits should know."""


@dataclass(frozen=True)
class Refuse:
    """It is denied."""

    denial: Denial
    approval: CallApproval | None = None
    is_known: bool = False
    """Whether the session's log says so of the request already."""

    @property
    def recorded(self) -> CallApproval | None:
        """What the entry says of the request: other parameters once, where they come to stand for a call."""
        if self.approval is None or not self.is_known:
            return self.approval
        return self.approval.model_copy(update={"params": None})


@dataclass(frozen=True)
class Permit:
    """It may be made, because people said so."""

    approval: CallApproval
    permission: CallPermission | None
    """None where it was used for this very call before."""


AskVerdict = Unsettled | Ask | Refuse | Permit


@dataclass(frozen=True)
class AskedQuestion:
    """A call against which nothing stands but policies that ask, and what is known of it."""

    call: Call
    asks: Sequence[PolicyAsk]
    facts: Facts
    identity: Identity
    mark: CallSeen | None
    now_us: int
    known: Known

    def request(self, request_id: str) -> CallRequest | None:
        """A request of this session."""
        found = self.facts.get(request_name(request_id))
        return found if isinstance(found, CallRequest) else None


def names_of_asked(call: Call, known: Known) -> frozenset[str]:
    """The facts that judging it needs: a bounded number, however many requests the session had."""
    edited = (
        asked_name(call.agent_id, call_signature(call.tool, read.params))
        for read in known.values()
        if read is not None and read.params is not None
    )
    own = asked_name(call.agent_id, call.signature)
    return frozenset((IDENTITY, ASKING, own, *map(request_name, known), *edited))


def judge_asked(asked: AskedQuestion) -> AskVerdict:
    """What becomes of it."""
    again = _made_before(asked)
    if again is not None:
        return again
    pointer = asked.facts.get(asked_name(asked.call.agent_id, asked.call.signature))
    if not isinstance(pointer, AskedCall):
        return _new(asked, None)
    request_id = pointer.request_id
    if request_id not in asked.known:
        return Unsettled(request_id)
    request = asked.request(request_id)
    if request is None or request.standing in ("expired", "cancelled"):
        return _new(asked, request_id)
    instead = request.signature != asked.call.signature
    refused = request.standing == "rejected" or (request.standing == "edited" and not instead)
    if refused:
        lasts = asked.now_us < request.expires_us and not request.may_ask_again
        return _refused(request_id, request) if lasts else _new(asked, request_id)
    if request.is_spent or not (instead or _is_about(request, asked)):
        return _new(asked, request_id)
    read = asked.known[request_id]
    return Unsettled(request_id, read=True) if read is None else _by_people(asked, request_id, read)


def denied_again(asked: AskedQuestion, request_id: str) -> Unsettled | Refuse | None:
    """The same denial for a call id that was denied because of a request; None if that does not stand any more."""
    if request_id not in asked.known:
        return Unsettled(request_id)
    request = asked.request(request_id)
    lasts = request is not None and request.standing in ("rejected", "edited", "expired")
    return _refused(request_id, request) if request is not None and lasts else None


def _made_before(asked: AskedQuestion) -> AskVerdict | None:
    """The answer for a call that was allowed under its id already: the same if it was lost, and else none that
    lets a second one be made under it, which nobody would count."""
    mark = asked.mark
    if mark is None or not mark.reserved or mark.outcome is not None:
        return None
    if mark.approval is None:
        return Refuse(id_used(asked.call, "it was allowed before anybody had to be asked about it"))
    if mark.approval not in asked.known:
        return Unsettled(mark.approval)
    request = asked.request(mark.approval)
    if (
        request is None
        or request.standing not in ("used", "edited")
        or request.agent_id != asked.call.agent_id
        or request.used_resources != resources_hash(asked.call.resources)
        or not {each.ask.policy_id for each in asked.asks} <= set(request.policies)
    ):
        return Refuse(id_used(asked.call, "another call was allowed under it"))
    if asked.now_us >= (mark.again_until_us or 0):
        why = "it was allowed a while ago, and nobody has said whether that call was made"
        return Refuse(id_used(asked.call, why))
    return Permit(_told(mark.approval, request, "approved"), None)


def _is_about(request: CallRequest, asked: AskedQuestion) -> bool:
    """Whether a request is about the call as it is now: what is asked, and the files that it names."""
    now = ask_hashes(each.ask for each in asked.asks)
    return set(now) <= set(request.asks) and request.resources_hash == resources_hash(
        asked.call.resources
    )


def _by_people(asked: AskedQuestion, request_id: str, read: ReadApproval) -> AskVerdict:
    request = asked.request(request_id)
    assert request is not None
    is_over = asked.now_us >= request.expires_us
    if read.request is not None and request_hash(read.request) != request.request_hash:
        other = "what people decided on is another request than the one in this session's log"
        read = ReadApproval(standing="waiting", problem=other)
    match read.standing:
        case "approved":
            return _approved(asked, request_id, request, read)
        case "edited" if read.params is not None:
            if call_signature(asked.call.tool, read.params) == asked.call.signature:
                return _approved(asked, request_id, request, read)
            if request.signature == asked.call.signature:
                return _refused(request_id, request, read)
            return _waits(request_id, request, read, "it was approved with other parameters")
        case "rejected":
            return _refused(request_id, request, read)
        case "expired":
            reused = request.used_by is not None
            return _new(asked, request_id) if reused else _late(request_id, request, read.problem)
        case "cancelled" | "stale":
            return _new(asked, request_id)
        case None if is_over:
            why = read.problem or "what people said can't be read"
            return Refuse(_denial(UNREADABLE, why, beyond_agent("see `lictor doctor`")))
        case _ if is_over:
            return _new(asked, request_id) if request.used_by else _late(request_id, request)
        case _:
            return _waits(request_id, request, read, read.problem)


def _approved(
    asked: AskedQuestion, request_id: str, request: CallRequest, read: ReadApproval
) -> AskVerdict:
    found = read.request
    if found is None or not read.signed:
        return _waits(request_id, request, read, "nothing shows who approved it")
    if read.until is None or asked.now_us >= micros(read.until):
        unused = f"the approval was good until {read.until}, and was not used"
        return _new(asked, request_id) if request.used_by else _late(request_id, request, unused)
    edited = read.params is not None
    covers = same_people if edited else _same_ask
    if not all(any(covers(each.ask, one) for one in found.asks) for each in asked.asks):
        return _new(asked, request_id)
    if edited and not are_as_shown(asked.call, found):
        return _new(asked, request_id)
    # What people may let pass for more than once is up to every policy that asked.
    reusable = read.reusable and not edited and all("session" in e.remember for e in found.asks)
    permission = CallPermission(
        request=found,
        signed=read.signed,
        reusable=reusable,
        settled_at=read.settled_at,
        until=read.until,
    )
    told = _told(request_id, request, "approved", read)
    return Permit(told.model_copy(update={"expires_at": read.until}), permission)


def _same_ask(ask: CallAsk, approved: CallAsk) -> bool:
    return ask == approved


def _new(asked: AskedQuestion, replaced: str | None) -> Ask | Refuse:
    """A new request, in place of the one that stood for the call."""
    found = asked.facts.get(ASKING)
    asking = found if isinstance(found, Asking) else Asking()
    against = too_many(asking, asked.asks, replaced, asked.now_us)
    if against is not None:
        return Refuse(_denial(*against))
    if len(asked.asks) > MAX_ASKS:
        why = f"{len(asked.asks)} policies ask people about this call, {MAX_ASKS} at most may"
        return Refuse(_denial(UNASKABLE, why, beyond_agent("let fewer policies ask")))
    try:
        request = call_request(
            asked.call, asked.asks, asked.identity, asking.asked + 1, asked.now_us
        )
    except (CanonicalError, ValidationError) as error:
        why = f"people can't be asked about this call: {error}"
        return Refuse(_denial(UNASKABLE, why, "give it parameters that can be written as JSON"))
    told = CallApproval(
        request_id=request.request_id, standing="waiting", expires_at=request.expires_at
    )
    old = None if replaced is None else asked.request(replaced)
    waited = old is not None and old.standing == "waiting"
    return Ask(told, request, replaces=replaced if waited else None)


def _waits(request_id: str, request: CallRequest, read: ReadApproval, note: str | None) -> Ask:
    return Ask(_told(request_id, request, "waiting", read), note=note)


def _late(request_id: str, request: CallRequest, why: str | None = None) -> Refuse:
    nobody = f"nobody decided about this call until {request.expires_at}"
    again = "make the call again to ask once more, if it is still needed"
    return Refuse(_denial(EXPIRED, why or nobody, again), _told(request_id, request, "expired"))


def _refused(request_id: str, request: CallRequest, read: ReadApproval | None = None) -> Refuse:
    """What people said, or what the session knows of it."""
    standing = read.standing if read is not None and read.standing else request.standing
    if standing == "expired":
        return _late(request_id, request)
    if standing == "edited":
        told = _told(request_id, request, "edited", read)
        why = told.guidance or "it is approved with other parameters"
        remedy = "call the tool with exactly the parameters that the answer names"
        denial = _denial(EDITED, f"A person wants this call otherwise: {why}", remedy)
        return Refuse(denial, told, is_known=read is None)
    told = _told(request_id, request, "rejected", read)
    why = told.guidance or "no reason was given"
    remedy = "do what the reason says; the same call stays denied"
    if told.may_ask_again:
        remedy = "do what the reason says; the same call may be asked about again"
    return Refuse(_denial(REJECTED, f"A person rejected this call: {why}", remedy), told)


def _told(
    request_id: str,
    request: CallRequest,
    standing: ApprovalStanding,
    read: ReadApproval | None = None,
) -> CallApproval:
    said = request if read is None else read
    again = standing == "rejected" and said.may_ask_again
    return CallApproval(
        request_id=request_id,
        standing=standing,
        expires_at=request.expires_at,
        guidance=said.guidance,
        decided_by=said.decided_by,
        params=said.params if standing == "edited" else None,
        may_ask_again=True if again else None,
        settled_at=None if read is None or standing == "waiting" else read.settled_at,
    )


def _denial(policy_id: str, reason: str, remedy: str) -> Denial:
    # What a person wrote stays as it was written.
    end = "" if reason.endswith((".", "!", "?", "…")) else "."
    return Denial(
        policy_id=policy_id,
        reason=plain(f"{reason[:1].upper()}{reason[1:]}{end}", _MAX_TOLD),
        remedy=plain(remedy, _MAX_TOLD),
    )
