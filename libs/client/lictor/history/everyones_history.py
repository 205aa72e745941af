"""What is stored of every runtime's, read from the streams themselves: for operators, who have the rights for it."""

from collections.abc import AsyncGenerator
from contextlib import aclosing

from nats.aio.client import Client

from lictor.history.stored_history import EVERYTHING
from lictor.history.stream_follower import follow
from lictor_bus.gates.history import HistoryKind, PublishedKind
from lictor_bus.logs.dead_letters import first_dead
from lictor_bus.wire.delivery import Delivery
from lictor_bus.wire.read import read_all, read_from
from lictor_schema.gates.history import HistoryFilter, PublishedAnswer, SetAside


class EveryonesHistory:
    """Reads what is stored of any runtime's."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def follow(
        self, kind: HistoryKind, only: HistoryFilter = EVERYTHING, *, from_start: bool
    ) -> AsyncGenerator[Delivery, None]:
        """Every message once and in order, for ever; ends only by an error: the connection was closed."""
        sought = kind.sought_of_all(only)
        found = follow(self._client, kind.stream, sought.subject, from_start=from_start)
        async with aclosing(found):
            async for delivery in found:
                if sought.has(delivery.subject):
                    yield delivery

    async def read(
        self, kind: HistoryKind, only: HistoryFilter = EVERYTHING, *, after: int = 0
    ) -> AsyncGenerator[Delivery, None]:
        """Every message behind a sequence that is stored now."""
        sought = kind.sought_of_all(only)
        async for delivery in read_all(self._client, kind.stream, sought.subject, after=after):
            if sought.has(delivery.subject):
                yield delivery

    async def published(self, kind: PublishedKind, sequence: int) -> PublishedAnswer:
        """What became of a published message, whoever published it."""
        found = await read_from(self._client, kind.stream, ">", sequence, 1)
        dead = await first_dead(self._client, kind.stream, sequence)
        return PublishedAnswer(
            request_id="own",
            is_own=bool(found) and found[0].sequence == sequence,
            set_aside=None if dead is None else SetAside.of(dead.sequence, dead.letter),
        )
