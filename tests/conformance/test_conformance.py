"""Every adapter gives the same verdicts: each scenario goes through all of them, and all leave the same trace."""

import asyncio
import json
import uuid
from pathlib import Path
from typing import Any

import nats
import pytest
from conformance_scenarios import SCENARIOS, Scenario
from nats.aio.client import Client
from scripted import ScriptedAgent, Setting, Story, definition_name
from scripted_agents import ADAPTERS

from lictor.embedded import EmbeddedServers
from lictor_bus import subjects

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
    adapters = [each for each in ADAPTERS if scenario.begins or not each.begins_by_itself]
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


async def test_a_call_that_is_too_large_to_be_asked_about_is_denied_and_a_decision(
    service: EmbeddedServers, tmp_path: Path
) -> None:
    """5 MB of parameters never reach the service; that the call was denied does, through every adapter."""
    client = await nats.connect(service.nats_url)
    try:
        for adapter in ADAPTERS:
            workspace = tmp_path / name_of(adapter)
            workspace.mkdir()
            session = f"session {uuid.uuid4()}"
            agent = adapter(
                Setting(
                    nats_url=service.nats_url,
                    workspace=workspace.resolve(),
                    session_id=session,
                    definition=definition_name(SCENARIOS[0]),
                )
            )
            try:
                await agent.begin()
                came = await agent.call("note", {"text": "x" * 5_000_000}, fails_if_made)
            finally:
                await agent.close()
            assert came.denied, name_of(adapter)
            assert "bytes" in came.denied, name_of(adapter)
            decision = await first_decision(client, session)
            assert decision["decision"]["decision"] == "block", name_of(adapter)
            assert "bytes" in decision["decision"]["reason"], name_of(adapter)
            assert decision["definition"] == definition_name(SCENARIOS[0]), name_of(adapter)
    finally:
        await client.close()


def fails_if_made(**_params: Any) -> str:
    raise AssertionError("a denied call was made")


async def first_decision(client: Client, task_id: str) -> dict[str, Any]:
    """The first decision that the guard made on a task."""
    subscription = await client.jetstream().subscribe(
        subjects.guard_decision("block", task_id), stream="DECISIONS", ordered_consumer=True
    )
    try:
        return json.loads((await subscription.next_msg(timeout=10)).data)
    finally:
        await subscription.unsubscribe()


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
