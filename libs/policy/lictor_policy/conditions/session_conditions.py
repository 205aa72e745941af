"""Conditions over a session: all its tasks together, folded from the decisions on their events.

Tasks are folded side by side, so none of them can see a session. Decisions stand in one order, and each names
the session of its task. Whoever folds them notices when a condition over a session comes true, and notifies the task
whose event made it true, by an event of its own (`watchdog_fired`). A rule that asks for the condition fires on
that event. So the task's own fold needs nothing but its events, as ever.
"""

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from json.encoder import encode_basestring as quoted
from typing import NamedTuple, cast

from lictor_policy.conditions.facts import Predicate
from lictor_policy.decisions.json_text import utc_micros
from lictor_policy.errors import TaskStateError
from lictor_policy.events.position import EventPosition
from lictor_policy.task.history import HistoryPlan, MemoryKind
from lictor_policy.task.obligation_transitions import RUNTIME
from lictor_policy.task.state import History, TaskState
from lictor_policy.version import ENGINE_VERSION
from lictor_schema.core.ids import derived_event_id
from lictor_schema.decisions.decision import Disposition
from lictor_schema.events.event import Event
from lictor_schema.events.event_types import EventType

WATCH = "watchdog_fired"
CONDITION = "session_condition"
FORMAT = 1


@dataclass(frozen=True, slots=True)
class SessionQuestion:
    """One condition over a session, and the memory it is answered from."""

    name: str
    """The condition in words; equal conditions have equal names."""
    kept: MemoryKind
    holds: Predicate


class SessionState(NamedTuple):
    """What is remembered about a session."""

    history: History
    holding: tuple[str, ...]
    """The questions that held after the last decision, in their order."""

    def encode(self) -> bytes:
        """State to bytes for the store."""
        return json.dumps((FORMAT, *self), separators=(",", ":")).encode()

    @classmethod
    def decode(cls, raw: bytes) -> "SessionState":
        """Bytes from the store to state."""
        try:
            found, history, holding = json.loads(raw)
            if found != FORMAT:
                raise TaskStateError(f"session state has format {found}; replay the decisions")
            return cls(history, tuple(holding))
        except (ValueError, TypeError) as error:
            raise TaskStateError(
                f"session state is not readable ({error}); replay the decisions to rebuild it"
            ) from error


class SessionDecision(NamedTuple):
    """What a decision record says about its session."""

    record_id: str
    session_id: str
    task_id: str
    agent_id: str
    correlation_id: str
    runtime: str
    event_type: EventType
    disposition: Disposition
    recorded_us: int
    config_hash: str


@dataclass(frozen=True, slots=True)
class SessionPlan:
    """Every condition over sessions that some rule in force asks for."""

    questions: tuple[SessionQuestion, ...]
    history: HistoryPlan

    @classmethod
    def of(cls, asked: Iterable[SessionQuestion]) -> "SessionPlan":
        """The plan for all; what is asked twice is asked once."""
        questions = tuple({question.name: question for question in asked}.values())
        return cls(questions, HistoryPlan.of(question.kept for question in questions))

    def fold(
        self, state: SessionState | None, told: SessionDecision
    ) -> tuple[SessionState, tuple[SessionQuestion, ...]]:
        """One decision added to its session; also the questions that hold now and did not before."""
        history, before = state or _NEW
        if told.runtime == RUNTIME and told.event_type == WATCH:
            # Said by us: if it counted, a rule could call for itself without end.
            return SessionState(history, before), ()
        # Moments of a session have no `where`, so nothing of the event is looked at but its type.
        event = cast(Event, told)
        now = told.recorded_us
        history = self.history.happened(history, event, now, begins=state is None)
        history = self.history.decided(history, event, told.disposition, now)
        past, position = cast(TaskState, SessionState(history, ())), EventPosition(0, now, "")
        holding = tuple(each for each in self.questions if each.holds(past, event, position))
        after = SessionState(history, tuple(question.name for question in holding))
        return after, tuple(question for question in holding if question.name not in before)


_NEW = SessionState({}, ())


def watchdog_event(told: SessionDecision, question: SessionQuestion) -> bytes:
    """The event that informs a task that a condition over its session came true."""
    event_id = derived_event_id(told.task_id, CONDITION, told.record_id, question.name)
    now = utc_micros(told.recorded_us)
    return (
        f'{{"event_id":"{event_id}","event_type":"{WATCH}","runtime":"{RUNTIME}",'
        f'"adapter_version":"{ENGINE_VERSION}","agent_id":{quoted(told.agent_id)},'
        f'"task_id":{quoted(told.task_id)},"correlation_id":{quoted(told.correlation_id)},'
        f'"timestamp":"{now}","payload":{{"watchdog":{quoted(question.name)},'
        f'"condition":"{CONDITION}","fired_at":"{now}","due_at":null,"run_id":null,'
        f'"detail":{quoted(f"session {told.session_id}, by decision {told.record_id}")},'
        f'"occurrence":1}},"evidence_refs":[],'
        '"operator_context":{"operator_id":null,"channel":null,"session_id":null,'
        '"thread_ref":null,"locale":null}}'
    ).encode()


def was_told(name: str) -> Callable[[TaskState, Event, EventPosition], bool]:
    """Whether the event being judged says that the named condition came true."""

    def told(_state: TaskState, event: Event, _position: EventPosition) -> bool:
        return (
            event.event_type == WATCH
            and event.runtime == RUNTIME
            and event.payload.condition == CONDITION
            and event.payload.watchdog == name
        )

    return told
