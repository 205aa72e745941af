"""Notices a consumer that has messages for its service while nobody gets them.

A worker that waits for messages can't tell a quiet stream from a broker that has stopped delivering: both look like
silence. So while it has nothing in hand it asks the broker now and then what the consumer still holds.
"""

import time
from collections.abc import Callable

from nats.errors import Error as NatsError
from nats.js.errors import Error as JetStreamError

from lictor_bus.wire.pull import Backlog, PullConsumer

_LOOK_EVERY_S = 1.0


class StallWatch:
    """Watches one consumer on behalf of the loop that pulls from it."""

    def __init__(self, consumer: PullConsumer, now: Callable[[], float] = time.monotonic) -> None:
        self._consumer = consumer
        self._now = now
        self._next_look = 0.0
        self._seen: Backlog | None = None
        self._since = 0.0
        self.trouble: str | None = None
        """What is wrong, until the backlog shrinks or is gone."""

    async def look(self) -> str | None:
        """Ask the broker, at most once a second; to be called while nothing is in hand."""
        now = self._now()
        if now < self._next_look:
            return self.trouble
        self._next_look = now + _LOOK_EVERY_S
        try:
            backlog = await self._consumer.backlog()
        except (NatsError, JetStreamError, OSError, TimeoutError):
            # Not known: the pulls themselves notice a broker that is away.
            return self.trouble
        limit_s = self._consumer.stuck_after_s(self._seen or backlog, backlog)
        if self._seen is None or limit_s is None:
            self._seen, self._since, self.trouble = backlog, now, None
        elif now - self._since > limit_s:
            self._since = now
            self.trouble = (
                f"{backlog.waiting + backlog.held} messages of {self._consumer.stream} wait for"
                f" {self._consumer.durable}, and none is processed: see whether the consumer is paused,"
                " or the broker's log"
            )
            # Whoever has the pin makes no use of it.
            await self._consumer.unpin()
        return self.trouble
