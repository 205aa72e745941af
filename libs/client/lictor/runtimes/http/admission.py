"""What every request passes before its route: the token, how many are under way, how large and how slow a body may be.

The middleware answers what it refuses, and hands the rest on with a `receive` that raises `Unacceptable` as soon as a
body breaks its bounds: no route can read more, nor wait longer.
"""

import asyncio
import hmac
from collections.abc import Container

from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from lictor.fast.verdicts import TOO_LARGE
from lictor.runtimes.http.sessions import Unacceptable

MAX_BODY = 1024 * 1024
BODY_WITHIN_S = 10.0
MAX_AT_ONCE = 512
MALFORMED = "lictor.http.malformed-request"
UNAUTHORIZED = "lictor.http.unauthorized"
TOO_SLOW = "lictor.http.too-slow"
BUSY = "lictor.http.busy"


class Admission:
    """Lets in who has the token, and anybody to what is public (a method and a path)."""

    def __init__(self, app: ASGIApp, token: str, public: Container[tuple[str, str]]) -> None:
        self._app = app
        self._expected = f"bearer {token}".encode()
        self._public = public
        self._under_way = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Hand a request on, or answer why not."""
        if scope["type"] != "http":
            raise RuntimeError(f"only HTTP is answered here, not {scope['type']}")
        # Routes see the path as it was sent: an id may hold an encoded slash. Their patterns would overlook a last \n.
        raw: bytes = scope.get("raw_path") or scope["path"].encode()
        scope["path"] = raw.split(b"?")[0].replace(b"\n", b"%0A").decode("ascii", "replace")
        self._under_way += 1
        try:
            if (scope["method"], scope["path"]) not in self._public:
                self._refuse(scope)
        except Unacceptable as error:
            await answer_refused(error)(scope, receive, send)
        else:
            await self._app(scope, _bounded(scope, receive), send)
        finally:
            self._under_way -= 1

    def _refuse(self, scope: Scope) -> None:
        if self._under_way > MAX_AT_ONCE:
            raise Unacceptable(503, BUSY, "too many requests at once; ask again")
        given = [value for name, value in scope["headers"] if name == b"authorization"]
        scheme, _, token = (given[0] if len(given) == 1 else b"").partition(b" ")
        if not hmac.compare_digest(scheme.lower() + b" " + token, self._expected):
            raise Unacceptable(
                401, UNAUTHORIZED, "send the header `Authorization: Bearer TOKEN` with our token"
            )


def answer(status: int, body: bytes, **headers: str) -> Response:
    """JSON that nobody may keep."""
    headers["cache-control"] = "no-store"
    return Response(body, status, headers, "application/json")


def answer_refused(error: Unacceptable, **headers: str) -> Response:
    """Why a question is not asked."""
    status, reply = error.replied
    if status == 401:
        headers["www-authenticate"] = "Bearer"
    return answer(status, reply.to_json(), **headers)


def _bounded(scope: Scope, receive: Receive) -> Receive:
    size = 0
    lengths = [value for name, value in scope["headers"] if name == b"content-length"]
    # A length that is no number is the server's business; what comes is counted anyway.
    declared = max((int(each) for each in lengths if each.isdigit()), default=0)
    deadline = asyncio.get_running_loop().time() + BODY_WITHIN_S

    async def bounded() -> Message:
        nonlocal size
        _refuse_large(declared)
        try:
            async with asyncio.timeout_at(deadline):
                message = await receive()
        except TimeoutError:
            told = f"the body did not arrive within {BODY_WITHIN_S:g} s"
            raise Unacceptable(408, TOO_SLOW, told) from None
        if message["type"] == "http.disconnect":
            raise Unacceptable(400, MALFORMED, "the client left")
        size += len(message.get("body", b""))
        _refuse_large(size)
        return message

    return bounded


def _refuse_large(size: int) -> None:
    if size > MAX_BODY:
        told = f"the body has more than {MAX_BODY} bytes"
        raise Unacceptable(413, TOO_LARGE, told, "pass large content through a file")
