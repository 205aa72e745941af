"""The tool calls that our own tool gate let through for a task: they count, whatever the agent reports.

Allowed calls are kept in GATES by task, and those that ended or were reserved stand in the logs of the sessions. A call
that stands in both is one. What can't be read is an error, so the action gate denies: nothing is taken for no calls.
"""

from collections import OrderedDict
from dataclasses import dataclass, field

from nats.aio.client import Client
from pydantic import ValidationError

from lictor_bus.concurrency import together
from lictor_bus.logs.session_log import read_session_entry
from lictor_bus.names import streams, subjects
from lictor_bus.wire.delivery import Delivery
from lictor_bus.wire.provenance import is_named
from lictor_bus.wire.read import PAGE, last_sequence, read_all
from lictor_schema.contracts.decision_log import CallsSince, DecisionBegun
from lictor_schema.core.canonical_json import CanonicalError
from lictor_schema.gates.gate_record import SessionGateRecord
from lictor_schema.sessions.session_log import CallFinished, CallReserved
from lictor_schema.sessions.session_questions import ToolGateRequest

_MAX_KNOWN = 1000
_ASK_WITHIN_S = 1.0

Session = tuple[str, str]
Call = tuple[str, str, str]
"""Runtime, session and id."""


@dataclass
class _Seen:
    """What was read for one decision, and how far."""

    episode_id: str
    calls: set[Call] = field(default_factory=set[Call])
    sessions: set[Session] = field(default_factory=set[Session])
    read: dict[str, int] = field(default_factory=dict[str, int])
    """By subject, the sequence up to which it was read."""
    until_us: int | None = None
    """What was stored later does not count."""


class SeenCalls:
    """Counts them; what was read before is not read again."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._known: OrderedDict[str, _Seen] = OrderedDict()

    async def since(self, session_id: str | None) -> CallsSince:
        """From where on the calls of a task count whose decision begins now."""
        gates, sessions = await together(
            self._last(streams.GATES, subjects.GATED.all),
            self._last(streams.SESSIONS, subjects.SESSION_LOG.all),
        )
        return CallsSince(session_id=session_id, gates_sequence=gates, sessions_sequence=sessions)

    async def until(self, begun: DecisionBegun, ended_us: int | None, until_us: int) -> int:
        """How many calls were let through for the task from its decision's begin to its end, at most up to a moment."""
        if ended_us is not None:
            until_us = min(until_us, ended_us)
        # Nothing of it is kept: what was read for a question may be later than that.
        return await self._count(_Seen(begun.episode_id, until_us=until_us), begun)

    async def count(self, key: str, begun: DecisionBegun) -> int:
        """How many calls were let through for the task since its decision began."""
        # Not kept while it is added to: what a failure cuts short is read again from the start.
        seen = self._known.pop(key, None)
        if seen is None or seen.episode_id != begun.episode_id:
            seen = _Seen(begun.episode_id)
        found = await self._count(seen, begun)
        self._known[key] = seen
        if len(self._known) > _MAX_KNOWN:
            self._known.popitem(last=False)
        return found

    async def _count(self, seen: _Seen, begun: DecisionBegun) -> int:
        since = begun.calls_since
        if since is None:
            return 0  # begun by an older sealer, which counted none
        if since.session_id is not None:
            seen.sessions.add((begun.runtime, since.session_id))
        # A guard that knows no task names its session instead.
        for name in {begun.task_id, since.session_id or begun.task_id}:
            subject = subjects.gated(begun.runtime, "tool", name)
            for stored in await self._new(seen, streams.GATES, subject, since.gates_sequence):
                _take_allowed(seen, stored)
        for session in sorted(seen.sessions):
            subject = subjects.session_log(subjects.session_key(*session))
            for stored in await self._new(seen, streams.SESSIONS, subject, since.sessions_sequence):
                _take_entry(seen, stored, (begun.task_id, since.session_id))
        return len(seen.calls)

    async def _new(self, seen: _Seen, stream: str, subject: str, since: int) -> list[Delivery]:
        """Every message on a subject, from a sequence on, that was not read before."""
        after = seen.read.get(subject, since)
        found: list[Delivery] = []
        async for each in read_all(self._client, stream, subject, PAGE, after=after):
            if seen.until_us is not None and each.stored_at_ns // 1000 > seen.until_us:
                break
            found.append(each)
        seen.read[subject] = found[-1].sequence if found else after
        return found

    async def _last(self, stream: str, subject: str) -> int:
        return await last_sequence(self._client, stream, subject, timeout_s=_ASK_WITHIN_S)


def _take_allowed(seen: _Seen, stored: Delivery) -> None:
    try:
        record = SessionGateRecord.from_json(stored.body)
    except (ValidationError, CanonicalError):
        # A newer version's record may be of a call that was let through.
        if is_named(stored):
            seen.calls.add(("", "", str(stored.sequence)))
        return
    request = record.request
    if not isinstance(request, ToolGateRequest) or record.answer.decision != "allow":
        return
    session = request.session_id or ""
    if session:
        seen.sessions.add((request.runtime, session))
    seen.calls.add((request.runtime, session, request.call_id))


def _take_entry(seen: _Seen, stored: Delivery, tasks: tuple[str | None, ...]) -> None:
    entry = read_session_entry(stored)
    if isinstance(entry, CallReserved | CallFinished) and entry.task_id in tasks:
        seen.calls.add((entry.runtime, entry.session_id, entry.call_id))
