"""Questions to Redis over one connection, without waiting for each other's answers.

redis-py spends more on a question than Redis, the network and whoever asked together. What is asked before every tool
call of an agent goes this way; everything else goes through redis-py, which also retries. Here a lost connection is an
error at once, and the next question makes a new one.
"""

import asyncio
import hashlib
from collections import deque
from collections.abc import Callable
from typing import Any, cast
from urllib.parse import unquote, urlsplit

import hiredis
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import ResponseError

_DEFAULT_PORT = 6379


class Script:
    """A Lua script, sent whole only to a Redis that does not know it yet."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.sha = hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest()


# Its types say that a command is one word.
_packed: Callable[[tuple[str | bytes | int, ...]], bytes] = cast(Any, hiredis).pack_command


class QuickRedis:
    """One connection, made when it is needed.

    ``on_server`` is given what Redis says about itself (``INFO server``) over every connection, before anything else is
    asked on it.
    """

    def __init__(self, url: str, on_server: Callable[[bytes], None], within_s: float = 1.0) -> None:
        self._address = urlsplit(url)
        self._on_server = on_server
        self._within_s = within_s
        self._wire: _Wire | None = None
        self._connecting = asyncio.Lock()
        self._closed = False

    @staticmethod
    def can_reach(url: str) -> bool:
        """Whether the address is a plain one; TLS and options are left to redis-py."""
        address = urlsplit(url)
        if address.query:
            return False
        if address.scheme == "unix":
            return bool(address.path)
        return address.scheme == "redis" and bool(address.hostname)

    async def ask(self, *command: str | bytes | int) -> Any:
        """The answer to a command; RedisConnectionError or TimeoutError when there is none."""
        try:
            wire = self._wire
            if wire is None or wire.lost:
                async with asyncio.timeout(self._within_s):
                    wire = await self._connect()
            return await wire.ask(command)
        except TimeoutError:
            raise
        except OSError as error:
            raise RedisConnectionError(str(error)) from error

    async def run(self, script: Script, key: str, *args: str | bytes | int) -> Any:
        """What a script returns that is about one key; errors as of ``ask``."""
        try:
            return await self.ask("EVALSHA", script.sha, 1, key, *args)
        except ResponseError as error:
            if not str(error).startswith("NOSCRIPT"):
                raise
            return await self.ask("EVAL", script.text, 1, key, *args)

    def close(self) -> None:
        """Give up the connection for good; pending commands get an error."""
        self._closed = True
        if self._wire is not None:
            self._wire.give_up()
            self._wire = None

    async def _connect(self) -> "_Wire":
        async with self._connecting:
            if self._wire is not None and not self._wire.lost:
                return self._wire
            if self._closed:
                raise RedisConnectionError("this client is closed")
            address = self._address
            loop = asyncio.get_running_loop()

            def made() -> _Wire:
                return _Wire(loop, self._within_s)

            if address.scheme == "unix":
                _, wire = await loop.create_unix_connection(made, unquote(address.path))
            else:
                host, port = address.hostname or "", address.port or _DEFAULT_PORT
                _, wire = await loop.create_connection(made, host, port)
            try:
                await self._introduce(wire)
                if self._closed:
                    raise RedisConnectionError("this client is closed")
            except BaseException:
                wire.give_up()
                raise
            self._wire = wire
            return wire

    async def _introduce(self, wire: "_Wire") -> None:
        address = self._address
        if address.password:
            user = (unquote(address.username),) if address.username else ()
            await wire.ask(("AUTH", *user, unquote(address.password)))
        database = address.path.strip("/") if address.scheme == "redis" else ""
        if database and database != "0":
            await wire.ask(("SELECT", database))
        self._on_server(await wire.ask(("INFO", "server")))


class _Wire(asyncio.Protocol):
    """A connection: answers are handed to those who asked, in the order in which they asked.

    So behind an answer that does not come in time, none does, and the connection is given up. One timer, for the
    question that waits longest, is enough for all.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, within_s: float) -> None:
        self.lost = False
        self._loop = loop
        self._within_s = within_s
        self._answers = hiredis.Reader()
        self._waiting: deque[tuple[asyncio.Future[Any], float]] = deque()
        self._timer: asyncio.TimerHandle | None = None
        self._unsent: list[bytes] = []
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's is one without being an instance of it.
        self._transport = cast(asyncio.Transport, transport)

    def ask(self, command: tuple[str | bytes | int, ...]) -> "asyncio.Future[Any]":
        """Send a command; its answer comes, or an error says that it does not."""
        if self.lost or self._transport is None:
            raise RedisConnectionError("the connection to Redis was lost")
        answer: asyncio.Future[Any] = self._loop.create_future()
        until = self._loop.time() + self._within_s
        self._waiting.append((answer, until))
        if self._timer is None:
            self._timer = self._loop.call_at(until, self._look)
        if not self._unsent:
            self._loop.call_soon(self._send)
        self._unsent.append(_packed(command))
        return answer

    def _send(self) -> None:
        """All that was asked in this turn of the loop at once: uvloop would make a system call of each."""
        commands = b"".join(self._unsent)
        self._unsent.clear()
        if self._transport is not None:
            self._transport.write(commands)

    def _look(self) -> None:
        """Somebody who asked may have waited too long."""
        self._timer = None
        if not self._waiting:
            return
        until = self._waiting[0][1]
        if until > self._loop.time():
            self._timer = self._loop.call_at(until, self._look)
            return
        self._fail(TimeoutError, "Redis does not answer in time")
        self.give_up()

    def data_received(self, data: bytes) -> None:
        self._answers.feed(data)
        while (found := self._answers.gets()) is not False:
            waiting, _ = self._waiting.popleft()
            if waiting.done():
                continue
            if isinstance(found, hiredis.ReplyError):
                waiting.set_exception(ResponseError(str(found)))
            else:
                waiting.set_result(found)

    def connection_lost(self, exc: Exception | None) -> None:
        self.lost = True
        if self._timer is not None:
            self._timer.cancel()
        self._fail(RedisConnectionError, f"Redis closed the connection: {exc}")

    def _fail(self, kind: type[Exception], why: str) -> None:
        for waiting, _ in self._waiting:
            if not waiting.done():
                waiting.set_exception(kind(why))
        self._waiting.clear()

    def give_up(self) -> None:
        """Close it without waiting for anything."""
        self.lost = True
        if self._transport is not None:
            self._transport.abort()
