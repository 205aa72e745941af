"""Lines from and to other processes, for asyncio: of bounded length, whatever stands behind a file descriptor."""

import asyncio
import os
import stat
from collections.abc import AsyncIterator
from typing import IO, BinaryIO

_CHUNK = 256 * 1024


class TooLong(Exception):
    """A line is longer than we take."""


async def lines(reader: asyncio.StreamReader, limit: int) -> AsyncIterator[bytes | TooLong]:
    """Each line with its end; of one that is too long only that it was there. The last may have no end."""
    parts: list[bytes] = []
    size = 0
    while chunk := await reader.read(_CHUNK):
        while chunk:
            line, found, rest = chunk.partition(b"\n")
            size += len(line)
            # What is too long is read to its end, and not kept.
            parts = [*parts, line] if size <= limit else []
            if not found:
                break
            yield b"".join(parts) + b"\n" if size <= limit else TooLong()
            parts, size, chunk = [], 0, rest
    if size:
        yield b"".join(parts) if size <= limit else TooLong()


async def open_reader(stream: BinaryIO) -> asyncio.StreamReader:
    """Read a stream that this process was started with."""
    reader = asyncio.StreamReader(limit=_CHUNK)
    if stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
        # An event loop can't wait for a file, and needn't.
        reader.feed_data(stream.read())
        reader.feed_eof()
        return reader
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), _again(stream, "rb"))
    return reader


class Writer:
    """Writes whole lines, each after the one before; what nobody reads any more is dropped."""

    def __init__(self, writer: asyncio.StreamWriter | BinaryIO) -> None:
        self._writer = writer
        self._turn = asyncio.Lock()
        self.gone = False

    async def send(self, line: bytes) -> None:
        """Write a line, and wait until there is room for the next."""
        async with self._turn:
            if self.gone:
                return
            try:
                if isinstance(self._writer, asyncio.StreamWriter):
                    self._writer.write(line)
                    await self._writer.drain()
                else:
                    self._writer.write(line)
                    self._writer.flush()
            except (BrokenPipeError, ConnectionResetError):
                self.gone = True

    def close(self) -> None:
        """Let the reader know that this was all."""
        if isinstance(self._writer, asyncio.StreamWriter):
            self._writer.close()


async def open_writer(stream: BinaryIO) -> Writer:
    """Write to a stream that this process was started with."""
    if stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
        return Writer(stream)
    loop = asyncio.get_running_loop()
    # The protocol that tells when there is room again; private, and the only one there is.
    transport, protocol = await loop.connect_write_pipe(
        lambda: asyncio.streams.FlowControlMixin(loop=loop), _again(stream, "wb")
    )
    # Nothing stays behind when the process ends after its last line.
    transport.set_write_buffer_limits(0)
    return Writer(asyncio.StreamWriter(transport, protocol, None, loop))


def _again(stream: BinaryIO, mode: str) -> IO[bytes]:
    """The same under another number: a transport closes what it is given, and the interpreter still flushes ours."""
    return os.fdopen(os.dup(stream.fileno()), mode, buffering=0)
