"""Following what is stored of a runtime's own: every message once, in order, whatever happens on the way."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, asynccontextmanager

import pytest
from nats.aio.client import Client
from nats.aio.subscription import Subscription
from running_loops import at_work, connection

from lictor.errors import LictorError, Unreachable
from lictor.history.own_history import OwnHistory
from lictor_bus.gates.gate_runner import GateRunner
from lictor_bus.gates.history import DECISIONS, EPISODES, PROOFS
from lictor_bus.gates.history_desk import history_runner
from lictor_bus.names import streams, subjects
from lictor_bus.service.telemetry import ServiceTelemetry
from lictor_bus.wire.connection import connect_nats
from lictor_bus.wire.delivery import Delivery
from lictor_bus.wire.publish import Outgoing, publish_all
from lictor_local.embedded_servers import EmbeddedServers, Endpoints
from lictor_schema.gates.history import HistoryFilter


@asynccontextmanager
async def owner(url: str, service: str = "policy-evaluator") -> AsyncIterator[GateRunner]:
    """The service that owns the stream, as far as history goes."""
    async with connection(url, service) as client:
        runner = history_runner(client, service, ServiceTelemetry(service))
        async with at_work(runner):
            yield runner


@pytest.fixture
async def answered(broker: Client, clean_infra: Endpoints) -> AsyncIterator[Client]:
    """A connection to a broker with our streams, where the evaluator answers about history."""
    async with owner(clean_infra.nats_url):
        yield broker


async def put(client: Client, numbers: range, task: str = "task", runtime: str = "mine") -> None:
    subject = subjects.decision(runtime, "allow", task)
    await publish_all(
        client,
        streams.DECISIONS,
        [Outgoing(subject, str(number).encode(), f"{task}{number}") for number in numbers],
    )


async def take(stored: AsyncGenerator[Delivery, None], count: int) -> list[int]:
    return [int((await anext(stored)).body) for _ in range(count)]


def from_start(client: Client, task_id: str | None = None) -> AsyncGenerator[Delivery, None]:
    return OwnHistory(client, "mine").follow(
        DECISIONS, HistoryFilter(task_id=task_id), from_start=True
    )


async def test_what_is_stored_comes_first_and_then_what_arrives(answered: Client) -> None:
    await put(answered, range(700))
    async with aclosing(from_start(answered)) as stored:
        assert await take(stored, 700) == list(range(700))
        await put(answered, range(700, 710))
        assert await take(stored, 10) == list(range(700, 710))


async def test_only_the_task_and_only_the_runtimes_own_is_followed(answered: Client) -> None:
    await put(answered, range(5), "one")
    await put(answered, range(5, 10), "two", "other")
    await put(answered, range(10, 15), "two")
    async with aclosing(from_start(answered, "two")) as stored:
        assert await take(stored, 5) == list(range(10, 15))


async def test_from_now_on_leaves_out_what_was_stored(answered: Client) -> None:
    await put(answered, range(5))
    history = OwnHistory(answered, "mine")
    heard = await questions(answered)
    async with aclosing(history.follow(DECISIONS, from_start=False)) as stored:
        first = asyncio.ensure_future(anext(stored))
        # It asks for a page when it knows where "now" is.
        await heard.next_msg(timeout=60)
        await heard.next_msg(timeout=60)
        await put(answered, range(5, 7))
        assert int((await first).body) == 5
        assert await take(stored, 1) == [6]


async def test_what_came_while_nobody_answered_comes_when_somebody_does(
    broker: Client, clean_infra: Endpoints
) -> None:
    async with aclosing(from_start(broker)) as stored:
        for first in (0, 50, 100):
            await put(broker, range(first, first + 20))
            waiting = asyncio.ensure_future(take(stored, 50))
            async with owner(clean_infra.nats_url):
                await put(broker, range(first + 20, first + 50))
                assert await waiting == list(range(first, first + 50))


async def test_nothing_is_lost_when_no_bell_rings(answered: Client) -> None:
    """As if every live copy went lost: it is asked from time to time all the same."""
    await deaf_streams(answered)
    async with aclosing(from_start(answered)) as stored:
        for first in range(0, 30, 10):
            await put(answered, range(first, first + 10))
            assert await take(stored, 10) == list(range(first, first + 10))


async def test_a_bell_leads_to_the_message_long_before_it_would_be_asked_for(
    answered: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lictor.history.own_history._FIRST_POLL_S", 3600.0)
    heard = await questions(answered)
    async with aclosing(from_start(answered)) as stored:
        waiting = asyncio.ensure_future(take(stored, 3))
        await heard.next_msg(timeout=60)
        for number in range(3):
            await put(answered, range(number, number + 1))
        async with asyncio.timeout(60):
            assert await waiting == [0, 1, 2]


async def test_nothing_is_lost_or_repeated_over_restarts_of_nats(
    own_servers: EmbeddedServers,
) -> None:
    reader = await connect_nats(own_servers.nats_url, name="reader")
    writer = await connect_nats(own_servers.nats_url, name="writer")
    await streams.declare(writer, streams.DECISIONS)
    await put(writer, range(300))
    async with owner(own_servers.nats_url), aclosing(from_start(reader)) as stored:
        seen = await take(stored, 100)
        for first in (300, 600):
            await own_servers.kill_nats()
            await own_servers.start_nats()
            while not writer.is_connected:
                await asyncio.sleep(0.01)
            await put(writer, range(first, first + 300))
            seen += await take(stored, 300)
        seen += await take(stored, 200)
    assert seen == list(range(900))
    await reader.close()
    await writer.close()


async def test_a_message_larger_than_an_answer_arrives_whole(
    broker: Client, clean_infra: Endpoints
) -> None:
    large = b"\xfe" * (broker.max_payload - 1000)
    await streams.declare(broker, streams.PROOFS)
    subject = subjects.proof("mine", "proved", "t")
    for body in (b"before", large, large[::2], b"after"):
        await broker.jetstream().publish(subject, body)
    async with owner(clean_infra.nats_url, "prover"):
        history = OwnHistory(broker, "mine")
        read = [each.body async for each in history.read(PROOFS)]
        assert read == [b"before", large, large[::2], b"after"]
        async with aclosing(history.follow(PROOFS, from_start=True)) as stored:
            assert [(await anext(stored)).body for _ in range(4)] == read


async def test_reading_what_nobody_answers_for_ends_with_an_error(
    broker: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lictor.history.own_history._READ_WITHIN_S", 0.2)
    with pytest.raises(Unreachable, match="`supervisor` does not answer"):
        _ = [each async for each in OwnHistory(broker, "mine").read(EPISODES)]


async def test_a_filter_that_the_kind_has_not_is_an_error_at_once(answered: Client) -> None:
    with pytest.raises(LictorError, match=r"only\.id means nothing"):
        await anext(OwnHistory(answered, "mine").read(DECISIONS, HistoryFilter(id="x")))


async def test_a_closed_connection_ends_it_with_an_error(
    answered: Client, clean_infra: Endpoints
) -> None:
    client = await connect_nats(clean_infra.nats_url, name="test")
    heard = await questions(answered)
    stored = from_start(client)
    waiting = asyncio.ensure_future(anext(stored))
    await heard.next_msg(timeout=60)
    await client.close()
    with pytest.raises(Unreachable, match="closed"):
        await waiting


async def test_a_follower_leaves_no_consumer_and_no_subscription(answered: Client) -> None:
    before = len(answered._subs)  # pyright: ignore[reportPrivateUsage] -- nats-py counts them nowhere else
    async with aclosing(from_start(answered)) as stored:
        await put(answered, range(1))
        await take(stored, 1)
        assert not await answered.jetstream().consumers_info(streams.DECISIONS)
    assert len(answered._subs) == before  # pyright: ignore[reportPrivateUsage] -- as above


async def deaf_streams(client: Client) -> None:
    """Make DECISIONS again as it is, but without the live copy."""
    js = client.jetstream()
    config = (await js.stream_info(streams.DECISIONS)).config
    await js.delete_stream(streams.DECISIONS)
    config.republish = None
    await js.add_stream(config)


async def questions(client: Client) -> Subscription:
    """Hears every question about decisions from now on."""
    heard = await client.subscribe(subjects.history("dec", "mine"))
    await client.flush()
    return heard
