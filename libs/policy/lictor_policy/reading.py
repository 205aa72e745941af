"""What an event says, whatever its type: its claim, its message, its checkpoint answers.

By type, not by asking the payload: a model takes microseconds to say that it has no such field.
"""

from lictor_schema.claims import CheckpointStructure, Claim, ClaimType
from lictor_schema.events import Event

_COMPLETIONS = (ClaimType.COMPLETION, ClaimType.VERIFIED_COMPLETION)


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
    if event.event_type == "task_claimed_complete" and claim.type not in _COMPLETIONS:
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
    """Whether the operator saw a report with this event."""
    match event.event_type:
        case "task_checkpoint_sent" | "forced_operator_update":
            return event.payload.operator_visible
        case _:
            return False
