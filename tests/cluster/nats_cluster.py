"""Three real nats-servers as one cluster, with a proxy on every route, so that one of them can lag behind the others.

A follower with a slow disk applies late what the leader has committed, while everything else about it is quick. The
proxies do the same to any machine: what the others replicate to the lagging server reaches it later, in order.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import random
import signal
import socket
import threading
from collections.abc import AsyncIterator, Callable
from concurrent.futures import Future
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import nats
import uvloop
from nats.aio.client import Client
from nats.errors import Error as NatsError

from lictor_local.kept_ports import HOST
from lictor_local.server_process import ServerProcess, ServerSpec, exchange, find_nats_server

NAMES = ("one", "two", "three")
# Below what the kernel gives to outgoing connections, and beside what ServerProcess takes.
_ROUTE_PORTS = range(15_000, 19_900)
# Raft and the JetStream API are in the system account, which has route connections of its own here.
_REPLICATION = "$SYS"
_GENEROUS_S = 120


def _free_port() -> int:
    while True:
        port = random.choice(_ROUTE_PORTS)
        with socket.socket() as probe:
            try:
                probe.bind((HOST, port))
            except OSError:
                continue
            return port


@dataclass
class _Link:
    """One route connection: who called whom, and whether it is the one that replicates."""

    called: str
    caller: str = ""
    replicates: bool = False
    said: bytes = b""

    def hear(self, data: bytes) -> None:
        """The caller says in its first lines who it is, and for which account the connection is."""
        if self.caller:
            return
        self.said += data
        start = self.said.find(b"INFO {")
        if start >= 0 and b"\r\n" in self.said[start:]:
            info = json.loads(self.said[start + 5 :].partition(b"\r\n")[0])
            self.caller = info["server_name"]
            self.replicates = info.get("route_account") == _REPLICATION

    def towards(self, *, forward: bool) -> str:
        """Which server gets replicated data in this direction; none for other connections."""
        if not self.replicates:
            return ""
        return self.called if forward else self.caller


class _Route:
    """Takes the route connections to one server and passes them on, some of them late."""

    def __init__(self, cluster: NatsCluster, name: str, front: int, behind: int) -> None:
        self._cluster = cluster
        self._name = name
        self._front = front
        self._behind = behind
        self._passing: set[asyncio.Task[None]] = set()

    @asynccontextmanager
    async def open(self) -> AsyncIterator[None]:
        server = await asyncio.start_server(self._connected, HOST, self._front)
        try:
            yield
        finally:
            server.close()
            for passing in self._passing:
                passing.cancel()
            await asyncio.gather(*self._passing, return_exceptions=True)

    def _connected(self, dialer: asyncio.StreamReader, back: asyncio.StreamWriter) -> None:
        passing = asyncio.create_task(self._pass_on(dialer, back))
        self._passing.add(passing)
        passing.add_done_callback(self._passing.discard)

    async def _pass_on(self, dialer: asyncio.StreamReader, back: asyncio.StreamWriter) -> None:
        writers = [back]
        pumps: list[asyncio.Task[None]] = []
        try:
            answers, forth = await asyncio.open_connection(HOST, self._behind)
            writers.append(forth)
            link = _Link(called=self._name)
            pumps += (
                asyncio.create_task(self._pump(dialer, forth, link, forward=True)),
                asyncio.create_task(self._pump(answers, back, link, forward=False)),
            )
            await asyncio.wait(pumps, return_when=asyncio.FIRST_COMPLETED)
        except OSError:
            # The server behind it does not run now.
            return
        finally:
            for pump in pumps:
                pump.cancel()
            await asyncio.gather(*pumps, return_exceptions=True)
            for writer in writers:
                writer.close()
            for writer in writers:
                with contextlib.suppress(OSError):
                    await writer.wait_closed()

    async def _pump(
        self,
        source: asyncio.StreamReader,
        sink: asyncio.StreamWriter,
        link: _Link,
        *,
        forward: bool,
    ) -> None:
        loop = asyncio.get_running_loop()
        waiting: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue()

        async def take() -> None:
            with contextlib.suppress(OSError):
                while data := await source.read(65536):
                    if forward:
                        link.hear(data)
                    late = self._cluster.lag_s(link.towards(forward=forward))
                    await waiting.put((loop.time() + late, data))
            await waiting.put((loop.time(), b""))

        taking = asyncio.create_task(take())
        try:
            while True:
                due, data = await waiting.get()
                if not data:
                    return
                await asyncio.sleep(max(0.0, due - loop.time()))
                sink.write(data)
                await sink.drain()
        except OSError:
            return
        finally:
            taking.cancel()
            await asyncio.gather(taking, return_exceptions=True)


class NatsCluster:
    """The servers, by name; one may lag."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._route_ports = {name: _free_port() for name in NAMES}
        self._front_ports = {name: _free_port() for name in NAMES}
        self._servers = {name: ServerProcess(self._spec(name), folder / name, 0) for name in NAMES}
        self._lock_fd = -1
        self._lagging = ""
        self._by_s = 0.0

    @asynccontextmanager
    async def running(self) -> AsyncIterator[NatsCluster]:
        """Start all three; stop whatever runs at exit."""
        self._folder.mkdir(parents=True, exist_ok=True)
        self._lock_fd = os.open(self._folder / "lock", os.O_RDWR | os.O_CREAT)
        async with AsyncExitStack() as stack:
            stack.callback(os.close, self._lock_fd)
            await stack.enter_async_context(self._routes())
            for name in NAMES:
                stack.push_async_callback(self.kill, name)
            await asyncio.gather(*(self.start(name) for name in NAMES))
            yield self

    @asynccontextmanager
    async def _routes(self) -> AsyncIterator[None]:
        """The proxies, on a loop of their own: a busy test must not hold up what the servers say to each other."""
        opened: Future[Callable[[], object]] = Future()

        def run() -> None:
            with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
                runner.run(self._pass_on_routes(opened))

        thread = threading.Thread(target=run, name="routes", daemon=True)
        thread.start()
        stop = await asyncio.wrap_future(opened)
        try:
            yield
        finally:
            stop()
            await asyncio.to_thread(thread.join)

    async def _pass_on_routes(self, opened: Future[Callable[[], object]]) -> None:
        loop, stopping = asyncio.get_running_loop(), asyncio.Event()
        try:
            async with AsyncExitStack() as stack:
                for name in NAMES:
                    route = _Route(self, name, self._front_ports[name], self._route_ports[name])
                    await stack.enter_async_context(route.open())
                opened.set_result(lambda: loop.call_soon_threadsafe(stopping.set))
                await stopping.wait()
        except OSError as error:
            if opened.done():
                raise
            opened.set_exception(error)

    def lag(self, name: str, seconds: float) -> None:
        """From now on what is replicated to this server reaches it so much later."""
        self._lagging, self._by_s = name, seconds

    def lag_s(self, towards: str) -> float:
        """How much later what goes to this server arrives."""
        return self._by_s if towards and towards == self._lagging else 0.0

    def url(self, *names: str) -> str:
        """The address of one server, or of several; without names of all."""
        return ",".join(f"nats://{HOST}:{self._servers[each].port}" for each in names or NAMES)

    async def start(self, name: str) -> None:
        await self._servers[name].start(self._lock_fd)

    async def kill(self, name: str) -> None:
        """End it without warning, paused or not."""
        await self._servers[name].kill()

    def pause(self, name: str) -> None:
        os.kill(self._servers[name].pid, signal.SIGSTOP)

    def resume(self, name: str) -> None:
        os.kill(self._servers[name].pid, signal.SIGCONT)

    @asynccontextmanager
    async def client(self, *names: str) -> AsyncIterator[Client]:
        """A connection to these servers and no others."""
        connection = await nats.connect(
            self.url(*names).split(","),
            dont_randomize=True,
            max_reconnect_attempts=-1,
            reconnect_time_wait=0.1,  # pyright: ignore[reportArgumentType] -- typed as int, slept as a float
            error_cb=_say_nothing,
        )
        try:
            yield connection
        finally:
            await connection.close()

    def _spec(self, name: str) -> ServerSpec:
        def answers(port: int) -> bool:
            return exchange(port, b"").startswith(b"INFO ")

        return ServerSpec(
            name="nats",
            binary=find_nats_server,
            arguments=lambda config: ["-c", str(config)],
            config=lambda port: self._config(name, port),
            answers=answers,
        )

    def _config(self, name: str, port: int) -> str:
        others = [
            f'"nats-route://{HOST}:{self._front_ports[other]}"' for other in NAMES if other != name
        ]
        return f"""\
server_name: {name}
listen: "{HOST}:{port}"
max_payload: 4MB
jetstream {{
    store_dir: {json.dumps(str(self._folder / name))}
    max_memory_store: 64MB
    max_file_store: 8GB
}}
cluster {{
    name: lictor-test
    listen: "{HOST}:{self._route_ports[name]}"
    advertise: "{HOST}:{self._front_ports[name]}"
    accounts: ["$SYS"]
    routes: [{", ".join(others)}]
}}
"""


async def _say_nothing(_error: Exception) -> None:
    """The tests end servers on purpose."""


async def api(client: Client, subject: str, request: dict[str, object] | None = None) -> dict:
    """One answer of the JetStream API, asked for until there is one."""
    body = b"" if request is None else json.dumps(request).encode()
    async with asyncio.timeout(_GENEROUS_S):
        while True:
            with contextlib.suppress(NatsError):
                answer = json.loads(
                    (await client.request(f"$JS.API.{subject}", body, timeout=5)).data
                )
                if answer.get("error", {}).get("code") != 503:
                    return answer
            await asyncio.sleep(0.1)


async def until_formed(client: Client) -> None:
    """Wait until a stream with three replicas can be made: then every server knows of the others."""
    probe = {"name": "PROBE", "subjects": ["probe"], "num_replicas": 3, "storage": "memory"}
    async with asyncio.timeout(_GENEROUS_S):
        while "error" in await api(client, "STREAM.CREATE.PROBE", probe):
            await asyncio.sleep(0.1)
        await api(client, "STREAM.DELETE.PROBE")


async def leader_of(client: Client, stream: str) -> str:
    """The server that leads a stream."""
    while True:
        cluster = (await api(client, f"STREAM.INFO.{stream}")).get("cluster", {})
        if cluster.get("leader"):
            return cluster["leader"]
        await asyncio.sleep(0.1)


async def lead(client: Client, stream: str, name: str) -> None:
    """Make a server the leader of a stream."""
    async with asyncio.timeout(_GENEROUS_S):
        while await leader_of(client, stream) != name:
            await api(
                client,
                f"STREAM.LEADER.STEPDOWN.{stream}",
                {"placement": {"preferred": name}},
            )
            await asyncio.sleep(0.1)


async def lead_consumer(client: Client, stream: str, consumer: str, name: str) -> None:
    """Make a server the leader of a consumer."""
    async with asyncio.timeout(_GENEROUS_S):
        while True:
            info = await api(client, f"CONSUMER.INFO.{stream}.{consumer}")
            if info.get("cluster", {}).get("leader") == name:
                return
            await api(
                client,
                f"CONSUMER.LEADER.STEPDOWN.{stream}.{consumer}",
                {"placement": {"preferred": name}},
            )
            await asyncio.sleep(0.1)
