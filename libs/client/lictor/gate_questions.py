"""Asking a gate. Whatever goes wrong on the way, the answer is a denial that says so.

Never an error, which a caller might swallow, and never a yes.
"""

from collections.abc import Mapping
from typing import Any, TypeVar

from nats.aio.client import Client
from nats.errors import Error as NatsError
from nats.errors import NoRespondersError
from nats.errors import TimeoutError as NatsTimeout
from pydantic import ValidationError
from pydantic_core import PydanticSerializationError, to_json

from lictor.fast.verdicts import MALFORMED_ANSWER, MALFORMED_QUESTION, UNANSWERED
from lictor_bus.errors import NotAllowed
from lictor_bus.names import subjects
from lictor_schema.core.canonical_json import CanonicalError
from lictor_schema.errors import FieldProblem, describe_validation_error
from lictor_schema.gates.gate import GateAnswer, GateRequest
from lictor_schema.sessions.session_questions import (
    Denial,
    StopGateAnswer,
    ToolGateAnswer,
)

A = TypeVar("A", bound=GateAnswer)

GATE_TIMEOUT_S = 2.0


async def ask_gate(
    client: Client,
    gate: str,
    request: GateRequest,
    answer_type: type[A],
    timeout_s: float = GATE_TIMEOUT_S,
) -> A:
    """The gate's answer, or a denial with the reason there is none."""

    def unanswered(reason: str, remedy: str) -> A:
        reason = f"{reason}, so the act is denied"
        return denial(answer_type, request.request_id, UNANSWERED, reason, remedy)

    try:
        question = request.to_json()
    except PydanticSerializationError as error:
        return denial(
            answer_type,
            request.request_id,
            MALFORMED_QUESTION,
            f"the question to gate {gate} can't be written as JSON: {error}",
            "ask with plain JSON values",
        )
    try:
        reply = await client.request(
            subjects.gate(gate, request.runtime), question, timeout=timeout_s
        )
    except NoRespondersError:
        return unanswered(
            f"no service answers gate {gate}",
            "start the services with `lictor up`, or see `lictor doctor`, and ask again",
        )
    except NotAllowed:
        return unanswered(
            f"this NATS user may not ask gate {gate} as runtime {request.runtime}",
            "ask under the name of your own runtime, or connect as the user of the other",
        )
    except NatsTimeout:
        return unanswered(
            f"gate {gate} did not answer within {timeout_s:g} s",
            "ask again; if it stays silent, see `lictor doctor`",
        )
    except NatsError as error:
        return unanswered(
            f"gate {gate} could not be asked ({_told(error)})",
            "connect again and ask again; see `lictor doctor`",
        )
    return read_answer(gate, request, answer_type, reply.data)


def read_answer(gate: str, request: GateRequest, answer_type: type[A], data: bytes) -> A:
    """The answer in these bytes; a denial when they hold none, or the answer to something else."""
    try:
        answer = answer_type.from_json(data)
    except ValidationError as error:
        return _malformed(gate, request, answer_type, _in_words(describe_validation_error(error)))
    except CanonicalError as error:
        return _malformed(gate, request, answer_type, str(error))
    # A gate that could not read the question denies without knowing its id.
    if answer.request_id != request.request_id and answer.decision != "deny":
        problem = f"it answers request {answer.request_id!r}"
        return _malformed(gate, request, answer_type, problem)
    return answer


def build_question(
    gate: str, request_type: type[GateRequest], answer_type: type[A], fields: Mapping[str, Any]
) -> GateRequest | A:
    """The question these fields make, or the denial of one that can't even be asked."""
    request_id = str(fields["request_id"])
    try:
        # Through JSON: a mapping is as good as a model there, and text as good as a name.
        return request_type.from_json(to_json(fields, by_alias=True, inf_nan_mode="constants"))
    except ValidationError as error:
        problem = _in_words(describe_validation_error(error))
    # ValueError: a mapping that contains itself.
    except (CanonicalError, PydanticSerializationError, ValueError) as error:
        problem = str(error)
    return denial(
        answer_type,
        request_id,
        MALFORMED_QUESTION,
        f"the question to gate {gate} is malformed: {problem}",
        "correct the named fields and ask again",
    )


def denial(answer_type: type[A], request_id: str, policy_id: str, reason: str, remedy: str) -> A:
    """A denial of our own, in the form of the gate's answers."""
    more: dict[str, Any] = {}
    if issubclass(answer_type, ToolGateAnswer):
        more = {"denials": (Denial(policy_id=policy_id, reason=reason, remedy=remedy),)}
    elif issubclass(answer_type, StopGateAnswer):
        more = {"status": "incomplete"}
    return answer_type(
        request_id=request_id,
        decision="deny",
        policy_id=policy_id,
        reason=reason,
        remedy=remedy,
        **more,
    )


def _malformed(gate: str, request: GateRequest, answer_type: type[A], problem: str) -> A:
    return denial(
        answer_type,
        request.request_id,
        MALFORMED_ANSWER,
        f"gate {gate} gave an answer that can't be used ({problem}), so the act is denied",
        "make sure that the services and this client have the same version",
    )


def _in_words(problems: tuple[FieldProblem, ...]) -> str:
    return "; ".join(f"{problem.path} {problem.problem}" for problem in problems[:5])


def _told(error: Exception) -> str:
    return str(error).removeprefix("nats: ") or type(error).__name__
