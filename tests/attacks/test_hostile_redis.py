"""Somebody can do everything to Redis, and has no key of the services: no gate opens, and states are folded again.

The services run as processes; the attacker has a connection of its own, without any restriction.
"""

import asyncio
import json
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import nats
import pytest
import redis.asyncio
from nats.aio.client import Client
from reporting import service_process, wait_until_ready

from lictor_bus.names import streams, subjects
from lictor_bus.wire.publish import Outgoing, publish_one
from lictor_local.embedded_servers import Endpoints

KEY = "k" * 64
PATIENCE_S = 60.0
CODER = """
apiVersion: lictor/v1
kind: AgentDefinition
metadata: {name: coder, version: "1"}
tools:
  - {name: read_file, access: read, resources: [path]}
  - {name: write_file, access: write, resources: [path]}
  - {name: edit}
  - {name: test}
  - {name: deploy}
  - {name: ping}
policies:
  - {kind: read-before-write, name: read-first}
  - kind: sequential-dependency
    name: order
    requires: {deploy: [test]}
    invalidated_by: {test: [edit]}
  - {kind: rate-limit, name: pings, tools: [ping], limit: 3, window_s: 3600}
"""

Stored = dict[bytes, bytes]


def now() -> str:
    return datetime.now(UTC).isoformat().replace("+00:00", "Z")


async def eventually(right: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not await right():
            await asyncio.sleep(0.05)


class Attacker:
    """Reads and writes hashes in Redis, whosever they are."""

    def __init__(self, store: Any) -> None:
        self.store = store

    async def hash_of(self, pattern: str) -> bytes:
        """The name of the one key that matches."""
        (name,) = [key async for key in self.store.scan_iter(match=pattern, count=1000)]
        return name

    async def read(self, name: bytes) -> Stored:
        return await self.store.hgetall(name)

    async def write(self, name: bytes, content: Mapping[bytes, bytes]) -> None:
        await self.store.delete(name)
        if content:
            await self.store.hset(name, mapping=dict(content))


@pytest.fixture
async def attacker(clean_infra: Endpoints) -> AsyncIterator[Attacker]:
    async with redis.asyncio.from_url(clean_infra.redis_url) as store:
        yield Attacker(store)


async def truncated(attacker: Attacker, name: bytes) -> None:
    found = await attacker.read(name)
    await attacker.write(name, {field: value[:-1] for field, value in found.items() if value})


async def littered(attacker: Attacker, name: bytes) -> None:
    found = await attacker.read(name)
    await attacker.write(name, dict.fromkeys(found, b"\xff\x00garbage"))


async def of_another_type(attacker: Attacker, name: bytes) -> None:
    await attacker.store.delete(name)
    await attacker.store.rpush(name, "garbage")


DAMAGE = [truncated, littered, of_another_type]
Damage = Callable[[Attacker, bytes], Awaitable[None]]


# Sessions of agents, which the feedback service judges.


@dataclass
class Session:
    """An agent's session, as its adapter asks about it."""

    client: Client
    name: str

    @property
    def pattern(self) -> str:
        return f"*{{{subjects.session_key('rt', self.name)}}}"

    async def ask(self, operation: str, **fields: Any) -> dict[str, Any]:
        kind = "gate" if operation == "tool" else "session"
        question = {
            "request_id": uuid.uuid4().hex,
            "runtime": "rt",
            "agent_id": "agent",
            "task_id": f"task of {self.name}",
            "session_id": self.name,
            "requested_at": now(),
            **fields,
        }
        subject = f"lictor.{kind}.{operation}.{subjects.token('rt')}"
        reply = await self.client.request(subject, json.dumps(question).encode(), timeout=10)
        return json.loads(reply.data)

    async def begin(self) -> "Session":
        assert (await self.ask("begin", definition="coder"))["ok"]
        return self

    async def check(self, tool: str, path: str | None = None) -> str:
        return (await self.ask("tool", **call(tool, path)))["decision"]

    async def does(self, tool: str, path: str | None = None) -> None:
        # Nothing came between its begin and its end.
        ended = {"outcome": "ok", "duration_ms": 0}
        assert (await self.ask("result", **ended, **call(tool, path)))["ok"]


def call(tool: str, path: str | None) -> dict[str, Any]:
    made: dict[str, Any] = {"tool": tool, "call_id": uuid.uuid4().hex, "params": {}}
    if path is None:
        return made
    seen = {"param": "path", "given": path, "key": path, "state": "file"}
    resources = [{**seen, "digest": "sha256:" + "1" * 64}]
    return {**made, "params": {"path": path}, "resources": resources}


@asynccontextmanager
async def sessions(endpoints: Endpoints, folder: Path) -> AsyncIterator[Callable[[str], Session]]:
    agents = folder / "agents"
    agents.mkdir(exist_ok=True)
    (agents / "coder.yaml").write_text(CODER)
    client = await nats.connect(endpoints.nats_url)
    settings = {"LICTOR_AGENTS": str(agents), "LICTOR_STATE_KEY": KEY}
    try:
        async with service_process("lictor_feedback", endpoints, **settings):
            await wait_until_ready(client, "feedback")
            yield lambda name: Session(client, name)
    finally:
        await client.close()


@pytest.fixture
async def session(
    clean_infra: Endpoints, tmp_path: Path
) -> AsyncIterator[Callable[[str], Session]]:
    async with sessions(clean_infra, tmp_path) as session:
        yield session


async def test_what_another_session_has_read_opens_no_file_here(
    session: Callable[[str], Session], attacker: Attacker
) -> None:
    """The facts of a session that has read a file, put in the place of those of one that has not."""
    reader, writer = await session("reader").begin(), await session("writer").begin()
    await reader.does("read_file", "plan.txt")
    assert await reader.check("write_file", "plan.txt") == "allow"
    assert await writer.check("write_file", "plan.txt") == "deny"
    known = await attacker.read(await attacker.hash_of(reader.pattern))
    name = await attacker.hash_of(writer.pattern)
    own = await attacker.read(name)
    cursor = {b"@cursor": own[b"@cursor"]}
    # Fact by fact into what is there, all but the cursor, and all of it.
    for content in ({**own, **known, **cursor}, {**known, **cursor}, known):
        await attacker.write(name, content)
        assert await writer.check("write_file", "plan.txt") == "deny"
    await writer.does("read_file", "plan.txt")
    assert await writer.check("write_file", "plan.txt") == "allow"


async def test_a_fact_with_a_value_of_the_attackers_choice_is_not_believed(
    session: Callable[[str], Session], attacker: Attacker
) -> None:
    agent = await session("a").begin()
    await agent.does("test")
    name = await attacker.hash_of(agent.pattern)
    tested = await attacker.read(name)
    await agent.does("edit")
    assert await agent.check("deploy") == "deny"
    edited = await attacker.read(name)
    changed = {
        field: value
        for field, value in tested.items()
        if not field.startswith(b"@") and edited.get(field) != value
    }
    assert changed
    await attacker.store.hset(name, mapping=changed)
    assert await agent.check("deploy") == "deny"
    await agent.does("test")
    assert await agent.check("deploy") == "allow"


async def test_a_session_that_is_put_back_is_folded_on_from_its_log(
    session: Callable[[str], Session], attacker: Attacker
) -> None:
    agent = await session("a").begin()
    await agent.does("test")
    assert await agent.check("deploy") == "allow"
    name = await attacker.hash_of(agent.pattern)
    tested = await attacker.read(name)
    await agent.does("edit")
    assert await agent.check("deploy") == "deny"
    await attacker.write(name, tested)
    assert await agent.check("deploy") == "deny"


async def test_a_session_that_was_put_back_while_the_service_was_away_is_folded_on(
    clean_infra: Endpoints, tmp_path: Path, attacker: Attacker
) -> None:
    async with sessions(clean_infra, tmp_path) as session:
        agent = await session("a").begin()
        await agent.does("test")
        name = await attacker.hash_of(agent.pattern)
        tested = await attacker.read(name)
        await agent.does("edit")
        edited = await attacker.read(name)
    facts = {field: value for field, value in tested.items() if not field.startswith(b"@")}
    await attacker.write(name, {**edited, **facts})
    async with sessions(clean_infra, tmp_path) as session:
        assert await session("a").check("deploy") == "deny"


async def test_a_count_that_was_removed_counts_still(
    session: Callable[[str], Session], attacker: Attacker
) -> None:
    agent = await session("a").begin()
    for _ in range(3):
        await agent.does("ping")
    assert await agent.check("ping") == "deny"
    name = await attacker.hash_of(agent.pattern)
    found = await attacker.read(name)
    others = [field for field in found if b"pings" not in field]
    assert len(others) < len(found)
    for kept in (others, [b"@cursor"], []):
        await attacker.write(name, {field: found[field] for field in kept})
        assert await agent.check("ping") == "deny"


@pytest.mark.parametrize("damage", DAMAGE)
async def test_a_damaged_session_stays_closed_and_is_folded_again(
    session: Callable[[str], Session], attacker: Attacker, damage: Damage
) -> None:
    agent = await session("a").begin()
    await agent.does("test")
    await agent.does("edit")
    name = await attacker.hash_of(agent.pattern)
    await damage(attacker, name)
    assert await agent.check("deploy") == "deny"
    await damage(attacker, await attacker.hash_of(agent.pattern))
    await agent.does("test")

    async def may_deploy() -> bool:
        return await agent.check("deploy") == "allow"

    await eventually(may_deploy)


# Tasks, whose reports the evaluator judges.


@dataclass
class Task:
    """A task, as its runtime tells and asks about it."""

    client: Client
    name: str

    @property
    def pattern(self) -> str:
        return f"lictor:{{policy-evaluator:*}}:*:t:{subjects.token(self.name)}"

    async def tell(self, event_type: str, payload: dict[str, Any]) -> None:
        event = {
            "event_id": str(uuid.uuid4()),
            "event_type": event_type,
            "runtime": "openclaw",
            "adapter_version": "1",
            "agent_id": "agent-1",
            "task_id": self.name,
            "correlation_id": "corr-1",
            "timestamp": now(),
            "payload": payload,
            "evidence_refs": [],
            "operator_context": {"channel": "telegram"},
        }
        subject = subjects.event("openclaw", self.name)
        await publish_one(
            self.client, streams.EVENTS, Outgoing(subject, json.dumps(event).encode())
        )

    async def start(self) -> "Task":
        shape = {"mode": "interactive", "workflow_shape": "parent-child", "channel": "telegram"}
        await self.tell("task_started", {"title": "Migrate the tables", **shape})
        return self

    async def prove(self) -> None:
        item = {
            "evidence_id": str(uuid.uuid4()),
            "task_id": self.name,
            "correlation_id": "corr-1",
            "agent_id": "agent-1",
            "class": "verification_output",
            "quality": "strong",
            "summary": "The checks ran through",
            "captured_at": now(),
            "refs": [{"kind": "log", "ref": "logs/check.txt"}],
            "supports": {"claim_types": ["completion"], "next_step": True},
        }
        await self.tell("task_evidence_attached", {"items": [item]})

    async def ask(self, gate: str, **fields: Any) -> str:
        question = {
            "request_id": str(uuid.uuid4()),
            "runtime": "openclaw",
            "agent_id": "agent-1",
            "task_id": self.name,
            "requested_at": now(),
            **fields,
        }
        body = json.dumps(question).encode()
        reply = await self.client.request(
            subjects.gate(gate, question["runtime"]), body, timeout=10
        )
        return json.loads(reply.data)["decision"]

    async def may_complete(self) -> str:
        answers = {
            "current_status": "done",
            "completed_this_segment": "all",
            "next_step": "none",
            "next_report_condition": "none",
            "operator_intervention_needed": "no",
        }
        claim = {"type": "completion", "text": "done"}
        return await self.ask("report", message="All done.", structure=answers, claim=claim)

    async def may_begin(self) -> str:
        anchor = {"channel": "telegram", "target": "chat-1"}
        return await self.ask(
            "dispatch",
            dispatch_kind="task",
            mode="interactive",
            purpose="Again",
            report_anchor=anchor,
        )

    async def is_held_for(self, reason: str) -> bool:
        """Whether completion is held back by a rule again, and not because something can't be read."""
        return await self.may_complete() == reason


@pytest.fixture
async def task(clean_infra: Endpoints) -> AsyncIterator[Callable[[str], Task]]:
    client = await nats.connect(clean_infra.nats_url)
    # In one partition, so that each can reach the other's place.
    settings = {"LICTOR_STATE_KEY": KEY, "LICTOR_PARTITIONS": "1"}
    try:
        async with service_process("lictor_policy_evaluator", clean_infra, **settings):
            await wait_until_ready(client, "policy-evaluator")
            yield lambda name: Task(client, name)
    finally:
        await client.close()


async def test_the_state_of_a_proved_task_completes_no_other(
    task: Callable[[str], Task], attacker: Attacker
) -> None:
    proved, open_task = await task("proved").start(), await task("open").start()
    await proved.prove()
    assert await proved.may_complete() == "allow"
    held = await open_task.may_complete()
    assert held in ("rewrite", "deny")
    known = await attacker.read(await attacker.hash_of(proved.pattern))
    await attacker.write(await attacker.hash_of(open_task.pattern), known)
    assert await open_task.may_complete() != "allow"
    await eventually(lambda: open_task.is_held_for(held))
    assert await proved.may_complete() == "allow"


async def test_a_task_whose_state_was_removed_has_started_still(
    task: Callable[[str], Task], attacker: Attacker
) -> None:
    begun = await task("begun").start()
    assert await begun.may_begin() == "deny"
    name = await attacker.hash_of(begun.pattern)
    await attacker.store.delete(name)
    assert await begun.may_begin() != "allow"

    async def is_there_again() -> bool:
        return len([key async for key in attacker.store.scan_iter(match=begun.pattern)]) == 1

    await eventually(is_there_again)
    assert await begun.may_begin() == "deny"


async def test_a_task_that_is_put_back_is_folded_again(
    task: Callable[[str], Task], attacker: Attacker
) -> None:
    proved = await task("proved").start()
    assert await proved.may_complete() != "allow"
    name = await attacker.hash_of(proved.pattern)
    before = await attacker.read(name)
    await proved.prove()
    assert await proved.may_complete() == "allow"
    await attacker.write(name, before)
    await eventually(lambda: proved.is_held_for("allow"))
    assert await attacker.read(await attacker.hash_of(proved.pattern)) != before


@pytest.mark.parametrize("damage", DAMAGE)
async def test_a_damaged_task_stays_closed_and_is_folded_again(
    task: Callable[[str], Task], attacker: Attacker, damage: Damage
) -> None:
    open_task = await task("open").start()
    held = await open_task.may_complete()
    await damage(attacker, await attacker.hash_of(open_task.pattern))
    assert await open_task.may_complete() != "allow"
    # Nothing more happens in this task; that it was asked about is enough.
    await eventually(lambda: open_task.is_held_for(held))
    await open_task.prove()
    await eventually(lambda: open_task.is_held_for("allow"))
