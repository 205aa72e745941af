"""Timers in the broker: set, replaced, cancelled, relayed once, and alive after a restart of everything."""

import asyncio
import json
from datetime import UTC, datetime, timedelta

from lictor_bus.fold.tick_relay import TickRelay
from lictor_bus.fold.timers import CancelTimer, SetTimer, timer_messages
from lictor_bus.logs.dead_letters import DeadLetters, list_dead
from lictor_bus.names import streams, subjects
from lictor_bus.service.telemetry import ServiceTelemetry
from lictor_bus.wire.publish import Outgoing, publish_all, publish_one
from lictor_bus.wire.read import read_from


def timer(key: str, seconds: float, text: str) -> SetTimer:
    body = json.dumps({"id": text, "n": 1}).encode()
    due = datetime.now(UTC) + timedelta(seconds=seconds)
    return SetTimer("checkpoint", key, due, Outgoing(subjects.event("lictor", key), body, text))


async def order(bench, *timers) -> None:
    await publish_all(bench.client, streams.TIMERS, timer_messages(timers))


def relay(bench) -> TickRelay:
    return TickRelay(
        bench.client,
        "checkpoint",
        to_stream=streams.EVENTS,
        to_prefix="lictor.ev.",
        dead=DeadLetters(bench.client, "totals"),
        telemetry=ServiceTelemetry("totals"),
    )


async def events(bench) -> list[str]:
    stored = await read_from(bench.client, streams.EVENTS, subjects.EVENT.all, 1, 100)
    return [json.loads(delivery.body)["id"] for delivery in stored]


async def test_a_due_timer_becomes_its_message(bench):
    await order(bench, timer("a", 0.1, "due"))
    async with bench.running(relay(bench)):
        await bench.until(streams.EVENTS, 1)
    assert await events(bench) == ["due"]


async def test_a_timer_set_again_replaces_the_one_before(bench):
    await order(bench, timer("a", 30, "old"))
    await order(bench, timer("a", 0.2, "new"), timer("b", 0.4, "other"))
    async with bench.running(relay(bench)):
        await bench.until(streams.EVENTS, 2)
    assert await events(bench) == ["new", "other"]


async def test_a_cancelled_timer_never_fires(bench):
    await order(bench, timer("a", 0.3, "cancelled"), timer("b", 0.6, "later"))
    await order(bench, CancelTimer("checkpoint", "a"))
    async with bench.running(relay(bench)):
        await bench.until(streams.EVENTS, 1)
    assert await events(bench) == ["later"]


async def test_of_several_orders_in_one_batch_the_last_counts(bench):
    await order(
        bench, timer("a", 0.1, "first"), CancelTimer("checkpoint", "a"), timer("a", 0.2, "last")
    )
    async with bench.running(relay(bench)):
        await bench.until(streams.EVENTS, 1)
    assert await events(bench) == ["last"]


async def test_timers_outlive_the_broker(own_servers, own_bench):
    await order(own_bench, timer("a", 1.0, "survivor"))
    await own_servers.kill_nats()
    await own_servers.start_nats()
    async with asyncio.timeout(60):
        while not own_bench.client.is_connected:
            await asyncio.sleep(0.02)
    async with own_bench.running(relay(own_bench)):
        await own_bench.until(streams.EVENTS, 1)
    assert await events(own_bench) == ["survivor"]


async def test_a_tick_that_asks_for_a_foreign_subject_is_buried(bench):
    stray = SetTimer(
        "checkpoint",
        "a",
        datetime.now(UTC),
        Outgoing("lictor.dec.rt.allow.a", b"forged", "x"),
    )
    await order(bench, stray)
    await publish_one(
        bench.client, streams.TIMERS, Outgoing("lictor.tick.checkpoint.b", b"no headers")
    )
    async with bench.running(relay(bench)):
        await bench.until(streams.DEAD, 2)
    reasons = {letter.letter.reason async for letter in list_dead(bench.client)}
    assert "a tick may not publish on lictor.dec.rt.allow.a" in reasons
    assert any("without header" in reason for reason in reasons)
    assert await bench.count(streams.DECISIONS) == 0
