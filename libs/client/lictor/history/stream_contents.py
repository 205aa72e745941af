"""Reading what a stream holds now, from its first message to its last, and no further."""

import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from datetime import datetime
from typing import Any, NamedTuple

from nats.aio.client import Client

from lictor.errors import LictorError
from lictor.installation.broker_connection import reach
from lictor.installation.endpoints import nats_url
from lictor_bus.errors import StreamMissing
from lictor_bus.wire.connection import close_nats
from lictor_bus.wire.delivery import Delivery
from lictor_bus.wire.error_codes import STREAM_NOT_FOUND
from lictor_bus.wire.read import PAGE, read_from, read_since
from lictor_bus.wire.stream_leader import leader_view

_ASK_S = 10.0


class Extent(NamedTuple):
    """What a stream holds."""

    messages: int
    last_sequence: int


@asynccontextmanager
async def streams_at(url: str | None, name: str) -> AsyncGenerator[Client, None]:
    """A connection to read with."""
    client = await reach(nats_url(url), f"lictor-{name}")
    try:
        yield client
    finally:
        await close_nats(client)


async def extent(client: Client, stream: str) -> Extent:
    """How much there is to read."""
    try:
        view = await leader_view(client, stream)
    except StreamMissing:
        raise LictorError(
            f"there is no {stream} stream yet: no service has run here; see `lictor up`."
        ) from None
    return Extent(view.messages, view.last)


async def subjects_at(client: Client, stream: str, subject: str) -> dict[str, int]:
    """Every subject that a filter matches, and how many messages are on it; the stream's leader says so."""
    found: dict[str, int] = {}
    while True:
        request = json.dumps({"subjects_filter": subject, "offset": len(found)}).encode()
        answer = await client.request(f"$JS.API.STREAM.INFO.{stream}", request, timeout=_ASK_S)
        content: dict[str, Any] = json.loads(answer.data)
        if "error" in content:
            if content["error"].get("err_code") == STREAM_NOT_FOUND:
                return {}
            raise LictorError(f"{stream} can't be asked: {content['error'].get('description')}.")
        page: dict[str, int] = content["state"].get("subjects") or {}
        found |= page
        if not page or len(found) >= content.get("total", 0):
            return found


async def latest(
    client: Client, stream: str, subject: str, *, since: datetime | None = None
) -> AsyncGenerator[Delivery, None]:
    """Messages on a subject, the newest first: read in pieces that grow, so that the last few are cheap."""
    end, span = (await extent(client, stream)).last_sequence, PAGE
    while end > 0:
        start = max(1, end - span + 1)
        piece = [delivery async for delivery in stored(client, stream, subject, end, start=start)]
        for delivery in reversed(piece):
            if since is not None and delivery.stored_at < since:
                return
            yield delivery
        end, span = start - 1, span * 2


async def stored(
    client: Client,
    stream: str,
    subject: str,
    upto: int,
    *,
    start: int = 1,
    since: datetime | None = None,
    page: int = PAGE,
) -> AsyncGenerator[Delivery, None]:
    """Every message on a subject from one sequence up to another, or those of them stored since a time."""
    found = await (
        read_from(client, stream, subject, start, page)
        if since is None
        else read_since(client, stream, subject, since, page)
    )
    while found:
        for delivery in found:
            if delivery.sequence > upto:
                return
            yield delivery
        found = await read_from(client, stream, subject, found[-1].sequence + 1, page)
