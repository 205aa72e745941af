"""The batch loop on a real broker and store: order, exactly once, recovery."""

import asyncio
import json
from dataclasses import replace

import pytest

from lictor_bus.errors import BusError
from lictor_bus.logs.dead_letters import find_dead, list_dead, replay_dead
from lictor_bus.names import streams, subjects
from lictor_bus.wire.delivery import Delivery
from lictor_bus.wire.publish import Outgoing, publish_one
from lictor_bus.wire.pull import PullSettings


async def test_every_message_leads_to_one_result_in_order(bench):
    await bench.send("a", 1, 2, 3)
    await bench.send("b", 10, 20)
    async with bench.running():
        await bench.until(streams.DECISIONS, 5)
    assert await bench.totals("a") == [1, 3, 6]
    assert await bench.totals("b") == [10, 30]


async def test_a_worker_goes_on_where_the_last_one_stopped(bench):
    await bench.send("a", 1, 2)
    async with bench.running():
        await bench.until(streams.DECISIONS, 2)
    await bench.send("a", 3)
    async with bench.running():
        await bench.until(streams.DECISIONS, 3)
    assert await bench.totals("a") == [1, 3, 6]


class DiesAfterPublishing:
    """An outbox whose process ends right after the results became durable, before anything is committed."""

    def __init__(self, inner):
        self.published = inner.published
        self._inner = inner

    async def publish(self, outputs):
        await self._inner.publish(outputs)
        raise asyncio.CancelledError


async def test_a_crash_between_publish_and_commit_doubles_nothing(bench):
    await bench.send("a", 1, 2, 3)
    partition = await partition_of(bench, "a")
    dying = bench.worker(partition, wrap=DiesAfterPublishing)
    task = asyncio.create_task(dying.run())
    await asyncio.wait([task])
    assert task.cancelled()
    assert await bench.totals("a") == [1, 3, 6]
    await bench.send("a", 4)
    async with bench.running():
        await bench.until(streams.DECISIONS, 4)
    assert await bench.totals("a") == [1, 3, 6, 10]


async def test_a_store_that_lost_everything_is_refolded_without_new_results(bench):
    await bench.send("a", 1, 2, 3)
    async with bench.running():
        await bench.until(streams.DECISIONS, 3)
    await bench.redis.flushall()
    await bench.send("a", 4)
    async with bench.running():
        await bench.until(streams.DECISIONS, 4)
    assert await bench.totals("a") == [1, 3, 6, 10]


async def test_a_store_that_loses_everything_under_a_running_worker_is_refolded(bench):
    async with bench.running():
        await bench.send("a", 1, 2, 3)
        await bench.until(streams.DECISIONS, 3)
        await bench.redis.flushall()
        await bench.send("a", 4)
        await bench.until(streams.DECISIONS, 4)
        await bench.send("a", 5)
        await bench.until(streams.DECISIONS, 5)
    assert await bench.totals("a") == [1, 3, 6, 10, 15]


async def test_a_state_that_cannot_be_read_is_folded_anew(bench):
    await bench.send("a", 1, 2, 3)
    async with bench.running():
        await bench.until(streams.DECISIONS, 3)
    partition = await partition_of(bench, "a")
    await bench.redis.hset(f"lictor:{{totals:{partition}}}:0:t:a", "s", "written by another engine")
    await bench.send("a", 4)
    async with bench.running():
        await bench.until(streams.DECISIONS, 4)
    assert await bench.totals("a") == [1, 3, 6, 10]
    assert await bench.redis.keys(f"lictor:{{totals:{partition}}}:0:*") == []
    assert await bench.count(streams.DEAD) == 0


async def test_a_store_that_is_ahead_of_its_stream_is_folded_anew(bench):
    await bench.send("a", 1, 2, 3)
    partition = await partition_of(bench, "a")
    await bench.redis.set(f"lictor:{{totals:{partition}}}:0:cursor", 1000)
    async with bench.running():
        await bench.until(streams.DECISIONS, 3)
    assert await bench.totals("a") == [1, 3, 6]


async def test_two_workers_on_one_partition_double_nothing(bench):
    partition = await partition_of(bench, "a")
    first, second = bench.worker(partition), bench.worker(partition)
    async with bench.running(first, second):
        for number in range(40):
            await bench.send("a", number if number != 13 else 0)
        await bench.until(streams.DECISIONS, 40)
    totals = await bench.totals("a")
    assert len(totals) == 40
    assert totals == sorted(totals)


async def test_a_second_worker_takes_over_when_the_first_vanishes(bench):
    await bench.send("a", 1)
    partition = await partition_of(bench, "a")
    first, second = bench.worker(partition), bench.worker(partition)
    async with bench.running(first, second) as tasks:
        await bench.until(streams.DECISIONS, 1)
        tasks[0].cancel()
        await bench.send("a", 2, 3)
        await bench.until(streams.DECISIONS, 3)
        tasks[1].cancel()
    assert await bench.totals("a") == [1, 3, 6]


async def test_messages_that_come_again_in_another_order_leave_no_hole(bench):
    """A worker died holding ten messages, and the broker gives up on the fifth and the ninth of them first."""
    patient = PullSettings(expires_s=0.3, heartbeat_s=0.1, ack_wait_s=60)
    await bench.send("a", *range(1, 11))
    partition = await partition_of(bench, "a")
    dead = bench.consumer(partition, patient)
    await dead.open()
    held: list[Delivery] = []
    while len(held) < 10:
        held += await dead.next_batch(5)
    assert [delivery.delivery_number for delivery in held] == list(range(1, 11))
    await dead.close()
    await bench.client.publish(held[4].ack_subject, b"-NAK")
    await bench.client.publish(held[8].ack_subject, b"-NAK")
    one_by_one = replace(patient, batch=1)
    async with bench.running(bench.worker(partition, settings=one_by_one)):
        await bench.until(streams.DECISIONS, 9)
    assert await bench.totals("a") == [sum(range(1, n + 1)) for n in range(1, 10)]


async def test_what_cannot_be_read_is_buried_whole_and_the_rest_goes_on(bench):
    await bench.send("a", 1)
    garbage = b"\xff{not json"
    await publish_one(bench.client, streams.EVENTS, Outgoing(subjects.event("test", "a"), garbage))
    await bench.send("a", 2)
    async with bench.running():
        await bench.until(streams.DECISIONS, 2)
        await bench.until(streams.DEAD, 1)
    assert await bench.totals("a") == [1, 3]
    [stored_letter] = [letter async for letter in list_dead(bench.client)]
    assert stored_letter.body == garbage
    assert stored_letter.letter.service == "totals"
    assert stored_letter.letter.reason.startswith("unreadable")
    assert stored_letter.letter.sequence == 2


async def test_a_defect_in_step_buries_the_message_and_spares_the_others(bench):
    await bench.send("a", 1, 13, 2)
    async with bench.running():
        await bench.until(streams.DECISIONS, 2)
        await bench.until(streams.DEAD, 1)
    assert await bench.totals("a") == [1, 3]
    [stored_letter] = [letter async for letter in list_dead(bench.client)]
    assert "RuntimeError: thirteen" in stored_letter.letter.reason


async def test_a_repeated_id_is_buried_and_names_the_first(bench):
    body = json.dumps({"id": "same", "n": 5}).encode()
    for _ in range(2):
        await publish_one(bench.client, streams.EVENTS, Outgoing(subjects.event("test", "a"), body))
    async with bench.running():
        await bench.until(streams.DEAD, 1)
    assert await bench.totals("a") == [5]
    [stored_letter] = [letter async for letter in list_dead(bench.client)]
    assert "sequence 1" in stored_letter.letter.reason
    assert stored_letter.letter.problems[0].path == "event_id"


async def test_a_dead_letter_replays_byte_for_byte(bench):
    garbage = b'{"id": "late"}'
    await publish_one(
        bench.client, streams.EVENTS, Outgoing(subjects.event("test", "x.y z"), garbage)
    )
    async with bench.running():
        await bench.until(streams.DEAD, 1)
        await replay_dead(bench.client, await find_dead(bench.client, 1))
        await bench.until(streams.DEAD, 2)
    letters = [letter async for letter in list_dead(bench.client)]
    assert [letter.body for letter in letters] == [garbage, garbage]
    assert letters[0].letter.subject == letters[1].letter.subject


async def test_asking_for_a_dead_letter_that_is_not_there_says_so(bench):
    with pytest.raises(BusError, match="no dead letter 7"):
        await find_dead(bench.client, 7)


async def test_stopping_finishes_the_batch_in_hand(bench):
    await bench.send("a", *range(1, 13))
    async with bench.running():
        await bench.until(streams.DECISIONS, 1)
    stopped_at = await bench.count(streams.DECISIONS)
    assert len(await bench.totals("a")) == stopped_at
    async with bench.running():
        await bench.until(streams.DECISIONS, 12)
    assert len(await bench.totals("a")) == 12


async def partition_of(bench, key: str) -> int:
    """The partition that the broker puts a key in."""
    if await bench.count(streams.EVENTS) == 0:
        await bench.send(key, 0)
    stored = await bench.client.jetstream().get_last_msg(streams.EVENTS, f"lictor.ev.*.*.{key}")
    if json.loads(stored.data)["n"] == 0:
        await bench.client.jetstream().purge_stream(streams.EVENTS)
    return int(stored.subject.split(".")[2])


async def test_a_worker_that_stopped_leaves_no_handler_behind(bench):
    await bench.send("a", 1)
    async with bench.running():
        await bench.until(streams.DECISIONS, 1)
        assert bench.client._direct
    assert not bench.client._direct
