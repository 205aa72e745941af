"""Asking a gate. Whatever goes wrong on the way, the answer is a denial that says so.

Never an error, which a caller might swallow, and never a yes.
"""

from collections.abc import Mapping
from typing import Any

from nats.aio.client import Client
from nats.errors import Error as NatsError
from nats.errors import NoRespondersError
from nats.errors import TimeoutError as NatsTimeout
from pydantic import ValidationError
from pydantic_core import PydanticSerializationError, to_json

from lictor_bus import subjects
from lictor_schema import (
    CanonicalError,
    FieldProblem,
    GateAnswer,
    GateRequest,
    describe_validation_error,
)

GATE_TIMEOUT_S = 2.0
UNANSWERED = "lictor.client.unanswered"
MALFORMED_ANSWER = "lictor.client.malformed-answer"
MALFORMED_QUESTION = "lictor.client.malformed-question"


async def ask_gate(
    client: Client, gate: str, request: GateRequest, timeout_s: float = GATE_TIMEOUT_S
) -> GateAnswer:
    """The gate's answer, or a denial with the reason there is none."""
    try:
        question = request.to_json()
    except PydanticSerializationError as error:
        return GateAnswer.deny(
            request.request_id,
            MALFORMED_QUESTION,
            f"the question to gate {gate} can't be written as JSON: {error}",
            "ask with plain JSON values",
        )
    try:
        reply = await client.request(subjects.gate(gate), question, timeout=timeout_s)
    except NoRespondersError:
        return GateAnswer.deny(
            request.request_id,
            UNANSWERED,
            f"no service answers gate {gate}, so the act is denied",
            "start the services with `lictor up`, or see `lictor doctor`, and ask again",
        )
    except NatsTimeout:
        return GateAnswer.deny(
            request.request_id,
            UNANSWERED,
            f"gate {gate} did not answer within {timeout_s:g} s, so the act is denied",
            "ask again; if it stays silent, see `lictor doctor`",
        )
    except NatsError as error:
        return GateAnswer.deny(
            request.request_id,
            UNANSWERED,
            f"gate {gate} could not be asked ({_told(error)}), so the act is denied",
            "connect again and ask again; see `lictor doctor`",
        )
    return read_answer(gate, request, reply.data)


def read_answer(gate: str, request: GateRequest, data: bytes) -> GateAnswer:
    """The answer in these bytes; a denial when they hold none, or the answer to something else."""
    try:
        answer = GateAnswer.from_json(data)
    except ValidationError as error:
        return _malformed(gate, request, _in_words(describe_validation_error(error)))
    except CanonicalError as error:
        return _malformed(gate, request, str(error))
    # A gate that could not read the question denies without knowing its id.
    if answer.request_id != request.request_id and answer.decision != "deny":
        return _malformed(gate, request, f"it answers request {answer.request_id!r}")
    return answer


def build_question(
    gate: str, request_type: type[GateRequest], fields: Mapping[str, Any]
) -> GateRequest | GateAnswer:
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
    return GateAnswer.deny(
        request_id,
        MALFORMED_QUESTION,
        f"the question to gate {gate} is malformed: {problem}",
        "correct the named fields and ask again",
    )


def _malformed(gate: str, request: GateRequest, problem: str) -> GateAnswer:
    return GateAnswer.deny(
        request.request_id,
        MALFORMED_ANSWER,
        f"gate {gate} gave an answer that can't be used ({problem}), so the act is denied",
        "make sure that the services and this client have the same version",
    )


def _in_words(problems: tuple[FieldProblem, ...]) -> str:
    return "; ".join(f"{problem.path} {problem.problem}" for problem in problems[:5])


def _told(error: Exception) -> str:
    return str(error).removeprefix("nats: ") or type(error).__name__
