"""On which events a rule can fire, and whether one rule fires whenever another does; decided without any state.

"Never" and "whenever" are certain, as far as `satisfiability` is; the other answers are not.
"""

from lictor_policy.conditions.satisfiability import can_hold, claims_on, facts_on
from lictor_policy.rules.signals import SIGNALS
from lictor_schema.events.claim import ClaimType
from lictor_schema.events.event_types import EventType
from lictor_schema.packs.pack import Rule


def event_types_of(rule: Rule) -> list[EventType]:
    """The types of the events that a rule looks at."""
    named: dict[EventType, None] = dict.fromkeys(rule.triggers.event_types)
    for name in rule.triggers.derived_signals:
        if name in SIGNALS:
            named.update(dict.fromkeys(SIGNALS[name].event_types))
    return list(named)


def can_fire(rule: Rule, event_type: EventType) -> bool:
    """Whether a rule can fire on an event of a type at all."""
    return any(
        can_hold([(rule.conditions, True)], facts_on(event_type, claim))
        for claim in claims_on(event_type, rule.triggers.claim_types or ClaimType)
    )


def fires_whenever(rule: Rule, other: Rule) -> bool:
    """Whether a rule fires on everything that the other fires on; false when the other never does."""
    named = (*rule.triggers.derived_signals, *other.triggers.derived_signals)
    if any(name not in SIGNALS for name in named):
        return False
    types = event_types_of(other)
    claims = set(other.triggers.claim_types or ClaimType)
    if rule.triggers != other.triggers:
        # A signal narrows a trigger by more than the conditions say.
        if not set(types) <= set(rule.triggers.event_types):
            return False
        if not claims <= set(rule.triggers.claim_types or ClaimType):
            return False
    fires: list[EventType] = [each for each in types if can_fire(other, each)]
    return bool(fires) and not any(
        can_hold([(other.conditions, True), (rule.conditions, False)], facts_on(event_type, claim))
        for event_type in fires
        for claim in claims_on(event_type, claims)
    )
