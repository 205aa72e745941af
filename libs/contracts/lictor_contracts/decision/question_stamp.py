"""What every question about a governed decision comes with, and how its entry in the log is made.

The id of an entry is made of the question and of the place in the log that it was decided on: the same question,
decided again because its entry was lost on the way, makes the same entry, and one decided on newer facts another.
"""

import uuid
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, TypeVar

from lictor_contracts.action.preconditions import is_scalar
from lictor_contracts.decision.state import Deciding, fold
from lictor_contracts.envelope.bounds import BoundViolation, is_count
from lictor_schema.contracts.decision_log import AnyDecisionEntry, ContractViolation, DecisionEntry
from lictor_schema.contracts.decision_questions import ContractAnswer
from lictor_schema.core.base_model import utc_millis
from lictor_schema.core.canonical_json import canonical_json
from lictor_schema.core.time import from_micros

# Random once, fixed for ever: changing it makes entries that are stored twice look like two.
_ENTRY: Final = uuid.UUID("0c3f5a1d-7b86-4c4e-9a58-b1f0a6d92e47")


E = TypeVar("E", bound=DecisionEntry[Any])

POLICY: Final = "lictor.contract"


@dataclass(frozen=True, slots=True)
class QuestionStamp:
    """The sender, subject and time of a question."""

    request_id: str
    runtime: str
    task_id: str
    agent_id: str
    now_us: int
    after: int
    """Sequence of the last entry of the log, 0 when there is none."""


@dataclass(frozen=True, slots=True)
class Decided:
    """What comes of a question: an entry, if it changes anything, and the answer."""

    entry: AnyDecisionEntry | None
    answer: ContractAnswer


def entry_id(asked: QuestionStamp, kind: str) -> str:
    """The id of what a question leads to at this place in the log."""
    parts = [asked.runtime, asked.task_id, asked.after, kind, asked.request_id]
    return str(uuid.uuid5(_ENTRY, canonical_json(parts).decode()))


def instant(at_us: int) -> datetime:
    """Microseconds since 1970 as a time."""
    return from_micros(at_us)


def utc_text(at_us: int) -> str:
    """Microseconds since 1970 as text."""
    return utc_millis(instant(at_us))


def moment(state: Deciding | None, asked: QuestionStamp) -> int:
    """The moment of the question; a clock that went back reopens nothing."""
    return max(asked.now_us, 1 if state is None else state.last_us)


def make(entry_type: type[E], kind: str, state: Deciding, asked: QuestionStamp, **fields: Any) -> E:
    """An entry about a decision that has begun, with the moment time must be looked at next."""
    entry = entry_type(
        kind=kind,
        entry_id=entry_id(asked, kind),
        at_us=moment(state, asked),
        request_id=asked.request_id,
        runtime=state.begun.runtime,
        task_id=state.begun.task_id,
        agent_id=state.begun.agent_id,
        decision_type=state.begun.decision_type,
        episode_id=state.begun.episode_id,
        **fields,
    )
    after: Any = fold(state, entry, asked.after + 1)  # pyright: ignore[reportArgumentType] -- one of them
    return entry.model_copy(update={"next_due_us": after.due_us()})


def refused(asked: QuestionStamp, rule: str, reason: str, remedy: str) -> Decided:
    """Nothing changes, and this is why."""
    answer = ContractAnswer(
        request_id=asked.request_id,
        ok=False,
        reason=reason,
        remedy=remedy,
        policy_id=f"{POLICY}.{rule}",
    )
    return Decided(None, answer)


def done(asked: QuestionStamp, reason: str, *, duplicate: bool = False) -> ContractAnswer:
    """It was done."""
    return ContractAnswer(request_id=asked.request_id, ok=True, reason=reason, duplicate=duplicate)


def not_begun(asked: QuestionStamp) -> Decided:
    """For a decision that nobody began."""
    return refused(
        asked,
        "not-begun",
        f"no decision of task {asked.task_id} began in runtime {asked.runtime}",
        "begin it first (`lictor.contract.begin`)",
    )


def told_violation(violation: BoundViolation) -> ContractViolation:
    """A violation as a log holds it: without fractions, which do not hash the same everywhere."""
    limit, actual = violation.limit, violation.actual
    if isinstance(actual, float):
        actual = int(actual) if abs(actual) < 2**53 else str(actual)
    return ContractViolation(
        gate=violation.gate.value,
        field=violation.field[:1000] or "freshness",
        limit=int(limit) if limit is not None and is_count(int(limit)) else None,
        actual=actual if is_scalar(actual) else str(actual),
        severity=violation.severity.value,
        message=violation.message,
    )


def used_for_another(asked: QuestionStamp, before: str) -> Decided:
    """Refuse a question under the id of another: it would pass for answered."""
    return refused(
        asked,
        "request-id",
        f"{asked.request_id} was used for another question ({before})",
        "give every question an id of its own",
    )
