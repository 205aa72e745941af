"""Decision records of denials that are in no session's log."""

import json
import uuid
from collections import Counter
from datetime import datetime
from typing import Any, Literal

from pydantic import ValidationError

from lictor_bus.gate import GateRefusal
from lictor_bus.gates.gate_runner import ReceivedQuestion
from lictor_bus.names import subjects
from lictor_bus.wire.publish import Outgoing
from lictor_schema.core.base_model import utc_millis
from lictor_schema.core.canonical_json import hash_bytes
from lictor_schema.decisions.decision import Decision, Disposition, Severity
from lictor_schema.decisions.guard_decision import GuardDecision
from lictor_schema.gates.gate import GateRequest
from lictor_schema.sessions.session_questions import Denial, ToolGateRequest

Gate = Literal["tool", "stop"]

_NAMESPACE = uuid.UUID("9b0f2c56-3d0b-4a0c-8a4b-0d1b6a0a4c3e")


def decision_on(
    gate: Gate, asked: ReceivedQuestion[Any], refusal: GateRefusal, now: datetime
) -> Outgoing | None:
    """The decision record of a refusal; None when it is unknown whose task it was.

    The same question, asked again and refused for the same, has the same record: the stream stores it once.
    """
    name = f"{asked.subject}\n{hash_bytes(asked.body)}\n{refusal.policy_id}"
    try:
        record = GuardDecision(
            record_id=str(uuid.uuid5(_NAMESPACE, name)),
            recorded_at=utc_millis(now),
            gate=gate,
            **(_told_by(asked.request) if asked.request else _as_far_as_told(asked.body)),
            # What a runtime was given rights for is its subject; the body is only what it says.
            runtime=_runtime(asked),
            decision=Decision(
                decision=Disposition.BLOCK,
                policy_id=refusal.policy_id,
                severity=Severity.MEDIUM,
                reason=refusal.reason,
                rewritten_message=None,
                suggested_status=None,
                required_actions=(),
                operator_notice=None,
            ),
            denials=(
                Denial(policy_id=refusal.policy_id, reason=refusal.reason, remedy=refusal.remedy),
            ),
        )
    except ValidationError:
        return None
    asker = asked.subject.rpartition(".")[2]
    subject = subjects.GUARD_REFUSAL.at(asker, subjects.token(record.task_id))
    return Outgoing(subject, record.to_json(), record.record_id)


def _runtime(asked: ReceivedQuestion[Any]) -> str:
    own = asked.subject.rpartition(".")[2]
    said = asked.request.runtime if asked.request else None
    return said if said is not None and subjects.token(said) == own else own


def _told_by(request: GateRequest) -> dict[str, Any]:
    call = request if isinstance(request, ToolGateRequest) else None
    return {
        "task_id": request.task_id,
        "agent_id": request.agent_id,
        "session_id": request.session,
        "call_id": call and call.call_id,
        "tool": call and call.tool,
    }


def _as_far_as_told(body: bytes) -> dict[str, Any]:
    """Who asked for what, out of a question that is malformed somewhere; empty when it is no JSON object."""
    try:
        found = json.loads(body, object_pairs_hook=_told_once)
    except (ValueError, RecursionError):
        return {}
    if not isinstance(found, dict):
        return {}
    told = {
        "task_id": found.get("task_id"),
        "agent_id": found.get("agent_id"),
        "session_id": found.get("session_id") or found.get("task_id"),
    }
    for name, longest in (("call_id", 512), ("tool", 256)):
        value = found.get(name)
        # Perhaps this is what is wrong with it; the record is for the rest.
        if isinstance(value, str) and 0 < len(value) <= longest:
            told[name] = value
    return told


def _told_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """What has one value: of two nobody knows which was meant."""
    times = Counter(name for name, _ in pairs)
    return {name: value for name, value in pairs if times[name] == 1}
