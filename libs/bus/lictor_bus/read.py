"""Reading a stream itself, beside any consumer: ranges by sequence, last messages by subject."""

# pyright: reportUnknownMemberType=false
# nats-py leaves some of its parameters untyped.

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from datetime import UTC, datetime
from typing import Any

from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.errors import Error as NatsError

from lictor_bus.delivery import Delivery, from_direct_get
from lictor_bus.errors import BusError, TooManySubjects

# The server answers at most 1 024 messages to one request; eight dispositions a task leave room.
_SUBJECTS_PER_REQUEST = 100
_NO_MESSAGE_FOUND = 10037
_TOO_MANY_RESULTS = "413"
# The server's own limit is all that it keeps for a client that reads slowly: it would cut the connection for it.
_BYTES_PER_ANSWER = 8 * 1024 * 1024


async def read_from(
    client: Client, stream: str, subject: str, sequence: int, limit: int
) -> list[Delivery]:
    """Up to ``limit`` messages on ``subject``, at ``sequence`` or later, in stream order.

    An answer is cut by bytes too: fewer than ``limit`` don't mean that there are no more.
    """
    found, _ = await _direct_get(
        client, stream, {"seq": max(1, sequence), "next_by_subj": subject, "batch": limit}
    )
    return found


async def read_all(
    client: Client, stream: str, subject: str, page: int = 200, *, after: int = 0
) -> AsyncIterator[Delivery]:
    """Every message on ``subject`` after a sequence, in stream order, until there are no more."""
    sequence = after + 1
    while found := await read_from(client, stream, subject, sequence, page):
        for stored in found:
            yield stored
        sequence = found[-1].sequence + 1


async def read_since(
    client: Client, stream: str, subject: str, moment: datetime, limit: int
) -> list[Delivery]:
    """Up to ``limit`` messages on ``subject`` that were stored at ``moment`` or later."""
    start = moment.astimezone(UTC).isoformat().replace("+00:00", "Z")
    found, _ = await _direct_get(
        client, stream, {"start_time": start, "next_by_subj": subject, "batch": limit}
    )
    return found


async def last_on_subjects(client: Client, stream: str, subjects: Sequence[str]) -> list[Delivery]:
    """The last message on each subject that the given filters match."""
    found: list[Delivery] = []
    for start in range(0, len(subjects), _SUBJECTS_PER_REQUEST):
        chunk = list(subjects[start : start + _SUBJECTS_PER_REQUEST])
        sequence, left = 1, True
        while left:
            page, left = await _direct_get(client, stream, {"multi_last": chunk, "seq": sequence})
            found += page
            sequence = page[-1].sequence + 1 if page else sequence
    return found


async def any_on_subjects(client: Client, stream: str, subjects: Sequence[str]) -> set[str]:
    """Which subjects have a message, of those that these filters match; a filter that matches too many stands for all.

    Much cheaper than reading each: the broker tells of a hundred filters at once.
    """
    found: set[str] = set()
    for start in range(0, len(subjects), _SUBJECTS_PER_REQUEST):
        found |= await _any_of(client, stream, subjects[start : start + _SUBJECTS_PER_REQUEST])
    return found


async def _any_of(client: Client, stream: str, filters: Sequence[str]) -> set[str]:
    try:
        return {stored.subject for stored in await last_on_subjects(client, stream, filters)}
    except TooManySubjects:
        if len(filters) == 1:
            return set(filters)
    half = len(filters) // 2
    return await _any_of(client, stream, filters[:half]) | await _any_of(
        client, stream, filters[half:]
    )


async def last_sequence(
    client: Client, stream: str, subject: str, *, replicas: int, timeout_s: float
) -> int:
    """The sequence of the last message on a subject, which may hold wildcards; 0 when there is none.

    Raises BusError when the broker does not say. Of a stream with replicas the leader is asked, because
    the others may lag behind what it has acknowledged.
    """
    direct = replicas == 1
    api = "$JS.API.DIRECT.GET." if direct else "$JS.API.STREAM.MSG.GET."
    try:
        answer = await client.request(
            api + stream, json.dumps({"last_by_subj": subject}).encode(), timeout=timeout_s
        )
    except (NatsError, TimeoutError) as error:
        raise BusError(f"{stream} could not be asked for its last message: {error}") from None
    if not direct:
        return _sequence_told(stream, json.loads(answer.data))
    headers = answer.headers or {}
    # An answer with a sequence is a stored message, whatever headers its sender gave it.
    if "Nats-Sequence" in headers:
        return int(headers["Nats-Sequence"])
    if headers.get("Status") == "404":
        return 0
    raise BusError(f"reading {stream} failed: {headers.get('Status')} {headers.get('Description')}")


def _sequence_told(stream: str, content: dict[str, Any]) -> int:
    error = content.get("error")
    if error is None:
        return int(content["message"]["seq"])
    if error.get("err_code") == _NO_MESSAGE_FOUND:
        return 0
    raise BusError(f"reading {stream} failed: {error.get('description')}")


async def _direct_get(
    client: Client, stream: str, request: dict[str, Any]
) -> tuple[list[Delivery], bool]:
    """One answer of the broker, and whether it was cut short."""
    found: list[Delivery] = []
    done: asyncio.Future[int] = asyncio.get_running_loop().create_future()

    async def on_message(message: Msg) -> None:
        if done.done():
            return
        headers = message.headers or {}
        status = headers.get("Status")
        # An answer with a sequence is a stored message, whatever headers its sender gave it.
        if status is None or "Nats-Sequence" in headers:
            found.append(from_direct_get(message))
        elif status in {"204", "404"}:
            done.set_result(int(headers.get("Nats-Num-Pending", 0)))
        else:
            description = headers.get("Description", "")
            kind = TooManySubjects if status == _TOO_MANY_RESULTS else BusError
            done.set_exception(kind(f"reading {stream} failed: {status} {description}".rstrip()))

    inbox = client.new_inbox()
    subscription = await client.subscribe(
        inbox, cb=on_message, pending_msgs_limit=-1, pending_bytes_limit=-1
    )
    try:
        await client.publish(
            f"$JS.API.DIRECT.GET.{stream}",
            json.dumps({**request, "max_bytes": _BYTES_PER_ANSWER}).encode(),
            reply=inbox,
        )
        async with asyncio.timeout(10):
            left = await done
    except TimeoutError:
        raise BusError(f"reading {stream} failed: no answer in 10 s") from None
    finally:
        if not client.is_closed:
            await subscription.unsubscribe()
    # An answer that holds nothing has no end to go on from.
    return found, bool(left and found)
