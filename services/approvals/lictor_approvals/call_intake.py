"""From sessions' logs to requests about tool calls: SESSIONS in, APPROVALS out.

A session's log is the authority: it says what was asked about, what was cancelled, what was used, and how that ended.
Each is taken in as often as it comes, and changes a request once. An entry that comes before the one it follows, as
after a crash, comes again later.
"""

import logging
import re
from collections.abc import Callable
from datetime import datetime, timedelta

from lictor_approval.call_decisions import CLOCKS_APART, moment
from lictor_approval.decision_validity import ran, requested, withdrawn
from lictor_approval.errors import ApprovalError, BrokenLog
from lictor_approval.request_life import RequestLife
from lictor_approvals.request_log import RequestLog, Step
from lictor_bus.errors import MessageRefused, UnreadableEntry
from lictor_bus.fold.processor import read_or_refuse
from lictor_bus.logs.session_log import is_session_entry, read_session_entry
from lictor_bus.names import subjects
from lictor_bus.wire.delivery import Delivery
from lictor_schema.approvals.approval import ApprovalEntry, ApprovalExecution, ApprovalState
from lictor_schema.approvals.call_approval import CallApprovalRequest
from lictor_schema.core.time import from_micros
from lictor_schema.sessions.session_log import (
    AnySessionEntry,
    ApprovalCancelled,
    CallAsked,
    CallFinished,
    CallReserved,
)

log = logging.getLogger("lictor.approvals")

KINDS = (b"call_asked", b"approval_cancelled", b"call_reserved", b"call_finished")
# In an entry's JSON the quotes within a text are escaped, so this is a field and nothing else.
_KIND = re.compile(rb'^\{"kind":"([a-z_]+)"')
_ABOUT_A_REQUEST = (b'"permission":{', b'"approval_request":"')
_FORGED = "only the feedback service may publish on SESSIONS; find out who wrote this"


class EarlierIsMissing(UnreadableEntry):
    """What this entry follows was not taken in yet; it comes again, and not for ever."""


def may_concern_requests(delivery: Delivery) -> bool:
    """Whether a message of a session's log has to be read; most calls are asked about by nobody."""
    kind = _KIND.match(delivery.body)
    if kind is None or not is_session_entry(delivery):
        return True
    if kind[1] not in KINDS:
        return False
    is_use = kind[1] in (b"call_reserved", b"call_finished")
    return not is_use or any(each in delivery.body for each in _ABOUT_A_REQUEST)


class CallIntake:
    """Makes requests of calls that wait, and keeps what became of them."""

    def __init__(self, requests: RequestLog, *, now: Callable[[], datetime]) -> None:
        self._requests = requests
        self._now = now

    async def take_in(self, delivery: Delivery) -> str | None:
        """What became of one message of a session's log; None when it is about no request."""
        if not may_concern_requests(delivery):
            return None
        entry = read_or_refuse(lambda _: read_session_entry(delivery), delivery.body, _FORGED)
        if entry is None:
            return None
        key = subjects.session_key(entry.runtime, entry.session_id)
        if delivery.subject != subjects.session_log(key):
            raise MessageRefused(
                f"session {entry.session_id!r} of runtime {entry.runtime!r} is not that of subject"
                f" {delivery.subject}",
                remedy=_FORGED,
            )
        match entry:
            case CallAsked():
                return await self._asked(entry, delivery)
            case ApprovalCancelled():
                return await self._change(entry, entry.approval_request, self._cancelled(entry))
            case CallReserved() if entry.permission is not None:
                request = entry.permission.request
                _check_session(entry, request)
                return await self._change(entry, request.request_id, self._used(entry, request))
            case CallFinished() if entry.approval_request is not None:
                return await self._change(entry, entry.approval_request, self._ended(entry))
            case _:
                return None

    async def _asked(self, entry: CallAsked, delivery: Delivery) -> str:
        request = entry.request
        _check_session(entry, request)
        _check_times(entry, request, delivery)

        def step(life: RequestLife | None) -> ApprovalEntry | None:
            if life is None:
                return requested(request)
            if life.request.to_json() == request.to_json() or not life.state.is_open:
                return None
            # Each request is made here, of its session's log: somebody else wrote to its own.
            why = "its log is about something else than the session asked"
            log.error("ALARM: request %s is withdrawn: %s", request.request_id, why)
            return withdrawn(life, ApprovalState.STALE, self._now(), why)

        outcome = await self._change(entry, request.request_id, step)
        life = await self._requests.known(request.request_id)
        if life is not None and life.state.is_open:
            await self._requests.watch_the_clock(life)
        if entry.replaces is not None:
            await self._change(entry, entry.replaces, self._replaced(entry))
        return outcome

    def _replaced(self, entry: CallAsked) -> Step:
        def step(life: RequestLife | None) -> ApprovalEntry | None:
            if life is None or not _of_session(life, entry).state.is_open:
                return None
            why = f"the call is another now, and is asked about anew ({entry.request.request_id})"
            return withdrawn(life, ApprovalState.STALE, self._now(), why)

        return step

    def _cancelled(self, entry: ApprovalCancelled) -> Step:
        def step(life: RequestLife | None) -> ApprovalEntry | None:
            known = _of_session(life, entry)
            if not known.may_become(ApprovalState.CANCELLED):
                return None
            return withdrawn(known, ApprovalState.CANCELLED, self._now(), entry.why)

        return step

    def _used(self, entry: CallReserved, request: CallApprovalRequest) -> Step:
        def step(life: RequestLife | None) -> ApprovalEntry | None:
            known = _of_session(life, entry)
            if known.request.to_json() != request.to_json() or known.approved_at is None:
                log.error(
                    "ALARM: session %s used request %s, which is not approved",
                    entry.session_id,
                    request.request_id,
                )
                raise MessageRefused(
                    f"call {entry.call_id!r} was let through by request {request.request_id}, which is"
                    f" `{known.state}` and was never approved",
                    remedy="find out who let it through: the session's log holds what was signed",
                )
            if known.execution is not None:
                # The same use again; or a later one of an approval for the session, which its log tells.
                return None
            used = ApprovalExecution(
                execution_id=entry.entry_id,
                runner=entry.runtime,
                binding_hash=known.request.binding_hash,
            )
            late = None if known.state is ApprovalState.APPROVED else f"used before {known.state}"
            return ran(known, ApprovalState.CALLING, used, self._now(), late)

        return step

    def _ended(self, entry: CallFinished) -> Step:
        def step(life: RequestLife | None) -> ApprovalEntry | None:
            known = _of_session(life, entry)
            if known.execution is None:
                raise EarlierIsMissing(
                    f"call {entry.call_id!r} ended, and that it was let through by request"
                    f" {known.request.request_id} was not taken in yet"
                )
            is_ok = entry.outcome == "ok"
            state = ApprovalState.CALLED if is_ok else ApprovalState.CALL_FAILED
            if not known.may_become(state):
                return None
            why = None if is_ok else f"the call ended `{entry.outcome}`"
            return ran(known, state, known.execution, self._now(), why)

        return step

    async def _change(self, entry: AnySessionEntry, request_id: str, step: Step) -> str:
        try:
            changed = await self._requests.change(request_id, step)
        except BrokenLog as error:
            raise MessageRefused(error.reason, remedy=error.remedy) from None
        except ApprovalError as error:
            raise MessageRefused(f"{entry.kind}: {error.reason}", remedy=error.remedy) from None
        return "known" if changed.sequence is None else entry.kind


def _of_session(life: RequestLife | None, entry: AnySessionEntry) -> RequestLife:
    """The request, which is one of the entry's session."""
    if life is None:
        raise EarlierIsMissing(f"`{entry.kind}` is about a request that was not taken in yet")
    if not isinstance(life.request, CallApprovalRequest):
        raise MessageRefused(
            f"`{entry.kind}` is about request {life.request.request_id}, which is a program's",
            remedy=_FORGED,
        )
    _check_session(entry, life.request)
    return life


def _check_session(entry: AnySessionEntry, request: CallApprovalRequest) -> None:
    mine = request.binding
    # Only its agent asks about a call and makes it. How a call ended, and that nobody wants to make it any more,
    # anybody in the session may report: its log says so, and is the authority.
    is_agents = isinstance(entry, CallAsked | CallReserved)
    if (mine.runtime, mine.session_id, mine.task_id, mine.definition_hash) != (
        entry.runtime,
        entry.session_id,
        entry.task_id,
        entry.definition_hash,
    ) or (is_agents and mine.agent_id != entry.agent_id):
        raise MessageRefused(
            f"`{entry.kind}` of session {entry.session_id!r} names request {request.request_id},"
            " which is another session's, task's, agent's or definition's",
            remedy=_FORGED,
        )


def _check_times(entry: CallAsked, request: CallApprovalRequest, delivery: Delivery) -> None:
    within = timedelta(seconds=min(ask.decide_within_s for ask in request.asks))
    try:
        asked, ends = moment(request.requested_at), moment(request.expires_at)
        longest = asked + within
    except (ValueError, OverflowError) as error:
        raise MessageRefused(f"the request's times are none: {error}", remedy=_FORGED) from None
    apart = abs(asked - from_micros(entry.at_us))
    if not asked < ends <= longest or apart > CLOCKS_APART:
        raise MessageRefused(
            f"request {request.request_id} would be open from {request.requested_at} until"
            f" {request.expires_at}; its policies let people decide for {within}, and it was asked"
            f" about at {from_micros(entry.at_us)}",
            remedy=_FORGED,
        )
    if asked > delivery.stored_at + CLOCKS_APART:
        raise MessageRefused(
            f"request {request.request_id} is of {request.requested_at}, which lies in the future",
            remedy="correct the clock of the feedback service",
        )
