"""Evidence requirements that a rule states and that can have no effect."""

from collections.abc import Iterator, Sequence

from lictor_policy.conditions.condition_text import leaves_of
from lictor_policy.conditions.evidence_requirements import (
    Claimed,
    Need,
    asks_requirements,
    needs_of,
)
from lictor_policy.conditions.facts import REQUIREMENTS_MET
from lictor_policy.conditions.partial_evaluation import CLAIMING
from lictor_policy.conditions.satisfiability import claims_on
from lictor_policy.packs.strict_yaml import Path
from lictor_policy.task.state import QUALITIES
from lictor_schema.events.claim import ClaimType
from lictor_schema.events.event_types import EventType
from lictor_schema.events.evidence import Quality
from lictor_schema.packs.pack import Condition, Rule

_REPORTS: frozenset[EventType] = frozenset(("task_checkpoint_sent", "forced_operator_update"))
_AT = "evidence_requirements"


def idle_requirements(rule: Rule, event_types: Sequence[EventType]) -> Iterator[tuple[Path, str]]:
    """Where a rule states evidence that nothing depends on, and what to do about it."""
    stated = rule.evidence_requirements
    needs = needs_of(stated)
    held_to = set(_claimed(rule, event_types))
    asks = asks_requirements(rule.conditions)
    if asks and not any(needs.values()):
        yield (
            ("conditions",),
            f"{REQUIREMENTS_MET} is always true, because the rule states no evidence_requirements;"
            " state some, or leave the fact out",
        )
    kinds: tuple[Claimed, ...] = ("progress", "completion", "verified_completion")
    for kind in kinds:
        if getattr(stated, kind) is None or not needs[kind]:
            continue
        if not _is_met_by(kind, held_to, verified=stated.verified_completion is not None):
            yield (
                (_AT, kind),
                "no event that the rule looks at makes such a claim; leave it out, or correct the"
                " triggers",
            )
        elif _claims(held_to) and not asks and not _compared(rule.conditions, needs[kind]):
            yield (
                (_AT, kind),
                f"is told in the record, and no condition depends on it; ask {REQUIREMENTS_MET}, or"
                " leave it out",
            )
    if stated.must_reference_evidence_classes and _claims(held_to) and not asks:
        yield (
            (_AT, "must_reference_evidence_classes"),
            f"is told in the record, and no condition depends on it; ask {REQUIREMENTS_MET}, or leave"
            " it out",
        )
    notice = rule.decision_output.operator_notice
    if stated.must_reference_event_types and (notice is None or not notice.has_text):
        yield (
            (_AT, "must_reference_event_types"),
            "the rule sends its operator no text that could name them; give it an operator_notice"
            " that is required, or leave it out",
        )


def _claimed(rule: Rule, event_types: Sequence[EventType]) -> Iterator[Claimed]:
    """What the events that a rule looks at can claim."""
    for event_type in event_types:
        # A report may mention something finished whatever it claims, a change of status may be one to completed.
        if event_type == "task_status_changed":
            yield "completion"
        elif event_type in _REPORTS or event_type == "operator_review_requested":
            yield "progress"
        for claim in claims_on(event_type, rule.triggers.claim_types or ClaimType):
            if claim is not None:
                yield claim.value
            elif event_type not in CLAIMING | _REPORTS:
                yield "nothing"


def _claims(held_to: set[Claimed]) -> bool:
    return held_to != {"nothing"}


def _is_met_by(kind: Claimed, held_to: set[Claimed], *, verified: bool) -> bool:
    """Whether some event is held to a requirement; of one that claims nothing, the report that it calls for is."""
    if kind in held_to or (kind == "progress" and "nothing" in held_to):
        return True
    return kind == "completion" and not verified and "verified_completion" in held_to


def _compared(condition: Condition, needs: tuple[Need, ...]) -> bool:
    """Whether conditions ask by themselves for exactly what is needed."""
    asked: set[tuple[object, ...]] = {
        (leaf.fact, *comparison)
        for leaf in leaves_of(condition)
        for comparison in leaf.comparisons()
    }
    return all(_is_compared(need, asked) for need in needs)


def _is_compared(need: Need, asked: set[tuple[object, ...]]) -> bool:
    quality = QUALITIES[need.floor].value
    match need.what:
        case "new":
            few = "evidence.new_items_since_last_checkpoint"
            counted = (few, "less_than", need.items) in asked or (
                need.items == 1 and (few, "equals", 0) in asked
            )
            # What is counted as new is at least weak.
            weak = need.floor <= Quality.WEAK.rank
            best = ("evidence.new_best_quality", "less_than", quality) in asked
            return (counted or not need.items) and (weak or best)
        case "any":
            return False
        case _:
            return ("evidence.completion_min_quality", "less_than", quality) in asked
