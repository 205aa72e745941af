"""Policy packs on the bus: bundles under their own hash, what became of releases, and the switches among the events.

A bundle is stored before the first switch that names it, so whoever reads a switch can load what it names.
Readers take what hashes to the name and nothing else: a foreign message on the subject harms nobody.
"""

import logging
from typing import NamedTuple, TypeVar

from nats.aio.client import Client
from pydantic import ValidationError

from lictor_bus.errors import BundleMissing, BusError
from lictor_bus.names import subjects
from lictor_bus.names.streams import EVENTS, PACKS
from lictor_bus.wire.delivery import Delivery
from lictor_bus.wire.provenance import is_foreign
from lictor_bus.wire.publish import Outgoing, publish_one
from lictor_bus.wire.read import PAGE, read_all, read_from
from lictor_schema.core.base_model import Model
from lictor_schema.core.canonical_json import CanonicalError, hash_bytes
from lictor_schema.packs.release import ConfigSwitch, ReleaseRefusal, ReleaseTaken

log = logging.getLogger("lictor.bus")
M = TypeVar("M", bound=Model)


class SwitchAt(NamedTuple):
    """A switch and its place in the event stream: it holds for what comes after."""

    sequence: int
    switch: ConfigSwitch


async def store_bundle(client: Client, body: bytes) -> str:
    """Keep a bundle, once; returns its hash."""
    bundle_hash = hash_bytes(body)
    if len(body) + 1024 > client.max_payload:
        raise BusError(
            f"the packs make a bundle of {len(body)} bytes, more than the server's max_payload"
            f" ({client.max_payload}); raise max_payload or split the packs over channels"
        )
    if await _find_bundle(client, bundle_hash) is None:
        await publish_one(client, PACKS, Outgoing(subjects.pack_bundle(bundle_hash), body))
    return bundle_hash


async def load_bundle(client: Client, bundle_hash: str) -> bytes:
    """The bundle with this hash."""
    body = await _find_bundle(client, bundle_hash)
    if body is None:
        raise BundleMissing(
            f"stream PACKS does not hold the bundle {bundle_hash}; restore PACKS from a backup,"
            " or publish the same packs again"
        )
    return body


async def _find_bundle(client: Client, bundle_hash: str) -> bytes | None:
    subject, sequence = subjects.pack_bundle(bundle_hash), 1
    while page := await read_from(client, PACKS, subject, sequence, PAGE):
        for stored in page:
            if hash_bytes(stored.body) == bundle_hash:
                return stored.body
        sequence = page[-1].sequence + 1
    return None


async def read_taken(client: Client, channel: str) -> list[ReleaseTaken]:
    """The releases of a channel that came into force, as evaluators recorded them."""
    return await _recorded(client, subjects.pack_taken(channel), ReleaseTaken)


async def read_refusals(client: Client, channel: str) -> list[ReleaseRefusal]:
    """The releases of a channel that evaluators refused."""
    return await _recorded(client, subjects.pack_refusal(channel), ReleaseRefusal)


async def _recorded(client: Client, subject: str, model: type[M]) -> list[M]:
    found: list[M] = []
    async for stored in read_all(client, PACKS, subject):
        try:
            found.append(model.from_json(stored.body))
        except (ValidationError, CanonicalError):
            log.error("PACKS %d on %s can't be read; passed over", stored.sequence, subject)
    return found


def read_switch(stored: Delivery) -> SwitchAt | None:
    """The switch in a stored message; None when it is no switch, and so changes nothing."""
    if is_foreign(stored):
        return None
    try:
        return SwitchAt(stored.sequence, ConfigSwitch.from_json(stored.body))
    except (ValidationError, CanonicalError):
        return None


async def read_switches(client: Client, partition: int) -> list[SwitchAt]:
    """Every switch of a partition so far, in order."""
    subject, sequence = subjects.config_switch(partition), 1
    found: list[SwitchAt] = []
    while page := await read_from(client, EVENTS, subject, sequence, PAGE):
        found += filter(None, map(read_switch, page))
        sequence = page[-1].sequence + 1
    return found


async def publish_switch(client: Client, partition: int, switch: ConfigSwitch) -> None:
    """Let a configuration judge from here on; the same switch twice is the same as once.

    Without a message id: it could be foreseen, and whoever used it first would stop the switch.
    """
    await publish_one(client, EVENTS, Outgoing(subjects.config_switch(partition), switch.to_json()))
