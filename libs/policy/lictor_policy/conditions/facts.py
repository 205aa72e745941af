"""The facts that conditions may ask about.

A fact is a pure function of the task's state, the event and its position. The state already
counts the event: evidence it attaches is attached, an update it makes was seen, a checkpoint it
reports as unmet is missed. Only what is counted since the last checkpoint still looks back past
a checkpoint that is being judged.
"""

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, get_args

from lictor_policy.conditions.obligation_facts import (
    dispatch_anchored,
    due_promise,
    makes_promise,
    names_unforwarded,
    overdue,
    promise_has_evidence,
    promise_seen,
    result_without_followup,
    unforwarded_results,
    unreported_failures,
    untracked,
)
from lictor_policy.errors import nearest
from lictor_policy.events.content import (
    CHECKPOINT_ANSWERS,
    answers,
    answers_given,
    claim_of,
    claim_type_of,
    structure_of,
)
from lictor_policy.events.position import EventPosition
from lictor_policy.task.holds import is_operators, waits
from lictor_policy.task.state import TaskState
from lictor_schema.core.placeholders import says_nothing
from lictor_schema.events.claim import COMPLETION_CLAIMS, ClaimType, TaskStatus
from lictor_schema.events.event import Event
from lictor_schema.events.payloads import TaskMode, WorkflowShape

# Named here: finding a member of an enumeration takes longer than comparing it.
_PROGRESS = ClaimType.PROGRESS

Predicate = Callable[[TaskState, Event, EventPosition], bool]

REQUIREMENTS_MET = "evidence.requirements_met"
"""The one fact that is about the rule that asks it (see `evidence_requirements`)."""


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


def is_overdue(state: TaskState, event: Event, position: EventPosition) -> bool:  # noqa: ARG001 -- the shape of a fact
    """Whether a report is due and late."""
    if state.closed or waits(state):
        return False
    if state.missed_in_a_row or state.silences_in_a_row:
        return True
    now = position.stored_us
    due, silent = state.checkpoint_due_us, state.silence_due_us
    return (due is not None and due <= now) or (silent is not None and silent <= now)


def _asserts_completion(event: Event) -> bool:
    return claim_type_of(event) in COMPLETION_CLAIMS


def bears_progress(event: Event) -> bool:
    """Whether the event claims progress, or reports something as finished."""
    if claim_type_of(event) is _PROGRESS:
        return True
    structure = structure_of(event)
    return structure is not None and not says_nothing(structure.completed_this_segment)


def _announces_next_step(event: Event) -> bool:
    claim = claim_of(event)
    return claim is not None and not says_nothing(claim.next_step)


def _is_reminder_only(event: Event) -> bool:
    return event.event_type == "task_checkpoint_sent" and event.payload.reminder_only


def _is_placeholder(event: Event) -> bool:
    return (
        event.event_type == "subagent_result_forwarded"
        and event.payload.presentation == "placeholder"
    )


def _target_status(event: Event) -> str:
    return event.payload.to_status.value if event.event_type == "task_status_changed" else ""


def _answers(field: str, what: str) -> Fact:
    answer: Callable[[Any], str | None] = operator.attrgetter(field)

    def is_given(_state: TaskState, event: Event, _position: EventPosition) -> bool:
        structure = structure_of(event)
        return structure is not None and answers(field, answer(structure))

    return Fact(f"message.{field}_present", FactType.BOOL, f"The report says {what}", is_given)


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
        "checkpoint.newly_missed",
        FactType.BOOL,
        "The event is the first to tell of a missed checkpoint or of a silence",
        lambda state, event, _position: event.event_id in state.miss_event_ids,
    ),
    Fact(
        "evidence.new_items_since_last_checkpoint",
        FactType.INT,
        "Items of at least weak evidence that show a new artefact, since the last checkpoint sent",
        lambda state, _event, _position: state.new_items,
    ),
    Fact(
        "evidence.new_best_quality",
        FactType.QUALITY,
        "The strongest of the items attached since the last checkpoint sent",
        lambda state, _event, _position: state.new_best,
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
        REQUIREMENTS_MET,
        FactType.BOOL,
        "The evidence that the rule's evidence_requirements state for such a claim is there",
        # Of a rule that states none; the others carry theirs in the name of the fact.
        lambda _state, _event, _position: True,
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
        lambda _state, event, _position: bears_progress(event),
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
        "claim.makes_promise",
        FactType.BOOL,
        "The event promises a further report by a time",
        lambda _state, event, _position: makes_promise(event),
    ),
    Fact(
        "claim.promised_followup_open",
        FactType.BOOL,
        "A further report was promised and has not come with evidence yet",
        lambda state, _event, _position: bool(state.promises),
    ),
    Fact(
        "claim.promised_followup_due",
        FactType.BOOL,
        "A promised report should be there by now, and has not come with evidence",
        lambda state, event, position: due_promise(state, event, position) is not None,
    ),
    Fact(
        "claim.promised_followup_seen",
        FactType.BOOL,
        "The operator saw some report since the promise that is now due",
        promise_seen,
    ),
    Fact(
        "claim.promised_followup_has_evidence",
        FactType.BOOL,
        "Evidence came in since the promise that is now due, or none is due",
        promise_has_evidence,
    ),
    Fact(
        "forwarding.result_available_without_visible_followup",
        FactType.BOOL,
        "A child's result is there; the operator has seen neither it nor a report since it came",
        lambda state, _event, _position: result_without_followup(state),
    ),
    Fact(
        "forwarding.unforwarded_results",
        FactType.INT,
        "Children's results that were not passed on to the operator visibly and as themselves",
        lambda state, _event, _position: unforwarded_results(state),
    ),
    Fact(
        "forwarding.overdue_results",
        FactType.INT,
        "Children's results that the operator should have seen by now",
        lambda state, _event, position: overdue(state.results, position),
    ),
    Fact(
        "forwarding.named_result_unforwarded",
        FactType.BOOL,
        "The result of the child that the event is about has not reached the operator",
        lambda state, event, _position: names_unforwarded(state, event),
    ),
    Fact(
        "forwarding.is_placeholder",
        FactType.BOOL,
        "The event passes on a stand-in, not the child's result",
        lambda _state, event, _position: _is_placeholder(event),
    ),
    Fact(
        "subagents.unreported_failures",
        FactType.INT,
        "Children that failed or could not start, and the operator has seen no report since",
        lambda state, _event, _position: unreported_failures(state),
    ),
    Fact(
        "subagents.overdue",
        FactType.INT,
        "Children that were expected back by now and are not",
        lambda state, _event, position: overdue(state.runs, position),
    ),
    Fact(
        "obligation.newly_told",
        FactType.BOOL,
        "The event is the first to tell of something overdue, of a failure or of more than is watched",
        lambda state, event, _position: state.told_id == event.event_id,
    ),
    Fact(
        "obligation.times_told",
        FactType.INT,
        "How often the overdue thing was told that was told last, that time included",
        lambda state, _event, _position: state.times_told,
    ),
    Fact(
        "obligation.untracked",
        FactType.INT,
        "Promises, children and results beyond those that are watched one by one",
        lambda state, _event, _position: untracked(state),
    ),
    Fact(
        "message.has_required_checkpoint_fields",
        FactType.BOOL,
        "The report gives all five checkpoint answers",
        lambda _state, event, _position: len(answers_given(event)) == len(CHECKPOINT_ANSWERS),
    ),
    *(_answers(field, what) for field, what in CHECKPOINT_ANSWERS.items()),
    Fact(
        "message.checkpoint_fields_given",
        FactType.INT,
        "How many of the five checkpoint answers the report gives",
        lambda _state, event, _position: len(answers_given(event)),
    ),
    Fact(
        "message.status_only_in_a_row",
        FactType.INT,
        "Reports in a row that brought no new evidence, this one included",
        lambda state, _event, _position: state.status_only_in_a_row,
    ),
    Fact(
        "message.reminder_only",
        FactType.BOOL,
        "The report only follows a reminder, without work in between",
        lambda _state, event, _position: _is_reminder_only(event),
    ),
    Fact(
        "status.target",
        FactType.STR,
        "The status the event moves the task to; empty when it moves none",
        lambda _state, event, _position: _target_status(event),
        ("", *_statuses()),
    ),
    Fact(
        "status.decided_by_operator",
        FactType.BOOL,
        "The event moves the task to a status that its operator decided on",
        lambda _state, event, _position: is_operators(event),
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
        "dispatch.has_report_anchor",
        FactType.BOOL,
        "What the event dispatches, a child or the task itself, says where its reports are owed",
        lambda state, event, _position: dispatch_anchored(state, event),
    ),
    Fact(
        "task.is_held",
        FactType.BOOL,
        "A block, an escalation or a review stopped the task, and its operator has not decided yet",
        lambda state, _event, _position: bool(state.held_by),
    ),
    Fact(
        "task.is_closed",
        FactType.BOOL,
        "The task was closed before the event",
        lambda state, _event, _position: state.closed,
    ),
)

FACTS: dict[str, Fact] = {fact.name: fact for fact in _ALL}


def unknown_name(kind: str, name: str, known: Mapping[str, Any]) -> str:
    """What to say about a name that isn't known: the nearest that is."""
    return f"unknown {kind} {name}; {nearest(name, known)}"
