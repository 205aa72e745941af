"""The child process of a run, as its parent sees it: started with nothing, heard, and killed with all it started."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import tempfile
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import asdict
from typing import Any, Final

from lictor_run.child_orders import LayerPlace
from lictor_run.frames import HEADER, MAX_FRAME, Said, packed, unpacked
from lictor_run.program_interpreter import command, environment
from lictor_schema.approvals.run import MAX_OUTPUT

_CHILD: Final = "lictor_run.child"


class Child:
    """A running child."""

    def __init__(
        self,
        process: subprocess.Popen[bytes],
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> None:
        self._process = process
        self._reader = reader
        self._writer = writer
        self.output = bytearray()
        """The beginning of what it printed."""

    async def say(self, message: Said) -> None:
        """Send it a frame; whether it is gone shows in the next read."""
        with suppress(ConnectionError):
            self._writer.write(packed(message))
            await self._writer.drain()

    async def hear(self) -> dict[str, Any] | None:
        """What it says next; None when it is gone, or says what nobody understands."""
        try:
            (size,) = HEADER.unpack(await self._reader.readexactly(HEADER.size))
            if size > MAX_FRAME:
                return None
            return unpacked(await self._reader.readexactly(size))
        except (
            asyncio.IncompleteReadError,
            ConnectionError,
            ValueError,
            TypeError,
            RecursionError,
        ):
            return None

    async def collect(self, pipe: asyncio.StreamReader) -> None:
        """Read all that it prints, and keep the beginning."""
        while part := await pipe.read(1 << 16):
            self.output += part[: MAX_OUTPUT - len(self.output)]

    def kill(self) -> None:
        """End it, and what it started."""
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)

    async def ended(self) -> int:
        """Its exit status, when it has one."""
        return await asyncio.to_thread(self._process.wait)

    async def ended_by_itself(self, within_s: float) -> int | None:
        """Its exit status, if it ends in that time."""
        try:
            return await asyncio.to_thread(self._process.wait, within_s)
        except subprocess.TimeoutExpired:
            return None


@asynccontextmanager
async def child_process(order: Mapping[str, Any], place: LayerPlace) -> AsyncGenerator[Child, None]:
    """A child with this order; at the end it is gone, and its directory too."""
    ours, theirs = socket.socketpair()
    out_read, out_write = os.pipe()
    with tempfile.TemporaryDirectory(prefix="lictor-run-") as home:
        try:
            # From this thread: the child dies with the thread that starts it.
            process = subprocess.Popen(  # noqa: ASYNC220 -- it only forks
                command(_CHILD, str(theirs.fileno()), _pid()),
                stdin=subprocess.DEVNULL,
                stdout=out_write,
                stderr=out_write,
                cwd=home,
                env=environment(place.environment),
                pass_fds=[theirs.fileno()],
                start_new_session=True,
                close_fds=True,
            )
        except BaseException:
            ours.close()
            os.close(out_read)
            raise
        finally:
            theirs.close()
            os.close(out_write)
        reader, writer = await asyncio.open_connection(sock=ours)
        child = Child(process, reader, writer)
        pipe = asyncio.StreamReader()
        transport, _ = await asyncio.get_running_loop().connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(pipe), os.fdopen(out_read, "rb")
        )
        collecting = asyncio.create_task(child.collect(pipe))
        try:
            limits = asdict(place.limits)
            await child.say({**order, "limits": limits, "layer": place.layer})
            yield child
        finally:
            child.kill()
            writer.close()
            # Killed, it ends at once; so does its output, unless something it started lives elsewhere.
            await asyncio.shield(child.ended())
            _, late = await asyncio.wait([collecting], timeout=1.0)
            for task in late:
                task.cancel()
            transport.close()


def _pid() -> str:
    return str(os.getpid())
