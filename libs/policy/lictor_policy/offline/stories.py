"""Stories: a task's events in a few words, and what must be decided about each.

A story names only what matters; the rest of an event is the usual. Times are seconds since the
story's start, and a text like `t+90` in a payload stands for such a moment. Timers wait until the
story lets them fire.
"""

import copy
import hashlib
import json
import re
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Self, cast

from pydantic import Field, ValidationError, model_validator
from pydantic_core import PydanticCustomError

from lictor_policy.errors import StoryError
from lictor_policy.events.position import EventPosition
from lictor_policy.judge.config import EvaluatorConfig
from lictor_policy.judge.step import StepOutcome, step
from lictor_policy.packs.strict_yaml import YamlError, read_yaml
from lictor_policy.task.state import TaskState
from lictor_policy.task.timers import SetReportingTimer, TimerKind, timer_orders
from lictor_schema.core.base_model import Count, Identifier, Label, Model, Text
from lictor_schema.core.time import to_micros
from lictor_schema.decisions.decision import DecisionRecord, Disposition, SuggestedStatus
from lictor_schema.errors import describe_validation_error
from lictor_schema.events.claim import TaskStatus
from lictor_schema.events.event import Event, parse_event
from lictor_schema.events.event_types import EventType
from lictor_schema.events.evidence import Quality

START = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)

_CHILD = {"run_id": "run-1", "child_session_key": "agent:data:subagent:survey"}
_PAYLOADS: dict[str, dict[str, Any]] = {
    "task_started": {
        "title": "Migrate the billing tables",
        "mode": "interactive",
        "workflow_shape": "single-agent",
        "channel": "telegram",
    },
    "task_checkpoint_due": {"checkpoint_number": 1},
    "task_checkpoint_sent": {
        "message": "Half of it is done.",
        "operator_visible": True,
        "structure": {
            "current_status": "in progress",
            "completed_this_segment": "nothing",
            "next_step": "migrate the second half",
            "next_report_condition": "when the second half is migrated",
            "operator_intervention_needed": "no",
        },
    },
    "task_status_changed": {"to_status": "active", "reason": "work goes on"},
    "task_claimed_complete": {
        "claim": {"type": "completion", "text": "The migration is done."},
        "message": "All tables are migrated.",
    },
    "subagent_spawned": {**_CHILD, "dispatch_at": "t+0"},
    "subagent_spawn_failed": {"run_id": "run-1", "failed_at": "t+0", "error": "no capacity"},
    "subagent_completed": {
        **_CHILD,
        "completion_received_at": "t+0",
        "outcome": "success",
        "result_source": "completion_event",
    },
    "subagent_result_forwarded": {
        **_CHILD,
        "forwarded_at": "t+0",
        "message": "The survey found 14 tables.",
        "operator_visible": True,
    },
    "subagent_result_not_forwarded": {
        **_CHILD,
        "completion_received_at": "t+0",
        "forward_due_at": "t+0",
    },
    "silence_timeout": {"timeout_s": 60},
    "watchdog_fired": {"watchdog": "long-task", "condition": "checkpoint_overdue"},
    "report_anchor_missing": {"dispatch_kind": "task"},
    "forced_operator_update": {
        "policy_id": "no-silence.missed-checkpoint",
        "source_event_id": "e",
        "message": "Still at work.",
        "operator_visible": True,
        "structure": {
            "current_status": "in progress",
            "completed_this_segment": "nothing",
            "next_step": "migrate the first half",
            "next_report_condition": "in ten minutes",
            "operator_intervention_needed": "no",
        },
    },
    "operator_review_requested": {
        "request_id": "r1",
        "requested_by": "agent",
        "question": "May I drop the old tables?",
        "blocking": False,
    },
}
# Fields that hold the moment of the event unless a story says otherwise.
_MOMENTS = {
    "task_checkpoint_due": "due_at",
    "silence_timeout": "silent_since",
    "watchdog_fired": "fired_at",
    "report_anchor_missing": "detected_at",
    "subagent_spawned": "dispatch_at",
    "subagent_spawn_failed": "failed_at",
    "subagent_completed": "completion_received_at",
    "subagent_result_forwarded": "forwarded_at",
}
_MOMENT = re.compile(r"t\+(\d{1,9})")


def moment(seconds: float) -> datetime:
    """A time of the story."""
    return START + timedelta(seconds=seconds)


def evidence_item(number: int | str, quality: str = "strong", **changes: Any) -> dict[str, Any]:
    """One evidence item as JSON: a verification output offered for a completion, unless changed."""
    return {
        "evidence_id": f"ev-{number}",
        "task_id": "task-1",
        "correlation_id": "corr-1",
        "agent_id": "agent-1",
        "class": "verification_output",
        "quality": quality,
        "summary": "The checks ran through",
        "captured_at": START.isoformat(),
        "refs": [{"kind": "log", "ref": f"logs/check-{number}.txt"}],
        "supports": {"claim_types": ["completion"]},
        **changes,
    }


def usual_event(
    event_type: str,
    seconds: float = 0,
    *,
    number: int = 0,
    runtime: str = "openclaw",
    **payload: Any,
) -> Event:
    """An event of task-1 with the usual payload, changed where the story says so."""
    when = moment(seconds).isoformat()
    body = copy.deepcopy(_PAYLOADS.get(event_type, {}))
    if event_type in _MOMENTS:
        body[_MOMENTS[event_type]] = when
    body.update(payload)
    return parse_event(
        json.dumps(
            {
                "event_id": f"{event_type}-{seconds}-{number}",
                "event_type": event_type,
                "runtime": runtime,
                "adapter_version": "1",
                "agent_id": "agent-1",
                "task_id": "task-1",
                "correlation_id": "corr-1",
                "timestamp": when,
                "payload": _with_moments(body),
                "evidence_refs": [],
                "operator_context": {"operator_id": "ops", "channel": "telegram"},
            }
        )
    )


def _with_moments(value: Any) -> Any:
    if isinstance(value, dict):
        given = cast("dict[str, Any]", value)
        return {name: _with_moments(each) for name, each in given.items()}
    if isinstance(value, list | tuple):
        return [_with_moments(each) for each in cast("list[Any]", value)]
    if isinstance(value, str) and (told := _MOMENT.fullmatch(value)):
        return moment(int(told[1])).isoformat()
    return value


@dataclass
class Stage:
    """One task's events played one after the other; timers wait until they are let fire."""

    config: EvaluatorConfig
    state: TaskState | None = None
    sequence: int = 0
    pending: dict[str, SetReportingTimer] = field(default_factory=dict[str, SetReportingTimer])
    records: list[DecisionRecord] = field(default_factory=list[DecisionRecord])

    def play(self, happening: Event, seconds: float) -> StepOutcome:
        """Judge an event that the broker stores at that moment."""
        self.sequence += 1
        body = happening.to_json()
        position = EventPosition(
            self.sequence, to_micros(moment(seconds)), "sha256:" + hashlib.sha256(body).hexdigest()
        )
        # Through the store's form each time: what isn't encoded can't be relied on.
        state = None if self.state is None else TaskState.decode(self.state.encode())
        outcome = step(state, happening, position, self.config)
        orders = timer_orders(self.state, outcome.state)
        self.state = outcome.state
        self.records.append(outcome.record)
        for order in orders:
            self.pending.pop(order.kind.value, None)
            if isinstance(order, SetReportingTimer):
                self.pending[order.kind.value] = order
        return outcome

    def say(self, event_type: str, seconds: float = 0, **payload: Any) -> StepOutcome:
        """The agent's runtime publishes an event."""
        return self.play(self.usual(event_type, seconds, payload), seconds)

    def usual(
        self, event_type: str, seconds: float, payload: dict[str, Any], runtime: str = "openclaw"
    ) -> Event:
        """The usual event at this point; a forced update answers what was demanded last."""
        if event_type == "forced_operator_update" and self.state and self.state.demands:
            payload = {"source_event_id": self.state.demands[-1], **payload}
        return usual_event(event_type, seconds, number=self.sequence, runtime=runtime, **payload)

    def fire(self, kind: str, seconds: float | None = None) -> StepOutcome:
        """The pending timer of a kind falls due."""
        order = self.pending.get(kind)
        if order is None or (seconds is not None and moment(seconds) < order.due):
            due = (
                (name, (each.due - START).total_seconds()) for name, each in self.pending.items()
            )
            timers = ", ".join(f"{name} at t+{when:g}" for name, when in sorted(due)) or "none"
            raise StoryError(f"no {kind} timer is due at t+{seconds}; set are: {timers}")
        del self.pending[kind]
        late = seconds if seconds is not None else (order.due - START).total_seconds()
        return self.play(parse_event(order.event_json()), late)


class Expectation(Model):
    """What must be seen after a step; what is left out may be anything."""

    decision: Disposition | None = None
    rule: Identifier | None = Field(default=None, description="The rule that decided")
    rules: tuple[Identifier, ...] | None = Field(
        default=None, description="Every rule that fired, strongest first"
    )
    also: tuple[Identifier, ...] | None = Field(
        default=None, description="The rules that fired besides the one that decided"
    )
    status: SuggestedStatus | None = None
    claim: Text | None = Field(default=None, description="The agent's own words in the record")
    reason: Text | None = Field(default=None, description="A part of the reason")
    rewritten: Text | None = Field(default=None, description="A part of the rewritten message")
    notice: Text | None = Field(default=None, description="A part of the operator's notice")
    missing: Text | None = Field(default=None, description="A part of the missing evidence")
    attached: tuple[Identifier, ...] | None = None
    best_quality: Quality | None = None
    triggered_by: Count | None = Field(default=None, description="How many events led to it")
    closed: bool | None = None
    final_status: TaskStatus | None = None
    timer: dict[TimerKind, int | str] | None = Field(
        default=None, description="When each timer is due; `none` when it is not set"
    )


class StoryStep(Model):
    """One thing that happens: an event, evidence attached, or a timer that falls due."""

    at: Count = Field(description="Seconds since the story's start")
    note: Text | None = Field(default=None, description="The step in words, for readers")
    event: EventType | None = None
    payload: dict[str, Any] = Field(
        default_factory=dict[str, Any], description="What differs from the usual payload"
    )
    runtime: Label = "openclaw"
    evidence: Annotated[tuple[dict[str, Any], ...], Field(min_length=1)] | None = None
    timer: TimerKind | None = None
    expect: Expectation | None = None

    @model_validator(mode="after")
    def _is_one_thing(self) -> Self:
        given = (self.event, self.evidence, self.timer)
        if sum(each is not None for each in given) != 1:
            raise PydanticCustomError("step", "must have exactly one of event, evidence, timer")
        return self


class Story(Model):
    """A whole story."""

    title: Text
    failure_mode: Text | None = Field(default=None, description="The failure mode it shows")
    steps: Annotated[tuple[StoryStep, ...], Field(min_length=1, max_length=1000)]


def read_story(source: bytes, name: str) -> Story:
    """Read a story from YAML text; `name` stands for the file in errors."""
    try:
        return Story.model_validate_json(json.dumps(read_yaml(source).data))
    except YamlError as error:
        raise StoryError(f"{name}:{error.line or 1}: {error.problem}") from error
    except ValidationError as error:
        told = describe_validation_error(error)[0]
        raise StoryError(f"{name}: {told.path}: {told.problem}") from error


def play_step(stage: Stage, told: StoryStep) -> StepOutcome:
    """Let a step happen."""
    if told.timer is not None:
        return stage.fire(told.timer.value, told.at)
    if told.evidence is not None:
        items = [evidence_item(**item) for item in told.evidence]
        return stage.say("task_evidence_attached", told.at, items=items)
    assert told.event is not None
    event = stage.usual(told.event, told.at, told.payload, told.runtime)
    return stage.play(event, told.at)


def disagreements(
    expected: Expectation, outcome: StepOutcome, stage: Stage, *, pack_id: str | None = None
) -> list[str]:
    """Where what was seen differs from what was expected, one sentence each.

    With a pack id only the rules of that pack count, whatever other packs are in force.
    """
    seen = _seen(outcome, stage, pack_id)
    problems: list[str] = []
    for name in sorted(expected.model_fields_set):
        wanted = getattr(expected, name)
        if wanted is not None and not _agrees(name, wanted, seen[name]):
            problems.append(f"{name}: expected {_told(wanted)}, but it was {_told(seen[name])}")
    return problems


def _seen(outcome: StepOutcome, stage: Stage, pack_id: str | None) -> dict[str, Any]:
    record = outcome.record
    decision = record.decision
    notice = decision.operator_notice
    fired = [rule for rule in record.matched_rules if pack_id in (None, rule.pack_id)]
    return {
        "decision": decision.decision
        if pack_id is None
        else (fired[0].decision if fired else Disposition.ALLOW),
        "rule": decision.policy_id
        if pack_id is None
        else (fired[0].rule_id if fired else decision.policy_id),
        "rules": tuple(rule.rule_id for rule in fired),
        "also": tuple(rule.rule_id for rule in fired[1:]),
        "status": decision.suggested_status,
        "claim": record.original_claim,
        "reason": decision.reason,
        "rewritten": decision.rewritten_message or "",
        "notice": (notice and notice.message) or "",
        "missing": "; ".join(record.evidence.missing),
        "attached": tuple(item.evidence_id for item in record.evidence.attached),
        "best_quality": record.evidence.best_quality,
        "triggered_by": len(record.trigger_event_ids),
        "closed": record.task_closed,
        "final_status": record.episode and record.episode.final_status,
        "timer": {
            kind: (stage.pending[kind].due - START) // timedelta(seconds=1)
            if kind in stage.pending
            else "none"
            for kind in TimerKind
        },
    }


_PARTS = frozenset(("reason", "rewritten", "notice", "missing"))


def _agrees(name: str, wanted: Any, seen: Any) -> bool:
    if name == "timer":
        return all(seen[kind] == due for kind, due in wanted.items())
    if name in _PARTS:
        return wanted in seen
    return wanted == seen


def _told(value: Any) -> str:
    if isinstance(value, tuple):
        return ", ".join(map(str, cast("tuple[Any, ...]", value))) or "none"
    if isinstance(value, dict):
        due = cast("dict[Any, Any]", value)
        return ", ".join(f"{kind} {when}" for kind, when in due.items())
    return repr(str(value)) if isinstance(value, str) and " " in value else str(value)
