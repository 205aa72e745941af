"""From whatever a caller hands in to an event that the broker has stored, exactly once.

An event is checked here as the evaluator will check it, so a caller learns of a mistake at once and
by field. Then it is sent until the broker says that it is durable; every attempt carries the same
message id, so none can double it.
"""

import asyncio
import json
import secrets
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from nats.aio.client import Client
from nats.errors import (
    ConnectionClosedError,
    ConnectionDrainingError,
    MaxPayloadError,
    NoRespondersError,
    OutboundBufferLimitError,
)
from nats.errors import TimeoutError as NatsTimeout
from pydantic import ValidationError
from pydantic_core import PydanticSerializationError, to_json

from lictor.errors import EventRefused, InvalidEvent, NotAllowed, Unreachable
from lictor_bus.errors import NotAllowed as BrokerRefuses
from lictor_bus.names import subjects
from lictor_bus.names.subjects import event_message_id
from lictor_bus.wire.connection import own_message_id
from lictor_bus.wire.error_codes import UNAVAILABLE
from lictor_schema.core.canonical_json import CanonicalError
from lictor_schema.errors import describe_validation_error
from lictor_schema.events.event import MAX_EVENT_BYTES, Event, EventEnvelope, parse_event

STORE_TIMEOUT_S = 15.0
_ATTEMPT_S = 2.0
_FIRST_PAUSE_S = 0.05
_LONGEST_PAUSE_S = 1.0

AnyEvent = Event | Mapping[str, Any] | bytes | str


@dataclass(frozen=True, slots=True)
class Published:
    """A stored event: where it stands in the EVENTS stream, and whether it stood there before."""

    task_id: str
    event_id: str
    sequence: int
    duplicate: bool


def read_event(event: AnyEvent) -> Event:
    """The event as a model; raises InvalidEvent that names what is wrong."""
    if isinstance(event, EventEnvelope):
        return event
    try:
        body = event if isinstance(event, bytes | str) else to_json(event, by_alias=True)
        return parse_event(body)
    except ValidationError as error:
        problems = describe_validation_error(error)
        told = "; ".join(f"{problem.path} {problem.problem}" for problem in problems[:5])
        more = f"; and {len(problems) - 5} more" if len(problems) > 5 else ""
        raise InvalidEvent(f"the event is invalid: {told}{more}", problems) from None
    except PydanticSerializationError as error:
        raise InvalidEvent(f"the event is invalid: {_unwritable(event) or error}") from None
    # ValueError: a mapping that contains itself.
    except (CanonicalError, ValueError) as error:
        raise InvalidEvent(f"the event is invalid: {error}") from None


async def store_event(
    client: Client, event: Event, timeout_s: float = STORE_TIMEOUT_S
) -> Published:
    """Publish an event and return when it is durable."""
    body = event.to_json()
    if len(body) > MAX_EVENT_BYTES:
        raise EventRefused(
            f"the event is too large: it has {len(body)} bytes, the limit is {MAX_EVENT_BYTES},"
            f" and most of it is {_largest_field(body)};"
            " keep large content elsewhere and name it in evidence_refs"
        )
    headers = {
        "Nats-Msg-Id": own_message_id(
            client, event_message_id(event.runtime, event.task_id, event.event_id)
        ),
        "traceparent": traceparent(),
    }
    subject = subjects.event(event.runtime, event.task_id)
    sequence, duplicate = await _store(client, subject, body, headers, timeout_s)
    return Published(event.task_id, event.event_id, sequence, duplicate)


async def _store(
    client: Client, subject: str, body: bytes, headers: dict[str, str], timeout_s: float
) -> tuple[int, bool]:
    loop = asyncio.get_running_loop()
    deadline = loop.time() + timeout_s
    pause = _FIRST_PAUSE_S
    may_be_ours = False
    while True:
        left = max(0.001, deadline - loop.time())
        try:
            answer = await client.request(
                subject, body, timeout=min(_ATTEMPT_S, left), headers=headers
            )
        except BrokerRefuses:
            raise NotAllowed(
                f"the event was not stored: this NATS user may not publish to {subject}; a runtime publishes under its"
                " own name, so name that one, or connect as the user of the other."
            ) from None
        except (ConnectionClosedError, ConnectionDrainingError):
            raise Unreachable("the connection to NATS is closed; connect again.") from None
        except MaxPayloadError:
            raise EventRefused(
                f"the event is too large for this NATS server: it has {len(body)} bytes,"
                f" the server takes {client.max_payload}; raise the server's max_payload"
            ) from None
        except (NatsTimeout, NoRespondersError, OutboundBufferLimitError) as error:
            # It may be stored all the same, so a "duplicate" from now on may be this very event.
            may_be_ours = may_be_ours or isinstance(error, NatsTimeout)
            problem = _unanswered(error)
        else:
            acknowledgement = json.loads(answer.data)
            error = acknowledgement.get("error")
            if error is None:
                duplicate = bool(acknowledgement.get("duplicate")) and not may_be_ours
                return int(acknowledgement["seq"]), duplicate
            problem = str(error.get("description", "no reason given"))
            if error.get("code") != UNAVAILABLE:
                raise EventRefused(f"the broker refused the event: {problem}")
        if loop.time() + pause >= deadline:
            raise Unreachable(f"the event was not stored within {timeout_s:g} s: {problem}")
        await asyncio.sleep(pause)
        pause = min(pause * 2, _LONGEST_PAUSE_S)


def _unwritable(value: object, path: tuple[str, ...] = ()) -> str | None:
    """The first field that can't be written as JSON, and why; the serialiser tells only why."""
    if isinstance(value, Mapping):
        members = list(cast("Mapping[object, object]", value).items())
    elif isinstance(value, list | tuple):
        members = list(enumerate(cast("Sequence[object]", value)))
    else:
        try:
            to_json(value)
        except PydanticSerializationError as error:
            return f"{'.'.join(path)} can't be written as JSON: {error}"
        return None
    found = (_unwritable(member, (*path, str(key))) for key, member in members)
    return next((problem for problem in found if problem is not None), None)


def _unanswered(error: Exception) -> str:
    match error:
        case NoRespondersError():
            return "no stream takes events there; start the services with `lictor up`."
        case OutboundBufferLimitError():
            return "NATS is disconnected and too much waits to be sent; try again later."
        case _:
            return "NATS does not answer; `lictor doctor` says what is wrong."


def _largest_field(body: bytes) -> str:
    """The path of the deepest field that makes up more than half of an event."""
    value: Any = json.loads(body)
    path: list[str] = []
    while isinstance(value, dict | list):
        members = cast(
            "dict[Any, Any]",
            value if isinstance(value, dict) else dict(enumerate(cast("list[Any]", value))),
        )
        if not members:
            break
        sizes = {key: len(json.dumps(member)) for key, member in members.items()}
        key = max(sizes, key=sizes.__getitem__)
        if path and sizes[key] * 2 < sum(sizes.values()):
            break
        path.append(str(key))
        value = members[key]
    return ".".join(path)


def traceparent() -> str:
    """The W3C `traceparent` of the active OpenTelemetry span, or else of a new trace."""
    # Looked up, not imported: a process that doesn't trace should not pay for it.
    trace = sys.modules.get("opentelemetry.trace")
    if trace is not None:
        context = trace.get_current_span().get_span_context()
        if context.is_valid:
            return f"00-{context.trace_id:032x}-{context.span_id:016x}-{context.trace_flags:02x}"
    return f"00-{_nonzero_hex(16)}-{_nonzero_hex(8)}-01"


def _nonzero_hex(size: int) -> str:
    # All zeros means "no id" in a traceparent.
    while not any(number := secrets.token_bytes(size)):
        pass
    return number.hex()
