"""A log that goes on with another key: who wrote it before, and the hand-over that both keys sign."""

from dataclasses import dataclass
from datetime import datetime

from nats.aio.client import Client

from lictor_bus.errors import BusError
from lictor_bus.names import streams, subjects
from lictor_bus.wire.publish import Outgoing, publish_batch
from lictor_schema.core.base_model import utc_millis
from lictor_seal import SigningKey, TrustStore
from lictor_sealer.log.signed_head import SignedHead
from lictor_sealer.log.stream import EpisodeLog, load_head
from lictor_sealer.log.tree import Head, LogError, hand_over


@dataclass(frozen=True, slots=True)
class LogSuccession:
    """The key that wrote the log before ours, if there was one, and the store that says from when until when."""

    previous: SigningKey | None = None
    trust: TrustStore | None = None

    def sealed_from(self, key: SigningKey) -> str:
        """From when on a key is trusted; nothing when nobody says."""
        trusted = self.trust.by_id(key.key_id) if self.trust is not None else None
        return (trusted.not_before if trusted is not None else None) or ""


async def take_up(
    client: Client,
    key: SigningKey,
    succession: LogSuccession,
    now: datetime,
    signed: SignedHead | None = None,
) -> Head:
    """The log's head for this key; where the key before it wrote the last one, it is handed over here."""
    if succession.sealed_from(key) > utc_millis(now):
        raise BusError(
            f"the key {key.key_id} is trusted only from {succession.sealed_from(key)}; "
            "start the sealer then, or correct LICTOR_SEAL_TRUST"
        )
    try:
        return await load_head(client, key)
    except BusError:
        if succession.previous is None or succession.trust is None:
            raise
    # What the old key began it also completes: the new one would make other leaves of it.
    head = await EpisodeLog(client, succession.previous, signed=signed).settled()
    try:
        handed = hand_over(
            head, succession.previous, key, at=utc_millis(now), trust=succession.trust
        )
    except LogError as error:
        raise BusError(str(error)) from error
    expected = {"Nats-Expected-Last-Sequence": str(head.sequence)}
    message = Outgoing(subjects.LOG_CHECKPOINT, handed.checkpoint, None, expected)
    sequence = await publish_batch(client, streams.EPISODES, [message])
    return Head(handed.frontier, sequence, handed.checkpoint)
