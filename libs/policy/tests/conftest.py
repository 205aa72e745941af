"""Events in a few words, the shipped packs, and a small stage on which stories are played."""

import copy
import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from lictor_policy.config import EvaluatorConfig, build_config, load_config
from lictor_policy.evaluate import EventPosition, Outcome, step
from lictor_policy.packs import read_pack
from lictor_policy.position import to_micros
from lictor_policy.state import TaskState
from lictor_policy.timers import SetReportingTimer, timer_orders
from lictor_schema import DecisionRecord, Event, parse_event

PACKS = Path(__file__).parents[3] / "policy-packs"
START = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)

_PAYLOADS: dict[str, dict[str, Any]] = {
    "task_started": {
        "title": "Migrate the billing tables",
        "mode": "interactive",
        "workflow_shape": "single-agent",
        "channel": "telegram",
    },
    "task_checkpoint_due": {"checkpoint_number": 1},
    "task_checkpoint_sent": {"message": "Half of it is done.", "operator_visible": True},
    "task_status_changed": {"to_status": "active", "reason": "work goes on"},
    "task_claimed_complete": {
        "claim": {"type": "completion", "text": "The migration is done."},
        "message": "All tables are migrated.",
    },
    "silence_timeout": {"timeout_s": 60},
    "watchdog_fired": {"watchdog": "long-task", "condition": "checkpoint_overdue"},
    "report_anchor_missing": {"dispatch_kind": "task"},
    "forced_operator_update": {
        "policy_id": "no-silence.missed-checkpoint",
        "source_event_id": "e",
        "message": "Still at work.",
        "operator_visible": True,
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
}


def moment(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


def evidence(number: int | str, quality: str = "strong", **changes: Any) -> dict[str, Any]:
    """One evidence item as JSON."""
    return {
        "evidence_id": f"ev-{number}",
        "task_id": "task-1",
        "correlation_id": "corr-1",
        "agent_id": "agent-1",
        "class": "verification_output",
        "quality": quality,
        "summary": "The checks ran through",
        "captured_at": START.isoformat(),
        "refs": [{"kind": "log", "ref": "logs/check.txt"}],
        "supports": {"claim_types": ["completion"]},
        **changes,
    }


def event(event_type: str, seconds: float = 0, *, number: int = 0, **payload: Any) -> Event:
    """An event of task-1 with the usual payload, changed where told."""
    when = moment(seconds).isoformat()
    body = {**copy.deepcopy(_PAYLOADS.get(event_type, {})), **payload}
    if event_type in _MOMENTS:
        body.setdefault(_MOMENTS[event_type], when)
    return parse_event(
        json.dumps(
            {
                "event_id": f"{event_type}-{seconds}-{number}",
                "event_type": event_type,
                "runtime": "openclaw",
                "adapter_version": "1",
                "agent_id": "agent-1",
                "task_id": "task-1",
                "correlation_id": "corr-1",
                "timestamp": when,
                "payload": body,
                "evidence_refs": [],
                "operator_context": {"operator_id": "ops", "channel": "telegram"},
            }
        )
    )


@dataclass
class Stage:
    """A task's events played one after the other; timers wait until the story fires them."""

    config: EvaluatorConfig
    state: TaskState | None = None
    sequence: int = 0
    pending: dict[str, SetReportingTimer] = field(default_factory=dict[str, SetReportingTimer])
    records: list[DecisionRecord] = field(default_factory=list[DecisionRecord])

    def play(self, happening: Event, seconds: float) -> Outcome:
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

    def say(self, event_type: str, seconds: float = 0, **payload: Any) -> Outcome:
        return self.play(event(event_type, seconds, number=self.sequence, **payload), seconds)

    def fire(self, kind: str, seconds: float | None = None) -> Outcome:
        """The pending timer of a kind falls due."""
        order = self.pending.pop(kind)
        late = seconds if seconds is not None else (order.due - START).total_seconds()
        assert order.due <= moment(late), f"the {kind} timer is due only at {order.due}"
        happening = parse_event(order.event_json())
        assert happening.to_json() == order.event_json(), "not as the model would write it"
        return self.play(happening, late)


@pytest.fixture(scope="session")
def shipped() -> EvaluatorConfig:
    """The packs of this repository."""
    return load_config(PACKS)


@pytest.fixture
def stage(shipped: EvaluatorConfig) -> Stage:
    """The shipped packs and no event yet."""
    return Stage(shipped)


@pytest.fixture(scope="session")
def new_stage() -> type[Stage]:
    return Stage


@pytest.fixture(scope="session")
def make_event() -> Callable[..., Event]:
    return event


@pytest.fixture(scope="session")
def make_evidence() -> Callable[..., dict[str, Any]]:
    return evidence


@pytest.fixture(scope="session")
def pack_of() -> Callable[..., dict[str, Any]]:
    """A pack as data, with the rules given."""

    def build(*rules: dict[str, Any], **metadata: Any) -> dict[str, Any]:
        return {
            "apiVersion": "reporting-governance/v1alpha1",
            "kind": "PolicyPack",
            "metadata": {
                "id": "example",
                "title": "Example",
                "version": "1",
                "summary": "An example",
                "owner": "tests",
                "severity_default": "low",
                "applies_to": {},
                "tags": [],
                **metadata,
            },
            "spec": {"evaluation_mode": "any_rule_match", "rules": list(rules)},
        }

    return build


@pytest.fixture(scope="session")
def rule_of() -> Callable[..., dict[str, Any]]:
    """A rule as data; it fires on every started task unless changed."""

    def build(rule_id: str = "example.rule", decision: str = "block", **changes: Any) -> Any:
        templates = ("checkpoint_forced", "placeholder_rewrite", "review_required")
        templates = (*templates, "status_downgraded", "blocked")
        output = {
            "decision": decision,
            "reason": "because",
            "suggested_status": None,
            "required_actions": [],
            "operator_notice": None,
            **changes.pop("output", {}),
        }
        return {
            "id": rule_id,
            "title": "A rule",
            "intent": "To be tested",
            "triggers": {"event_types": ["task_started"]},
            "conditions": {"fact": "task.mode", "in": ["interactive", "silent"]},
            "evidence_requirements": {},
            "decision_output": output,
            "operator_message_templates": dict.fromkeys(templates, "text"),
            **changes,
        }

    return build


@pytest.fixture(scope="session")
def config_of() -> Callable[..., EvaluatorConfig]:
    """A configuration of packs given as data; JSON is YAML too."""

    def build(*packs: dict[str, Any]) -> EvaluatorConfig:
        return build_config(
            read_pack(json.dumps(pack).encode(), f"pack{number}.yaml")
            for number, pack in enumerate(packs)
        )

    return build
