"""The agent definitions that the broker holds, version by version."""

from dataclasses import dataclass
from datetime import datetime

from nats.aio.client import Client

from lictor.history.stream_contents import extent
from lictor_bus.logs.definitions import stored_definitions
from lictor_bus.names import subjects
from lictor_bus.names.streams import DEFINITIONS
from lictor_bus.wire.delivery import Delivery
from lictor_guard.definitions.stored_versions import StoredVersion, read_stored
from lictor_guard.errors import DefinitionError


@dataclass(frozen=True)
class KeptDefinition:
    """A version on the stream."""

    version: StoredVersion
    sequence: int
    stored_at: datetime


async def kept_versions(client: Client) -> list[KeptDefinition]:
    """Every version that is stored, oldest first; what is none is left out, as sessions leave it out."""
    # Tells in words that there is no such stream.
    await extent(client, DEFINITIONS)
    found = [_kept(delivery) async for delivery in stored_definitions(client)]
    return [each for each in found if each is not None]


async def stored_names(client: Client) -> list[str]:
    """The names of all definitions that are stored, with the newest version of each."""
    newest = {each.version.definition.metadata.name: each for each in await kept_versions(client)}
    return [f"{name} {newest[name].version.definition.metadata.version}" for name in sorted(newest)]


def _kept(delivery: Delivery) -> KeptDefinition | None:
    try:
        version = read_stored(delivery.body)
    except DefinitionError:
        return None
    if delivery.subject != subjects.definition(version.definition.metadata.name):
        return None
    return KeptDefinition(version, delivery.sequence, delivery.stored_at)
