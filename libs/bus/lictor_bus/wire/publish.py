"""Publishing: one atomic batch to one stream, all stored or none.

The broker refuses a batch whole when it holds a message id it knows, or when too many batches are under way. Then, and
only then, the messages go out one by one, and the broker drops those it has; so a batch that was half of somebody
else's ends up exactly once.
"""

import json
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.errors import NoRespondersError
from nats.errors import TimeoutError as NatsTimeout
from nats.nuid import NUID

from lictor_bus.concurrency import together
from lictor_bus.errors import BatchRefused, BusError, NotAllowed, SequenceConflict
from lictor_bus.names.subjects import published_subject
from lictor_bus.wire.delivery import NO_HEADERS, Delivery
from lictor_bus.wire.error_codes import DUPLICATE_IN_BATCH, WRONG_LAST_SEQUENCES
from lictor_bus.wire.provenance import LOG, is_named
from lictor_bus.wire.read import stored_from

# The broker's own limit for one atomic batch.
MAX_BATCH = 1000
HEADER_ROOM = 16 * 1024
"""What headers may add to a body, with the ids and the reasons in them, within the server's `max_payload`."""
# The broker has as many unfinished batches as it takes: it refuses the first message, which nobody hears of, and then
# the last for the lack of it. Whoever leaves batches open must not hold the others up.
_BATCHES_FULL = (10176, 10210)
_ONE_BY_ONE = (DUPLICATE_IN_BATCH, *_BATCHES_FULL)
_LOOKED_AT_ONCE = 64
_SUBJECT_IS_FULL = "maximum messages per subject exceeded"

_nuid = NUID()


class Outgoing(NamedTuple):
    """A message on its way to a stream; the id makes publishing it twice the same as once."""

    subject: str
    body: bytes
    message_id: str | None = None
    headers: Mapping[str, str] = NO_HEADERS


async def publish_batch(
    client: Client, stream: str, messages: Sequence[Outgoing], timeout_s: float = 10
) -> int:
    """Store the messages as one unit and return the stream sequence of the last."""
    if not messages:
        raise ValueError("an atomic batch needs at least one message")
    if len(messages) > MAX_BATCH:
        raise ValueError(f"an atomic batch holds at most {MAX_BATCH} messages, got {len(messages)}")
    batch_id = _nuid.next().decode()
    await _send_frames(
        client,
        [_frame(message, batch_id, number) for number, message in enumerate(messages[:-1], 1)],
    )
    last = messages[-1]
    headers = {
        **_headers(last),
        "Nats-Batch-Id": batch_id,
        "Nats-Batch-Sequence": str(len(messages)),
        "Nats-Batch-Commit": "1",
    }
    return _stored_sequence(stream, await _request(client, last, headers, timeout_s))


async def publish_one(client: Client, stream: str, message: Outgoing) -> int | None:
    """Store one message; None when the stream has it already."""
    sequence, known_at = await _store(client, stream, message)
    if known_at is None:
        return sequence
    return await _store_despite(client, stream, message, known_at)


async def _store(client: Client, stream: str, message: Outgoing) -> tuple[int | None, int | None]:
    """Where the message is stored, and where its id is known from; neither where its subject takes no more."""
    answer = await _request(client, message, _headers(message))
    content = json.loads(answer.data)
    if content.get("duplicate"):
        return None, int(content["seq"])
    if _SUBJECT_IS_FULL in content.get("error", {}).get("description", ""):
        return None, None
    return _stored_sequence(stream, answer), None


async def _store_despite(client: Client, stream: str, message: Outgoing, at: int) -> int | None:
    """Store a message whose id the stream knows, if it is another's; None if it is its own."""
    try:
        found = await stored_from(client, stream, ">", at, 1, known=at)
    except NotAllowed:
        # A runtime may not look; but its ids are its own, and nobody else could have made them.
        return None
    if not found or found[0].sequence != at or _is_known(found[0], message):
        return None
    # A copy of a message of ours has taken the id, elsewhere in the stream: it must not keep this one out.
    answer = await _request(client, message, _headers(message._replace(message_id=None)))
    return _stored_sequence(stream, answer)


def _is_known(found: Delivery, message: Outgoing) -> bool:
    """Whether what has the id is the message itself, or another result of ours under the same id: the first counts."""
    return published_subject(found.subject) == message.subject or is_named(found)


def expecting(message: Outgoing, last: int, subjects: str | None = None) -> Outgoing:
    """The message, to be stored only if that is the last one on its subject, or on those of a filter."""
    headers = {**message.headers, "Nats-Expected-Last-Subject-Sequence": str(last)}
    if subjects is not None:
        headers["Nats-Expected-Last-Subject-Sequence-Subject"] = subjects
    return message._replace(headers=headers)


class PublishAck(NamedTuple):
    """Where a message is stored, and whether it was before."""

    sequence: int
    is_duplicate: bool = False


async def publish_expecting(
    client: Client, stream: str, message: Outgoing, timeout_s: float
) -> PublishAck:
    """Store one message if what it expects holds; SequenceConflict when it doesn't.

    The broker looks at that first, and at the message's id after: a message that is sent twice conflicts with itself.
    """
    answer = await _request(client, message, _headers(message), timeout_s)
    content = json.loads(answer.data)
    error = content.get("error")
    if error and error.get("err_code") in WRONG_LAST_SEQUENCES:
        last = message.headers.get("Nats-Expected-Last-Subject-Sequence")
        raise SequenceConflict(
            f"{message.subject} has another last message than sequence {last} of {stream}"
        )
    return PublishAck(_stored_sequence(stream, answer), bool(content.get("duplicate")))


async def publish_all(client: Client, stream: str, messages: Sequence[Outgoing]) -> None:
    """Store the messages exactly once: as atomic batches, or one by one where the broker takes no such batch."""
    for start in range(0, len(messages), MAX_BATCH):
        chunk = messages[start : start + MAX_BATCH]
        if len(chunk) == 1:
            # One message is all or nothing by itself, and the broker stores it ten times as fast outside of a batch.
            await publish_one(client, stream, chunk[0])
            continue
        try:
            await publish_batch(client, stream, chunk)
        except BatchRefused as error:
            if error.code not in _ONE_BY_ONE:
                raise
            await _publish_each(client, stream, chunk)


async def _publish_each(client: Client, stream: str, messages: Sequence[Outgoing]) -> None:
    """Store the messages one by one, in their order; then look at all that were known, side by side."""
    known: list[tuple[Outgoing, int]] = []
    for message in messages:
        _, at = await _store(client, stream, message)
        if at is not None:
            known.append((message, at))
    for start in range(0, len(known), _LOOKED_AT_ONCE):
        await together(
            *(
                _store_despite(client, stream, message, at)
                for message, at in known[start : start + _LOOKED_AT_ONCE]
            )
        )


def _headers(message: Outgoing) -> dict[str, str]:
    # Not what the message brings: it may be another's, read back to be stored here.
    headers = {**message.headers, LOG: message.subject}
    if message.message_id is not None:
        headers["Nats-Msg-Id"] = message.message_id
    for name, value in headers.items():
        # Behind it would stand headers of whoever made the value.
        if "\n" in value or "\r" in value:
            raise ValueError(f"header {name} of {message.subject} holds a line break")
    return headers


def _frame(message: Outgoing, batch_id: str, number: int) -> bytes:
    """One message of a batch as the NATS protocol has it (HPUB)."""
    headers = f"NATS/1.0\r\nNats-Batch-Id: {batch_id}\r\nNats-Batch-Sequence: {number}\r\n"
    for name, value in _headers(message).items():
        headers += f"{name}: {value}\r\n"
    block = (headers + "\r\n").encode()
    size = len(block) + len(message.body)
    return b"HPUB %b %d %d\r\n%b%b\r\n" % (
        message.subject.encode(),
        len(block),
        size,
        block,
        message.body,
    )


async def _send_frames(client: Client, frames: list[bytes]) -> None:
    """Hand the frames to the connection in one go.

    nats-py publishes one message a call, and the calls cost four times what the messages do. So this reaches for the
    method that all its calls end in; a test publishes batches, and fails if a new version changes it.
    """
    if not client.is_connected:
        raise BusError("not connected to NATS; the batch was not sent")
    if frames:
        await client._send_command(b"".join(frames))  # pyright: ignore[reportPrivateUsage] -- see above


async def _request(
    client: Client, message: Outgoing, headers: dict[str, str], timeout_s: float = 10
) -> Msg:
    try:
        return await client.request(
            message.subject, message.body, timeout=timeout_s, headers=headers
        )
    except (TimeoutError, NatsTimeout, NoRespondersError):
        raise BusError(f"no stream stored {message.subject}: JetStream did not answer") from None


def _stored_sequence(stream: str, answer: Msg) -> int:
    content = json.loads(answer.data)
    error = content.get("error")
    if error:
        raise BatchRefused(
            stream, error.get("err_code", 0), error.get("description", "no reason given")
        )
    return int(content["seq"])
