"""New envelopes take over while the sealer runs; what has begun keeps its own, and anybody can look up why."""

import asyncio
from collections.abc import AsyncIterator

import pytest
from governing_bus import Asker, bundle_of, governing_bus, governing_services, put_in_force, record

from lictor_bus.logs.packs import load_bundle, publish_switch, read_switches, store_bundle
from lictor_bus.names import streams, subjects
from lictor_bus.wire.connection import close_nats, connect_nats
from lictor_bus.wire.publish import Outgoing, publish_one
from lictor_local.embedded_servers import Endpoints
from lictor_policy.packs.bundle import Bundled, read_bundle
from lictor_schema.contracts.decision_log import DecisionBegun
from lictor_schema.core.canonical_json import content_hash
from lictor_schema.packs.release import ConfigSwitch
from lictor_supervisor.decision.envelopes_in_force import EnvelopesInForce, NoPacks

LATER = bundle_of(pack_version="1.5.0", deadlineMs=60_001)


@pytest.fixture
async def asker(clean_infra: Endpoints) -> AsyncIterator[Asker]:
    async with governing_bus(clean_infra) as asker, governing_services(clean_infra):
        yield asker


def partition_of(task: str) -> int:
    return subjects.partition_of(subjects.token(task), streams.DEFAULT_PARTITIONS)


async def begun(asker: Asker) -> DecisionBegun:
    entry = (await asker.entries())[0]
    assert isinstance(entry, DecisionBegun)
    return entry


async def switch_to(asker: Asker, bundle_hash: str) -> None:
    """Switch the asker's partition alone, whether or not the bundle is there."""
    switch = ConfigSwitch(
        bundle_hash=bundle_hash, config_hash=bundle_hash, engine="test", why="a test"
    )
    await publish_switch(asker.client, partition_of(asker.task), switch)


async def assert_as_switched(asker: Asker) -> DecisionBegun:
    """The envelope is that of the bundle which the switch named in the log had put in force."""
    entry = await begun(asker)
    switches = dict(await read_switches(asker.client, partition_of(asker.task)))
    assert entry.switch_sequence is not None
    body = await load_bundle(asker.client, switches[entry.switch_sequence].bundle_hash)
    governed = read_bundle(body).config.envelopes[entry.decision_type]
    assert (entry.dte_hash, entry.pack) == (content_hash(governed.dte), governed.pack)
    return entry


async def test_a_switch_counts_for_what_begins_after_it_and_for_nothing_before(
    asker: Asker,
) -> None:
    old = await (await asker.ready()).ask("begin")
    await put_in_force(asker.client, LATER)
    other = asker.of("task-2")
    new = await other.begin()
    again = await asker.ask("begin")
    assert (old["pack"]["pack_version"], new["pack"]["pack_version"]) == ("1.4.0", "1.5.0")
    assert (again["duplicate"], again["dte_hash"]) == (True, old["dte_hash"])
    assert (await asker.act())["decision"] == "allow"
    first, second = await assert_as_switched(asker), await assert_as_switched(other)
    assert (first.dte.deadline_ms, second.dte.deadline_ms) == (60_000, 60_001)
    await asker.close()
    await other.close()
    for task, entry in ((asker, first), (other, second)):
        reference = (await task.until_sealed()).dte_ref
        assert reference is not None
        assert reference.policy_pack_hash == entry.pack.pack_hash


async def test_a_task_that_is_opened_again_begins_under_what_is_in_force_then(
    asker: Asker,
) -> None:
    await asker.begin()
    await asker.close()
    await asker.until_sealed()
    await put_in_force(asker.client, LATER)
    await asker.decided(record(asker.task, "started-again"))
    assert (await asker.ask("begin"))["pack"]["pack_version"] == "1.5.0"


async def test_going_back_is_a_switch_like_any_other(asker: Asker) -> None:
    for number, bundled in enumerate((LATER, bundle_of(), LATER)):
        await put_in_force(asker.client, bundled)
        answer = await asker.of(f"task-{number}").begin()
        assert answer["pack"]["pack_version"] == bundled.config.packs[0].pack_version


async def test_what_is_no_switch_leaves_what_is_in_force(asker: Asker) -> None:
    subject = subjects.config_switch(partition_of(asker.task))
    await publish_one(asker.client, streams.EVENTS, Outgoing(subject, b"nonsense"))
    assert (await asker.begin())["pack"]["pack_version"] == "1.4.0"


async def test_packs_that_can_not_be_loaded_let_nothing_begin_and_stop_nothing_that_has(
    asker: Asker,
) -> None:
    await asker.ready()
    other = asker.of("task-2")
    await other.start()
    for task in (asker, other):
        await switch_to(task, LATER.bundle_hash)
    refused = await other.ask("begin")
    assert (refused["ok"], refused["policy_id"]) == (False, "lictor.contract.no-packs")
    assert "does not hold the bundle" in refused["reason"]
    assert (await asker.ask("begin"))["duplicate"]
    assert (await asker.act())["decision"] == "allow"
    assert await other.entries() == []
    await store_bundle(asker.client, LATER.body)
    assert (await other.ask("begin"))["pack"]["pack_version"] == "1.5.0"


async def test_a_bundle_that_does_not_compile_lets_nothing_begin(asker: Asker) -> None:
    await asker.start()
    await switch_to(asker, await store_bundle(asker.client, b"{}"))
    refused = await asker.ask("begin")
    assert (refused["ok"], refused["policy_id"]) == (False, "lictor.contract.no-packs")
    assert "the bundle can't be read" in refused["reason"]


async def test_a_type_whose_envelope_was_taken_away_begins_no_more(asker: Asker) -> None:
    await put_in_force(asker.client, bundle_of(pack_version="2.0.0", decisionType="note"))
    await asker.start()
    assert (await asker.ask("begin"))["policy_id"] == "lictor.contract.no-envelope"


async def test_a_pin_lets_no_other_bundle_govern(clean_infra: Endpoints) -> None:
    client = await connect_nats(clean_infra.nats_url, name="test")
    await put_in_force(client)
    pinned = EnvelopesInForce(
        client,
        partitions=streams.DEFAULT_PARTITIONS,
        pin=bundle_of().bundle_hash,
    )
    assert set((await pinned.now("task")).envelopes) == {"refund"}
    await put_in_force(client, LATER)
    with pytest.raises(NoPacks, match="LICTOR_PACK_PIN pins"):
        await pinned.now("task")
    await close_nats(client)


async def test_before_any_switch_nothing_begins(clean_infra: Endpoints) -> None:
    client = await connect_nats(clean_infra.nats_url, name="test")
    await streams.declare(client, streams.EVENTS, streams.PACKS)
    envelopes = EnvelopesInForce(client, partitions=4)
    with pytest.raises(NoPacks, match="no configuration is known"):
        await envelopes.now("task")
    await close_nats(client)


async def test_begins_that_race_with_switches_are_each_under_one_of_them(asker: Asker) -> None:
    """And never under one that was replaced before they were asked."""
    bundles = [bundle_of(pack_version=f"2.{number}.0") for number in range(6)]
    tasks = [asker.of(f"task-{number}") for number in range(48)]
    for each in tasks:
        await each.start()
    stored: list[Bundled] = []

    async def switch() -> None:
        for bundled in bundles:
            await put_in_force(asker.client, bundled)
            stored.append(bundled)

    async def begin(task: Asker) -> int:
        before = len(stored)
        assert (await task.ask("begin"))["ok"]
        return before

    switching = asyncio.create_task(switch())
    floors: list[int] = []
    for start in range(0, len(tasks), 8):
        floors += await asyncio.gather(*map(begin, tasks[start : start + 8]))
    await switching
    versions = ["1.4.0", *(each.config.packs[0].pack_version for each in bundles)]
    for task, floor in zip(tasks, floors, strict=True):
        entry = await assert_as_switched(task)
        assert versions.index(entry.pack.pack_version) >= floor
