"""A scripted agent: what an adapter must let it do, tools that really work, and the story it went through."""

import asyncio
import json
import shutil
import uuid
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from html import unescape
from pathlib import Path
from threading import Event
from typing import Any, Literal
from xml.etree import ElementTree

from conformance_scenarios import (
    TOOLS,
    Beside,
    Call,
    Document,
    Given,
    HandOver,
    Prompt,
    Restore,
    Scenario,
    Snapshot,
    Step,
    Stop,
    Use,
)
from nats.aio.client import Client

from lictor.runtimes.adapter_capabilities import AdapterCapabilities
from lictor_bus.names import streams, subjects
from lictor_bus.wire.read import read_all
from lictor_schema.gates.gate import GateRequest
from lictor_schema.sessions.session_log import (
    AnySessionEntry,
    CallDenied,
    FeedbackDelivered,
    StopJudged,
    parse_session_entry,
)
from lictor_schema.sessions.session_questions import (
    RestoreRequest,
    SessionBeginRequest,
    SnapshotRequest,
    Usage,
    UsageReport,
)

MOUNT = "/workspace"
Work = Callable[..., str]


@dataclass(frozen=True)
class Setting:
    """Where an agent works."""

    nats_url: str
    workspace: Path
    session_id: str
    definition: str
    stop_on_silence: Literal["block", "allow"] | None = None
    """What no answer to a stop means; None: what the definition says."""


@dataclass(frozen=True)
class Called:
    """What the agent saw of a call it wanted to make."""

    denied: str | None = None
    """The text of the denial; None for a call that was made."""
    failed: bool = False
    advice: str = ""

    @classmethod
    def refused(cls, text: str) -> "Called":
        """A denial that has advice in its text, after the reasons."""
        reasons, mark, advice = text.partition("\n\n<feedback ")
        return cls(denied=reasons, advice=f"<feedback {advice}" if mark else "")


@dataclass(frozen=True)
class Stopped:
    """What the agent saw of a stop."""

    allowed: bool
    text: str


class ScriptedAgent(ABC):
    """An agent behind one adapter. `runtime` names its sessions on the bus."""

    runtime: str
    capabilities: AdapterCapabilities
    """What the adapter says that it can do: it is held to that, and to nothing else."""
    begins_by_itself = False
    """Whether the adapter begins the session, so that there is no call before."""

    def __init__(self, setting: Setting) -> None:
        self.setting = setting

    @abstractmethod
    async def begin(self) -> None:
        """Begin the session, or go on with it."""

    @abstractmethod
    async def prompted(self) -> None:
        """Somebody gave it new work."""

    @abstractmethod
    async def call(self, tool: str, params: Mapping[str, Any], work: Work) -> Called:
        """Call a tool: `work(**params)` does what it is for, and raises when it fails."""

    @abstractmethod
    async def stop(self) -> Stopped:
        """Want to stop."""

    async def hand_over(self, output: Mapping[str, Any]) -> str:
        """Hand over its output before it stops; what it hears. Only with the capability `structured_output`."""
        raise NotImplementedError

    async def close(self) -> None:
        """Let go of what it holds."""
        return


class Workshop:
    """The tools of the scripted agents, on real files."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.made: list[str] = []

    def tool(self, name: str) -> Work:
        """A tool as a function of its parameters."""

        def work(**params: Any) -> str:
            self.made.append(name)
            if params.get("fails"):
                raise RuntimeError(f"{name} failed")
            if name == "read_file":
                return self.place(params["path"]).read_text()
            if name in {"write_file", "edit_file"}:
                self.place(params["path"]).write_text(params["content"])
            return "done"

        return work

    def place(self, path: str) -> Path:
        """Where a path leads, for a tool that sees the workspace under its mount too."""
        if path.startswith(f"{MOUNT}/"):
            path = path.removeprefix(f"{MOUNT}/")
        return self.root / path

    def set_up(self, given: Given) -> None:
        """Let something stand in the workspace."""
        path = self.root / given.path
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        with suppress(FileNotFoundError):
            path.unlink()
        if given.links_to is not None:
            path.symlink_to(given.links_to)
        elif given.directory:
            path.mkdir()
        elif given.content is not None:
            path.write_text(given.content)


class Story:
    """One agent going through one scenario; it leaves a line for each thing that came of a step."""

    def __init__(self, client: Client, agent: ScriptedAgent, scenario: Scenario) -> None:
        self._client = client
        self._agent = agent
        self._scenario = scenario
        self._workshop = Workshop(agent.setting.workspace)
        self.trace: list[str] = []

    async def play(self) -> list[str]:
        """Every step in turn."""
        if self._scenario.out_of_time:
            await self._begin_out_of_time()
        if self._scenario.begins:
            await self._agent.begin()
        for step in self._scenario.steps:
            await self.take(step)
        return self.trace

    async def take(self, step: Step) -> None:
        """One step."""
        match step:
            case Given():
                self._workshop.set_up(step)
            case Call():
                self.trace.append(await self._call(step))
            case Beside():
                self.trace += await self._beside(step)
            case Stop():
                self.trace.append(await self._stop(step))
            case Prompt():
                await self._agent.prompted()
            case HandOver():
                self.trace.append(await self._hand_over(step))
            case Snapshot():
                await self._ask("snapshot", SnapshotRequest, snapshot_id=step.name)
            case Restore():
                await self._ask(
                    "restore", RestoreRequest, snapshot_id=step.name, cause="the test says so"
                )
            case Use():
                usage = Usage(input_tokens=step.input_tokens)
                await self._ask("usage", UsageReport, report_id=str(uuid.uuid4()), usage=usage)

    async def _beside(self, step: Beside) -> list[str]:
        begun, over = Event(), Event()

        def work(**params: Any) -> str:
            said = self._workshop.tool(step.slow.tool)(**params)
            begun.set()
            assert over.wait(10)
            return said

        slow = asyncio.create_task(self._call(step.slow, work))
        assert await asyncio.to_thread(begun.wait, 10)
        quick = await self._call(step.quick)
        over.set()
        return [quick, await slow]

    async def _call(self, step: Call, work: Work | None = None) -> str:
        workspace = str(self._agent.setting.workspace)
        params = {
            name: value.replace("{workspace}", workspace) if isinstance(value, str) else value
            for name, value in step.params.items()
        }
        before = self._workshop.made.count(step.tool)
        work = work or self._workshop.tool(step.tool)
        came = await self._agent.call(step.tool, params, work)
        ran = self._workshop.made.count(step.tool) - before
        told = f"{came.denied or ''}\n{came.advice}"
        if step.says not in told:
            return f"{step.tool} was told {told!r}, without {step.says!r}"
        heard = providers_in(came.advice)
        hears = f", hears {', '.join(heard)}" if heard else ""
        if came.denied is not None:
            return "denied, but made" if ran else await self._denied(came.denied) + hears
        if ran != 1:
            return f"allowed, but made {ran} times"
        return ("fails" if came.failed else "runs") + hears

    async def _denied(self, text: str) -> str:
        entry = await self._last_entry(but=FeedbackDelivered)
        if not isinstance(entry, CallDenied):
            return "denied, not recorded"
        untold = [
            part
            for denial in entry.denials
            for part in (denial.reason, denial.remedy)
            if part not in text
        ]
        if untold:
            return f"denied, but {untold} is missing in {text!r}"
        return "denied by " + ", ".join(denial.policy_id for denial in entry.denials)

    async def _stop(self, step: Stop) -> str:
        came = await self._agent.stop()
        if step.says not in came.text:
            return f"the stop was told {came.text!r}, without {step.says!r}"
        entry = await self._last_entry()
        if not isinstance(entry, StopJudged):
            return f"stop {'allowed' if came.allowed else 'blocked'}, not recorded"
        if entry.allowed != came.allowed:
            return f"the record says allowed={entry.allowed}, the agent saw {came.allowed}"
        if not entry.allowed:
            return f"blocked {entry.attempt}: {entry.status}"
        bypass = f" ({entry.bypass})" if entry.bypass else ""
        return f"allowed: {entry.status}{bypass}" + (", escalated" if entry.escalated else "")

    async def _hand_over(self, step: HandOver) -> str:
        heard = await self._agent.hand_over(step.output)
        if step.says not in heard:
            return f"the output was answered {heard!r}, without {step.says!r}"
        return f"hears {', '.join(providers_in(heard))}" if heard else "hears nothing"

    async def _last_entry(self, but: type[Any] | None = None) -> AnySessionEntry | None:
        """What the session's log ends with; `but` entries of a kind."""
        key = subjects.session_key(self._agent.runtime, self._agent.setting.session_id)
        log = read_all(self._client, streams.SESSIONS, subjects.session_log(key))
        entries = [parse_session_entry(each.body) async for each in log]
        return next(
            (each for each in reversed(entries) if but is None or not isinstance(each, but)), None
        )

    async def _begin_out_of_time(self) -> None:
        await self._ask(
            "begin",
            SessionBeginRequest,
            definition=self._agent.setting.definition,
            deadline_at=datetime.now(UTC) - timedelta(seconds=1),
        )

    async def _ask(self, operation: str, request: type[GateRequest], **fields: Any) -> None:
        """What somebody beside the agent does with its session."""
        question = request(
            request_id=str(uuid.uuid4()),
            runtime=self._agent.runtime,
            agent_id="operator",
            task_id=self._agent.setting.session_id,
            session_id=self._agent.setting.session_id,
            requested_at=datetime.now(UTC),
            **fields,
        )
        subject = subjects.session_request(operation, self._agent.runtime)
        answer = json.loads((await self._client.request(subject, question.to_json(), 5)).data)
        assert answer["ok"], answer


def providers_in(advice: str) -> list[str]:
    """Who speaks in a text of feedback blocks."""
    if not advice:
        return []
    blocks = ElementTree.fromstring(f"<all>{advice}</all>").iter("feedback")
    return [unescape(block.attrib["provider"]) for block in blocks]


def document_of(scenario: Scenario, name: str) -> Document:
    """A scenario's definition as it stands in a file."""
    return {
        "apiVersion": "lictor/v1",
        "kind": "AgentDefinition",
        "metadata": {"name": name, "version": "1"},
        "tools": TOOLS,
        **scenario.definition,
    }


def definition_name(scenario: Scenario) -> str:
    """The name a scenario's definition goes by."""
    return scenario.name.replace(" ", "-").replace(",", "").replace("'", "")
