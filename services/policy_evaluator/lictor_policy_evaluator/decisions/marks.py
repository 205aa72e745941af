"""The desk where operators mark decisions as false alarms; no runtime may ask here (see lictor_bus.gates.desk).

The marks on one decision record share a subject, and each is stored on the condition that no other has come in between.
"""

import uuid
from collections.abc import Callable, Sequence
from datetime import UTC, datetime

from nats.aio.client import Client

from lictor_bus.ledger import WholeLedger
from lictor_bus.names import streams, subjects
from lictor_bus.service.telemetry import ServiceTelemetry
from lictor_bus.wire.appends import Appends
from lictor_policy.decisions.marks import marked
from lictor_policy.errors import UnacceptableEvent
from lictor_policy_evaluator.decisions.record_lookup import find_record
from lictor_schema.decisions.mark import DecisionMark, MarkOrder
from lictor_schema.services.desk_answer import DeskAnswer

# Random once, fixed for ever: changing it keeps every order that is repeated twice.
_ENTRY = uuid.UUID("0b6f5a0e-57b1-4a3f-9c35-2f2f5f0d9b5e")

MARKS = WholeLedger[DecisionMark, tuple[DecisionMark, ...]](
    "marks on the decision",
    streams.MARKS,
    parse=DecisionMark.from_json,
    fold=tuple,
    subject_of=lambda mark: subjects.mark(mark.task_id, mark.record_id),
)


class Marks:
    """Takes marks."""

    def __init__(
        self,
        client: Client,
        telemetry: ServiceTelemetry,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._client = client
        self._appends = Appends(client)
        self._telemetry = telemetry
        self._now = now

    async def take(self, order: MarkOrder) -> DeskAnswer:
        """Keep a mark, or refuse it with the reason and the remedy."""
        record = await find_record(self._client, order.task_id, order.record_id, order.recorded_at)
        if record is None:
            return DeskAnswer.refused(
                order.request_id,
                f"task {order.task_id} has no decision {order.record_id}"
                f" recorded at {order.recorded_at}",
                "repeat record_id, task_id and recorded_at of the decision record",
            )
        entry_id = str(uuid.uuid5(_ENTRY, f"{order.record_id} {order.request_id}"))

        def judge(before: Sequence[DecisionMark]) -> DecisionMark | None:
            return marked(record, before, order, entry_id=entry_id, at=self._now())

        log = MARKS.log(self._client, subjects.mark(order.task_id, order.record_id))
        try:
            changed = await MARKS.change(self._appends, log, judge, entry_id=entry_id)
        except UnacceptableEvent as error:
            return DeskAnswer.refused(
                order.request_id, f"{error.field}: {error.problem}", error.remedy
            )
        if changed.is_new and (mark := changed.entry) is not None:
            self._telemetry.decision_marked(
                mark.pack_id, mark.pack_version, mark.rule_id, mark.mark
            )
        return _done(order, changed.sequence)


def _done(order: MarkOrder, sequence: int) -> DeskAnswer:
    return DeskAnswer(
        request_id=order.request_id, outcome="done", state=order.mark, sequence=sequence
    )
