"""Streams restored from an older backup under newer cursors: folded again, and nothing is lost, doubled or forked."""

import asyncio
import json
import shutil
import time
import uuid
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from lossy_wire import LossyWire
from nats.errors import Error as NatsError
from reporting import reach, service_process, wait_until_ready

from lictor_bus.names import subjects
from lictor_bus.names.streams import DEFAULT_PARTITIONS
from lictor_bus.wire.connection import TolerantClient, connect_nats
from lictor_bus.wire.publish import Outgoing, publish_one
from lictor_bus.wire.read import last_sequence, read_all
from lictor_local.embedded_servers import EmbeddedServers, Endpoints
from lictor_sealer.log.head_file import Remembered

PATIENCE_S = 60
CLOSING = Path(__file__).parents[2] / "examples/newsletter_task.jsonl"


class Site:
    """An installation whose broker can be backed up and restored, and what it decided."""

    def __init__(self, servers: EmbeddedServers, folder: Path) -> None:
        self.servers = servers
        self.folder = folder
        self.data = folder / "servers" / "nats"
        self.backup = folder / "backup"
        self.key = folder / "seal.pem"

    @asynccontextmanager
    async def running(
        self, *services: str, wire: LossyWire | None = None
    ) -> AsyncIterator[TolerantClient]:
        """Services, behind a wire if there is one, and a client that is not."""
        environment = {"LICTOR_SEAL_KEY": str(self.key), "LICTOR_SEAL_KEY_CREATE": "1"}
        endpoints = self.servers.endpoints
        if wire is not None:
            endpoints = Endpoints(wire.url, endpoints.redis_url)
        async with AsyncExitStack() as stack:
            client = await connect_nats(self.servers.nats_url, name="test")
            stack.push_async_callback(client.close)
            for name in services:
                module = f"lictor_{name.replace('-', '_')}"
                await stack.enter_async_context(service_process(module, endpoints, **environment))
            for name in services:
                await wait_until_ready(client, name, PATIENCE_S)
            yield client

    async def back_up(self) -> None:
        """Copy the files of the stopped broker."""
        await self.servers.kill_nats()
        shutil.copytree(self.data, self.backup)
        await self.servers.start_nats()

    async def restore(self, stream: str | None = None) -> None:
        """Put them back, all or those of one stream."""
        await self.servers.kill_nats()
        one = [] if stream is None else list(self.data.rglob(f"streams/{stream}"))
        assert stream is None or len(one) == 1
        place = one[0].relative_to(self.data) if one else Path()
        shutil.rmtree(self.data / place)
        shutil.copytree(self.backup / place, self.data / place)
        await self.servers.start_nats()


@pytest.fixture
def site(own_servers: EmbeddedServers, tmp_path: Path) -> Site:
    return Site(own_servers, tmp_path)


async def reported(client: TolerantClient, *tasks: str) -> None:
    """Report the start of each task, or, of one that the broker knows, a piece of evidence."""
    first, second, _ = map(json.loads, CLOSING.read_text("utf-8").splitlines())
    for task in tasks:
        event_id = str(uuid.uuid4())
        names = {"task_id": task, "correlation_id": task}
        event = {**first, **names, "event_id": event_id}
        known = subjects.stored_events(DEFAULT_PARTITIONS, task)
        if await last_sequence(client, "EVENTS", known, timeout_s=PATIENCE_S):
            (item,) = second["payload"]["items"]
            items = [{**item, **names, "evidence_id": event_id}]
            event = {**second, **names, "event_id": event_id, "payload": {"items": items}}
        message = Outgoing(subjects.event("shell", task), json.dumps(event).encode())
        await publish_one(client, "EVENTS", message)


async def closed(client: TolerantClient, task: str) -> None:
    """Report a whole task, to its end."""
    for line in CLOSING.read_text("utf-8").replace("newsletter-1", task).splitlines():
        await publish_one(client, "EVENTS", Outgoing(subjects.event("shell", task), line.encode()))


async def events(client: TolerantClient) -> list[str]:
    found = read_all(client, "EVENTS", "lictor.ev.*.*.*")
    return [json.loads(each.body)["event_id"] async for each in found]


async def decided(client: TolerantClient) -> "Counter[str]":
    """How many decisions there are on each event."""
    found = read_all(client, "DECISIONS", subjects.DECISION.any)
    return Counter([json.loads(each.body)["event_id"] async for each in found])


async def until_decided(client: TolerantClient, wanted: list[str]) -> "Counter[str]":
    end = time.monotonic() + PATIENCE_S
    while not set(wanted) <= (found := await decided(client)).keys():
        assert time.monotonic() < end, set(wanted) - found.keys()
        await asyncio.sleep(0.05)
    return found


async def test_an_older_backup_is_folded_again_and_every_event_decided_once(site: Site) -> None:
    async with site.running("policy-evaluator") as client:
        await reported(client, "a", "b")
        await until_decided(client, await events(client))
    await site.back_up()
    async with site.running("policy-evaluator") as client:
        await reported(client, "a", "b", "c", "d")
        await until_decided(client, await events(client))
    await site.restore()
    # Others under the same numbers, as many as there were, before any service looks.
    async with site.running() as client:
        await reported(client, "c", "a", "e", "b", "f")
    async with site.running("policy-evaluator") as client:
        wanted = await events(client)
        assert len(wanted) == 7
        assert await until_decided(client, wanted) == Counter(wanted)


async def test_events_that_are_older_than_the_decisions_on_them_are_decided_once(
    site: Site,
) -> None:
    async with site.running("policy-evaluator") as client:
        await reported(client, "a", "b")
        await until_decided(client, await events(client))
    await site.back_up()
    async with site.running("policy-evaluator") as client:
        await reported(client, "a", "b", "a", "b")
        before = await until_decided(client, await events(client))
    await site.restore("EVENTS")
    async with site.running() as client:
        # Nobody restores a stream as fast as a test does: the clocks of servers may be half a second apart.
        last = [each.stored_at async for each in read_all(client, "DECISIONS", ">")][-1]
        while datetime.now(UTC) < last + timedelta(seconds=1):
            await asyncio.sleep(0.05)
        await reported(client, "b", "a", "b")
    async with site.running("policy-evaluator") as client:
        wanted = await events(client)
        found = await until_decided(client, wanted)
        # Decisions on events that are gone stay on record; none is made twice.
        assert found == before | Counter(wanted)
        assert set(found.values()) == {1}


async def test_the_sealer_signs_no_smaller_tree_until_an_operator_says_so(site: Site) -> None:
    async with site.running("policy-evaluator", "sealer") as client:
        await closed(client, "first")
        await reach(client, "EPISODES", 2)
    await site.back_up()
    async with site.running("policy-evaluator", "sealer") as client:
        await closed(client, "second")
        await reach(client, "EPISODES", 4)
    signed = site.folder / "signed-head"
    assert signed_size(signed) == 2
    await site.restore()
    environment = {"LICTOR_SEAL_KEY": str(site.key)}
    async with (
        site.running("policy-evaluator") as client,
        service_process("lictor_sealer", site.servers.endpoints, **environment) as refused,
    ):
        await closed(client, "third")
        # It does not even start.
        assert await asyncio.wait_for(refused.wait(), PATIENCE_S) == 1
        with pytest.raises(NatsError):
            await client.request(subjects.health("sealer"), b"", timeout=1)
        assert (await client.jetstream().stream_info("EPISODES")).state.messages == 2
    signed.rename(site.folder / "told-the-auditors")
    async with site.running("policy-evaluator", "sealer") as client:
        await reach(client, "EPISODES", 4)
        sealed = read_all(client, "EPISODES", subjects.EPISODE.any)
        tasks = [json.loads(each.body)["sealedEpisode"]["taskId"] async for each in sealed]
    assert tasks == ["first", "third"]


async def test_a_broker_that_is_restored_under_a_running_sealer_gets_no_fork(site: Site) -> None:
    async with site.running("policy-evaluator", "sealer") as client:
        await closed(client, "first")
        await reach(client, "EPISODES", 2)
        await site.back_up()
        await wait_until_ready(client, "sealer", PATIENCE_S)
        await closed(client, "second")
        await reach(client, "EPISODES", 4)
        await site.restore()
        await wait_until_ready(client, "policy-evaluator", PATIENCE_S)
        await closed(client, "third")
        await until_a_fork_is_refused(client)
        assert (await client.jetstream().stream_info("EPISODES")).state.messages == 2


async def test_a_checkpoint_whose_answer_got_lost_is_not_forked_by_a_restore(site: Site) -> None:
    async with (
        LossyWire(site.servers.nats_url).running() as wire,
        site.running("policy-evaluator") as client,
        site.running("sealer", wire=wire),
    ):
        await closed(client, "first")
        async with asyncio.timeout(PATIENCE_S):
            # The answer to this one is not the one to be lost.
            while not is_confirmed(site.folder / "signed-head"):
                await asyncio.sleep(0.02)
        await site.back_up()
        await wait_until_ready(client, "sealer", PATIENCE_S)
        wire.lose_answers(that_hold=b'"stream":"EPISODES","seq"', hang=True)
        await closed(client, "second")
        async with asyncio.timeout(PATIENCE_S):
            await wire.lost.wait()
        # Whoever reads the log now keeps a checkpoint of two leaves.
        assert (await client.jetstream().stream_info("EPISODES")).state.messages == 4
        await site.restore()
        await wait_until_ready(client, "policy-evaluator", PATIENCE_S)
        await closed(client, "third")
        await until_a_fork_is_refused(client)
        assert (await client.jetstream().stream_info("EPISODES")).state.messages == 2
    environment = {"LICTOR_SEAL_KEY": str(site.key)}
    sealer = service_process("lictor_sealer", site.servers.endpoints, **environment)
    async with sealer as refused:
        assert await asyncio.wait_for(refused.wait(), PATIENCE_S) == 1


def signed_size(file: Path) -> int:
    """How many leaves the largest tree has that the sealer remembers."""
    remembered = Remembered.from_bytes(file.read_bytes())
    tree = remembered.confirmed if remembered.pending is None else remembered.pending.tree
    return 0 if tree is None else tree.frontier.size


def is_confirmed(file: Path) -> bool:
    return file.exists() and Remembered.from_bytes(file.read_bytes()).pending is None


async def until_a_fork_is_refused(client: TolerantClient) -> None:
    end = time.monotonic() + PATIENCE_S
    health = b""
    while b"fork" not in health:
        assert time.monotonic() < end, health
        with suppress(NatsError):
            health = (await client.request(subjects.health("sealer"), b"", timeout=5)).data
        await asyncio.sleep(0.1)
