"""The guard over HTTP, for agents in any language: `POST /v1/sessions/{id}/{operation}` with JSON in and out.

A client that reads only `decision` (or `ok`) is safe: every reply has one of them, and whatever went wrong says `deny`
and false. The status tells why: 400 the question, 401 the token, 413 its size, 503 nobody could answer.
"""

import asyncio
import hmac
import logging
from collections.abc import Awaitable, Callable, MutableMapping
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import unquote

from pydantic import ValidationError

from lictor.fast.session_operations import MAX_ID
from lictor.fast.verdicts import TOO_LARGE
from lictor.runtimes.http import bodies as bodies
from lictor.runtimes.http.sessions import HttpSessions, Replied, Unacceptable
from lictor_schema.core.base_model import Model
from lictor_schema.core.canonical_json import CanonicalError
from lictor_schema.errors import describe_validation_error

if TYPE_CHECKING:
    from lictor.runtimes.lasting_connection import Reaching

log = logging.getLogger("lictor.client")

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

MAX_BODY = 1024 * 1024
BODY_WITHIN_S = 10.0
MAX_AT_ONCE = 512
MALFORMED = "lictor.http.malformed-request"
UNAUTHORIZED = "lictor.http.unauthorized"
UNKNOWN_PATH = "lictor.http.unknown-path"
TOO_SLOW = "lictor.http.too-slow"
BUSY = "lictor.http.busy"
BROKEN = "lictor.http.internal-error"


class HttpOperation(NamedTuple):
    """One thing that can be asked of a session."""

    body: type[Model]
    reply: type[Model]
    work: Callable[[HttpSessions, str, Any], Awaitable[Replied]]


OPERATIONS = {
    "begin": HttpOperation(bodies.BeginBody, bodies.SessionReply, HttpSessions.begin),
    "check": HttpOperation(bodies.CheckBody, bodies.CheckReply, HttpSessions.check),
    "result": HttpOperation(bodies.ResultBody, bodies.ReportReply, HttpSessions.result),
    "feedback": HttpOperation(bodies.FeedbackBody, bodies.FeedbackReply, HttpSessions.feedback),
    "stop": HttpOperation(bodies.StopBody, bodies.StopReply, HttpSessions.stop),
    "usage": HttpOperation(bodies.UsageBody, bodies.ReportReply, HttpSessions.usage),
    "snapshot": HttpOperation(bodies.SnapshotBody, bodies.StateReply, HttpSessions.snapshot),
    "restore": HttpOperation(bodies.RestoreBody, bodies.StateReply, HttpSessions.restore),
    "reset": HttpOperation(bodies.ResetBody, bodies.StateReply, HttpSessions.reset),
}


class HttpAdapter:
    """A plain ASGI application."""

    def __init__(
        self, sessions: HttpSessions, reaching: "Reaching", token: str, document: bytes
    ) -> None:
        self._sessions = sessions
        self._reaching = reaching
        self._expected = f"bearer {token}".encode()
        self._document = document
        self._at_once = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            raise RuntimeError(f"only HTTP is answered here, not {scope['type']}")
        self._at_once += 1
        try:
            status, body = await self._answer(scope, receive)
        finally:
            self._at_once -= 1
        headers = [
            (b"content-type", b"application/json"),
            (b"content-length", str(len(body)).encode()),
            (b"cache-control", b"no-store"),
        ]
        if status == 401:
            headers.append((b"www-authenticate", b"Bearer"))
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    async def _answer(self, scope: Scope, receive: Receive) -> tuple[int, bytes]:
        if (scope["method"], scope["path"]) == ("GET", "/health"):
            ready = await self._reaching.reachable()
            return (200, b'{"ready":true}') if ready else (503, b'{"ready":false}')
        if (scope["method"], scope["path"]) == ("GET", "/openapi.json"):
            return 200, self._document
        try:
            status, reply = await self._judge(scope, receive)
        except Unacceptable as error:
            status, reply = error.replied
        except Exception as error:
            log.exception("a request failed")
            reply = bodies.Refusal(
                policy_id=BROKEN, text=f"the adapter failed inside: {type(error).__name__}"
            )
            status = 500
        return status, reply.to_json()

    async def _judge(self, scope: Scope, receive: Receive) -> Replied:
        if self._at_once > MAX_AT_ONCE:
            raise Unacceptable(503, BUSY, "too many requests at once; ask again")
        self._refuse_strangers(scope)
        session_id, operation = _asked(scope)
        try:
            body = _read(operation.body, await _body(receive))
        except Unacceptable as error:
            if operation is OPERATIONS["check"]:
                await self._sessions.refused(session_id, error)
            raise
        return await operation.work(self._sessions, session_id, body)

    def _refuse_strangers(self, scope: Scope) -> None:
        given = [value for name, value in scope["headers"] if name == b"authorization"]
        scheme, _, token = (given[0] if len(given) == 1 else b"").partition(b" ")
        if not hmac.compare_digest(scheme.lower() + b" " + token, self._expected):
            raise Unacceptable(
                401, UNAUTHORIZED, "send the header `Authorization: Bearer TOKEN` with our token"
            )


def _asked(scope: Scope) -> tuple[str, HttpOperation]:
    """The session and what is asked of it. The raw path is read: an id may hold an encoded slash."""
    raw = scope.get("raw_path") or scope["path"].encode()
    parts = raw.split(b"?")[0].decode("ascii", "replace").split("/")
    if len(parts) != 5 or parts[:3] != ["", "v1", "sessions"] or parts[4] not in OPERATIONS:
        raise Unacceptable(
            404, UNKNOWN_PATH, "ask POST /v1/sessions/SESSION/OPERATION; see /openapi.json"
        )
    if scope["method"] != "POST":
        raise Unacceptable(405, UNKNOWN_PATH, f"{parts[4]} is asked by POST")
    try:
        session_id = unquote(parts[3], errors="strict")
    except UnicodeDecodeError:
        raise Unacceptable(400, MALFORMED, "the session's id is not UTF-8 text") from None
    if not 0 < len(session_id) <= MAX_ID:
        raise Unacceptable(
            400, MALFORMED, f"the session's id has {len(session_id)} characters, not 1 to {MAX_ID}"
        )
    return session_id, OPERATIONS[parts[4]]


async def _body(receive: Receive) -> bytes:
    parts: list[bytes] = []
    size = 0
    try:
        async with asyncio.timeout(BODY_WITHIN_S):
            while True:
                message = await receive()
                if message["type"] == "http.disconnect":
                    raise Unacceptable(400, MALFORMED, "the client left")
                parts.append(message.get("body", b""))
                size += len(parts[-1])
                if size > MAX_BODY:
                    raise Unacceptable(
                        413,
                        TOO_LARGE,
                        f"the body has more than {MAX_BODY} bytes",
                        "pass large content through a file",
                    )
                if not message.get("more_body"):
                    return b"".join(parts)
    except TimeoutError:
        raise Unacceptable(
            408, TOO_SLOW, f"the body did not arrive within {BODY_WITHIN_S:g} s"
        ) from None


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
