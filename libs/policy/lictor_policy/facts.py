"""The facts that conditions may ask about, and the signals that rules may be triggered by.

A fact is a pure function of the task's state, the event and its position. The state already
counts the event: evidence it attaches is attached, an update it makes was seen, a checkpoint it
reports as unmet is missed. Only what is counted since the last checkpoint still looks back past
a checkpoint that is being judged.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, get_args

from lictor_policy.names import nearest
from lictor_policy.position import EventPosition
from lictor_policy.reading import claim_of, claim_type_of, structure_of
from lictor_policy.state import TaskState
from lictor_schema.claims import ClaimType, TaskStatus
from lictor_schema.event_types import EventType
from lictor_schema.events import Event
from lictor_schema.payloads import TaskMode, WorkflowShape

Predicate = Callable[[TaskState, Event, EventPosition], bool]


class FactType(StrEnum):
    """What a fact's value is, which fixes how it can be compared."""

    BOOL = "bool"
    INT = "int"
    QUALITY = "quality"
    """Computed as a rank."""
    DURATION = "duration"
    """Computed as microseconds."""
    STR = "str"


@dataclass(frozen=True, slots=True)
class Fact:
    """A named, typed question about a task at an event."""

    name: str
    type: FactType
    meaning: str
    compute: Callable[[TaskState, Event, EventPosition], Any]
    values: tuple[str, ...] | None = None
    """Every text the fact can be, where that is known; comparing with another is a mistake."""


@dataclass(frozen=True, slots=True)
class Signal:
    """A derived trigger: raised by events of some types when a predicate holds."""

    name: str
    meaning: str
    event_types: tuple[EventType, ...]
    holds: Predicate


def is_overdue(state: TaskState, event: Event, position: EventPosition) -> bool:  # noqa: ARG001 -- the shape of a fact
    """Whether a report is owed and late."""
    if state.closed:
        return False
    if state.missed_in_a_row or state.silences_in_a_row:
        return True
    if state.checkpoint_due_us is None and state.silence_due_us is None:
        return False
    now = position.stored_us
    return any(
        due is not None and due <= now for due in (state.checkpoint_due_us, state.silence_due_us)
    )


def _asserts_completion(event: Event) -> bool:
    return claim_type_of(event) in (ClaimType.COMPLETION, ClaimType.VERIFIED_COMPLETION)


def _bears_progress(event: Event) -> bool:
    structure = structure_of(event)
    return claim_type_of(event) is ClaimType.PROGRESS or (
        structure is not None and _says_something(structure.completed_this_segment)
    )


def _announces_next_step(event: Event) -> bool:
    claim = claim_of(event)
    return claim is not None and _says_something(claim.next_step)


def _says_something(text: str | None) -> bool:
    return text is not None and not text.isspace() and text != ""


def _target_status(event: Event) -> str:
    return event.payload.to_status.value if event.event_type == "task_status_changed" else ""


_STRUCTURE = (
    ("current_status", "where the task stands"),
    ("completed_this_segment", "what was finished"),
    ("next_step", "what happens next"),
    ("next_report_condition", "when the next report follows"),
    ("operator_intervention_needed", "whether the operator must act"),
)


def _has_answer(event: Event, field: str) -> bool:
    structure = structure_of(event)
    return structure is not None and _says_something(getattr(structure, field))


def _answers(field: str, what: str) -> Fact:
    return Fact(
        f"message.{field}_present",
        FactType.BOOL,
        f"The report says {what}",
        lambda _state, event, _position: _has_answer(event, field),
    )


def _statuses() -> tuple[str, ...]:
    return tuple(status.value for status in TaskStatus)


_ALL = (
    Fact(
        "checkpoint.is_overdue",
        FactType.BOOL,
        "A checkpoint fell due or the silence window ran out, and no visible update met it",
        is_overdue,
    ),
    Fact(
        "checkpoint.operator_visible_update_sent",
        FactType.BOOL,
        "The operator saw an update since the last missed checkpoint, or since the start",
        lambda state, _event, _position: state.update_seen,
    ),
    Fact(
        "checkpoint.externalized_path_valid",
        FactType.BOOL,
        "The task named, in all five parts, how it will be heard of without anyone asking",
        lambda state, _event, _position: state.externalized_path_valid,
    ),
    Fact(
        "checkpoint.missed_in_a_row",
        FactType.INT,
        "Checkpoints that fell due unmet since the last visible update, this one included",
        lambda state, _event, _position: state.missed_in_a_row,
    ),
    Fact(
        "checkpoint.silences_in_a_row",
        FactType.INT,
        "Silence windows that ran out since the last visible update, this one included",
        lambda state, _event, _position: state.silences_in_a_row,
    ),
    Fact(
        "evidence.new_items_since_last_checkpoint",
        FactType.INT,
        "Evidence items attached since the last checkpoint that was sent",
        lambda state, _event, _position: state.new_items,
    ),
    Fact(
        "evidence.best_quality",
        FactType.QUALITY,
        "The strongest evidence attached to the task, whatever it supports",
        lambda state, _event, _position: state.best_quality,
    ),
    Fact(
        "evidence.completion_min_quality",
        FactType.QUALITY,
        "The strongest evidence attached that is offered for a completion",
        lambda state, _event, _position: state.completion_quality,
    ),
    Fact(
        "claim.type",
        FactType.STR,
        "What the event claims; empty when it claims nothing",
        lambda _state, event, _position: claim_type_of(event) or "",
        ("", *(claim.value for claim in ClaimType)),
    ),
    Fact(
        "claim.is_progress_bearing",
        FactType.BOOL,
        "The event claims progress, or reports something as finished",
        lambda _state, event, _position: _bears_progress(event),
    ),
    Fact(
        "claim.completion_asserted",
        FactType.BOOL,
        "The event claims that the task is complete, verified or not",
        lambda _state, event, _position: _asserts_completion(event),
    ),
    Fact(
        "claim.announces_next_step",
        FactType.BOOL,
        "The claim announces a further step",
        lambda _state, event, _position: _announces_next_step(event),
    ),
    Fact(
        "claim.next_step_has_supporting_evidence",
        FactType.BOOL,
        "No next step is announced, or evidence since the last checkpoint backs it",
        lambda state, event, _position: state.next_step_backed or not _announces_next_step(event),
    ),
    Fact(
        "message.has_required_checkpoint_fields",
        FactType.BOOL,
        "The report gives all five checkpoint answers",
        lambda _state, event, _position: all(_has_answer(event, field) for field, _ in _STRUCTURE),
    ),
    *(_answers(field, what) for field, what in _STRUCTURE),
    Fact(
        "status.target",
        FactType.STR,
        "The status the event moves the task to; empty when it moves none",
        lambda _state, event, _position: _target_status(event),
        ("", *_statuses()),
    ),
    Fact(
        "task.status",
        FactType.STR,
        "The status of the task before the event",
        lambda state, _event, _position: state.status,
        _statuses(),
    ),
    Fact(
        "task.mode",
        FactType.STR,
        "Whether the agent reports by itself as it works (interactive) or not (silent)",
        lambda state, _event, _position: state.mode,
        get_args(TaskMode),
    ),
    Fact(
        "task.workflow_shape",
        FactType.STR,
        "Whether the task dispatches children",
        lambda state, _event, _position: state.workflow_shape,
        get_args(WorkflowShape),
    ),
    Fact(
        "task.channel",
        FactType.STR,
        "The channel the operator is reported to",
        lambda state, _event, _position: state.channel,
    ),
    Fact(
        "task.has_report_anchor",
        FactType.BOOL,
        "The task said at its start where its reports are owed",
        lambda state, _event, _position: state.has_report_anchor,
    ),
    Fact(
        "task.is_closed",
        FactType.BOOL,
        "The task was closed before the event",
        lambda state, _event, _position: state.closed,
    ),
)

FACTS: dict[str, Fact] = {fact.name: fact for fact in _ALL}

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
            lambda _state, event, _position: _bears_progress(event),
        ),
    )
}


def unknown_name(kind: str, name: str, known: Mapping[str, Any]) -> str:
    """What to say about a name that isn't known: the nearest that is."""
    return f"unknown {kind} {name}; {nearest(name, known)}"
