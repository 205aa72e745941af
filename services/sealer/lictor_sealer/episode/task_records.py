"""The decision records of a task, however many: little is held of each, and each is read whole again when needed."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from nats.aio.client import Client

from lictor_bus.errors import BusError, MessageRefused
from lictor_bus.fold.processor import read_or_refuse
from lictor_bus.names import streams, subjects
from lictor_bus.wire.delivery import Delivery
from lictor_bus.wire.provenance import is_named, pass_over
from lictor_bus.wire.read import read_from
from lictor_schema.core.ids import episode_id
from lictor_schema.decisions.decision import DecisionRecord

_PAGE: Final = 200
_MAX_EVIDENCE: Final = 1000
# A task that is no longer than this is not read a second time.
_KEPT_BYTES: Final = 64 * 1024


class EpisodeError(Exception):
    """The records of a task don't make an episode; the message says why."""


@dataclass(slots=True)
class RecordsSeen:
    """What the records of an episode say together, taken in one by one: there may be very many."""

    _first: DecisionRecord | None = None
    _last: DecisionRecord | None = None
    _starter: str | None = None
    evidence: dict[str, None] = field(default_factory=dict[str, None])
    """Every evidence item that a decision looked at, in the order they first appeared."""
    spawned: int = 0
    completed: int = 0
    fanout: int = 0
    """The most child runs at once."""
    _running: int = 0

    def take(self, record: DecisionRecord) -> None:
        """The next record, in stream order."""
        if self._first is None:
            self._first = record
        self._last = record
        if self._starter is None and record.event_type == "task_started":
            self._starter = record.runtime
        for item in record.evidence.attached:
            if len(self.evidence) < _MAX_EVIDENCE:
                self.evidence[item.evidence_id] = None
        if record.event_type == "subagent_spawned":
            self.spawned += 1
            self._running += 1
            self.fanout = max(self.fanout, self._running)
        elif record.event_type == "subagent_completed":
            self.completed += 1
            self._running = max(0, self._running - 1)

    @property
    def first(self) -> DecisionRecord:
        """The record that began it."""
        if self._first is None:
            raise EpisodeError("there are no decision records for the task")
        return self._first

    @property
    def runtime(self) -> str:
        """The runtime whose task it is: the one that started it. Others may have reported on it before."""
        return self._starter or self.first.runtime

    @property
    def last(self) -> DecisionRecord:
        """The record that closes it."""
        if self._last is None:
            raise EpisodeError("there are no decision records for the task")
        return self._last


class StoredRecord(NamedTuple):
    """What is held of each record."""

    record_id: str
    task_id: str
    event_id: str
    event_sequence: int
    event_sha256: str
    sequence: int
    stored_us: int
    closes: bool
    begins: bool
    """Whether it has what an episode needs to know of the task, as the first record of a run has."""

    @classmethod
    def of(cls, record: DecisionRecord, stored: Delivery) -> "StoredRecord":
        """As it was read from the stream."""
        return cls(
            record.record_id,
            record.task_id,
            record.event_id,
            record.event_sequence,
            record.event_sha256,
            stored.sequence,
            stored.stored_at_ns // 1000,
            record.task_closed,
            record.episode is not None,
        )


class TaskRecords(NamedTuple):
    """Every record of a task, in stream order."""

    client: Client
    task: str
    found: Sequence[StoredRecord]
    kept: Sequence[tuple[Delivery, DecisionRecord]] | None
    """All of them whole, when they are few."""

    async def whole(
        self, records: Sequence[StoredRecord]
    ) -> AsyncIterator[tuple[Delivery, DecisionRecord]]:
        """Some of them, whole, in their order."""
        wanted = {each.sequence for each in records}
        if self.kept is not None:
            for stored, record in self.kept:
                if stored.sequence in wanted:
                    yield stored, record
            return
        last = records[-1].sequence
        async for stored in _stored(self.client, self.task, records[0].sequence, last):
            if stored.sequence in wanted:
                yield stored, read_record(stored)


async def task_records(client: Client, task: str, last: int | None = None) -> TaskRecords:
    """Every record of a task, up to the one at a sequence if that is given, read from the stream itself."""
    found: list[StoredRecord] = []
    kept: list[tuple[Delivery, DecisionRecord]] | None = []
    size = 0
    known: set[str] = set()
    async for stored in _stored(client, task, 1, last):
        record = _record_of(stored, task)
        if record is None or record.record_id in known:
            continue
        known.add(record.record_id)
        found.append(StoredRecord.of(record, stored))
        size += len(stored.body)
        if size > _KEPT_BYTES:
            kept = None
        if kept is not None:
            kept.append((stored, record))
    return TaskRecords(client, task, found, kept)


def _record_of(stored: Delivery, task: str) -> DecisionRecord | None:
    """The record; None for a message that no evaluator stored. MessageRefused for one of a newer version."""
    try:
        record = read_record(stored)
    except MessageRefused as refusal:
        if is_named(stored):
            raise
        pass_over(stored, f"no decision record: {refusal}")
        return None
    if subjects.token(record.task_id) != task:
        pass_over(stored, "a decision record of another task")
        return None
    return record


async def _stored(
    client: Client, task: str, sequence: int, last: int | None
) -> AsyncIterator[Delivery]:
    while True:
        page = await read_from(
            client,
            streams.DECISIONS,
            subjects.DECISION.where(task=task),
            sequence,
            _PAGE,
            known=last or 0,
        )
        if last is not None and not page:
            # Known to be there, as it was delivered: an episode without it would be another one.
            raise BusError(f"{last} of task {task} can't be read in DECISIONS")
        for stored in page:
            if last is None or stored.sequence <= last:
                yield stored
        # A short page is not the end: the broker also cuts by bytes.
        if not page or (last is not None and page[-1].sequence >= last):
            return
        sequence = page[-1].sequence + 1


def covered(stored: Sequence[StoredRecord]) -> Sequence[StoredRecord]:
    """Of all records of a task in stream order, those of the episode that the last one closes."""
    if not stored:
        raise EpisodeError("there are no decision records for the task")
    # A task that was opened again has an episode for each time it was closed.
    closings = [n for n, each in enumerate(stored[:-1]) if each.closes]
    records = stored[closings[-1] + 1 :] if closings else stored
    if not records[-1].closes or not records[-1].begins:
        raise EpisodeError("the last record does not close the task")
    if any(each.task_id != records[0].task_id for each in records):
        raise EpisodeError("the records belong to different tasks")
    return records


def episode_of(records: Sequence[StoredRecord]) -> str:
    """The id of the episode that these records make."""
    return episode_id(records[0].task_id, records[0].event_id)


def read_record(delivery: Delivery) -> DecisionRecord:
    """A decision record; MessageRefused for anything else."""
    return read_or_refuse(
        DecisionRecord.from_json,
        delivery.body,
        "only the policy evaluator may write decisions; find out who wrote this one",
    )
