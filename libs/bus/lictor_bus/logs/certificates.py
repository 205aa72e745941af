"""Certificates of proofs on the bus: each under its own name, once and for good.

What a certificate shows is for its reader to check; nothing here looks inside.
"""

from collections.abc import Sequence

from nats.aio.client import Client

from lictor_bus.errors import BusError
from lictor_bus.names import subjects
from lictor_bus.names.streams import CERTIFICATES
from lictor_bus.wire.provenance import is_named
from lictor_bus.wire.publish import Outgoing, publish_one
from lictor_bus.wire.read import last_sequence, read_from

_HEADROOM = 1024
_ASK_S = 10.0
_MOST_TAKEN = 16


def largest_certificate(client: Client) -> int:
    """Bytes of a certificate that the broker takes as one message."""
    return client.max_payload - _HEADROOM


async def store_certificate(client: Client, certificate_hash: str, data: bytes) -> None:
    """Keep a certificate; one that is kept already stays as it is."""
    if len(data) > largest_certificate(client):
        raise BusError(
            f"the certificate {certificate_hash} has {len(data)} bytes, more than the server's max_payload"
            f" ({client.max_payload}) takes; raise max_payload"
        )
    # Without a message id: it could be foreseen, and whoever used it first would keep the certificate out.
    for subject in _places(certificate_hash):
        if await publish_one(client, CERTIFICATES, Outgoing(subject, data)) is not None:
            return
        if await _stored(client, subject) is not None:
            return
    raise BusError(f"no subject is left for {certificate_hash}; see who writes to CERTIFICATES")


async def load_certificate(client: Client, certificate_hash: str) -> bytes | None:
    """The certificate of this name; None when it is not kept here."""
    for subject in _places(certificate_hash):
        found = await _stored(client, subject)
        if found is not None:
            return found
        if not await last_sequence(client, CERTIFICATES, subject, timeout_s=_ASK_S):
            return None
    return None


def _places(certificate_hash: str) -> Sequence[str]:
    """Where it may be kept: a foreign message that takes a subject must not keep it out."""
    first = subjects.certificate(certificate_hash)
    return (first, *(f"{first}-{number}" for number in range(1, _MOST_TAKEN)))


async def _stored(client: Client, subject: str) -> bytes | None:
    """What we stored there; None when nobody did, or somebody else."""
    for stored in await read_from(client, CERTIFICATES, subject, 1, 1):
        # Older versions named no subject; a certificate is JSON, as they wrote it.
        if is_named(stored) or stored.body.startswith(b'{"certificate":'):
            return stored.body
    return None
