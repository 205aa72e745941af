"""Receipts on the bus: a runtime says what it did with a decision; checked, then kept exactly once.

The reports on one decision record share a subject filter, and each is stored on the condition that no other has come in
between: so of two instances that check at once, only one can store.
"""

import json
import logging
from datetime import datetime

from nats.aio.client import Client

from lictor_bus.errors import BusError
from lictor_bus.names import streams, subjects
from lictor_bus.wire.delivery import Delivery
from lictor_bus.wire.read import read_from
from lictor_policy.decisions.receipts import find_dishonesty
from lictor_policy.judge.step import KEEP_CLOSED_TASKS_S
from lictor_policy.task.obligation_transitions import RUNTIME
from lictor_policy_evaluator.decisions.record_lookup import find_record
from lictor_policy_evaluator.packs.configs_in_force import ConfigsInForce
from lictor_schema.decisions.decision import DecisionRecord
from lictor_schema.decisions.receipt import ReceiptAnswer, ReceiptReport

log = logging.getLogger("lictor.receipt")

_PAGE = 100
_TRIES = 20
_ASK_WITHIN_S = 5.0
_WRONG_LAST_SEQUENCE = 10071
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
        subject = subjects.receipts_of_record(report.task_id, report.record_id)
        for _ in range(_TRIES):
            stored = await self._kept(subject)
            before = [ReceiptReport.from_json(each.body) for each in stored]
            for each, kept in zip(stored, before, strict=True):
                if kept.report_id == report.report_id:
                    return self._again(report, kept, each, before[-1])
            dishonest = find_dishonesty(
                report, record, task_runtime, before, config.capabilities.get(report.runtime)
            )
            if dishonest is not None:
                return ReceiptAnswer.refused(
                    report.record_id, *dishonest, before[-1].receipt if before else record.receipt
                )
            sequence = await self._store(report, subject, stored[-1].sequence if stored else 0)
            if sequence is not None:
                return ReceiptAnswer(
                    outcome="stored",
                    record_id=report.record_id,
                    sequence=sequence,
                    receipt=report.receipt,
                )
        raise BusError(f"others kept reporting on {report.record_id}")

    async def _kept(self, subject: str) -> list[Delivery]:
        """The reports on a decision so far; there are never many."""
        kept: list[Delivery] = []
        # A page can be short of what was asked for: the broker also cuts by bytes.
        while page := await read_from(
            self._client, streams.RECEIPTS, subject, kept[-1].sequence + 1 if kept else 1, _PAGE
        ):
            kept += page
        return kept

    def _again(
        self, report: ReceiptReport, kept: ReceiptReport, stored: Delivery, last: ReceiptReport
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
            sequence=stored.sequence,
            receipt=last.receipt,
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
                told = DecisionRecord.from_json(stored.body)
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

    async def _store(self, report: ReceiptReport, subject: str, after: int) -> int | None:
        """The sequence it got; None when another report came in between."""
        answer = await self._client.request(
            subjects.receipt(report.receipt.status.value, report.task_id, report.record_id),
            report.to_json(),
            timeout=5,
            headers={
                "Nats-Expected-Last-Subject-Sequence": str(after),
                "Nats-Expected-Last-Subject-Sequence-Subject": subject,
            },
        )
        content = json.loads(answer.data)
        error = content.get("error")
        if error is None:
            return int(content["seq"])
        if error.get("err_code") == _WRONG_LAST_SEQUENCE:
            return None
        raise BusError(f"{streams.RECEIPTS} refused a receipt: {error.get('description')}")


def _moment(record: DecisionRecord) -> datetime:
    return datetime.fromisoformat(record.recorded_at)
