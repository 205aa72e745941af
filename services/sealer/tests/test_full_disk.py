"""Sealing when the broker can't store, or can't be reached: it is delayed, and nothing is dropped or doubled."""

import asyncio
import contextlib
import json
import os
import subprocess
from base64 import b64encode
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from governing_bus import Asker, put_in_force
from nats.aio.client import Client
from nats.errors import Error as NatsError
from reporting import reach, service_process, sized_stream, wait_until_ready

from lictor_bus.errors import BusError
from lictor_bus.logs.dead_letters import list_dead
from lictor_bus.names import streams, subjects
from lictor_bus.wire.connection import close_nats, connect_nats
from lictor_bus.wire.publish import Outgoing, publish_one
from lictor_bus.wire.read import read_from
from lictor_local.embedded_servers import EmbeddedServers, Endpoints
from lictor_seal import SealBundle, TrustStore, leaf_data, tree_root, verify_bundle

TASKS = 60
PATIENCE_S = 90


class SmallServers(EmbeddedServers):
    """Servers whose NATS stores little: what a full disk is to JetStream, without one."""

    def _nats_config(self, port: int) -> str:
        return super()._nats_config(port).replace("max_file_store: 64GB", "max_file_store: 8MB")


@dataclass
class Sealing:
    """Sealers as processes, and the tasks they have to seal."""

    endpoints: Endpoints
    client: Client
    folder: Path
    running: AsyncExitStack

    async def start(self, endpoints: Endpoints | None = None) -> asyncio.subprocess.Process:
        """Small batches, so that there are many appends to be in the middle of."""
        return await self.running.enter_async_context(
            service_process(
                "lictor_sealer",
                endpoints or self.endpoints,
                LICTOR_SEAL_KEY=str(self.folder / "seal.pem"),
                LICTOR_SEAL_KEY_CREATE="1",
                LICTOR_BATCH="6",
            )
        )

    async def close_tasks(self, first: int = 0, count: int = TASKS) -> None:
        """Tasks that begin and close."""
        for number in range(first, first + count):
            asker = Asker(self.client, f"task-{number}")
            await asker.start()
            await asker.close()

    async def fill(self) -> None:
        """Take all the room there is."""
        await self.client.jetstream().add_stream(name="BALLAST", subjects=["ballast"])
        size = 512 * 1024
        while size >= 1024:
            try:
                await publish_one(self.client, "BALLAST", Outgoing("ballast", b"x" * size))
            except BusError:
                size //= 2

    async def until_told(self, what: str) -> None:
        """Wait until the sealer says what it waits for."""
        async with asyncio.timeout(PATIENCE_S):
            while what not in (await self.health()).get("detail", ""):
                await asyncio.sleep(0.05)

    async def health(self) -> dict[str, Any]:
        try:
            return json.loads(
                (await self.client.request("lictor.health.sealer", b"", timeout=1)).data
            )
        except NatsError:
            return {}

    async def assert_all_sealed_once(self, count: int = TASKS) -> None:
        """Every task is in the log once, and the log is whole."""
        bundles: list[bytes] = []
        async with asyncio.timeout(PATIENCE_S):
            while len(bundles) < count:
                with contextlib.suppress(BusError, NatsError):
                    bundles = [each async for each in self._bundles()]
                await asyncio.sleep(0.05)
        trust = TrustStore.load(self.folder / "trust.json")
        assert all(verify_bundle(body, trust).ok for body in bundles)
        parsed = [SealBundle.from_bytes(body) for body in bundles]
        assert [each.leaf_index for each in parsed] == list(range(count))
        tasks = {each.sealed_episode["taskId"] for each in parsed}
        assert tasks == {f"task-{number}" for number in range(count)}
        # The root that the last checkpoint signs is the root of exactly these leaves.
        root = tree_root([leaf_data(each.sealed_episode) for each in parsed])
        assert parsed[-1].checkpoint.splitlines()[2] == b64encode(root).decode()
        assert [each async for each in list_dead(self.client)] == []

    async def _bundles(self) -> AsyncIterator[bytes]:
        sequence = 1
        while page := await read_from(
            self.client, streams.EPISODES, subjects.EPISODE.any, sequence, 200
        ):
            for stored in page:
                yield stored.body
            sequence = page[-1].sequence + 1


@asynccontextmanager
async def sealing(endpoints: Endpoints, folder: Path) -> AsyncIterator[Sealing]:
    async with AsyncExitStack() as running:
        client = await connect_nats(endpoints.nats_url, name="test")
        running.push_async_callback(close_nats, client)
        await streams.declare(client, streams.DECISIONS, streams.EPISODES, streams.DEAD)
        yield Sealing(endpoints, client, folder, running)


async def test_a_full_store_delays_sealing_and_drops_nothing(tmp_path: Path) -> None:
    async with (
        SmallServers(tmp_path / "servers", durable=False) as servers,
        sealing(servers.endpoints, tmp_path) as bus,
    ):
        sealer = await bus.start()
        supervisor = service_process("lictor_supervisor", servers.endpoints)
        await bus.running.enter_async_context(supervisor)
        for name in ("sealer", "supervisor"):
            await wait_until_ready(bus.client, name)
        await put_in_force(bus.client)
        begun = await Asker(bus.client, "open").ready()
        sealer.kill()
        await sealer.wait()
        await bus.close_tasks()
        await bus.fill()
        sealer = await bus.start()
        await bus.until_told("insufficient resources")
        sealed = await sized_stream(bus.client, streams.EPISODES)
        assert sealed < TASKS
        # What can't be written down is not allowed.
        denied = await begun.act()
        assert (denied["decision"], denied["policy_id"]) == ("deny", "lictor.unavailable")
        # Killed while it waits, and started while there is still no room.
        sealer.kill()
        await sealer.wait()
        sealer = await bus.start()
        await bus.until_told("insufficient resources")
        assert await sized_stream(bus.client, streams.EPISODES) == sealed
        assert sealer.returncode is None
        await bus.client.jetstream().delete_stream("BALLAST")
        await bus.assert_all_sealed_once()
        await wait_until_ready(bus.client, "sealer")
        assert (await begun.act())["decision"] == "allow"


async def test_a_stream_that_may_not_grow_delays_sealing_and_drops_nothing(
    own_servers: EmbeddedServers, tmp_path: Path
) -> None:
    async with sealing(own_servers.endpoints, tmp_path) as bus:
        await bus.close_tasks()
        js = bus.client.jetstream()
        limited = (await js.stream_info(streams.EPISODES)).config
        limited.max_bytes = 64 * 1024
        limited.discard = "new"  # pyright: ignore[reportAttributeAccessIssue] -- as the server spells it
        sealer = await bus.start()
        await reach(bus.client, streams.EPISODES, 1)
        await js.update_stream(limited)
        await bus.until_told("maximum bytes exceeded")
        sealer.kill()
        await sealer.wait()
        limited.max_bytes = -1
        await js.update_stream(limited)
        await bus.start()
        await bus.assert_all_sealed_once()


class Line:
    """A line to a server that can be cut, with everything that is on its way."""

    def __init__(self, url: str) -> None:
        self._to = urlsplit(url)
        self._open: set[asyncio.StreamWriter] = set()
        self._server: asyncio.Server | None = None

    async def __aenter__(self) -> "Line":
        self._server = await asyncio.start_server(self._carry, "127.0.0.1", 0)
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.close()
        self.cut()

    @property
    def url(self) -> str:
        assert self._server is not None
        return f"nats://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    def cut(self) -> None:
        for writer in list(self._open):
            writer.transport.abort()

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        far_reader, far_writer = await asyncio.open_connection(self._to.hostname, self._to.port)
        ends = {writer, far_writer}
        self._open |= ends

        async def copy(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
            with contextlib.suppress(OSError):
                # Small pieces: a cut goes through the middle of a batch.
                while piece := await source.read(512):
                    sink.write(piece)
                    await sink.drain()
            for end in ends:
                end.transport.abort()

        await asyncio.gather(copy(reader, far_writer), copy(far_reader, writer))
        self._open -= ends


@pytest.mark.slow
async def test_a_line_that_is_cut_again_and_again_delays_sealing_and_drops_nothing(
    own_servers: EmbeddedServers, tmp_path: Path
) -> None:
    endpoints = own_servers.endpoints
    async with sealing(endpoints, tmp_path) as bus, Line(endpoints.nats_url) as line:
        await bus.close_tasks()
        await bus.start(Endpoints(line.url, endpoints.redis_url))
        for number in range(6):
            await reach(bus.client, streams.EPISODES, 1 + number * 8)
            line.cut()
        await bus.assert_all_sealed_once()


async def test_a_broker_that_dies_and_a_sealer_that_dies_with_it_drop_nothing(
    own_servers: EmbeddedServers, tmp_path: Path
) -> None:
    async with sealing(own_servers.endpoints, tmp_path) as bus:
        await bus.close_tasks()
        sealer = await bus.start()
        await reach(bus.client, streams.EPISODES, 10)
        await own_servers.kill_nats()
        sealer.kill()
        await sealer.wait()
        # Started while the broker is away: it waits for it.
        await bus.start()
        await own_servers.start_nats()
        await bus.assert_all_sealed_once()


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A real file system of a few megabytes."""
    folder = tmp_path / "disk"
    folder.mkdir()
    options = ("-t", "tmpfs", "-o", "size=48m", "tmpfs", str(folder))
    made = subprocess.run(["mount", *options], capture_output=True, check=False)
    if made.returncode:
        pytest.skip("only who may mount file systems can make a small disk")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


@pytest.mark.slow
async def test_a_disk_that_is_full_delays_sealing_until_the_broker_is_started_again(
    small_disk: Path, tmp_path: Path
) -> None:
    async with (
        EmbeddedServers(small_disk / "nats", redis=False) as broker,
        EmbeddedServers(tmp_path / "redis", nats_port=None) as store,
        sealing(Endpoints(broker.nats_url, store.redis_url), tmp_path) as bus,
    ):
        # Once, so that all that a sealer needs is there before the disk is full.
        sealer = await bus.start()
        await wait_until_ready(bus.client, "sealer")
        sealer.kill()
        await sealer.wait()
        await bus.close_tasks()
        ballast = small_disk / "ballast"
        free = os.statvfs(small_disk)
        ballast.write_bytes(b"x" * (free.f_bavail * free.f_frsize - 64 * 1024))
        sealer = await bus.start()
        await bus.until_told("JetStream did not answer")
        sealer.kill()
        await sealer.wait()
        ballast.unlink()
        # After a failed write, NATS takes no more for that stream before it is started again.
        await broker.kill_nats()
        await broker.start_nats()
        await bus.start()
        await bus.assert_all_sealed_once()
