"""What is answered about governed decisions. Whatever goes wrong, there is an answer: a denial, or `ok: false`."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, NamedTuple, TypeVar

from nats.aio.msg import Msg
from pydantic import ValidationError

from lictor_bus.errors import BusError, MalformedQuestion
from lictor_bus.names import subjects
from lictor_bus.service.gate_questions import UNKNOWN_REQUEST, read_question
from lictor_bus.service.gate_recorder import GateRecorder
from lictor_bus.service.responder import Question, QuestionHandler
from lictor_bus.service.telemetry import Telemetry
from lictor_contracts.action.gate import Judged
from lictor_schema.contracts.decision_questions import (
    ActionGateAnswer,
    ActionGateRequest,
    ApproveRequest,
    ContractAnswer,
    DecisionBeginAnswer,
    DecisionReport,
    DecisionShowAnswer,
    OperatorRequest,
    SwitchOrder,
    TaskOrder,
    VerifyAnswer,
    VerifyRequest,
)
from lictor_schema.core.base_model import Model
from lictor_schema.core.canonical_json import CanonicalError, refuse_duplicate_keys
from lictor_schema.errors import describe_validation_error
from lictor_schema.gates.gate import GateRequest
from lictor_supervisor.decision.denial_records import GATE, refusal_record
from lictor_supervisor.decision.desk import ContractDesk

log = logging.getLogger("lictor.supervisor")

UNAVAILABLE = "lictor.unavailable"
MALFORMED = "sealer.malformed-request"
BROKEN = "sealer.internal-error"

# Together shorter than the two seconds after which a client takes silence for a denial.
ANSWER_WITHIN_S = 1.4
RECORD_WITHIN_S = 0.4
# An entry holds what was asked, and what was found besides: it must fit into the server's limit with room to spare.
_SHARE_OF_PAYLOAD = 1 / 8

Q = TypeVar("Q", bound=Model)

_OF_RUNTIMES = (
    ("begin", GateRequest, DecisionBeginAnswer, "A task's decision begins under its envelope."),
    ("report", DecisionReport, ContractAnswer, "Something happened to a decision; counted once."),
    ("verify", VerifyRequest, VerifyAnswer, "Is what an action did what was expected?"),
    ("show", GateRequest, DecisionShowAnswer, "How a decision stands; changes nothing."),
)
_OF_OPERATORS = (
    ("approve", ApproveRequest, "Approve one exact action, or the ladder's bypass."),
    ("freeze", TaskOrder, "Stop a decision."),
    ("resume", TaskOrder, "Let a frozen decision go on; its actor can't."),
    ("halt", SwitchOrder, "Engage the kill-switch: active decisions freeze, none begins."),
    ("release", SwitchOrder, "Release the kill-switch; frozen decisions stay frozen."),
)

QUESTIONS = (
    Question(
        subject="lictor.gate.action.{runtime}",
        title="gate.action",
        request=ActionGateRequest,
        answer=ActionGateAnswer,
        description="Gate `action`: may this action be dispatched?",
    ),
    *(
        Question(
            subject=f"lictor.contract.{operation}.{{runtime}}",
            title=f"contract.{operation}",
            request=request,
            answer=answer,
            description=description,
        )
        for operation, request, answer, description in _OF_RUNTIMES
    ),
    *(
        Question(
            subject=f"lictor.contract.{operation}",
            title=f"contract.{operation}",
            request=request,
            answer=ContractAnswer,
            description=f"For operators: {description}",
        )
        for operation, request, description in _OF_OPERATORS
    ),
)


class QuestionRefusal(NamedTuple):
    """Why a question is not answered as it was meant."""

    policy_id: str
    reason: str
    remedy: str


class ContractAnswers:
    """One answer a subject; each takes a message as it came and returns the answer's bytes."""

    def __init__(
        self,
        desk: ContractDesk,
        recorder: GateRecorder,
        telemetry: Telemetry,
        *,
        max_payload: int,
        now_ns: Callable[[], int] = time.time_ns,
    ) -> None:
        self._desk = desk
        self._recorder = recorder
        self._now_ns = now_ns
        self._telemetry = telemetry
        self._largest = int(max_payload * _SHARE_OF_PAYLOAD)

    def by_subject(self) -> Mapping[str, QuestionHandler]:
        """What to subscribe to, and who answers it."""
        desk: Any = self._desk
        return {
            "lictor.gate.action.*": self.gate,
            **{
                f"lictor.contract.{operation}.*": self._contract(
                    operation, request, answer, getattr(desk, operation)
                )
                for operation, request, answer, _ in _OF_RUNTIMES
            },
            **{
                f"lictor.contract.{operation}": self._contract(
                    operation, request, ContractAnswer, getattr(desk, operation)
                )
                for operation, request, _ in _OF_OPERATORS
            },
        }

    async def gate(self, message: Msg) -> bytes:
        """May this action be dispatched? A denial that no decision's log holds is kept before it is given."""
        request, given = await self._answer(message, ActionGateRequest, self._desk.gate)
        if isinstance(given, QuestionRefusal):
            denied = ActionGateAnswer(
                request_id=_id_of(request),
                decision="deny",
                reason=given.reason,
                remedy=given.remedy,
                policy_id=given.policy_id,
            )
            given = Judged(None, denied, is_logged=False)
        answer: ActionGateAnswer = given.answer
        self._telemetry.gate_answered(GATE, answer.decision)
        if answer.decision == "deny" and not given.is_logged:
            kept = refusal_record(message.subject, message.data, request, answer, self._now_ns())
            await self._recorder.write_now(kept, RECORD_WITHIN_S)
        return answer.to_json()

    def _contract(
        self,
        operation: str,
        request_type: type[Any],
        answer_type: type[ContractAnswer],
        work: Callable[[Any], Awaitable[ContractAnswer]],
    ) -> QuestionHandler:
        async def answer(message: Msg) -> bytes:
            request, given = await self._answer(message, request_type, work)
            if isinstance(given, QuestionRefusal):
                given = answer_type(
                    request_id=_id_of(request),
                    ok=False,
                    reason=given.reason,
                    remedy=given.remedy,
                    policy_id=given.policy_id,
                )
            self._telemetry.session_answered(f"contract.{operation}", given.ok)
            return given.to_json()

        return answer

    async def _answer(
        self, message: Msg, request_type: type[Q], work: Callable[[Q], Awaitable[Any]]
    ) -> tuple[Q | None, Any]:
        """What came of a question, or why nothing did; the question too, if it could be read."""
        request: Q | None = None
        try:
            if len(message.data) > self._largest:
                raise MalformedQuestion(
                    f"it has {len(message.data)} bytes, more than {self._largest}",
                    "send less: large content belongs in a file that the action names",
                )
            request = _read(message.data, request_type)
            _refuse_other_runtime(message.subject, request)
            async with asyncio.timeout(ANSWER_WITHIN_S):
                return request, await work(request)
        except MalformedQuestion as error:
            return request, QuestionRefusal(
                MALFORMED, f"the question is malformed: {error}", error.remedy
            )
        except (BusError, TimeoutError) as error:
            log.warning("%s: %s: %s", message.subject, type(error).__name__, error)
            told = "it took too long" if isinstance(error, TimeoutError) else str(error)
            return request, QuestionRefusal(
                UNAVAILABLE,
                f"the decision's log can't be read or written: {told}",
                "ask again; if it stays so, see `lictor doctor`",
            )
        except Exception as error:
            log.exception("%s: a question failed", message.subject)
            return request, QuestionRefusal(
                BROKEN,
                f"the sealer failed inside: {type(error).__name__}",
                "look at the service's log; nothing is allowed until it works",
            )


def _read(body: bytes, request_type: type[Q]) -> Q:
    if issubclass(request_type, GateRequest):
        return read_question(body, request_type)  # pyright: ignore[reportReturnType] -- the same type
    try:
        refuse_duplicate_keys(body)
        return request_type.model_validate_json(body, by_name=False, by_alias=True)
    except ValidationError as error:
        problems = "; ".join(f"{p.path} {p.problem}" for p in describe_validation_error(error)[:5])
        raise MalformedQuestion(problems, "correct the named fields and ask again") from None
    except CanonicalError as error:
        raise MalformedQuestion(str(error), "send plain JSON") from None


def _refuse_other_runtime(subject: str, request: Model) -> None:
    """The subject is what a runtime was given rights for; the body is only what it says."""
    if not isinstance(request, GateRequest):
        return
    if subjects.token(request.runtime) != subject.rpartition(".")[2]:
        raise MalformedQuestion(
            f"runtime {request.runtime!r} is not the runtime of subject {subject}",
            "ask on the subject of your own runtime",
        )


def _id_of(request: Model | None) -> str:
    if isinstance(request, GateRequest | OperatorRequest):
        return request.request_id
    return UNKNOWN_REQUEST
