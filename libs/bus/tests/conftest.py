"""A small real service for the batch loop: it adds up numbers by key and publishes every running total."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime

import pytest
from nats.errors import Error as NatsError
from nats.js.errors import Error as JetStreamError
from redis.asyncio import Redis

from lictor_bus.errors import BusError, MessageRefused, StaleState
from lictor_bus.fold.partition_worker import PartitionWorker
from lictor_bus.fold.processor import Outbox, Parsed, Steering, Stepped, StreamOutbox
from lictor_bus.fold.state_store import StateStore
from lictor_bus.fold.take_over import TakeOver
from lictor_bus.fold.timers import CancelTimer, SetTimer, Timer
from lictor_bus.logs.dead_letters import DeadLetters
from lictor_bus.names import streams, subjects
from lictor_bus.service.telemetry import ServiceTelemetry
from lictor_bus.wire.connection import TolerantClient, connect_nats
from lictor_bus.wire.delivery import Delivery
from lictor_bus.wire.publish import Outgoing, publish_all, publish_one
from lictor_bus.wire.pull import PullConsumer, PullSettings
from lictor_bus.wire.read import read_from
from lictor_bus.wire.redis_connection import connect_redis

PARTITIONS = 2
FAST = PullSettings(batch=100, expires_s=0.3, heartbeat_s=0.1, pin_timeout_s=0.6, ack_wait_s=1.0)


LONG_AFTER = datetime(2100, 1, 1, tzinfo=UTC)


class Totals:
    """Adds up ``n`` by key; refuses what has no number; breaks on ``n = 13`` as a defect would.

    A key whose total is odd has a timer, if timers are wanted.
    """

    def __init__(self, *, timed: bool = False, keep_s: int = 0) -> None:
        self._timed = timed
        self._keep_s = keep_s

    def parse(self, delivery: Delivery) -> Parsed[int]:
        try:
            body = json.loads(delivery.body)
            return Parsed(delivery.subject.rpartition(".")[2], body["id"], body["n"])
        except (ValueError, KeyError) as error:
            raise MessageRefused(f"unreadable: {error}", remedy="send id and n") from None

    def step(
        self, state: int | None, message: Parsed[int], delivery: Delivery
    ) -> Stepped[int, Outgoing]:
        if message.value == 13:
            raise RuntimeError("thirteen")
        total = (state or 0) + message.value
        body = json.dumps({"total": total, "id": message.message_id}).encode()
        out = Outgoing(
            f"lictor.dec.rt.allow.{message.key}", body, f"{message.key}:{message.message_id}"
        )
        return Stepped(total, (out,), "counted", self._keep_s)

    def timers(self, before: int | None, after: int, certain: bool) -> Sequence[Timer]:
        if not self._timed or (certain and bool((before or 0) % 2) == bool(after % 2)):
            return ()
        if after % 2:
            return (SetTimer("odd", "a", LONG_AFTER, Outgoing("lictor.ev.test.a", b"{}")),)
        return (CancelTimer("odd", "a"),)

    def decode_state(self, raw: bytes) -> int:
        try:
            return int(raw)
        except ValueError:
            raise StaleState(f"{raw!r} is no total") from None

    def encode_state(self, state: int) -> bytes:
        return str(state).encode()


@dataclass
class Bench:
    """Connections, and what the tests do with them."""

    client: TolerantClient
    redis: "Redis"
    _id: int = field(default=0)

    async def send(self, key: str, *numbers: int, prefix: str = "m") -> None:
        """Publish numbers for a key, each under an id of its own."""
        messages: list[Outgoing] = []
        for number in numbers:
            self._id += 1
            body = json.dumps({"id": f"{prefix}{self._id}", "n": number}).encode()
            messages.append(
                Outgoing(subjects.event("test", key), body, f"{key}:{prefix}{self._id}")
            )
        await publish_all(self.client, streams.EVENTS, messages)

    async def send_until_stored(self, key: str, number: int) -> None:
        """Send one number again and again, under one id, until the broker has it."""
        self._id += 1
        message = Outgoing(
            subjects.event("test", key),
            json.dumps({"id": f"m{self._id}", "n": number}).encode(),
            f"{key}:m{self._id}",
        )
        async with asyncio.timeout(60):
            while True:
                try:
                    await publish_one(self.client, streams.EVENTS, message)
                    return
                except (BusError, NatsError, TimeoutError):
                    await asyncio.sleep(0.05)

    async def totals(self, key: str) -> list[int]:
        """Every total published for a key, in order."""
        found = await read_from(self.client, streams.DECISIONS, f"lictor.dec.*.*.{key}", 1, 1000)
        return [json.loads(delivery.body)["total"] for delivery in found]

    async def count(self, stream: str) -> int:
        return (await self.client.jetstream().stream_info(stream)).state.messages

    async def until(self, stream: str, messages: int) -> None:
        """Wait until the stream holds that many messages."""
        async with asyncio.timeout(30):
            while await self._count_if_up(stream) < messages:
                await asyncio.sleep(0.02)

    async def _count_if_up(self, stream: str) -> int:
        try:
            return await self.count(stream)
        except (NatsError, JetStreamError):
            return 0

    def consumer(
        self,
        partition: int,
        settings: PullSettings = FAST,
        client: TolerantClient | None = None,
    ) -> PullConsumer:
        """What a worker of the partition pulls with."""
        return PullConsumer(
            client or self.client,
            streams.EVENTS,
            f"totals-{partition}",
            subjects.events_of_partition(partition),
            settings,
        )

    def worker(
        self,
        partition: int,
        *,
        client: TolerantClient | None = None,
        wrap: Callable[[Outbox[Outgoing]], Outbox[Outgoing]] = lambda outbox: outbox,
        store: StateStore | None = None,
        settings: PullSettings = FAST,
        steering: Steering | None = None,
        consumer: PullConsumer | None = None,
        timed: bool = False,
        keep_s: int = 0,
    ) -> PartitionWorker[int, int, Outgoing]:
        client = client or self.client
        return PartitionWorker(
            client,
            consumer or self.consumer(partition, settings, client),
            store or StateStore(self.redis, "totals", str(partition)),
            Totals(timed=timed, keep_s=keep_s),
            wrap(
                StreamOutbox(
                    client,
                    streams.DECISIONS,
                    subjects.DECISION.where(task="{key}"),
                    source=streams.EVENTS,
                )
            ),
            DeadLetters(client, "totals"),
            ServiceTelemetry("totals"),
            settings.batch,
            steering,
        )

    quiet_s = FAST.pin_timeout_s

    def take_over(self, old: str) -> TakeOver:
        """What takes over the fold `x` of a service."""
        return TakeOver(self.client, streams.EVENTS, old=old, partition="x", quiet_s=self.quiet_s)

    def fold_of(
        self, service: str, *, formerly: str | None = None, keep_s: int = 0
    ) -> PartitionWorker[int, int, Outgoing]:
        """The fold `x` of all events by a service."""
        return PartitionWorker(
            self.client,
            PullConsumer(self.client, streams.EVENTS, f"{service}-x", "lictor.ev.*.*.*", FAST),
            StateStore(self.redis, service, "x"),
            Totals(keep_s=keep_s),
            StreamOutbox(
                self.client, streams.DECISIONS, "lictor.dec.*.*.{key}", source=streams.EVENTS
            ),
            DeadLetters(self.client, service, formerly=formerly),
            ServiceTelemetry(service),
            FAST.batch,
            take_over=None if formerly is None else self.take_over(formerly),
        )

    @asynccontextmanager
    async def running(
        self, *workers: PartitionWorker[int, int, Outgoing]
    ) -> AsyncIterator[list["asyncio.Task[None]"]]:
        """Run the workers, by default one a partition; drain them at the end."""
        chosen = workers or tuple(self.worker(partition) for partition in range(PARTITIONS))
        tasks = [asyncio.create_task(worker.run()) for worker in chosen]
        try:
            yield tasks
        finally:
            for worker in chosen:
                worker.stop()
            for task in tasks:
                if not task.cancelled():
                    await asyncio.gather(task, return_exceptions=True)


@asynccontextmanager
async def opened(nats_url: str, redis_url: str) -> AsyncIterator[Bench]:
    client = await connect_nats(nats_url, name="test")
    redis = await connect_redis(redis_url)
    await declare_all(client)
    try:
        yield Bench(client, redis)
    finally:
        await client.close()
        await redis.aclose()


async def declare_all(client: TolerantClient) -> None:
    await streams.declare(
        client,
        streams.EVENTS,
        streams.DECISIONS,
        streams.TIMERS,
        streams.DEAD,
        partitions=PARTITIONS,
    )


@pytest.fixture
async def bench(clean_infra) -> AsyncIterator[Bench]:
    """A clean bus with the streams declared."""
    async with opened(clean_infra.nats_url, clean_infra.redis_url) as bench:
        yield bench


@pytest.fixture
async def own_bench(own_servers) -> AsyncIterator[Bench]:
    """A bus on servers of its own, to kill and restart at will."""
    endpoints = own_servers.endpoints
    async with opened(endpoints.nats_url, endpoints.redis_url) as bench:
        yield bench
