"""Tasks that stand still: stopped by a decision, or waiting for their operator.

A status that a block, an escalation or a review sets is not the agent's to change: it stays until the
operator decides, or another such decision takes its place. While a task waits for its operator nobody
asks the agent for reports.
"""

from lictor_policy.task.state import TaskState
from lictor_schema.decisions.decision import Disposition, SuggestedStatus
from lictor_schema.events.claim import TaskStatus
from lictor_schema.events.event import Event

_ESCALATED = Disposition.ESCALATE.value
_STOPPING = frozenset((Disposition.BLOCK, Disposition.ESCALATE, Disposition.REQUIRE_REVIEW))
_STOPPED = frozenset((SuggestedStatus.BLOCKED, SuggestedStatus.AWAITING_REVIEW))
_WAITING = frozenset((TaskStatus.WAITING_USER.value, TaskStatus.AWAITING_REVIEW.value))
# A decision about the words of a change of status leaves the change itself standing.
_STANDS = frozenset((Disposition.ALLOW, Disposition.ANNOTATE_PLACEHOLDER, Disposition.REWRITE))


def waits(state: TaskState) -> bool:
    """Whether it is the operator's turn, so that no report is due.

    An escalated task must still report. An agent that calls itself waiting is believed when the
    last thing its operator heard was a question.
    """
    if state.held_by:
        return state.held_by != _ESCALATED
    return state.operator_asked and state.status in _WAITING


def is_held_back(disposition: Disposition) -> bool:
    """Whether nobody sees a report that was decided on like this."""
    return disposition in _STOPPING


def keeps_status(
    state: TaskState, disposition: Disposition, suggested: SuggestedStatus | None
) -> bool:
    """Whether the status that a decision suggests is outranked by the one the task has."""
    if state.held_by:
        return not _stops(disposition, suggested)
    return suggested is SuggestedStatus.IN_PROGRESS and waits(state)


def is_operators(event: Event) -> bool:
    """Whether the event passes on a decision of the operator."""
    return event.event_type == "task_status_changed" and event.payload.decided_by is not None


def closing_status(state: TaskState, event: Event, disposition: Disposition) -> TaskStatus | None:
    """The status a task ends with when this decision on this event ends it."""
    if disposition is not Disposition.ALLOW:
        return None
    if event.event_type == "task_claimed_complete":
        return None if state.held_by else TaskStatus.COMPLETED
    if event.event_type != "task_status_changed":
        return None
    # A task that is given up also ends; else its timers would call for reports for ever.
    target = event.payload.to_status
    if target is TaskStatus.COMPLETED and state.held_by and not is_operators(event):
        return None
    return target if target.is_terminal else None


def with_status(
    state: TaskState, event: Event, disposition: Disposition, suggested: SuggestedStatus | None
) -> TaskState:
    """The status after a decision that doesn't end the task."""
    if suggested is not None and _stops(disposition, suggested):
        # Who already waits for the operator is not called on for reports by an escalation.
        kept = disposition is Disposition.ESCALATE and state.held_by
        return state.changed(
            status=suggested.value, held_by=state.held_by if kept else disposition.value
        )
    moved = event.payload.to_status.value if event.event_type == "task_status_changed" else None
    if moved is not None and is_operators(event) and disposition in _STANDS:
        return state.changed(status=moved, held_by="")
    if suggested is not None:
        status = state.status if keeps_status(state, disposition, suggested) else suggested.value
    elif moved is None or state.held_by or disposition is Disposition.BLOCK:
        return state
    else:
        status = moved
    if status == state.status:
        return state
    return state.changed(status=status, operator_asked=state.operator_asked and status in _WAITING)


def _stops(disposition: Disposition, suggested: SuggestedStatus | None) -> bool:
    return disposition in _STOPPING and suggested in _STOPPED
