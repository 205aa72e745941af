"""What is waited out, not reported as a failure: it passes by itself, and the message comes again."""

from nats.errors import Error as NatsError
from nats.js.errors import Error as JetStreamError
from redis.exceptions import RedisError

from lictor_bus.errors import BusError, MessageRefused, UnreadableEntry
from lictor_bus.wire.delivery import Delivery

BROKER_OUTAGES = (BusError, NatsError, JetStreamError, OSError, TimeoutError)
"""The broker is away, or does not answer in time."""
OUTAGES = (*BROKER_OUTAGES, RedisError)
"""The broker or the store of state is."""

# About five minutes where a message comes again after twelve seconds: long enough for a rolling upgrade.
_MOST_DELIVERIES = 25


def refused_at_last(error: Exception, delivery: Delivery) -> MessageRefused | None:
    """What becomes of a message that needs an entry which this version can't read; None while it comes again.

    A newer instance may take it meanwhile. It never comes again for ever.
    """
    if not isinstance(error, UnreadableEntry) or delivery.times < _MOST_DELIVERIES:
        return None
    return MessageRefused(
        str(error), remedy="run the version that wrote the entry, then see to this by hand"
    )
