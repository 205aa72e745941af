"""Appends whose answer never came, on a real broker: stored once, whatever became of them, and the log never forks."""

import asyncio
import logging
import shutil
from collections.abc import AsyncIterator, Awaitable
from contextlib import AsyncExitStack, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from closing_bus import Log, closing_bus, record
from lossy_wire import LossyWire
from nats.errors import Error as NatsError
from nats.js.errors import Error as JetStreamError
from sealed_history import KEY, TRUST, episode

from lictor_bus.errors import BusError
from lictor_bus.fold.processor import Sourced
from lictor_bus.logs.dead_letters import DeadLetters
from lictor_bus.names import streams, subjects
from lictor_bus.wire.connection import TolerantClient, connect_nats
from lictor_bus.wire.read import read_all, read_from
from lictor_local.embedded_servers import EmbeddedServers
from lictor_schema.core.base_model import utc_millis
from lictor_schema.core.canonical_json import canonical_json
from lictor_schema.core.ids import episode_id
from lictor_schema.seals.correction import CorrectionOrder
from lictor_seal import (
    SealBundle,
    SigningKey,
    StoredCheckpoint,
    StreamAudit,
    TrustedKey,
    TrustStore,
    bundle_of_leaf,
    checkpoint_in,
    extend,
)
from lictor_sealer.correction.desk import Corrections
from lictor_sealer.episode.sealing import ClosedTask, SealingOutbox
from lictor_sealer.log import stream
from lictor_sealer.log.head_file import Remembered
from lictor_sealer.log.signed_head import SignedHead
from lictor_sealer.log.stream import DraftMessage, EpisodeLog, LogOvertaken, load_head
from lictor_sealer.log.succession import LogSuccession, take_up
from lictor_sealer.log.tree import Draft

AT = "2026-01-31T12:00:00.000Z"
CHECKPOINT = b"HPUB lictor.log.checkpoint"
ANSWER = b'"stream":"EPISODES","seq"'


def append_of(*names: str, at: str = AT) -> list[DraftMessage]:
    return [DraftMessage(Draft(episode(name), at), name, {}) for name in names]


class Machine:
    """A machine that sealers run on: their file, and their wire to the broker."""

    def __init__(self, path: Path, wire: LossyWire, client: TolerantClient) -> None:
        self.path = path
        self.wire = wire
        self.client = client

    def sealer(self, key: SigningKey = KEY) -> EpisodeLog:
        """A sealer that was just started; the ones before it may have been killed."""
        return EpisodeLog(self.client, key, signed=SignedHead(self.path))

    async def lose_answer(self, append: Awaitable[object]) -> None:
        """The append is stored; whoever waits for it is never told."""
        self.wire.lose_answers(that_hold=ANSWER)
        await self._lose(append)

    async def lose_append(self, append: Awaitable[object]) -> None:
        """The append does not reach the broker."""
        self.wire.lose_questions(that_hold=CHECKPOINT)
        await self._lose(append)

    async def _lose(self, append: Awaitable[object]) -> None:
        waiting = asyncio.ensure_future(append)
        async with asyncio.timeout(20):
            await self.wire.lost.wait()
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
        async with asyncio.timeout(20):
            # The broker is there: the next try is about what became of this one.
            while not self.client.is_connected or await self._is_silent():
                await asyncio.sleep(0.01)

    async def _is_silent(self) -> bool:
        try:
            await self.client.flush(1)
        except (NatsError, JetStreamError):
            return True
        return False


class Site:
    """The broker, and machines."""

    def __init__(self, log: Log, url: str, folder: Path, stack: AsyncExitStack) -> None:
        self.log = log
        self._url = url
        self._folder = folder
        self._stack = stack

    async def machine(self, name: str = "a") -> Machine:
        wire = await self._stack.enter_async_context(LossyWire(self._url).running())
        client = await connect_nats(wire.url, name=name)
        self._stack.push_async_callback(client.close)
        return Machine(self._folder / f"signed-head-{name}", wire, client)

    async def audited(self, trust: TrustStore = TRUST) -> list[str]:
        """The episodes of the log in their order, once it is found whole."""
        audit, found = StreamAudit(trust), list[str]()
        async for stored in read_all(self.log.client, streams.EPISODES, ">"):
            if stored.subject == subjects.LOG_CHECKPOINT:
                audit.checkpoint(stored.sequence, stored.body)
                continue
            audit.episode(stored.sequence, stored.body)
            found.append(str(SealBundle.from_bytes(stored.body).sealed_episode["episodeId"]))
        if not found:
            return []
        report = audit.finish()
        assert report.findings == ()
        assert report.size == len(found)
        return found

    async def head(self) -> tuple[int, bytes]:
        """What a reader of the log keeps: size and root of the last signed tree."""
        stored = [
            each async for each in read_all(self.log.client, "EPISODES", subjects.LOG_CHECKPOINT)
        ]
        stated = checkpoint_in(StoredCheckpoint.from_bytes(stored[-1].body).note)
        return stated.size, stated.root


@pytest.fixture
async def site(clean_infra, tmp_path: Path) -> AsyncIterator[Site]:
    async with closing_bus(clean_infra) as log, AsyncExitStack() as stack:
        yield Site(log, clean_infra.nats_url, tmp_path, stack)


async def settled(sealer: EpisodeLog, *names: str) -> None:
    """Append as a caller does who looks at the log again when told to, and finds nothing of it there."""
    try:
        await sealer.append(append_of(*names))
    except LogOvertaken:
        await sealer.append(append_of(*names))


@pytest.mark.parametrize("is_killed", [False, True], ids=["running", "killed"])
@pytest.mark.parametrize("is_stored", [False, True], ids=["never arrived", "stored"])
async def test_an_append_without_an_answer_is_stored_once(
    site: Site, is_stored: bool, is_killed: bool
) -> None:
    machine = await site.machine()
    sealer = machine.sealer()
    await sealer.append(append_of("first"))
    lose = machine.lose_answer if is_stored else machine.lose_append
    await lose(sealer.append(append_of("second", "third")))
    if is_killed:
        sealer = machine.sealer()
        await sealer.check()
    # Whoever wanted it wants it again; it may be known already that there is nothing left to do.
    with suppress(LogOvertaken):
        await sealer.append(append_of("second", "third"))
    await settled(sealer, "fourth")
    assert await site.audited() == ["first", "second", "third", "fourth"]


@pytest.mark.parametrize("is_stored", [False, True], ids=["never arrived", "stored"])
async def test_whoever_wants_to_append_something_else_is_sent_to_look_again(
    site: Site, is_stored: bool
) -> None:
    machine = await site.machine()
    lose = machine.lose_answer if is_stored else machine.lose_append
    await lose(machine.sealer().append(append_of("first")))
    sealer = machine.sealer()
    with pytest.raises(LogOvertaken):
        await sealer.append(append_of("other"))
    assert await site.audited() == ["first"]
    await sealer.append(append_of("other"))
    assert await site.audited() == ["first", "other"]


async def test_a_foreign_message_in_between_moves_the_leaves_and_changes_no_tree(
    site: Site,
) -> None:
    machine = await site.machine()
    sealer = machine.sealer()
    await sealer.append(append_of("first"))
    await machine.lose_append(sealer.append(append_of("second")))
    await site.log.client.request("lictor.ep.x.y.z", b"{}", headers={"Lictor-Log": "elsewhere"})
    await settled(machine.sealer(), "third")
    stored = await read_from(site.log.client, streams.EPISODES, subjects.EPISODE.all, 1, 9)
    assert [each.sequence for each in stored] == [1, 4, 6]


async def test_two_sealers_with_one_file_complete_each_other_s_appends(site: Site) -> None:
    machine = await site.machine()
    one, other = machine.sealer(), machine.sealer()
    await one.append(append_of("first"))
    await other.append(append_of("second"))
    await machine.lose_append(one.append(append_of("third")))
    await settled(other, "fourth")
    await settled(one, "fifth")
    assert await site.audited() == ["first", "second", "third", "fourth", "fifth"]


async def test_two_sealers_with_one_file_never_append_at_once(site: Site) -> None:
    machine = await site.machine()
    names = [f"episode-{number}" for number in range(20)]

    async def work(sealer: EpisodeLog, mine: list[str]) -> None:
        for name in mine:
            # Nobody is overtaken, because each waits for the other.
            await sealer.append(append_of(name))

    await asyncio.gather(work(machine.sealer(), names[::2]), work(machine.sealer(), names[1::2]))
    assert sorted(await site.audited()) == sorted(names)


async def test_an_append_that_another_machine_got_ahead_of_is_dropped_and_sealed_anew(
    site: Site, caplog: pytest.LogCaptureFixture
) -> None:
    ours, theirs = await site.machine("ours"), await site.machine("theirs")
    sealer = ours.sealer()
    await sealer.append(append_of("first"))
    await ours.lose_append(sealer.append(append_of("second", "third")))
    await theirs.sealer().append(append_of("other"))
    with caplog.at_level(logging.WARNING):
        await settled(sealer, "second", "third")
    assert "another sealer appended" in caplog.text
    assert await site.audited() == ["first", "other", "second", "third"]
    caplog.clear()
    await ours.sealer().check()
    assert "another sealer" not in caplog.text


async def test_leaves_that_another_machine_sealed_just_so_count_as_ours(
    site: Site, caplog: pytest.LogCaptureFixture
) -> None:
    """Sealing is deterministic: who takes over makes the same leaves of the same closings, perhaps fewer at once."""
    ours, theirs = await site.machine("ours"), await site.machine("theirs")
    await ours.lose_append(ours.sealer().append(append_of("first", "second", "third")))
    await theirs.sealer().append(append_of("first", "second"))
    sealer = ours.sealer()
    with caplog.at_level(logging.WARNING):
        await settled(sealer, "fourth")
    assert "another sealer" not in caplog.text
    assert await site.audited() == ["first", "second", "third", "fourth"]


async def test_an_append_of_what_is_sealed_already_is_dropped_and_never_doubles_it(
    site: Site, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Decided before another sealer sealed the same: the broker knows the id, and after a while would be passed by."""
    ours, theirs = await site.machine("ours"), await site.machine("theirs")
    await theirs.sealer().append(append_of("first", "second"))
    sealer = ours.sealer()
    with pytest.raises(LogOvertaken):
        await sealer.append(append_of("second", "third"))
    monkeypatch.setattr(stream, "_TAKEN_AFTER_S", 0.0)
    with caplog.at_level(logging.WARNING), pytest.raises(LogOvertaken):
        await sealer.append(append_of("second", "third"))
    assert "has sealed some of it already" in caplog.text
    await sealer.append(append_of("third"))
    assert await site.audited() == ["first", "second", "third"]


async def test_leaves_of_the_lost_append_itself_do_not_show_that_it_was_never_stored(
    site: Site,
) -> None:
    """Whoever runs the broker can store what it was sent as it likes."""
    machine = await site.machine()
    sealer = machine.sealer()
    await sealer.append(append_of("first"))
    await machine.lose_append(sealer.append(append_of("second")))
    pending = Remembered.from_bytes(machine.path.read_bytes()).pending
    assert pending is not None
    [leaf] = pending.leaves
    _, [proof] = extend((await load_head(machine.client, KEY)).frontier, [leaf.leaf])
    bundle = bundle_of_leaf(leaf.leaf, 0, proof, pending.tree.note)
    await site.log.client.request(leaf.subject, bundle)
    with pytest.raises(LogOvertaken):
        await machine.sealer().append(append_of("other"))
    assert (await site.head())[0] == 2
    assert (await site.head())[1] == pending.tree.frontier.root()


async def test_a_refusal_of_the_broker_is_no_proof_that_nothing_was_stored(site: Site) -> None:
    """Nobody but the log says what became of an append: whoever runs the broker could show it to others."""
    machine = await site.machine()
    sealer = machine.sealer()
    await sealer.append(append_of("first"))
    js = site.log.client.jetstream()
    limited = (await js.stream_info(streams.EPISODES)).config
    limited.max_msgs, limited.discard = 2, "new"  # pyright: ignore[reportAttributeAccessIssue] -- as the server spells it
    await js.update_stream(limited)
    for _ in range(2):
        with pytest.raises(BusError, match="refused"):
            await sealer.append(append_of("second"))
    with pytest.raises(BusError, match="refused"):
        await machine.sealer().append(append_of("other"))
    limited.max_msgs = -1
    await js.update_stream(limited)
    await settled(machine.sealer(), "other")
    assert await site.audited() == ["first", "second", "other"]


async def test_what_the_old_key_began_it_completes_before_it_hands_over(site: Site) -> None:
    new, now = SigningKey.from_seed(KEY.name, bytes([1]) * 32), datetime.now(UTC)
    until, since = now + timedelta(hours=1), now - timedelta(minutes=1)
    windows = TrustStore(
        (
            TrustedKey(KEY.verifying_key, None, utc_millis(until)),
            TrustedKey(new.verifying_key, utc_millis(since), None),
        )
    )
    machine = await site.machine()
    sealer = machine.sealer()
    await sealer.append(append_of("first"))
    await machine.lose_append(sealer.append(append_of("second")))
    signed = SignedHead(machine.path)
    await take_up(machine.client, new, LogSuccession(KEY, windows), now, signed)
    going_on = EpisodeLog(machine.client, new, signed=signed)
    await going_on.check()
    await going_on.append(append_of("third", at=utc_millis(now)))
    assert await site.audited(windows) == ["first", "second", "third"]


async def test_another_key_does_not_begin_a_log_that_may_have_begun(site: Site) -> None:
    machine = await site.machine()
    await machine.lose_append(machine.sealer().append(append_of("first")))
    other = machine.sealer(SigningKey.from_seed(KEY.name, bytes([1]) * 32))
    with pytest.raises(BusError, match="start the sealer with that key once"):
        await other.append(append_of("first"))
    assert await site.audited() == []


@pytest.mark.parametrize("is_stored", [False, True], ids=["never arrived", "stored"])
async def test_a_correction_without_an_answer_is_made_once(site: Site, is_stored: bool) -> None:
    machine = await site.machine()
    await site.log.decide(record("e1"), record("e2", closes=True))
    await site.log.seal()
    order = CorrectionOrder.from_json(
        canonical_json(
            {
                "request_id": "00000000-0000-5000-8000-000000000001",
                "by": "ops",
                "reason": "late",
                "episode_id": episode_id("task", "e1"),
            }
        )
    )
    lose = machine.lose_answer if is_stored else machine.lose_append
    await lose(Corrections(machine.client, machine.sealer(), TRUST).correct(order))
    answer = await Corrections(machine.client, machine.sealer(), TRUST).correct(order)
    assert answer.version == 2
    assert [each.seal.version for each in await site.log.episodes()] == [1, 2]
    assert len(await site.audited()) == 2


@pytest.mark.parametrize("content", [b"", b"{", bytes(300)], ids=["empty", "cut off", "zeros"])
async def test_a_file_that_says_nothing_stops_the_sealer(site: Site, content: bytes) -> None:
    machine = await site.machine()
    machine.path.write_bytes(content)
    for _ in range(2):
        with pytest.raises(BusError, match="does not say what was signed last"):
            await machine.sealer().check()
    assert await site.audited() == []


async def test_a_file_that_can_not_be_written_leaves_nothing_unremembered(site: Site) -> None:
    machine = await site.machine()
    sealer = machine.sealer()
    await sealer.append(append_of("first"))
    (machine.path.parent / f".{machine.path.name}.new").mkdir()
    with pytest.raises(BusError, match="can't be remembered"):
        await sealer.append(append_of("second"))
    assert await site.audited() == ["first"]


class Restored:
    """A broker of its own that can be put back."""

    def __init__(self, servers: EmbeddedServers, folder: Path) -> None:
        self._servers = servers
        self._data = folder / "servers" / "nats"
        self._backup = folder / "backup"

    async def back_up(self) -> None:
        await self._servers.kill_nats()
        shutil.copytree(self._data, self._backup)
        await self._servers.start_nats()

    async def restore(self) -> None:
        await self._servers.kill_nats()
        shutil.rmtree(self._data)
        shutil.copytree(self._backup, self._data)
        await self._servers.start_nats()


async def until_heard(client: TolerantClient) -> None:
    async with asyncio.timeout(30):
        while True:
            with suppress(NatsError, JetStreamError):
                await client.jetstream().stream_info(streams.EPISODES)
                return
            await asyncio.sleep(0.02)


async def test_a_lost_answer_and_a_restored_backup_give_the_tree_that_was_seen(
    own_servers: EmbeddedServers, tmp_path: Path
) -> None:
    """The drafts of this test cover no messages, so none can be missing."""
    async with closing_bus(own_servers.endpoints) as log, AsyncExitStack() as stack:
        site = Site(log, own_servers.nats_url, tmp_path, stack)
        broker = Restored(own_servers, tmp_path)
        await EpisodeLog(log.client, KEY).append(append_of("first"))
        await broker.back_up()
        await until_heard(log.client)
        machine = await site.machine()
        await machine.lose_answer(machine.sealer().append(append_of("second")))
        await machine.client.close()
        seen = await site.head()
        assert seen[0] == 2
        await broker.restore()
        await until_heard(log.client)
        machine = await site.machine()
        assert await site.audited() == ["first"]
        with pytest.raises(LogOvertaken):
            await machine.sealer().append(append_of("other"))
        assert await site.head() == seen
        assert await site.audited() == ["first", "second"]


async def test_a_lost_answer_and_a_backup_without_the_messages_stop_the_sealer(
    own_servers: EmbeddedServers, tmp_path: Path
) -> None:
    async with closing_bus(own_servers.endpoints) as log, AsyncExitStack() as stack:
        site = Site(log, own_servers.nats_url, tmp_path, stack)
        broker = Restored(own_servers, tmp_path)
        await EpisodeLog(log.client, KEY).append(append_of("first"))
        await broker.back_up()
        await until_heard(log.client)
        machine = await site.machine()
        await log.decide(record("e1", closes=True))
        dead = DeadLetters(machine.client, "sealer")
        outbox = SealingOutbox(machine.client, machine.sealer(), dead)
        [closing] = await log.closings()
        await machine.lose_answer(
            outbox.publish([Sourced("task", closing.sequence, ClosedTask(closing))])
        )
        await machine.client.close()
        assert (await site.head())[0] == 2
        await broker.restore()
        await until_heard(log.client)
        machine = await site.machine()
        with pytest.raises(BusError, match=r"not in CONTENTS.*fork"):
            await machine.sealer().append(append_of("other"))
        with pytest.raises(BusError, match="fork"):
            await machine.sealer().check()
        assert await site.audited() == ["first"]
