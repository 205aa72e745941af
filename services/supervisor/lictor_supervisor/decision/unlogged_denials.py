"""Records in GATES of denials of the action gate that are in no decision's log."""

import json
import uuid
from collections import Counter
from datetime import UTC, datetime
from typing import Any

from pydantic import ValidationError

from lictor_bus.gates.gate_recorder import PendingRecord
from lictor_bus.gates.gate_runner import ReceivedQuestion
from lictor_bus.names import subjects
from lictor_bus.wire.publish import Outgoing
from lictor_schema.contracts.decision_questions import ActionGateAnswer, ActionGateRequest
from lictor_schema.core.base_model import utc_millis
from lictor_schema.core.canonical_json import hash_bytes
from lictor_schema.gates.gate_record import ActionGateRecord

GATE = "action"
# What is larger is not read for its task: it would keep the other questions waiting.
_MAX_READ = 512 * 1024
_NAMESPACE = uuid.UUID("5a1c6d0e-2f0b-4d7e-9a63-6c3b0f6f8f21")


def refusal_record(
    asked: ReceivedQuestion[ActionGateRequest], answer: ActionGateAnswer, now_ns: int
) -> PendingRecord:
    """The record of a denial, ready to be stored; of a question that can't be read, as far as it can be.

    The same question, asked again and denied by the same rule, has the same record: the stream stores it once.
    """
    subject, body, request = asked
    question = hash_bytes(body)
    name = f"{subject}\n{question}\n{answer.policy_id}"
    told: dict[str, Any] = {
        "record_id": str(uuid.uuid5(_NAMESPACE, name)),
        "recorded_at": utc_millis(datetime.fromtimestamp(now_ns / 1e9, UTC)),
        "gate": GATE,
        # What a runtime was given rights for is its subject; the body is only what it says.
        "asked_by": subject.rpartition(".")[2],
        "request": request,
        "question_sha256": question,
        "question_size": len(body),
        "answer": answer,
    }
    task = _task_told(body) if request is None else request.task_id
    try:
        record = ActionGateRecord(task_id=task, **told)
    except ValidationError:
        record = ActionGateRecord(task_id=None, **told)
    task_token = subjects.NOBODY if record.task_id is None else subjects.token(record.task_id)
    kept_at = subjects.GATED.at(record.asked_by, GATE, task_token)
    message = Outgoing(kept_at, record.to_json(), record.record_id)
    return PendingRecord(GATE, record.task_id or "(not told)", answer, message)


def _task_told(body: bytes) -> str | None:
    """The task that a question names, whatever else is wrong with it; None if it names one twice."""
    if len(body) > _MAX_READ:
        return None

    def members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        named = Counter(name for name, _ in pairs)
        return {name: value for name, value in pairs if named[name] == 1}

    try:
        value: Any = json.loads(body, object_pairs_hook=members)
    except (ValueError, RecursionError):
        return None
    found: Any = value.get("task_id") if isinstance(value, dict) else None  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType] -- any JSON
    return found if isinstance(found, str) else None
