"""Our commands and services as processes that start warm: forked from one that has imported them already.

A start of Python with our imports takes half a second of a core, and the tests make more than a thousand. What
is forked is a process of its own in all else: its environment, folder, standard streams, signals and exit code
are those of a process that was started cold, and it runs the same entry point. The import itself is tested by
the tests that start cold: `lictor up`, the hook, the README, the installed package.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from signal import SIGKILL, SIGTERM, pidfd_send_signal

import reporting

_FORK_SERVER = Path(__file__).with_name("fork_server.py")
_STATUS_BYTES = 64

IS_POSSIBLE = hasattr(os, "pidfd_open") and hasattr(socket, "send_fds")


class ForkServer:
    """The process that the others are forked from; started when the first is asked for."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._address = ""
        self._folder: tempfile.TemporaryDirectory[str] | None = None

    def start(
        self,
        entry: Sequence[str | Path],
        *,
        cwd: Path,
        env: Mapping[str, str],
        streams: tuple[int, int, int],
    ) -> tuple[socket.socket, int]:
        """Fork one that runs an entry; gives where its exit code will come from, and its process id.

        An entry is what Python would be given: `-m` and a module, or a script; then the arguments.
        """
        with self._lock:
            self._begin()
        connection = socket.socket(socket.AF_UNIX)
        connection.connect(self._address)
        wanted = {"entry": [str(each) for each in entry], "cwd": str(cwd), "env": dict(env)}
        body = json.dumps(wanted).encode()
        socket.send_fds(connection, [len(body).to_bytes(4, "big")], list(streams))
        connection.sendall(body)
        return connection, int.from_bytes(_exactly(connection, 4), "big")

    def suits(self, env: Mapping[str, str]) -> bool:
        """Whether Python would start the same with this environment as it did here."""
        return IS_POSSIBLE and _of_python(env) == _of_python(os.environ)

    def _begin(self) -> None:
        if self._process is not None:
            return
        self._folder = tempfile.TemporaryDirectory(prefix="lictor-warm-")
        self._address = str(Path(self._folder.name) / "socket")
        # It ends when its standard input does, and so with us.
        self._process = subprocess.Popen(
            [sys.executable, _FORK_SERVER, self._address],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        assert self._process.stdout is not None
        if self._process.stdout.readline() != b"ready\n":
            raise RuntimeError("the process to fork from did not start: see what it wrote above")

    def close(self) -> None:
        """End it; what was forked from it goes on."""
        if self._process is not None:
            self._process.communicate()
        if self._folder is not None:
            self._folder.cleanup()


class WarmProcess(asyncio.subprocess.Process):
    """A forked process that looks like asyncio's own; its standard streams are ours."""

    def __init__(self, connection: socket.socket, pid: int) -> None:
        # Not that of the class above, which is given a transport: there is none.
        self.pid = pid
        self.stdin = self.stdout = self.stderr = None
        self._connection = connection
        self._code: int | None = None
        self._ended = asyncio.Event()
        self._handle = _handle(pid)
        connection.setblocking(False)
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(connection, self._hear)

    @property
    def returncode(self) -> int | None:
        if self._code is None:
            self._hear()
        return self._code

    def _hear(self) -> None:
        if self._code is not None:
            return
        try:
            said = self._connection.recv(_STATUS_BYTES)
        except BlockingIOError:
            return
        self._loop.remove_reader(self._connection)
        self._connection.close()
        self._code = int(said or b"-9")
        if self._handle is not None:
            os.close(self._handle)
        self._ended.set()

    async def wait(self) -> int:
        await self._ended.wait()
        assert self._code is not None
        return self._code

    def send_signal(self, signal: int) -> None:
        if self.returncode is None and self._handle is not None:
            with contextlib.suppress(ProcessLookupError):
                pidfd_send_signal(self._handle, signal)

    def terminate(self) -> None:
        self.send_signal(SIGTERM)

    def kill(self) -> None:
        self.send_signal(SIGKILL)


SERVER = ForkServer()


def start(entry: Sequence[str | Path], *, cwd: Path, env: Mapping[str, str]) -> WarmProcess:
    """One that shares our standard streams."""
    with Path(os.devnull).open("rb") as nothing:
        streams = (nothing.fileno(), 1, 2)
        return WarmProcess(*SERVER.start(entry, cwd=cwd, env=env, streams=streams))


async def start_module(module: str, environment: Mapping[str, str]) -> asyncio.subprocess.Process:
    """A service; cold where Python itself is to start otherwise than here."""
    if not SERVER.suits(environment):
        return await reporting.start_cold(module, environment)
    return start(["-m", module], cwd=reporting.ROOT, env=environment)


def pytest_configure() -> None:
    reporting.start_module = start_module


def pytest_unconfigure() -> None:
    reporting.start_module = reporting.start_cold
    SERVER.close()


def run(
    entry: Sequence[str | Path],
    *,
    cwd: Path,
    env: Mapping[str, str],
    input: str = "",  # noqa: A002 -- as subprocess.run
    timeout: float,
) -> subprocess.CompletedProcess[str]:
    """What `subprocess.run` gives for it, with what it wrote."""
    if not SERVER.suits(env):
        return subprocess.run(
            [sys.executable, *entry],
            input=input,
            capture_output=True,
            text=True,
            cwd=cwd,
            env=env,
            timeout=timeout,
            check=False,
        )
    reading, writing = os.pipe()
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        streams = (reading, out.fileno(), err.fileno())
        connection, pid = SERVER.start(entry, cwd=cwd, env=env, streams=streams)
        os.close(reading)
        feeding = threading.Thread(target=_feed, args=(writing, input.encode()), daemon=True)
        feeding.start()
        with connection:
            connection.settimeout(timeout)
            try:
                code = int(connection.recv(_STATUS_BYTES) or b"-9")
            except TimeoutError:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, SIGKILL)
                raise subprocess.TimeoutExpired(list(map(str, entry)), timeout) from None
        feeding.join()
        out.seek(0)
        err.seek(0)
        return subprocess.CompletedProcess(list(entry), code, _text(out.read()), _text(err.read()))


def _text(written: bytes) -> str:
    return written.decode().replace("\r\n", "\n")


def _feed(descriptor: int, content: bytes) -> None:
    with contextlib.suppress(BrokenPipeError), open(descriptor, "wb") as pipe:
        pipe.write(content)


def _exactly(connection: socket.socket, count: int) -> bytes:
    found = b""
    while len(found) < count:
        more = connection.recv(count - len(found))
        if not more:
            raise RuntimeError("the process to fork from is gone")
        found += more
    return found


def _handle(pid: int) -> int | None:
    """What names the process and never another one that gets its id later; None when it has ended."""
    try:
        return os.pidfd_open(pid)
    except ProcessLookupError:
        return None


def _of_python(env: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in env.items() if name.startswith("PYTHON")}
