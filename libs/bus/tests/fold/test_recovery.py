"""What a worker says and does after something failed under it."""

import asyncio

from lictor_bus.fold.partition_worker import PartitionWorker
from lictor_bus.fold.state_store import Commit, StateStore
from lictor_bus.names import streams, subjects
from lictor_bus.wire.connection import connect_nats
from lictor_bus.wire.publish import Outgoing, publish_one
from lictor_bus.wire.pull import PullConsumer, PullSettings
from lictor_bus.wire.read import last_on_subjects
from lictor_local.embedded_servers import EmbeddedServers

# What failed comes again only after several idle looks of the worker.
PATIENT = PullSettings(batch=100, expires_s=0.3, heartbeat_s=0.1, pin_timeout_s=0.6, ack_wait_s=3.5)


class DiesAfterPublishing:
    """An outbox whose process ends right after the results became durable, before anything is committed."""

    def __init__(self, inner):
        self.published = inner.published
        self._inner = inner

    async def publish(self, outputs):
        await self._inner.publish(outputs)
        raise asyncio.CancelledError


async def partition_of(bench, key: str) -> int:
    """The partition that the broker put a key in."""
    stored = await bench.client.jetstream().get_last_msg(streams.EVENTS, f"lictor.ev.*.*.{key}")
    return int(stored.subject.split(".")[2])


async def until_troubled(worker, troubled: bool) -> None:
    async with asyncio.timeout(30):
        while bool(worker.trouble) != troubled:
            await asyncio.sleep(0.02)


async def timers_set(bench) -> int:
    found = await last_on_subjects(bench.client, streams.TIMERS, [subjects.schedule("odd", "a")])
    return sum("Nats-Schedule" in timer.headers for timer in found)


async def test_a_timer_that_an_unfinished_batch_set_is_cancelled_by_a_batch_cut_another_way(
    bench, clean_infra
):
    """A batch of one message sets a timer and dies; the next batch also holds the message that ends the wait."""
    await bench.send("a", 1)
    partition = await partition_of(bench, "a")
    client = await connect_nats(clean_infra.nats_url, name="dying")
    dying = bench.worker(partition, client=client, wrap=DiesAfterPublishing, timed=True)
    await asyncio.wait([asyncio.create_task(dying.run())])
    await client.close()
    assert await timers_set(bench) == 1
    await bench.send("a", 1)
    # Long before the first message is delivered again, the second is: the worker reads both from the stream.
    async with bench.running(bench.worker(partition, timed=True, settings=PATIENT)):
        await bench.until(streams.DECISIONS, 2)
    assert await timers_set(bench) == 0
    assert await bench.totals("a") == [1, 2]


class Watched(PullConsumer):
    """A consumer that notes what its worker says of itself whenever it asks for more."""

    worker: PartitionWorker

    def watch(self, worker):
        self.worker = worker
        self.told: list[str | None] = []
        return worker

    async def next_batch(self, timeout_s):
        self.told.append(self.worker.trouble)
        return await super().next_batch(timeout_s)


async def test_a_worker_whose_batches_fail_is_not_well_because_it_could_start_again(bench):
    await bench.send("a", 1)
    partition = await partition_of(bench, "a")
    await bench.client.jetstream().delete_stream(streams.DECISIONS)
    consumer = Watched(
        bench.client,
        streams.EVENTS,
        f"totals-{partition}",
        subjects.events_of_partition(partition),
        PATIENT,
    )
    worker = consumer.watch(bench.worker(partition, consumer=consumer))
    async with bench.running(worker):
        async with asyncio.timeout(60):
            # The batch fails, comes again and fails again, with idle looks in between.
            while len(consumer.told) < 10:
                await asyncio.sleep(0.02)
        failed_at = next(number for number, told in enumerate(consumer.told) if told)
        assert all(consumer.told[failed_at:])
        await streams.declare(bench.client, streams.DECISIONS)
        await until_troubled(worker, False)
    assert await bench.totals("a") == [1]


async def test_a_worker_that_failed_with_nothing_left_to_do_is_well_again(bench):
    await bench.send("a", 1)
    partition = await partition_of(bench, "a")
    worker = bench.worker(partition)
    async with bench.running(worker):
        await bench.until(streams.DECISIONS, 1)
        await until_troubled(worker, False)
        await bench.client.jetstream().delete_consumer(streams.EVENTS, f"totals-{partition}")
        await until_troubled(worker, True)
        await until_troubled(worker, False)
    assert await bench.totals("a") == [1]


class LosesItsServer(StateStore):
    """A store whose server dies at the moment when it is to start over."""

    servers: EmbeddedServers | None = None

    async def start_over(self):
        if self.servers is not None:
            servers, self.servers = self.servers, None
            await servers.kill_redis()
        await super().start_over()


async def test_a_stale_state_met_while_the_store_is_away_is_waited_out(own_servers, own_bench):
    await own_bench.send("a", 1, 2, 3)
    partition = await partition_of(own_bench, "a")
    # Folded from another stream, as far as the store knows.
    before = StateStore(own_bench.redis, "totals", str(partition))
    await before.open("2020-01-01 00:00:00+00:00")
    await before.commit(0, 1, Commit({}, []))
    store = LosesItsServer(own_bench.redis, "totals", str(partition))
    store.servers = own_servers
    worker = own_bench.worker(partition, store=store)
    async with own_bench.running(worker) as [task]:
        async with asyncio.timeout(30):
            while "Connect" not in (worker.trouble or ""):
                assert not task.done(), task
                await asyncio.sleep(0.02)
        await own_servers.start_redis()
        await own_bench.until(streams.DECISIONS, 3)
    assert await own_bench.totals("a") == [1, 3, 6]


async def test_a_consumer_takes_on_a_narrower_filter_where_it_stands(clean_infra):
    client = await connect_nats(clean_infra.nats_url, name="test")
    await streams.declare(client, streams.DECISIONS)

    async def put(subject: str) -> None:
        await publish_one(client, streams.DECISIONS, Outgoing(subject, b"{}"))

    await put("lictor.dec.rt.allow.a")
    before = PullConsumer(client, streams.DECISIONS, "reader", subjects.DECISION.all)
    await before.open()
    (first,) = await before.next_batch(5)
    await before.acknowledge(first)
    await client.flush()
    await before.close()
    await put("lictor.dec.rt.allow.guard.a")
    await put("lictor.dec.rt.allow.b")
    after = PullConsumer(client, streams.DECISIONS, "reader", subjects.DECISION.any)
    await after.open()
    assert [each.subject for each in await after.next_batch(5)] == ["lictor.dec.rt.allow.b"]
    await after.close()
    await client.close()
