"""A standby that takes over beside a replica that lags: everything acknowledged is decided and sealed, once."""

import asyncio
from pathlib import Path

import pytest
from checker import check
from installation import EVALUATOR, GENEROUS_S, SEALER, Agents, connected, installed, until_ready
from nats.aio.client import Client
from nats_cluster import lead
from workload import story_events

from lictor_bus.wire.stream_leader import leader_view

LAG_S = 0.3
TAKEOVERS = 2
MOST_EVENTS = 20_000


@pytest.mark.timeout(900)
async def test_a_standby_on_a_lagging_server_leaves_nothing_undecided_and_nothing_unsealed(
    tmp_path: Path,
) -> None:
    async with installed(tmp_path) as here, connected(here.cluster) as client:
        here.start("evaluator-one", EVALUATOR, "one")
        here.start("sealer-one", SEALER, "one")
        await until_ready(client, "policy-evaluator", "sealer")
        for stream in ("EVENTS", "DECISIONS", "EPISODES", "GATES"):
            await lead(client, stream, "one")
        here.cluster.lag("three", LAG_S)
        agents = Agents(client)
        events = story_events(MOST_EVENTS, prefix="t", checkpoint_interval_s=None)
        working = asyncio.create_task(agents.work(events))
        active, standby = "one", "three"
        for _ in range(TAKEOVERS):
            here.start(f"evaluator-{standby}", EVALUATOR, standby)
            here.start(f"sealer-{standby}", SEALER, standby)
            await more_decided(client)
            # With deliveries in hand, while the agents go on.
            here.kill(f"evaluator-{active}")
            here.kill(f"sealer-{active}")
            await more_decided(client)
            active, standby = standby, active
        agents.stopping = True
        await working
        await check(client, agents)


async def more_decided(client: Client) -> None:
    """Wait until a good number of events more is decided, and agents are not done."""
    before = (await leader_view(client, "DECISIONS")).last
    async with asyncio.timeout(GENEROUS_S):
        while (await leader_view(client, "DECISIONS")).last < before + 100:
            await asyncio.sleep(0.1)
