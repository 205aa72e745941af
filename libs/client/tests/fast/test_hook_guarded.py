"""A scripted Claude Code session against the real service: the hook as a process, real NATS, real Redis."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import nats
import pytest
from reporting import service_process, wait_until_ready

from lictor_bus.names import streams, subjects
from lictor_local.embedded_servers import Endpoints
from lictor_schema.decisions.guard_decision import GuardDecision

COMMAND = Path(sys.executable).with_name("lictor")
DEFINITION = """
apiVersion: lictor/v1
kind: AgentDefinition
metadata: {name: coder, version: "1"}
workspace: {mounts: [/workspace]}
tools:
  - {name: Read, access: read, resources: [file_path]}
  - {name: Write, access: write, resources: [file_path]}
  - {name: Bash}
policies:
  - {kind: read-before-write, name: read-first}
  - kind: sequential-dependency
    name: order
    requires: {Bash: [Read]}
feedback:
  - {kind: static, name: hint, trigger: {on_file_created: AGENTS.md}, text: Follow AGENTS.md.}
completion:
  checker: {kind: files, files: [out.txt]}
  max_blocks: 2
"""
SPENT = """
apiVersion: lictor/v1
kind: AgentDefinition
metadata: {name: spent, version: "1"}
tools: [{name: Bash}]
budgets: {calls: 1}
completion: {checker: {kind: files, files: [out.txt]}}
"""


class Session:
    """Claude Code as far as hooks see it."""

    def __init__(self, endpoints: Endpoints, environment: dict[str, str], root: Path) -> None:
        self.id = str(uuid.uuid4())
        self.root = root
        self.environment = {
            **environment,
            "LICTOR_NATS_URL": endpoints.nats_url,
            "XDG_STATE_HOME": str(root.parent),
            "CLAUDE_PROJECT_DIR": str(root),
        }
        self.definition = "coder"

    async def hook(self, event: str, **fields: Any) -> dict[str, Any]:
        told = {"hook_event_name": event, "session_id": self.id, "cwd": str(self.root), **fields}
        done = await asyncio.to_thread(
            subprocess.run,
            [COMMAND, "hook", "--definition", self.definition],
            input=json.dumps(told).encode(),
            capture_output=True,
            env=self.environment,
            cwd=self.root,
            timeout=60,
            check=False,
        )
        assert (done.returncode, done.stderr) == (0, b"")
        return json.loads(done.stdout)

    async def before(self, tool: str, call_id: str | None = None, **params: str) -> str | None:
        """The reason against a call, or None."""
        fields = {"tool_name": tool, "tool_input": params, "tool_use_id": call_id or new_id()}
        output = await self.hook("PreToolUse", **fields)
        return output.get("hookSpecificOutput", {}).get("permissionDecisionReason")

    async def after(self, tool: str, event: str = "PostToolUse", **params: str) -> dict[str, Any]:
        fields = {"tool_name": tool, "tool_input": params, "tool_use_id": new_id()}
        return await self.hook(event, tool_response={}, **fields)


def new_id() -> str:
    return f"toolu_{uuid.uuid4().hex}"


@pytest.fixture
def agents(tmp_path: Path) -> Path:
    folder = tmp_path / "agents"
    folder.mkdir()
    (folder / "coder.yaml").write_text(DEFINITION)
    (folder / "spent.yaml").write_text(SPENT)
    return folder


@asynccontextmanager
async def service(endpoints: Endpoints, agents: Path) -> AsyncIterator[None]:
    """The feedback service, ready."""
    client = await nats.connect(endpoints.nats_url)
    async with service_process("lictor_feedback", endpoints, LICTOR_AGENTS=str(agents)):
        await wait_until_ready(client, "feedback")
        yield
    await client.close()


@pytest.fixture
def away(clean_infra: Endpoints, environment: dict[str, str], tmp_path: Path) -> Session:
    """A session whose service does not run yet."""
    root = tmp_path / "work"
    root.mkdir()
    return Session(clean_infra, environment, root)


@pytest.fixture
async def session(away: Session, clean_infra: Endpoints, agents: Path) -> AsyncIterator[Session]:
    async with service(clean_infra, agents):
        yield away


async def test_a_whole_session_is_gated_guided_and_held_to_its_goal(
    session: Session, clean_infra: Endpoints
) -> None:
    """92-96, 101-103, 143, 152: in the order in which an agent meets them."""
    (session.root / "a.txt").write_text("old")

    unknown = await session.before("Read", file_path="a.txt")
    assert unknown is not None
    assert "session" in unknown

    assert await session.hook("SessionStart", source="startup") == {}
    assert await session.hook("UserPromptSubmit", prompt="go") == {}

    unread = await session.before("Write", file_path="a.txt")
    assert unread is not None
    assert "read-first" in unread
    early = await session.before("Bash", command="ls")
    assert early is not None
    assert "order" in early
    other = await session.before("WebFetch", url="x")
    assert other is not None
    assert "lictor.unknown-tool" in other

    assert await session.before("Read", file_path="/workspace/./a.txt") is None
    assert await session.after("Read", file_path="/workspace/./a.txt") == {}
    assert await session.before("Write", file_path=str(session.root / "a.txt")) is None
    assert await session.before("Bash", command="ls") is None
    (session.root / "a.txt").write_text("changed by somebody else")
    stale = await session.before("Write", file_path="a.txt")
    assert stale is not None

    (session.root / "AGENTS.md").write_text("rules")
    advised = await session.after("Bash", "PostToolUseFailure", command="ls")
    specific = advised["hookSpecificOutput"]
    assert specific["hookEventName"] == "PostToolUseFailure"
    assert "Follow AGENTS.md." in specific["additionalContext"]
    assert await session.after("Bash", command="ls") == {}

    blocked = await session.hook("Stop", stop_hook_active=False)
    assert blocked["decision"] == "block"
    assert "out.txt" in blocked["reason"]
    assert (await session.hook("Stop", stop_hook_active=True))["decision"] == "block"
    escalated = await session.hook("Stop", stop_hook_active=True)
    assert "decision" not in escalated
    assert "systemMessage" in escalated

    (session.root / "out.txt").write_text("done")
    await session.hook("UserPromptSubmit", prompt="and now?")
    assert await session.hook("Stop", stop_hook_active=False) == {}

    records = await decisions(clean_infra, session.id, at_least=7)
    assert {"tool", "stop"} == {record.gate for record in records}


async def decisions(endpoints: Endpoints, task: str, at_least: int) -> list[GuardDecision]:
    """What stands on DECISIONS about the session's task, once that many do."""
    client = await nats.connect(endpoints.nats_url)
    try:
        found: list[GuardDecision] = []
        subscription = await client.jetstream().subscribe(
            subjects.GUARD_DECISION.where(task=subjects.token(task)),
            stream=streams.DECISIONS,
            ordered_consumer=True,
        )
        while len(found) < at_least:
            message = await subscription.next_msg(timeout=10)
            found.append(GuardDecision.from_json(message.data))
        return found
    finally:
        await client.close()


async def test_used_up_budgets_deny_calls_and_let_the_agent_stop(session: Session) -> None:
    """92, 103."""
    session.definition = "spent"
    await session.hook("SessionStart")
    assert await session.before("Bash", command="1") is None
    await session.after("Bash", command="1")
    denied = await session.before("Bash", command="2")
    assert denied is not None
    assert "lictor.budget" in denied
    stopped = await session.hook("Stop")
    assert "decision" not in stopped
    assert "budget" in stopped["systemMessage"]


async def test_a_definition_that_is_not_there_is_told_at_the_beginning(session: Session) -> None:
    session.definition = "nobody"
    output = await session.hook("SessionStart")
    assert "nobody" in output["systemMessage"]
    assert await session.before("Read", file_path="a") is not None


async def test_a_service_that_goes_away_and_comes_back_has_missed_nothing(
    away: Session, clean_infra: Endpoints, agents: Path
) -> None:
    """150: the edit that was made while nobody listened is known before anything is allowed again."""
    (away.root / "a.txt").write_text("old")
    async with service(clean_infra, agents):
        await away.hook("SessionStart")
        await away.after("Read", file_path="a.txt")
        assert await away.before("Write", file_path="a.txt") is None

    (away.root / "a.txt").write_text("new")
    told = await away.after("Write", file_path="a.txt")
    assert "will be reported" in told["systemMessage"]
    denied = await away.before("Bash", command="ls")
    assert denied is not None
    assert (await away.hook("Stop", stop_hook_active=False))["decision"] == "block"
    assert "decision" not in await away.hook("Stop", stop_hook_active=True)

    async with service(clean_infra, agents):
        assert await away.before("Bash", command="ls") is None
        assert not list((away.root.parent / "lictor" / "unsent").iterdir())
        stale = await away.before("Write", file_path="a.txt")
        assert stale is not None
        assert "read-first" in stale
