"""What is waited out, not reported as a failure: it passes by itself, and the message comes again."""

from nats.errors import Error as NatsError
from nats.js.errors import Error as JetStreamError
from redis.exceptions import RedisError

from lictor_bus.errors import BusError

BROKER_OUTAGES = (BusError, NatsError, JetStreamError, OSError, TimeoutError)
"""The broker is away, or does not answer in time."""
OUTAGES = (*BROKER_OUTAGES, RedisError)
"""The broker or the store of state is."""
