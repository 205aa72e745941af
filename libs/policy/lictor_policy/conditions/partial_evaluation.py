"""What is settled before an event is read: by its type and by what it claims.

A report without a claim asserts no completion, a timer's event answers no checkpoint question. Conditions are
reduced by that once, at load: an event is shown only to rules that it can still make fire, and asked only what is open.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from lictor_policy.conditions.compiled_condition import read_leaf
from lictor_policy.conditions.facts import FACTS
from lictor_policy.conditions.temporal_conditions import ask
from lictor_policy.errors import PackError
from lictor_policy.packs.strict_yaml import Path
from lictor_schema.events.claim import COMPLETION_CLAIMS, ClaimType
from lictor_schema.events.event_types import EventType
from lictor_schema.packs.pack import Condition

OPEN = object()
"""The event itself, or the task, must be asked."""

CLAIMING: frozenset[EventType] = frozenset(
    (
        "task_checkpoint_sent",
        "task_status_changed",
        "task_claimed_complete",
        "operator_review_requested",
    )
)
"""The events that can claim something."""

_Settle = Callable[[EventType, ClaimType | None], Any]


def _unless(otherwise: Any, *event_types: EventType) -> _Settle:
    return lambda event_type, _claim: OPEN if event_type in event_types else otherwise


def _bears_progress(event_type: EventType, claim: ClaimType | None) -> Any:
    return True if claim is ClaimType.PROGRESS else _unless(False, *_REPORTS)(event_type, claim)


_REPORTS: tuple[EventType, ...] = ("task_checkpoint_sent", "forced_operator_update")
SETTLED: dict[str, _Settle] = {
    "claim.type": lambda _event_type, claim: "" if claim is None else claim.value,
    "claim.completion_asserted": lambda _event_type, claim: claim in COMPLETION_CLAIMS,
    "claim.is_progress_bearing": _bears_progress,
    "claim.announces_next_step": lambda _event_type, claim: False if claim is None else OPEN,
    "claim.next_step_has_supporting_evidence": (
        lambda _event_type, claim: True if claim is None else OPEN
    ),
    "claim.makes_promise": _unless(False, "task_checkpoint_sent"),
    "message.has_required_checkpoint_fields": _unless(False, *_REPORTS),
    "message.current_status_present": _unless(False, *_REPORTS),
    "message.completed_this_segment_present": _unless(False, *_REPORTS),
    "message.next_step_present": _unless(False, *_REPORTS),
    "message.next_report_condition_present": _unless(False, *_REPORTS),
    "message.operator_intervention_needed_present": _unless(False, *_REPORTS),
    "message.checkpoint_fields_given": _unless(0, *_REPORTS),
    "message.reminder_only": _unless(False, "task_checkpoint_sent"),
    "status.target": _unless("", "task_status_changed"),
    "status.decided_by_operator": _unless(False, "task_status_changed"),
    "forwarding.is_placeholder": _unless(False, "subagent_result_forwarded"),
}
"""The facts that an event's type and claim may settle."""


def reduced(
    condition: Condition, event_type: EventType, claim: ClaimType | None
) -> Condition | bool:
    """What is left of a condition; the same condition when nothing is settled."""
    if condition.all_of is not None:
        return _group(condition, "all_of", condition.all_of, False, event_type, claim)
    if condition.any_of is not None:
        return _group(condition, "any_of", condition.any_of, True, event_type, claim)
    if condition.negated is not None:
        inner = reduced(condition.negated, event_type, claim)
        if isinstance(inner, bool):
            return not inner
        changed = inner is not condition.negated
        return condition.model_copy(update={"negated": inner}) if changed else condition
    return _leaf(condition, event_type, claim)


def _leaf(condition: Condition, event_type: EventType, claim: ClaimType | None) -> Condition | bool:
    name = condition.fact
    if name not in SETTLED or ask(condition, (), _checked_before) is not None:
        return condition
    value = SETTLED[name](event_type, claim)
    if value is OPEN:
        return condition

    def compute(*_at: object) -> Any:
        return value

    fact = replace(FACTS[name], compute=compute)
    holds: Callable[..., bool] = read_leaf(condition, (), _checked_before, facts={name: fact}).holds
    return bool(holds(None, None, None))


def _group(
    condition: Condition,
    name: str,
    parts: tuple[Condition, ...],
    decisive: bool,
    event_type: EventType,
    claim: ClaimType | None,
) -> Condition | bool:
    """`all` is decided by one part that fails, `any` by one that holds; the others don't count."""
    left: list[Condition] = []
    for part in parts:
        rest = reduced(part, event_type, claim)
        if rest is decisive:
            return decisive
        if not isinstance(rest, bool):
            left.append(rest)
    if not left:
        return not decisive
    same = len(left) == len(parts) and all(a is b for a, b in zip(left, parts, strict=True))
    return condition if same else condition.model_copy(update={name: tuple(left)})


def _checked_before(path: Path, problem: str) -> PackError:
    """Rules are compiled whole before they are reduced, so nothing is found here."""
    return PackError(f"{path}: {problem}")
