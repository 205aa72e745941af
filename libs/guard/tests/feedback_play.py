"""A session, played step by step: decided from facts, logged, and folded into them, as the service does it."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from lictor_guard.definitions.compiled_definition import compile_definition
from lictor_guard.facts.fact import Facts
from lictor_guard.log.fold import Folder
from lictor_guard.log.replay import Replay
from lictor_guard.plugins.feedback_provider import FeedbackContext, PlainProvider
from lictor_guard.plugins.installed import Plugin, Plugins
from lictor_guard.session.judge import SessionJudge
from lictor_schema.gates.task_standing import TaskStanding
from lictor_schema.sessions.agent_definition import AgentDefinition
from lictor_schema.sessions.feedback import Feedback
from lictor_schema.sessions.session_log import AnySessionEntry, StopJudged, parse_session_entry
from lictor_schema.sessions.session_questions import (
    FeedbackAnswer,
    FeedbackRequest,
    ResetRequest,
    RestoreRequest,
    SeenFile,
    SessionBeginRequest,
    SnapshotRequest,
    StopGateRequest,
    ToolResultReport,
)

SECOND = 1_000_000
BEGAN = 1_800_000_000 * SECOND


def static(name: str, **trigger: Any) -> dict[str, Any]:
    """A provider that says its name."""
    return {"kind": "static", "name": name, "trigger": trigger, "text": f"I am {name}."}


class Scripted(PlainProvider):
    """A provider from elsewhere, which does as it is told."""

    def __init__(
        self,
        name: str,
        provide: Callable[[FeedbackContext], Any] | None = None,
        *,
        willing: Callable[[FeedbackContext], bool] = lambda _: True,
    ) -> None:
        self.name = name
        self._provide = provide
        self._willing = willing
        self.looked: list[FeedbackContext] = []

    def should_run(self, context: FeedbackContext) -> bool:
        self.looked.append(context)
        return self._willing(context)

    def provide(self, context: FeedbackContext) -> Any:
        if self._provide is not None:
            return self._provide(context)
        return Feedback(provider=self.name, summary=f"I am {self.name}.")


def failing(_: FeedbackContext) -> Feedback:
    """What a provider with a defect does."""
    raise ZeroDivisionError("oops")


@dataclass
class Play:
    """A session, played: its time, its log, and what was said."""

    providers: Sequence[dict[str, Any] | tuple[Any, dict[str, Any]]]
    deadline_s: int | None = None
    now_us: int = BEGAN
    log: list[Any] = field(default_factory=list[Any])
    calls: int = 0
    _ids: int = 0

    def __post_init__(self) -> None:
        specs: list[dict[str, Any]] = []
        plugins: dict[str, Any] = {}
        for each in self.providers:
            if isinstance(each, dict):
                specs.append(each)
                continue
            provider, trigger = each
            plugins[provider.name] = Plugin(lambda made=provider: lambda *_: made, "tests==1")
            specs.append(
                {
                    "kind": "plugin",
                    "name": provider.name,
                    "plugin": provider.name,
                    "trigger": trigger,
                }
            )
        definition = AgentDefinition.model_validate_json(
            _document(specs, self.deadline_s), by_alias=True
        )
        guarded = compile_definition(definition, Plugins(providers=plugins))
        self.session = SessionJudge(guarded, self._new_id)
        self.replay = Replay(Folder(guarded))
        entry, _ = self.session.begin(
            self._asked(SessionBeginRequest), self._facts(self.session.names_for_begin()), BEGAN
        )
        self._add(entry)

    def after(self, seconds: float) -> "Play":
        """Let time pass."""
        self.now_us += int(seconds * SECOND)
        return self

    def call(self, *, files: Sequence[str] = (), standing: TaskStanding | None = None) -> list[str]:
        """One call and its hook; who spoke."""
        self.work()
        return self.hook(files=files, standing=standing)

    def work(self, **told: Any) -> None:
        """A call ended; nobody asks for feedback."""
        self.calls += 1
        call = {"call_id": f"call-{self.calls}", "tool": "Bash", "params": {}, "outcome": "ok"}
        report = self._asked(ToolResultReport, **{**call, **told})
        entry, _ = self.session.result(
            report, self._facts(self.session.names_for_result(report)), self.now_us
        )
        self._add(entry)

    def hook(self, **asked: Any) -> list[str]:
        """Ask for feedback; who spoke, in order."""
        return [each.provider for each in self.collect(**asked).feedback]

    def collect(
        self,
        *,
        files: Sequence[str] = (),
        states: Sequence[SeenFile] = (),
        standing: TaskStanding | None = None,
        call_id: str | None = None,
    ) -> FeedbackAnswer:
        """Ask for feedback."""
        seen = (*states, *(SeenFile(path=each, state="file", size=1) for each in files))
        request = self._asked(FeedbackRequest, call_id=call_id or self._new_id(), files=seen)
        facts = self._facts(self.session.names_for_collect(request))
        entry, answer = self.session.collect(request, facts, self.now_us, standing)
        self._add(entry)
        return answer

    def tick(self) -> list[str] | None:
        """The timer rings; who raised something, None when nothing happened."""
        facts = self._facts(self.session.names_for_tick())
        entry = self.session.tick(facts, self.now_us, None)
        self._add(entry)
        return None if entry is None else [each.provider for each in entry.feedback]

    def stop(self) -> None:
        """The agent stops."""
        request = self._asked(StopGateRequest, reason="done")
        facts = self._facts(self.session.names_for_stop(request))
        self._add(self.session.stop(request, facts, self.now_us, None)[0])

    def prompt(self) -> None:
        """Somebody gives it new work."""
        request = self._asked(SessionBeginRequest, prompted=True)
        facts = self._facts(self.session.names_for_begin())
        self._add(self.session.begin(request, facts, self.now_us)[0])

    def snapshot(self) -> None:
        """Keep the state as `kept`."""
        request = self._asked(SnapshotRequest, snapshot_id="kept")
        self._add(self.session.snapshot(request, self.replay.facts, self.now_us)[0])

    def restore(self) -> None:
        """Set the state back to `kept`."""
        sequence = next(
            number for number, entry in enumerate(self.log, 1) if entry.kind == "state_kept"
        )
        request = self._asked(RestoreRequest, snapshot_id="kept", cause="test")
        kept = self.replay.state_at(sequence)
        self._add(self.session.restore(request, self.replay.facts, kept, self.now_us)[0])

    def reset(self) -> None:
        """Forget what providers know."""
        request = self._asked(ResetRequest, cause="test")
        self._add(self.session.reset(request, self.replay.facts, self.now_us)[0])

    @property
    def rings_in_s(self) -> float | None:
        """When the timer rings that the log asks for, from now."""
        entry = next(
            each
            for each in reversed(self.log)
            if hasattr(each, "next_due_us") or (isinstance(each, StopJudged) and each.allowed)
        )
        if isinstance(entry, StopJudged):
            return None
        due_us: int | None = getattr(entry, "next_due_us")  # noqa: B009 - not every entry has it
        return None if due_us is None else (due_us - self.now_us) / SECOND

    def _facts(self, names: frozenset[str]) -> Facts:
        return Facts({name: self.replay.facts.get(name) for name in names})

    def _add(self, entry: AnySessionEntry | None) -> None:
        if entry is None:
            return
        stored = parse_session_entry(entry.model_dump_json(by_alias=True))
        assert stored == entry
        self.log.append(stored)
        self.replay.add(len(self.log), stored)

    def _new_id(self) -> str:
        self._ids += 1
        return str(UUID(int=self._ids))

    def _asked(self, model: Any, **fields: Any) -> Any:
        return model.model_validate(
            {
                "request_id": self._new_id(),
                "runtime": "sdk",
                "agent_id": "agent",
                "task_id": "task",
                "session_id": "session",
                "requested_at": datetime(2027, 1, 15, tzinfo=UTC),
                **fields,
            }
        )


def _document(specs: list[dict[str, Any]], deadline_s: int | None) -> str:
    return json.dumps(
        {
            "apiVersion": "lictor/v1",
            "kind": "AgentDefinition",
            "metadata": {"name": "coder", "version": "1"},
            "other_tools": "allow",
            "feedback": specs,
            "deadline_s": deadline_s,
        }
    )
