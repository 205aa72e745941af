"""The derived signals that rules may be triggered by."""

from dataclasses import dataclass

from lictor_policy.conditions.facts import Predicate, bears_progress, is_overdue
from lictor_policy.conditions.obligation_facts import due_promise, overdue
from lictor_schema.events.event import Event
from lictor_schema.events.event_types import EventType


@dataclass(frozen=True, slots=True)
class Signal:
    """A derived trigger: raised by events of some types when a predicate holds."""

    name: str
    meaning: str
    event_types: tuple[EventType, ...]
    holds: Predicate


def _watches(event: Event, condition: str) -> bool:
    return event.event_type == "watchdog_fired" and event.payload.condition == condition


def _tells_failure(event: Event) -> bool:
    return event.event_type == "subagent_spawn_failed" or (
        event.event_type == "subagent_completed" and event.payload.outcome == "failure"
    )


SIGNALS: dict[str, Signal] = {
    signal.name: signal
    for signal in (
        Signal(
            "checkpoint_overdue",
            "A timer or a watch reports that a visible update is overdue",
            ("task_checkpoint_due", "silence_timeout", "watchdog_fired"),
            is_overdue,
        ),
        Signal(
            "checkpoint_progress_claim",
            "A report claims progress",
            ("task_checkpoint_sent", "task_status_changed", "forced_operator_update"),
            lambda _state, event, _position: bears_progress(event),
        ),
        Signal(
            "promised_followup_due",
            "A timer or a watch reports that a promised follow-up is due",
            ("watchdog_fired",),
            lambda state, event, position: (
                _watches(event, "promised_followup_due")
                and due_promise(state, event, position) is not None
            ),
        ),
        Signal(
            "subagent_overdue",
            "A timer or a watch reports that a child is late",
            ("watchdog_fired",),
            lambda state, event, position: (
                _watches(event, "subagent_overdue") and overdue(state.runs, position) > 0
            ),
        ),
        Signal(
            "subagent_failed",
            "A child failed, or could not be dispatched",
            ("subagent_spawn_failed", "subagent_completed"),
            lambda _state, event, _position: _tells_failure(event),
        ),
    )
}
