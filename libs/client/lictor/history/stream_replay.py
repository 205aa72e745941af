"""Replay: refold the event stream from its start and compare every decision with the one on record.

Each event is judged by the configuration that its partition's switches name, rebuilt from the bundle in PACKS;
the comparison is byte for byte. Everything is read up to where the streams stood at the beginning.
"""

# pyright: reportUnknownMemberType=false
# nats-py leaves some of its parameters untyped.

import hashlib
import json
from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from nats.aio.client import Client
from nats.js.errors import NotFoundError

from lictor.errors import LictorError
from lictor.history.event_sources import ALL_EVENTS, PastEvent, events_of_task, read_stored
from lictor.history.replay_spool import RecordedDecision, RecordShelf, TaskShelf
from lictor.history.stream_contents import extent, stored
from lictor_bus.logs.packs import SwitchAt, load_bundle, read_switches
from lictor_bus.names import subjects
from lictor_bus.names.streams import DECISIONS, EVENTS, partitions_of
from lictor_bus.wire.delivery import Delivery
from lictor_bus.wire.read import read_from
from lictor_policy.judge.config import EvaluatorConfig
from lictor_policy.judge.step import decided_in
from lictor_policy.offline.replay import (
    RecordDifference,
    Refold,
    different,
    extra,
    missing,
    of_the_event,
)
from lictor_policy.packs.bundle import read_bundle
from lictor_policy.version import ENGINE_VERSION
from lictor_schema.packs.release import ConfigSwitch

_EVALUATOR = "policy-evaluator"
_PAGE = 1000


@dataclass
class ReplayReport:
    """What a replay found."""

    events: int = 0
    decisions: int = 0
    refused: int = 0
    """Events that no decision is owed for: unreadable, repeated, or not to be judged."""
    same: int = 0
    undecided: int = 0
    """Events at the end that the evaluator has not come to yet."""
    configs: set[str] = field(default_factory=set[str])
    other_engines: set[str] = field(default_factory=set[str])
    """Engines other than this one that judged some of the events."""
    by_other_engines: int = 0
    """Decisions of theirs, whose records only they can make again; what those repeat of their events is as it was
    stored."""
    differences: list[RecordDifference] = field(default_factory=list[RecordDifference])
    """The first of them."""
    differing: int = 0

    def add(self, difference: RecordDifference, keep: int) -> None:
        """Count a difference, and keep it while there is room."""
        self.differing += 1
        if len(self.differences) < keep:
            self.differences.append(difference)


class Judges:
    """The configuration for each event: by the switches of its partition, or one for all."""

    def __init__(self, client: Client, fixed: EvaluatorConfig | None) -> None:
        self._client = client
        self._fixed = fixed
        self._switches: dict[int, list[SwitchAt]] = {}
        self._sequences: dict[int, list[int]] = {}
        self._compiled: dict[str, EvaluatorConfig] = {}
        self.other_engines: set[str] = set()

    async def read(self, partitions: int) -> None:
        """Read every switch there is."""
        if self._fixed is not None:
            return
        for partition in range(partitions):
            found = await read_switches(self._client, partition)
            self._switches[partition] = found
            self._sequences[partition] = [at.sequence for at in found]

    async def of(self, partition: int, sequence: int) -> EvaluatorConfig:
        """What judged an event."""
        if self._fixed is not None:
            return self._fixed
        switches = self._switches[partition]
        if not switches:
            raise LictorError(
                f"partition {partition} of EVENTS does not say which packs judged it;"
                " name them with --from-bundle DIR."
            )
        switch = self._switch(partition, sequence)
        if switch.engine != ENGINE_VERSION:
            self.other_engines.add(switch.engine)
        config = self._compiled.get(switch.bundle_hash)
        if config is None:
            config = read_bundle(await load_bundle(self._client, switch.bundle_hash)).config
            self._compiled[switch.bundle_hash] = config
        return config

    def is_of_this_engine(self, partition: int, sequence: int) -> bool:
        """Whether this engine judged an event, so that its decision can be told byte for byte."""
        return self._fixed is not None or self._switch(partition, sequence).engine == ENGINE_VERSION

    def _switch(self, partition: int, sequence: int) -> ConfigSwitch:
        # What lies before the first switch was judged by it too.
        at = bisect_right(self._sequences[partition], sequence) - 1
        return self._switches[partition][max(0, at)].switch


class Records:
    """The decisions on record, taken in the order of their events."""

    def __init__(self, client: Client, rows: Iterator[RecordedDecision]) -> None:
        self._client = client
        self._rows = rows
        self._next = next(rows, None)

    def until(self, sequence: int) -> Iterator[RecordedDecision]:
        """The records about events before this one that were not taken, then those about it."""
        while self._next is not None and self._next.event_sequence <= sequence:
            yield self._next
            self._next = next(self._rows, None)

    async def body(self, record: RecordedDecision) -> bytes:
        """The whole record."""
        found = await read_from(self._client, DECISIONS, subjects.DECISION.any, record.sequence, 1)
        return found[0].body if found else b""


async def replay(
    client: Client,
    *,
    task_id: str | None = None,
    fixed: EvaluatorConfig | None = None,
    keep: int = 100,
    advance: Callable[[], None] = lambda: None,
) -> ReplayReport:
    """Refold everything, or one task, and compare."""
    report = ReplayReport()
    upto = (await extent(client, EVENTS)).last_sequence
    info = await client.jetstream().stream_info(EVENTS)
    partitions = partitions_of(info.config)
    done = [await _done_until(client, partition) for partition in range(partitions)]
    judges = Judges(client, fixed)
    await judges.read(partitions)
    shelf, tasks = RecordShelf(), TaskShelf()
    try:
        await _read_records(client, task_id, shelf, report, advance)
        records = Records(client, shelf.in_order())
        refold = Refold(tasks)
        subject = ALL_EVENTS if task_id is None else events_of_task(task_id)
        async for delivery in stored(client, EVENTS, subject, upto, page=_PAGE):
            advance()
            if subjects.is_config_switch(delivery.subject):
                continue
            report.events += 1
            await _compare(delivery, judges, refold, records, report, done, keep)
        # Records of events that came while we read are not looked at.
        for record in records.until(upto):
            report.add(extra(await records.body(record)), keep)
    finally:
        shelf.close()
        tasks.close()
    report.other_engines = judges.other_engines
    return report


async def _compare(
    delivery: Delivery,
    judges: Judges,
    refold: Refold,
    records: Records,
    report: ReplayReport,
    done: list[int],
    keep: int,
) -> None:
    sequence = delivery.sequence
    partition = int(delivery.subject.split(".")[2])
    past: PastEvent | None = read_stored(delivery)
    outcome = None
    rows = list(records.until(sequence))
    if past is not None:
        config = await judges.of(partition, sequence)
        report.configs.add(config.config_hash)
        decided = None
        if rows and not judges.is_of_this_engine(partition, sequence):
            told = decided_in(await records.body(rows[-1]))
            decided = told[1] if told is not None else None
        outcome = refold.take(past.event, past.position, config, decided)
    report.refused += outcome is None
    found = False
    for record in rows:
        if past is None or outcome is None or found or record.event_sequence < sequence:
            report.add(extra(await records.body(record)), keep)
            continue
        found = True
        if record.digest == _digest(outcome.record_json):
            report.same += 1
        else:
            body = await records.body(record)
            difference: RecordDifference | None = different(outcome, past.event, sequence, body)
            if not judges.is_of_this_engine(partition, sequence):
                difference = of_the_event(difference)
            if difference is None:
                report.by_other_engines += 1
            else:
                report.add(difference, keep)
    if past is None or outcome is None or found:
        return
    if sequence > done[partition]:
        report.undecided += 1
    else:
        report.add(missing(outcome, past.event, sequence), keep)


async def _read_records(
    client: Client,
    task_id: str | None,
    shelf: RecordShelf,
    report: ReplayReport,
    advance: Callable[[], None],
) -> None:
    upto = (await extent(client, DECISIONS)).last_sequence
    subject = subjects.DECISION.any if task_id is None else subjects.decisions_on_task(task_id)
    rows: list[RecordedDecision] = []
    async for delivery in stored(client, DECISIONS, subject, upto, page=_PAGE):
        advance()
        report.decisions += 1
        rows.append(
            RecordedDecision(_event_sequence(delivery), delivery.sequence, _digest(delivery.body))
        )
        if len(rows) == _PAGE:
            shelf.add(rows)
            rows.clear()
    shelf.add(rows)


def _event_sequence(delivery: Delivery) -> int:
    """What a record is about; 0, which no event has, when it does not say."""
    try:
        return int(json.loads(delivery.body)["event_sequence"])
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
        return 0


def _digest(record: bytes) -> bytes:
    return hashlib.sha256(record).digest()


async def _done_until(client: Client, partition: int) -> int:
    """Up to where the evaluator has committed a partition: what lies before must be decided."""
    try:
        info = await client.jetstream().consumer_info(EVENTS, f"{_EVALUATOR}-{partition}")
    except NotFoundError:
        return 0
    return info.ack_floor.stream_seq if info.ack_floor else 0
