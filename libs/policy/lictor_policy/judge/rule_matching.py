"""Which rules an event is shown to, laid out at load so that judging asks nothing twice.

Per event type and claim, the rules stand in lanes: neighbouring packs that take any task and all their rules share one.
What can be known before the event comes (does this rule look at such a claim? can its condition hold?) is not asked
when it does.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from lictor_policy.conditions.compiled_condition import compile_condition
from lictor_policy.conditions.facts import Predicate
from lictor_policy.conditions.partial_evaluation import CLAIMING, reduced
from lictor_policy.errors import PackError
from lictor_policy.events.position import EventPosition
from lictor_policy.packs.strict_yaml import Path
from lictor_policy.rules.compiled_rule import CompiledRule
from lictor_policy.rules.scope import TaskScope
from lictor_policy.task.state import TaskState
from lictor_schema.events.claim import ClaimType
from lictor_schema.events.event import Event
from lictor_schema.events.event_types import EventType


@dataclass(frozen=True, slots=True)
class Candidates:
    """The rules of one pack that look at one event type."""

    scope: TaskScope | None
    first_only: bool
    rules: tuple[tuple[Predicate | None, CompiledRule], ...]


class Lane(NamedTuple):
    """Rules asked one after the other."""

    scope: TaskScope | None
    first_only: bool
    rules: tuple[tuple[Predicate, CompiledRule], ...]


Lanes = Mapping[EventType, Mapping[ClaimType | None, tuple[Lane, ...]]]


def lanes_of(index: Mapping[EventType, Iterable[Candidates]]) -> Lanes:
    """Lay out the rules of an index."""
    return {
        event_type: {
            claim: _lanes(looking, event_type, claim)
            for claim in ((None, *ClaimType) if event_type in CLAIMING else (None,))
        }
        for event_type, looking in index.items()
    }


def _lanes(
    looking: Iterable[Candidates], event_type: EventType, claim: ClaimType | None
) -> tuple[Lane, ...]:
    lanes: list[Lane] = []
    for candidates in looking:
        rules = tuple(
            (holds, rule)
            for gate, rule in candidates.rules
            # An event that claims nothing isn't filtered by the type of its claim.
            if claim is None or claim in rule.claim_types
            if (holds := _asked(gate, rule, event_type, claim)) is not None
        )
        lane = Lane(candidates.scope, candidates.first_only, rules)
        if lanes and _is_open(lane) and _is_open(lanes[-1]):
            lanes[-1] = Lane(None, False, lanes[-1].rules + rules)
        elif rules:
            lanes.append(lane)
    return tuple(lanes)


def _asked(
    gate: Predicate | None, rule: CompiledRule, event_type: EventType, claim: ClaimType | None
) -> Predicate | None:
    """What such an event must still be asked; None when the rule can't fire."""
    left = reduced(rule.rule.conditions, event_type, claim)
    if left is False:
        return None
    if left is True:
        return gate or _always
    if left is rule.rule.conditions:
        return _gated(gate, rule.condition)
    return _gated(gate, compile_condition(left, ("conditions",), _checked_before))


def _always(_state: TaskState, _event: Event, _position: EventPosition) -> bool:
    return True


def _checked_before(path: Path, problem: str) -> PackError:
    """The whole condition was compiled already, so nothing is found in what is left of it."""
    return PackError(f"{path}: {problem}")


def _is_open(lane: Lane) -> bool:
    return lane.scope is None and not lane.first_only


def _gated(gate: Predicate | None, condition: Predicate) -> Predicate:
    if gate is None:
        return condition
    return lambda state, event, position: (
        gate(state, event, position) and condition(state, event, position)
    )
