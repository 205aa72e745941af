"""Pulling a partition: overlapping raw pull requests on an inbox of our own.

Why not nats-py's ``fetch()``: it waits for each message by itself and can hang on a request that the server has
forgotten. Here requests overlap, messages arrive by callback, and a request of which nothing is heard (no
message, no heartbeat, no end) is given up and sent again.

One worker at a time gets the messages of a consumer: the consumer has one priority group and pins it to the
first client that asks; the others wait, and take over when the pinned one falls silent. The pin is for order and
economy only. That nothing is doubled when two workers overlap is the work of ``store`` and ``publish``.
"""

# pyright: reportUnknownMemberType=false
# nats-py leaves some of its parameters untyped.

import asyncio
import json
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from nats.aio.subscription import Subscription
from nats.errors import NoRespondersError
from nats.errors import TimeoutError as NatsTimeout

from lictor_bus.errors import BusError
from lictor_bus.wire.connection import TolerantClient
from lictor_bus.wire.delivery import NO_HEADERS, Delivery, WireHeaders, delivered
from lictor_schema.core.time import SECOND_NS

_GROUP = "worker"


@dataclass(frozen=True, kw_only=True)
class PullSettings:
    """How hard to pull and how soon to give up on a silent peer."""

    batch: int = 500
    expires_s: float = 1.0
    heartbeat_s: float = 0.4
    # The server gives the pin to another client after this much silence of ours.
    pin_timeout_s: float = 3.0
    # After this the server delivers again what we did not acknowledge.
    ack_wait_s: float = 10.0
    # For messages that have nothing to do with each other: one that failed comes again by itself.
    each_on_its_own: bool = False


class Backlog(NamedTuple):
    """What a consumer has left, and how far it is."""

    waiting: int
    """Messages that were not delivered yet."""
    held: int
    """Messages that were delivered, and are not acknowledged."""
    delivered: int
    """How many deliveries there were."""
    done: int
    """The sequence up to which everything is acknowledged."""


class PullConsumer:
    """A durable pull consumer on one subject filter of a stream."""

    def __init__(
        self,
        client: TolerantClient,
        stream: str,
        durable: str,
        filter_subject: str,
        settings: PullSettings | None = None,
    ) -> None:
        self.stream = stream
        self.durable = durable
        self.filter_subject = filter_subject
        self._client = client
        self._settings = settings or PullSettings()
        self._buffer: deque[Delivery] = deque()
        self._arrived = asyncio.Event()
        self._outstanding = 0
        self._last_heard = 0.0
        self._pin: str | None = None
        self._lost: str | None = None
        self._interrupted = False
        self._woken = False
        self._inbox = ""
        self._subscription: Subscription | None = None

    async def open(self) -> None:
        """Make sure the consumer exists and start with an empty buffer."""
        await self._create()
        if self._subscription is None:
            self._inbox = self._client.new_inbox()
            self._subscription = await self._client.subscribe_direct(self._inbox, self._on_message)
        self._buffer.clear()
        self._outstanding = 0
        self._pin = None
        self._lost = None

    async def next_batch(self, timeout_s: float) -> list[Delivery]:
        """Up to a batch of messages in the order they came; empty when nothing came in time."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + timeout_s
        while not self._buffer:
            if self._interrupted or self._woken:
                self._woken = False
                return []
            if self._lost:
                raise BusError(self._lost)
            await self._keep_pulling(loop.time())
            remaining = deadline - loop.time()
            if remaining <= 0:
                return []
            self._arrived.clear()
            try:
                async with asyncio.timeout(min(remaining, self._settings.expires_s)):
                    await self._arrived.wait()
            except TimeoutError:
                continue
        size = min(len(self._buffer), self._settings.batch)
        batch = [self._buffer.popleft() for _ in range(size)]
        await self._keep_pulling(loop.time())
        return batch

    def stuck_after_s(self, before: Backlog, now: Backlog) -> float | None:
        """How long it may stay like this while our worker has nothing in hand; None when all is well."""
        settings = self._settings
        # A pin, and what its holder was given, are given up before.
        patience = settings.pin_timeout_s + settings.ack_wait_s + 2 * settings.expires_s
        if now.held and not settings.each_on_its_own and now.done == before.done:
            # Another worker may be at it, and a fold from the start of a stream takes its time.
            return 20 * patience
        if now.waiting and not now.held and now.delivered == before.delivered:
            return patience
        return None

    async def backlog(self) -> Backlog:
        """What the consumer has left, by the broker."""
        info = await self._client.jetstream().consumer_info(self.stream, self.durable)
        return Backlog(
            info.num_pending or 0,
            info.num_ack_pending or 0,
            info.delivered.consumer_seq if info.delivered else 0,
            info.ack_floor.stream_seq if info.ack_floor else 0,
        )

    async def is_idle(self) -> bool:
        """Whether the consumer has nothing left: nothing to deliver, nothing unacknowledged."""
        backlog = await self.backlog()
        return not backlog.waiting and not backlog.held

    def wake(self) -> None:
        """Make ``next_batch`` return what it has, once."""
        self._woken = True
        self._arrived.set()

    def interrupt(self) -> None:
        """Make ``next_batch`` return without waiting, now and from now on."""
        self._interrupted = True
        self._arrived.set()

    async def acknowledge(self, delivery: Delivery) -> None:
        """Tell the broker that this message, and all before it unless each is on its own, are done."""
        await self._client.publish(delivery.ack_subject, b"+ACK")

    async def hold(self, deliveries: Sequence[Delivery]) -> None:
        """Tell the broker, for as long as this runs, that these messages are still worked on."""
        while True:
            await asyncio.sleep(self._settings.ack_wait_s / 3)
            for delivery in deliveries:
                await self._client.publish(delivery.ack_subject, b"+WPI")

    async def give_back(self, delivery: Delivery) -> None:
        """Have the broker deliver this message again at once, and not only when its time is up."""
        await self._client.publish(delivery.ack_subject, b"-NAK")

    async def close(self) -> None:
        """Stop pulling and let another worker have the pin at once."""
        if self._subscription is not None:
            subscription, self._subscription = self._subscription, None
            if self._client.is_closed:
                return
            await subscription.unsubscribe()
            if self._pin is not None and self._client.is_connected:
                await self.unpin()

    async def unpin(self) -> None:
        """Have the broker pin another client, whoever is pinned now."""
        await self._client.publish(
            f"$JS.API.CONSUMER.UNPIN.{self.stream}.{self.durable}",
            json.dumps({"group": _GROUP}).encode(),
        )

    async def _create(self) -> None:
        settings = self._settings
        config: dict[str, Any] = {
            "durable_name": self.durable,
            "filter_subject": self.filter_subject,
            "ack_policy": "explicit" if settings.each_on_its_own else "all",
            "ack_wait": int(settings.ack_wait_s * SECOND_NS),
            "max_ack_pending": settings.batch * 8,
            "max_waiting": 128,
            # nats-py has no fields for priority groups, so the request is written out here.
            "priority_groups": [_GROUP],
            "priority_policy": "pinned_client",
            "priority_timeout": int(settings.pin_timeout_s * SECOND_NS),
        }
        subject = f"$JS.API.CONSUMER.CREATE.{self.stream}.{self.durable}.{self.filter_subject}"
        try:
            answer = await self._client.request(
                subject,
                json.dumps({"stream_name": self.stream, "config": config}).encode(),
                timeout=5,
            )
        except (NatsTimeout, NoRespondersError):
            raise BusError(f"JetStream does not answer for consumer {self.durable}") from None
        error = json.loads(answer.data).get("error")
        if error:
            raise BusError(f"consumer {self.durable} on {self.stream}: {error.get('description')}")

    async def _keep_pulling(self, now: float) -> None:
        settings = self._settings
        if self._outstanding and now - self._last_heard > settings.expires_s + 1.0:
            self._outstanding = 0
        if len(self._buffer) + self._outstanding >= settings.batch:
            return
        request: dict[str, Any] = {
            "batch": settings.batch,
            "expires": int(settings.expires_s * SECOND_NS),
            "idle_heartbeat": int(settings.heartbeat_s * SECOND_NS),
            "group": _GROUP,
        }
        if self._pin is not None:
            request["id"] = self._pin
        self._outstanding += settings.batch
        self._last_heard = now
        await self._client.publish(
            f"$JS.API.CONSUMER.MSG.NEXT.{self.stream}.{self.durable}",
            json.dumps(request).encode(),
            reply=self._inbox,
        )

    def _on_message(self, subject: bytes, reply: bytes, body: bytes, headers: bytes | None) -> None:
        self._last_heard = asyncio.get_running_loop().time()
        given = NO_HEADERS if headers is None else WireHeaders(headers)
        if not reply:
            if "Status" in given:
                self._on_status(given)
            return
        if self._pin is None:
            self._pin = given.get("Nats-Pin-Id")
        self._outstanding = max(0, self._outstanding - 1)
        self._buffer.append(
            delivered(subject.decode("utf-8", "replace"), reply.decode(), body, given)
        )
        self._arrived.set()

    def _on_status(self, headers: Mapping[str, str]) -> None:
        status = headers["Status"]
        if status == "100":
            return
        unserved = int(headers.get("Nats-Pending-Messages", self._outstanding))
        self._outstanding = max(0, self._outstanding - unserved)
        description = headers.get("Description", "")
        if status == "423":
            self._pin = None
        elif status == "503" or (status == "409" and "Deleted" in description):
            self._lost = f"consumer {self.durable} is gone: {status} {description}".rstrip()
        elif status == "409":
            # Too many waiting requests, or a change of leader: ask again after the usual wait, not at once.
            return
        self._arrived.set()
