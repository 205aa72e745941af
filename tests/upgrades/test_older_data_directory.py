"""A data directory that version 0.1 wrote, when one service both sealed and supervised, is taken over as it is.

``data-0.1.tar.gz`` holds two sealed episodes of governed decisions, their drift, claims and open cycles, a proposed
patch, a guarded session, a program that ran, one that waits for an approval, and the task `newsletter-1`, which closed
when no sealer ran any more. Its key was made for this.
"""

import asyncio
import hashlib
import json
import shutil
import sys
import tarfile
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import pytest
from nats.aio.client import Client
from reporting import ROOT, service_process, wait_until_ready

from lictor_bus.migration.stream_migration import migrate
from lictor_bus.names import streams
from lictor_bus.names.older_subjects import without_runtime
from lictor_bus.wire.connection import close_nats, connect_nats
from lictor_bus.wire.read import read_all
from lictor_bus.wire.redis_connection import connect_redis
from lictor_local.embedded_servers import EmbeddedServers
from lictor_local.stack import Stack, StackSettings
from lictor_seal import SealBundle, TrustStore, verify_bundle

COMMAND = Path(sys.executable).with_name("lictor")
PATIENCE_S = 60.0
WRITTEN = (
    streams.ACTIONS,
    streams.CERPA,
    streams.CONTENTS,
    streams.DEAD,
    streams.DECISIONS,
    streams.DRIFT,
    streams.EPISODES,
    streams.PATCHES,
)
"""What supervisor and sealer write, and what they are about."""
FOLDS = {
    "sealer": streams.DECISIONS,
    "sealer-resumed": streams.ACTIONS,
    "supervisor-sightings": streams.ACTIONS,
    "supervisor-recurrence": streams.DRIFT,
    "supervisor-drift-telling": streams.DRIFT,
    "supervisor-settling": streams.PATCHES,
    "supervisor-patch-telling": streams.PATCHES,
    "supervisor-claims": streams.CERPA,
}

Stored = Mapping[str, Sequence[tuple[int, int, str, str | None, str]]]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    with tarfile.open(Path(__file__).with_name("data-0.1.tar.gz")) as archive:
        archive.extractall(tmp_path, filter="data")
    return tmp_path / "data-0.1"


@pytest.fixture
def packs(tmp_path: Path) -> Path:
    """The packs that were in force."""
    folder = tmp_path / "packs"
    shutil.copytree(ROOT / "policy-packs", folder)
    shutil.copytree(ROOT / "examples/packs/refunds", folder / "refunds")
    return folder


def as_it_is(subject: str) -> str:
    return subject


async def stored(client: Client, as_then: Callable[[str], str] = without_runtime) -> Stored:
    """Every message with its sequence, its time, its subject as 0.1 had it, its id and its hash."""
    return {
        stream: [
            (
                each.sequence,
                each.stored_at_ns,
                as_then(each.subject),
                each.headers.get("Nats-Msg-Id"),
                hashlib.sha256(each.body).hexdigest(),
            )
            async for each in read_all(client, stream, ">")
        ]
        for stream in WRITTEN
    }


@asynccontextmanager
async def connected(url: str) -> AsyncIterator[Client]:
    client = await connect_nats(url, name="test")
    yield client
    await close_nats(client)


async def before(data: Path, *, without_store: bool = False) -> Stored:
    """What the directory holds, as no service of ours has seen it."""
    async with EmbeddedServers(data, durable=False) as servers:
        if without_store:
            redis = await connect_redis(servers.redis_url)
            await redis.flushall()
            await redis.aclose()
        async with connected(servers.nats_url) as client:
            return await stored(client, as_it_is)


async def settled(client: Client) -> Stored:
    """What is stored once every fold has done all that there is."""
    jetstream = client.jetstream()
    async with asyncio.timeout(PATIENCE_S):
        while True:
            found = await stored(client)
            infos = [await jetstream.consumer_info(stream, name) for name, stream in FOLDS.items()]
            busy = any(each.num_pending or each.num_ack_pending for each in infos)
            if not busy and found == await stored(client):
                return found
            await asyncio.sleep(0.1)


@asynccontextmanager
async def running(data: Path, packs: Path, *names: str) -> AsyncIterator[Client]:
    """Services in their order, each ready before the next one starts."""
    keys = data / "keys"
    async with AsyncExitStack() as stack:
        servers = await stack.enter_async_context(EmbeddedServers(data, durable=False))
        client = await stack.enter_async_context(connected(servers.nats_url))
        await migrate(client, names)
        for name in names:
            environment = {"LICTOR_PACKS": str(packs)}
            if name == "sealer":
                environment["LICTOR_SEAL_KEY"] = str(keys / "seal.pem")
            else:
                environment["LICTOR_SEAL_TRUST"] = str(keys / "trust.json")
            await stack.enter_async_context(
                service_process(f"lictor_{name}", servers.endpoints, **environment)
            )
            await wait_until_ready(client, name)
        yield client


async def check(client: Client, was: Stored, now: Stored, data: Path) -> None:
    """The task that waited is sealed, once; all else is as it was; nothing of the old folds is left."""
    for stream in set(WRITTEN) - {streams.EPISODES, streams.CONTENTS}:
        assert now[stream] == was[stream], stream
    for stream, added in ((streams.EPISODES, 2), (streams.CONTENTS, 1)):
        assert now[stream][:-added] == was[stream], stream
    trust = TrustStore.load(data / "keys" / "trust.json")
    bundles = [each.body async for each in read_all(client, streams.EPISODES, "lictor.ep.*.*.*")]
    assert all(verify_bundle(each, trust).ok for each in bundles)
    tasks = [SealBundle.from_bytes(each).sealed_episode["taskId"] for each in bundles]
    assert tasks.count("newsletter-1") == 1
    assert len(set(tasks)) == len(tasks) == 3
    for stream in {*FOLDS.values()}:
        found = {each.name for each in await client.jetstream().consumers_info(stream)}
        assert {name for name in found if name.startswith(("sealer", "supervisor"))} == {
            name for name, folds in FOLDS.items() if folds == stream
        }


async def run(*words: str) -> dict[str, object]:
    process = await asyncio.create_subprocess_exec(
        COMMAND, *words, "--json", stdout=asyncio.subprocess.PIPE
    )
    out, _ = await process.communicate()
    assert process.returncode == 0, out
    return json.loads(out.splitlines()[-1])


@pytest.mark.parametrize(
    ("order", "store"),
    [
        (("sealer", "supervisor"), "kept"),
        (("supervisor", "sealer"), "kept"),
        (("sealer", "supervisor"), "lost"),
    ],
)
async def test_supervisor_and_sealer_go_on_without_a_hole_or_a_repeat(
    data: Path, packs: Path, order: tuple[str, str], store: str
) -> None:
    was = await before(data, without_store=store == "lost")
    async with running(data, packs, *order) as client:
        now = await settled(client)
        await check(client, was, now, data)
    async with running(data, packs, *reversed(order)) as client:
        assert await settled(client) == now


async def test_lictor_up_takes_it_over_and_its_history_replays_without_a_difference(
    data: Path, packs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LICTOR_LAYERS", str(ROOT / "examples/layers"))
    settings = StackSettings(data_dir=data, packs=packs, agents=ROOT / "examples/agents")
    was, now = await before(data), None
    for _ in range(2):
        async with Stack(settings, lambda _: None) as stack:
            url = stack.running.nats_url
            async with connected(url) as client:
                found = await settled(client)
                await check(client, was, found, data)
                assert found == (now or found)
                now = found
            replayed = await run("replay", "--url", url)
            assert (replayed["differences"], replayed["same"]) == (0, 12), replayed
            await run("log", "verify", "--trust", str(data / "keys/trust.json"), "--url", url)
