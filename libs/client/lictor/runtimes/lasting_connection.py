"""A connection for adapters that start before the broker does, and outlive it."""

import asyncio
from typing import TYPE_CHECKING, TypeVar

from nats.aio.client import Client

from lictor.fast.answer_reader import Silence
from lictor.runtimes.nats_driver import drive_by, request
from lictor_bus.errors import BusError
from lictor_bus.wire.connection import Whereabouts, close_nats, connect_nats

if TYPE_CHECKING:
    from lictor.fast.session_operations import Ask, Waiting

T = TypeVar("T")
_CONNECT_TIMEOUT_S = 2.0
# Whoever asks while the broker is away need not knock again each time.
_NEXT_TRY_S = 0.5


class Reaching:
    """Drives operations; connects when it is first asked, and again until that succeeds."""

    def __init__(self, where: Whereabouts, *, name: str) -> None:
        self._where = where
        self._name = name
        self._client: Client | None = None
        self._connecting = asyncio.Lock()
        self._failed: tuple[float, Silence] | None = None

    async def drive(self, operation: "Waiting[T]") -> T:
        """Ask what the operation wants to know until it ends; its verdict."""
        return await drive_by(operation, self._ask)

    async def reachable(self) -> bool:
        """Whether there is a connection at this moment."""
        return not isinstance(await self.connected(), Silence)

    async def close(self) -> None:
        """Give the connection up."""
        if self._client is not None:
            await close_nats(self._client)

    async def _ask(self, ask: "Ask") -> bytes | Silence:
        client = await self.connected()
        return client if isinstance(client, Silence) else await request(client, ask)

    async def connected(self) -> Client | Silence:
        """The connection, or why there is none."""
        async with self._connecting:
            if self._client is not None and not self._client.is_closed:
                if self._client.is_connected:
                    return self._client
                # It reconnects by itself; a question that waits for that would only come too late.
                return Silence(reason="the connection to the broker is down")
            now = asyncio.get_running_loop().time()
            if self._failed is not None and now < self._failed[0]:
                return self._failed[1]
            try:
                self._client = await connect_nats(
                    self._where, name=self._name, timeout_s=_CONNECT_TIMEOUT_S
                )
            except (BusError, OSError, ValueError) as error:
                told = Silence(reason=str(error) or type(error).__name__)
                self._failed = (asyncio.get_running_loop().time() + _NEXT_TRY_S, told)
                return told
            return self._client
