"""Marks on decisions: making them, and reading what was marked."""

# pyright: reportUnknownMemberType=false
# nats-py leaves some of its parameters untyped.

from nats.aio.client import Client
from nats.js.errors import NotFoundError

from lictor.desk_orders import ask_desk, new_request_id
from lictor_bus.logs.entry_logs import all_entries, read_log
from lictor_bus.names import streams, subjects
from lictor_policy.decisions.marks import false_alarm
from lictor_schema.decisions.decision import DecisionRecord
from lictor_schema.decisions.mark import DecisionMark, MarkKind, MarkOrder
from lictor_schema.services.desk_answer import DeskAnswer


async def mark_decision(
    client: Client, record: DecisionRecord, mark: MarkKind, by: str, reason: str
) -> DeskAnswer:
    """Have a decision marked; raises DeskRefused with the reason and the remedy when it is not."""
    order = MarkOrder(
        request_id=new_request_id(),
        record_id=record.record_id,
        recorded_at=record.recorded_at,
        task_id=record.task_id,
        mark=mark,
        by=by,
        reason=reason,
    )
    return await ask_desk(client, "mark", order, DeskAnswer)


async def marks_of(client: Client, record: DecisionRecord) -> list[DecisionMark]:
    """Every mark on a decision, oldest first."""
    if not await _has_marks(client):
        return []
    subject = subjects.mark(record.task_id, record.record_id)
    found = await read_log(client, streams.MARKS, subject, DecisionMark.from_json)
    return [each for _, each in found.entries]


async def false_alarms(client: Client) -> frozenset[str]:
    """The ids of all decision records that are marked as false alarms."""
    by_record: dict[str, list[DecisionMark]] = {}
    if await _has_marks(client):
        found = all_entries(client, streams.MARKS, subjects.MARK.any, DecisionMark.from_json)
        async for _, mark in found:
            by_record.setdefault(mark.record_id, []).append(mark)
    return frozenset(name for name, marks in by_record.items() if false_alarm(marks))


async def _has_marks(client: Client) -> bool:
    """Whether there is such a stream: one that an older version declared has none yet."""
    try:
        await client.jetstream().stream_info(streams.MARKS)
    except NotFoundError:
        return False
    return True
