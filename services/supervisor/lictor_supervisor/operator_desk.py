"""The desk where operators move drift events and patches; no runtime may ask here (see lictor_bus.names.roles).

What is asked for is judged by the log as it is, and kept on the condition that the log has not changed since: of two
that ask at once, one is judged again. Asking again with the same request id gives the same answer.
"""

import uuid
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any, TypeVar

from lictor_bus.errors import MessageRefused
from lictor_bus.gates import desk as gates
from lictor_bus.gates.gate_runner import BoundGate
from lictor_bus.ledger import Judge, Ledger, Log
from lictor_bus.logs.entry_logs import all_entries
from lictor_bus.names import streams, subjects
from lictor_bus.wire.appends import Appends
from lictor_bus.wire.connection import TolerantClient
from lictor_bus.wire.publish import HEADER_ROOM, Outgoing
from lictor_contracts.cerpa.claim_cycles import ClaimRefused, SubjectClaims, claimed
from lictor_contracts.drift.triage import Triage, TriageRefused, moved, received, refuse_alone
from lictor_contracts.patch.life import Patch, PatchStepRefused, stepped
from lictor_schema.contracts.cerpa_claim import (
    ClaimMade,
    ClaimRequest,
    EventSeen,
    MeasurementReport,
)
from lictor_schema.contracts.drift import DriftSeverity, TriageEntry, TriageMove, TriageState
from lictor_schema.contracts.patch import PatchEntry, PatchStep
from lictor_schema.core.base_model import utc_millis
from lictor_schema.services.desk_answer import DeskAnswer
from lictor_supervisor.ledgers import CLAIMS, PATCHES, TRIAGE

E = TypeVar("E", TriageEntry, PatchEntry, ClaimMade)
S = TypeVar("S")

# Random once, fixed for ever: changing it keeps every request that is repeated twice.
_ENTRY = uuid.UUID("61d4f0b8-9e2a-4c75-8b13-7f0a5ce92d84")
_CORRECT = "correct the named fields and ask again"


class Desk:
    """Answers to operators."""

    def __init__(
        self, client: TolerantClient, now: Callable[[], datetime] = lambda: datetime.now(UTC)
    ) -> None:
        self.client = client
        self._appends = Appends(client)
        self._now = now

    def bound(self) -> Sequence[BoundGate[Any, Any]]:
        """The gates with their handlers."""
        return (
            BoundGate(gate=gates.TRIAGE, handle=self.triage),
            BoundGate(gate=gates.PATCH, handle=self.patch),
            BoundGate(gate=gates.CLAIM, handle=self.claim),
            BoundGate(gate=gates.EVENT, handle=self.event),
        )

    async def triage(self, move: TriageMove) -> DeskAnswer:
        """Move a drift event one step forward."""
        entry_id = _entry_id(move.drift_id, move.request_id)

        async def judge(entries: Sequence[TriageEntry]) -> TriageEntry:
            current = _triaged(entries)
            if current is None:
                raise _Denied(
                    f"there is no drift event {move.drift_id}",
                    "`lictor drift list` shows what there is",
                )
            at = self._now()
            try:
                moved(current, move.to, move.by, at)
                refuse_alone(
                    current,
                    move.to,
                    move.by,
                    patch_applied=move.to is TriageState.PATCHED and await self._patched(entries),
                )
            except TriageRefused as error:
                raise _Denied(
                    str(error), "take the step that may be taken", current.state.value
                ) from None
            return TriageEntry(
                entry_id=entry_id,
                drift_id=move.drift_id,
                state=move.to,
                by=move.by,
                at=at,
                request_id=move.request_id,
                reason=move.reason,
            )

        log = TRIAGE.log(self.client, subjects.triage(move.drift_id))
        return await self._kept(move.request_id, TRIAGE, log, judge, entry_id)

    async def _patched(self, entries: Sequence[TriageEntry]) -> bool:
        """Whether a patch of the cause of a drift event was applied after it was detected."""
        events = [entry.event for entry in entries if entry.event is not None]
        applied = all_entries(
            self.client,
            streams.PATCHES,
            subjects.PATCH.where(state="applied"),
            PatchEntry.from_json,
        )
        async for _, entry in applied:
            at = datetime.fromisoformat(entry.at)
            if any(
                each.fingerprint == entry.fingerprint and at >= each.detected_at for each in events
            ):
                return True
        return False

    async def patch(self, step: PatchStep) -> DeskAnswer:
        """Propose, approve, reject, or report the result of applying."""
        entry_id = _entry_id(step.patch_id, step.request_id)

        def judge(patch: Patch | None) -> PatchEntry:
            try:
                return stepped(patch, step, entry_id=entry_id, at=utc_millis(self._now()))
            except PatchStepRefused as error:
                state = None if patch is None else patch.state.value
                raise _Denied(error.reason, error.remedy, state) from None

        log = PATCHES.log(self.client, subjects.patch_entries(step.patch_id))
        return await self._kept(step.request_id, PATCHES, log, judge, entry_id)

    async def claim(self, asked: ClaimRequest) -> DeskAnswer:
        """Register a claim, or a new form of one."""
        claim, now = asked.claim, self._now()
        if claim.timestamp > now:
            return _from_the_future(asked.request_id, "claim", claim.timestamp)
        entry = ClaimMade(
            entry_id=_entry_id(claim.id, asked.request_id),
            by=asked.by,
            at=now,
            claim=claim,
            red_needs_another=True,
        )

        def judge(entries: Sequence[ClaimMade]) -> ClaimMade:
            known: SubjectClaims | None = None
            for kept in entries:
                with suppress(ClaimRefused):
                    known = claimed(known, kept.claim, kept.by, kept.at).subject
            try:
                claimed(known, claim, asked.by, now)
            except ClaimRefused as error:
                raise _Denied(str(error), _CORRECT) from None
            return entry

        log = CLAIMS.log(self.client, subjects.claim("made", claim.subject))
        return await self._kept(asked.request_id, CLAIMS, log, judge, entry.entry_id)

    async def event(self, asked: MeasurementReport) -> DeskAnswer:
        """Take in what happened to a subject."""
        event, now = asked.event, self._now()
        if event.timestamp > now:
            return _from_the_future(asked.request_id, "event", event.timestamp)
        seen = EventSeen(
            entry_id=_entry_id(event.id, asked.request_id),
            by=asked.by,
            at=now,
            at_least=DriftSeverity.GREEN,
            event=event,
        )
        message = Outgoing(
            subjects.claim("report", event.subject), self._fitting(seen.to_json()), seen.entry_id
        )
        sequence = await self._appends.append(streams.CERPA, message, None)
        return _done(asked.request_id, "seen", sequence)

    async def _kept(
        self,
        request_id: str,
        ledger: Ledger[E, S],
        log: Log[E, S],
        judge: Judge[S, E],
        entry_id: str,
    ) -> DeskAnswer:
        """What stands in the log now by this request: asked again, the same as at first."""
        try:
            changed = await ledger.change(self._appends, log, judge, entry_id=entry_id)
        except _Denied as denied:
            return DeskAnswer.refused(request_id, denied.reason, denied.remedy, denied.state)
        entry = changed.entry
        state = entry.state.value if isinstance(entry, TriageEntry | PatchEntry) else "made"
        return _done(request_id, state, changed.sequence)

    def _fitting(self, body: bytes) -> bytes:
        if len(body) + HEADER_ROOM > self.client.max_payload:
            raise MessageRefused(
                f"the entry has {len(body)} bytes, more than the broker takes",
                remedy="send it in smaller pieces",
            )
        return body


class _Denied(Exception):
    """A request that can't be granted as things stand."""

    def __init__(self, reason: str, remedy: str, state: str | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.remedy = remedy
        self.state = state


def _triaged(entries: Iterable[TriageEntry]) -> Triage | None:
    """Where a drift event stands; delivered again, it keeps its place."""
    current: Triage | None = None
    for entry in entries:
        if entry.event is not None:
            current = received(current, entry.event)
        elif current is not None:
            current = moved(current, entry.state, entry.by, entry.at)
    return current


def _entry_id(of: str, request_id: str) -> str:
    return str(uuid.uuid5(_ENTRY, f"{of}:{request_id}"))


def _from_the_future(request_id: str, what: str, moment: datetime) -> DeskAnswer:
    return DeskAnswer.refused(
        request_id,
        f"the {what} is of {moment.isoformat()}, which lies in the future",
        "correct the clock that dated it",
    )


def _done(request_id: str, state: str, sequence: int) -> DeskAnswer:
    return DeskAnswer(request_id=request_id, outcome="done", state=state, sequence=sequence)
