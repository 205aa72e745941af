"""The gates and questions about sessions, each with its handler, and what is recorded of their answers."""

import time
import uuid
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime
from typing import Any, cast

from lictor_bus.errors import BusError
from lictor_bus.gate import Gate, GateRefusal
from lictor_bus.gates import session
from lictor_bus.gates.gate_recorder import PendingRecord
from lictor_bus.gates.gate_runner import BoundGate, Given, ReceivedQuestion, RecordTime
from lictor_bus.names import streams, subjects
from lictor_bus.wire.publish import Outgoing
from lictor_feedback.session.engine import DecidedAnswer, UnknownSession
from lictor_feedback.session.questions import SessionQuestions
from lictor_feedback.session.store import Behind, StoreAway
from lictor_feedback.unlogged_denials import decision_on
from lictor_guard.errors import DefinitionError, GuardError
from lictor_guard.session.tool_gate import UNKNOWN_SESSION
from lictor_guard.text.wording import beyond_agent
from lictor_schema.core.base_model import utc_millis
from lictor_schema.gates.gate import GateAnswer, GateRequest
from lictor_schema.sessions.session_questions import (
    StopGateRequest,
    ToolGateAnswer,
    ToolGateRequest,
)

UNUSABLE = "lictor.unusable-definition"


class SessionReplies:
    """Binds each question about a session to the desk."""

    def __init__(self, desk: SessionQuestions, *, now_ns: Callable[[], int] = time.time_ns) -> None:
        self._desk = desk
        self._now_ns = now_ns

    def bound(self) -> Sequence[BoundGate[Any, Any]]:
        """The gates with their handlers."""
        desk = self._desk
        operations: tuple[
            tuple[Gate[Any, Any], Callable[[Any], Awaitable[DecidedAnswer[Any]]]], ...
        ] = (
            (session.SESSION_BEGIN, desk.begin),
            (session.SESSION_SHOW, desk.show),
            (session.SESSION_RESULT, desk.result),
            (session.SESSION_COLLECT, desk.collect),
            (session.SESSION_USAGE, desk.usage),
            (session.SESSION_CANCEL, desk.cancel),
            (session.SESSION_SNAPSHOT, desk.snapshot),
            (session.SESSION_RESTORE, desk.restore),
            (session.SESSION_RESET, desk.reset),
        )
        return (
            self._bound(session.TOOL, self.tool),
            self._bound(session.STOP, self.stop),
            *(self._bound(gate, _only_answering(work)) for gate, work in operations),
        )

    def _bound(
        self, gate: Gate[Any, Any], handle: Callable[[Any], Awaitable[Any]]
    ) -> BoundGate[Any, Any]:
        return BoundGate(
            gate=gate,
            handle=handle,
            explain=_explain,
            address=beyond_agent,
            records_of=self._denial_records if gate.records else _no_records,
        )

    async def tool(self, request: ToolGateRequest) -> Given[ToolGateAnswer] | ToolGateAnswer:
        """May this tool be called? An allowed call is recorded in GATES, a denied one stands in the session's log.

        One that people are asked about is recorded too, when they are: not each time that somebody looks again.
        """
        decided = await self._desk.check(request)
        answer = decided.answer
        if answer.decision != "allow" and not (answer.decision == "ask" and decided.changed):
            return answer
        now_ns, cursor = self._now_ns(), decided.cursor
        return Given(
            answer,
            lambda asked, body: _gate_record("tool", asked, answer, body, cursor, now_ns),
            RecordTime.FIRST if decided.records_first else RecordTime.BESIDE,
        )

    async def stop(self, request: StopGateRequest) -> GateAnswer:
        """May the agent stop? Every stop stands in the session's log."""
        return (await self._desk.stop(request)).answer

    def _denial_records(
        self, asked: ReceivedQuestion[Any], refusal: GateRefusal, answer: GateAnswer
    ) -> Sequence[PendingRecord]:
        """A denial before a session was found, or without the store, is a decision, and an answer of a gate."""
        now_ns = self._now_ns()
        gate = "tool" if isinstance(answer, ToolGateAnswer) else "stop"
        decision = decision_on(gate, asked, refusal, _moment(now_ns))
        if decision is None:
            return ()
        task = decision.subject.rpartition(".")[2]
        records = [PendingRecord(gate, task, answer, decision, streams.DECISIONS)]
        if asked.request is not None:
            records.append(_gate_record(gate, asked, answer, answer.to_json(), None, now_ns))
        return records


def _only_answering(
    work: Callable[[Any], Awaitable[DecidedAnswer[Any]]],
) -> Callable[[Any], Awaitable[Any]]:
    async def handle(request: Any) -> Any:
        return (await work(request)).answer

    return handle


def _no_records(
    _asked: ReceivedQuestion[Any], _refusal: GateRefusal, _answer: object
) -> Sequence[PendingRecord]:
    return ()


def _gate_record(
    gate: str,
    asked: ReceivedQuestion[Any],
    answer: GateAnswer,
    body: bytes,
    cursor: int | None,
    now_ns: int,
) -> PendingRecord:
    """The record (SessionGateRecord), written around the question and the answer as they went over the wire."""
    request = cast(GateRequest, asked.request)
    record_id = str(uuid.uuid4())
    sequence = b"null" if cursor is None else str(cursor).encode()
    record = (
        f'{{"record_id":"{record_id}","recorded_at":"{utc_millis(_moment(now_ns))}","gate":"{gate}",'
    ).encode() + b'"request":%b,"answer":%b,"state_sequence":%b}' % (asked.body, body, sequence)
    message = Outgoing(subjects.gated(request.runtime, gate, request.task_id), record, record_id)
    return PendingRecord(gate, request.task_id, answer, message)


def _moment(now_ns: int) -> datetime:
    return datetime.fromtimestamp(now_ns / 1e9, UTC)


def _explain(error: Exception, request: GateRequest) -> GateRefusal | None:
    """What an error of the sessions means for whoever asked."""
    if isinstance(error, UnknownSession):
        return GateRefusal(
            UNKNOWN_SESSION,
            f"session {request.session!r} never began, so nothing says what it may do",
            beyond_agent("begin it first (`lictor.session.begin`); adapters do so by themselves"),
        )
    if isinstance(error, DefinitionError):
        return GateRefusal(UNUSABLE, str(error), beyond_agent("see `lictor agent list`"))
    if isinstance(error, Behind):
        what = str(error)
    elif isinstance(error, StoreAway):
        what = "the store of sessions does not answer"
    elif isinstance(error, BusError):
        what = "the session's log can't be read or written"
    elif isinstance(error, GuardError):
        what = f"the session can't be judged: {error}"
    else:
        return None
    remedy = f"try again; if it stays so, {beyond_agent('see `lictor doctor`')}"
    return GateRefusal(session.TOOL.refusals.unavailable, what, remedy)
