"""The messages that sealed episodes cover, on the stream CONTENTS: storing parts, finding and erasing them.

A part stands under an id that follows from what it commits to, so whoever stores it again stores nothing: neither a
sealer that starts over after a crash, nor a second one, nor a further version of the episode. What was erased of a part
stays erased: its subject is taken.
"""

import json
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from typing import NamedTuple

from nats.aio.client import Client
from nats.errors import Error as NatsError

from lictor_bus.errors import BatchRefused, BusError, PartMissing, SequenceConflict
from lictor_bus.names import streams, subjects
from lictor_bus.wire.delivery import Delivery
from lictor_bus.wire.error_codes import WRONG_LAST_SEQUENCES
from lictor_bus.wire.provenance import is_foreign, is_named
from lictor_bus.wire.publish import MAX_BATCH, Outgoing, expecting, publish_batch, publish_expecting
from lictor_bus.wire.read import PAGE, read_all, stored_from

_NO_MESSAGE = (10037, 10043)
_BATCH_BYTES = 4 * 1024 * 1024
_BEGINNING = (b'{"before":', b'{"entries":')
"""Of a part, whose names stand in their order."""


IsPart = Callable[[bytes, str, str], bool]
"""Whether the bytes are the part of that episode with that id."""


class PartToStore(NamedTuple):
    """A part on its way into the stream."""

    episode_id: str
    part_id: str
    body: bytes


async def store_parts(client: Client, parts: Iterable[PartToStore]) -> None:
    """Store the parts that are not stored yet."""
    batch: list[Outgoing] = []
    size = 0
    for episode_id, part_id, body in parts:
        subject = subjects.contents_part(episode_id, part_id)
        batch.append(Outgoing(subject, body, None, {"Nats-Expected-Last-Subject-Sequence": "0"}))
        size += len(body)
        if size > _BATCH_BYTES or len(batch) == MAX_BATCH:
            await _store(client, batch)
            batch, size = [], 0
    if batch:
        await _store(client, batch)


async def _store(client: Client, batch: Sequence[Outgoing]) -> None:
    if len(batch) > 1:
        try:
            await publish_batch(client, streams.CONTENTS, batch)
        except BatchRefused as error:
            if error.code not in WRONG_LAST_SEQUENCES:
                raise
        else:
            return
    for each in batch:
        await _store_one(client, each)


async def _store_one(client: Client, part: Outgoing) -> None:
    """Store a part where none of ours stands; what is foreign does not take its place."""
    last = 0
    while True:
        try:
            await publish_expecting(client, streams.CONTENTS, expecting(part, last), 10)
        except SequenceConflict:
            stored = await stored_from(client, streams.CONTENTS, part.subject, last + 1, PAGE)
            if not stored or any(map(_is_taken, stored)):
                # What stands there already is the same, by its id.
                return
            last = stored[-1].sequence
        else:
            return


def _is_taken(stored: Delivery) -> bool:
    return not is_foreign(stored) and (is_named(stored) or stored.body.startswith(_BEGINNING))


async def stored_part(client: Client, episode_id: str, part_id: str, is_part: IsPart) -> Delivery:
    """A part as it is now, after whatever was erased of it; raises PartMissing when it is not there."""
    found: Delivery | None = None
    async for stored in read_all(
        client, streams.CONTENTS, subjects.contents_part(episode_id, part_id), 4
    ):
        # NATS puts answers wherever a question says, and so here too.
        if is_part(stored.body, episode_id, part_id):
            found = stored
    if found is None:
        raise PartMissing(
            f"the part {part_id} of episode {episode_id} is not in CONTENTS: it was removed, or can't be read yet"
        )
    return found


async def parts_of(
    client: Client, episode_id: str, last: str, is_part: IsPart
) -> AsyncIterator[Delivery]:
    """The parts of one version of an episode, in their order, by the id of the last one."""
    ids = [last]
    # A list of ids that is full goes on in the first part that it names.
    while before := _before((await stored_part(client, episode_id, ids[0], is_part)).body):
        ids[:0] = before
    for part_id in ids:
        yield await stored_part(client, episode_id, part_id, is_part)


def _before(body: bytes) -> list[str]:
    return json.loads(body).get("before", [])


async def erase_message(client: Client, stored: Delivery) -> None:
    """Have the broker overwrite and remove a message of CONTENTS; nothing happens when it is gone already."""
    request = json.dumps({"seq": stored.sequence, "no_erase": False}).encode()
    try:
        answer = await client.request(
            f"$JS.API.STREAM.MSG.DELETE.{streams.CONTENTS}", request, timeout=10
        )
    except (NatsError, TimeoutError) as error:
        raise BusError(f"CONTENTS {stored.sequence} could not be erased: {error}") from None
    problem = json.loads(answer.data).get("error")
    if problem and problem.get("err_code") not in _NO_MESSAGE:
        raise BusError(
            f"CONTENTS {stored.sequence} could not be erased: {problem.get('description')}"
        )
