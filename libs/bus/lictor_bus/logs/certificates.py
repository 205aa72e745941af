"""Certificates of proofs on the bus: each under its own name, once and for good.

What a certificate shows is for its reader to check; nothing here looks inside.
"""

from nats.aio.client import Client

from lictor_bus.errors import BusError
from lictor_bus.names import subjects
from lictor_bus.names.streams import CERTIFICATES
from lictor_bus.wire.publish import Outgoing, publish_one
from lictor_bus.wire.read import last_on_subjects

_HEADROOM = 1024


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
    await publish_one(client, CERTIFICATES, Outgoing(subjects.certificate(certificate_hash), data))


async def load_certificate(client: Client, certificate_hash: str) -> bytes | None:
    """The certificate of this name; None when it is not kept here."""
    found = await last_on_subjects(client, CERTIFICATES, [subjects.certificate(certificate_hash)])
    return found[-1].body if found else None
