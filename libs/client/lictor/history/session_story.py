"""A guarded session told from its log: what it has done so far, and each entry in a line."""

from collections import deque
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from nats.aio.client import Client

from lictor_bus.logs.session_log import read_session_entry
from lictor_bus.names import streams, subjects
from lictor_bus.wire.read import read_from
from lictor_schema.approvals.call_approval import CallApprovalRequest, CallPermission
from lictor_schema.sessions.feedback import StampedFeedback
from lictor_schema.sessions.session_log import (
    AnySessionEntry,
    ApprovalCancelled,
    CallAsked,
    CallDenied,
    CallFinished,
    CallReserved,
    FeedbackDelivered,
    FeedbackRaised,
    SessionBegun,
    SessionHalted,
    SessionResumed,
    StateKept,
    StateReset,
    StateRestored,
    StopJudged,
    UsageCounted,
    WorkGiven,
)

_AT_ONCE = 1000


async def entries(client: Client, runtime: str, session_id: str) -> AsyncIterator[AnySessionEntry]:
    """The log of a session, from its first entry on; nothing when there is no such session."""
    subject = subjects.session_log(subjects.session_key(runtime, session_id))
    sequence = 1
    while found := await read_from(client, streams.SESSIONS, subject, sequence, _AT_ONCE):
        for delivery in found:
            entry = read_session_entry(delivery)
            if entry is not None:
                yield entry
        sequence = found[-1].sequence + 1


@dataclass
class Overview:
    """What a session's log says about it."""

    last_entries: int = 10
    begun: SessionBegun | None = None
    entries: int = 0
    outcomes: dict[str, int] = field(default_factory=dict[str, int])
    """How often calls ended in each way; a denied one too, whether or not its result was reported."""
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: Decimal = Decimal(0)
    blocked_stops: int = 0
    """In a row, since the agent was last given work."""
    stop: StopJudged | None = None
    snapshots: dict[str, str] = field(default_factory=dict[str, str])
    """Their names, and when each was kept."""
    waiting: dict[str, StampedFeedback] = field(default_factory=dict[str, StampedFeedback])
    """Feedback that was raised and not delivered yet."""
    asked: dict[str, CallApprovalRequest] = field(default_factory=dict[str, CallApprovalRequest])
    """Requests to people, by id, of which the session does not know yet that they are settled."""
    last: "deque[AnySessionEntry]" = field(default_factory=deque[AnySessionEntry])
    _counted: set[str] = field(default_factory=set[str])

    def add(self, entry: AnySessionEntry) -> None:
        """The next entry."""
        self.entries += 1
        self.last.append(entry)
        if len(self.last) > self.last_entries:
            self.last.popleft()
        match entry:
            case SessionBegun():
                self.begun = entry
            case WorkGiven():
                self.blocked_stops = 0
            case CallAsked():
                self._ask(entry.request)
            case ApprovalCancelled():
                self.asked.pop(entry.approval_request, None)
            case CallDenied():
                self._count(entry.call_id, "denied")
                if entry.approval is not None:
                    self.asked.pop(entry.approval.request_id, None)
            case CallFinished():
                self._count(entry.call_id, entry.outcome)
                self._use(entry.usage)
            case UsageCounted():
                self._use(entry.usage)
            case FeedbackRaised():
                self.waiting |= {each.provider: each for each in entry.feedback}
            case FeedbackDelivered():
                # At a hook everything that waited is heard, in the words of that moment, or withdrawn.
                self.waiting.clear()
            case StopJudged():
                self.stop = entry
                self.blocked_stops = 0 if entry.allowed else entry.attempt
            case StateKept():
                self.snapshots[entry.snapshot_id] = moment(entry.at_us)
            case StateReset():
                self.waiting.clear()
            case CallReserved():
                if entry.permission is not None:
                    self.asked.pop(entry.permission.request.request_id, None)
            case StateRestored() | SessionHalted() | SessionResumed():
                pass

    def _ask(self, request: CallApprovalRequest) -> None:
        # A new request about a call takes the place of the one before.
        about = _about(request)
        self.asked = {name: each for name, each in self.asked.items() if _about(each) != about}
        self.asked[request.request_id] = request

    def _count(self, call_id: str, outcome: str) -> None:
        # The denial of a call and a report of it are one call.
        if call_id not in self._counted:
            self._counted.add(call_id)
            self.outcomes[outcome] = self.outcomes.get(outcome, 0) + 1

    def _use(self, usage: Any) -> None:
        if usage is not None:
            self.input_tokens += usage.input_tokens
            self.output_tokens += usage.output_tokens
            self.cost_usd += Decimal(usage.cost_usd or 0)


def moment(at_us: int) -> str:
    """A time of the log, in UTC, to the millisecond."""
    at = datetime.fromtimestamp(at_us / 1e6, UTC)
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def told(entry: AnySessionEntry) -> str:
    """What happened, in words."""
    match entry:
        case SessionBegun():
            until = "" if entry.deadline_us is None else f", until {moment(entry.deadline_us)}"
            return f"began by {entry.definition} {entry.version}{until}"
        case WorkGiven():
            return "was given new work"
        case CallReserved():
            by = "" if entry.permission is None else _permitted(entry.permission)
            return f"may call {entry.tool}{_files(entry)}{by}"
        case CallAsked():
            request = entry.request
            why = "; ".join(f"{each.reason} [{each.policy_id}]" for each in request.asks)
            until = f"request {request.request_id}, until {request.expires_at}"
            return f"waits for people to call {request.binding.tool} ({until}): {why}"
        case ApprovalCancelled():
            return f"waits no more for request {entry.approval_request}: {entry.why}"
        case CallDenied():
            why = "; ".join(f"{each.reason} [{each.policy_id}]" for each in entry.denials)
            return f"may not call {entry.tool}{_files(entry)}: {why}"
        case CallFinished():
            took = "" if entry.duration_ms is None else f" in {entry.duration_ms} ms"
            wrong = "" if not entry.error else f": {entry.error}"
            return f"called {entry.tool}{_files(entry)}: {entry.outcome}{took}{wrong}"
        case UsageCounted():
            used = entry.usage
            return f"used {used.input_tokens} tokens in, {used.output_tokens} out"
        case FeedbackRaised():
            return f"a timer raises {_heard(entry)}"
        case FeedbackDelivered():
            return f"hears {_heard(entry)}"
        case StopJudged():
            who = "a subagent" if entry.subagent else "it"
            verdict = "may stop" if entry.allowed else f"may not stop (blocked {entry.attempt})"
            raised = ", a person must look" if entry.escalated else ""
            bypass = f" by {entry.bypass}" if entry.bypass else ""
            return f"{who} {verdict}: {entry.status}{bypass}{raised}: {entry.reason}"
        case StateKept():
            return f"kept its state as {entry.snapshot_id}"
        case StateRestored():
            to = "a document" if entry.snapshot_id is None else entry.snapshot_id
            return f"was set back to {to}: {entry.cause}"
        case StateReset():
            return f"was reset: {entry.cause}"
        case SessionHalted():
            return f"was halted by {entry.by}: {entry.reason}"
        case SessionResumed():
            return f"was let go on by {entry.by}: {entry.reason}"


def _about(request: CallApprovalRequest) -> tuple[str, str, str]:
    binding = request.binding
    return binding.agent_id, binding.tool, binding.params_hash


def _permitted(permission: CallPermission) -> str:
    again = ", for the session" if permission.reusable else ""
    return f", as people approved (request {permission.request.request_id}{again})"


def _files(entry: CallReserved | CallDenied | CallFinished) -> str:
    names = ", ".join(each.key or each.given for each in entry.resources)
    return f" on {names}" if names else ""


def _heard(entry: FeedbackRaised | FeedbackDelivered) -> str:
    said = [f"{each.provider}: {each.summary}" for each in entry.feedback]
    failed = [f"{each.provider} failed: {each.error}" for each in entry.failures]
    taken_back = () if isinstance(entry, FeedbackRaised) else entry.withdrawn
    withdrawn = [f"{each} has nothing to say any more" for each in taken_back]
    return "; ".join(said + failed + withdrawn) or "nothing"
