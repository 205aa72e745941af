"""What an episode covers besides its decision records, from the messages about its task; pure.

Each message is counted into the strand of its kind by the hash of its exact bytes. What an auditor wants to read of it
is noted, as much as fits: the message itself is at hand for whoever has the stream, and its hash is under the root.
"""

from collections.abc import Callable, Iterable
from typing import Final, NamedTuple

from pydantic import ValidationError

from lictor_bus.delivery import Delivery
from lictor_bus.session_entries import read_entry
from lictor_schema import (
    ActionGateRecord,
    AnySessionEntry,
    CanonicalError,
    DecisionRecord,
    EpisodeSources,
    FeedbackDelivered,
    FeedbackRaised,
    GateNote,
    GateRecord,
    GuardDecision,
    GuardNote,
    GuidanceNote,
    ProofNote,
    ProofResult,
    ReceiptNote,
    ReceiptReport,
    RunFinished,
    RunNote,
    RunStarted,
    SessionGateRecord,
    Strand,
    canonical_json,
    hash_bytes,
    parse_run_entry,
    utc_millis,
)
from lictor_schema.episode_sources import MAX_NOTE_TEXT, MAX_NOTES, MAX_STRAND, StrandName
from lictor_seal import tree_root

_SESSION_GATES: Final = ("tool", "stop")
_ORDER: Final[tuple[StrandName, ...]] = (
    "guard",
    "proofs",
    "runs",
    "gates",
    "receipts",
    "session",
)


class _Hashed(NamedTuple):
    sequence: int
    hash: str


class Weaver:
    """Takes the messages about a task in, kind by kind, each kind in stream order."""

    def __init__(self, task_id: str) -> None:
        self._task_id = task_id
        self._events: list[str] = []
        self._hashes: dict[StrandName, list[_Hashed]] = {}
        self._cut: set[StrandName] = set()
        self._unreadable = 0
        self._proofs: list[ProofNote] = []
        self._runs: dict[str, RunNote] = {}
        self._guard: list[GuardNote] = []
        self._gates: list[GateNote] = []
        self._guidance: dict[str, GuidanceNote] = {}
        self._receipts: list[ReceiptNote] = []
        self._sessions: dict[tuple[str, str], None] = {}
        self.newest_us = 0

    @property
    def sessions(self) -> tuple[tuple[str, str], ...]:
        """Runtime and id of every session that anything named so far."""
        return tuple(self._sessions)

    def is_full(self, name: StrandName) -> bool:
        """Whether a kind has as many messages as an episode can cover."""
        return len(self._hashes.get(name, ())) >= MAX_STRAND

    def cut(self, name: StrandName) -> None:
        """Say that there are more of a kind than are covered."""
        self._cut.add(name)

    def events(self, records: Iterable[DecisionRecord]) -> None:
        """The events that the records decide on: each record has the hash of its event."""
        for record in records:
            self._events.append(record.event_sha256)
            if record.session_id is not None:
                self._sessions[record.runtime, record.session_id] = None

    def take(self, name: StrandName, stored: Delivery) -> None:
        """One message."""
        try:
            if name == "session":
                entry = read_entry(stored)
                if entry is None or entry.task_id != self._task_id:
                    return
                self._session(entry, self._count(name, stored))
            else:
                self._note[name](self, stored, self._count(name, stored))
        except (ValidationError, CanonicalError):
            if name == "session":
                if canonical_json(self._task_id) not in stored.body:
                    return
                self._count(name, stored)
            self._unreadable += 1

    def _count(self, name: StrandName, stored: Delivery) -> str:
        message_hash = hash_bytes(stored.body)
        self._hashes.setdefault(name, []).append(_Hashed(stored.sequence, message_hash))
        self.newest_us = max(self.newest_us, stored.stored_at_ns // 1000)
        return message_hash

    def _proof(self, stored: Delivery, message_hash: str) -> None:
        proof = ProofResult.from_json(stored.body)
        if len(self._proofs) == MAX_NOTES:
            return
        reason = proof.reasons[0] if proof.reasons else None
        self._proofs.append(
            ProofNote(
                submission_id=proof.submission_id,
                verdict=proof.verdict,
                program_hash=proof.program_hash,
                ir_hash=proof.ir_hash,
                layer_hash=proof.layer_hash,
                certificate_hash=proof.certificate_hash,
                reason=None if reason is None else _begun(f"{reason.code}: {reason.message}"),
                message_hash=message_hash,
            )
        )

    def _run(self, stored: Delivery, message_hash: str) -> None:
        entry = parse_run_entry(stored.body)
        known = self._runs.get(entry.run_id)
        if isinstance(entry, RunStarted) and known is None and len(self._runs) < MAX_NOTES:
            self._runs[entry.run_id] = RunNote(
                run_id=entry.run_id,
                submission_id=entry.submission_id,
                program_hash=entry.program_hash,
                ir_hash=entry.ir_hash,
                layer_hash=entry.layer_hash,
                binding_hash=entry.binding_hash,
                approved_by=entry.approved_by,
                signed=entry.signed,
                message_hash=message_hash,
            )
        elif isinstance(entry, RunFinished) and known is not None:
            why = entry.reason
            self._runs[entry.run_id] = known.model_copy(
                update={
                    "outcome": entry.outcome,
                    "effects": entry.effects,
                    "undone": entry.undone,
                    "reason": None if why is None else _begun(f"{why.code}: {why.message}"),
                }
            )

    def _guarded(self, stored: Delivery, message_hash: str) -> None:
        decided = GuardDecision.from_json(stored.body)
        self._sessions[decided.runtime, decided.session_id] = None
        if len(self._guard) == MAX_NOTES:
            return
        self._guard.append(
            GuardNote(
                record_id=decided.record_id,
                recorded_at=decided.recorded_at,
                gate=decided.gate,
                tool=decided.tool,
                call_id=decided.call_id,
                decision=decided.decision.decision,
                policy_id=decided.decision.policy_id,
                reason=_begun(decided.decision.reason),
                message_hash=message_hash,
            )
        )

    def _gated(self, stored: Delivery, message_hash: str) -> None:
        gate = stored.subject.split(".")[2]
        if gate == "action":
            record = ActionGateRecord.from_json(stored.body)
        elif gate in _SESSION_GATES:
            record = SessionGateRecord.from_json(stored.body)
            if record.request.session_id is not None:
                self._sessions[record.request.runtime, record.request.session_id] = None
        else:
            record = GateRecord.from_json(stored.body)
        answer = record.answer
        if answer.decision == "allow" or len(self._gates) == MAX_NOTES:
            return
        self._gates.append(
            GateNote(
                record_id=record.record_id,
                recorded_at=record.recorded_at,
                gate=record.gate,
                decision=answer.decision,
                policy_id=answer.policy_id,
                reason=_begun(answer.reason),
                message_hash=message_hash,
            )
        )

    def _receipt(self, stored: Delivery, message_hash: str) -> None:
        report = ReceiptReport.from_json(stored.body)
        if len(self._receipts) == MAX_NOTES:
            return
        self._receipts.append(
            ReceiptNote(
                report_id=report.report_id,
                record_id=report.record_id,
                status=report.receipt.status,
                delivery_state=report.receipt.delivery_state,
                reported_at=utc_millis(report.reported_at),
                message_hash=message_hash,
            )
        )

    def _session(self, entry: AnySessionEntry, message_hash: str) -> None:
        if not isinstance(entry, FeedbackRaised | FeedbackDelivered):
            return
        told = entry.call_id if isinstance(entry, FeedbackDelivered) else None
        for advice in entry.feedback:
            known = self._guidance.get(advice.feedback_id)
            if known is not None:
                self._guidance[advice.feedback_id] = known.model_copy(
                    update={"delivered_after": told}
                )
            elif len(self._guidance) < MAX_NOTES:
                self._guidance[advice.feedback_id] = GuidanceNote(
                    feedback_id=advice.feedback_id,
                    session_id=entry.session_id,
                    provider=advice.provider,
                    severity=advice.severity,
                    summary=_begun(advice.summary),
                    raised_at=advice.raised_at,
                    delivered_after=told,
                    message_hash=message_hash,
                )

    _note: Final[dict[str, Callable[["Weaver", Delivery, str], None]]] = {
        "proofs": _proof,
        "runs": _run,
        "guard": _guarded,
        "gates": _gated,
        "receipts": _receipt,
    }

    def sources(self, covered_until_us: int) -> EpisodeSources:
        """All of it, as it stands in the episode."""
        return EpisodeSources(
            covered_until_us=covered_until_us,
            events_root=strand_root(self._events),
            strands=tuple(
                Strand(
                    name=name,
                    count=len(hashes),
                    # A task may have several sessions, whose logs are read one after the other.
                    root=strand_root(each.hash for each in sorted(hashes)),
                    complete=name not in self._cut,
                )
                for name in _ORDER
                if (hashes := self._hashes.get(name))
            ),
            unreadable=self._unreadable,
            proofs=tuple(self._proofs),
            runs=tuple(self._runs.values()),
            guard=tuple(self._guard),
            gates=tuple(self._gates),
            guidance=tuple(self._guidance.values()),
            receipts=tuple(self._receipts),
        )


def strand_root(hashes: Iterable[str]) -> str:
    """The root over the hashes of messages, as a content hash."""
    return f"sha256:{tree_root([each.encode() for each in hashes]).hex()}"


def covered_messages(sources: EpisodeSources | None) -> int:
    """How many messages they cover; events are counted by their records."""
    return 0 if sources is None else sum(each.count for each in sources.strands)


def _begun(text: str) -> str:
    return text[:MAX_NOTE_TEXT]
