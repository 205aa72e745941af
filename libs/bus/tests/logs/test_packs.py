"""Bundles under their hash, and switches among the events they are about."""

import asyncio

import pytest

from lictor_bus.errors import BusError
from lictor_bus.logs.packs import load_bundle, publish_switch, read_switches, store_bundle
from lictor_bus.names import streams, subjects
from lictor_bus.wire.publish import Outgoing, publish_one
from lictor_bus.wire.read import read_from
from lictor_schema.core.canonical_json import hash_bytes
from lictor_schema.packs.release import ConfigSwitch


def switch_to(body: bytes) -> ConfigSwitch:
    name = hash_bytes(body)
    return ConfigSwitch(bundle_hash=name, config_hash=name, engine="test", why="a test")


async def test_a_bundle_is_kept_once_and_found_by_its_hash(bench):
    await streams.declare(bench.client, streams.PACKS)
    name = await store_bundle(bench.client, b"packs")
    assert await store_bundle(bench.client, b"packs") == name
    assert await load_bundle(bench.client, name) == b"packs"
    assert await bench.count(streams.PACKS) == 1


async def test_a_foreign_message_under_a_bundles_name_is_not_taken_for_it(bench):
    await streams.declare(bench.client, streams.PACKS)
    name = hash_bytes(b"packs")
    forged = Outgoing(subjects.pack_bundle(name), b"weaker packs")
    await publish_one(bench.client, streams.PACKS, forged)
    with pytest.raises(BusError, match="does not hold the bundle"):
        await load_bundle(bench.client, name)
    await store_bundle(bench.client, b"packs")
    assert await load_bundle(bench.client, name) == b"packs"


async def test_a_switch_stands_among_the_events_of_its_partition_only(bench):
    await publish_switch(bench.client, 1, switch_to(b"one"))
    await bench.send("a", 1)
    await publish_switch(bench.client, 1, switch_to(b"two"))
    found = await read_switches(bench.client, 1)
    assert [(at, each.bundle_hash) for at, each in found] == [
        (1, hash_bytes(b"one")),
        (3, hash_bytes(b"two")),
    ]
    assert await read_switches(bench.client, 0) == []
    stored = await read_from(bench.client, streams.EVENTS, subjects.events_of_partition(1), 1, 10)
    assert {1, 3} <= {each.sequence for each in stored}


@pytest.mark.parametrize("runtime", ["1", "lictor", "lictor.config", "1.lictor.config"])
async def test_no_runtime_can_publish_an_event_that_is_taken_for_a_switch(bench, runtime):
    body = switch_to(b"weak").to_json()
    for task in ("switch", "config.switch", "lictor.config.switch"):
        subject = subjects.event(runtime, task)
        await publish_one(bench.client, streams.EVENTS, Outgoing(subject, body))
    for stored in await read_from(bench.client, streams.EVENTS, subjects.EVENT.all, 1, 10):
        assert not subjects.is_config_switch(stored.subject)
    assert await read_switches(bench.client, 0) == await read_switches(bench.client, 1) == []


class Halves:
    """Steers by messages that say so; the rest is folded."""

    def __init__(self):
        self.began = 0
        self.heeded = []

    async def begin(self):
        self.began += 1

    async def sift(self, deliveries):
        self.heeded += [d.sequence for d in deliveries if subjects.is_config_switch(d.subject)]
        return [d for d in deliveries if not subjects.is_config_switch(d.subject)]


async def test_what_steers_is_heeded_in_order_and_not_folded(bench):
    for partition in range(2):
        await publish_switch(bench.client, partition, switch_to(b"one"))
    await bench.send("a", 1, 2)
    for partition in range(2):
        await publish_switch(bench.client, partition, switch_to(b"two"))
    await bench.send("a", 3)
    steering = [Halves(), Halves()]
    workers = [bench.worker(partition, steering=steering[partition]) for partition in range(2)]
    async with bench.running(*workers):
        await bench.until(streams.DECISIONS, 3)
        async with asyncio.timeout(60):
            while sum(len(each.heeded) for each in steering) < 4:
                await asyncio.sleep(0.02)
    assert await bench.totals("a") == [1, 3, 6]
    assert await bench.count(streams.DEAD) == 0
    assert [each.heeded for each in steering] == [[1, 5], [2, 6]]
    assert all(each.began for each in steering)
