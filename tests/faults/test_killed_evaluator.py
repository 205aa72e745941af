"""Kill the evaluator ten times during 20 000 events: the decisions are those of an undisturbed run, id for id."""

import asyncio
import json
from collections import defaultdict
from contextlib import AsyncExitStack
from pathlib import Path

import nats
import pytest
from nats.aio.client import Client
from reporting import publish_events, reach, service_process, wait_until_ready
from workload import story_events

from lictor_bus.names import subjects
from lictor_bus.wire.read import read_from
from lictor_local.embedded_servers import EmbeddedServers, Endpoints

EVENTS = 20_000
KILLS = 10
EVALUATOR = "lictor_policy_evaluator"
Decided = dict[str, list[tuple[str, str, str]]]


async def decisions_by_task(client: Client) -> Decided:
    """Every decision in stream order, by task: record id, event id, decision."""
    found: Decided = defaultdict(list)
    sequence = 1
    while page := await read_from(client, "DECISIONS", subjects.DECISION.all, sequence, 500):
        for stored in page:
            record = json.loads(stored.body)
            found[record["task_id"]].append(
                (record["record_id"], record["event_id"], record["decision"]["decision"])
            )
        sequence = page[-1].sequence + 1
    return found


async def run(endpoints: Endpoints, kills: int) -> Decided:
    """Play the same events; kill the evaluator at evenly spread moments."""
    client = await nats.connect(endpoints.nats_url)
    async with AsyncExitStack() as stack:
        stack.push_async_callback(client.close)
        process = await stack.enter_async_context(service_process(EVALUATOR, endpoints))
        await wait_until_ready(client, "policy-evaluator")
        publishing = asyncio.create_task(
            publish_events(client, story_events(EVENTS, prefix="task", checkpoint_interval_s=None))
        )
        for number in range(kills):
            await reach(client, "DECISIONS", EVENTS * (number + 1) // (kills + 2))
            process.kill()
            await process.wait()
            process = await stack.enter_async_context(service_process(EVALUATOR, endpoints))
        await publishing
        await reach(client, "DECISIONS", EVENTS)
        return await decisions_by_task(client)


@pytest.mark.timeout(600)
async def test_ten_kills_lose_nothing_and_double_nothing(tmp_path: Path):
    async with EmbeddedServers(tmp_path / "calm", durable=False) as calm:
        undisturbed = await run(calm.endpoints, kills=0)
    async with EmbeddedServers(tmp_path / "storm", durable=False) as storm:
        killed = await run(storm.endpoints, kills=KILLS)
    assert sum(map(len, undisturbed.values())) == EVENTS
    assert sum(map(len, killed.values())) == EVENTS
    assert killed == undisturbed
