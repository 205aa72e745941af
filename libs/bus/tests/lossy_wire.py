"""A wire to the broker that can be cut where it hurts: the broker has stored a message, and its answer never comes."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from urllib.parse import urlsplit


class LossyWire:
    """Forwards to a broker; what is to be lost is lost with its connection, or hangs with all that follows on it."""

    def __init__(self, url: str) -> None:
        where = urlsplit(url)
        self._host, self._port = where.hostname, where.port
        self._lose = {"questions": (0, b""), "answers": (0, b"")}
        self._hangs = False
        self.cuts = 0
        self.lost = asyncio.Event()
        """Something was lost since it was last asked for."""
        self.url = ""
        self._served: set[asyncio.Task[None]] = set()
        self._ends: set[asyncio.StreamWriter] = set()

    def lose_answers(
        self, times: int = 1, *, that_hold: bytes = b'"seq"', hang: bool = False
    ) -> None:
        """The next such answers are lost: the broker did what it was asked to."""
        self._lose["answers"] = times, that_hold
        self._hangs = hang
        self.lost.clear()

    def lose_questions(self, times: int = 1, *, that_hold: bytes, hang: bool = False) -> None:
        """The next such questions are lost: the broker hears nothing of them."""
        self._lose["questions"] = times, that_hold
        self._hangs = hang
        self.lost.clear()

    def _is_lost(self, way: str, data: bytes) -> bool:
        times, wanted = self._lose[way]
        if not times or wanted not in data:
            return False
        self._lose[way] = times - 1, wanted
        self.cuts += 1
        self.lost.set()
        return True

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._ends.add(writer)
        while True:
            # While the broker is away, the line is there and silent.
            with suppress(OSError):
                upstream, to_broker = await asyncio.open_connection(self._host, self._port)
                break
            if writer.transport.is_closing() or reader.at_eof():
                writer.close()
                return
            await asyncio.sleep(0.02)
        self._ends.add(to_broker)

        async def carry(way: str, source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
            hangs = False
            while data := await source.read(65536):
                if self._is_lost(way, data):
                    if not self._hangs:
                        return
                    hangs = True
                if not hangs:
                    sink.write(data)
                    await sink.drain()

        ways = [
            asyncio.create_task(carry("questions", reader, to_broker)),
            asyncio.create_task(carry("answers", upstream, writer)),
        ]
        with suppress(OSError):
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        for each in ways:
            each.cancel()
        await asyncio.gather(*ways, return_exceptions=True)
        for each in (writer, to_broker):
            each.close()
        self._ends -= {writer, to_broker}

    @asynccontextmanager
    async def running(self) -> AsyncIterator["LossyWire"]:
        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            serving = asyncio.create_task(self._serve(reader, writer))
            self._served.add(serving)
            serving.add_done_callback(self._served.discard)

        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        self.url = f"nats://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        try:
            yield self
        finally:
            server.close()
            for each in self._ends:
                each.transport.abort()
            await asyncio.gather(*self._served)
