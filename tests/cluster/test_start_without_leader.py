"""A service that starts while the cluster has no leader: it waits for one, and does not leave."""

import asyncio
from pathlib import Path

import pytest
from installation import EVALUATOR, GENEROUS_S, connected, installed, until_ready


@pytest.mark.timeout(900)
async def test_a_service_that_starts_without_a_leader_waits_for_one(tmp_path: Path) -> None:
    async with installed(tmp_path) as here:
        await here.cluster.kill("two")
        await here.cluster.kill("three")
        here.start("evaluator", EVALUATOR, "one")
        async with asyncio.timeout(GENEROUS_S):
            while "JetStream does not" not in here.logs():
                await asyncio.sleep(0.1)
        await here.cluster.start("two")
        await here.cluster.start("three")
        async with connected(here.cluster) as client:
            await until_ready(client, "policy-evaluator")
