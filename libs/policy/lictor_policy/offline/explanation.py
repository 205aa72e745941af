"""Why an event was decided as it was: every rule, what it asked, what the answer was.

Conditions are answered part by part here, also where the evaluator would have stopped early. The
outcome is then compared with the evaluator's own: an explanation that disagrees is an error, never
shown.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from lictor_policy.conditions.compiled_condition import read_leaf
from lictor_policy.conditions.condition_text import leaf_text, parts_of, scalar
from lictor_policy.conditions.facts import Fact, FactType, Predicate
from lictor_policy.conditions.temporal_conditions import NEVER, never_fails
from lictor_policy.decisions.json_text import rfc3339
from lictor_policy.errors import EvaluatorError
from lictor_policy.events.content import claim_type_of
from lictor_policy.events.position import EventPosition
from lictor_policy.judge.config import EvaluatorConfig
from lictor_policy.judge.step import StepOutcome, observed, step
from lictor_policy.rules.compiled_rule import CompiledRule
from lictor_policy.task.state import QUALITIES, TaskState
from lictor_schema.core.time import SECOND_US
from lictor_schema.decisions.decision import REPEATED_MATCH
from lictor_schema.events.event import Event
from lictor_schema.packs.pack import Condition


@dataclass(frozen=True, slots=True)
class ConditionAnswer:
    """A condition or a part of one: what it asks, whether it holds, and what the fact was."""

    text: str
    """`all`, `any`, `not`, or what a leaf asks."""
    holds: bool
    value: str | None = None
    """What the fact of a leaf was."""
    parts: tuple["ConditionAnswer", ...] = ()

    def to_json_value(self) -> dict[str, Any]:
        """For `--json`."""
        value: dict[str, Any] = {"asks": self.text, "holds": self.holds}
        if self.value is not None:
            value["was"] = self.value
        if self.parts:
            value["parts"] = [part.to_json_value() for part in self.parts]
        return value


@dataclass(frozen=True, slots=True)
class Look:
    """What one rule made of the event."""

    rule: CompiledRule
    not_looked: str | None
    """Why the rule did not look at the event; None when it did."""
    answer: ConditionAnswer | None
    """What its condition came to, when it looked."""
    fate: str = "did not fire"
    """What became of it: did it decide, was it overridden, or did it not count."""

    @property
    def fired(self) -> bool:
        """Whether it fired."""
        return self.answer is not None and self.answer.holds

    def to_json_value(self) -> dict[str, Any]:
        """For `--json`."""
        return {
            "pack_id": self.rule.stamp.pack_id,
            "pack_version": self.rule.stamp.pack_version,
            "rule_id": self.rule.rule.id,
            "decision": self.rule.rule.decision_output.decision.value,
            "severity": self.rule.severity.value,
            "looked": self.not_looked is None,
            "why_not_looked": self.not_looked,
            "fired": self.fired,
            "fate": self.fate,
            "condition": None if self.answer is None else self.answer.to_json_value(),
        }


@dataclass(frozen=True, slots=True)
class Explanation:
    """All rules, and how their outcomes became one decision."""

    event: Event
    looks: tuple[Look, ...]
    outcome: StepOutcome
    why: str
    """How the decision follows from the rules that fired."""

    def to_json_value(self) -> dict[str, Any]:
        """For `--json`."""
        return {
            "task_id": self.event.task_id,
            "event_id": self.event.event_id,
            "event_type": self.event.event_type,
            "decision": self.outcome.decision.model_dump(mode="json", by_alias=True),
            "why": self.why,
            "rules": [look.to_json_value() for look in self.looks],
        }


def explain(
    state: TaskState | None, event: Event, position: EventPosition, config: EvaluatorConfig
) -> Explanation:
    """Explain one event; raises UnacceptableEvent when it can't be judged."""
    outcome = step(state, event, position, config)
    seen = observed(state, event, rfc3339(event.timestamp), position, config)
    looks = [_with_fate(look, outcome) for look in _looks(seen, event, position, config)]
    told = sorted(_identity(look.rule) for look in looks if look.fired)
    done = sorted((use.pack_id, use.rule_id) for use in outcome.uses)
    if told != done:
        raise EvaluatorError(
            f"the explanation disagrees with the evaluator, which is a defect of Lictor: {told}"
            f" against {done}; please report it with the packs"
        )
    return Explanation(event, tuple(looks), outcome, _why(outcome))


def answer(
    condition: Condition, state: TaskState, event: Event, position: EventPosition
) -> ConditionAnswer:
    """A condition with all its parts, whether they were needed or not."""
    kind, parts = parts_of(condition)
    if kind == "leaf":
        leaf = read_leaf(condition, (), never_fails)
        was = _shown(leaf.fact, leaf.fact.compute(state, event, position))
        return ConditionAnswer(leaf_text(condition), bool(leaf.holds(state, event, position)), was)
    answers = tuple(answer(part, state, event, position) for part in parts)
    held = [part.holds for part in answers]
    holds = all(held) if kind == "all" else any(held) if kind == "any" else not held[0]
    return ConditionAnswer(kind, holds, parts=answers)


def _shown(fact: Fact, value: Any) -> str:
    if fact.type is FactType.QUALITY:
        return QUALITIES[int(value)].value
    if fact.type is FactType.DURATION:
        return "never" if value >= NEVER else f"{int(value) / SECOND_US:g}s ago"
    return scalar(value)


def _looks(
    state: TaskState, event: Event, position: EventPosition, config: EvaluatorConfig
) -> Iterator[Look]:
    looking: set[tuple[str, str]] = set()
    for candidates in config.index.get(event.event_type, ()):
        outside = candidates.scope is not None and not candidates.scope.takes(state)
        done = False
        for gate, rule in candidates.rules:
            looking.add(_identity(rule))
            if outside:
                yield Look(rule, "its pack does not govern this task (metadata.applies_to)", None)
            elif done:
                yield Look(rule, "an earlier rule of its first_match pack fired", None)
            elif (told := _not_looked(rule, gate, state, event, position)) is not None:
                yield Look(rule, told, None)
            else:
                look = Look(rule, None, answer(rule.rule.conditions, state, event, position))
                counts = look.fired and not rule.is_quiet(state, position)
                done = counts and candidates.first_only
                yield look
    for rule in config.rules:
        if _identity(rule) not in looking:
            yield Look(rule, f"it looks at {', '.join(rule.triggers)}", None)


def _not_looked(
    rule: CompiledRule,
    gate: Predicate | None,
    state: TaskState,
    event: Event,
    position: EventPosition,
) -> str | None:
    claimed = claim_type_of(event)
    triggers = rule.rule.triggers
    if gate is not None and not gate(state, event, position):
        return f"the event does not raise {', '.join(triggers.derived_signals)}"
    if claimed is not None and claimed not in rule.claim_types:
        return f"the event claims {claimed.value}; it looks at {', '.join(triggers.claim_types)}"
    return None


def _identity(rule: CompiledRule) -> tuple[str, str]:
    return rule.stamp.pack_id, rule.rule.id


_FATES = {
    "fired": "decides",
    "overridden": "fired, but a stronger rule decides",
    "shadow": "would fire, but is in shadow mode",
    "suppressed": "would fire, but a suppression window lets it rest",
}


def _with_fate(look: Look, outcome: StepOutcome) -> Look:
    for use in outcome.uses:
        if (use.pack_id, use.rule_id) == _identity(look.rule):
            return replace(look, fate=_FATES[use.fate])
    return look


def _why(outcome: StepOutcome) -> str:
    ranked = outcome.record.matched_rules
    if not ranked:
        quiet = "no rule that counts fired" if outcome.uses else "no rule fired"
        return f"{quiet}, so the event is allowed"
    winner = ranked[0]
    again = ""
    if outcome.decision.policy_id == REPEATED_MATCH:
        again = ", and has fired so often in this task that it escalates (escalate_after)"
    if len(ranked) == 1:
        return f"{winner.rule_id} is the only rule that fired{again}"
    second = ranked[1]
    over = f"{winner.rule_id} decides over {second.rule_id}"
    if winner.decision is not second.decision:
        return f"{over}: {winner.decision.value} comes before {second.decision.value}{again}"
    both = f"{over}: both {winner.decision.value}"
    if winner.severity is not second.severity:
        return f"{both}, and {winner.severity.value} is above {second.severity.value}{again}"
    return f"{both}, equally severe, and it comes first in the order of packs and rules{again}"
