"""A wire to the broker that can be cut where it hurts: the broker has stored a message, and its answer never comes."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from urllib.parse import urlsplit


class LossyWire:
    """Forwards to a broker; ``lose_answers`` cuts every connection that the broker says something on next."""

    def __init__(self, url: str) -> None:
        where = urlsplit(url)
        self._host, self._port = where.hostname, where.port
        self._cut_next = 0
        self._cut_at = b""
        self.cuts = 0
        self.url = ""

    def lose_answers(self, times: int = 1, *, that_hold: bytes = b'"seq"') -> None:
        """The next such answers are lost with their connections."""
        self._cut_next, self._cut_at = times, that_hold

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        upstream, to_broker = await asyncio.open_connection(self._host, self._port)

        async def ask() -> None:
            while data := await reader.read(65536):
                to_broker.write(data)
                await to_broker.drain()

        async def answer() -> None:
            while data := await upstream.read(65536):
                if self._cut_next and self._cut_at in data:
                    self._cut_next -= 1
                    self.cuts += 1
                    return
                writer.write(data)
                await writer.drain()

        ways = [asyncio.create_task(ask()), asyncio.create_task(answer())]
        with suppress(OSError):
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        for each in ways:
            each.cancel()
        await asyncio.gather(*ways, return_exceptions=True)
        for each in (writer, to_broker):
            each.close()

    @asynccontextmanager
    async def running(self) -> AsyncIterator["LossyWire"]:
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.url = f"nats://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        try:
            yield self
        finally:
            server.close()
