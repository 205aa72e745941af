"""Reading beside a replica that lags: what is acknowledged is there for every reader, whichever server answers."""

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

import pytest
import pytest_asyncio
from closing_bus import KEY, record
from installation import GENEROUS_S, Installation, connected, installed
from nats_cluster import lead, lead_consumer, leader_of
from redis.asyncio import Redis

from lictor.history.stream_follower import _Consumer, _LostError
from lictor_bus.errors import BusError
from lictor_bus.fold.partition_worker import PartitionWorker
from lictor_bus.fold.processor import CountingState, Parsed, Sourced, Stepped, StreamOutbox
from lictor_bus.fold.state_store import StateStore
from lictor_bus.logs.dead_letters import DeadLetters, list_dead
from lictor_bus.logs.entry_logs import triage_log
from lictor_bus.names import streams, subjects
from lictor_bus.service.telemetry import ServiceTelemetry, TelemetrySettings
from lictor_bus.wire.appends import Appends
from lictor_bus.wire.connection import TolerantClient
from lictor_bus.wire.delivery import Delivery
from lictor_bus.wire.publish import Outgoing, publish_all, publish_one
from lictor_bus.wire.pull import PullConsumer
from lictor_bus.wire.read import (
    any_on_subjects,
    last_on_subjects,
    last_sequence,
    read_all,
    read_from,
    read_since,
)
from lictor_bus.wire.stream_leader import leader_view
from lictor_schema.contracts.drift import TriageEntry, TriageState
from lictor_schema.core.ids import episode_id
from lictor_sealer.episode import gathering
from lictor_sealer.episode.sealing import ClosedTask, SealingOutbox
from lictor_sealer.log.stream import EpisodeLog, sealed_episode_of

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.timeout(600)]

LAG_S = 0.4
# Whichever replica answers, some of so many questions are answered by the one that lags.
TIMES = 12
TAKEOVERS = 8


class Cluster(NamedTuple):
    """Three servers of which the third lags, and a connection to another: any of them answers a direct get."""

    here: Installation
    client: TolerantClient


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def cluster(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Cluster]:
    folder: Path = tmp_path_factory.mktemp("cluster")
    async with installed(folder, partitions=1) as here, connected(here.cluster) as client:
        names = {streams.EVENTS, streams.DECISIONS, streams.EPISODES, streams.DRIFT, streams.DEAD}
        names |= {*gathering.STREAMS}
        for name in names:
            await lead(client, name, "one")
        # A follower answers direct gets only when it has been level with its leader for a while.
        await publish_one(client, streams.RECEIPTS, receipt("first", 0))
        here.cluster.lag("three", LAG_S)
        await until_it_lags(client)
        yield Cluster(here, client)


def receipt(task: str, number: int) -> Outgoing:
    return Outgoing(subjects.receipt("rt", "planned", task, f"r{number}"), b"{}")


async def until_it_lags(client: TolerantClient) -> None:
    """Wait until a direct get is answered that lacks what was acknowledged before it: the tests rest on that."""
    async with asyncio.timeout(GENEROUS_S):
        for number in range(10_000):
            await publish_one(client, streams.RECEIPTS, receipt("lags", number))
            subject = subjects.receipt("rt", "planned", "lags", f"r{number}")
            answer = await client.request(
                f"$JS.API.DIRECT.GET.{streams.RECEIPTS}",
                b'{"last_by_subj":"%b"}' % subject.encode(),
                timeout=5,
            )
            if "Nats-Sequence" not in (answer.headers or {}):
                return


async def test_every_way_of_reading_finds_what_was_acknowledged(cluster: Cluster) -> None:
    client = cluster.client
    for number in range(TIMES):
        task, before = f"task-{number}", datetime.now(UTC) - timedelta(milliseconds=1)
        await publish_all(client, streams.RECEIPTS, [receipt(task, each) for each in range(3)])
        subject = f"lictor.rcpt.*.*.{task}.*"
        first = (await read_from(client, streams.RECEIPTS, subject, 1, 1))[0].sequence
        await publish_one(client, streams.RECEIPTS, receipt(task, 3))
        assert await last_sequence(client, streams.RECEIPTS, subject, timeout_s=30) == first + 3
        await publish_one(client, streams.RECEIPTS, receipt(task, 4))
        assert len(await last_on_subjects(client, streams.RECEIPTS, [subject])) == 5
        await publish_one(client, streams.RECEIPTS, receipt(task, 5))
        assert len(await any_on_subjects(client, streams.RECEIPTS, [subject])) == 6
        await publish_one(client, streams.RECEIPTS, receipt(task, 6))
        assert len([each async for each in read_all(client, streams.RECEIPTS, subject)]) == 7
        await publish_one(client, streams.RECEIPTS, receipt(f"{task}-since", 0))
        assert await read_since(
            client, streams.RECEIPTS, f"lictor.rcpt.*.*.{task}-since.*", before, 10
        )


async def test_nothing_is_found_where_there_is_nothing(cluster: Cluster) -> None:
    client = cluster.client
    subject = "lictor.rcpt.*.*.nobody.*"
    for number in range(TIMES):
        await publish_one(client, streams.RECEIPTS, receipt(f"other-{number}", 0))
        assert await read_from(client, streams.RECEIPTS, subject, 1, 10) == []
        assert await last_on_subjects(client, streams.RECEIPTS, [subject]) == []
        assert await any_on_subjects(client, streams.RECEIPTS, [subject]) == set()
        assert await last_sequence(client, streams.RECEIPTS, subject, timeout_s=30) == 0
        long_ago = datetime.now(UTC) - timedelta(days=1)
        assert await read_since(client, streams.RECEIPTS, subject, long_ago, 10) == []
        soon = datetime.now(UTC) + timedelta(days=1)
        assert await read_since(client, streams.RECEIPTS, subjects.RECEIPT.all, soon, 10) == []


async def test_a_subject_with_thousands_of_others_under_it_is_read_to_its_end(
    cluster: Cluster,
) -> None:
    client = cluster.client
    await publish_all(client, streams.RECEIPTS, [receipt("many", each) for each in range(1500)])
    for number in range(TIMES):
        await publish_one(client, streams.RECEIPTS, receipt("many", 2000 + number))
        # Behind it, so that the stream goes on where the subject ends.
        await publish_one(client, streams.RECEIPTS, receipt("after-many", number))
        found = read_all(client, streams.RECEIPTS, "lictor.rcpt.*.*.many.*", 1000)
        assert len([each async for each in found]) == 1501 + number


async def test_entries_are_added_one_after_the_other_to_a_log_that_was_read(
    cluster: Cluster,
) -> None:
    client = cluster.client
    for number in range(TIMES):
        log = await triage_log(client, "d")
        assert len(log.entries) == number
        entry = TriageEntry(
            entry_id=f"00000000-0000-0000-0000-{number:012}",
            drift_id="d",
            state=TriageState.TRIAGED,
            by="ada",
            at=datetime.now(UTC),
        )
        message = Outgoing(subjects.triage("d"), entry.to_json(), entry.entry_id)
        await Appends(client).append(streams.DRIFT, message, log.last)


async def test_what_is_known_to_be_stored_and_can_not_be_read_is_an_outage(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = cluster.client
    monkeypatch.setattr("lictor_bus.wire.read.READ_WITHIN_S", 1.0)
    beyond = (await leader_view(client, streams.RECEIPTS)).last + 1000
    with pytest.raises(BusError, match="RECEIPTS"):
        await read_from(client, streams.RECEIPTS, subjects.RECEIPT.all, beyond, 1, known=beyond)


async def test_whoever_follows_a_stream_on_gets_no_message_again(cluster: Cluster) -> None:
    client = cluster.client
    for _ in range(TIMES):
        sequences = [
            await publish_one(client, streams.RECEIPTS, receipt("followed", 0)) for _ in range(3)
        ]
        assert sequences[-1] is not None
        subject = subjects.receipt("rt", "planned", "followed", "r0")
        assert await next_message(client, subject, sequences[-1]) == sequences[-1]


async def next_message(client: TolerantClient, subject: str, start: int) -> int:
    """As after a reconnect: the consumer is made anew, on any of the servers, until one lasts."""
    async with asyncio.timeout(GENEROUS_S):
        while True:
            with suppress(_LostError):
                async with _Consumer(client, streams.RECEIPTS, subject, start) as consumer:
                    return (await consumer.next()).sequence


class _Counting(CountingState):
    """Says for every message that it was handled."""

    def parse(self, delivery: Delivery) -> Parsed[int]:
        return Parsed(delivery.subject.rpartition(".")[2], str(delivery.sequence), 0)

    def step(
        self, state: int | None, message: Parsed[int], delivery: Delivery
    ) -> Stepped[int, Outgoing]:
        output = Outgoing(
            subjects.decision("test", "allow", message.key), b"%d" % delivery.sequence
        )
        return Stepped((state or 0) + 1, (output,), "allow")


async def test_a_worker_that_takes_over_beside_a_lagging_replica_skips_no_event(
    cluster: Cluster,
) -> None:
    client = cluster.client
    cluster.here.cluster.lag("three", 0)
    names = [(f"worker-{number}", f"lictor.ev.*.r{number}.*") for number in range(TAKEOVERS)]
    consumers = [PullConsumer(client, streams.EVENTS, *each) for each in names]
    for consumer in consumers:
        await consumer.open()
        # Its deliveries come at once; only what is read from the stream itself may come from the one that lags.
        await lead_consumer(client, streams.EVENTS, consumer.durable, "one")
    cluster.here.cluster.lag("three", 4 * LAG_S)
    async with Redis.from_url(cluster.here.redis_url) as redis:
        for number, dying in enumerate(consumers):
            durable, filter_subject = names[number]
            expected = [await event(client, number, each) for each in range(5)]
            held: list[Delivery] = []
            while len(held) < len(expected):
                held += await dying.next_batch(1)
            worker = PartitionWorker(
                client,
                PullConsumer(client, streams.EVENTS, durable, filter_subject),
                StateStore(redis, "test", str(number)),
                _Counting(),
                StreamOutbox(
                    client,
                    streams.DECISIONS,
                    subjects.DECISION.where(task="{key}"),
                    lambda each: int(each.body),
                    source=streams.EVENTS,
                ),
                DeadLetters(client, "test"),
                ServiceTelemetry("test", TelemetrySettings()),
            )
            running = asyncio.create_task(worker.run())
            # What it holds is not acknowledged: nobody else is given it for a while.
            await dying.close()
            expected.append(await event(client, number, 5))
            try:
                await until_handled(client, number, expected)
            finally:
                worker.stop()
                await running
    cluster.here.cluster.lag("three", LAG_S)


async def event(client: TolerantClient, number: int, task: int) -> int:
    subject = subjects.event(f"r{number}", f"k{number}-{task}")
    sequence = await publish_one(client, streams.EVENTS, Outgoing(subject, b"{}"))
    assert sequence is not None
    return sequence


async def until_handled(client: TolerantClient, number: int, expected: Sequence[int]) -> None:
    """Wait for what comes of the last event: what was skipped before it stays so."""
    async with asyncio.timeout(GENEROUS_S):
        while True:
            handled = [
                int(each.body)
                async for each in read_all(client, streams.DECISIONS, subjects.DECISION.any)
                if each.subject.rpartition(".")[2].startswith(f"k{number}-")
            ]
            if expected[-1] in handled:
                break
            await asyncio.sleep(0.05)
    assert handled == list(expected)


async def test_a_closed_task_is_sealed_with_all_its_records_and_gates(cluster: Cluster) -> None:
    client = cluster.client
    log = EpisodeLog(client, KEY)
    outbox = SealingOutbox(client, log, DeadLetters(client, "sealer"))
    for number in range(TIMES):
        task = f"closed-{number}"
        await publish_one(
            client, streams.GATES, Outgoing(subjects.gated("test", "report", task), b"{}")
        )
        closing, subject = (
            record("e2", task=task, closes=True),
            subjects.decision("test", "allow", task),
        )
        first = Outgoing(subject, record("e1", task=task).to_json())
        await publish_one(client, streams.DECISIONS, first)
        sequence = await publish_one(
            client, streams.DECISIONS, Outgoing(subject, closing.to_json())
        )
        assert sequence is not None
        delivered = Delivery(subject, closing.to_json(), {}, sequence, time.time_ns())
        await outbox.publish([Sourced(task, sequence, ClosedTask(delivered))])
        assert [letter async for letter in list_dead(client, service="sealer")] == []
        [newest] = (await log.newest([episode_id(task, "e1")])).values()
        episode = sealed_episode_of(newest)
        assert episode.sources is not None
        strands = {each.name: each.count for each in episode.sources.strands}
        # The events that these records name were never stored, and the episode says so.
        assert strands == {"records": 2, "events": 0, "gates": 1}


async def test_a_leader_that_was_deposed_while_it_was_paused_is_not_believed(
    cluster: Cluster,
) -> None:
    here = cluster.here
    here.cluster.lag("", 0)
    async with connected(here.cluster, "two") as client:
        old = await leader_of(client, streams.RECEIPTS)
        async with connected(here.cluster, old) as close_to_it:
            assert await read_from(close_to_it, streams.RECEIPTS, subjects.RECEIPT.all, 1, 1)
            here.cluster.pause(old)
            try:
                sequence = await stored_by_another(client)
                asked = asyncio.create_task(
                    last_sequence(
                        close_to_it,
                        streams.RECEIPTS,
                        "lictor.rcpt.*.*.deposed.*",
                        timeout_s=GENEROUS_S,
                    )
                )
                await asyncio.sleep(0)
            finally:
                here.cluster.resume(old)
            assert await asked == sequence


async def stored_by_another(client: TolerantClient) -> int:
    """Store a message as soon as there is a new leader for it."""
    async with asyncio.timeout(GENEROUS_S):
        while True:
            try:
                sequence = await publish_one(client, streams.RECEIPTS, receipt("deposed", 0))
            except BusError:
                continue
            assert sequence is not None
            return sequence
