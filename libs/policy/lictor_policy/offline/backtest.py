"""What would have been decided: past events folded by two configurations side by side.

Only what was stored is folded. Had the other packs been in force, the agents would have heard other
answers and said other things; nobody knows what.
"""

from collections import Counter
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from lictor_policy.errors import UnacceptableEvent
from lictor_policy.events.position import EventPosition
from lictor_policy.judge.config import EvaluatorConfig
from lictor_policy.judge.step import StepOutcome, step
from lictor_policy.task.state import TaskState
from lictor_schema.decisions.decision import Decision
from lictor_schema.events.event import Event

Kind = Literal["stricter", "milder", "other rule", "other content", "overridden"]
"""How a decision would change.

Another disposition, stricter or milder; the same by another rule; the same by the same rule with
other content; or only the rules that fired without deciding.
"""

_EXAMPLES = 3


class BacktestSide(NamedTuple):
    """A decision in short: what by which rule, and what else fired."""

    decision: str
    rule: str
    also: tuple[str, ...] = ()


class DecisionChange(NamedTuple):
    """Past events that would all be decided in the same other way."""

    kind: Kind
    event_type: str
    old: BacktestSide
    new: BacktestSide
    fields: tuple[str, ...] = ()
    """What of the decision differs beside these."""


class BacktestExample(NamedTuple):
    """One of those events."""

    task_id: str
    event_id: str
    sequence: int


@dataclass
class Fires:
    """How often a rule fires under each configuration."""

    old: int = 0
    new: int = 0


@dataclass
class Backtest:
    """Two folds of the same events, and where they part."""

    old: EvaluatorConfig
    new: EvaluatorConfig
    events: int = 0
    refused: int = 0
    """Events that the evaluator refuses or has judged before, whatever the packs."""
    changes: Counter[DecisionChange] = field(default_factory=Counter[DecisionChange])
    examples: dict[DecisionChange, list[BacktestExample]] = field(
        default_factory=dict[DecisionChange, list[BacktestExample]]
    )
    rules: dict[str, Fires] = field(default_factory=dict[str, Fires])
    _states: dict[str, tuple[TaskState | None, TaskState | None]] = field(
        default_factory=dict[str, tuple[TaskState | None, TaskState | None]]
    )
    _judged: set[tuple[str, str, str]] = field(default_factory=set[tuple[str, str, str]])

    @property
    def changed(self) -> int:
        """How many decisions would be others."""
        return self.changes.total()

    @property
    def tasks(self) -> int:
        """How many tasks the events are of."""
        return len(self._states)

    def refuse(self) -> None:
        """Count an event that could not even be read."""
        self.refused += 1

    def take(self, event: Event, position: EventPosition) -> None:
        """Fold the next event."""
        identity = (event.task_id, event.runtime, event.event_id)
        if identity in self._judged:
            self.refused += 1
            return
        before = self._states.get(event.task_id, (None, None))
        try:
            old = step(before[0], event, position, self.old)
            new = step(before[1], event, position, self.new)
        except UnacceptableEvent:
            self.refused += 1
            return
        self._judged.add(identity)
        self._states[event.task_id] = (old.state, new.state)
        self.events += 1
        fired = _fired(old), _fired(new)
        for rule in fired[0]:
            self.rules.setdefault(rule, Fires()).old += 1
        for rule in fired[1]:
            self.rules.setdefault(rule, Fires()).new += 1
        if old.verdict.decision_json == new.verdict.decision_json and fired[0] == fired[1]:
            return
        change = _change(event, old.decision, new.decision, *fired)
        self.changes[change] += 1
        kept = self.examples.setdefault(change, [])
        if len(kept) < _EXAMPLES:
            kept.append(BacktestExample(event.task_id, event.event_id, position.sequence))

    def to_json_value(self) -> dict[str, Any]:
        """The whole of it for `--json`."""
        return {
            "old_config": self.old.config_hash,
            "new_config": self.new.config_hash,
            "events": self.events,
            "tasks": self.tasks,
            "refused": self.refused,
            "changed": self.changed,
            "changes": [
                {
                    "count": count,
                    "kind": change.kind,
                    "event_type": change.event_type,
                    "old": change.old._asdict(),
                    "new": change.new._asdict(),
                    "fields": list(change.fields),
                    "examples": [example._asdict() for example in self.examples[change]],
                }
                for change, count in self.changes.most_common()
            ],
            "rules": {
                rule: {"old": fires.old, "new": fires.new}
                for rule, fires in sorted(self.rules.items())
            },
        }


def _fired(outcome: StepOutcome) -> tuple[str, ...]:
    return tuple(use.rule_id for use in outcome.uses if use.fate in ("fired", "overridden"))


def _change(
    event: Event, old: Decision, new: Decision, fired: tuple[str, ...], would: tuple[str, ...]
) -> DecisionChange:
    fields = tuple(
        name
        for name in Decision.model_fields
        if name not in ("decision", "policy_id") and getattr(old, name) != getattr(new, name)
    )
    kind: Kind
    if old.decision is not new.decision:
        stricter = new.decision.precedence > old.decision.precedence
        kind = "stricter" if stricter else "milder"
    elif old.policy_id != new.policy_id:
        kind = "other rule"
    elif fields:
        kind = "other content"
    else:
        kind = "overridden"
    return DecisionChange(kind, event.event_type, _side(old, fired), _side(new, would), fields)


def _side(decision: Decision, fired: tuple[str, ...]) -> BacktestSide:
    also = tuple(rule for rule in fired if rule != decision.policy_id)
    return BacktestSide(decision.decision.value, decision.policy_id, also)
