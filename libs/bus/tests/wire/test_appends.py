"""Appends share the broker's sync, and none of them notices: each gets its own sequence, conflict or repetition."""

import asyncio
import uuid
from collections.abc import AsyncIterator
from typing import Any

import pytest
from lossy_wire import LossyWire
from nats.aio.client import Client

from lictor_bus.errors import BusError, IdTaken, SequenceConflict
from lictor_bus.names import streams, subjects
from lictor_bus.wire import publish
from lictor_bus.wire.appends import AT_ONCE, BATCH_FROM, Appends
from lictor_bus.wire.connection import close_nats, connect_nats
from lictor_bus.wire.publish import Outgoing, PublishAck, publish_one
from lictor_bus.wire.read import read_all
from lictor_local.embedded_servers import EmbeddedServers, Endpoints

MANY = 3 * BATCH_FROM


@pytest.fixture
async def client(clean_infra: Endpoints) -> AsyncIterator[Client]:
    connected = await connect_nats(clean_infra.nats_url, name="test")
    await streams.declare(connected, streams.SESSIONS, streams.PATCHES)
    yield connected
    await connected.close()


def message(log: str, body: str = "{}", message_id: str | None = None) -> Outgoing:
    return Outgoing(subjects.session_log(log), body.encode(), message_id or str(uuid.uuid4()))


async def stored(client: Client, log: str = "*") -> list[tuple[int, str, str]]:
    return [
        (each.sequence, each.subject.rpartition(".")[2], each.body.decode())
        async for each in read_all(client, streams.SESSIONS, subjects.session_log(log))
    ]


async def batches(client: Client) -> int:
    """How many messages were stored as members of a batch."""
    found = read_all(client, streams.SESSIONS, subjects.session_log("*"))
    return len([each async for each in found if "Nats-Batch-Id" in each.headers])


async def test_a_lone_append_goes_by_itself(client: Client) -> None:
    appends = Appends(client)
    assert await appends.append(streams.SESSIONS, message("a"), 0) == 1
    assert await appends.append(streams.SESSIONS, message("a"), 1) == 2
    assert await batches(client) == 0


async def test_few_appends_go_side_by_side(client: Client) -> None:
    appends = Appends(client)
    logs = [f"log-{n}" for n in range(AT_ONCE + BATCH_FROM - 1)]
    await asyncio.gather(*(appends.append(streams.SESSIONS, message(each), 0) for each in logs))
    assert await batches(client) == 0


async def test_many_appends_share_a_batch_and_each_learns_its_own_sequence(client: Client) -> None:
    appends = Appends(client)
    logs = [f"log-{n}" for n in range(MANY)]
    sequences = await asyncio.gather(
        *(appends.append(streams.SESSIONS, message(each, each), 0) for each in logs)
    )
    assert {(sequence, log) for sequence, log, _ in await stored(client)} == set(
        zip(sequences, logs, strict=True)
    )
    assert await batches(client) == MANY - AT_ONCE


async def test_a_conflict_is_that_of_its_own_member(client: Client) -> None:
    appends = Appends(client)
    taken = await appends.append(streams.SESSIONS, message("log-20"), 0)
    results = await asyncio.gather(
        *(appends.append(streams.SESSIONS, message(f"log-{n}"), 0) for n in range(MANY)),
        return_exceptions=True,
    )
    assert isinstance(results[20], SequenceConflict)
    sequences = [each for each in results if isinstance(each, int)]
    assert sorted(sequences) == list(range(taken + 1, taken + MANY))
    assert [sequence for sequence, _, _ in await stored(client, "log-20")] == [taken]


async def test_what_a_log_had_before_has_the_sequence_it_got_then(client: Client) -> None:
    appends = Appends(client)
    known = message("log-20")
    first = await appends.append(streams.SESSIONS, known, 0)
    results = await asyncio.gather(
        *(
            appends.append(
                streams.SESSIONS,
                known if n == 20 else message(f"log-{n}"),
                first if n == 20 else 0,
            )
            for n in range(MANY)
        )
    )
    assert results[20] == first
    assert len(set(results)) == MANY == len(await stored(client))


async def test_the_same_id_stored_by_somebody_else_meanwhile_is_a_conflict(client: Client) -> None:
    await Appends(client).append(streams.SESSIONS, message("a", "his", "one"), 0)
    with pytest.raises(SequenceConflict):
        await Appends(client).append(streams.SESSIONS, message("a", "hers", "one"), 0)


async def test_an_id_that_another_log_has_is_not_taken_for_stored(client: Client) -> None:
    appends = Appends(client)
    await appends.append(streams.SESSIONS, message("a", message_id="one"), 0)
    with pytest.raises(IdTaken, match="but not on"):
        await appends.append(streams.SESSIONS, message("b", message_id="one"), 0)
    assert await stored(client, "b") == []


async def test_appends_to_one_log_keep_their_order(client: Client) -> None:
    appends = Appends(client)
    bodies = [(f"log-{n % MANY}", str(n)) for n in range(8 * MANY)]
    await asyncio.gather(
        *(appends.append(streams.SESSIONS, message(log, body), None) for log, body in bodies)
    )
    for log in {log for log, _ in bodies}:
        expected = [body for each, body in bodies if each == log]
        assert [body for _, _, body in await stored(client, log)] == expected
    assert await batches(client)


async def test_a_log_may_stand_on_many_subjects(client: Client) -> None:
    appends = Appends(client)

    async def live(patch: str) -> None:
        last = 0
        for state in ("proposed", "approved", "applied"):
            entry = Outgoing(subjects.patch(state, patch), b"{}", str(uuid.uuid4()))
            last = await appends.append(
                streams.PATCHES, entry, last, log=subjects.patch_entries(patch)
            )
        late = Outgoing(subjects.patch("failed", patch), b"{}", str(uuid.uuid4()))
        with pytest.raises(SequenceConflict):
            await appends.append(streams.PATCHES, late, 0, log=subjects.patch_entries(patch))

    await asyncio.gather(*(live(f"patch-{n}") for n in range(MANY)))
    found = [each async for each in read_all(client, streams.PATCHES, "lictor.patch.*.*")]
    assert len(found) == 3 * MANY


async def test_streams_don_t_wait_for_each_other(client: Client) -> None:
    appends = Appends(client)
    patches = [Outgoing(subjects.patch("proposed", f"p-{n}"), b"{}", f"p-{n}") for n in range(MANY)]
    await asyncio.gather(
        *(appends.append(streams.SESSIONS, message(f"log-{n}"), 0) for n in range(MANY)),
        *(appends.append(streams.PATCHES, each, 0) for each in patches),
    )
    assert len(await stored(client)) == MANY


async def test_who_gives_up_while_waiting_leaves_nothing_behind(client: Client) -> None:
    appends = Appends(client)
    tasks = [
        asyncio.create_task(appends.append(streams.SESSIONS, message(f"log-{n}"), 0))
        for n in range(MANY)
    ]
    last = asyncio.create_task(appends.append(streams.SESSIONS, message("log-0"), 1))
    await asyncio.sleep(0)
    last.cancel()
    await asyncio.gather(*tasks)
    assert await asyncio.gather(last, return_exceptions=True) != [1]
    assert len(await stored(client)) == MANY
    assert await appends.append(streams.SESSIONS, message("log-0"), 1)


@pytest.mark.parametrize(("count", "lost"), [(1, b'"seq"'), (MANY, b'"seq"'), (MANY, b'"batch"')])
async def test_an_append_whose_answer_got_lost_is_stored_once(
    clean_infra: Endpoints, client: Client, count: int, lost: bytes
) -> None:
    async with LossyWire(clean_infra.nats_url).running() as wire:
        through = await connect_nats(wire.url, name="lossy")
        appends = Appends(through)
        wire.lose_answers(that_hold=lost)
        sequences = await asyncio.gather(
            *(appends.append(streams.SESSIONS, message(f"log-{n}"), 0) for n in range(count))
        )
        await close_nats(through)
    assert wire.cuts == 1
    assert sorted(sequences) == [sequence for sequence, _, _ in await stored(client)]
    assert len(sequences) == count


async def test_a_message_without_an_id_is_never_sent_twice(
    clean_infra: Endpoints, client: Client
) -> None:
    async with LossyWire(clean_infra.nats_url).running() as wire:
        through = await connect_nats(wire.url, name="lossy")
        wire.lose_answers()
        nameless = Outgoing(subjects.session_log("a"), b"{}")
        with pytest.raises(BusError, match="did not answer"):
            await Appends(through).append(streams.SESSIONS, nameless, None)
        await close_nats(through)
    assert len(await stored(client)) == 1


async def test_a_killed_broker_loses_and_doubles_nothing(own_servers: EmbeddedServers) -> None:
    """Each writer appends to its own log until it knows that it has; the broker is killed meanwhile."""
    client = await connect_nats(own_servers.endpoints.nats_url, name="test")
    await streams.declare(client, streams.SESSIONS)
    appends = Appends(client)
    killed = asyncio.Event()

    async def write(log: str) -> None:
        last = 0
        for number in range(12):
            entry = message(log, str(number))
            if number == 6:
                killed.set()
            while True:
                try:
                    last = await appends.append(streams.SESSIONS, entry, last)
                    break
                except SequenceConflict:
                    raise
                except BusError:
                    continue

    writers = [asyncio.create_task(write(f"log-{n}")) for n in range(MANY)]
    await killed.wait()
    await own_servers.kill_nats()
    await own_servers.start_nats()
    await asyncio.gather(*writers)
    for n in range(MANY):
        found = [body for _, _, body in await stored(client, f"log-{n}")]
        assert found == [str(number) for number in range(12)]
    await close_nats(client)


async def test_an_entry_of_the_same_id_that_somebody_else_stored_is_not_taken_for_ours(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two instances judge one question at one place in the log; the append of the second never got to the broker."""
    his, hers = message("a", "deny", "one"), message("a", "allow", "one")
    sent = publish.publish_expecting

    async def lost(*_: Any) -> PublishAck:
        monkeypatch.setattr("lictor_bus.wire.appends.publish_expecting", sent)
        await publish_one(client, streams.SESSIONS, his)
        raise BusError("JetStream did not answer")

    monkeypatch.setattr("lictor_bus.wire.appends.publish_expecting", lost)
    with pytest.raises(SequenceConflict):
        await Appends(client).append(streams.SESSIONS, hers, 0)
    assert [body for _, _, body in await stored(client)] == ["deny"]


async def test_who_was_stored_and_overtaken_before_it_knew_is_told_a_conflict(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a runner whose answer got lost, while another took its run over: it must look before it goes on."""
    send = publish.publish_expecting

    async def lost(*args: Any) -> PublishAck:
        monkeypatch.setattr("lictor_bus.wire.appends.publish_expecting", send)
        await send(*args)
        await publish_one(client, streams.SESSIONS, message("a", "taken over"))
        raise BusError("JetStream did not answer")

    monkeypatch.setattr("lictor_bus.wire.appends.publish_expecting", lost)
    with pytest.raises(SequenceConflict):
        await Appends(client).append(streams.SESSIONS, message("a", "begun"), 0)
    assert [body for _, _, body in await stored(client)] == ["begun", "taken over"]


async def test_an_append_that_can_not_be_sent_holds_up_no_other(client: Client) -> None:
    appends = Appends(client)
    odd = Outgoing(subjects.session_log("odd"), b"{}", "odd", {"Odd": "\ud800"})
    async with asyncio.timeout(10):
        results = await asyncio.gather(
            *(appends.append(streams.SESSIONS, message(f"log-{n}"), 0) for n in range(MANY)),
            appends.append(streams.SESSIONS, odd, 0),
            return_exceptions=True,
        )
        assert isinstance(results.pop(), ValueError)
        assert all(isinstance(each, int) for each in results)
        # Nor does it later.
        await asyncio.gather(
            *(appends.append(streams.SESSIONS, message(f"more-{n}"), 0) for n in range(MANY))
        )
    assert len(await stored(client)) == 2 * MANY
    assert await stored(client, "odd") == []


async def test_who_gave_up_is_not_stored_after_its_batch_was_refused(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its gate ran out of time and has denied: what is known not to be stored must not be stored afterwards."""
    appends = Appends(client)
    await appends.append(streams.SESSIONS, message("log-20"), 0)
    send = publish.publish_batch

    async def refused(*args: Any) -> int:
        tasks[30].cancel()
        return await send(*args)

    monkeypatch.setattr("lictor_bus.wire.appends.publish_batch", refused)
    tasks = [
        asyncio.create_task(appends.append(streams.SESSIONS, message(f"log-{n}"), 0))
        for n in range(MANY)
    ]
    results = await asyncio.gather(*tasks, return_exceptions=True)
    assert isinstance(results[20], SequenceConflict)
    assert isinstance(results[30], asyncio.CancelledError)
    # Whatever goes after it is answered after it.
    await appends.append(streams.SESSIONS, message("last"), 0)
    assert await stored(client, "log-30") == []
    assert len(await stored(client)) == MANY


async def test_who_gave_up_is_not_sent_again(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    appends = Appends(client)
    send, sent = publish.publish_expecting, list[str]()

    async def lost(*args: Any) -> PublishAck:
        subject = args[2].subject
        sent.append(subject)
        if subject != subjects.session_log("late"):
            return await send(*args)
        late.cancel()
        await asyncio.sleep(0)
        raise BusError("JetStream did not answer")

    monkeypatch.setattr("lictor_bus.wire.appends.publish_expecting", lost)
    others = [
        asyncio.create_task(appends.append(streams.SESSIONS, message(f"log-{n}"), 0))
        for n in range(AT_ONCE)
    ]
    await asyncio.sleep(0)
    late = asyncio.create_task(appends.append(streams.SESSIONS, message("late"), 0))
    await asyncio.gather(*others)
    await asyncio.gather(late, return_exceptions=True)
    await asyncio.gather(*appends._tasks)
    assert late.cancelled()
    assert sent.count(subjects.session_log("late")) == 1
