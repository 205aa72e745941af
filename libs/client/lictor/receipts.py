"""Receipts: telling Lictor what was done with a decision, and reading what was told."""

from contextlib import aclosing

from nats.aio.client import Client
from nats.errors import Error as NatsError
from pydantic import ValidationError

from lictor.errors import LictorError, NotAllowed, Unreachable
from lictor.history.stored_history import StoredHistory, messages_of
from lictor_bus.errors import NotAllowed as BrokerRefuses
from lictor_bus.gates.history import DECISIONS, RECEIPTS
from lictor_bus.logs.entry_logs import body_in
from lictor_bus.names import subjects
from lictor_schema.core.canonical_json import CanonicalError
from lictor_schema.decisions.decision import DecisionRecord
from lictor_schema.decisions.receipt import ReceiptAnswer, ReceiptReport
from lictor_schema.gates.history import HistoryFilter

RECEIPT_TIMEOUT_S = 5.0


async def send_report(
    client: Client, report: ReceiptReport, timeout_s: float = RECEIPT_TIMEOUT_S
) -> ReceiptAnswer:
    """Report, and hear whether it was kept; raises Unreachable when nobody says so."""
    subject = subjects.receipt_report(report.runtime)
    try:
        reply = await client.request(subject, report.to_json(), timeout=timeout_s)
        return ReceiptAnswer.from_json(reply.data)
    except BrokerRefuses:
        raise NotAllowed(
            f"this NATS user may not report receipts as runtime {report.runtime}; a runtime reports under its own name,"
            " so name that one, or connect as the user of the other."
        ) from None
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


async def receipts_of(history: StoredHistory, record: DecisionRecord) -> list[ReceiptReport]:
    """Every report kept on a decision, oldest first."""
    only = HistoryFilter(task_id=record.task_id, id=record.record_id)
    return [
        report
        async for stored in history.read(RECEIPTS, only)
        if (report := body_in(stored, ReceiptReport.from_json)) is not None
    ]


async def find_decision(
    history: StoredHistory, record_id: str, task_id: str | None = None
) -> DecisionRecord | None:
    """A decision by its id; quick when its task is given, else all are read."""
    wanted = record_id.encode()
    async with aclosing(history.read(DECISIONS, messages_of(task_id=task_id))) as decisions:
        async for stored in decisions:
            if wanted in stored.body:
                record = body_in(stored, DecisionRecord.from_json)
                if record is not None and record.record_id == record_id:
                    return record
    return None
