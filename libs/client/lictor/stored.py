"""Reading what a stream holds now, from its first message to its last, and no further."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from datetime import datetime
from typing import NamedTuple

from nats.aio.client import Client

from lictor.errors import LictorError
from lictor.where import nats_url
from lictor_bus.connection import connect_nats
from lictor_bus.delivery import Delivery
from lictor_bus.errors import StreamMissing
from lictor_bus.leader import leader_view
from lictor_bus.read import read_from, read_since

_PAGE = 500


class Extent(NamedTuple):
    """What a stream holds."""

    messages: int
    last_sequence: int


@asynccontextmanager
async def streams_at(url: str | None, name: str) -> AsyncGenerator[Client, None]:
    """A connection to read with."""
    client = await connect_nats(nats_url(url).url, name=f"lictor-{name}", timeout_s=3.0)
    try:
        yield client
    finally:
        await client.close()


async def extent(client: Client, stream: str) -> Extent:
    """How much there is to read."""
    try:
        view = await leader_view(client, stream)
    except StreamMissing:
        raise LictorError(
            f"there is no {stream} stream yet: no service has run here; see `lictor up`."
        ) from None
    return Extent(view.messages, view.last)


async def stored(
    client: Client,
    stream: str,
    subject: str,
    upto: int,
    *,
    since: datetime | None = None,
    page: int = _PAGE,
) -> AsyncGenerator[Delivery, None]:
    """Every message on a subject up to a sequence, or those of them stored since a time."""
    found = await (
        read_from(client, stream, subject, 1, page)
        if since is None
        else read_since(client, stream, subject, since, page)
    )
    while found:
        for delivery in found:
            if delivery.sequence > upto:
                return
            yield delivery
        found = await read_from(client, stream, subject, found[-1].sequence + 1, page)
