"""Which process of Redis answers: another one than before may have lost what was written last."""

from typing import Any, Protocol


class _Server(Protocol):
    """A connection to Redis, as far as its first words are concerned."""

    async def on_connect(self) -> None: ...

    async def send_command(self, *args: str) -> None: ...

    async def read_response(self) -> Any: ...


class ServerAge:
    """Detects when Redis is another process than before: it may have lost what was written last.

    `number` grows by one with every process of Redis that a connection of ours has met.
    """

    def __init__(self) -> None:
        self.number = 0
        self._process: bytes | None = None

    async def on_connect(self, connection: _Server) -> None:
        """To be called for every connection, before anything else is read from it."""
        await connection.on_connect()
        await connection.send_command("INFO", "server")
        self.met(await connection.read_response())

    def met(self, server: bytes | str) -> None:
        """Redis described itself, over a connection that was not used yet."""
        process = _process_in(server)
        # One that does not say may be another one each time.
        if process is None or process != self._process:
            self._process = process
            self.number += 1


def _process_in(server: bytes | str) -> bytes | None:
    text = server if isinstance(server, bytes) else server.encode()
    for line in text.splitlines():
        name, _, value = line.partition(b":")
        if name == b"run_id" and value.strip():
            return value.strip()
    return None
