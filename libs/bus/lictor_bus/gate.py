"""A gate: one question that a service answers, declared once.

The declaration says where the question is asked and by whom, how large it may be, how long the answer may take, what
a denial looks like, and where denials are recorded. `gates.gate_runner` answers by it, the rights of NATS users and the
AsyncAPI documents are derived from it.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar

from pydantic import ValidationError

from lictor_bus.errors import MalformedQuestion
from lictor_bus.names import subjects
from lictor_schema.core.base_model import Model
from lictor_schema.core.canonical_json import (
    CanonicalError,
    refuse_duplicate_keys,
    surely_without_duplicates,
)
from lictor_schema.errors import FieldProblem, describe_validation_error
from lictor_schema.gates.gate import GateRequest

if TYPE_CHECKING:
    from lictor_bus.service.telemetry import ServiceTelemetry

RUNTIMES = "runtimes"
"""Asked by every runtime; on a subject with ``{runtime}`` only in its own name."""
OPERATORS = "operators"

UNKNOWN_REQUEST = "unknown"
"""The id in the answer to a question that can't be read."""

_PLACE = re.compile(r"\{\w+\}")
_LONGEST_TEXT = 4_000

# What may stand for a number that JSON does not have; in text it only costs a closer look. The names are looked for
# apart: an expression that can begin in several ways is tried at every byte.
_NOT_NUMBERS = (b"NaN", b"Infinity")
_PERHAPS_NOT_FINITE = re.compile(rb"[\[:, \t\n\r]-?[0-9](?:[0-9.]*[eE]|[0-9]{299})")

Q = TypeVar("Q", bound=Model)
A = TypeVar("A", bound=Model)


class GateRefusal(NamedTuple):
    """Why a question is denied before anybody judged it."""

    policy_id: str
    reason: str
    remedy: str
    problems: tuple[FieldProblem, ...] = ()
    """The fields of a malformed question that are wrong."""


class Repeats(Enum):
    """What gives a question that is asked twice its first answer."""

    LOGGED = "logged"
    """The handler: it finds the request id in its log."""
    REMEMBERED = "remembered"
    """The runner: it remembers its last answers."""
    READ = "read"
    """Nothing: the question changes nothing, and is answered by what is true now."""


@dataclass(frozen=True, kw_only=True)
class Refusals:
    """The denials that a gate gives by itself. Policy ids are data: sealed episodes and clients compare them."""

    malformed: str
    unavailable: str
    """Also for a question that takes too long, and for one too many: asking again may help."""
    broken: str
    unrecorded: str
    away: str = "what the answer depends on can't be reached"
    """The reason during an outage."""
    on_record: str = "it must be on record before it is given"
    """Why an answer that can't be recorded is not given."""
    again: str = "ask again"
    """What helps then."""


@dataclass(frozen=True, kw_only=True)
class Gate(Generic[Q, A]):
    """The declaration of one question."""

    subject: str
    """With ``{runtime}`` as its last token where runtimes ask in their own name."""
    title: str
    description: str
    request: type[Q]
    answer: type[A]
    service: str
    """Who answers."""
    asked_by: tuple[str, ...]
    """RUNTIMES, OPERATORS, or the name of a service."""
    refuse: Callable[[str, GateRefusal], A]
    """The answer that a denial is, to the question with this id."""
    refusals: Refusals
    within_s: float
    """From arrival to the handler's answer; shorter than the caller's timeout."""
    share_of_payload: float
    """How much of what the broker takes in one message a question may have."""
    repeats: Repeats
    records: tuple[str, ...] = ()
    """The subjects on which denials are recorded that no log holds; none where a denial only leaves all as it was."""
    records_unreadable: bool = True
    """Whether a question that can't be read is recorded too, if it names its task."""
    record_within_s: float = 0.3
    """How long an answer waits for its record; added to ``within_s``."""
    named_by: str = "request_id"
    """The field of the question that the answer repeats."""
    count: "Callable[[ServiceTelemetry, A], None] | None" = None
    """Counts an answer for the metrics."""

    @cached_property
    def wildcard(self) -> str:
        """What to subscribe to."""
        return _PLACE.sub("*", self.subject)

    def subject_of(self, runtime: str) -> str:
        """Where a runtime asks."""
        return _PLACE.sub(subjects.token(runtime), self.subject)

    @cached_property
    def is_of_runtime(self) -> bool:
        """Whether the subject names the runtime that asks."""
        return self.subject.endswith(".{runtime}")

    def read(self, body: bytes, max_payload: int) -> Q:
        """The question in these bytes; MalformedQuestion says what is wrong with it and what to do."""
        limit = int(max_payload * self.share_of_payload)
        if len(body) > limit:
            raise MalformedQuestion(
                f"it has {len(body)} bytes, more than {limit}",
                "send less: large content belongs in a file that the question names",
            )
        return _read(body, self.request)

    def refuse_other_runtime(self, subject: str, request: Q) -> None:
        """The subject is what a runtime was given rights for; the body is only what it says."""
        if not self.is_of_runtime:
            return
        runtime: str = getattr(request, "runtime", "")
        if not runtime or subjects.token(runtime) != subject.rpartition(".")[2]:
            problem = f"{runtime!r} is not the runtime of subject {subject}"
            raise MalformedQuestion(
                f"runtime {problem}",
                "ask on the subject of your own runtime",
                (FieldProblem(path="runtime", problem=printable(problem)[:1000], excerpt=""),),
            )

    def id_of(self, request: Q | None) -> str:
        """The id that the answer repeats."""
        return UNKNOWN_REQUEST if request is None else getattr(request, self.named_by)

    def denial(self, request: Q | None, refusal: GateRefusal) -> A:
        """The answer that a denial is."""
        return self.refuse(self.id_of(request), refusal)


def printable(text: str) -> str:
    """Text that any answer can hold: of bounded length, and without halves of surrogate pairs."""
    return text[:_LONGEST_TEXT].encode("utf-8", "replace").decode() or "no reason is known"


def _read(body: bytes, request_type: type[Q]) -> Q:
    try:
        if not issubclass(request_type, GateRequest):
            return request_type.from_json(body)
        request = request_type.model_validate_json(body, by_name=False, by_alias=True)
        # Most need no second parsing: there is nothing in them that Pydantic reads otherwise than we do.
        if _perhaps_not_finite(body) or not surely_without_duplicates(body, request):
            refuse_duplicate_keys(body)
    except ValidationError as error:
        problems = describe_validation_error(error)
        told = "; ".join(f"{problem.path} {problem.problem}" for problem in problems[:5])
        raise MalformedQuestion(told, "correct the named fields and ask again", problems) from None
    except CanonicalError as error:
        raise MalformedQuestion(str(error), "send plain JSON") from None
    return request


def _perhaps_not_finite(body: bytes) -> bool:
    return any(name in body for name in _NOT_NUMBERS) or bool(_PERHAPS_NOT_FINITE.search(body))
