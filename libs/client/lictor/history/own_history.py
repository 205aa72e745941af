"""What is stored of a runtime's own: asked of the services that own the streams, followed by a bell.

The place in the stream is kept here, by sequence, and nowhere else. The live copy of what the broker stores is only a
bell: what is yielded always comes from the history gate, behind the last sequence that was seen. So nothing is lost and
nothing comes twice, over reconnects, restarts of the service that answers, and bells that were missed: without a bell
it asks from time to time.
"""

# pyright: reportUnknownMemberType=false
# nats-py leaves some of its parameters untyped.

import asyncio
import logging
import uuid
from collections.abc import AsyncGenerator
from types import TracebackType
from typing import NamedTuple, Self, TypeVar

from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.aio.subscription import Subscription
from nats.errors import Error as NatsError
from pydantic import ValidationError

from lictor.errors import LictorError, Unreachable
from lictor.history.stored_history import EVERYTHING
from lictor.history.stream_follower import FIRST_PAUSE_S, LONGEST_PAUSE_S, LOOK_S, wait_out
from lictor_bus.gate import Gate
from lictor_bus.gates.history import PUBLISHED_KINDS, STORED_KINDS, HistoryKind, PublishedKind
from lictor_bus.wire.delivery import NO_HEADERS, Delivery
from lictor_schema.core.canonical_json import CanonicalError
from lictor_schema.gates.history import (
    HistoryAnswer,
    HistoryFilter,
    HistoryMessage,
    HistoryRequest,
    PublishedAnswer,
    PublishedRequest,
)

log = logging.getLogger("lictor.client")

_PAGE = 200
_ASK_S = 5.0
_READ_WITHIN_S = 10.0
_FIRST_POLL_S = 1.0
_LONGEST_POLL_S = 5.0

Q = TypeVar("Q", HistoryRequest, PublishedRequest)
A = TypeVar("A", HistoryAnswer, PublishedAnswer)


class _AwayError(Exception):
    """There is no answer for now; asking again may help."""


class _Page(NamedTuple):
    found: list[Delivery]
    last: int
    is_cut: bool


class OwnHistory:
    """Reads what is stored of one runtime's own."""

    def __init__(self, client: Client, runtime: str) -> None:
        self._client = client
        self._runtime = runtime

    async def follow(
        self, kind: HistoryKind, only: HistoryFilter = EVERYTHING, *, from_start: bool
    ) -> AsyncGenerator[Delivery, None]:
        """Every message once and in order, for ever; ends only by an error: the connection was closed."""
        async with _Bell(self._client, kind.sought(self._runtime, only).live) as bell:
            after = 0 if from_start else (await self._page(kind, only, 0, limit=0)).last
            poll_s = _FIRST_POLL_S
            while True:
                bell.listen()
                page = await self._page(kind, only, after)
                for delivery in page.found:
                    after = delivery.sequence
                    poll_s = _FIRST_POLL_S
                    yield delivery
                after = page.last
                if page.is_cut or (page.found and bell.heard > after):
                    continue
                await bell.rung(poll_s)
                poll_s = min(poll_s * 2, _LONGEST_POLL_S)

    async def read(
        self, kind: HistoryKind, only: HistoryFilter = EVERYTHING, *, after: int = 0
    ) -> AsyncGenerator[Delivery, None]:
        """Every message behind a sequence that is stored now; raises Unreachable when nobody says."""
        while True:
            page = await self._page(kind, only, after, within_s=_READ_WITHIN_S)
            for delivery in page.found:
                yield delivery
            after = page.last
            if not page.found and not page.is_cut:
                return

    async def published(self, kind: PublishedKind, sequence: int) -> PublishedAnswer:
        """What became of a published message; raises Unreachable when nobody says."""
        request = PublishedRequest(
            request_id=str(uuid.uuid4()), runtime=self._runtime, sequence=sequence
        )
        try:
            return await self._ask(PUBLISHED_KINDS[kind], request)
        except _AwayError as away:
            raise Unreachable(str(away)) from None

    async def _page(
        self,
        kind: HistoryKind,
        only: HistoryFilter,
        after: int,
        *,
        limit: int = _PAGE,
        within_s: float | None = None,
    ) -> _Page:
        """The next page; one that nobody answers is asked for again, for so long or for ever."""
        loop = asyncio.get_running_loop()
        until = None if within_s is None else loop.time() + within_s
        pause = FIRST_PAUSE_S
        while True:
            try:
                return await self._whole(kind, only, after, limit)
            except _AwayError as away:
                if until is not None and loop.time() + pause >= until:
                    raise Unreachable(str(away)) from None
                log.debug("asking for %s again from %d: %s", kind.name, after, away)
            await wait_out(self._client, pause)
            pause = min(pause * 2, LONGEST_PAUSE_S)

    async def _whole(self, kind: HistoryKind, only: HistoryFilter, after: int, limit: int) -> _Page:
        """One page; a message that comes in parts is put together."""
        gate = STORED_KINDS[kind]

        def question(behind: int, most: int, offset: int = 0) -> HistoryRequest:
            return HistoryRequest(
                request_id=str(uuid.uuid4()),
                runtime=self._runtime,
                only=only,
                after=behind,
                limit=most,
                offset=offset,
            )

        answer = await self._ask(gate, question(after, limit))
        found = [(each, each.body) for each in answer.messages]
        last, is_cut = answer.last, answer.is_cut
        if found and len(found[-1][1]) < found[-1][0].size:
            first, body = found.pop()
            while len(body) < first.size:
                rest = await self._ask(gate, question(first.sequence - 1, 1, len(body)))
                part = rest.messages[0] if rest.messages else None
                if part is None or part.sequence != first.sequence or not part.body:
                    raise _AwayError(f"message {first.sequence} ended early")
                body += part.body
            found.append((first, body))
            last, is_cut = first.sequence, True
        return _Page([_delivery(each, body) for each, body in found], last, is_cut)

    async def _ask(self, gate: Gate[Q, A], request: Q) -> A:
        subject = gate.subject_of(self._runtime)
        try:
            reply = await self._client.request(subject, request.to_json(), timeout=_ASK_S)
            answer = gate.answer.from_json(reply.data)
        except (NatsError, TimeoutError) as error:
            told = str(error).removeprefix("nats: ") or type(error).__name__
            raise _AwayError(
                f"the service `{gate.service}` does not answer about history ({told}); `lictor doctor` says why"
            ) from None
        except (ValidationError, CanonicalError) as error:
            raise LictorError(
                f"the answer of `{gate.service}` about history can't be used ({error});"
                " make sure that the services and this client have the same version."
            ) from None
        if answer.policy_id is None:
            return answer
        if answer.policy_id == gate.refusals.malformed:
            raise LictorError(f"{answer.reason}; {answer.remedy}.")
        raise _AwayError(f"{answer.reason}; {answer.remedy}")


class _Bell:
    """Rings when something was stored; what it was is not looked at."""

    def __init__(self, client: Client, subject: str) -> None:
        self._client = client
        self._subject = subject
        self._event = asyncio.Event()
        self._connection = -1
        self._subscription: Subscription | None = None
        self.heard = 0
        """The highest sequence that rang."""

    async def __aenter__(self) -> Self:
        self._subscription = await self._client.subscribe(self._subject, cb=self._ring)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._subscription is not None and self._client.is_connected:
            try:
                await self._subscription.unsubscribe()
            except NatsError:
                return

    def listen(self) -> None:
        """From now on a ring counts; what rang before is asked for next."""
        self._connection = self._client.stats["reconnects"]
        self._event.clear()

    async def rung(self, within_s: float) -> None:
        """Return when it rings, when the connection was made anew, or after a time."""
        loop = asyncio.get_running_loop()
        until = loop.time() + within_s
        while (left := until - loop.time()) > 0 and not self._client.is_closed:
            if self._client.stats["reconnects"] != self._connection:
                return
            try:
                async with asyncio.timeout(min(LOOK_S, left)):
                    await self._event.wait()
                    return
            except TimeoutError:
                continue

    async def _ring(self, message: Msg) -> None:
        sequence = (message.headers or {}).get("Nats-Sequence", "")
        if sequence.isascii() and sequence.isdigit():
            self.heard = max(self.heard, int(sequence[:18]))
        self._event.set()


def _delivery(message: HistoryMessage, body: bytes) -> Delivery:
    headers = {"Nats-Msg-Id": message.message_id} if message.message_id else NO_HEADERS
    return Delivery(message.subject, body, headers, message.sequence, message.stored_at_us * 1000)
