"""What is true about a task's promises and children at an event: the answers behind the facts.

Each takes what a fact takes; the state already counts the event.
"""

from lictor_policy.events.content import has_anchor
from lictor_policy.events.position import EventPosition
from lictor_policy.task.obligations import Owed, find, read_owed, was_shown
from lictor_policy.task.state import TaskState
from lictor_schema.events.event import Event


def due_promise(state: TaskState, event: Event, position: EventPosition) -> Owed | None:
    """The promise that should have been kept by now, the earliest if there are more."""
    if not state.promises:
        return None
    now = position.stored_us
    makes_one = event.event_type == "task_checkpoint_sent"
    due = [
        owed
        for owed in map(read_owed, state.promises)
        if _is_overdue(owed, now) and not (makes_one and owed.stored_us == now)
    ]
    return min(due, key=lambda owed: owed.due_us, default=None)


def _is_overdue(owed: Owed, now: int) -> bool:
    # What was reported is overdue: the reporter may be a moment ahead of the broker's clock.
    return owed.told > 0 or owed.due_us <= now


def promise_seen(state: TaskState, event: Event, position: EventPosition) -> bool:
    """Whether the operator saw a report since the promise that is due was made."""
    promise = due_promise(state, event, position)
    return promise is not None and state.last_report_us > promise.stored_us


def promise_has_evidence(state: TaskState, event: Event, position: EventPosition) -> bool:
    """Whether evidence came in since the promise that is due was made; yes when none is due."""
    promise = due_promise(state, event, position)
    return promise is None or state.items_total > promise.items


def makes_promise(event: Event) -> bool:
    """Whether the event promises a further report."""
    return (
        event.event_type == "task_checkpoint_sent" and event.payload.promised_followup is not None
    )


def result_without_followup(state: TaskState) -> bool:
    """Whether a child's result waits that the operator has seen neither itself nor a report since."""
    if state.results_untracked and state.untracked_after == state.reports:
        return True
    return any(read_owed(note).after == state.reports for note in state.results)


def unforwarded_results(state: TaskState) -> int:
    """How many children's results the operator has not been shown."""
    return len(state.results) + state.results_untracked


def untracked(state: TaskState) -> int:
    """How many obligations there are beyond those that are watched one by one."""
    return state.results_untracked + state.runs_untracked + state.promises_untracked


def named_run(event: Event) -> str | None:
    """The child run that an event is about."""
    match event.event_type:
        case (
            "subagent_spawned"
            | "subagent_spawn_failed"
            | "subagent_completed"
            | "subagent_result_forwarded"
            | "subagent_result_not_forwarded"
            | "watchdog_fired"
            | "report_anchor_missing"
        ):
            return event.payload.run_id
        case _:
            return None


def names_unforwarded(state: TaskState, event: Event) -> bool:
    """Whether the result of the run that the event is about waits to be shown."""
    run = named_run(event)
    if run is None or was_shown(state.forwarded, run):
        return False
    return state.results_untracked > 0 or find(state.results, run) is not None


def overdue(notes: tuple[str, ...], position: EventPosition) -> int:
    """How many obligations are overdue."""
    return sum(_is_overdue(read_owed(note), position.stored_us) for note in notes)


def unreported_failures(state: TaskState) -> int:
    """Children that failed, or could not be dispatched, without a report since."""
    if not state.results:
        return state.spawn_failures
    results = map(read_owed, state.results)
    now = state.reports
    return state.spawn_failures + sum(each.failed and each.after == now for each in results)


def dispatch_anchored(state: TaskState, event: Event) -> bool:
    """Whether what the event dispatches, a child or the task itself, has a report anchor."""
    if event.event_type == "subagent_spawned":
        return has_anchor(event.payload.report_anchor)
    return event.event_type != "report_anchor_missing" and state.has_report_anchor
