"""The laws of a ledger: no entry lost, none doubled, and each judged on exactly the state that it follows."""

import asyncio
import json
import random
import uuid
from collections.abc import AsyncIterator, Iterable
from contextlib import AsyncExitStack
from dataclasses import dataclass

import pytest
from lossy_wire import LossyWire
from nats.aio.client import Client

from lictor_bus import ledger as ledgers
from lictor_bus.errors import BusError, MessageRefused
from lictor_bus.ledger import LedgerChange, Log, Overtaken, Reading, WholeLedger, WholeLog
from lictor_bus.names import streams, subjects
from lictor_bus.wire import read
from lictor_bus.wire.appends import Appends
from lictor_bus.wire.connection import close_nats, connect_nats
from lictor_bus.wire.publish import Outgoing, publish_one
from lictor_bus.wire.read import read_all
from lictor_local.embedded_servers import Endpoints
from lictor_schema.core.canonical_json import CanonicalError

Ids = tuple[str, ...]


@dataclass(frozen=True)
class Note:
    """An entry that says what its judge saw."""

    entry_id: str
    log: str
    seen: Ids
    text: str = ""

    def to_json(self) -> bytes:
        body = {"entry_id": self.entry_id, "log": self.log, "seen": self.seen, "text": self.text}
        return json.dumps(body, separators=(",", ":")).encode()

    @classmethod
    def from_json(cls, body: bytes) -> "Note":
        read = json.loads(body)
        return cls(read["entry_id"], read["log"], tuple(read["seen"]), read["text"])


def ids(entries: Iterable[Note]) -> Ids:
    return tuple(each.entry_id for each in entries)


@pytest.fixture
def notes(monkeypatch: pytest.MonkeyPatch) -> WholeLedger[Note, Ids]:
    monkeypatch.setattr(ledgers, "LEDGERS", {})
    return WholeLedger(
        "note",
        streams.PATCHES,
        parse=Note.from_json,
        fold=ids,
        # Of two subjects: such a log stands on a filter, as a patch's does.
        subject_of=lambda entry: subjects.patch(
            ("proposed", "applied")[len(entry.seen) % 2], entry.log
        ),
    )


@pytest.fixture
async def client(clean_infra: Endpoints) -> AsyncIterator[Client]:
    connected = await connect_nats(clean_infra.nats_url, name="test")
    await streams.declare(connected, streams.PATCHES)
    yield connected
    await connected.close()


class Remembered(Log[Note, Ids]):
    """A log as a service remembers it: read on only when somebody overtook it, or told so."""

    def __init__(self, whole: WholeLog[Note, Ids]) -> None:
        self._whole = whole
        self.subjects = whole.subjects
        self._known: Reading[Note, Ids] | None = None

    async def read(self) -> Reading[Note, Ids] | None:
        if self._known is None:
            found = await self._whole.read()
            # As of a store: the entries themselves are not at hand.
            self._known = Reading(found.state, found.last)
            return None
        return self._known

    def message(self, entry: Note) -> Outgoing:
        return self._whole.message(entry)

    async def appended(self, reading: Reading[Note, Ids], entry: Note, sequence: int) -> None:
        self._known = Reading((*reading.state, entry.entry_id), sequence)

    async def overtaken(self, reading: Reading[Note, Ids]) -> None:
        self._known = None


async def whole(client: Client, notes: WholeLedger[Note, Ids], log: str) -> Reading[Note, Ids]:
    return await notes.log(client, subjects.patch_entries(log)).read()


async def write(
    client: Client, notes: WholeLedger[Note, Ids], log: str, entry_id: str
) -> LedgerChange[Note, Ids]:
    return await notes.change(
        Appends(client),
        notes.log(client, subjects.patch_entries(log)),
        lambda seen: Note(entry_id, log, seen),
        entry_id=entry_id,
    )


@pytest.mark.parametrize("seed", range(4))
async def test_generated_interleavings_keep_the_laws(
    clean_infra: Endpoints,
    client: Client,
    notes: WholeLedger[Note, Ids],
    seed: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Writers of several processes on several logs, over wires that lose answers; some ask the same thing."""
    # A read whose answer got lost is waited for in vain.
    monkeypatch.setattr(read, "READ_WITHIN_S", 0.5)
    chance = random.Random(seed)
    logs = [f"log-{n}" for n in range(chance.choice([1, 3, 12]))]
    written: dict[str, set[str]] = {log: set() for log in logs}
    answers: dict[tuple[str, str], set[int]] = {}
    common = [str(uuid.uuid4()) for _ in range(5)]

    async def writer(appends: Appends, wire: LossyWire) -> None:
        # Of one process: what it remembers of a log is shared by nobody else who writes at the same time.
        remembered: dict[str, Log[Note, Ids]] = {}
        for _ in range(8):
            name = chance.choice(logs)
            log: Log[Note, Ids] = notes.log(appends.client, subjects.patch_entries(name))
            entry_id: str | None = None
            if chance.random() < 0.4:
                assert isinstance(log, WholeLog)
                log = remembered.setdefault(name, Remembered(log))
            elif chance.random() < 0.4:
                entry_id = f"{name}:{chance.choice(common)}"
            if chance.random() < 0.1:
                wire.lose_answers()
            if chance.random() < 0.1:
                await publish_one(client, streams.PATCHES, litter(name))
            chosen = entry_id or str(uuid.uuid4())

            def judge(seen: Ids, chosen: str = chosen, name: str = name) -> Note | None:
                return None if chosen in seen else Note(chosen, name, seen)

            while True:
                try:
                    changed = await notes.change(appends, log, judge, entry_id=entry_id)
                    break
                except BusError:
                    continue  # as who had no answer: the same question again
            written[name].add(chosen)
            if changed.entry is not None:
                assert changed.entry.entry_id == chosen
                answers.setdefault((name, chosen), set()).add(changed.sequence)

    async with AsyncExitStack() as stack:
        writers = []
        for _ in range(3):
            wire = await stack.enter_async_context(LossyWire(clean_infra.nats_url).running())
            connected = await connect_nats(wire.url, name="process")
            stack.push_async_callback(close_nats, connected)
            appends = Appends(connected)
            writers += [writer(appends, wire) for _ in range(5)]
        await asyncio.gather(*writers)

    for log in logs:
        found = await whole(client, notes, log)
        stands = [entry for _, entry in found.entries]
        assert len(found.state) == len(set(found.state)), "none is doubled"
        assert set(found.state) == written[log], "none is lost, and there is no other"
        for place, entry in enumerate(stands):
            assert entry.seen == found.state[:place], "judged on exactly what it follows"
        for sequence, entry in found.entries:
            told = answers.get((log, entry.entry_id), {sequence})
            assert told == {sequence}, "everybody got the first answer"


def litter(log: str) -> Outgoing:
    """What others can get into a log: an answer of the broker."""
    return Outgoing(subjects.patch("proposed", log), b'{"type":"io.nats.jetstream.api.v1"}')


async def test_a_repeated_question_gets_the_first_answer(
    client: Client, notes: WholeLedger[Note, Ids]
) -> None:
    first = await write(client, notes, "a", "one")
    await write(client, notes, "a", "two")
    again = await notes.change(
        Appends(client),
        notes.log(client, subjects.patch_entries("a")),
        lambda _: pytest.fail("it is not judged again"),
        entry_id="one",
    )
    assert (again.sequence, again.entry) == (first.sequence, first.entry)
    assert (first.is_new, again.is_new) == (True, False)


async def test_a_judge_that_makes_the_same_entry_again_finds_the_first(
    client: Client, notes: WholeLedger[Note, Ids]
) -> None:
    first = await write(client, notes, "a", "one")
    again = await notes.change(
        Appends(client),
        notes.log(client, subjects.patch_entries("a")),
        lambda seen: Note("one", "a", seen),
    )
    assert (again.sequence, again.entry, again.is_new) == (first.sequence, first.entry, False)


async def test_who_has_nothing_to_add_learns_the_state(
    client: Client, notes: WholeLedger[Note, Ids]
) -> None:
    await write(client, notes, "a", "one")
    log = notes.log(client, subjects.patch_entries("a"))
    changed = await notes.change(Appends(client), log, lambda _: None)
    assert changed == LedgerChange(("one",), 1)


async def test_a_judge_s_objection_leaves_the_log_alone(
    client: Client, notes: WholeLedger[Note, Ids]
) -> None:
    async def refuse(_: Ids) -> Note | None:
        raise MessageRefused("not now", remedy="later")

    log = notes.log(client, subjects.patch_entries("a"))
    with pytest.raises(MessageRefused):
        await notes.change(Appends(client), log, refuse)
    assert (await whole(client, notes, "a")).state == ()


async def test_messages_of_others_are_passed_over(
    client: Client, notes: WholeLedger[Note, Ids]
) -> None:
    await publish_one(client, streams.PATCHES, litter("a"))
    changed = await write(client, notes, "a", "one")
    assert (changed.state, changed.sequence) == ((), 2)


async def test_an_entry_that_can_t_be_read_is_an_error(
    client: Client, notes: WholeLedger[Note, Ids], monkeypatch: pytest.MonkeyPatch
) -> None:
    body = b'{"entry_id":"new","of":"a later version"}'
    await publish_one(
        client, streams.PATCHES, Outgoing(subjects.patch("proposed", "a"), body, "new")
    )

    def parse(_: bytes) -> Note:
        raise CanonicalError("unknown field")

    monkeypatch.setattr(notes, "parse", parse)
    with pytest.raises(BusError, match="can't be read by this version"):
        await write(client, notes, "a", "one")
    assert [each async for each in read_all(client, streams.PATCHES, "lictor.patch.*.*")][1:] == []


async def test_who_is_overtaken_all_the_time_gives_up(
    client: Client, notes: WholeLedger[Note, Ids]
) -> None:
    tries = 0

    async def overtaken(seen: Ids) -> Note:
        nonlocal tries
        tries += 1
        await write(client, notes, "a", f"other-{tries}")
        return Note("ours", "a", seen)

    log = notes.log(client, subjects.patch_entries("a"))
    begun = asyncio.get_running_loop().time()
    with pytest.raises(Overtaken, match="others changed the note all the time; ask again"):
        await notes.change(Appends(client), log, overtaken)
    assert asyncio.get_running_loop().time() - begun < 10
    assert 5 < tries <= 24
    assert "ours" not in (await whole(client, notes, "a")).state


async def test_an_entry_that_the_broker_would_not_take_is_refused(
    client: Client, notes: WholeLedger[Note, Ids]
) -> None:
    log = notes.log(client, subjects.patch_entries("a"))
    with pytest.raises(MessageRefused, match="more than the broker takes"):
        await notes.change(
            Appends(client), log, lambda seen: Note("one", "a", seen, "x" * client.max_payload)
        )
