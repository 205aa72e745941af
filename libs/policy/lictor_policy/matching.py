"""Which rules an event is shown to, laid out at load so that judging asks nothing twice.

Per event type and claim, the rules stand in lanes: neighbouring packs that take any task and all their rules share one.
What can be known before the event comes (does this rule look at such a claim?) is not asked when it does.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from lictor_policy.facts import Predicate
from lictor_policy.rules import CompiledRule
from lictor_policy.scope import Scope
from lictor_schema.claims import ClaimType
from lictor_schema.event_types import EventType


@dataclass(frozen=True, slots=True)
class Candidates:
    """The rules of one pack that look at one event type."""

    scope: Scope | None
    first_only: bool
    rules: tuple[tuple[Predicate | None, CompiledRule], ...]


class Lane(NamedTuple):
    """Rules asked one after the other."""

    scope: Scope | None
    first_only: bool
    rules: tuple[tuple[Predicate, CompiledRule], ...]


Lanes = Mapping[EventType, Mapping[ClaimType | None, tuple[Lane, ...]]]


def lanes_of(index: Mapping[EventType, Iterable[Candidates]]) -> Lanes:
    """Lay out the rules of an index."""
    claims: tuple[ClaimType | None, ...] = (None, *ClaimType)
    return {
        event_type: {claim: _lanes(looking, claim) for claim in claims}
        for event_type, looking in index.items()
    }


def _lanes(looking: Iterable[Candidates], claim: ClaimType | None) -> tuple[Lane, ...]:
    lanes: list[Lane] = []
    for candidates in looking:
        rules = tuple(
            (_gated(gate, rule.condition), rule)
            for gate, rule in candidates.rules
            # An event that claims nothing isn't filtered by the type of its claim.
            if claim is None or claim in rule.claim_types
        )
        lane = Lane(candidates.scope, candidates.first_only, rules)
        if lanes and _is_open(lane) and _is_open(lanes[-1]):
            lanes[-1] = Lane(None, False, lanes[-1].rules + rules)
        elif rules:
            lanes.append(lane)
    return tuple(lanes)


def _is_open(lane: Lane) -> bool:
    return lane.scope is None and not lane.first_only


def _gated(gate: Predicate | None, condition: Predicate) -> Predicate:
    if gate is None:
        return condition
    return lambda state, event, position: (
        gate(state, event, position) and condition(state, event, position)
    )
