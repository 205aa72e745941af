"""How a task stands, as other services ask it: real NATS, real Redis, the evaluator as a process."""

import asyncio
import json
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any

import nats
import pytest
from nats.aio.client import Client
from reporting import service_process, wait_until_ready

from lictor_bus.names import subjects
from lictor_bus.wire.publish import Outgoing, publish_one
from lictor_local.embedded_servers import EmbeddedServers, Endpoints
from lictor_schema.events.claim import TaskStatus
from lictor_schema.events.evidence import Quality
from lictor_schema.gates.task_standing import TaskStanding


def now() -> str:
    return datetime.now(UTC).isoformat().replace("+00:00", "Z")


class Task:
    """A task of one runtime, and the question how it stands."""

    def __init__(self, client: Client, task_id: str = "task 1") -> None:
        self.client = client
        self.task_id = task_id

    async def tell(self, event_type: str, payload: dict[str, Any]) -> int:
        event = {
            "event_id": str(uuid.uuid4()),
            "event_type": event_type,
            "runtime": "openclaw",
            "adapter_version": "1",
            "agent_id": "agent-1",
            "task_id": self.task_id,
            "correlation_id": "corr-1",
            "timestamp": now(),
            "payload": payload,
            "evidence_refs": [],
            "operator_context": {"channel": "telegram"},
        }
        subject = subjects.event("openclaw", self.task_id)
        message = Outgoing(subject, json.dumps(event).encode())
        stored = await publish_one(self.client, "EVENTS", message)
        assert stored is not None
        return stored

    async def start(self) -> int:
        return await self.tell(
            "task_started",
            {
                "title": "Migrate the tables",
                "mode": "interactive",
                "workflow_shape": "single-agent",
                "channel": "telegram",
            },
        )

    async def attach(self, quality: str, evidence_id: str | None = None) -> int:
        evidence_id = evidence_id or str(uuid.uuid4())
        item = {
            "evidence_id": evidence_id,
            "task_id": self.task_id,
            "correlation_id": "corr-1",
            "agent_id": "agent-1",
            "class": "tool_output",
            "quality": quality,
            "summary": "The checks ran through",
            "captured_at": now(),
            "refs": [{"kind": "log", "ref": f"logs/{evidence_id}.txt"}],
            "supports": {"claim_types": ["progress"]},
        }
        return await self.tell("task_evidence_attached", {"items": [item]})

    async def stands(self, runtime: str = "openclaw") -> TaskStanding:
        request = {
            "request_id": str(uuid.uuid4()),
            "runtime": runtime,
            "agent_id": "agent-1",
            "task_id": self.task_id,
            "requested_at": now(),
        }
        reply = await self.client.request(subjects.STANDING, json.dumps(request).encode(), 5)
        standing = TaskStanding.from_json(reply.data)
        assert standing.request_id == request["request_id"]
        return standing


@asynccontextmanager
async def evaluator(endpoints: Endpoints) -> AsyncIterator[Task]:
    client = await nats.connect(endpoints.nats_url)
    try:
        async with service_process("lictor_policy_evaluator", endpoints):
            await wait_until_ready(client, "policy-evaluator")
            yield Task(client)
    finally:
        await client.close()


@pytest.fixture
async def task(clean_infra: Endpoints) -> AsyncIterator[Task]:
    async with evaluator(clean_infra) as running:
        yield running


async def test_a_task_that_never_started_is_not_known(task: Task) -> None:
    standing = await task.stands()
    assert (standing.known, standing.problem, standing.evidence) == (False, None, {})


async def test_evidence_counts_the_moment_it_is_stored(task: Task) -> None:
    await task.start()
    for number in range(1, 21):
        stored = await task.attach("strong" if number % 2 else "weak")
        standing = await task.stands()
        assert (standing.known, standing.problem) == (True, None)
        assert standing.state_sequence >= stored
        assert standing.evidence_count == number
        assert standing.at_least(Quality.STRONG) == (number + 1) // 2
    last = await task.stands()
    assert (last.status, last.closed) == (TaskStatus.ACTIVE, False)


async def test_evidence_that_is_taken_back_counts_no_more(task: Task) -> None:
    await task.start()
    await task.attach("decisive", "check-1")
    assert (await task.stands()).at_least(Quality.DECISIVE) == 1
    await task.attach("weak", "check-1")
    standing = await task.stands()
    assert standing.evidence == {Quality.WEAK: 1}


async def test_another_runtime_is_told_no_older_standing(task: Task) -> None:
    await task.start()
    for number in range(1, 6):
        await task.attach("moderate")
        assert (await task.stands("claude-code")).evidence_count == number


@pytest.mark.parametrize("body", [b"", b"nonsense", b"{}", b'{"a":1,"a":2}', b"\xff"])
async def test_a_question_that_makes_no_sense_is_told_so(task: Task, body: bytes) -> None:
    reply = await task.client.request(subjects.STANDING, body, 5)
    standing = TaskStanding.from_json(reply.data)
    assert not standing.known
    assert "malformed" in (standing.problem or "")


async def test_without_the_store_the_answer_is_that_it_can_not_be_told(
    own_servers: EmbeddedServers,
) -> None:
    async with evaluator(own_servers.endpoints) as task:
        await task.start()
        await task.attach("strong")
        assert (await task.stands()).problem is None
        await own_servers.kill_redis()
        standing = await task.stands()
        assert not standing.known
        assert "can't be read" in (standing.problem or "")
        await own_servers.start_redis()
        async with asyncio.timeout(30):
            while (standing := await task.stands()).problem is not None:
                assert not standing.known
        assert standing.at_least(Quality.STRONG) == 1
