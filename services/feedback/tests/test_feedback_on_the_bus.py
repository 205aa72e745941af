"""Feedback through the whole service: time-driven advice comes while a tool runs, and is heard once, whatever dies."""

import asyncio
import itertools
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from redis.asyncio import Redis
from reporting import reach, service_process, wait_until_ready

from lictor_bus.logs.dead_letters import list_dead
from lictor_bus.names import streams, subjects
from lictor_bus.wire.connection import TolerantClient, connect_nats
from lictor_bus.wire.read import read_from
from lictor_local.embedded_servers import Endpoints

DEFINITION = """\
apiVersion: lictor/v1
kind: AgentDefinition
metadata: {name: coder, version: "1"}
other_tools: allow
feedback:
  - {kind: static, name: clock, trigger: {every_n_seconds: 1}, text: A second has passed.}
  - {kind: static, name: third, trigger: {every_n_calls: 3}, text: Three calls.}
  - {kind: static, name: report, trigger: {on_file_created: report.md}, text: There is a report.}
  - {kind: no-progress, name: stuck, trigger: {every_n_calls: 1}, calls: 2}
"""


class Agent:
    """A scripted agent in a session of its own."""

    _numbers = itertools.count(1)

    def __init__(self, client: TolerantClient, session: str) -> None:
        self._client = client
        self.session = session
        self.key = subjects.session_key("scripted", session)

    async def ask(self, operation: str, **fields: Any) -> dict[str, Any]:
        about = {
            "request_id": f"r-{next(self._numbers)}",
            "runtime": "scripted",
            "agent_id": "main",
            "task_id": "t",
            "session_id": self.session,
            "requested_at": "2026-01-31T12:00:00Z",
        }
        subject = (
            subjects.gate(operation, "scripted")
            if operation in ("tool", "stop")
            else subjects.session_request(operation, "scripted")
        )
        body = json.dumps({**about, **fields}).encode()
        answer: dict[str, Any] = json.loads(
            (await self._client.request(subject, body, timeout=10)).data
        )
        return answer

    async def work(self) -> dict[str, Any]:
        """A tool ran; its result is reported."""
        call_id = f"c-{next(self._numbers)}"
        return await self.ask("result", call_id=call_id, tool="Bash", params={}, outcome="ok")

    async def hear(self, **fields: Any) -> list[str]:
        """Who speaks at a hook."""
        asked = {"call_id": f"c-{next(self._numbers)}", **fields}
        answer = await self.ask("collect", **asked)
        assert answer["ok"]
        assert answer["failures"] == []
        return [each["provider"] for each in answer["feedback"]]

    async def guidance(self) -> list[dict[str, Any]]:
        """What was made known about the session."""
        stored = await read_from(
            self._client, streams.GUIDANCE, subjects.GUIDANCE.where(session=self.key), 1, 100
        )
        return [json.loads(each.body) for each in stored]

    async def log(self) -> list[dict[str, Any]]:
        """Everything that changed the session."""
        stored = await read_from(
            self._client, streams.SESSIONS, subjects.session_log(self.key), 1, 100
        )
        return [json.loads(each.body) for each in stored]

    async def raised(self) -> None:
        """Wait until a timer made a provider speak."""
        async with asyncio.timeout(30):
            while not any(each["kind"] == "feedback_raised" for each in await self.log()):
                await asyncio.sleep(0.02)


@pytest.fixture
def settings(tmp_path: Path) -> dict[str, str]:
    (tmp_path / "coder.yaml").write_text(DEFINITION, "utf-8")
    return {"LICTOR_AGENTS": str(tmp_path), "LICTOR_DEFAULT_AGENT": "coder"}


@pytest.fixture
async def client(clean_infra: Endpoints) -> AsyncIterator[TolerantClient]:
    client = await connect_nats(clean_infra.nats_url, name="test")
    yield client
    await client.close()


@pytest.fixture
async def service(
    clean_infra: Endpoints, client: TolerantClient, settings: dict[str, str]
) -> AsyncIterator[None]:
    async with service_process("lictor_feedback", clean_infra, **settings):
        await wait_until_ready(client, "feedback")
        yield


@pytest.mark.usefixtures("service")
async def test_a_time_driven_provider_speaks_while_a_tool_runs_and_is_heard_once(client) -> None:
    agent = Agent(client, "long tool")
    await agent.ask("begin")
    await reach(client, streams.GUIDANCE, 1)
    # Nobody has asked for anything yet: the timer made it speak.
    assert [each["kind"] for each in await agent.log()] == ["session_begun", "feedback_raised"]
    await agent.work()
    first = await agent.ask("collect", call_id="the hook")
    assert [each["provider"] for each in first["feedback"]] == ["clock"]
    raised = (await agent.guidance())[0]
    # Asked again at the hook, it says the same: it is the same advice, and operators read it once.
    assert first["feedback"][0]["feedback_id"] == raised["feedback_id"]
    assert (raised["call_index"], first["feedback"][0]["call_index"]) == (0, 1)
    again = await agent.ask("collect", call_id="the hook")
    assert (again["feedback"], again["text"]) == (first["feedback"], first["text"])
    known = [each["feedback_id"] for each in await agent.guidance()]
    assert len(known) == len(set(known))


@pytest.mark.usefixtures("service")
async def test_calls_and_files_have_their_own_cadence(client) -> None:
    agent = Agent(client, "cadences")
    await agent.ask("begin")
    heard: list[list[str]] = []
    for _ in range(3):
        answer = await agent.work()
        assert answer["look_at"] == ["report.md"]
        heard.append(await agent.hear())
    assert ["third" in who for who in heard] == [False, False, True]
    there = [{"path": "report.md", "state": "file", "size": 1}]
    assert "report" in await agent.hear(files=there)
    assert "report" not in await agent.hear(files=there)
    # The evaluator does not run: whether there is progress can't be told, and nobody fails for it.
    assert not any("stuck" in who for who in heard)


@pytest.mark.usefixtures("service")
async def test_a_session_that_ended_is_left_alone(client) -> None:
    ended, other = Agent(client, "ended"), Agent(client, "other")
    await ended.ask("begin")
    stopped = await ended.ask("stop", reason="done")
    assert stopped["decision"] == "allow"
    await other.ask("begin")
    await other.raised()
    assert (await ended.log())[-1]["kind"] == "stop_judged"
    await ended.ask("begin", prompted=True)
    await ended.raised()
    assert (await ended.log())[-1]["kind"] == "feedback_raised"


async def test_a_timer_rings_though_the_service_died_and_redis_lost_everything(
    clean_infra: Endpoints, client: TolerantClient, settings: dict[str, str]
) -> None:
    agent = Agent(client, "survivor")
    redis = Redis.from_url(clean_infra.redis_url)
    async with service_process("lictor_feedback", clean_infra, **settings) as process:
        await wait_until_ready(client, "feedback")
        await agent.ask("begin")
        # The timer is in the broker before its second is over.
        await reach(client, streams.TIMERS, 1)
        process.kill()
        await process.wait()
    await redis.flushall()
    async with service_process("lictor_feedback", clean_infra, **settings) as process:
        await wait_until_ready(client, "feedback")
        await agent.raised()
        process.kill()
        await process.wait()
    await redis.flushall()
    await redis.aclose()
    async with service_process("lictor_feedback", clean_infra, **settings):
        await wait_until_ready(client, "feedback")
        assert await agent.hear() == ["clock"]
        delivered = [each for each in await agent.log() if each["kind"] == "feedback_delivered"]
        await reach(client, streams.GUIDANCE, 1)
        known = [each["feedback_id"] for each in await agent.guidance()]
    assert [each["feedback_id"] for each in delivered[0]["feedback"]] == known[:1]
    assert len(known) == len(set(known))
    assert [letter async for letter in list_dead(client)] == []
