"""Following a stream: every message once and in order, over reconnects and restarts of the broker.

The place in the stream is kept here, by sequence, and nowhere else: a consumer in the broker is
made to read on from it, and thrown away when anything about it is in doubt (a reconnect, a hole in
its deliveries, silence). So nothing is lost and nothing comes twice, and a follower that is killed
leaves nothing behind that matters.
"""

import asyncio
import json
import logging
import secrets
from collections import deque
from collections.abc import AsyncGenerator
from types import TracebackType
from typing import Any, Self

from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.aio.subscription import Subscription
from nats.errors import Error as NatsError

from lictor.errors import LictorError, NotAllowed, Unreachable
from lictor_bus.errors import BusError, StreamMissing
from lictor_bus.errors import NotAllowed as BrokerRefuses
from lictor_bus.wire.connection import TolerantClient
from lictor_bus.wire.delivery import Delivery, from_delivery
from lictor_bus.wire.error_codes import STREAM_NOT_FOUND, UNAVAILABLE
from lictor_bus.wire.provenance import is_foreign
from lictor_bus.wire.stream_leader import leader_view
from lictor_schema.core.time import SECOND_NS

log = logging.getLogger("lictor.client")

_BATCH = 256
_EXPIRES_S = 20.0
_HEARTBEAT_S = 1.0
# Two heartbeats may be late on a busy machine; three are a sign.
_SILENCE_S = 3.5
LOOK_S = 0.2
_REQUEST_S = 3.0
_FORGET_AFTER_S = 30.0
FIRST_PAUSE_S = 0.05
LONGEST_PAUSE_S = 1.0


class _LostError(Exception):
    """The consumer can't be trusted any more; a new one must read on."""


class _NoStreamError(_LostError):
    """The stream does not exist yet."""


async def follow(
    client: Client, stream: str, subject: str, *, from_start: bool
) -> AsyncGenerator[Delivery, None]:
    """The messages on a subject for ever: all that are stored, or those stored from now on.

    Waits for a stream that does not exist yet. Ends only by an error: the connection was closed.
    """
    upcoming = 1 if from_start else await _next_sequence(client, stream)
    pause = FIRST_PAUSE_S
    while True:
        try:
            async with _Consumer(client, stream, subject, upcoming) as consumer:
                while True:
                    delivery = await consumer.next()
                    upcoming = delivery.sequence + 1
                    pause = FIRST_PAUSE_S
                    if not is_foreign(delivery):
                        yield delivery
        except BrokerRefuses as error:
            raise NotAllowed(f"{stream} can't be followed: {error}.") from None
        except _LostError as lost:
            log.debug("following %s again from %d: %s", stream, upcoming, lost)
        except NatsError as error:
            log.debug("following %s again from %d: %r", stream, upcoming, error)
        await wait_out(client, pause)
        pause = min(pause * 2, LONGEST_PAUSE_S)


async def wait_out(client: Client, seconds: float) -> None:
    """Wait a little, and then for as long as the connection is down."""
    await asyncio.sleep(seconds)
    told = False
    while not client.is_connected:
        if client.is_closed:
            raise Unreachable("the connection to NATS was closed; connect again.")
        if not told:
            log.warning("NATS went away; waiting for it to come back")
            told = True
        await asyncio.sleep(LOOK_S)
    if told:
        log.warning("NATS is back; going on where it stopped")


async def _next_sequence(client: Client, stream: str) -> int:
    pause = FIRST_PAUSE_S
    while True:
        try:
            return (await leader_view(client, stream)).last + 1
        except StreamMissing:
            # Whatever will be in it is new.
            return 1
        except BrokerRefuses as error:
            raise NotAllowed(f"{stream} can't be followed: {error}.") from None
        except BusError:
            await wait_out(client, pause)
            pause = min(pause * 2, LONGEST_PAUSE_S)


async def _ask(client: Client, subject: str, request: dict[str, Any]) -> dict[str, Any]:
    answer = await client.request(subject, json.dumps(request).encode(), timeout=_REQUEST_S)
    content: dict[str, Any] = json.loads(answer.data)
    error = content.get("error")
    if error is None:
        return content
    if error.get("err_code") == STREAM_NOT_FOUND:
        raise _NoStreamError(error.get("description"))
    if error.get("code") == UNAVAILABLE:
        raise _LostError(error.get("description"))
    raise LictorError(f"the broker refused {subject}: {error.get('description')}")


class _Consumer:
    """One short-lived pull consumer, read until the first doubt."""

    def __init__(self, client: Client, stream: str, subject: str, start: int) -> None:
        self._client = client
        self._stream = stream
        self._subject = subject
        self._start = start
        self._name = f"follow-{secrets.token_hex(8)}"
        self._arrived: deque[Delivery] = deque()
        self._wake = asyncio.Event()
        self._lost: str | None = None
        self._wanted = 0
        self._delivered = 0
        self._last_heard = 0.0
        self._connection = -1
        self._inbox = ""
        self._next_subject = f"$JS.API.CONSUMER.MSG.NEXT.{stream}.{self._name}"
        self._refused: asyncio.Future[None] | None = None
        self._subscription: Subscription | None = None

    async def __aenter__(self) -> Self:
        # A connection made anew may have missed messages: it is another one to us.
        self._connection = self._client.stats["reconnects"]
        config = {
            "name": self._name,
            "deliver_policy": "by_start_sequence",
            "opt_start_seq": self._start,
            "filter_subject": self._subject,
            "ack_policy": "none",
            "inactive_threshold": int(_FORGET_AFTER_S * SECOND_NS),
            "mem_storage": True,
            "num_replicas": 1,
        }
        await _ask(
            self._client,
            f"$JS.API.CONSUMER.CREATE.{self._stream}.{self._name}.{self._subject}",
            {"stream_name": self._stream, "config": config},
        )
        self._inbox = self._client.new_inbox()
        if isinstance(self._client, TolerantClient):
            self._refused = asyncio.get_running_loop().create_future()
            for subject in (self._inbox, self._next_subject):
                self._client.fail_if_refused(subject, self._refused)
            self._refused.add_done_callback(lambda _: self._wake.set())
        self._subscription = await self._client.subscribe(  # pyright: ignore[reportUnknownMemberType] -- nats-py leaves its Future open
            self._inbox, cb=self._on_message, pending_msgs_limit=-1, pending_bytes_limit=-1
        )
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._refused is not None and not self._refused.cancel():
            self._refused.exception()
        # Only politeness: the broker forgets an unused consumer by itself.
        if self._subscription is not None and self._client.is_connected:
            try:
                await self._subscription.unsubscribe()
                await self._client.publish(
                    f"$JS.API.CONSUMER.DELETE.{self._stream}.{self._name}", reply=self._inbox
                )
            except NatsError:
                return

    async def next(self) -> Delivery:
        """The next message; raises when this consumer is no longer to be trusted."""
        loop = asyncio.get_running_loop()
        while True:
            self._wake.clear()
            if self._arrived:
                return self._arrived.popleft()
            if self._refused is not None and self._refused.done():
                self._refused.result()
            if self._lost is not None:
                raise _LostError(self._lost)
            if (
                not self._client.is_connected
                or self._client.stats["reconnects"] != self._connection
            ):
                raise _LostError("the connection was interrupted")
            if self._wanted <= 0:
                await self._pull()
            elif loop.time() - self._last_heard > _SILENCE_S:
                raise _LostError("the broker fell silent")
            try:
                async with asyncio.timeout(LOOK_S):
                    await self._wake.wait()
            except TimeoutError:
                continue

    async def _pull(self) -> None:
        self._wanted = _BATCH
        self._last_heard = asyncio.get_running_loop().time()
        request = {
            "batch": _BATCH,
            "expires": int(_EXPIRES_S * SECOND_NS),
            "idle_heartbeat": int(_HEARTBEAT_S * SECOND_NS),
        }
        await self._client.publish(
            self._next_subject,
            json.dumps(request).encode(),
            reply=self._inbox,
        )

    async def _on_message(self, message: Msg) -> None:
        self._last_heard = asyncio.get_running_loop().time()
        status = (message.headers or {}).get("Status")
        if status is None or message.reply:
            self._take(from_delivery(message))
        elif status in {"404", "408"}:
            self._wanted = 0
        elif status != "100":
            description = (message.headers or {}).get("Description", "")
            self._lost = f"{status} {description}".rstrip()
        self._wake.set()

    def _take(self, delivery: Delivery) -> None:
        self._wanted -= 1
        self._delivered += 1
        if delivery.delivery_number != self._delivered:
            self._lost = "a delivery is missing"
        # A consumer on a replica that lags starts where that replica ends, if that is earlier.
        if self._lost is None and delivery.sequence >= self._start:
            self._arrived.append(delivery)
