"""Receipts on the bus: a runtime says what it did with a decision; checked, then kept exactly once.

The reports on one decision record share a subject filter, and each is stored on the condition that no other has come in
between: so of two instances that check at once, only one can store.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from nats.aio.client import Client

from lictor_bus.ledger import Ledger, Log, Reading
from lictor_bus.logs.entry_logs import body_in, judged_in
from lictor_bus.names import streams, subjects
from lictor_bus.wire.appends import Appends
from lictor_bus.wire.delivery import Delivery
from lictor_bus.wire.publish import Outgoing
from lictor_bus.wire.read import read_from, stored_from
from lictor_policy.decisions.receipts import find_dishonesty
from lictor_policy.judge.step import KEEP_CLOSED_TASKS_S
from lictor_policy.task.obligation_transitions import RUNTIME
from lictor_policy_evaluator.decisions.record_lookup import find_record
from lictor_policy_evaluator.packs.configs_in_force import ConfigsInForce
from lictor_schema.decisions.decision import DecisionRecord
from lictor_schema.decisions.receipt import ReceiptAnswer, ReceiptReport

log = logging.getLogger("lictor.receipt")

_PAGE = 100
_ASK_WITHIN_S = 5.0
_REPORT = b'{"report_id":"'
# In a record the quotes within a text are escaped, so this is the field and nothing else.
_STARTED = b'"event_type":"task_started"'


class Receipts:
    """Takes receipt reports."""

    def __init__(
        self,
        client: Client,
        configs: ConfigsInForce,
        *,
        partitions: int,
    ) -> None:
        self._client = client
        self._appends = Appends(client)
        self._configs = configs
        self._partitions = partitions

    async def take(self, report: ReceiptReport) -> ReceiptAnswer:
        """Keep a report, or refuse it with the field and the remedy."""
        record = await find_record(
            self._client, report.task_id, report.record_id, report.recorded_at
        )
        if record is None:
            return ReceiptAnswer.refused(
                report.record_id,
                "record_id",
                f"task {report.task_id} has no decision {report.record_id}"
                f" recorded at {report.recorded_at}",
                "repeat record_id, task_id and recorded_at of the decision record",
            )
        task_runtime = await self._task_runtime(record)
        partition = subjects.partition_of(subjects.token(report.task_id), self._partitions)
        config = await self._configs.now(partition, _ASK_WITHIN_S)

        def judge(before: Sequence[ReceiptReport]) -> _Kept:
            dishonest = find_dishonesty(
                report, record, task_runtime, before, config.capabilities.get(report.runtime)
            )
            if dishonest is not None:
                raise _Dishonest(*dishonest, before[-1].receipt if before else record.receipt)
            return _Kept(report)

        log = _ReportLog(
            self._client, subjects.receipts_of_record(report.task_id, report.record_id)
        )
        try:
            changed = await RECEIPTS.change(self._appends, log, judge, entry_id=report.report_id)
        except _Dishonest as error:
            return ReceiptAnswer.refused(report.record_id, *error.args)
        if changed.entry is not None and not changed.is_new:
            return _again(report, changed.entry.report, changed.sequence, changed.state[-1])
        return ReceiptAnswer(
            outcome="stored",
            record_id=report.record_id,
            sequence=changed.sequence,
            receipt=report.receipt,
        )

    async def _task_runtime(self, record: DecisionRecord) -> str:
        """Who carries the decision out: on an event that we derived, the runtime that started the task.

        Before the start anybody may have announced the task; of one that never started, the first who did counts.
        """
        if record.runtime != RUNTIME:
            return record.runtime
        subject = subjects.decisions_on_task(record.task_id)
        announced = started = None
        sequence = 1
        while page := await read_from(self._client, streams.DECISIONS, subject, sequence, _PAGE):
            for stored in page:
                if announced is not None and _STARTED not in stored.body:
                    continue
                told = body_in(stored, DecisionRecord.from_json)
                if told is None:
                    continue
                if told.event_sequence >= record.event_sequence:
                    return started or announced or record.runtime
                if told.runtime != RUNTIME:
                    announced = announced or told.runtime
                if told.event_type == "task_started":
                    started = told.runtime
                    # An id is used again only after its task was forgotten: no other start can lie between.
                    since = _moment(record) - _moment(told)
                    if since.total_seconds() < KEEP_CLOSED_TASKS_S:
                        return started
            sequence = page[-1].sequence + 1
        return started or announced or record.runtime


class _Dishonest(Exception):
    """A report that can't be true; says the field, the problem, the remedy, and the receipt that counts."""


@dataclass(frozen=True, slots=True)
class _Kept:
    """A report, as the log of a decision holds it."""

    report: ReceiptReport

    @property
    def entry_id(self) -> str:
        return self.report.report_id

    def to_json(self) -> bytes:
        return self.report.to_json()


RECEIPTS = Ledger[_Kept, tuple[ReceiptReport, ...]]("receipts of the decision", streams.RECEIPTS)


class _ReportLog(Log[_Kept, tuple[ReceiptReport, ...]]):
    """The reports on one decision; there are never many."""

    def __init__(self, client: Client, subject: str) -> None:
        self._client = client
        self._filter = subject
        self.subjects = subject

    async def read(self) -> Reading[_Kept, tuple[ReceiptReport, ...]]:
        entries: list[tuple[int, _Kept]] = []
        last = 0
        while page := await stored_from(
            self._client, streams.RECEIPTS, self._filter, last + 1, _PAGE
        ):
            for stored in page:
                report = _report(stored)
                if report is not None:
                    entries.append((stored.sequence, _Kept(report)))
            last = page[-1].sequence
        return Reading(tuple(kept.report for _, kept in entries), last, tuple(entries))

    def message(self, entry: _Kept) -> Outgoing:
        report = entry.report
        subject = subjects.receipt(
            report.runtime, report.receipt.status.value, report.task_id, report.record_id
        )
        # Without a message id: a report's own id is one among those of its decision only.
        return Outgoing(subject, report.to_json())


def _report(stored: Delivery) -> ReceiptReport | None:
    """The report, None for what is foreign; UnreadableEntry for one of a newer version."""
    if not stored.body.startswith(_REPORT):
        return None
    return judged_in(stored, ReceiptReport.from_json)


def _again(
    report: ReceiptReport, kept: ReceiptReport, sequence: int, last: ReceiptReport
) -> ReceiptAnswer:
    # Whoever had no answer reports again, later.
    if kept.model_copy(update={"reported_at": report.reported_at}) != report:
        return ReceiptAnswer.refused(
            report.record_id,
            "report_id",
            f"{report.report_id} is the id of another report on this decision",
            "give every report an id of its own",
            last.receipt,
        )
    return ReceiptAnswer(
        outcome="duplicate",
        record_id=report.record_id,
        sequence=sequence,
        receipt=last.receipt,
    )


def _moment(record: DecisionRecord) -> datetime:
    return datetime.fromisoformat(record.recorded_at)
