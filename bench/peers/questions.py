"""Rules as plain boolean expressions over named values: what any engine's language can say.

Everything that decides whether a rule fires stands in its expression: the pack's `applies_to`, the derived
signals, the claim types, `first_match`, and the condition. Only the event type is left out: like our own
index, an engine is asked just the rules that look at the type at hand. Nothing here uses our compiler,
so that agreement means something.
"""

import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, get_args

from lictor_policy.conditions.evidence_requirements import bound, named_fact
from lictor_policy.conditions.facts import FACTS, Fact, FactType
from lictor_policy.errors import PackError
from lictor_policy.events.content import claim_type_of
from lictor_policy.events.position import EventPosition
from lictor_policy.judge.config import PACK_ORDER
from lictor_policy.rules.signals import SIGNALS
from lictor_policy.task.state import TaskState
from lictor_schema.decisions.decision import Disposition
from lictor_schema.events.event import Event
from lictor_schema.events.event_types import EventType
from lictor_schema.events.evidence import Quality
from lictor_schema.events.payloads import TaskMode, WorkflowShape
from lictor_schema.packs.pack import Condition, PolicyPack, Rule
from lictor_schema.packs.temporal_conditions import duration_seconds

Scalar = bool | int | str
Context = dict[str, Any]
Compute = Callable[[TaskState, Event, EventPosition], Any]


class Untranslatable(Exception):
    """A rule that can't be said in other languages."""


@dataclass(frozen=True, slots=True)
class Every:
    """All parts hold."""

    parts: tuple["Expression", ...]


@dataclass(frozen=True, slots=True)
class Some:
    """At least one part holds."""

    parts: tuple["Expression", ...]


@dataclass(frozen=True, slots=True)
class Never:
    """The part doesn't hold."""

    part: "Expression"


@dataclass(frozen=True, slots=True)
class Test:
    """A named value compared; `in` has a tuple to compare with."""

    name: str
    comparator: str
    operand: Scalar | tuple[Scalar, ...]


Expression = Every | Some | Never | Test


class Question(NamedTuple):
    """Does this rule fire?"""

    rule_id: str
    decision: Disposition
    strength: tuple[int, int]
    expression: Expression


Questions = Mapping[EventType, tuple[Question, ...]]

_SCOPES: dict[str, tuple[str, Compute]] = {
    "runtimes": ("scope.runtime", lambda state, _event, _position: state.runtime),
    "task_modes": ("scope.task_mode", lambda state, _event, _position: state.mode),
    "workflow_shapes": ("scope.shape", lambda state, _event, _position: state.workflow_shape),
    "channels": ("scope.channel", lambda state, _event, _position: state.channel),
}
_ALL = {"task_modes": set(get_args(TaskMode)), "workflow_shapes": set(get_args(WorkflowShape))}
_CLAIMED = "event.claimed"
VALUES: dict[str, Compute] = {
    **{fact.name: fact.compute for fact in FACTS.values()},
    **{f"signal.{signal.name}": signal.holds for signal in SIGNALS.values()},
    **dict(_SCOPES.values()),
    _CLAIMED: lambda _state, event, _position: claim_type_of(event) or "",
}
"""Every name that an expression may use, and how its value is found."""


def identifier(name: str) -> str:
    """A name as all the languages spell it; requirements that stand in the name of a fact become a number."""
    plain, _, stated = name.partition(" ")
    number = f"_{zlib.crc32(stated.encode())}" if stated else ""
    return plain.replace(".", "_").replace("-", "_") + number


def questions_of(packs: Iterable[PolicyPack]) -> Questions:
    """The rules of packs by the event types they look at, in pack order."""
    by_type: dict[EventType, list[Question]] = {}
    for pack in sorted(packs, key=lambda each: _order(each.metadata.id)):
        earlier: dict[EventType, list[Expression]] = {}
        for rule in pack.spec.rules:
            for event_type, raised in _triggers(rule).items():
                fires = Every((*_scope(pack), *raised, *_claims(rule), lower(_bound(rule))))
                before = earlier.setdefault(event_type, [])
                if pack.spec.evaluation_mode == "first_match" and before:
                    asked: Expression = Every((fires, Never(Some(tuple(before)))))
                else:
                    asked = fires
                before.append(fires)
                by_type.setdefault(event_type, []).append(_question(pack, rule, asked))
    return {event_type: tuple(asked) for event_type, asked in by_type.items()}


def _bound(rule: Rule) -> Condition:
    """The conditions, with the requirements of the rule in the fact that asks for them."""

    def fail(path: tuple[str | int, ...], problem: str) -> PackError:
        return PackError(f"{rule.id}: {path}: {problem}")

    return bound(rule, fail).conditions


def _fact(name: str) -> Fact:
    fact = named_fact(name)
    if fact is None:
        raise Untranslatable(f"there is no fact {name}")
    return fact


def lower(condition: Condition) -> Expression:
    """A condition as an expression; qualities become their ranks, durations microseconds."""
    if condition.all_of is not None:
        return Every(tuple(map(lower, condition.all_of)))
    if condition.any_of is not None:
        return Some(tuple(map(lower, condition.any_of)))
    if condition.negated is not None:
        return Never(lower(condition.negated))
    if condition.fact is None:
        raise Untranslatable(f"{condition!r} is neither a group nor about a fact")
    ((comparator, operand),) = condition.comparisons()
    number = _NUMBERS.get(_fact(condition.fact).type)
    if number is not None:
        operand = tuple(map(number, operand)) if isinstance(operand, tuple) else number(operand)
    return Test(condition.fact, comparator, operand)


def needed(questions: Questions) -> dict[EventType, dict[str, Compute]]:
    """Per event type, what the rules need to know: identifiers, and how to find their values."""
    return {
        event_type: {
            identifier(name): VALUES[name] if name in VALUES else _fact(name).compute
            for question in asked
            for name in _names(question.expression)
        }
        for event_type, asked in questions.items()
    }


def context_of(
    computes: Mapping[str, Compute], state: TaskState, event: Event, position: EventPosition
) -> Context:
    """The values at one event."""
    return {name: compute(state, event, position) for name, compute in computes.items()}


def winner(matched: list[Question]) -> Question | None:
    """The rule that decides: the strongest, and of equals the first."""
    return max(matched, key=_strength, default=None)


def _strength(question: Question) -> tuple[int, int]:
    return question.strength


def _question(pack: PolicyPack, rule: Rule, asked: Expression) -> Question:
    output = rule.decision_output
    severity = output.severity or pack.metadata.severity_default
    return Question(rule.id, output.decision, (output.decision.precedence, severity.rank), asked)


def _order(pack_id: str) -> tuple[int, str]:
    known = PACK_ORDER.index(pack_id) if pack_id in PACK_ORDER else len(PACK_ORDER)
    return known, pack_id


def _scope(pack: PolicyPack) -> Iterator[Expression]:
    for field, (name, _) in _SCOPES.items():
        given: tuple[str, ...] | None = getattr(pack.metadata.applies_to, field)
        # A list of all there are is no question; asking it would only slow an engine down.
        if given is not None and given != ("*",) and not set(given) >= _ALL.get(field, {"*"}):
            yield Test(name, "in", given)


def _triggers(rule: Rule) -> dict[EventType, tuple[Expression, ...]]:
    raised: dict[EventType, tuple[Expression, ...]] = {}
    for name in rule.triggers.derived_signals:
        for event_type in SIGNALS[name].event_types:
            test = Test(f"signal.{name}", "equals", True)
            raised[event_type] = (*raised.get(event_type, ()), test)
    asked: dict[EventType, tuple[Expression, ...]]
    asked = {event_type: (Some(tests),) for event_type, tests in raised.items()}
    asked.update(dict.fromkeys(rule.triggers.event_types, ()))
    return asked


def _claims(rule: Rule) -> Iterator[Expression]:
    if rule.triggers.claim_types:
        named = tuple(claim.value for claim in rule.triggers.claim_types)
        yield Test(_CLAIMED, "in", ("", *named))


def _rank(value: Scalar) -> int:
    return Quality(value).rank


def _micros(value: Scalar) -> int:
    seconds = duration_seconds(str(value))
    if seconds is None:
        raise Untranslatable(f"{value!r} is no duration")
    return seconds * 1_000_000


_NUMBERS = {FactType.QUALITY: _rank, FactType.DURATION: _micros}


def _names(expression: Expression) -> Iterator[str]:
    match expression:
        case Every(parts) | Some(parts):
            for part in parts:
                yield from _names(part)
        case Never(part):
            yield from _names(part)
        case Test(name):
            yield name
