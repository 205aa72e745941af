"""The requests on stream APPROVALS: each a log that is read whole and added to by one writer at a time.

What a change does is judged by the log as it is, and kept on the condition that the log has not changed since: of two
that come at once, one is judged again. So the log alone says where a request stands, whoever is killed or restarted.
"""

import asyncio
import logging
from collections import Counter
from collections.abc import Callable
from datetime import datetime
from typing import NamedTuple

from lictor_approval.errors import BrokenLog
from lictor_approval.request_life import REQUEST_KINDS, RequestLife, after, folded, kind_of
from lictor_bus.fold.entity_timers import EntityTimerKind
from lictor_bus.fold.timers import timer_messages
from lictor_bus.ledger import WholeLedger, WholeLog
from lictor_bus.logs.entry_logs import all_entries
from lictor_bus.names import streams, subjects
from lictor_bus.service.telemetry import ServiceTelemetry
from lictor_bus.wire.appends import Appends
from lictor_bus.wire.connection import TolerantClient
from lictor_bus.wire.publish import publish_all
from lictor_schema.approvals.approval import ApprovalEntry, ApprovalRequest, ApprovalState
from lictor_schema.core.time import to_micros

log = logging.getLogger("lictor.approvals")

BELL = EntityTimerKind(kind="approval", of="request", set_by="the approval service")
_EVERY_CHANGE = subjects.APPROVAL.any
_OPEN = tuple(state for state in ApprovalState if state.is_open)

REQUESTS = WholeLedger[ApprovalEntry, RequestLife | None](
    "request",
    streams.APPROVALS,
    parse=ApprovalEntry.from_json,
    fold=folded,
    subject_of=lambda entry: subjects.approval(entry.runtime, entry.state.value, entry.request_id),
    too_large="split the program or the call, so that what people are shown gets shorter",
)

Step = Callable[[RequestLife | None], ApprovalEntry | None]
"""Says what a request comes to, from where it stands; None leaves it there. Pure; may raise ApprovalError."""


class RequestChange(NamedTuple):
    """Where a request stands, and what was written."""

    life: RequestLife | None
    sequence: int | None
    """The place of the entry; None when nothing was written."""


class RequestLog:
    """Every request there is; those that are open are known by their task."""

    def __init__(self, client: TolerantClient, telemetry: ServiceTelemetry) -> None:
        self._client = client
        self._appends = Appends(client)
        self._telemetry = telemetry
        self._open: dict[str, RequestLife] = {}
        self._seen = 0
        self._looking = asyncio.Lock()

    async def catch_up(self) -> None:
        """Take in what was written since the last look, by whomever: the runner, another instance, ourselves."""
        async with self._looking:
            found = all_entries(
                self._client,
                streams.APPROVALS,
                _EVERY_CHANGE,
                ApprovalEntry.from_json,
                after=self._seen,
            )
            async for stored, entry in found:
                self._take_in(entry)
                self._seen = stored.sequence

    def _take_in(self, entry: ApprovalEntry) -> None:
        before = self._open.pop(entry.request_id, None)
        if before is None and entry.request is None:
            # What the runner says about a request that has ended for us, such as `executed`.
            return
        try:
            life = after(before, entry)
        except BrokenLog as error:
            # Nothing runs by it, and nobody can decide on it: whoever wants to reads the log itself.
            log.error("%s", error)
            return
        if life.state.is_open:
            self._open[entry.request_id] = life

    def open_now(self) -> list[RequestLife]:
        """The requests that are open, as of the last look."""
        return list(self._open.values())

    def open_programs(
        self, runtime: str | None = None, task_id: str | None = None
    ) -> list[RequestLife]:
        """Those about programs; of a runtime's task, where one is named."""
        return [
            life
            for life in self._open.values()
            if isinstance(life.request, ApprovalRequest)
            and (
                task_id is None
                or (life.request.binding.runtime, life.request.binding.task_id)
                == (runtime, task_id)
            )
        ]

    async def known(self, request_id: str) -> RequestLife | None:
        """A request, folded from its log; None when there is none."""
        return (await self._log(request_id).read()).state

    async def change(self, request_id: str, step: Step) -> RequestChange:
        """Read a request, have it judged, and keep what comes of it."""

        def judge(life: RequestLife | None) -> ApprovalEntry | None:
            entry = step(life)
            if entry is not None:
                after(life, entry)  # what would break the log is not written
            return entry

        found = await REQUESTS.change(self._appends, self._log(request_id), judge)
        if found.entry is None:
            return RequestChange(found.state, None)
        if not found.is_new:
            return RequestChange(found.state, found.sequence)
        changed = after(found.state, found.entry)
        await self.catch_up()
        self._count(changed)
        return RequestChange(changed, found.sequence)

    def _log(self, request_id: str) -> WholeLog[ApprovalEntry, RequestLife | None]:
        return REQUESTS.log(self._client, subjects.approval_entries(request_id))

    async def watch_the_clock(self, *lives: RequestLife) -> None:
        """Have the broker ring when these have had their time; a timer that is set already is set anew."""
        timers = [BELL.timer(life.request.request_id, _micros(life.due)) for life in lives]
        await publish_all(self._client, streams.TIMERS, timer_messages(timers))

    def _count(self, life: RequestLife) -> None:
        found = Counter((kind_of(each), each.state) for each in self._open.values())
        waiting = {
            (kind, state.value): found[kind, state] for kind in REQUEST_KINDS for state in _OPEN
        }
        self._telemetry.approval_changed(kind_of(life), life.state.value, waiting)
        decision = life.decision
        if (
            decision is not None
            and decision.automatic is None
            and life.state in (ApprovalState.APPROVED, ApprovalState.REJECTED)
        ):
            waited = _micros(life.changed_at) - _micros(life.request.requested_at)
            self._telemetry.approval_decided(decision.decision, max(0, waited) / 1e6)


def _micros(text: str) -> int:
    return to_micros(datetime.fromisoformat(text))
