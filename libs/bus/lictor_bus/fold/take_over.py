"""A fold that goes on under another name, once the service that folded a stream before is gone.

Two folds of different names don't see each other's cursors, so they must not work at the same time. The new fold takes
nothing from the old one's states, which it may not read: it folds the stream from its start, and publishes nothing that
is there already.
"""

# pyright: reportUnknownMemberType=false
# nats-py leaves some of its parameters untyped.

import asyncio
import contextlib
from typing import Final

from nats.aio.client import Client
from nats.js.api import ConsumerInfo
from nats.js.errors import NotFoundError

from lictor_bus.errors import BusError

_LOOK_S: Final = 0.25


class TakeOver:
    """Takes over the fold of a stream from a service that has another name now."""

    def __init__(
        self, client: Client, stream: str, *, old: str, partition: str, quiet_s: float
    ) -> None:
        self._client = client
        self._stream = stream
        self._old_service = old
        self._durable = f"{old}-{partition}"
        self._quiet_s = quiet_s
        """So long nobody has to ask for messages of the old fold before its service counts as gone."""
        self._done = False

    async def finish(self) -> None:
        """Wait for the old service to be gone and remove its consumer, once; BusError while it is at work."""
        if self._done:
            return
        if await self._info() is not None:
            await self._until_quiet()
            with contextlib.suppress(NotFoundError):
                await self._client.jetstream().delete_consumer(self._stream, self._durable)
        self._done = True

    async def _info(self) -> ConsumerInfo | None:
        try:
            return await self._client.jetstream().consumer_info(self._stream, self._durable)
        except NotFoundError:
            return None

    async def _until_quiet(self) -> None:
        """Wait until nobody has asked for messages of the old fold for a while; BusError when somebody does."""
        loop = asyncio.get_running_loop()
        until = loop.time() + self._quiet_s
        while loop.time() < until:
            info = await self._info()
            if info is None:
                return
            if info.num_waiting:
                raise BusError(
                    f"an older {self._old_service} still folds {self._stream}; stop it, then this one goes on"
                )
            await asyncio.sleep(_LOOK_S)
