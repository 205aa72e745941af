"""What the service answers on each subject. Whatever goes wrong, there is an answer: a denial, or `ok: false`."""

import asyncio
import logging
import time
import uuid
from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime
from typing import Any, TypeVar

from nats.aio.msg import Msg

from lictor_bus.errors import BusError, MalformedQuestion
from lictor_bus.names import streams, subjects
from lictor_bus.service.gate_questions import UNKNOWN_REQUEST, read_question
from lictor_bus.service.gate_recorder import GateRecorder, PendingRecord
from lictor_bus.service.responder import QuestionHandler
from lictor_bus.service.telemetry import Telemetry
from lictor_bus.wire.publish import Outgoing
from lictor_feedback.session.engine import DecidedAnswer, UnknownSession
from lictor_feedback.session.questions import SessionQuestions
from lictor_feedback.session.store import Behind, StoreAway
from lictor_feedback.unlogged_denials import Gate, GateQuestion, GateRefusal, decision_on
from lictor_guard.errors import DefinitionError, GuardError
from lictor_guard.session.tool_gate import UNKNOWN_SESSION
from lictor_guard.text.wording import beyond_agent
from lictor_schema.core.base_model import utc_millis
from lictor_schema.gates.gate import GateAnswer, GateRequest
from lictor_schema.sessions.session_questions import (
    Denial,
    FeedbackAnswer,
    FeedbackRequest,
    ResetRequest,
    RestoreRequest,
    SessionAnswer,
    SessionBeginAnswer,
    SessionBeginRequest,
    SnapshotRequest,
    StateAnswer,
    StopGateAnswer,
    StopGateRequest,
    ToolGateAnswer,
    ToolGateRequest,
    ToolResultAnswer,
    ToolResultReport,
    UsageReport,
)

log = logging.getLogger("lictor.feedback")

SERVICE = "feedback"
UNAVAILABLE = "lictor.unavailable"
UNRECORDED = "lictor.unrecorded"
UNUSABLE = "lictor.unusable-definition"
MALFORMED = f"{SERVICE}.malformed-request"
BROKEN = f"{SERVICE}.internal-error"

# Whatever a call's parameters grow to when they are written again, and whatever its result adds to them, an entry must
# fit into the server's limit: else a call could be made whose result can't be recorded.
_SHARE_OF_PAYLOAD = {ToolGateRequest: 1 / 8, StopGateRequest: 1 / 8}
_SHARE_OF_REPORTS = 3 / 8

# Shorter than the two seconds after which an adapter takes silence for an answer.
ANSWER_WITHIN_S = 1.6
# Shorter than the ten seconds that an adapter waits for a snapshot, a restore or a reset.
STATE_ANSWER_WITHIN_S = 8.0
RECORD_WITHIN_S = 0.3

Q = TypeVar("Q", bound=GateRequest)


def _no_to_tool(request_id: str, refusal: GateRefusal) -> ToolGateAnswer:
    return ToolGateAnswer(
        request_id=request_id,
        decision="deny",
        reason=refusal.reason,
        remedy=refusal.remedy,
        policy_id=refusal.policy_id,
        denials=(Denial(**refusal._asdict()),),
    )


def _no_to_stop(request_id: str, refusal: GateRefusal) -> StopGateAnswer:
    return StopGateAnswer(
        request_id=request_id,
        decision="deny",
        reason=refusal.reason,
        remedy=refusal.remedy,
        policy_id=refusal.policy_id,
        status="incomplete",
    )


class SessionReplies:
    """One method a subject; each takes a message as it came and returns the answer's bytes."""

    def __init__(
        self,
        desk: SessionQuestions,
        recorder: GateRecorder,
        telemetry: Telemetry,
        *,
        max_payload: int,
        now_ns: Callable[[], int] = time.time_ns,
    ) -> None:
        self._max_payload = max_payload
        self._desk = desk
        self._recorder = recorder
        self._telemetry = telemetry
        self._now_ns = now_ns

    def by_subject(self) -> Mapping[str, QuestionHandler]:
        """What to subscribe to, and who answers it."""
        desk = self._desk
        sessions: list[
            tuple[str, type[Any], type[SessionAnswer], Callable[..., Awaitable[Any]]]
        ] = [
            ("begin", SessionBeginRequest, SessionBeginAnswer, desk.begin),
            ("show", GateRequest, SessionBeginAnswer, desk.show),
            ("result", ToolResultReport, ToolResultAnswer, desk.result),
            ("collect", FeedbackRequest, FeedbackAnswer, desk.collect),
            ("usage", UsageReport, SessionAnswer, desk.usage),
            ("snapshot", SnapshotRequest, StateAnswer, desk.snapshot),
            ("restore", RestoreRequest, StateAnswer, desk.restore),
            ("reset", ResetRequest, StateAnswer, desk.reset),
        ]
        return {
            "lictor.gate.tool.*": self.tool,
            "lictor.gate.stop.*": self.stop,
            **{
                f"lictor.session.{operation}.*": self._session(operation, request, answer, work)
                for operation, request, answer, work in sessions
            },
        }

    async def tool(self, message: Msg) -> bytes:
        """May this tool be called?"""
        request, given = await self._answer(message, ToolGateRequest, self._desk.check)
        if not isinstance(given, GateRefusal) and not await self._may_be_given(
            message, request, given
        ):
            given = GateRefusal(
                UNRECORDED,
                "the answer can't be recorded now, and the definition wants every call on record",
                "try again; if it stays so, "
                + beyond_agent("see `lictor doctor`: the broker's disk may be full"),
            )
        answer = (
            _no_to_tool(_id_of(request), given) if isinstance(given, GateRefusal) else given.answer
        )
        return await self._gated("tool", message, request, given, answer)

    async def _may_be_given(
        self, message: Msg, request: GateRequest | None, given: DecidedAnswer[Any]
    ) -> bool:
        """Whether an answer is on record, where the definition wants it there before it is given."""
        answer = given.answer
        if request is None or not given.records_first or answer.decision != "allow":
            return True
        kept = _kept(
            "tool", message.data, request, answer, answer.to_json(), given.cursor, self._now_ns()
        )
        return await self._recorder.stored_in(kept, RECORD_WITHIN_S)

    async def stop(self, message: Msg) -> bytes:
        """May the agent stop?"""
        request, given = await self._answer(message, StopGateRequest, self._desk.stop)
        answer = (
            _no_to_stop(_id_of(request), given) if isinstance(given, GateRefusal) else given.answer
        )
        return await self._gated("stop", message, request, given, answer)

    def _session(
        self,
        operation: str,
        request_type: type[Any],
        answer_type: type[SessionAnswer],
        work: Callable[..., Awaitable[DecidedAnswer[Any]]],
    ) -> QuestionHandler:
        concerns_state = issubclass(answer_type, StateAnswer)
        within_s = STATE_ANSWER_WITHIN_S if concerns_state else ANSWER_WITHIN_S

        async def answer(message: Msg) -> bytes:
            request, given = await self._answer(message, request_type, work, within_s)
            if isinstance(given, GateRefusal):
                told = answer_type(
                    request_id=_id_of(request),
                    ok=False,
                    reason=f"{given.reason} ({given.policy_id})",
                    remedy=given.remedy,
                    policy_id=given.policy_id,
                )
            else:
                told = given.answer
            self._telemetry.session_answered(operation, told.ok)
            return told.to_json()

        return answer

    async def _answer(
        self,
        message: Msg,
        request_type: type[Q],
        work: Callable[[Q], Awaitable[DecidedAnswer[Any]]],
        within_s: float = ANSWER_WITHIN_S,
    ) -> tuple[Q | None, DecidedAnswer[Any] | GateRefusal]:
        """What came of a question; the question too, if it could be read."""
        request: Q | None = None
        try:
            self._refuse_too_large(message.data, request_type)
            request = read_question(message.data, request_type)
            _refuse_other_runtime(message.subject, request)
            async with asyncio.timeout(within_s):
                return request, await work(request)
        except MalformedQuestion as error:
            return request, GateRefusal(
                MALFORMED, f"the question is malformed: {error}", error.remedy
            )
        except UnknownSession:
            return request, _unknown(request)
        except (BusError, GuardError, TimeoutError) as error:
            log.warning("%s: %s: %s", message.subject, type(error).__name__, error)
            return request, _unavailable(error)
        except Exception as error:
            log.exception("%s: a question failed", message.subject)
            return request, GateRefusal(
                BROKEN,
                f"the feedback service failed inside: {type(error).__name__}",
                beyond_agent("look at the service's log; nothing is allowed until it works"),
            )

    def _refuse_too_large(self, body: bytes, request_type: type[GateRequest]) -> None:
        share = _SHARE_OF_PAYLOAD.get(request_type, _SHARE_OF_REPORTS)
        limit = int(self._max_payload * share)
        if len(body) > limit:
            raise MalformedQuestion(
                f"it has {len(body)} bytes, more than {limit}",
                "send less: large content belongs in a file that the parameters name",
            )

    async def _gated(
        self,
        gate: Gate,
        message: Msg,
        request: GateRequest | None,
        given: DecidedAnswer[Any] | GateRefusal,
        answer: ToolGateAnswer | StopGateAnswer,
    ) -> bytes:
        """The answer's bytes; what stands in no session's log is kept.

        An allowed call is kept in GATES, beside the answer. A refusal before a session was found, or without the
        store, is a decision, and kept before it is given.
        """
        self._telemetry.gate_answered(gate, answer.decision)
        body = answer.to_json()
        if isinstance(given, GateRefusal):
            await self._keep_refusal(
                GateQuestion(gate, message.subject, message.data, request), given, answer
            )
        elif given.records_first:
            # A denied call stands in the session's log, an allowed one was recorded before.
            return body
        elif request is not None and gate == "tool" and answer.decision == "allow":
            now_ns = self._now_ns()
            asked, cursor = message.data, given.cursor
            self._recorder.write_soon(
                lambda: _kept(gate, asked, request, answer, body, cursor, now_ns)
            )
        return body

    async def _keep_refusal(
        self, asked: GateQuestion, refusal: GateRefusal, answer: ToolGateAnswer | StopGateAnswer
    ) -> None:
        now_ns = self._now_ns()
        record = decision_on(asked, refusal, _moment(now_ns))
        if record is None:
            log.warning("%s: denied, and no record tells whose: %s", asked.subject, refusal.reason)
            return
        task = record.subject.rpartition(".")[2]
        kept = [PendingRecord(asked.gate, task, answer, record, streams.DECISIONS)]
        if asked.request is not None:
            question = asked.body, asked.request, answer, answer.to_json()
            kept.append(_kept(asked.gate, *question, None, now_ns))
        await asyncio.gather(*(self._recorder.write_now(each, RECORD_WITHIN_S) for each in kept))

    async def close(self) -> None:
        """Wait until every answer given so far is recorded, or known not to be."""
        await self._recorder.close()
        await self._desk.close()


def _kept(
    gate: str,
    question: bytes,
    request: GateRequest,
    answer: GateAnswer,
    body: bytes,
    cursor: int | None,
    now_ns: int,
) -> PendingRecord:
    """The record (SessionGateRecord), written around the question and the answer as they went over the wire."""
    record_id = str(uuid.uuid4())
    sequence = b"null" if cursor is None else str(cursor).encode()
    record = (
        f'{{"record_id":"{record_id}","recorded_at":"{utc_millis(_moment(now_ns))}","gate":"{gate}",'
    ).encode() + b'"request":%b,"answer":%b,"state_sequence":%b}' % (question, body, sequence)
    message = Outgoing(subjects.gated(gate, request.task_id), record, record_id)
    return PendingRecord(gate, request.task_id, answer, message)


def _moment(now_ns: int) -> datetime:
    return datetime.fromtimestamp(now_ns / 1e9, UTC)


def _id_of(request: GateRequest | None) -> str:
    return UNKNOWN_REQUEST if request is None else request.request_id


def _refuse_other_runtime(subject: str, request: GateRequest) -> None:
    """The subject is what a runtime was given rights for; the body is only what it says."""
    if subjects.token(request.runtime) != subject.rpartition(".")[2]:
        raise MalformedQuestion(
            f"runtime {request.runtime!r} is not the runtime of subject {subject}",
            "ask on the subject of your own runtime",
        )


def _unknown(request: GateRequest | None) -> GateRefusal:
    session = "" if request is None else f" {request.session!r}"
    return GateRefusal(
        UNKNOWN_SESSION,
        f"session{session} never began, so nothing says what it may do",
        beyond_agent("begin it first (`lictor.session.begin`); adapters do so by themselves"),
    )


def _unavailable(error: Exception) -> GateRefusal:
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
        what = "judging took too long"
    remedy = f"try again; if it stays so, {beyond_agent('see `lictor doctor`')}"
    return GateRefusal(UNAVAILABLE, what, remedy)
