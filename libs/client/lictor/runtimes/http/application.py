"""The guard over HTTP, for agents in any language: `POST /v1/sessions/{id}/{operation}` with JSON in and out.

A client that reads only `decision` (or `ok`) is safe: every reply has one of them, and whatever went wrong says `deny`
and false. The status tells why: 400 the question, 401 the token, 413 its size, 503 nobody could answer.
"""

import re
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote, unquote

from pydantic import ValidationError
from starlette.applications import Starlette
from starlette.convertors import StringConvertor, register_url_convertor
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from lictor.fast.session_operations import MAX_ID
from lictor.runtimes.http import bodies as bodies
from lictor.runtimes.http.admission import MALFORMED, Admission, answer, answer_refused
from lictor.runtimes.http.approvals import MAX_WAIT_S, HistoryOf, HttpApprovals
from lictor.runtimes.http.sessions import HttpSessions, Replied, Unacceptable
from lictor_schema.core.base_model import Model
from lictor_schema.core.canonical_json import CanonicalError
from lictor_schema.errors import describe_validation_error

if TYPE_CHECKING:
    from lictor.runtimes.lasting_connection import Reaching

UNKNOWN_PATH = "lictor.http.unknown-path"
BROKEN = "lictor.http.internal-error"
SESSIONS = "/v1/sessions"
_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
PUBLIC = frozenset((("GET", "/health"), ("GET", "/openapi.json")))


class HttpOperation(NamedTuple):
    """One thing that can be asked of a session."""

    body: type[Model]
    reply: type[Model]
    work: Callable[[HttpSessions, str, Any], Awaitable[Replied]]


OPERATIONS = {
    "begin": HttpOperation(bodies.BeginBody, bodies.SessionReply, HttpSessions.begin),
    "check": HttpOperation(bodies.CheckBody, bodies.CheckReply, HttpSessions.check),
    "cancel": HttpOperation(bodies.CancelBody, bodies.ReportReply, HttpSessions.cancel),
    "result": HttpOperation(bodies.ResultBody, bodies.ReportReply, HttpSessions.result),
    "feedback": HttpOperation(bodies.FeedbackBody, bodies.FeedbackReply, HttpSessions.feedback),
    "stop": HttpOperation(bodies.StopBody, bodies.StopReply, HttpSessions.stop),
    "usage": HttpOperation(bodies.UsageBody, bodies.ReportReply, HttpSessions.usage),
    "snapshot": HttpOperation(bodies.SnapshotBody, bodies.StateReply, HttpSessions.snapshot),
    "restore": HttpOperation(bodies.RestoreBody, bodies.StateReply, HttpSessions.restore),
    "reset": HttpOperation(bodies.ResetBody, bodies.StateReply, HttpSessions.reset),
}
"""Each is asked by POST {SESSIONS}/{session_id}/{name}; the routes and the OpenAPI document come from this table."""


class _Segment(StringConvertor):
    """One segment of a path, an empty one too: that is a malformed id, and no unknown path."""

    regex = "[^/]*"


register_url_convertor("segment", _Segment())


class HttpAdapter(Starlette):
    """The application."""

    def __init__(
        self,
        sessions: HttpSessions,
        reaching: "Reaching",
        token: str,
        document: bytes,
        history_of: HistoryOf | None = None,
    ) -> None:
        """Without `history_of`, how requests to people stand is not shown."""
        approvals = None if history_of is None else HttpApprovals(reaching, history_of)

        async def approval(request: Request) -> Response:
            session_id = _session_id(request.path_params["session_id"])
            request_id = request.path_params["request_id"]
            wait_s = _wait_s(request.query_params.get("wait", "0"))
            if not _UUID.fullmatch(request_id):
                raise Unacceptable(400, MALFORMED, "the request's id is not a UUID in lower case")
            if approvals is None:
                raise HTTPException(404)
            status, reply = await approvals.show(session_id, request_id, wait_s)
            return answer(status, reply.to_json())

        async def health(_: Request) -> Response:
            ready = await reaching.reachable()
            return answer(200, b'{"ready":true}') if ready else answer(503, b'{"ready":false}')

        async def openapi(_: Request) -> Response:
            return answer(200, document)

        super().__init__(
            routes=[
                *(
                    Route(
                        f"{SESSIONS}/{{session_id:segment}}/{name}",
                        _endpoint(sessions, each),
                        methods=["POST"],
                    )
                    for name, each in OPERATIONS.items()
                ),
                Route(
                    f"{SESSIONS}/{{session_id:segment}}/approvals/{{request_id:segment}}", approval
                ),
                Route("/health", health),
                Route("/openapi.json", openapi),
            ],
            middleware=[Middleware(Admission, token=token, public=PUBLIC)],
            exception_handlers={
                Unacceptable: _refused,
                HTTPException: _not_there,
                Exception: _broken,
            },
        )
        # A path with a slash too many is unknown.
        self.router.redirect_slashes = False


def _endpoint(
    sessions: HttpSessions, operation: HttpOperation
) -> Callable[[Request], Awaitable[Response]]:
    async def endpoint(request: Request) -> Response:
        session_id = _session_id(request.path_params["session_id"])
        try:
            body = _read(operation.body, await request.body())
        except Unacceptable as error:
            if operation is OPERATIONS["check"]:
                await sessions.refused(session_id, error)
            raise
        status, reply = await operation.work(sessions, session_id, body)
        asked = reply.approval if isinstance(reply, bodies.CheckReply) and reply.asked else None
        if asked is None:
            return answer(status, reply.to_json())
        place = f"{SESSIONS}/{quote(session_id, safe='')}/approvals/{asked.request_id}"
        return answer(status, reply.to_json(), location=place)

    return endpoint


def _session_id(segment: str) -> str:
    try:
        session_id = unquote(segment, errors="strict")
    except UnicodeDecodeError:
        raise Unacceptable(400, MALFORMED, "the session's id is not UTF-8 text") from None
    if not 0 < len(session_id) <= MAX_ID:
        raise Unacceptable(
            400, MALFORMED, f"the session's id has {len(session_id)} characters, not 1 to {MAX_ID}"
        )
    return session_id


def _wait_s(text: str) -> float:
    try:
        wait_s = float(text)
    except ValueError:
        wait_s = -1.0
    if not 0 <= wait_s <= MAX_WAIT_S:
        raise Unacceptable(
            400, MALFORMED, f"wait is not a number of seconds from 0 to {MAX_WAIT_S:g}"
        )
    return wait_s


def _read(model: type[Model], body: bytes) -> Model:
    try:
        return model.from_json(body or b"{}")
    except ValidationError as error:
        problems = "; ".join(
            f"{problem.path} {problem.problem}" for problem in describe_validation_error(error)[:5]
        )
        raise Unacceptable(400, MALFORMED, f"the body is malformed: {problems}") from None
    except CanonicalError as error:
        raise Unacceptable(400, MALFORMED, f"the body is no plain JSON: {error}") from None


async def _refused(_: Request, error: Exception) -> Response:
    assert isinstance(error, Unacceptable)
    return answer_refused(error)


async def _not_there(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    name = request.scope["path"].rpartition("/")[2]
    if error.status_code == 405 and name in OPERATIONS:
        refused = Unacceptable(405, UNKNOWN_PATH, f"{name} is asked by POST")
        return answer_refused(refused, allow="POST")
    told = f"ask POST {SESSIONS}/SESSION/OPERATION; see /openapi.json"
    return answer_refused(Unacceptable(404, UNKNOWN_PATH, told))


async def _broken(_: Request, error: Exception) -> Response:
    """Starlette raises the error again after this: the server logs it."""
    told = f"the adapter failed inside: {type(error).__name__}"
    return answer(500, bodies.Refusal(policy_id=BROKEN, text=told).to_json())
