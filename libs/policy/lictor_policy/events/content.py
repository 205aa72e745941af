"""What an event says, whatever its type: its claim, its message, its checkpoint answers.

By type, not by asking the payload: a model takes microseconds to say that it has no such field.
"""

from lictor_schema.core.placeholders import is_answer, names_something, says_not_yet, says_nothing
from lictor_schema.events.claim import COMPLETION_CLAIMS, CheckpointStructure, Claim, ClaimType
from lictor_schema.events.event import Event
from lictor_schema.events.operator_context import ReportAnchor


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
    """How much the event claims. A claim of completion claims no less, however labelled."""
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


def has_anchor(anchor: ReportAnchor | None) -> bool:
    """Whether it is said where reports are due, and not only filled in."""
    return anchor is not None and names_something(anchor.channel) and names_something(anchor.target)


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
"""The five answers every report must give, and what each says."""
_MAY_BE_NOTHING_YET = ("completed_this_segment", "operator_intervention_needed")


def answers(name: str, text: str | None) -> bool:
    """Whether a text answers one of the five questions; that there is nothing yet answers only some."""
    return is_answer(text) and (name in _MAY_BE_NOTHING_YET or not says_not_yet(text))


def answers_given(event: Event) -> tuple[str, ...]:
    """Those of the five checkpoint answers that the event gives."""
    structure = structure_of(event)
    if structure is None:
        return ()
    return tuple(name for name in CHECKPOINT_ANSWERS if answers(name, getattr(structure, name)))
