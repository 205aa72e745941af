"""Governance that can't be reached, for every adapter: calls are denied, advice is empty, a stop is as configured."""

import asyncio
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Literal, TypeVar

import nats
import pytest
import yaml
from conformance_scenarios import ORDER, OUTPUT, Scenario, completion, policies, says
from reporting import service_process, wait_until_ready
from scripted import Called, ScriptedAgent, Setting, document_of, providers_in
from scripted_agents import ADAPTERS

from lictor_local.embedded_servers import EmbeddedServers

T = TypeVar("T")
DEFINITION = document_of(
    Scenario(
        "unreached",
        "150",
        {
            **policies(ORDER),
            **completion(OUTPUT, max_blocks=9),
            "feedback": [says("each", every_n_calls=1)],
        },
        (),
    ),
    "unreached",
)


class Ground:
    """Servers of our own, the service on them, and an agent behind each adapter."""

    def __init__(self, servers: EmbeddedServers, folder: Path) -> None:
        self.servers = servers
        self._folder = folder
        self._definitions = folder / "definitions"
        self._definitions.mkdir()
        (self._definitions / "unreached.yaml").write_text(yaml.safe_dump(DEFINITION))

    @asynccontextmanager
    async def service(self) -> AsyncIterator[asyncio.subprocess.Process]:
        """The service, ready."""
        async with service_process(
            "lictor_feedback", self.servers.endpoints, LICTOR_AGENTS=str(self._definitions)
        ) as process:
            client = await nats.connect(self.servers.nats_url)
            await wait_until_ready(client, "feedback")
            await client.close()
            yield process

    @asynccontextmanager
    async def agents(
        self, stop_on_silence: Literal["block", "allow"] | None = None
    ) -> AsyncIterator[list[ScriptedAgent]]:
        """Agents whose sessions have begun."""
        agents: list[ScriptedAgent] = []
        for adapter in ADAPTERS:
            workspace = self._folder / adapter.__name__
            workspace.mkdir()
            setting = Setting(
                nats_url=self.servers.nats_url,
                workspace=workspace.resolve(),
                session_id=str(uuid.uuid4()),
                definition="unreached",
                stop_on_silence=stop_on_silence,
            )
            agents.append(adapter(setting))
        try:
            await each(agents, lambda agent: agent.begin())
            yield agents
        finally:
            await each(agents, lambda agent: agent.close())


@pytest.fixture
def ground(own_servers: EmbeddedServers, tmp_path: Path) -> Ground:
    return Ground(own_servers, tmp_path)


async def each(
    agents: list[ScriptedAgent], act: Callable[[ScriptedAgent], Awaitable[T]]
) -> dict[str, T]:
    """What came of it for every agent, all at once."""
    came = await asyncio.gather(*(act(agent) for agent in agents))
    return {type(agent).__name__: one for agent, one in zip(agents, came, strict=True)}


def alike(agents: list[ScriptedAgent], value: T) -> dict[str, T]:
    return {type(agent).__name__: value for agent in agents}


async def calls(
    agents: list[ScriptedAgent], tool: str = "note", **params: Any
) -> dict[str, tuple[str, list[str]]]:
    """Every agent calls a tool: whether it ran, and who was heard."""

    async def call(agent: ScriptedAgent) -> tuple[str, list[str]]:
        ran: list[str] = []

        def work(**_params: Any) -> str:
            ran.append(tool)
            return "done"

        came: Called = await agent.call(tool, params, work)
        if (came.denied is None) != bool(ran):
            return "made, but denied" if ran else "allowed, but not made", []
        return "runs" if ran else "denied", providers_in(came.advice)

    return await each(agents, call)


async def stops(agents: list[ScriptedAgent]) -> dict[str, bool]:
    """Every agent wants to stop: whether it may."""

    async def stop(agent: ScriptedAgent) -> bool:
        return (await agent.stop()).allowed

    return await each(agents, stop)


async def edits_while_it_dies(
    agents: list[ScriptedAgent], process: asyncio.subprocess.Process
) -> dict[str, Called]:
    """Every agent edits a file, and the service dies before any of these calls has ended."""
    gone = asyncio.Event()
    editing = 0

    async def arrive() -> None:
        nonlocal editing
        editing += 1
        if editing == len(agents):
            process.kill()
            await process.wait()
            gone.set()
        await gone.wait()

    async def edit(agent: ScriptedAgent) -> Called:
        loop = asyncio.get_running_loop()

        def work(**_params: Any) -> str:
            # All agents are past their check when the service dies.
            asyncio.run_coroutine_threadsafe(arrive(), loop).result()
            return "done"

        return await agent.call("edit_file", {"path": "a.txt"}, work)

    return await each(agents, edit)


async def test_a_service_that_died_denies_and_goes_on_when_it_is_back(ground: Ground) -> None:
    """Scenario 150: governance unreachable, for every adapter."""
    async with ground.service() as process, ground.agents() as agents:
        assert await calls(agents) == alike(agents, ("runs", ["each"]))
        process.kill()
        await process.wait()
        assert await calls(agents) == alike(agents, ("denied", []))
        assert await stops(agents) == alike(agents, False)
        async with ground.service():
            assert await calls(agents) == alike(agents, ("runs", ["each"]))
            assert await stops(agents) == alike(agents, False)


async def test_a_broker_that_died_denies(ground: Ground) -> None:
    """Scenario 150: the whole broker is gone."""
    async with ground.service(), ground.agents() as agents:
        assert await calls(agents) == alike(agents, ("runs", ["each"]))
        await ground.servers.kill_nats()
        assert await calls(agents) == alike(agents, ("denied", []))
        assert await stops(agents) == alike(agents, False)


async def test_a_stop_that_nobody_judges_is_allowed_where_that_is_configured(
    ground: Ground,
) -> None:
    """Scenario 150: the stop follows a configured choice."""
    async with ground.service() as process, ground.agents(stop_on_silence="allow") as agents:
        assert await stops(agents) == alike(agents, False)
        process.kill()
        await process.wait()
        assert await stops(agents) == alike(agents, True)
        assert await calls(agents) == alike(agents, ("denied", []))


@pytest.mark.parametrize("stop_on_silence", ["allow", "block"])
async def test_a_stop_behind_results_that_nobody_took_is_as_configured_too(
    ground: Ground, stop_on_silence: Literal["allow", "block"]
) -> None:
    """Scenario 150: a result that waits to be reported changes nothing about that."""
    async with ground.service() as process, ground.agents(stop_on_silence) as agents:
        assert await edits_while_it_dies(agents, process) == alike(agents, Called())
        assert await stops(agents) == alike(agents, stop_on_silence == "allow")


async def test_what_was_done_while_nobody_listened_is_known_before_the_next_call(
    ground: Ground,
) -> None:
    """An edit makes a test stale, also when the service was away while it ran."""
    async with ground.service() as process, ground.agents() as agents:
        for tool in ("build", "test", "deploy"):
            assert await calls(agents, tool) == alike(agents, ("runs", ["each"]))
        assert await edits_while_it_dies(agents, process) == alike(agents, Called())
        assert await calls(agents, "deploy") == alike(agents, ("denied", []))
        async with ground.service():
            assert await calls(agents, "deploy") == alike(agents, ("denied", ["each"]))
            assert await calls(agents, "test") == alike(agents, ("runs", ["each"]))
            assert await calls(agents, "deploy") == alike(agents, ("runs", ["each"]))
