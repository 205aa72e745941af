"""Timers in pure terms: what is to be said when, or no longer to be said.

What a task is waited for stands in its state, so the orders are the difference between two states: of before
and after a whole batch as well as of one event. The event is written when the timer is set, so nobody reads a
clock when it falls due.
"""

from datetime import datetime
from enum import StrEnum
from json.encoder import encode_basestring as quoted
from typing import NamedTuple

from lictor_policy.decisions.json_text import optional, rfc3339, utc_micros
from lictor_policy.task.obligation_transitions import RUNTIME
from lictor_policy.task.obligations import Owed, awaited, read_owed
from lictor_policy.task.state import TaskState
from lictor_policy.version import ENGINE_VERSION
from lictor_schema.core.ids import derived_event_id
from lictor_schema.core.time import from_micros
from lictor_schema.events.operator_context import OperatorContext

_WATCHDOG = "lictor-timer"


class TimerKind(StrEnum):
    """What a timer waits for; a task has at most one of each kind."""

    CHECKPOINT = "checkpoint"
    SILENCE = "silence"
    FOLLOWUP = "followup"
    FORWARDING = "forwarding"
    SUBAGENT = "subagent"


_OWED_KINDS = (TimerKind.FOLLOWUP, TimerKind.FORWARDING, TimerKind.SUBAGENT)


class SetReportingTimer(NamedTuple):
    """At `due`, publish the event; takes the place of the task's timer of that kind."""

    kind: TimerKind
    due: datetime
    task: TaskState
    owed: Owed | None = None
    """The obligation, where it is not a checkpoint or the end of a silence."""

    @property
    def event_id(self) -> str:
        """The same for the same obligation, however often the timer is set."""
        task = self.task
        if self.owed is not None:
            owed = self.owed
            cause = (owed.name, str(owed.stored_us), str(owed.due_us), str(owed.next_us))
            return derived_event_id(task.task_id, self.kind.value, *cause)
        if self.kind is TimerKind.CHECKPOINT:
            return derived_event_id(task.task_id, self.kind.value, str(task.checkpoint_number))
        return derived_event_id(task.task_id, self.kind.value, str(task.silence_due_us))

    def event_json(self) -> bytes:
        """The event to appear when the timer is due."""
        due = rfc3339(self.due)
        if self.owed is not None:
            if self.kind is TimerKind.FORWARDING:
                payload = _not_forwarded(self.owed)
                return _event(self, due, "subagent_result_not_forwarded", payload)
            return _event(self, due, "watchdog_fired", _watchdog(self.kind, self.owed, due))
        if self.kind is TimerKind.CHECKPOINT:
            return _event(self, due, "task_checkpoint_due", _checkpoint_due(self.task, due))
        return _event(self, due, "silence_timeout", _silence(self.task))


class CancelReportingTimer(NamedTuple):
    """The task's timer of that kind is no longer wanted."""

    kind: TimerKind


TimerOrder = SetReportingTimer | CancelReportingTimer


def timer_orders(before: TaskState | None, after: TaskState) -> list[TimerOrder]:
    """What must be ordered for a task that went from one state to another."""
    checkpoint, silence = (None, None) if before is None else _awaited(before)
    orders: list[TimerOrder] = []
    if checkpoint != after.checkpoint_due_us:
        orders.append(_order(TimerKind.CHECKPOINT, after.checkpoint_due_us, after))
    if silence != after.silence_due_us:
        orders.append(_order(TimerKind.SILENCE, after.silence_due_us, after))
    had, has = ((), (), ()) if before is None else _owed(before), _owed(after)
    if had != has:
        for kind, old, new in zip(_OWED_KINDS, had, has, strict=True):
            note = awaited(new)
            if awaited(old) != note:
                orders.append(_owed_order(kind, note, after))
    return orders


def all_timer_orders(state: TaskState) -> list[TimerOrder]:
    """Everything a task is waited for, and that it is not waited for anything else."""
    return [
        _order(TimerKind.CHECKPOINT, state.checkpoint_due_us, state),
        _order(TimerKind.SILENCE, state.silence_due_us, state),
        *(
            _owed_order(kind, awaited(notes), state)
            for kind, notes in zip(_OWED_KINDS, _owed(state), strict=True)
        ),
    ]


def _awaited(state: TaskState) -> tuple[int | None, int | None]:
    return state.checkpoint_due_us, state.silence_due_us


def _owed(state: TaskState) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
    return state.promises, state.results, state.runs


def _order(kind: TimerKind, due_us: int | None, state: TaskState) -> TimerOrder:
    if due_us is None:
        return CancelReportingTimer(kind)
    return SetReportingTimer(kind, from_micros(due_us), state)


def _owed_order(kind: TimerKind, note: str | None, state: TaskState) -> TimerOrder:
    if note is None:
        return CancelReportingTimer(kind)
    owed = read_owed(note)
    return SetReportingTimer(kind, from_micros(owed.next_us), state, owed)


def _not_forwarded(owed: Owed) -> str:
    return (
        f'{{"run_id":{quoted(owed.name)},"child_session_key":{quoted(owed.detail or owed.name)},'
        f'"completion_received_at":"{utc_micros(owed.since_us)}",'
        f'"forward_due_at":"{utc_micros(owed.due_us)}","result_source":null,'
        f'"recovery_action":null,"recovery_attempts":{owed.told}}}'
    )


def _watchdog(kind: TimerKind, owed: Owed, fired: str) -> str:
    promised = kind is TimerKind.FOLLOWUP
    condition = "promised_followup_due" if promised else "subagent_overdue"
    run = "null" if promised else quoted(owed.name)
    what = quoted(owed.name) if promised else "null"
    return (
        f'{{"watchdog":"{_WATCHDOG}","condition":"{condition}","fired_at":"{fired}",'
        f'"due_at":"{utc_micros(owed.due_us)}","run_id":{run},"detail":{what},'
        f'"occurrence":{owed.told + 1}}}'
    )


def _checkpoint_due(task: TaskState, due: str) -> str:
    seen = "null" if task.last_visible_us is None else f'"{utc_micros(task.last_visible_us)}"'
    return (
        f'{{"checkpoint_number":{task.checkpoint_number},"due_at":"{due}",'
        f'"last_visible_update_at":{seen}}}'
    )


def _silence(task: TaskState) -> str:
    since = task.opened_us if task.last_visible_us is None else task.last_visible_us
    return f'{{"silent_since":"{utc_micros(since)}","timeout_s":{task.silence_timeout_s}}}'


def _event(order: SetReportingTimer, due: str, event_type: str, payload: str) -> bytes:
    """As the models would write it: a timer is set for most events, so it is put together from text."""
    task = order.task
    operator = ",".join(
        f'"{name}":{optional(value)}'
        for name, value in zip(OperatorContext.model_fields, task.operator, strict=True)
    )
    return (
        f'{{"event_id":"{order.event_id}","event_type":"{event_type}","runtime":"{RUNTIME}",'
        f'"adapter_version":"{ENGINE_VERSION}","agent_id":{quoted(task.agent_id)},'
        f'"task_id":{quoted(task.task_id)},"correlation_id":{quoted(task.correlation_id)},'
        f'"timestamp":"{due}","payload":{payload},"evidence_refs":[],'
        f'"operator_context":{{{operator}}}}}'
    ).encode()
