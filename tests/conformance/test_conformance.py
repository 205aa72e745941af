"""Every adapter gives the same verdicts: each scenario goes through all of them, and all leave the same trace."""

import asyncio
import uuid
from pathlib import Path

import nats
import pytest
from conformance_scenarios import SCENARIOS, Scenario
from nats.aio.client import Client
from scripted import ScriptedAgent, Setting, Story, definition_name
from scripted_agents import ADAPTERS
from scripted_edges import McpAgent

from lictor_local.embedded_servers import EmbeddedServers

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest.mark.parametrize("scenario", SCENARIOS, ids=definition_name)
async def test_every_adapter_gives_the_same_verdicts(
    scenario: Scenario, service: EmbeddedServers, tmp_path: Path
) -> None:
    """The reference's live scenarios, on every adapter; `about` of each says which it is.

    Scenario 127: a denied tool does not run. Scenario 128: advice after a call. Scenario 129: a stop is blocked.
    Scenario 130: it is allowed. Scenario 131: nothing checks it. Scenario 152: it is blocked only so often.
    ACK: blocks_early_stop, allows_stop_when_complete, skipped_on_deadline_exhaustion,
    skipped_on_budget_exhaustion, composite_checker_all_must_pass, no_checker_allows_free_stop.
    """
    adapters = [each for each in ADAPTERS if plays(each, scenario)]
    client = await nats.connect(service.nats_url)
    try:
        traces = await asyncio.gather(
            *(play(scenario, adapter, service, client, tmp_path) for adapter in adapters)
        )
    finally:
        await client.close()
    assert dict(zip(map(name_of, adapters), traces, strict=True)) == {
        name_of(adapter): scenario.expected for adapter in adapters
    }


async def test_every_adapter_plays_what_it_says_it_can() -> None:
    """An adapter that claims less is left out of more: each claim is held by some scenario, for most adapters."""
    needed = {need for scenario in SCENARIOS for need in scenario.needs}
    assert needed == {"task_completion", "structured_output"}
    for need in needed:
        able = [each for each in ADAPTERS if getattr(each.capabilities, need)]
        assert len(able) >= 4
    assert not McpAgent.capabilities.task_completion


def plays(adapter: type[ScriptedAgent], scenario: Scenario) -> bool:
    able = all(getattr(adapter.capabilities, need) for need in scenario.needs)
    return able and (scenario.begins or not adapter.begins_by_itself)


async def play(
    scenario: Scenario,
    adapter: type[ScriptedAgent],
    service: EmbeddedServers,
    client: Client,
    folder: Path,
) -> list[str]:
    workspace = folder / name_of(adapter)
    workspace.mkdir()
    setting = Setting(
        nats_url=service.nats_url,
        workspace=workspace.resolve(),
        session_id=f"session {uuid.uuid4()}",
        definition=definition_name(scenario),
    )
    agent = adapter(setting)
    try:
        return await Story(client, agent, scenario).play()
    finally:
        await agent.close()


def name_of(adapter: type[ScriptedAgent]) -> str:
    return adapter.__name__
