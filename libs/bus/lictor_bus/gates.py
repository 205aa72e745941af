"""Gates: request/reply before an act. Whatever goes wrong inside one, the answer is a denial, never silence.

A gate parses the question itself, because a malformed one deserves an answer too: a runtime that gets no answer
must deny by itself, and learns nothing from it.
"""

import logging
from collections.abc import Awaitable, Callable
from typing import TypeVar

from faststream.nats import NatsBroker, NatsMessage
from pydantic import ValidationError

from lictor_bus import subjects
from lictor_bus.telemetry import Telemetry
from lictor_schema import CanonicalError, GateAnswer, GateRequest, describe_validation_error

log = logging.getLogger("lictor.gate")

R = TypeVar("R", bound=GateRequest)
Answerer = Callable[[R], Awaitable[GateAnswer]]

UNKNOWN_REQUEST = "unknown"


async def keep_bytes(message: NatsMessage) -> bytes:
    """A FastStream decoder that leaves the parsing to us."""
    return message.body


def answer_gate(
    broker: NatsBroker,
    telemetry: Callable[[], Telemetry],
    service: str,
    gate: str,
    request_type: type[R],
    answerer: "Answerer[R]",
    description: str,
) -> None:
    """Register a gate: one instance of the service answers each question."""

    async def respond(request: bytes) -> GateAnswer:
        answer = await answer_question(request, service, gate, request_type, answerer)
        telemetry().gate_answered(gate, answer.decision)
        return answer

    # Read by FastStream for the AsyncAPI document only: the brokers don't apply types (see service.py).
    respond.__annotations__["request"] = request_type
    broker.subscriber(
        subjects.gate(gate),
        queue=service,
        title=f"gate.{gate}",
        description=description,
        decoder=keep_bytes,
    )(respond)


async def answer_question(
    body: bytes, service: str, gate: str, request_type: type[R], answerer: "Answerer[R]"
) -> GateAnswer:
    """The answer to a question as it came; a denial when it can't be read or the gate breaks."""
    try:
        request = request_type.from_json(body)
    except ValidationError as error:
        problems = "; ".join(
            f"{problem.path} {problem.problem}" for problem in describe_validation_error(error)[:5]
        )
        return GateAnswer.deny(
            UNKNOWN_REQUEST,
            f"{service}.malformed-request",
            f"the question to gate {gate} is malformed: {problems}",
            "correct the named fields and ask again",
        )
    except CanonicalError as error:
        return GateAnswer.deny(
            UNKNOWN_REQUEST,
            f"{service}.malformed-request",
            f"the question to gate {gate} is malformed: {error}",
            "send plain JSON",
        )
    try:
        return await answerer(request)
    except Exception as error:
        log.exception("gate %s failed", gate)
        return GateAnswer.deny(
            request.request_id,
            f"{service}.internal-error",
            f"gate {gate} failed inside: {type(error).__name__}",
            "look at the service's log; the act stays denied until the gate works",
        )


def refuse_for_now(
    broker: NatsBroker,
    telemetry: Callable[[], Telemetry],
    service: str,
    gate: str,
    request_type: type[GateRequest],
) -> None:
    """Register a gate that this version can't judge yet: it denies everything and says so."""

    async def refuse(request: GateRequest) -> GateAnswer:
        return GateAnswer.deny(
            request.request_id,
            f"{service}.not-available",
            f"this version of {service} can't judge {gate} requests yet, so it denies them",
            "use a version that implements this gate, or don't put the act behind it",
        )

    answer_gate(
        broker,
        telemetry,
        service,
        gate,
        request_type,
        refuse,
        f"Gate `{gate}`: this version denies every request (it can't judge them yet).",
    )
