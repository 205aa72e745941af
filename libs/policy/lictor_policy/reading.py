"""What an event says, whatever its type: its claim, its message, its checkpoint answers.

By type, not by asking the payload: a model takes microseconds to say that it has no such field.
"""

from functools import lru_cache

from lictor_policy.own_words import has_words, visible
from lictor_schema.claims import COMPLETION_CLAIMS, CheckpointStructure, Claim, ClaimType
from lictor_schema.events import Event


def claim_of(event: Event) -> Claim | None:
    """The claim the event makes, if its type can make one and it does."""
    match event.event_type:
        case (
            "task_checkpoint_sent"
            | "task_status_changed"
            | "task_claimed_complete"
            | "operator_review_requested"
        ):
            return event.payload.claim
        case _:
            return None


def claim_type_of(event: Event) -> ClaimType | None:
    """How much the event claims. Whoever claims completion claims no less, however labelled."""
    claim = claim_of(event)
    if claim is None:
        return None
    if event.event_type == "task_claimed_complete" and claim.type not in COMPLETION_CLAIMS:
        return ClaimType.COMPLETION
    return claim.type


def message_of(event: Event) -> str | None:
    """The text meant for the operator, if the event carries one."""
    match event.event_type:
        case (
            "task_checkpoint_sent"
            | "task_claimed_complete"
            | "subagent_result_forwarded"
            | "forced_operator_update"
        ):
            return event.payload.message
        case _:
            return None


def structure_of(event: Event) -> CheckpointStructure | None:
    """The five checkpoint answers, where given."""
    match event.event_type:
        case "task_checkpoint_sent" | "forced_operator_update":
            return event.payload.structure
        case _:
            return None


def is_visible_update(event: Event) -> bool:
    """Whether the operator saw something of the task with this event."""
    match event.event_type:
        case "task_checkpoint_sent" | "forced_operator_update" | "subagent_result_forwarded":
            return event.payload.operator_visible
        case _:
            return False


# What people write into a field that must not be empty when they have nothing to say.
_PLACEHOLDERS = frozenset(("n/a", "na", "tbd", "tba", "todo", "unknown", "unclear"))
_NOTHING = _PLACEHOLDERS.union(
    (
        "none",
        "nothing",
        "nothing yet",
        "nothing new",
        "no",
        "no change",
        "no changes",
        "no progress",
    )
)


_PLACEHOLDERS_OR_EMPTY = _PLACEHOLDERS | {""}
_NOTHING_OR_EMPTY = _NOTHING | {""}
_SHORT = 200


def says_something(text: str | None) -> bool:
    """Whether a text is an answer that can be read, and not only a filled-in field."""
    return bool(text) and _sense(text) not in _PLACEHOLDERS_OR_EMPTY


def says_nothing(text: str | None) -> bool:
    """Whether a text is no answer, or answers that there is nothing."""
    return not text or _sense(text) in _NOTHING_OR_EMPTY


def _sense(text: str) -> str:
    """What is left of a text to compare; empty when there is no word in it."""
    return _short_sense(text) if len(text) <= _SHORT else _long_sense(text)


def _long_sense(text: str) -> str:
    return visible(text).lower().rstrip(".!") if has_words(text) else ""


# Rules ask for the same answers several times an event, and agents give the same ones again and again.
_short_sense = lru_cache(maxsize=4096)(_long_sense)


def asks_operator(event: Event) -> bool:
    """Whether a report says that the operator must act."""
    structure = structure_of(event)
    return structure is not None and not says_nothing(structure.operator_intervention_needed)


CHECKPOINT_ANSWERS = {
    "current_status": "where the task stands",
    "completed_this_segment": "what was finished",
    "next_step": "what happens next",
    "next_report_condition": "when the next report follows",
    "operator_intervention_needed": "whether the operator must act",
}
"""The five answers every report owes, and what each says."""


def answers_given(event: Event) -> tuple[str, ...]:
    """Those of the five checkpoint answers that the event gives."""
    structure = structure_of(event)
    if structure is None:
        return ()
    return tuple(name for name in CHECKPOINT_ANSWERS if says_something(getattr(structure, name)))
