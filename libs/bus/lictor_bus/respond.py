"""Questions answered straight from a connection of their own, many at a time.

FastStream's way of handling a message costs more than judging the question, and the connection that batches come in
on may have megabytes ahead of it. So what has to answer within a few round trips is subscribed to here; the AsyncAPI
document is made from the same `Question`.
"""

# pyright: reportUnknownMemberType=false
# nats-py leaves some of its parameters untyped.

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.aio.subscription import Subscription

log = logging.getLogger("lictor.respond")

# Further questions wait in the connection; whoever asked gives up in time and takes silence as a denial.
_AT_ONCE = 32


@dataclass(frozen=True, kw_only=True)
class Question:
    """What a service can be asked, for its AsyncAPI document."""

    subject: str
    title: str
    request: Any
    answer: Any
    description: str


Answer = Callable[[Msg], Awaitable[bytes]]


class Responder:
    """Answers questions, one instance of a service each, until stopped; owns its connection.

    ``close`` is called at the end: it waits for what the answers set off, and gives up what they stood on.
    """

    def __init__(
        self,
        client: Client,
        service: str,
        answers: Mapping[str, Answer],
        close: Callable[[], Awaitable[None]],
    ) -> None:
        self._client = client
        self._service = service
        self._answers = answers
        self._close = close
        self._stopping = asyncio.Event()
        self._free = asyncio.Semaphore(_AT_ONCE)
        self._answering: set[asyncio.Task[None]] = set()
        self.trouble: str | None = "starting"

    def stop(self) -> None:
        """Answer what is in hand, then return from ``run``."""
        self._stopping.set()

    async def run(self) -> None:
        """Answer until stopped."""
        subscriptions: list[Subscription] = []
        try:
            for subject, answer in self._answers.items():
                subscriptions.append(
                    await self._client.subscribe(
                        subject, queue=self._service, cb=self._taker(answer)
                    )
                )
            self.trouble = None
            await self._stopping.wait()
            for subscription in subscriptions:
                if not self._client.is_closed:
                    await subscription.unsubscribe()
            await asyncio.gather(*self._answering, return_exceptions=True)
            await self._close()
        finally:
            await self._client.close()

    def _taker(self, answer: Answer) -> Callable[[Msg], Awaitable[None]]:
        async def take(message: Msg) -> None:
            await self._free.acquire()
            # nats-py hands over one message after the other: the next must not wait for this answer.
            task = asyncio.create_task(self._respond(answer, message))
            self._answering.add(task)
            task.add_done_callback(self._done)

        return take

    def _done(self, task: "asyncio.Task[None]") -> None:
        self._answering.discard(task)
        self._free.release()

    async def _respond(self, answer: Answer, message: Msg) -> None:
        try:
            reply = await answer(message)
            if message.reply:
                await self._client.publish(message.reply, reply)
        except Exception:
            # Silence is a denial to whoever asked; here it must not end the others.
            log.exception("%s: a question on %s was not answered", self._service, message.subject)
