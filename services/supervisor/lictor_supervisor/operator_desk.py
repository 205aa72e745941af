"""The desk where operators move drift events and patches; no runtime may ask here (see lictor_bus.gates.desk).

What is asked for is judged by the log as it is, and kept on the condition that the log has not changed since: of two
that ask at once, one is judged again. Asking again with the same request id gives the same answer.
"""

import uuid
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

from lictor_bus.errors import BusError, Refused, SequenceConflict
from lictor_bus.gates import desk as gates
from lictor_bus.gates.gate_runner import BoundGate
from lictor_bus.logs.entry_logs import (
    EntryLog,
    all_entries,
    append_entry,
    patch_log,
    read_log,
    triage_log,
)
from lictor_bus.names import streams, subjects
from lictor_bus.wire.connection import TolerantClient
from lictor_bus.wire.publish import Outgoing, publish_after
from lictor_contracts.cerpa.claim_cycles import ClaimRefused, SubjectClaims, claimed
from lictor_contracts.drift.triage import Triage, TriageRefused, moved, received, refuse_alone
from lictor_contracts.patch.life import PatchStepRefused, folded, stepped
from lictor_schema.contracts.cerpa_claim import (
    ClaimMade,
    ClaimRequest,
    EventSeen,
    MeasurementReport,
)
from lictor_schema.contracts.drift import DriftSeverity, TriageState
from lictor_schema.contracts.patch import DeskAnswer, PatchEntry, PatchStep, TriageEntry, TriageMove
from lictor_schema.core.base_model import utc_millis

# Random once, fixed for ever: changing it keeps every request that is repeated twice.
_ENTRY = uuid.UUID("61d4f0b8-9e2a-4c75-8b13-7f0a5ce92d84")
_TRIES = 20
_HEADER_ROOM = 16 * 1024
_CORRECT = "correct the named fields and ask again"


class Desk:
    """Answers to operators."""

    def __init__(
        self, client: TolerantClient, now: Callable[[], datetime] = lambda: datetime.now(UTC)
    ) -> None:
        self.client = client
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
        for _ in range(_TRIES):
            found = await triage_log(self.client, move.drift_id)
            for sequence, entry in found.entries:
                if entry.request_id == move.request_id:
                    return _done(move.request_id, entry.state.value, sequence)
            current = _triaged(found)
            if current is None:
                return DeskAnswer.refused(
                    move.request_id,
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
                    patch_applied=move.to is TriageState.PATCHED and await self._patched(found),
                )
            except TriageRefused as error:
                return DeskAnswer.refused(
                    move.request_id,
                    str(error),
                    "take the step that may be taken",
                    current.state.value,
                )
            entry = TriageEntry(
                entry_id=_entry_id(move.drift_id, move.request_id),
                drift_id=move.drift_id,
                state=move.to,
                by=move.by,
                at=at,
                request_id=move.request_id,
                reason=move.reason,
            )
            subject = subjects.triage(move.drift_id)
            sequence = await self._append(streams.DRIFT, found, subject, entry)
            if sequence is not None:
                return _done(move.request_id, entry.state.value, sequence)
        raise BusError(f"others kept moving {move.drift_id}")

    async def _patched(self, found: EntryLog[TriageEntry]) -> bool:
        """Whether a patch of the cause of a drift event was applied after it was detected."""
        events = [entry.event for _, entry in found.entries if entry.event is not None]
        applied = all_entries(
            self.client, streams.PATCHES, "lictor.patch.applied.*", PatchEntry.from_json
        )
        async for _, entry in applied:
            at = datetime.fromisoformat(entry.at)
            if any(
                each.fingerprint == entry.fingerprint and at >= each.detected_at for each in events
            ):
                return True
        return False

    async def patch(self, step: PatchStep) -> DeskAnswer:
        """Propose, approve, reject, or tell what came of applying."""
        for _ in range(_TRIES):
            found = await patch_log(self.client, step.patch_id)
            for sequence, entry in found.entries:
                if entry.request_id == step.request_id:
                    return _done(step.request_id, entry.state.value, sequence)
            patch = folded(entry for _, entry in found.entries)
            try:
                entry = stepped(
                    patch,
                    step,
                    entry_id=_entry_id(step.patch_id, step.request_id),
                    at=utc_millis(self._now()),
                )
            except PatchStepRefused as error:
                state = None if patch is None else patch.state.value
                return DeskAnswer.refused(step.request_id, error.reason, error.remedy, state)
            subject = subjects.patch(entry.state.value, step.patch_id)
            sequence = await self._append(streams.PATCHES, found, subject, entry)
            if sequence is not None:
                return _done(step.request_id, entry.state.value, sequence)
        raise BusError(f"others kept changing {step.patch_id}")

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
        subject = subjects.claim("made", claim.subject)
        for _ in range(_TRIES):
            found = await read_log(self.client, streams.CERPA, subject, ClaimMade.from_json)
            known: SubjectClaims | None = None
            for sequence, kept in found.entries:
                if kept.entry_id == entry.entry_id:
                    return _done(asked.request_id, "made", sequence)
                with suppress(ClaimRefused):
                    known = claimed(known, kept.claim, kept.by, kept.at).subject
            try:
                claimed(known, claim, asked.by, now)
            except ClaimRefused as error:
                return DeskAnswer.refused(asked.request_id, str(error), _CORRECT)
            sequence = await self._append(streams.CERPA, found, subject, entry)
            if sequence is not None:
                return _done(asked.request_id, "made", sequence)
        raise BusError(f"others kept claiming about {claim.subject}")

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
        sequence = await publish_after(self.client, streams.CERPA, message, None)
        return _done(asked.request_id, "seen", sequence)

    async def _append(
        self,
        stream: str,
        found: EntryLog[Any],
        subject: str,
        entry: TriageEntry | PatchEntry | ClaimMade,
    ) -> int | None:
        """The sequence it got; None when another entry came in between."""
        body = self._fitting(entry.to_json())
        try:
            return await append_entry(self.client, stream, found, subject, entry.entry_id, body)
        except SequenceConflict:
            return None

    def _fitting(self, body: bytes) -> bytes:
        if len(body) + _HEADER_ROOM > self.client.max_payload:
            raise Refused(
                f"the entry has {len(body)} bytes, more than the broker takes",
                remedy="tell it in smaller pieces",
            )
        return body


def _triaged(found: EntryLog[TriageEntry]) -> Triage | None:
    """Where a drift event stands; delivered again, it keeps its place."""
    current: Triage | None = None
    for _, entry in found.entries:
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
