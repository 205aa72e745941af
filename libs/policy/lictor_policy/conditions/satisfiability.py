"""Whether a condition can ever hold: decided fact by fact, without any state.

Facts are taken as independent of each other, so the answer "never" is certain and the answer
"possible" is not. Groups are multiplied out; a condition that grows too large by that counts as possible.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from lictor_policy.conditions.compiled_condition import Leaf, read_leaf
from lictor_policy.conditions.condition_text import parts_of
from lictor_policy.conditions.facts import Fact, FactType
from lictor_policy.conditions.partial_evaluation import CLAIMING, OPEN, SETTLED
from lictor_policy.conditions.temporal_conditions import never_fails
from lictor_policy.task.state import QUALITIES
from lictor_schema.events.claim import ClaimType
from lictor_schema.events.event_types import EventType
from lictor_schema.packs.pack import Condition

_MOST_CASES = 2000

Values = frozenset[Any]
Domains = Mapping[str, Values]
"""What facts can be at all, where it is less than their type allows."""

_MEETS: dict[str, Callable[[Any, Any], bool]] = {
    "equals": lambda value, wanted: value == wanted,
    "not_equals": lambda value, wanted: value != wanted,
    "greater_than": lambda value, wanted: value > wanted,
    "less_than": lambda value, wanted: value < wanted,
    "in": lambda value, wanted: value in wanted,
    "contains": lambda value, wanted: wanted in value,
}


@dataclass(frozen=True, slots=True)
class SignedLeaf:
    """A leaf, or its contrary."""

    leaf: Leaf
    wanted: bool

    def met_by(self, value: Any) -> bool:
        """Whether a value of the fact will do."""
        return _MEETS[self.leaf.comparator](value, self.leaf.expected) is self.wanted


Case = tuple[SignedLeaf, ...]
"""Demands that must be met together."""


def can_hold(conditions: Iterable[tuple[Condition, bool]], domains: Domains) -> bool:
    """Whether all conditions can have the given values, true or false, at the same time."""
    cases: list[Case] | None = [()]
    for condition, wanted in conditions:
        cases = _both(cases, _cases(condition, wanted, domains), domains)
    return cases is None or bool(cases)


def facts_on(event_type: EventType, claim: ClaimType | None) -> Domains:
    """The facts that an event's type and claim settle."""
    settled = {name: settle(event_type, claim) for name, settle in SETTLED.items()}
    return {name: frozenset({value}) for name, value in settled.items() if value is not OPEN}


def claims_on(
    event_type: EventType, claim_types: Iterable[ClaimType] = ClaimType
) -> list[ClaimType | None]:
    """What an event of a type that a rule with these claim types looks at can claim."""
    # An event that claims nothing isn't filtered by the type of its claim.
    if event_type not in CLAIMING:
        return [None]
    if event_type == "task_claimed_complete":
        return [claim for claim in claim_types if claim is not ClaimType.PROGRESS]
    return [None, *claim_types]


def _cases(condition: Condition, wanted: bool, domains: Domains) -> list[Case] | None:
    """The ways in which a condition comes out as wanted; None when there are too many to list."""
    kind, parts = parts_of(condition)
    if kind == "leaf":
        demand = SignedLeaf(read_leaf(condition, (), never_fails), wanted)
        return [(demand,)] if _possible((demand,), domains) else []
    if kind == "not":
        return _cases(parts[0], not wanted, domains)
    each = [_cases(part, wanted, domains) for part in parts]
    if (kind == "all") is wanted:
        cases: list[Case] | None = [()]
        for more in each:
            cases = _both(cases, more, domains)
        return cases
    listed = [cases for cases in each if cases is not None]
    if len(listed) < len(each):
        return None
    return _few([case for cases in listed for case in cases])


def _both(one: list[Case] | None, other: list[Case] | None, domains: Domains) -> list[Case] | None:
    if one == [] or other == []:
        return []
    if one is None or other is None or len(one) * len(other) > _MOST_CASES:
        return None
    joined = ((*a, *b) for a in one for b in other)
    return [case for case in joined if _possible(case, domains)]


def _few(cases: list[Case]) -> list[Case] | None:
    return cases if len(cases) <= _MOST_CASES else None


def _possible(case: Case, domains: Domains) -> bool:
    by_fact: dict[str, list[SignedLeaf]] = {}
    for demand in case:
        by_fact.setdefault(demand.leaf.fact.name, []).append(demand)
    return all(
        _meetable(demands[0].leaf.fact, demands, domains.get(name))
        for name, demands in by_fact.items()
    )


def _meetable(fact: Fact, demands: list[SignedLeaf], domain: Values | None) -> bool:
    values = _every_value(fact) if domain is None else domain
    if values is None:
        values = _telling_values(fact, demands)
    return any(all(demand.met_by(value) for demand in demands) for value in values)


def _every_value(fact: Fact) -> Values | None:
    if fact.type is FactType.BOOL:
        return frozenset({True, False})
    if fact.type is FactType.QUALITY:
        return frozenset(range(len(QUALITIES)))
    return None if fact.values is None else frozenset(fact.values)


def _telling_values(fact: Fact, demands: list[SignedLeaf]) -> Values:
    """Values of an endless type that show, if any can, that the demands can be met together."""
    named: set[Any] = set()
    for demand in demands:
        expected = demand.leaf.expected
        named |= expected if isinstance(expected, frozenset) else {expected}
    if fact.type is FactType.STR:
        within = [d.leaf.expected for d in demands if d.wanted and d.leaf.comparator == "contains"]
        # Beside those named: one with every text asked for within, and nothing else.
        return frozenset({*named, "\0".join(("", *within, ""))})
    # Numbers are counts and times: never less than nothing.
    near = {number + step for number in named for step in (-1, 0, 1)}
    return frozenset(number for number in {0, *near} if number >= 0)
