"""Receipts: telling Lictor what was done with a decision, and reading what was told."""

from collections.abc import AsyncIterator

from nats.aio.client import Client
from nats.errors import Error as NatsError
from pydantic import ValidationError

from lictor.errors import LictorError, Unreachable
from lictor_bus.logs.entry_logs import body_in
from lictor_bus.names import streams, subjects
from lictor_bus.wire.delivery import Delivery
from lictor_bus.wire.read import PAGE, read_from
from lictor_schema.core.canonical_json import CanonicalError
from lictor_schema.decisions.decision import DecisionRecord
from lictor_schema.decisions.receipt import ReceiptAnswer, ReceiptReport

RECEIPT_TIMEOUT_S = 5.0


async def send_report(
    client: Client, report: ReceiptReport, timeout_s: float = RECEIPT_TIMEOUT_S
) -> ReceiptAnswer:
    """Report, and hear whether it was kept; raises Unreachable when nobody says so."""
    subject = subjects.receipt_report(report.runtime)
    try:
        reply = await client.request(subject, report.to_json(), timeout=timeout_s)
        return ReceiptAnswer.from_json(reply.data)
    except (NatsError, TimeoutError) as error:
        told = str(error).removeprefix("nats: ") or type(error).__name__
        raise Unreachable(
            f"the receipt for {report.record_id} was not taken ({told}); report it again with the"
            " same report_id, and see `lictor doctor` if that goes on"
        ) from None
    except (ValidationError, CanonicalError) as error:
        raise LictorError(
            f"the answer to the receipt for {report.record_id} can't be used ({error});"
            " make sure that the services and this client have the same version"
        ) from None


async def receipts_of(client: Client, record: DecisionRecord) -> list[ReceiptReport]:
    """Every report kept on a decision, oldest first."""
    subject = subjects.receipts_of_record(record.task_id, record.record_id)
    return [
        report
        async for stored in _all(client, streams.RECEIPTS, subject)
        if (report := body_in(stored, ReceiptReport.from_json)) is not None
    ]


async def find_decision(
    client: Client, record_id: str, task_id: str | None = None
) -> DecisionRecord | None:
    """A decision by its id; quick when its task is given, else the whole stream is read."""
    subject = subjects.DECISION.any if task_id is None else subjects.decisions_on_task(task_id)
    wanted = record_id.encode()
    async for stored in _all(client, streams.DECISIONS, subject):
        if wanted in stored.body:
            record = body_in(stored, DecisionRecord.from_json)
            if record is not None and record.record_id == record_id:
                return record
    return None


async def _all(client: Client, stream: str, subject: str) -> AsyncIterator[Delivery]:
    sequence = 0
    # A page can be short of what was asked for: the broker also cuts by bytes.
    while page := await read_from(client, stream, subject, sequence + 1, PAGE):
        for stored in page:
            yield stored
        sequence = page[-1].sequence
