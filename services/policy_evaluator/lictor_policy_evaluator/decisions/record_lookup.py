"""One decision record, found by its task and its time."""

from datetime import datetime

from nats.aio.client import Client

from lictor_bus.logs.entry_logs import body_in
from lictor_bus.names import streams, subjects
from lictor_bus.wire.read import read_from, read_since
from lictor_schema.decisions.decision import DecisionRecord

_PAGE = 100


async def find_record(
    client: Client, task_id: str, record_id: str, recorded_at: str
) -> DecisionRecord | None:
    """The decision record: it was stored at its own time or later, among those of its task."""
    subject = subjects.decisions_on_task(task_id)
    since = datetime.fromisoformat(recorded_at)
    page = await read_since(client, streams.DECISIONS, subject, since, _PAGE)
    while page:
        for stored in page:
            told = body_in(stored, DecisionRecord.from_json)
            if told is None:
                continue
            if told.record_id == record_id:
                return told
            # Decisions on a task stand in the order of its events: it can't come any more.
            if told.recorded_at > recorded_at:
                return None
        page = await read_from(client, streams.DECISIONS, subject, page[-1].sequence + 1, _PAGE)
    return None
