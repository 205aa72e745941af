"""What a gate reads beside the workers: partitions, last sequences, and the state a fold has come to."""

from collections.abc import AsyncIterator

import pytest
from nats.aio.client import Client
from redis.asyncio import Redis

from lictor_bus.errors import BusError
from lictor_bus.fold.state_store import Commit, StateReader, StateStore
from lictor_bus.names import streams, subjects
from lictor_bus.wire.connection import connect_nats
from lictor_bus.wire.publish import Outgoing, publish_one
from lictor_bus.wire.read import last_sequence, read_from, read_since
from lictor_bus.wire.redis_connection import connect_redis
from lictor_local.embedded_servers import Endpoints

TASKS = [*(f"task-{n}" for n in range(40)), "a.b c", "ünïcode", "x" * 300, "0"]


@pytest.fixture
async def client(clean_infra: Endpoints) -> AsyncIterator[Client]:
    connected = await connect_nats(clean_infra.nats_url, name="test")
    yield connected
    await connected.close()


@pytest.fixture
async def redis(clean_infra: Endpoints) -> AsyncIterator[Redis]:
    connected = await connect_redis(clean_infra.redis_url)
    yield connected
    await connected.aclose()


@pytest.fixture
async def events(client: Client) -> Client:
    await streams.declare(client, streams.EVENTS, partitions=7)
    return client


async def publish(client: Client, task: str, body: bytes = b"x", **headers: str) -> int:
    sequence = await publish_one(
        client, "EVENTS", Outgoing(subjects.event("r t", task), body, None, headers)
    )
    assert sequence is not None
    return sequence


async def test_we_compute_the_partitions_that_the_broker_computes(events: Client):
    for task in TASKS:
        await publish(events, task)
    stored = await read_from(events, "EVENTS", subjects.EVENT.all, 1, 100)
    assert [message.subject for message in stored] == [
        subjects.stored_event(7, "r t", task) for task in TASKS
    ]


async def test_the_last_sequence_of_a_task_is_told_whatever_its_headers_say(events: Client):
    subject = subjects.stored_event(7, "r t", "one")

    async def last() -> int:
        return await last_sequence(events, "EVENTS", subject, timeout_s=2)

    assert await last() == 0
    await publish(events, "one")
    forged = {"Nats-Sequence": "1", "Status": "404"}
    sequence = await publish(events, "one", b"x", **forged)
    await publish(events, "another")
    assert await last() == sequence


async def test_a_stream_that_is_not_there_is_an_error_and_not_an_empty_one(client: Client):
    with pytest.raises(BusError):
        await last_sequence(client, "NONE", "x", timeout_s=0.3)


async def test_messages_can_be_read_from_the_time_of_one_of_them_on(events: Client):
    for number in range(5):
        await publish(events, "one", b"%d" % number)
    third = (await read_from(events, "EVENTS", subjects.EVENT.all, 3, 1))[0]
    found = await read_since(events, "EVENTS", third.subject, third.stored_at, 2)
    assert [message.sequence for message in found] == [3, 4]


async def test_a_reader_follows_the_fold_into_a_new_generation(redis: Redis):
    reader = StateReader(redis, "svc", "0")
    assert (await reader.peek("k"))[:2] == (0, None)
    store = StateStore(redis, "svc", "0")
    await store.open("made today")
    await store.commit(0, 7, Commit({"k": (b"state", None)}, [("k", "id", 7)]))
    assert (await reader.peek("k"))[:2] == (7, b"state")
    await store.start_over()
    assert (await reader.peek("k"))[:2] == (0, None)
    await store.open("made today")
    await store.commit(0, 3, Commit({"k": (b"new", None)}, [("k", "id", 3)]))
    assert (await reader.peek("k"))[:2] == (3, b"new")
