"""Events that happened, as the evaluator folds them: from the EVENTS stream, or from a file."""

import hashlib
from collections.abc import AsyncGenerator, Iterable, Iterator
from typing import NamedTuple

from nats.aio.client import Client

from lictor.errors import InvalidEvent, LictorError
from lictor.event_publishing import read_event
from lictor.history.stream_contents import stored
from lictor_bus.names import subjects
from lictor_bus.names.streams import EVENTS
from lictor_bus.wire.delivery import Delivery
from lictor_policy.events.position import EventPosition
from lictor_schema.core.time import to_micros
from lictor_schema.events.event import MAX_EVENT_BYTES, Event

ALL_EVENTS = subjects.EVENT.all


class PastEvent(NamedTuple):
    """An event, and where and when it was stored."""

    event: Event
    position: EventPosition


def events_of_task(task_id: str) -> str:
    """The subject of everything stored about a task."""
    return subjects.STORED_EVENT.where(task=subjects.token(task_id))


async def events_in_stream(
    client: Client, subject: str, upto: int
) -> AsyncGenerator[PastEvent | None, None]:
    """The events on a subject up to a sequence; None for one that the evaluator refuses to read."""
    async for delivery in stored(client, EVENTS, subject, upto):
        if not subjects.is_config_switch(delivery.subject):
            yield read_stored(delivery)


def events_in_file(documents: Iterable[tuple[str, bytes]], name: str) -> Iterator[PastEvent]:
    """The events of a file in its order; each counts as stored when it happened."""
    now = 0
    for number, (place, body) in enumerate(documents, 1):
        try:
            event = read_event(body)
        except InvalidEvent as error:
            raise LictorError(f"{name}, {place}: {error}.") from None
        # No broker ever stored an event before the one ahead of it.
        now = max(now, to_micros(event.timestamp))
        yield PastEvent(event, EventPosition(number, now, _sha256(body)))


def read_stored(delivery: Delivery) -> PastEvent | None:
    """The event in a stored message; None when the evaluator refuses to read it."""
    if len(delivery.body) > MAX_EVENT_BYTES:
        return None
    try:
        event = read_event(delivery.body)
    except InvalidEvent:
        return None
    tokens = [subjects.token(event.runtime), subjects.token(event.task_id)]
    if delivery.subject.split(".")[-2:] != tokens:
        return None
    return PastEvent(
        event,
        EventPosition(delivery.sequence, delivery.stored_at_ns // 1000, _sha256(delivery.body)),
    )


def _sha256(body: bytes) -> str:
    return "sha256:" + hashlib.sha256(body).hexdigest()
