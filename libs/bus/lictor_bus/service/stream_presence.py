"""Notices that streams which a service declared are gone from the broker, and says what to do.

They are not made again by a running service: the broker restores no stream over one that exists, and an empty log in
the place of a lost one would look as if nothing had ever been decided.
"""

# pyright: reportUnknownMemberType=false
# nats-py leaves some of its parameters untyped.

import asyncio
from collections.abc import Sequence

from nats.aio.client import Client
from nats.errors import Error as NatsError
from nats.js.errors import Error as JetStreamError
from nats.js.errors import NotFoundError

_LOOK_EVERY_S = 5.0
_LOOK_AGAIN_S = 1.0


class StreamPresence:
    """Looks now and then whether every stream is there, for as long as it runs."""

    def __init__(
        self, client: Client, streams: Sequence[str], *, every_s: float = _LOOK_EVERY_S
    ) -> None:
        self._client = client
        self._streams = streams
        self._every_s = every_s
        self._stopping = asyncio.Event()
        self.trouble: str | None = None

    def stop(self) -> None:
        """Return from ``run``."""
        self._stopping.set()

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
        " or restart all services, which then begin with empty streams"
    )
