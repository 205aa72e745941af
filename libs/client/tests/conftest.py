"""What the client's tests share: the command as a process, and a broker with our streams."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import uuid
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
import warm_processes
from nats.aio.client import Client
from nats.aio.msg import Msg

import lictor
from lictor_bus.names import streams, subjects
from lictor_bus.wire.connection import connect_nats
from lictor_local.embedded_servers import Endpoints
from lictor_schema.gates.gate import GateRequest
from lictor_schema.sessions.session_questions import (
    CancelApprovalRequest,
    FeedbackRequest,
    ResetRequest,
    RestoreRequest,
    SessionBeginRequest,
    SnapshotRequest,
    StopGateRequest,
    ToolGateRequest,
    ToolResultReport,
    UsageReport,
)

ROOT = Path(__file__).parents[3]
COMMAND = Path(sys.executable).with_name("lictor")
Cli = Callable[..., "asyncio.Future[subprocess.CompletedProcess[str]]"]


@pytest.fixture
def environment() -> dict[str, str]:
    """An environment in which nothing of the caller's configures Lictor."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("LICTOR_")}
    return {**kept, "LICTOR_PACKS": str(ROOT / "policy-packs")}


@pytest.fixture
def cli(tmp_path: Path, environment: dict[str, str]) -> Cli:
    """Run `lictor` with some arguments in an empty directory, and give what it did."""

    def run(
        *arguments: str | Path, stdin: str = "", cwd: Path = tmp_path, **more: str
    ) -> asyncio.Future[subprocess.CompletedProcess[str]]:
        return asyncio.ensure_future(
            asyncio.to_thread(
                warm_processes.run,
                [COMMAND, *arguments],
                input=stdin,
                cwd=cwd,
                env={**environment, **more},
                timeout=90,
            )
        )

    return run


@pytest.fixture
async def broker(clean_infra: Endpoints) -> AsyncIterator[Client]:
    """A connection to a broker that has our streams, with nothing in them."""
    client = await connect_nats(clean_infra.nats_url, name="test")
    await declare_all(client)
    yield client
    await client.close()


@pytest.fixture
async def governor(broker: Client) -> AsyncIterator[lictor.Governor]:
    """The SDK, connected to that broker."""
    assert broker.connected_url is not None
    url = broker.connected_url.geturl()
    async with lictor.connect(url, runtime="test", agent_id="tester") as connected:
        yield connected


async def declare_all(client: Client) -> None:
    await streams.declare(client, streams.EVENTS, streams.DECISIONS, streams.EPISODES, streams.DEAD)


class StandIn:
    """A feedback service that answers what the test says, to questions that fit the canonical models."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, GateRequest]] = []
        self.silent: set[str] = set()
        """Questions that are not answered, by their name, such as `result`."""
        self.refused: set[str] = set()
        self.denied: set[str] = set()
        """Tools that are denied."""
        self.asks: dict[str, str] = {}
        """Tools that people decide about, and how the request about their calls stands."""
        self.edited: dict[str, Any] | None = None
        """The parameters that a person wants instead."""
        self.advice = ""
        self.stops: list[bool] = []
        """Whether the next stops are allowed; all are when there are none left."""
        self.counts = True
        self._taken: set[str] = set()
        self._repeated: set[int] = set()
        """Which reports were of calls that had been taken before, by their number."""

    def told(self, name: str) -> list[Any]:
        """The questions of one kind, in order."""
        return [request for asked, request in self.asked if asked == name]

    def refusals(self) -> list[tuple[str, str]]:
        """The calls that adapters denied themselves: the tool, and by which rule."""
        return [(each.tool, each.refused.policy_id) for each in self.told("refusal")]

    def outcomes(self) -> list[tuple[str, str]]:
        """The tools whose calls ended, and how; a second report of a call that was taken counts for nothing."""
        return [
            (report.tool, report.outcome)
            for number, report in enumerate(self.told("result"))
            if number not in self._repeated
        ]

    async def answer(self, message: Msg) -> None:
        """Answer one question."""
        name = message.subject.split(".")[2]
        request = QUESTIONS[name].from_json(message.data)
        refused = isinstance(request, ToolGateRequest) and request.refused is not None
        self.asked.append(("refusal" if refused else name, request))
        if isinstance(request, ToolResultReport):
            if request.call_id in self._taken:
                self._repeated.add(len(self.told("result")) - 1)
            elif name not in self.silent | self.refused:
                self._taken.add(request.call_id)
        if name not in self.silent:
            await message.respond(json.dumps(self._answer(name, request)).encode())

    def _answer(self, name: str, request: Any) -> dict[str, Any]:
        said: dict[str, Any] = {"request_id": request.request_id, "reason": "the test says so"}
        if name == "tool":
            record = {"record_id": str(uuid.uuid4())}
            if request.refused is not None:
                return {**said, "decision": "deny", **record, **request.refused.model_dump()}
            if request.tool in self.asks and request.params != self.edited:
                return {**said, **self._by_people(request)}
            if request.tool not in self.denied:
                return {**said, "decision": "allow", "policy_id": "test"}
            no = {"policy_id": "test.no", "reason": "not this one", "remedy": "take another"}
            return {**said, "decision": "deny", **record, **no, "denials": [no]}
        if name == "stop":
            allowed = self.stops.pop(0) if self.stops else True
            if allowed:
                return {**said, "decision": "allow", "policy_id": "test", "status": "complete"}
            missing: dict[str, Any] = {"reason": "a file is missing", "remedy": "write it"}
            missing["attempt"] = int(self.counts)
            return {
                **said,
                "decision": "deny",
                "policy_id": "test",
                "status": "incomplete",
                **missing,
            }
        said["ok"] = name not in self.refused
        if name in {"begin", "show"}:
            said["resource_params"] = {"write_file": ["path"]}
        if name == "collect":
            said["text"] = self.advice
        return said

    def _by_people(self, request: ToolGateRequest) -> dict[str, Any]:
        """As the feedback service answers: only whoever knows `ask` is answered so."""
        standing = self.asks[request.tool]
        approval: dict[str, Any] = {
            "request_id": REQUEST,
            "standing": standing,
            "expires_at": "2030-01-01T00:00:00.000Z",
        }
        if standing == "approved":
            return {"decision": "allow", "policy_id": "test", "approval": approval}
        remedy = {"remedy": "call it again when it is approved", "policy_id": "test.people"}
        if standing == "waiting" and request.knows_ask:
            return {"decision": "ask", **remedy, "approval": approval, "retry_after_ms": 50}
        if standing == "rejected":
            approval["guidance"] = "not on a Friday"
        if standing == "edited":
            approval["params"] = self.edited
        denial = {**remedy, "reason": approval.get("guidance", "a person decides")}
        record = {"record_id": str(uuid.uuid4()), "denials": [denial]}
        return {"decision": "deny", **denial, **record, "approval": approval}


REQUEST = "4e0cfb1e-6d8e-5d4c-9a59-0a6f3a1b2c3d"
"""The request that people decide about."""
QUESTIONS: dict[str, type[GateRequest]] = {
    "cancel": CancelApprovalRequest,
    "tool": ToolGateRequest,
    "stop": StopGateRequest,
    "begin": SessionBeginRequest,
    "show": GateRequest,
    "result": ToolResultReport,
    "collect": FeedbackRequest,
    "usage": UsageReport,
    "snapshot": SnapshotRequest,
    "restore": RestoreRequest,
    "reset": ResetRequest,
}


@pytest.fixture
async def standin(broker: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> StandIn:
    """A stand-in for the feedback service, on that broker; what it does not take is nothing to the next test."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    service = StandIn()
    for subject in (subjects.GATE.any, subjects.SESSION_REQUEST.any):
        await broker.subscribe(subject, cb=service.answer)
    # A request queues up behind the subscription; nats-py's flush() overtakes it.
    await broker.jetstream().account_info()
    return service
