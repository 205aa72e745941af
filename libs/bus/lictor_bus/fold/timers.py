"""Timers that live in the broker: durable, exact, replaced or cancelled by one message.

A timer carries the whole message that is to appear when it is due. The broker moves it to a tick subject at that
moment, and ``TickRelay`` publishes it where it belongs. Nobody reads a clock: the message was written, with its
time, when the timer was set.
"""

import json
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import NamedTuple

from lictor_bus.names.subjects import schedule, tick
from lictor_bus.wire.delivery import Delivery
from lictor_bus.wire.publish import Outgoing

_TARGET_SUBJECT = "Lictor-Tick-Subject"
# A tick that nobody relays within a week would be of no use to anybody any more.
_TICK_LIFETIME = "168h"


class SetTimer(NamedTuple):
    """At ``due``, publish ``message``; replaces the timer of the same kind and key."""

    kind: str
    key: str
    due: datetime
    message: Outgoing


class CancelTimer(NamedTuple):
    """Forget the timer of this kind and key, if there is one."""

    kind: str
    key: str


Timer = SetTimer | CancelTimer


def timer_messages(timers: Iterable[Timer]) -> list[Outgoing]:
    """What to publish on TIMERS; of several orders for one timer only the last counts."""
    last: dict[tuple[str, str], Timer] = {}
    for timer in timers:
        last.pop((timer.kind, timer.key), None)
        last[timer.kind, timer.key] = timer
    return [
        _set(timer) if isinstance(timer, SetTimer) else _cancel(timer) for timer in last.values()
    ]


def due_message(ticked: Delivery) -> Outgoing:
    """The message that a tick asks to be published."""
    kept = {name: ticked.headers[name] for name in ("traceparent",) if name in ticked.headers}
    return Outgoing(ticked.headers[_TARGET_SUBJECT], ticked.body, None, kept)


def _set(timer: SetTimer) -> Outgoing:
    message = timer.message
    due = timer.due.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return Outgoing(
        schedule(timer.kind, timer.key),
        message.body,
        None,
        {
            **message.headers,
            "Nats-Schedule": f"@at {due}",
            "Nats-Schedule-Target": tick(timer.kind, timer.key),
            "Nats-Schedule-TTL": _TICK_LIFETIME,
            _TARGET_SUBJECT: message.subject,
        },
    )


def _cancel(timer: CancelTimer) -> Outgoing:
    # A roll-up takes the schedule's place, and then removes itself.
    return Outgoing(
        schedule(timer.kind, timer.key),
        json.dumps({"cancelled": True}).encode(),
        None,
        {"Nats-Rollup": "sub", "Nats-TTL": "1s"},
    )
