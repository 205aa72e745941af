"""Questions answered straight from a connection of their own, many at a time.

FastStream's way of handling a message costs more than judging the question, and the connection that batches come in
on may have megabytes ahead of it. So what has to answer within a few round trips is subscribed to here; the AsyncAPI
document is made from the same `Question`.
"""

# pyright: reportUnknownMemberType=false
# nats-py leaves some of its parameters untyped.

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from nats.aio.msg import Msg
from nats.aio.subscription import Subscription

from lictor_bus.wire.connection import TolerantClient, close_nats

log = logging.getLogger("lictor.respond")

# Further questions wait; whoever asked gives up in time and takes silence as a denial.
_AT_ONCE = 32
_MAX_WAITING = 10_000
_INBOXES = "_INBOX."


@dataclass(frozen=True, kw_only=True)
class Question:
    """What a service can be asked, for its AsyncAPI document."""

    subject: str
    title: str
    request: Any
    answer: Any
    description: str


QuestionHandler = Callable[[Msg], Awaitable[bytes]]


class Responder:
    """Answers questions, one instance of a service each, until stopped; owns its connection.

    ``close`` is called at the end: it waits for what the answers set off, and gives up what they stood on.
    """

    def __init__(
        self,
        client: TolerantClient,
        service: str,
        answers: Mapping[str, QuestionHandler],
        close: Callable[[], Awaitable[None]],
        *,
        at_once: int = _AT_ONCE,
    ) -> None:
        self._client = client
        self._service = service
        self._answers = answers
        self._close = close
        self._stopping = asyncio.Event()
        self._at_once = at_once
        self._answering: set[asyncio.Task[None]] = set()
        self._waiting: deque[tuple[QuestionHandler, Msg]] = deque()
        self.trouble: str | None = "starting"

    def stop(self) -> None:
        """Answer what is in hand, then return from ``run``."""
        self._stopping.set()

    async def run(self) -> None:
        """Answer until stopped."""
        subscriptions: list[Subscription] = []
        try:
            for subject, answer in self._answers.items():
                subscriptions.append(await self._subscribe(subject, answer))
            self.trouble = None
            await self._stopping.wait()
            for subscription in subscriptions:
                if not self._client.is_closed:
                    await subscription.unsubscribe()
            while self._answering:
                await asyncio.wait(self._answering)
            await self._close()
        finally:
            await close_nats(self._client)

    async def _subscribe(self, subject: str, answer: QuestionHandler) -> Subscription:
        async def take_message(message: Msg) -> None:
            self._take(answer, message)

        def take(subject: bytes, reply: bytes, body: bytes, _headers: bytes | None) -> None:
            asked = subject.decode("utf-8", "replace")
            self._take(answer, Msg(self._client, asked, reply.decode("utf-8", "replace"), body))

        subscription = await self._client.subscribe(subject, queue=self._service, cb=take_message)
        # The queue and the task that nats-py has for each subscription cost as much as a short answer.
        self._client.hand_over(subscription, take)
        return subscription

    def _take(self, answer: QuestionHandler, message: Msg) -> None:
        if len(self._answering) < self._at_once:
            self._begin(answer, message)
        elif len(self._waiting) < _MAX_WAITING:
            self._waiting.append((answer, message))
        else:
            log.error(
                "%s: too many questions; one on %s is dropped", self._service, message.subject
            )

    def _begin(self, answer: QuestionHandler, message: Msg) -> None:
        task = asyncio.create_task(self._respond(answer, message))
        self._answering.add(task)
        task.add_done_callback(self._done)

    def _done(self, task: "asyncio.Task[None]") -> None:
        self._answering.discard(task)
        if self._waiting:
            self._begin(*self._waiting.popleft())

    async def _respond(self, answer: QuestionHandler, message: Msg) -> None:
        try:
            reply = await answer(message)
            # Elsewhere it would stand among what services store, written by us in the name of whoever asked.
            if message.reply.startswith(_INBOXES):
                await self._client.publish(message.reply, reply)
        except Exception:
            # Silence is a denial to whoever asked; here it must not end the others.
            log.exception("%s: a question on %s was not answered", self._service, message.subject)
