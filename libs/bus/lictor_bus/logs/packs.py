"""Policy packs on the bus: bundles under their own hash, and the switches among the events.

A bundle is stored before the first switch that names it, so whoever reads a switch can load what it names.
Readers take what hashes to the name and nothing else: a foreign message on the subject harms nobody.
"""

from typing import NamedTuple

from nats.aio.client import Client
from pydantic import ValidationError

from lictor_bus.errors import BundleMissing, BusError
from lictor_bus.names import subjects
from lictor_bus.names.streams import EVENTS, PACKS
from lictor_bus.wire.delivery import Delivery
from lictor_bus.wire.provenance import is_foreign
from lictor_bus.wire.publish import Outgoing, publish_one
from lictor_bus.wire.read import PAGE, read_from
from lictor_schema.core.canonical_json import CanonicalError, hash_bytes
from lictor_schema.packs.release import ConfigSwitch


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
