"""What anybody who may publish can do to a worker: nothing that outlasts his own message."""

import asyncio
import json

import pytest
from nats.js.api import StreamConfig

from lictor_bus.fold.tick_relay import TickRelay
from lictor_bus.logs.dead_letters import DeadLetters, list_dead
from lictor_bus.names import streams, subjects
from lictor_bus.service.telemetry import ServiceTelemetry
from lictor_bus.wire.publish import Outgoing, publish_one


def body(number: int, message_id: str) -> bytes:
    return json.dumps({"id": message_id, "n": number}).encode()


async def raw(bench, subject: bytes, headers: bytes, payload: bytes) -> None:
    """A frame as nats-py would never send it."""
    block = b"NATS/1.0\r\n" + headers + b"\r\n"
    size = len(block) + len(payload)
    frame = b"HPUB %b %d %d\r\n%b%b\r\n" % (subject, len(block), size, block, payload)
    await bench.client._send_command(frame)
    await bench.client.flush()


@pytest.mark.parametrize("status", ["404", "500", "204", "408"])
async def test_a_status_header_of_a_sender_is_not_the_brokers(bench, status):
    await bench.send("a", 1)
    forged = Outgoing(subjects.event("test", "a"), body(2, "forged"), None, {"Status": status})
    await publish_one(bench.client, streams.EVENTS, forged)
    await bench.send("a", 3)
    # Read back from the stream, because the worker was not there when they came.
    async with bench.running():
        await bench.until(streams.DECISIONS, 3)
    assert await bench.totals("a") == [1, 3, 6]


async def test_headers_that_cannot_be_kept_do_not_keep_a_message_from_its_grave(bench):
    many = b"".join(b"h%d: v\r\n" % number for number in range(4000))
    await raw(bench, b"lictor.ev.test.a", many, b"not json")
    await raw(bench, b"lictor.ev.test.a", b"x@y(z: v\r\n", b"not json either")
    await bench.send("a", 1)
    async with bench.running():
        await bench.until(streams.DECISIONS, 1)
        await bench.until(streams.DEAD, 2)
    bodies = [letter.body async for letter in list_dead(bench.client)]
    assert sorted(bodies) == [b"not json", b"not json either"]


async def test_a_subject_that_is_not_utf_8_stops_nobody(bench):
    await raw(bench, b"lictor.ev.te\xffst.a", b"", b"{}")
    await bench.send("a", 1)
    async with bench.running():
        await bench.until(streams.DECISIONS, 1)
        await bench.until(streams.DEAD, 1)
    assert await bench.totals("a") == [1]


async def test_a_stream_that_was_made_anew_is_folded_anew(bench):
    await bench.send("a", 1, 2, 3)
    async with bench.running():
        await bench.until(streams.DECISIONS, 3)
    js = bench.client.jetstream()
    await js.delete_stream(streams.EVENTS)
    await streams.declare(bench.client, streams.EVENTS, partitions=2)
    await bench.send("b", 10, 20, 30, 40, prefix="n")
    async with bench.running():
        await bench.until(streams.DECISIONS, 7)
    assert await bench.totals("b") == [10, 30, 60, 100]


class StallsAfterPublishing:
    """An outbox whose worker publishes and then hangs, before it could commit."""

    def __init__(self, inner):
        self.published = inner.published
        self._inner = inner
        self.stalled = asyncio.Event()

    async def publish(self, outputs):
        await self._inner.publish(outputs)
        self.stalled.set()
        await asyncio.Event().wait()


async def test_a_standby_that_opened_early_doubles_nothing_when_it_takes_over(bench):
    config = (await bench.client.jetstream().stream_info(streams.DECISIONS)).config
    # Ids must not be what saves us here.
    config.duplicate_window = 0.1
    await bench.client.jetstream().update_stream(StreamConfig(**config.__dict__))
    outboxes: list[StallsAfterPublishing] = []

    def stalling(inner):
        outboxes.append(StallsAfterPublishing(inner))
        return outboxes[-1]

    stuck = [bench.worker(partition, wrap=stalling) for partition in (0, 1)]
    tasks = [asyncio.create_task(worker.run()) for worker in stuck]
    await bench.send("a", 1)
    await bench.until(streams.DECISIONS, 1)
    async with bench.running():
        async with asyncio.timeout(60):
            await asyncio.wait(
                [asyncio.create_task(outbox.stalled.wait()) for outbox in outboxes],
                return_when=asyncio.FIRST_COMPLETED,
            )
        await bench.send("a", 2)
        for task in tasks:
            task.cancel()
        await bench.until(streams.DECISIONS, 2)
    assert await bench.totals("a") == [1, 3]


async def test_a_tick_that_failed_is_not_lost_behind_a_later_one(bench):
    relay = TickRelay(
        bench.client,
        "checkpoint",
        to_stream=streams.EVENTS,
        to_prefix="lictor.ev.",
        dead=DeadLetters(bench.client, "totals"),
        telemetry=ServiceTelemetry("totals"),
    )
    tick = {"Lictor-Tick-Subject": "lictor.ev.lictor.a"}
    js = bench.client.jetstream()
    await js.delete_stream(streams.EVENTS)
    async with bench.running(relay):
        first = Outgoing("lictor.tick.checkpoint.a", body(1, "first"), None, tick)
        await publish_one(bench.client, streams.TIMERS, first)
        async with asyncio.timeout(60):
            while not relay.trouble or relay.trouble == "starting":
                await asyncio.sleep(0.02)
        await streams.declare(bench.client, streams.EVENTS, partitions=2)
        second = Outgoing("lictor.tick.checkpoint.a", body(2, "second"), None, tick)
        await publish_one(bench.client, streams.TIMERS, second)
        await bench.until(streams.EVENTS, 2)


async def test_a_tick_relayed_twice_counts_once(bench):
    tick = {"Lictor-Tick-Subject": "lictor.ev.lictor.a"}
    for _ in range(2):
        again = Outgoing("lictor.tick.checkpoint.a", body(5, "same"), None, tick)
        await publish_one(bench.client, streams.TIMERS, again)
    relay = TickRelay(
        bench.client,
        "checkpoint",
        to_stream=streams.EVENTS,
        to_prefix="lictor.ev.",
        dead=DeadLetters(bench.client, "totals"),
        telemetry=ServiceTelemetry("totals"),
    )
    async with bench.running(relay, bench.worker(0), bench.worker(1)):
        await bench.until(streams.DEAD, 1)
    assert await bench.totals("a") == [5]
