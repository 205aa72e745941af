"""Kills, paused leaders, an emptied Redis, a lagging replica: what was acknowledged is decided once, and sealed."""

import asyncio
import os
import random
from pathlib import Path

import pytest
from checker import check
from installation import EVALUATOR, SEALER, Agents, connected, installed, until_ready
from nemesis import Nemesis
from workload import story_events

MOST_EVENTS = 200_000


async def storm(folder: Path, seconds: float) -> None:
    seed = int(os.environ.get("STORM_SEED") or random.randrange(1_000_000))
    async with installed(folder) as here, connected(here.cluster) as client:
        here.start("evaluator-one", EVALUATOR, "one")
        here.start("sealer-one", SEALER, "one")
        await until_ready(client, "policy-evaluator", "sealer")
        here.start("evaluator-three", EVALUATOR, "three")
        here.start("sealer-two", SEALER, "two")
        agents, nemesis = Agents(client), Nemesis(here, client, seed)
        events = story_events(MOST_EVENTS, prefix="t", checkpoint_interval_s=None, seed=seed)
        working = asyncio.create_task(agents.work(events))
        supervising = asyncio.create_task(here.supervise())
        try:
            await nemesis.rage(seconds)
            agents.stopping = True
            await working
            await check(client, agents)
        except BaseException as error:
            told = [f"STORM_SEED={seed}", *nemesis.done, here.logs()]
            error.add_note("\n".join(told))
            raise
        finally:
            supervising.cancel()


@pytest.mark.timeout(900)
async def test_a_storm_loses_nothing_and_doubles_nothing(tmp_path: Path) -> None:
    await storm(tmp_path, 30)


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("minutes", [2, 5, 10])
async def test_a_long_storm_loses_nothing_and_doubles_nothing(tmp_path: Path, minutes: int) -> None:
    await storm(tmp_path, minutes * 60)
