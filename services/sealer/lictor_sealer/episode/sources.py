"""What an episode covers, from the messages about its task.

Each message is counted into the strand of its kind by a salted commitment to its exact bytes, and stored whole. What an
auditor wants to read of it without them is noted, as much as fits.
"""

import heapq
from collections.abc import Callable
from typing import Final, Generic, TypeVar, get_args

from pydantic import ValidationError

from lictor_bus.errors import UnreadableEntry
from lictor_bus.logs.session_log import read_session_entry
from lictor_bus.names import subjects
from lictor_bus.wire.delivery import Delivery
from lictor_schema.approvals.run import RunFinished, RunStarted, parse_run_entry
from lictor_schema.core.base_model import utc_millis
from lictor_schema.core.canonical_json import CanonicalError, canonical_json
from lictor_schema.decisions.decision import DecisionRecord
from lictor_schema.decisions.guard_decision import GuardDecision
from lictor_schema.decisions.receipt import ReceiptReport, ReceiptStatus
from lictor_schema.gates.gate_record import ActionGateRecord, GateRecord, SessionGateRecord
from lictor_schema.proofs.proof import ProofResult
from lictor_schema.seals.episode import LISTED_RECORDS, DecisionEpisode, RecordDigest
from lictor_schema.seals.episode_sources import (
    CONTENTS_FORMAT,
    MAX_NOTE_TEXT,
    MAX_NOTES,
    EpisodeSources,
    GateNote,
    GuardNote,
    GuidanceNote,
    ProofNote,
    ReceiptNote,
    RunNote,
    Strand,
    StrandName,
)
from lictor_schema.sessions.session_log import AnySessionEntry, FeedbackDelivered, FeedbackRaised
from lictor_sealer.episode.contents import EpisodeContents
from lictor_sealer.episode.signs import denial_weight

_SESSION_GATES: Final = ("tool", "stop")
ORDER: Final[tuple[StrandName, ...]] = get_args(StrandName)


# Of these a correction does not count what came late: events are counted by their records, and the others were there.
_NOT_COUNTED: Final = ("records", "events", "decision", "switch")
_LOG: Final = "lictor:act:"

N = TypeVar("N")


class _Notes(Generic[N]):
    """The first notes of a kind, as many as an episode holds; those that weigh on its outcome before all others."""

    def __init__(self) -> None:
        self._heap: list[tuple[int, int, N]] = []
        self._seen = 0

    def add(self, note: N, weight: int) -> None:
        """The next one."""
        self._seen += 1
        # The lightest is on top, and of these the last.
        keep = heapq.heappush if len(self._heap) < MAX_NOTES else heapq.heappushpop
        keep(self._heap, (weight, -self._seen, note))

    def kept(self) -> tuple[N, ...]:
        """In the order they came."""
        return tuple(note for _, _, note in sorted(self._heap, key=lambda each: -each[1]))


class Weaver:
    """Takes the messages about a task in, kind by kind, each kind in stream order."""

    def __init__(self, task_id: str, contents: EpisodeContents) -> None:
        self._task_id = task_id
        self._contents = contents
        self._cut: set[StrandName] = set()
        self._unreadable = 0
        self._proofs: list[ProofNote] = []
        self._runs: dict[str, RunNote] = {}
        self._guard: list[GuardNote] = []
        self._gates = _Notes[GateNote]()
        self._guidance: dict[str, GuidanceNote] = {}
        self._receipts = _Notes[ReceiptNote]()
        self._sessions: dict[tuple[str, str], None] = {}
        self._records: list[RecordDigest] = []
        self._snapshot: str | None = None
        self._closing_event = 0
        self.newest_us = 0

    @property
    def sessions(self) -> tuple[tuple[str, str], ...]:
        """Runtime and id of every session that anything named so far."""
        return tuple(self._sessions)

    def cut(self, name: StrandName) -> None:
        """Say that there are more of a kind than are covered."""
        self._cut.add(name)

    async def store(self) -> None:
        """Store the parts that are complete."""
        await self._contents.store()

    def record(self, stored: Delivery, record: DecisionRecord) -> None:
        """A decision record."""
        commitment = self._contents.take("records", stored)
        self._snapshot, self._closing_event = commitment, record.event_sequence
        if len(self._records) < LISTED_RECORDS:
            self._records.append(RecordDigest(record_id=record.record_id, record_hash=commitment))
        if record.session_id is not None:
            self._sessions[record.runtime, record.session_id] = None

    def event(self, stored: Delivery) -> None:
        """An event that a record decides on."""
        commitment = self._contents.take("events", stored)
        if stored.sequence == self._closing_event:
            self._snapshot = commitment

    def entry(self, name: StrandName, stored: Delivery) -> None:
        """An entry of the decision's log, or of the kill-switch's."""
        self._contents.take(name, stored)

    def take(self, name: StrandName, stored: Delivery) -> bool:
        """One message; returns whether it is of the task."""
        try:
            if name == "session":
                entry = read_session_entry(stored)
                if entry is None or entry.task_id != self._task_id:
                    return False
                self._session(entry, self._count(name, stored))
            else:
                self._note[name](self, stored, self._count(name, stored))
        except (ValidationError, CanonicalError, UnreadableEntry):
            if name == "session":
                if canonical_json(self._task_id) not in stored.body:
                    return False
                self._count(name, stored)
            self._unreadable += 1
        return True

    def _count(self, name: StrandName, stored: Delivery) -> str:
        message_hash = self._contents.take(name, stored)
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
                program_hash_of=proof.program_hash_of,
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
                program_hash_of=entry.program_hash_of,
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
        gate = stored.subject.split(".")[subjects.GATED.place("gate")]
        if gate == "action":
            record = ActionGateRecord.from_json(stored.body)
        elif gate in _SESSION_GATES:
            record = SessionGateRecord.from_json(stored.body)
            if record.request.session_id is not None:
                self._sessions[record.request.runtime, record.request.session_id] = None
        else:
            record = GateRecord.from_json(stored.body)
        answer = record.answer
        if answer.decision == "allow":
            return
        note = GateNote(
            record_id=record.record_id,
            recorded_at=record.recorded_at,
            gate=record.gate,
            decision=answer.decision,
            policy_id=answer.policy_id,
            reason=_begun(answer.reason),
            message_hash=message_hash,
        )
        self._gates.add(note, denial_weight(note))

    def _receipt(self, stored: Delivery, message_hash: str) -> None:
        report = ReceiptReport.from_json(stored.body)
        note = ReceiptNote(
            report_id=report.report_id,
            record_id=report.record_id,
            status=report.receipt.status,
            delivery_state=report.receipt.delivery_state,
            reported_at=utc_millis(report.reported_at),
            message_hash=message_hash,
        )
        self._receipts.add(note, int(note.status is ReceiptStatus.FAILED))

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
            events_root=self._contents.root("events"),
            contents=CONTENTS_FORMAT,
            strands=tuple(
                Strand(
                    name=name,
                    count=count,
                    root=self._contents.root(name),
                    complete=name not in self._cut,
                )
                for name in ORDER
                # One of which everything is gone is named too: it is not the same as none.
                if (count := self._contents.count(name)) or name in self._cut
            ),
            unreadable=self._unreadable,
            proofs=tuple(self._proofs),
            runs=tuple(self._runs.values()),
            guard=tuple(self._guard),
            gates=self._gates.kept(),
            guidance=tuple(self._guidance.values()),
            receipts=self._receipts.kept(),
        )

    @property
    def records(self) -> tuple[RecordDigest, ...]:
        """The first records, as an episode names them."""
        return tuple(self._records)

    def woven(self, episode: DecisionEpisode) -> DecisionEpisode:
        """The episode; whatever it named by a plain hash is named by a salted commitment.

        By a plain hash, what was erased could be found again: by trying what it may have said.
        """
        context, log = episode.context, f"{_LOG}{self._contents.root('decision')}"
        governed = episode.dte_ref is not None
        changed = context.model_copy(
            update={
                "snapshot_id": self._snapshot or context.snapshot_id,
                "evidence_refs": tuple(
                    # Agents may call their evidence so, too: the log stands first, where there is one.
                    log if not number and governed and each.startswith(_LOG) else each
                    for number, each in enumerate(context.evidence_refs)
                ),
            }
        )
        return episode.model_copy(update={"context": changed})


def covered_records(episode: DecisionEpisode) -> int:
    """How many decision records an episode covers; an older one names all of them."""
    strands = () if episode.sources is None else episode.sources.strands
    return next((each.count for each in strands if each.name == "records"), len(episode.records))


def covered_messages(sources: EpisodeSources | None) -> int:
    """How many other messages they cover."""
    strands = () if sources is None else sources.strands
    return sum(each.count for each in strands if each.name not in _NOT_COUNTED)


def _begun(text: str) -> str:
    return text[:MAX_NOTE_TEXT]
