"""Of all rules that fired, one decision: the strictest, with what all of them demand."""

from collections.abc import Sequence
from typing import NamedTuple

from lictor_policy.decisions.records import NO_RULE, ONLY_QUIET, EventVerdict, decided
from lictor_policy.events.position import EventPosition
from lictor_policy.judge.config import EvaluatorConfig
from lictor_policy.judge.joint_decision import together
from lictor_policy.rules.compiled_rule import CompiledRule, RuleUse
from lictor_policy.rules.record_text import with_window
from lictor_policy.rules.suppression import CompiledWindow
from lictor_policy.rules.templates import TemplateContext
from lictor_policy.task.state import TaskState
from lictor_schema.events.event import Event

_MAX_MISSING = 64


class Resolution(NamedTuple):
    """What the rules that fired lead to."""

    verdict: EventVerdict
    uses: tuple[RuleUse, ...]
    """What became of each of them."""
    repeats: dict[str, int] | None
    """How often the rules that count it have matched; None when nothing changed."""
    unheard_until: int | None = None
    """When every rule that fired is in shadow mode or rests: when the first window ends, in
    microseconds since 1970; 0 without a window."""


NOTHING_FIRED = Resolution(NO_RULE, (), None)


def resolve(
    fired: list[CompiledRule],
    state: TaskState,
    event: Event,
    position: EventPosition,
    config: EvaluatorConfig,
) -> Resolution:
    """The decision that the rules make together; `fired` in pack order."""
    if config.plain:
        return Resolution(*_judge(fired, state, event, position), None)
    repeats = _counted(fired, state, position, config.repeating)
    counting: list[CompiledRule] = []
    shadow: list[CompiledRule] = []
    suppressed: list[tuple[CompiledRule, CompiledWindow]] = []
    for each in fired:
        rule = each.as_repeated(repeats)
        if rule.shadow:
            shadow.append(rule)
        elif (window := rule.resting(state, position)) is not None:
            suppressed.append((rule, window))
        else:
            counting.append(rule)
    verdict, uses = _judge(counting, state, event, position)
    if shadow or suppressed:
        shadow = _ranked(shadow)
        suppressed.sort(key=lambda pair: pair[0].strength, reverse=True)
        situation = _situation([*shadow, *(rule for rule, _ in suppressed)], state, event, position)
        verdict = (verdict if counting else ONLY_QUIET).beside(
            [_line(rule, situation) for rule in shadow],
            [with_window(_line(rule, situation), window.window_id) for rule, window in suppressed],
        )
        uses = (
            *uses,
            *(rule.uses["shadow"] for rule in shadow),
            *(rule.uses["suppressed"] for rule, _ in suppressed),
        )
    unheard = None if counting else min((window.ends_us for _, window in suppressed), default=0)
    return Resolution(verdict, uses, repeats if repeats != state.repeats else None, unheard)


def _judge(
    rules: list[CompiledRule], state: TaskState, event: Event, position: EventPosition
) -> tuple[EventVerdict, tuple[RuleUse, ...]]:
    if not rules:
        return NO_RULE, ()
    ranked = _ranked(rules)
    situation = _situation(ranked, state, event, position)
    reasons = [rule.reason.fill(situation) for rule in ranked]
    winner = ranked[0]
    joint = together(tuple(ranked))
    verdict = decided(
        winner,
        joint.decide(situation, reasons[0]),
        [rule.line.write(reason) for rule, reason in zip(ranked, reasons, strict=True)],
        situation.missing,
        joint.receipt(state.runtime),
    )
    return verdict, (winner.uses["fired"], *(rule.uses["overridden"] for rule in ranked[1:]))


def _line(rule: CompiledRule, situation: TemplateContext) -> str:
    return rule.line.write(rule.reason.fill(situation))


def _ranked(rules: list[CompiledRule]) -> list[CompiledRule]:
    # Stable: of equally strong rules the one that comes first in pack order stays first.
    return sorted(rules, key=lambda rule: rule.strength, reverse=True)


def _situation(
    ranked: Sequence[CompiledRule], state: TaskState, event: Event, position: EventPosition
) -> TemplateContext:
    missing = tuple(dict.fromkeys(text for rule in ranked for text in rule.missing(state, event)))
    return TemplateContext(state, event, position, missing[:_MAX_MISSING])


def _counted(
    fired: list[CompiledRule],
    state: TaskState,
    position: EventPosition,
    repeating: frozenset[str],
) -> dict[str, int]:
    """How often each rule that counts it has matched in this task, this event included.

    Bounded: only rules in force are kept, and none counts beyond the number it asks for. A rule that rests
    under a window doesn't count.
    """
    limits = {
        rule.rule.id: rule.rule.escalate_after
        for rule in fired
        if rule.rule.escalate_after is not None and rule.resting(state, position) is None
    }
    if not limits:
        return state.repeats
    kept = {name: count for name, count in state.repeats.items() if name in repeating}
    for name, limit in limits.items():
        kept[name] = min(kept.get(name, 0) + 1, limit)
    return kept
