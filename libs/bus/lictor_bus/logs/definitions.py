"""Agent definitions on the bus: every version of a name on one subject, the last one the newest.

What stands there is for readers to judge: a message that is no definition harms nobody.
"""

from collections.abc import AsyncIterator

from nats.aio.client import Client

from lictor_bus.errors import BusError
from lictor_bus.names import subjects
from lictor_bus.names.streams import DEFINITIONS
from lictor_bus.wire.delivery import Delivery
from lictor_bus.wire.publish import Outgoing, publish_one
from lictor_bus.wire.read import last_on_subjects, read_from

ALL = subjects.DEFINITION.any
"""Every subject with versions on it."""
_PAGE = 100
_HEADROOM = 1024


async def store_definition(client: Client, name: str, body: bytes) -> int:
    """Keep a version; returns its place in the stream."""
    if len(body) + _HEADROOM > client.max_payload:
        raise BusError(
            f"the definition {name} has {len(body)} bytes, more than the server's max_payload"
            f" ({client.max_payload}) takes; raise max_payload or make it smaller"
        )
    # Without a message id: going back to a version that was stored a minute ago must store it again.
    message = Outgoing(subjects.definition(name), body)
    return await publish_one(client, DEFINITIONS, message) or 0


async def last_definition(client: Client, name: str) -> Delivery | None:
    """The version of a name that was stored last."""
    found = await last_on_subjects(client, DEFINITIONS, [subjects.definition(name)])
    return found[-1] if found else None


async def stored_definitions(client: Client, name: str | None = None) -> AsyncIterator[Delivery]:
    """Every version of a name, or of all, oldest first."""
    subject, sequence = ALL if name is None else subjects.definition(name), 1
    while page := await read_from(client, DEFINITIONS, subject, sequence, _PAGE):
        for stored in page:
            yield stored
        sequence = page[-1].sequence + 1
