"""Waiting in an event loop for what the broker repeats about an approval request."""

import asyncio
from types import TracebackType
from typing import Self

from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.aio.subscription import Subscription
from nats.errors import Error as NatsError

from lictor.fast.answer_reader import Silence
from lictor.fast.session_operations import Pause
from lictor.runtimes.guarded_session import AskNotices


class ApprovalBell:
    """Rings when something was stored about the request that is waited for; what it was is not looked at."""

    def __init__(self, client: Client, notices: AskNotices) -> None:
        self._client = client
        self._notices = notices
        self._rung = asyncio.Event()
        self._subject = ""
        self._subscription: Subscription | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._end()

    async def pause(self, pause: Pause) -> bytes | Silence:
        """Return when it rings, at the latest after the pause; Silence when the connection was closed for good."""
        self._notices(pause.verdict)
        if self._client.is_closed:
            return Silence(reason="the connection to the broker is closed")
        if pause.heard_on != self._subject:
            await self._listen(pause.heard_on)
        try:
            async with asyncio.timeout(pause.seconds):
                await self._rung.wait()
        except TimeoutError:
            return b""
        self._rung.clear()
        return b""

    async def _listen(self, subject: str) -> None:
        """Whoever may not, or can't now, asks from time to time all the same."""
        await self._end()
        try:
            self._subscription = await self._client.subscribe(subject, cb=self._ring)  # pyright: ignore[reportUnknownMemberType] -- nats-py types it in part
            self._subject = subject
        except (NatsError, OSError, RuntimeError):
            self._subscription = None

    async def _end(self) -> None:
        subscription, self._subscription, self._subject = self._subscription, None, ""
        if subscription is None or self._client.is_closed:
            return
        try:
            await subscription.unsubscribe()
        except (NatsError, OSError, RuntimeError):
            return

    async def _ring(self, _: Msg) -> None:
        self._rung.set()
