"""Messages about a task as the other services store them, with as little in them as they may have."""

from typing import Any

from nats.aio.client import Client

from lictor_bus.names import streams, subjects
from lictor_bus.wire.publish import Outgoing, publish_one
from lictor_schema.core.base_model import Model
from lictor_schema.core.canonical_json import canonical_json, content_hash
from lictor_schema.decisions.guard_decision import GuardDecision
from lictor_schema.decisions.receipt import ReceiptReport
from lictor_schema.gates.gate_record import ActionGateRecord, GateRecord, SessionGateRecord
from lictor_schema.proofs.proof import ProofResult
from lictor_schema.sessions.session_log import CallFinished, FeedbackDelivered, FeedbackRaised

HASH = "sha256:" + "0" * 64
MOMENT = "2026-01-01T00:00:00.000Z"
RUNTIME, SESSION = "test", "session-1"


def uuid(number: int) -> str:
    return f"00000000-0000-5000-8000-{number:012}"


def proof(task: str, number: int = 1, verdict: str = "rejected") -> Outgoing:
    reasons = [{"code": "no-layer", "message": "there is no layer", "remedy": "publish one"}]
    value = {
        "submission_id": f"program-{number}",
        "task_id": task,
        "program_hash": content_hash(number),
        "verdict": verdict,
        "reasons": [] if verdict == "proved" else reasons,
        "decided_at": MOMENT,
        "elapsed_ms": 3,
    }
    return _message(ProofResult, value, subjects.proof("test", verdict, task), f"program-{number}")


def guard_denial(task: str, number: int = 1, session: str = SESSION) -> Outgoing:
    value = {
        "record_id": uuid(number),
        "recorded_at": MOMENT,
        "gate": "tool",
        "runtime": RUNTIME,
        "task_id": task,
        "agent_id": "agent",
        "session_id": session,
        "call_id": f"call-{number}",
        "tool": "Bash",
        "decision": {
            "decision": "block",
            "policy_id": "rate",
            "severity": "medium",
            "reason": "too many calls",
            "rewritten_message": None,
            "suggested_status": None,
            "required_actions": [],
            "operator_notice": None,
        },
    }
    return _message(
        GuardDecision, value, subjects.guard_decision("test", "block", task), uuid(number)
    )


def gate_answer(task: str, number: int = 1, decision: str = "deny") -> Outgoing:
    value = {
        "record_id": uuid(number),
        "recorded_at": MOMENT,
        "gate": "report",
        "request": {
            "request_id": f"q-{number}",
            "runtime": RUNTIME,
            "task_id": task,
            "agent_id": "agent",
            "requested_at": MOMENT,
            "message": "done",
        },
        "answer": _answer(number, decision),
        "config_hash": HASH,
    }
    return _message(GateRecord, value, subjects.gated("test", "report", task), uuid(number))


def tool_allowed(task: str, number: int = 1, session: str = SESSION) -> Outgoing:
    value = {
        "record_id": uuid(number),
        "recorded_at": MOMENT,
        "gate": "tool",
        "request": {
            "request_id": f"q-{number}",
            "runtime": RUNTIME,
            "task_id": task,
            "agent_id": "agent",
            "session_id": session,
            "requested_at": MOMENT,
            "call_id": f"call-{number}",
            "tool": "Read",
            "params": {},
        },
        "answer": _answer(number, "allow"),
        "state_sequence": None,
    }
    return _message(SessionGateRecord, value, subjects.gated("test", "tool", task), uuid(number))


def call_finished(task: str, number: int = 1, session: str = SESSION) -> Outgoing:
    """An entry of a session's log: a call that ended."""
    value = {
        "kind": "call_finished",
        "entry_id": uuid(number),
        "at_us": 1_700_000_000_000_000 + number,
        "runtime": RUNTIME,
        "session_id": session,
        "task_id": task,
        "agent_id": "agent",
        "definition_hash": HASH,
        "call_id": f"call-{number}",
        "tool": "Read",
        "params": {},
        "outcome": "ok",
    }
    log = subjects.session_log(subjects.session_key(RUNTIME, session))
    return _message(CallFinished, value, log, uuid(number))


def action_denied(task: str, number: int = 1, asked_by: str = RUNTIME) -> Outgoing:
    value = {
        "record_id": uuid(number),
        "recorded_at": MOMENT,
        "gate": "action",
        "asked_by": asked_by,
        "task_id": task,
        "request": None,
        "question_sha256": HASH,
        "question_size": 7,
        "answer": _answer(number, "deny"),
    }
    return _message(ActionGateRecord, value, subjects.gated("test", "action", task), uuid(number))


def _answer(number: int, decision: str) -> dict[str, Any]:
    return {
        "request_id": f"q-{number}",
        "decision": decision,
        "reason": "no evidence is attached",
        "remedy": None if decision == "allow" else "attach some",
        "policy_id": "lictor.gate.evidence",
    }


def receipt(task: str, record_id: str, number: int = 1) -> Outgoing:
    value = {
        "report_id": f"receipt-{number}",
        "record_id": record_id,
        "recorded_at": MOMENT,
        "task_id": task,
        "runtime": RUNTIME,
        "receipt": {
            "status": "planned",
            "delivery_state": "queued",
            "operator_notice_required": False,
        },
        "reported_at": MOMENT,
    }
    return _message(
        ReceiptReport,
        value,
        subjects.receipt("test", "planned", task, record_id),
        f"receipt-{number}",
    )


def advice(
    task: str, number: int = 1, *, feedback: int = 1, delivered: bool, session: str = SESSION
) -> Outgoing:
    """An entry of a session's log: advice that was raised, or handed over."""
    value: dict[str, Any] = {
        "kind": "feedback_delivered" if delivered else "feedback_raised",
        "entry_id": uuid(number),
        "at_us": 1_700_000_000_000_000 + number,
        "runtime": RUNTIME,
        "session_id": session,
        "task_id": task,
        "agent_id": "agent",
        "definition_hash": HASH,
        "feedback": [
            {
                "provider": "deadline",
                "summary": "half of the time is used",
                "severity": "caution",
                "feedback_id": uuid(1000 + feedback),
                "raised_at": MOMENT,
                "call_index": 4,
                "trigger": "seconds",
                "definition": "coder",
            }
        ],
    }
    kind: type[Model] = FeedbackDelivered if delivered else FeedbackRaised
    if delivered:
        value["call_id"] = f"call-{number}"
    log = subjects.session_log(subjects.session_key(RUNTIME, session))
    return _message(kind, value, log, uuid(number))


def _message(kind: type[Model], value: dict[str, Any], subject: str, message_id: str) -> Outgoing:
    return Outgoing(subject, kind.from_json(canonical_json(value)).to_json(), message_id)


_STREAMS = {
    "proof": streams.PROOFS,
    "dec": streams.DECISIONS,
    "gated": streams.GATES,
    "rcpt": streams.RECEIPTS,
    "sess": streams.SESSIONS,
}


async def store(client: Client, *messages: Outgoing) -> None:
    for each in messages:
        assert await publish_one(client, _STREAMS[each.subject.split(".")[1]], each) is not None
