"""How a request to people stands, for a client that waits: read from what is stored of the runtime's own.

Nothing is decided, used or allowed by looking.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from typing import TYPE_CHECKING, Protocol

from nats.aio.client import Client

from lictor.errors import LictorError
from lictor.fast.answer_reader import Silence
from lictor.runtimes.http.bodies import ApprovalReply
from lictor.runtimes.http.sessions import OK, UNAVAILABLE, Replied, Unacceptable
from lictor_bus.gates.history import APPROVAL_ENTRIES, HistoryKind
from lictor_bus.logs.entry_logs import read_entry
from lictor_bus.wire.delivery import Delivery
from lictor_schema.approvals.approval import ApprovalEntry
from lictor_schema.approvals.call_approval import CallApprovalRequest
from lictor_schema.gates.history import HistoryFilter

if TYPE_CHECKING:
    from lictor.runtimes.lasting_connection import Reaching

MAX_WAIT_S = 60.0
MAX_WAITING = 256
"""So many wait at a time; who comes then is answered at once, so that gates keep their share of the server."""
UNKNOWN = "lictor.http.unknown-approval"
AWAY = "lictor.http.history-away"


class ApprovalHistory(Protocol):
    """What is stored of one runtime's own, as `lictor.history` reads it."""

    def follow(
        self, kind: HistoryKind, only: HistoryFilter, *, from_start: bool
    ) -> AsyncGenerator[Delivery, None]:
        """Every message once and in order, for ever."""
        ...

    def read(self, kind: HistoryKind, only: HistoryFilter) -> AsyncGenerator[Delivery, None]:
        """Every message that is stored now."""
        ...


HistoryOf = Callable[[Client], ApprovalHistory]


class HttpApprovals:
    """The requests about calls of one runtime."""

    def __init__(self, reaching: "Reaching", history_of: HistoryOf) -> None:
        self._reaching = reaching
        self._history_of = history_of
        self._waiting = 0

    async def show(self, session_id: str, request_id: str, wait_s: float) -> Replied:
        """How a request of a session stands, once people have decided or the time is over."""
        client = await self._reaching.connected()
        if isinstance(client, Silence):
            raise Unacceptable(UNAVAILABLE, AWAY, client.reason, "ask again")
        if self._waiting >= MAX_WAITING:
            wait_s = 0
        self._waiting += 1
        try:
            request, newest = await self._wait(self._history_of(client), request_id, wait_s)
        except LictorError as error:
            raise Unacceptable(UNAVAILABLE, AWAY, str(error), "ask again") from None
        finally:
            self._waiting -= 1
        if request is None or newest is None or request.binding.session_id != session_id:
            raise Unacceptable(
                404,
                UNKNOWN,
                f"no request {request_id} is known of this session",
                "ask `check` again",
            )
        return OK, _reply(request, newest)

    async def _wait(
        self, history: ApprovalHistory, request_id: str, wait_s: float
    ) -> tuple[CallApprovalRequest | None, ApprovalEntry | None]:
        only = HistoryFilter(id=request_id)
        request: CallApprovalRequest | None = None
        newest: ApprovalEntry | None = None
        after = 0
        async for each in history.read(APPROVAL_ENTRIES, only):
            after = each.sequence
            newest = read_entry(each, ApprovalEntry.from_json) or newest
            request = _request_of(newest) or request
        if wait_s <= 0 or (newest is not None and not newest.state.is_undecided):
            return request, newest
        try:
            async with (
                asyncio.timeout(wait_s),
                aclosing(history.follow(APPROVAL_ENTRIES, only, from_start=True)) as stored,
            ):
                async for each in stored:
                    if each.sequence <= after:
                        continue
                    newest = read_entry(each, ApprovalEntry.from_json) or newest
                    request = _request_of(newest) or request
                    if newest is not None and not newest.state.is_undecided:
                        break
        except TimeoutError:
            pass
        return request, newest


def _request_of(entry: ApprovalEntry | None) -> CallApprovalRequest | None:
    request = None if entry is None else entry.request
    return request if isinstance(request, CallApprovalRequest) else None


def _reply(request: CallApprovalRequest, newest: ApprovalEntry) -> ApprovalReply:
    waiting = newest.state.is_undecided
    told = "people are still to decide" if waiting else f"it is {newest.state.value} by {newest.by}"
    why = "" if newest.reason is None else f": {newest.reason}"
    return ApprovalReply(
        text=f"{told}{why}",
        request_id=request.request_id,
        state=newest.state.value,
        waiting=waiting,
        expires_at=request.expires_at,
    )
