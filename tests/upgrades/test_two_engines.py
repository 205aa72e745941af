"""Two engines side by side, as in an upgrade without downtime: the newer one judges, the older one gives way."""

import asyncio
import json
import os
import socket
import sys
import urllib.error
import urllib.request
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import nats
import pytest
import redis.asyncio
from nats.aio.client import Client
from reporting import ROOT, apply_streams, publish_events, reach, sized_stream
from workload import story_events

from lictor_bus.logs.dead_letters import list_dead
from lictor_bus.logs.packs import read_switches
from lictor_bus.names import subjects
from lictor_bus.wire.read import read_from
from lictor_local.embedded_servers import Endpoints
from lictor_policy.packs.bundle import bundle_directory
from lictor_policy.version import ENGINE_VERSION

OLDER = "0.0.1"
EVALUATOR = "lictor_policy_evaluator"
# The same code, made to be an earlier engine whose states have an earlier format.
AS_OLDER = f"""
import lictor_policy.version
lictor_policy.version.ENGINE_VERSION = "{OLDER}"
import lictor_policy.task.state
lictor_policy.task.state.FORMAT -= 1
import runpy
runpy.run_module("{EVALUATOR}", run_name="__main__")
"""
EVENTS = story_events(300, prefix="t", checkpoint_interval_s=None)
PARTITIONS = 4


class Instance:
    """One evaluator process, and what it says of itself."""

    def __init__(self, port: int) -> None:
        self._port = port

    async def until(self, *, ready: bool) -> str:
        """Wait until it is ready, or not; what it says then."""
        async with asyncio.timeout(60):
            while True:
                told = await asyncio.to_thread(self._health)
                if told is not None and told["ready"] is ready and told["detail"]:
                    return told["detail"]
                await asyncio.sleep(0.05)

    def _health(self) -> dict[str, Any] | None:
        try:
            with urllib.request.urlopen(
                f"http://127.0.0.1:{self._port}/health", timeout=5
            ) as found:
                return json.loads(found.read())
        except urllib.error.HTTPError as error:
            return json.loads(error.read())
        except OSError:
            return None


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@asynccontextmanager
async def running(
    endpoints: Endpoints, *command: str, **environment: str
) -> AsyncIterator[Instance]:
    await apply_streams(endpoints.nats_url)
    port = free_port()
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, *command),
        cwd=ROOT,
        env={
            **os.environ,
            "LICTOR_NATS_URL": endpoints.nats_url,
            "LICTOR_REDIS_URL": endpoints.redis_url,
            "LICTOR_LOG_LEVEL": "ERROR",
            "LICTOR_HTTP_PORT": str(port),
            **environment,
        },
    )
    try:
        yield Instance(port)
    finally:
        if process.returncode is None:
            process.terminate()
        await process.wait()


def older_engine(endpoints: Endpoints, **environment: str) -> Any:
    """An evaluator of an earlier engine."""
    return running(endpoints, "-c", AS_OLDER, **environment)


def newer_engine(endpoints: Endpoints) -> Any:
    """An evaluator as it is."""
    return running(endpoints, "-m", EVALUATOR)


@pytest.fixture
async def client(clean_infra: Endpoints) -> AsyncIterator[Client]:
    connected = await nats.connect(clean_infra.nats_url)
    yield connected
    await connected.close()


async def generations(endpoints: Endpoints) -> list[int]:
    async with redis.asyncio.from_url(endpoints.redis_url) as store:
        names = [f"lictor:{{policy-evaluator:{number}}}:generation" for number in range(PARTITIONS)]
        return [int(found or 0) for found in await store.mget(names)]


async def engines(client: Client) -> list[list[str]]:
    """By partition, the engines that have put packs in force."""
    found = [await read_switches(client, number) for number in range(PARTITIONS)]
    return [[each.switch.engine for each in switches] for switches in found]


async def configs(client: Client) -> list[str]:
    """What judged each event, in their order."""
    stored = await read_from(client, "DECISIONS", subjects.DECISION.any, 1, 1000)
    records = sorted(
        (json.loads(each.body) for each in stored), key=lambda it: it["event_sequence"]
    )
    assert len({each["event_id"] for each in records}) == len(records), "none is doubled"
    return [each["config_hash"] for each in records]


async def test_a_newer_engine_takes_over_and_the_older_one_gives_way(
    clean_infra: Endpoints, client: Client
) -> None:
    async with older_engine(clean_infra) as older:
        await older.until(ready=True)
        await publish_events(client, EVENTS[:100])
        await reach(client, "DECISIONS", 100)
        async with newer_engine(clean_infra) as newer:
            await newer.until(ready=True)
            waits = await older.until(ready=False)
            assert f"engine {ENGINE_VERSION} has put packs in force" in waits
            await publish_events(client, EVENTS[100:200])
            await reach(client, "DECISIONS", 200)
            after = await generations(clean_infra)
        # Alone again, the older one neither judges nor throws the newer one's states away.
        await publish_events(client, EVENTS[200:])
        await asyncio.sleep(1)
        assert f"a newer engine than {OLDER} is in force" in await older.until(ready=False)
        assert await sized_stream(client, "DECISIONS") == 200
        assert await generations(clean_infra) == after
        async with newer_engine(clean_infra):
            await reach(client, "DECISIONS", 300)
    assert await generations(clean_infra) == after
    assert await engines(client) == [[OLDER, ENGINE_VERSION]] * PARTITIONS
    judged = await configs(client)
    own = bundle_directory(ROOT / "policy-packs").config.config_hash
    assert own not in judged[:100]
    assert set(judged[100:]) == {own}
    assert [each async for each in list_dead(client)] == []


async def test_an_older_engine_that_starts_beside_a_newer_one_puts_nothing_in_force(
    clean_infra: Endpoints, client: Client
) -> None:
    async with newer_engine(clean_infra) as newer:
        await newer.until(ready=True)
        async with older_engine(clean_infra) as older:
            await older.until(ready=False)
            await publish_events(client, EVENTS[:100])
            await reach(client, "DECISIONS", 100)
            assert "in force" in await older.until(ready=False)
    assert await engines(client) == [[ENGINE_VERSION]] * PARTITIONS
    assert len(set(await configs(client))) == 1


async def test_the_gates_are_answered_by_the_newer_engine_alone(
    clean_infra: Endpoints, client: Client
) -> None:
    """An older instance that denied its share of the questions would be a downtime."""
    async with newer_engine(clean_infra) as newer:
        await newer.until(ready=True)
        async with older_engine(clean_infra) as older:
            async with asyncio.timeout(60):
                while "answers no gate" not in await older.until(ready=False):
                    await asyncio.sleep(0.05)
            answers = [
                await client.request("lictor.gate.report.test", b"no question", timeout=5)
                for _ in range(20)
            ]
    reasons = [json.loads(each.data)["reason"] for each in answers]
    assert len(reasons) == 20
    assert not any("engine" in each for each in reasons)


async def test_going_back_to_an_older_engine_has_to_be_said(
    clean_infra: Endpoints, client: Client
) -> None:
    async with newer_engine(clean_infra) as newer:
        await newer.until(ready=True)
        await publish_events(client, EVENTS[:100])
        await reach(client, "DECISIONS", 100)
    async with redis.asyncio.from_url(clean_infra.redis_url) as store:
        await store.flushall()
    async with older_engine(clean_infra, LICTOR_ENGINE_TAKES_BACK=ENGINE_VERSION) as older:
        await older.until(ready=True)
        await publish_events(client, EVENTS[100:200])
        await reach(client, "DECISIONS", 200)
    assert await engines(client) == [[ENGINE_VERSION, OLDER]] * PARTITIONS
    judged = await configs(client)
    assert set(judged[:100]).isdisjoint(judged[100:])
