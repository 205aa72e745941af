"""Gates: request/reply before an act. Whatever goes wrong inside one, the answer is a denial, never silence.

A gate parses the question itself, because a malformed one deserves an answer too: a runtime that gets no answer
must deny by itself, and learns nothing from it.
"""

import logging
import re
from collections.abc import Awaitable, Callable
from typing import TypeVar

from faststream.nats import NatsMessage
from pydantic import ValidationError

from lictor_bus.errors import MalformedQuestion
from lictor_schema.core.canonical_json import (
    CanonicalError,
    refuse_duplicate_keys,
    surely_without_duplicates,
)
from lictor_schema.errors import describe_validation_error
from lictor_schema.gates.gate import GateAnswer, GateRequest

log = logging.getLogger("lictor.gate")

R = TypeVar("R", bound=GateRequest)
Answerer = Callable[[R], Awaitable[GateAnswer]]

UNKNOWN_REQUEST = "unknown"

# What may stand for a number that JSON does not have; in text it only costs a closer look. The names are looked for
# apart: an expression that can begin in several ways is tried at every byte.
_NOT_NUMBERS = (b"NaN", b"Infinity")
_PERHAPS_NOT_FINITE = re.compile(rb"[\[:, \t\n\r]-?[0-9](?:[0-9.]*[eE]|[0-9]{299})")


async def keep_bytes(message: NatsMessage) -> bytes:
    """A FastStream decoder that leaves the parsing to us."""
    return message.body


def read_question(body: bytes, request_type: type[R]) -> R:
    """A question from its bytes; MalformedQuestion names the fields that are wrong."""
    try:
        request = request_type.model_validate_json(body, by_name=False, by_alias=True)
        # Most need no second parsing: there is nothing in them that Pydantic reads otherwise than we do.
        if _perhaps_not_finite(body) or not surely_without_duplicates(body, request):
            refuse_duplicate_keys(body)
    except ValidationError as error:
        problems = "; ".join(
            f"{problem.path} {problem.problem}" for problem in describe_validation_error(error)[:5]
        )
        raise MalformedQuestion(problems, "correct the named fields and ask again") from None
    except CanonicalError as error:
        raise MalformedQuestion(str(error), "send plain JSON") from None
    return request


def _perhaps_not_finite(body: bytes) -> bool:
    return any(name in body for name in _NOT_NUMBERS) or bool(_PERHAPS_NOT_FINITE.search(body))


async def answer_question(
    body: bytes, service: str, gate: str, request_type: type[R], answerer: "Answerer[R]"
) -> GateAnswer:
    """The answer to a question as it came; a denial when it can't be read or the gate breaks."""
    try:
        request = read_question(body, request_type)
    except MalformedQuestion as error:
        return GateAnswer.deny(
            UNKNOWN_REQUEST,
            f"{service}.malformed-request",
            f"the question to gate {gate} is malformed: {error}",
            error.remedy,
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
