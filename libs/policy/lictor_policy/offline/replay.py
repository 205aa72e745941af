"""Refolding stored events, and comparing what comes out with what was recorded.

The refold refuses what the service refuses: events it can't judge, and a second event with an id it has handled.
"""

import json
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, Protocol, cast

from lictor_policy.errors import UnacceptableEvent
from lictor_policy.events.position import EventPosition
from lictor_policy.judge.config import EvaluatorConfig
from lictor_policy.judge.step import KEEP_CLOSED_TASKS_S, PastDecision, StepOutcome, fold_event
from lictor_policy.task.state import TaskState
from lictor_schema.core.time import SECOND_US
from lictor_schema.events.event import Event

_ABSENT = "(not there)"


@dataclass(slots=True)
class ReplayedTask:
    """A task so far: its state, the ids that were handled, and when the last of them was stored."""

    state: TaskState | None = None
    handled: set[str] = field(default_factory=set[str])
    last_us: int = 0


class Tasks(Protocol):
    """Where tasks are remembered during a refold."""

    def __getitem__(self, key: str) -> ReplayedTask:
        """The task; a fresh one when nothing is known of it."""
        ...


class Refold:
    """Folds events in stream order, as the service does."""

    def __init__(self, tasks: Tasks) -> None:
        self._tasks = tasks

    def take(
        self,
        event: Event,
        position: EventPosition,
        config: EvaluatorConfig,
        decided: PastDecision | None = None,
    ) -> StepOutcome | None:
        """Judge the next event, about which another engine may have decided; None when the service refuses it."""
        task = self._tasks[event.task_id]
        state = task.state
        is_forgotten = state is not None and state.closed and _forgotten(task, position)
        # Each runtime has ids of its own.
        identity = f"{event.runtime}\n{event.event_id}"
        if is_forgotten:
            state = None
        elif identity in task.handled:
            return None
        try:
            outcome = fold_event(state, event, position, config, decided)
        except UnacceptableEvent:
            return None
        except Exception:  # noqa: BLE001 -- a defect on one event: the service sets it aside too, and goes on
            return None
        if is_forgotten:
            task.handled = set()
        task.state, task.last_us = outcome.state, position.stored_us
        task.handled.add(identity)
        return outcome


def _forgotten(task: ReplayedTask, position: EventPosition) -> bool:
    return position.stored_us - task.last_us > KEEP_CLOSED_TASKS_S * SECOND_US


class FieldDifference(NamedTuple):
    """One field of a record, as it was recorded and as it is decided again."""

    path: str
    recorded: str
    replayed: str


class RecordDifference(NamedTuple):
    """An event whose decision on record is not the one that its refold leads to."""

    kind: Literal["missing", "extra", "different"]
    event_sequence: int
    record_id: str
    task_id: str
    event_id: str
    fields: tuple[FieldDifference, ...] = ()


def missing(outcome: StepOutcome, event: Event, sequence: int) -> RecordDifference:
    """An event that must have a decision has none on record."""
    return RecordDifference("missing", sequence, outcome.record_id, event.task_id, event.event_id)


def extra(recorded: bytes) -> RecordDifference:
    """A record about an event that was refused, is not there, or has a record already."""
    found = _fields(recorded)
    return RecordDifference(
        "extra",
        int(found.get("event_sequence", "0")) if found.get("event_sequence", "0").isdigit() else 0,
        found.get("record_id", _ABSENT).strip('"'),
        found.get("task_id", _ABSENT).strip('"'),
        found.get("event_id", _ABSENT).strip('"'),
    )


def different(
    outcome: StepOutcome, event: Event, sequence: int, recorded: bytes
) -> RecordDifference:
    """The record says something else."""
    was, now = _fields(recorded), _fields(outcome.record_json)
    changed = tuple(
        FieldDifference(path, was.get(path, _ABSENT), now.get(path, _ABSENT))
        for path in dict.fromkeys([*now, *was])
        if was.get(path) != now.get(path)
    )
    # The same fields in other bytes: somebody else wrote it.
    spelled = (FieldDifference("(the bytes)", "spelled otherwise", "as the engine writes it"),)
    return RecordDifference(
        "different",
        sequence,
        outcome.record_id,
        event.task_id,
        event.event_id,
        changed or spelled,
    )


_OF_THE_EVENT = frozenset(
    (
        "recorded_at",
        "runtime",
        "task_id",
        "agent_id",
        "correlation_id",
        "event_id",
        "event_type",
        "event_timestamp",
        "event_sequence",
        "event_sha256",
        "original_claim",
    )
)


def of_the_event(difference: RecordDifference) -> RecordDifference | None:
    """What no engine can account for: what a record repeats of its event is not so; None when it is."""
    fields = tuple(each for each in difference.fields if each.path in _OF_THE_EVENT)
    return difference._replace(fields=fields) if fields else None


def _fields(record: bytes) -> dict[str, str]:
    """Every leaf of a record by its path, as JSON text."""
    found: dict[str, str] = {}
    try:
        waiting: list[tuple[str, Any]] = [("", json.loads(record))]
    except ValueError:
        return {"(the record)": record[:200].decode("utf-8", "replace")}
    while waiting:
        path, value = waiting.pop()
        if isinstance(value, dict) and value:
            members = cast("dict[str, Any]", value).items()
            waiting += [(f"{path}.{name}".lstrip("."), each) for name, each in members]
        elif isinstance(value, list) and value:
            waiting += [(f"{path}[{n}]", each) for n, each in enumerate(cast("list[Any]", value))]
        else:
            found[path] = json.dumps(value, ensure_ascii=False)
    return dict(sorted(found.items()))
