"""Publishing: one atomic batch to one stream, all stored or none.

The broker refuses a batch whole when it holds a message id it knows. Then, and only then, the messages go out
one by one, and the broker drops those it has; so a batch that was half of somebody else's ends up exactly once.
"""

import json
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.errors import NoRespondersError
from nats.errors import TimeoutError as NatsTimeout
from nats.nuid import NUID

from lictor_bus.delivery import NO_HEADERS
from lictor_bus.errors import BatchRefused, BusError, DuplicateInBatch

# The broker's own limit for one atomic batch.
MAX_BATCH = 1000
_DUPLICATE_IN_BATCH = 10201
_SUBJECT_IS_FULL = "maximum messages per subject exceeded"

_nuid = NUID()


class Outgoing(NamedTuple):
    """A message on its way to a stream; the id makes publishing it twice the same as once."""

    subject: str
    body: bytes
    message_id: str | None = None
    headers: Mapping[str, str] = NO_HEADERS


async def publish_batch(client: Client, stream: str, messages: Sequence[Outgoing]) -> int:
    """Store the messages as one unit and return the stream sequence of the last."""
    if not messages:
        raise ValueError("an atomic batch needs at least one message")
    if len(messages) > MAX_BATCH:
        raise ValueError(f"an atomic batch holds at most {MAX_BATCH} messages, got {len(messages)}")
    batch_id = _nuid.next().decode()
    for number, message in enumerate(messages[:-1], 1):
        await client.publish(
            message.subject, message.body, headers=_batch_headers(message, batch_id, number)
        )
    last = messages[-1]
    headers = _batch_headers(last, batch_id, len(messages))
    headers["Nats-Batch-Commit"] = "1"
    return _stored_sequence(stream, await _request(client, last, headers))


async def publish_one(client: Client, stream: str, message: Outgoing) -> int | None:
    """Store one message; None when the stream has it already."""
    headers = dict(message.headers)
    if message.message_id is not None:
        headers["Nats-Msg-Id"] = message.message_id
    answer = await _request(client, message, headers)
    content = json.loads(answer.data)
    if content.get("duplicate"):
        return None
    if _SUBJECT_IS_FULL in content.get("error", {}).get("description", ""):
        return None
    return _stored_sequence(stream, answer)


async def publish_all(client: Client, stream: str, messages: Sequence[Outgoing]) -> None:
    """Store the messages exactly once: as atomic batches, or one by one where some are stored already."""
    for start in range(0, len(messages), MAX_BATCH):
        chunk = messages[start : start + MAX_BATCH]
        try:
            await publish_batch(client, stream, chunk)
        except DuplicateInBatch:
            for message in chunk:
                await publish_one(client, stream, message)


def _batch_headers(message: Outgoing, batch_id: str, number: int) -> dict[str, str]:
    headers = dict(message.headers)
    if message.message_id is not None:
        headers["Nats-Msg-Id"] = message.message_id
    headers["Nats-Batch-Id"] = batch_id
    headers["Nats-Batch-Sequence"] = str(number)
    return headers


async def _request(client: Client, message: Outgoing, headers: dict[str, str]) -> Msg:
    try:
        return await client.request(message.subject, message.body, timeout=10, headers=headers)
    except (TimeoutError, NatsTimeout, NoRespondersError):
        raise BusError(f"no stream stored {message.subject}: JetStream did not answer") from None


def _stored_sequence(stream: str, answer: Msg) -> int:
    content = json.loads(answer.data)
    error = content.get("error")
    if error:
        refused = DuplicateInBatch if error.get("err_code") == _DUPLICATE_IN_BATCH else BatchRefused
        raise refused(stream, error.get("err_code", 0), error.get("description", "no reason given"))
    return int(content["seq"])
