"""Where `lictor dead` finds dead letters, and what its commands share."""

from argparse import ArgumentTypeError
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

from nats.aio.client import Client
from nats.js.errors import NotFoundError

from lictor.history.stream_contents import streams_at
from lictor_bus.errors import BusError
from lictor_bus.logs.dead_letters import StoredLetter
from lictor_bus.names.streams import DEAD


def number(text: str) -> int:
    """A number on the command line."""
    if not text.isdecimal() or not 1 <= int(text) < 2**63:
        raise ArgumentTypeError(f"{text!r} is not a whole number from 1 on")
    return int(text)


@asynccontextmanager
async def dead_stream(url: str | None) -> AsyncGenerator[Client, None]:
    """A connection to a broker that has dead letters."""
    async with streams_at(url, "dead") as client:
        try:
            await client.jetstream().stream_info(DEAD)  # pyright: ignore[reportUnknownMemberType] -- nats-py leaves **opts open
        except NotFoundError:
            raise BusError(
                "there is no dead-letter stream yet: no service has run here; see `lictor up`."
            ) from None
        yield client


def dead_as_json(stored_letter: StoredLetter) -> dict[str, Any]:
    """For `--json`."""
    return {
        "number": stored_letter.sequence,
        **stored_letter.letter.model_dump(mode="json", by_alias=True),
    }
