"""Evaluators and sealers on a cluster of three, and the agents whose events they judge."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import uuid
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import redis.asyncio
from nats.aio.client import Client
from nats.errors import Error as NatsError
from nats_cluster import NAMES, NatsCluster, until_formed

from lictor_bus.errors import BusError
from lictor_bus.names import streams, subjects
from lictor_bus.service.health import ask_health
from lictor_bus.wire.connection import TolerantClient, close_nats, connect_nats
from lictor_bus.wire.publish import Outgoing, publish_one
from lictor_bus.wire.read import last_sequence
from lictor_local.embedded_servers import EmbeddedServers
from lictor_local.server_process import tied_to_this_process

ROOT = Path(__file__).resolve().parents[2]
EVALUATOR, SEALER = "lictor_policy_evaluator", "lictor_sealer"
# Of a loaded machine with two cores nothing can be said but that it gets there.
GENEROUS_S = 180.0
_AGENTS = 8


class Installation:
    """What runs, and how it is disturbed."""

    def __init__(self, folder: Path, cluster: NatsCluster, stores: EmbeddedServers) -> None:
        self._folder = folder
        self._stores = stores
        self._processes: dict[str, tuple[str, str, subprocess.Popen[bytes]]] = {}
        self.cluster = cluster

    @property
    def redis_url(self) -> str:
        """The address of Redis."""
        return self._stores.redis_url

    @property
    def services(self) -> Sequence[str]:
        """The names they were started by."""
        return tuple(self._processes)

    def start(self, name: str, module: str, node: str) -> None:
        """Start a service that connects to one server, and finds the others from there."""
        with (self._folder / f"{name}.log").open("ab") as log:
            process = subprocess.Popen(
                tied_to_this_process([sys.executable, "-m", module]),
                cwd=ROOT,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env={
                    **os.environ,
                    "LICTOR_NATS_URL": self.cluster.url(node),
                    "LICTOR_REDIS_URL": self._stores.redis_url,
                    "LICTOR_PARTITIONS": "2",
                    "LICTOR_START_TIMEOUT_S": "600",
                    "LICTOR_SEAL_KEY": str(self._folder / "seal.pem"),
                    "LICTOR_SEAL_KEY_CREATE": "1",
                },
            )
        self._processes[name] = module, node, process

    def kill(self, name: str) -> None:
        """End a service without warning."""
        process = self._processes[name][2]
        process.kill()
        process.wait()

    async def supervise(self) -> None:
        """Start again what has ended, as whatever runs services does; until it is cancelled."""
        while True:
            for name, (module, node, process) in list(self._processes.items()):
                if process.poll() is not None:
                    self.start(name, module, node)
            await asyncio.sleep(0.5)

    async def empty_redis(self) -> None:
        """Lose every state."""
        async with redis.asyncio.from_url(self._stores.redis_url) as store:
            await store.flushall()

    def logs(self) -> str:
        """The ends of what the services wrote."""
        return "\n".join(
            f"--- {path.name}\n{path.read_text('utf-8', 'replace')[-3000:]}"
            for path in sorted(self._folder.glob("*.log"))
        )

    def end(self) -> None:
        """Kill every service."""
        for name in self._processes:
            self.kill(name)


@asynccontextmanager
async def installed(folder: Path, *, partitions: int = 2) -> AsyncIterator[Installation]:
    """A cluster with the streams, and a Redis; no service runs yet."""
    async with AsyncExitStack() as stack:
        cluster = await stack.enter_async_context(NatsCluster(folder / "nats").running())
        stores = EmbeddedServers(folder / "stores", nats_port=None, durable=False)
        await stack.enter_async_context(stores)
        async with connected(cluster) as client:
            await until_formed(client)
            await streams.declare(client, *streams.STREAMS, partitions=partitions, replicas=3)
        installation = Installation(folder, cluster, stores)
        stack.callback(installation.end)
        yield installation


@asynccontextmanager
async def connected(cluster: NatsCluster, node: str = NAMES[0]) -> AsyncIterator[TolerantClient]:
    """A connection as services have it."""
    client = await connect_nats(cluster.url(node), name="test", timeout_s=60)
    try:
        yield client
    finally:
        await close_nats(client)


async def until_ready(client: Client, *services: str) -> None:
    """Wait until some instance of each says that it is."""
    async with asyncio.timeout(GENEROUS_S):
        for service in services:
            while True:
                try:
                    if (await ask_health(client, service)).ready:
                        break
                except BusError:
                    pass
                await asyncio.sleep(0.2)


@dataclass
class Agents:
    """Publish events until each is acknowledged, and ask a gate before a task is closed."""

    client: Client
    acknowledged: dict[str, int] = field(default_factory=dict)
    """By event id, the sequence that the broker confirmed."""
    gated: set[str] = field(default_factory=set)
    """Tasks whose one question to a gate is on record, before their last event was published."""
    pause_s: float = 0.05
    stopping: bool = False

    async def work(self, events: Sequence[tuple[str, bytes]]) -> None:
        """All events, those of one task in order."""
        stories: dict[str, list[tuple[str, bytes]]] = {}
        for subject, body in events:
            stories.setdefault(subject, []).append((subject, body))
        waiting = list(reversed(stories.values()))

        async def agent() -> None:
            while waiting and not self.stopping:
                story = waiting.pop()
                for number, (subject, body) in enumerate(story, 1):
                    if number == len(story):
                        await self._ask(subject.rpartition(".")[2])
                    await self._publish(subject, body)
                    await asyncio.sleep(self.pause_s)

        await asyncio.gather(*(agent() for _ in range(_AGENTS)))

    async def _publish(self, subject: str, body: bytes) -> None:
        event_id: str = json.loads(body)["event_id"]
        message = Outgoing(subject, body, event_id)
        while True:
            try:
                sequence = await publish_one(self.client, "EVENTS", message)
            except (BusError, NatsError, OSError):
                await asyncio.sleep(0.2)
                continue
            # One that was stored by an attempt without an answer has no sequence here.
            self.acknowledged[event_id] = sequence or 0
            return

    async def _ask(self, task: str) -> None:
        question = {
            "request_id": str(uuid.uuid4()),
            "runtime": "bench",
            "agent_id": "agent-1",
            "task_id": task,
            "requested_at": "2026-01-01T00:00:00Z",
            "message": "All done.",
            "claim": {"type": "completion", "text": "all done"},
        }
        try:
            await self.client.request(
                subjects.gate("report", "bench"), json.dumps(question).encode(), timeout=10
            )
            async with asyncio.timeout(10):
                while not await last_sequence(
                    self.client, "GATES", subjects.gated("bench", "report", task), timeout_s=10
                ):
                    await asyncio.sleep(0.05)
        except (BusError, NatsError, OSError, TimeoutError):
            # Unknown whether it is on record, or will be.
            return
        self.gated.add(task)
