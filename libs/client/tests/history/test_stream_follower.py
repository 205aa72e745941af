"""Following a stream: every message once, in order, whatever happens to the broker."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncGenerator
from contextlib import aclosing

import pytest
from nats.aio.client import Client

from lictor.errors import Unreachable
from lictor.history.stream_follower import follow
from lictor_bus.names import streams, subjects
from lictor_bus.wire.connection import connect_nats
from lictor_bus.wire.delivery import Delivery
from lictor_bus.wire.publish import Outgoing, publish_all
from lictor_local.embedded_servers import EmbeddedServers, Endpoints

ALL = subjects.DECISION.all


async def put(client: Client, numbers: range, task: str = "task") -> None:
    await publish_all(
        client,
        streams.DECISIONS,
        [
            Outgoing(f"lictor.dec.rt.allow.{task}", str(number).encode(), f"{task}{number}")
            for number in numbers
        ],
    )


async def take(stored: AsyncGenerator[Delivery, None], count: int) -> list[int]:
    return [int((await anext(stored)).body) for _ in range(count)]


def from_start(client: Client, subject: str = ALL) -> AsyncGenerator[Delivery, None]:
    return follow(client, streams.DECISIONS, subject, from_start=True)


async def test_what_is_stored_comes_first_and_then_what_arrives(broker: Client) -> None:
    await put(broker, range(700))
    async with aclosing(from_start(broker)) as stored:
        assert await take(stored, 700) == list(range(700))
        await put(broker, range(700, 710))
        assert await take(stored, 10) == list(range(700, 710))


async def test_only_the_subject_is_followed(broker: Client) -> None:
    await put(broker, range(5), "one")
    await put(broker, range(5, 10), "two")
    async with aclosing(from_start(broker, "lictor.dec.*.*.two")) as stored:
        assert await take(stored, 5) == list(range(5, 10))


async def test_from_now_on_leaves_out_what_was_stored(broker: Client) -> None:
    await put(broker, range(5))
    async with aclosing(follow(broker, streams.DECISIONS, ALL, from_start=False)) as stored:
        first = asyncio.ensure_future(anext(stored))
        # Its consumer is made after it has noted where "now" is.
        await one_consumer(broker)
        await put(broker, range(5, 7))
        assert int((await first).body) == 5
        assert await take(stored, 1) == [6]


async def test_a_stream_that_does_not_exist_yet_is_waited_for(clean_infra: Endpoints) -> None:
    client = await connect_nats(clean_infra.nats_url, name="test")
    async with aclosing(follow(client, streams.DECISIONS, ALL, from_start=False)) as stored:
        first = asyncio.ensure_future(anext(stored))
        await asyncio.sleep(0)
        await streams.declare(client, streams.DECISIONS)
        await put(client, range(1))
        assert int((await first).body) == 0
    await client.close()


async def test_a_follower_leaves_no_consumer_behind(broker: Client) -> None:
    await put(broker, range(3))
    async with aclosing(from_start(broker)) as stored:
        await take(stored, 1)
        assert len(await consumers(broker)) == 1
    # Sooner than the broker would forget it by itself.
    async with asyncio.timeout(10):
        while await consumers(broker):
            await broker.flush()


async def test_nothing_is_lost_or_repeated_over_restarts_of_nats(
    own_servers: EmbeddedServers,
) -> None:
    reader = await connect_nats(own_servers.nats_url, name="reader")
    writer = await connect_nats(own_servers.nats_url, name="writer")
    await streams.declare(writer, streams.DECISIONS)
    await put(writer, range(300))
    async with aclosing(from_start(reader)) as stored:
        seen = await take(stored, 100)
        for first in (300, 600):
            await own_servers.kill_nats()
            await own_servers.start_nats()
            await connected(writer)
            await put(writer, range(first, first + 300))
            seen += await take(stored, 300)
        seen += await take(stored, 200)
    assert seen == list(range(900))
    await reader.close()
    await writer.close()


async def test_nothing_is_lost_or_repeated_when_the_consumer_is_deleted(broker: Client) -> None:
    numbers = itertools.count()
    async with aclosing(from_start(broker)) as stored:
        for _ in range(3):
            first = next(numbers)
            waiting = asyncio.ensure_future(anext(stored))
            name = await one_consumer(broker)
            await broker.jetstream().delete_consumer(streams.DECISIONS, name)
            await put(broker, range(first, first + 1))
            assert int((await waiting).body) == first


async def test_a_closed_connection_ends_it_with_an_error(clean_infra: Endpoints) -> None:
    client = await connect_nats(clean_infra.nats_url, name="test")
    await streams.declare(client, streams.DECISIONS)
    stored = from_start(client)
    waiting = asyncio.ensure_future(anext(stored))
    await one_consumer(client)
    await client.close()
    with pytest.raises(Unreachable, match="closed"):
        await waiting


async def consumers(client: Client) -> list[str]:
    return [it.name for it in await client.jetstream().consumers_info(streams.DECISIONS)]


async def one_consumer(client: Client) -> str:
    """The name of a consumer, as soon as there is one; the broker must be asked for it."""
    while not (names := await consumers(client)):
        await asyncio.sleep(0.01)
    return names[0]


async def connected(client: Client) -> None:
    while not client.is_connected:
        await asyncio.sleep(0.01)
