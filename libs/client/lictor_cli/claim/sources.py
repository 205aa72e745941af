"""Where `lictor claim` finds claims and cycles."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from nats.aio.client import Client
from pydantic import ValidationError

from lictor.history.id_prefixes import one_of
from lictor.history.stream_contents import extent, streams_at
from lictor_bus.names import subjects
from lictor_bus.names.streams import CERPA
from lictor_bus.wire.read import read_all
from lictor_schema.contracts.cerpa_cycle import CerpaCycle
from lictor_schema.core.canonical_json import CanonicalError


@asynccontextmanager
async def claims_at(url: str | None) -> AsyncGenerator[Client, None]:
    """A connection to a broker that has claims."""
    async with streams_at(url, "claim") as client:
        await extent(client, CERPA)
        yield client


async def all_cycles(client: Client) -> dict[str, CerpaCycle]:
    """Every cycle as it is now, in the order they began."""
    found: dict[str, CerpaCycle] = {}
    async for stored in read_all(client, CERPA, subjects.CYCLE.any):
        try:
            cycle = CerpaCycle.from_json(stored.body)
        except (ValidationError, CanonicalError):
            # Somebody else's message; see lictor_bus.logs.entry_logs.
            continue
        found[cycle.cycle_id] = cycle
    return found


async def find_cycle(client: Client, given: str) -> CerpaCycle:
    """A cycle as it is now; its first characters name it where they are enough."""
    await extent(client, CERPA)
    cycles = await all_cycles(client)
    return cycles[one_of(given, cycles, "cycle", "lictor claim cycles")]
