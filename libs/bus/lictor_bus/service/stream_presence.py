"""Sees to it that a service works only while its streams are there, and says what to do while they are not.

No service makes or changes a stream: the broker restores no stream over one that exists, and an empty log in the place
of a lost one would look as if nothing had ever been decided.
"""

# pyright: reportUnknownMemberType=false
# nats-py leaves some of its parameters untyped.

import asyncio
from collections.abc import Sequence

from nats.aio.client import Client
from nats.errors import Error as NatsError
from nats.js.errors import Error as JetStreamError
from nats.js.errors import NotFoundError

from lictor_bus.errors import BusError, StreamMismatch
from lictor_bus.names.stream_check import examine

_LOOK_EVERY_S = 5.0
_LOOK_AGAIN_S = 1.0


class StreamPresence:
    """Looks whether every stream is there: before a service begins, and now and then for as long as it runs."""

    def __init__(
        self,
        client: Client,
        streams: Sequence[str],
        *,
        partitions: int | None = None,
        every_s: float = _LOOK_EVERY_S,
    ) -> None:
        self._client = client
        self._streams = streams
        self._partitions = partitions
        self._every_s = every_s
        self._stopping = asyncio.Event()
        self.trouble: str | None = None

    def stop(self) -> None:
        """Return from ``run``."""
        self._stopping.set()

    async def complete(self) -> bool:
        """Whether every stream is there and as it should be; ``trouble`` says what is not.

        Raises StreamMismatch for another number of partitions, and JetStreamAway while the broker can't tell.
        """
        found = await examine(self._client, self._streams, partitions=self._partitions)
        self.trouble = "; ".join(map(str, found)) or None
        return not found

    async def until_complete(self) -> None:
        """Wait until every stream is there and as it should be."""
        while True:
            try:
                if await self.complete():
                    return
            except StreamMismatch:
                raise
            except (BusError, NatsError, OSError) as error:
                self.trouble = str(error)
            await asyncio.sleep(_LOOK_AGAIN_S)

    async def run(self) -> None:
        """Look until stopped."""
        while not self._stopping.is_set():
            pause = _LOOK_AGAIN_S if self.trouble else self._every_s
            try:
                async with asyncio.timeout(pause):
                    await self._stopping.wait()
            except TimeoutError:
                await self._look()

    async def _look(self) -> None:
        gone: list[str] = []
        for name in self._streams:
            try:
                await self._client.jetstream().stream_info(name)
            except NotFoundError:
                gone.append(name)
            except (NatsError, JetStreamError, OSError, TimeoutError):
                # Not known; the loops report a broker that is away.
                return
        self.trouble = _told(gone) if gone else None


def _told(gone: Sequence[str]) -> str:
    which = f"stream {gone[0]} is" if len(gone) == 1 else f"streams {', '.join(gone)} are"
    return (
        f"{which} gone from NATS: restore from a backup, and this service goes on by itself;"
        " or run `lictor streams apply` and restart all services, which then begin with empty streams"
    )
