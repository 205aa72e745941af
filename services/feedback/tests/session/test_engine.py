"""The engine between the log and the store, with real servers: what dies or is overtaken in between costs nothing."""

import asyncio
import itertools
import uuid
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from datetime import UTC, datetime

import pytest
from redis.exceptions import ConnectionError as StoreLost

from lictor_bus.errors import BusError
from lictor_bus.fold.state_tags import StateTags
from lictor_bus.names import streams, subjects
from lictor_bus.wire.connection import connect_nats
from lictor_bus.wire.publish import Outgoing, publish_one
from lictor_bus.wire.quick_redis import QuickRedis
from lictor_bus.wire.redis_connection import connect_redis
from lictor_feedback.halt.read_position import ReadPosition
from lictor_feedback.halt.watch import HaltWatch
from lictor_feedback.session.engine import Engine
from lictor_feedback.session.fold import encoded
from lictor_feedback.session.log import SessionLog
from lictor_feedback.session.questions import SessionQuestions, Sessions
from lictor_feedback.session.server_age import ServerAge
from lictor_feedback.session.store import Behind, SessionStore, StoreAway
from lictor_guard.definitions.loading import read_definition
from lictor_guard.errors import DefinitionError
from lictor_guard.facts.fact import Facts, decode_fact
from lictor_guard.facts.session_facts import TALLY, Tally
from lictor_guard.session.asking import ReadApproval
from lictor_schema.sessions.session_questions import (
    ResetRequest,
    RestoreRequest,
    SessionBeginRequest,
    SnapshotRequest,
    ToolGateRequest,
    ToolResultReport,
)

GUARDED = read_definition(
    b"""
apiVersion: lictor/v1
kind: AgentDefinition
metadata: {name: coder, version: "1"}
tools: [{name: edit}, {name: test}, {name: deploy}]
policies:
  - kind: sequential-dependency
    name: order
    requires: {deploy: [test]}
    invalidated_by: {test: [edit]}
""",
    "coder.yaml",
)
KEY = subjects.session_key("rt", "s1")


class OneDefinition:
    async def newest(self, name):
        return GUARDED

    async def by_hash(self, definition_hash):
        assert definition_hash == GUARDED.hash
        return GUARDED


class FailingStore(SessionStore):
    """Loses the connection when it is told to."""

    losing: frozenset[str] = frozenset()
    commits_left: int | None = None

    async def load(self, key, names):
        return await self._unless("load", super().load(key, names))

    async def load_for_write(self, key, names, mark):
        return await self._unless("load_for_write", super().load_for_write(key, names, mark))

    async def commit(self, key, expected, new, changes, *, more_to_come=False):
        if self.commits_left is not None:
            self.commits_left -= 1
            self.losing = frozenset({"commit"} if self.commits_left < 0 else ())
        storing = super().commit(key, expected, new, changes, more_to_come=more_to_come)
        return await self._unless("commit", storing)

    async def keep_state(self, key, sequence, state):
        return await self._unless("keep_state", super().keep_state(key, sequence, state))

    async def _unless(self, name, work):
        if name in self.losing:
            work.close()
            raise StoreLost(name)
        return await work


class Instance:
    """An instance of the service without its subjects."""

    def __init__(self, client, store: FailingStore, halts, others, now_ns) -> None:
        async def tell_doubt(key: str) -> None:
            for other in others:
                other.engine.doubt(key)

        self.client = client
        self.store = store
        self.log = SessionLog(client)
        sessions = Sessions(OneDefinition())
        self.engine = Engine(
            self.log, store, sessions.pinned_to, tell_doubt=tell_doubt, now_ns=now_ns
        )

        async def no_standing(_begun, _now_us):
            return None

        async def nobody(_request_id):
            return ReadApproval(standing="waiting")

        self.desk = SessionQuestions(self.engine, sessions, no_standing, halts, nobody)

    async def begin(self):
        return (await self.desk.begin(SessionBeginRequest(**asked()))).answer

    async def check(self, tool, call_id):
        request = ToolGateRequest(**asked(), tool=tool, call_id=call_id, params={})
        return (await self.desk.check(request)).answer.decision

    async def result(self, tool, call_id):
        # Most calls here were never asked about: the duration tells that nothing came between begin and end.
        request = ToolResultReport(
            **asked(), tool=tool, call_id=call_id, params={}, outcome="ok", duration_ms=0
        )
        return (await self.desk.result(request)).answer

    async def tally(self) -> Tally:
        stored = (await self.store.load(KEY, [TALLY])).facts[TALLY]
        fact = decode_fact(stored or b"")
        assert isinstance(fact, Tally)
        return fact


def asked():
    return {
        "request_id": uuid.uuid4().hex,
        "runtime": "rt",
        "agent_id": "a",
        "task_id": "t",
        "session_id": "s1",
        "requested_at": datetime.now(UTC),
    }


class Clock:
    def __init__(self) -> None:
        self.ns = 1_800_000_000_000_000_000

    def __call__(self) -> int:
        return self.ns


@pytest.fixture
def clock() -> Clock:
    return Clock()


async def instances_on(endpoints, clock, running: AsyncExitStack, count=2) -> list[Instance]:
    found: list[Instance] = []
    for _ in range(count):
        client = await connect_nats(endpoints.nats_url, name="test")
        running.push_async_callback(client.close)
        await streams.declare(client, streams.SESSIONS, streams.ACTIONS)
        age = ServerAge()
        redis = await connect_redis(endpoints.redis_url, on_connect=age.on_connect)
        running.push_async_callback(redis.aclose)
        quick = QuickRedis(endpoints.redis_url, age.met)
        running.callback(quick.close)
        halts = HaltWatch(client, ReadPosition(redis, age, quick, StateTags(b"", "feedback")))
        found.append(Instance(client, FailingStore(redis, age, quick), halts, found, clock))
    return found


@pytest.fixture
async def pair(clean_infra, clock) -> AsyncIterator[list[Instance]]:
    async with AsyncExitStack() as running:
        yield await instances_on(clean_infra, clock, running)


async def test_two_hundred_parallel_results_at_two_instances_lose_no_update(pair):
    """Scenario 144: no lost update; each call is reported twice, too, and counts once."""
    one, other = pair
    await one.begin()
    calls = [(pair[n % 2], f"c{n // 2}") for n in range(400)]
    answers = await asyncio.gather(*(at.result("test", call) for at, call in calls))
    assert all(answer.ok for answer in answers)
    assert sum(answer.duplicate for answer in answers) == 200
    tally = await other.tally()
    assert (tally.calls, tally.succeeded) == (200, 200)


async def test_what_was_appended_and_never_committed_is_found_by_the_others(pair):
    one, other = pair
    await one.begin()
    await one.result("test", "c1")
    assert await other.check("deploy", "c2") == "allow"
    one.store.losing = frozenset({"commit"})
    assert (await one.result("edit", "c3")).ok
    assert await other.check("deploy", "c4") == "deny"
    assert (await other.tally()).calls == 3


async def test_a_report_while_the_store_is_away_counts_for_everybody_at_once(pair):
    one, other = pair
    await one.begin()
    await one.result("test", "c1")
    assert await other.check("deploy", "c2") == "allow"
    one.store.losing = frozenset({"load", "load_for_write", "commit"})
    answer = await one.result("edit", "c3")
    assert (answer.ok, "as soon as the store is back" in answer.reason) == (True, True)
    assert await other.check("deploy", "c4") == "deny"
    assert (await other.result("edit", "c3")).duplicate
    with pytest.raises(StoreAway):
        await one.check("deploy", "c5")
    one.store.losing = frozenset()
    assert await one.check("deploy", "c5") == "deny"


async def test_a_session_begins_while_the_store_is_away(pair):
    one, other = pair
    one.store.losing = frozenset({"load", "load_for_write", "commit"})
    assert (await one.begin()).ok
    assert (await one.begin()).reason == "The session goes on."
    assert (await one.result("test", "c1")).ok
    assert await other.check("deploy", "c2") == "allow"


async def test_a_mark_that_somebody_left_behind_makes_nobody_wait_or_err(pair):
    one, other = pair
    await one.begin()
    await one.store.load_for_write(KEY, [TALLY], "the mark of one who died")
    assert await other.check("deploy", "c1") == "deny"
    assert await other.check("test", "c2") == "allow"
    assert (await other.result("test", "c2")).ok
    assert not (await one.store.load(KEY, [])).pending


async def test_a_store_that_lost_a_session_gets_it_back_from_the_log(pair):
    one, other = pair
    await one.begin()
    for number in range(300):
        await one.result("test", f"c{number}")
    await one.store.forget(KEY)
    assert await other.check("deploy", "d1") == "allow"
    assert await one.check("deploy", "d2") == "allow"
    assert (await one.tally()).calls == 300


async def test_half_a_fold_is_not_taken_for_the_whole(pair):
    one, other = pair
    await one.begin()
    await one.result("test", "c1")
    assert await other.check("deploy", "d1") == "allow"
    await one.result("edit", "c2")
    # As if somebody had folded the first two entries again, and died.
    (_, begun), (tested, first), _ = await one.log.read(KEY, 0)
    assert begun is not None
    assert first is not None
    session = (await one.engine.known(KEY)).session
    names = session.names_to_fold(begun) | session.names_to_fold(first)
    facts = dict.fromkeys(names)
    changes = session.fold(begun, 1, Facts(facts))
    changes = {**changes, **session.fold(first, tested, Facts({**facts, **changes}))}
    await one.store.forget(KEY)
    await one.store.commit(KEY, None, tested, encoded(changes), more_to_come=True)
    assert await other.check("deploy", "d2") == "deny"
    assert not (await one.store.load(KEY, [])).pending


async def test_an_instance_that_dies_while_it_folds_a_long_log_leaves_no_half_of_it_to_be_believed(
    pair,
):
    one, other = pair
    await one.begin()
    for number in range(260):
        await one.result("test", f"c{number}")
    await one.result("edit", "e1")
    assert await other.check("deploy", "d1") == "deny"
    await one.store.forget(KEY)
    one.store.commits_left = 1
    with pytest.raises(StoreAway):
        await one.check("deploy", "d2")
    assert await other.check("deploy", "d3") == "deny"
    assert (await other.tally()).succeeded == 261


async def test_facts_of_another_log_are_forgotten(pair):
    one, other = pair
    await one.begin()
    await one.result("test", "c1")
    cursor = (await one.store.load(KEY, [])).cursor
    await one.store.commit(KEY, cursor, 1_000_000, {})
    assert await other.check("deploy", "c2") == "allow"
    assert (await other.store.load(KEY, [])).cursor == cursor


async def test_a_clock_that_jumps_back_changes_no_order(pair, clock):
    one, _ = pair
    await one.begin()
    await one.result("test", "c1")
    clock.ns -= 3600 * 1_000_000_000
    await one.result("edit", "c2")
    assert await one.check("deploy", "c3") == "deny"
    times = [logged.entry.at_us for logged in await one.log.read(KEY, 0) if logged.entry]
    assert times == sorted(times)


async def test_a_snapshot_that_is_kept_twice_at_once_is_kept_once(pair):
    await pair[0].begin()
    requests = [SnapshotRequest(**asked(), snapshot_id="x") for _ in range(6)]
    kept = await asyncio.gather(
        *(pair[n % 2].desk.snapshot(request) for n, request in enumerate(requests))
    )
    assert sum(each.answer.ok for each in kept) == 1


async def test_a_store_that_is_another_process_than_before_is_compared_with_the_log(
    own_servers, clock
):
    async with AsyncExitStack() as running:
        one, other = await instances_on(own_servers.endpoints, clock, running)
        await one.begin()
        await one.result("test", "c1")
        assert await other.check("deploy", "c2") == "allow"
        before = await one.store.whole(KEY)
        await one.result("edit", "c3")
        await own_servers.kill_redis()
        await own_servers.start_redis()
        # What it wrote last is lost, as after a crash before it was synced.
        await one.store.forget(KEY)
        await one.store.commit(KEY, None, before.cursor or 0, before.facts)
        assert await other.check("deploy", "c4") == "deny"
        assert (await other.tally()).calls == 3


_LOOKS_LIKE_AN_ENTRY = (
    b'{"kind":"call_finished","entry_id":"d0f8e0c6-8c3e-4b0e-9a53-1d2c2bb2f3a1","at_us":1}'
)


@pytest.mark.parametrize(
    ("body", "message_id"),
    [
        (b'{"stream":"EVENTS","seq":1}', None),
        # The broker's answer to one who makes a consumer, with what he wrote into its metadata.
        (b'{"type":"io.nats","config":{"metadata":{"entry_id":"x","kind":"call_finished"}}}', None),
        (b'{"type":"io.nats","config":{"metadata":{"entry_id":"x"}}}', "x"),
        # A stored decision, as a direct get hands it over.
        (b'{"record_id":"x","entry_id":"x","kind":"call_finished"}', "x"),
        (_LOOKS_LIKE_AN_ENTRY, None),
        (_LOOKS_LIKE_AN_ENTRY, "x"),
        (b"", None),
    ],
)
async def test_what_is_no_entry_neither_stops_a_session_nor_counts(pair, body, message_id):
    """NATS puts answers wherever a question says: a runtime can litter in the log of a session that way."""
    one, other = pair
    numbers = itertools.count()

    async def litter() -> None:
        number = next(numbers)
        its_id = None if message_id is None else f"{message_id}{number}"
        its_body = body.replace(b'"x"', b'"x%d"' % number)
        headers = {} if its_id is None else {"Nats-Msg-Id": its_id}
        await one.client.jetstream().publish(subjects.session_log(KEY), its_body, headers=headers)

    await litter()
    assert (await one.begin()).ok
    await litter()
    await one.result("test", "c1")
    await litter()
    assert await other.check("deploy", "c2") == "allow"
    await litter()
    await other.store.forget(KEY)
    assert await one.check("deploy", "c3") == "allow"
    assert (await one.tally()).calls == 1
    assert (await one.store.load(KEY, [])).cursor == await one.log.last(KEY)


async def test_an_entry_that_this_version_can_t_read_lets_nothing_through(pair):
    one, other = pair
    await one.begin()
    await one.result("test", "c1")
    body = b'{"kind":"from_the_future","entry_id":"x"}'
    later = Outgoing(subjects.session_log(KEY), body, "x")
    await publish_one(one.client, streams.SESSIONS, later)
    with pytest.raises(BusError, match="can't be read"):
        await other.check("deploy", "c2")


async def keep(at: Instance, name: str) -> str:
    decided = await at.desk.snapshot(SnapshotRequest(**asked(), snapshot_id=name))
    assert decided.answer.ok, decided.answer.reason
    return decided.answer.state_hash or ""


async def set_back(at: Instance, name: str) -> str:
    request = RestoreRequest(**asked(), snapshot_id=name, cause="try again")
    decided = await at.desk.restore(request)
    assert decided.answer.ok, decided.answer.reason
    return decided.answer.state_hash or ""


async def test_a_restore_does_not_read_the_log_again(pair, monkeypatch):
    """Nor does it when the store lost the session since: folding it anew keeps its snapshots too."""
    one, other = pair
    await one.begin()
    await one.result("test", "c1")
    tested = await keep(one, "tested")
    await one.result("edit", "c2")
    edited = await keep(other, "edited")
    for instance in pair:
        monkeypatch.setattr(instance.log, "until", None)
    assert await set_back(other, "tested") == tested
    assert await one.check("deploy", "c3") == "allow"
    assert await set_back(one, "edited") == edited
    assert await other.check("deploy", "c4") == "deny"
    await one.store._redis.flushall()
    assert await other.check("deploy", "c5") == "deny"
    assert await set_back(other, "tested") == tested
    assert await one.check("deploy", "c6") == "allow"


async def test_a_snapshot_that_the_store_lost_is_found_in_the_log(pair):
    one, other = pair
    await one.begin()
    await one.result("test", "c1")
    tested = await keep(one, "tested")
    await one.result("edit", "c2")
    redis = one.store._redis
    for name in await redis.keys("*:snap:*"):
        await redis.delete(name)
    assert await set_back(other, "tested") == tested
    assert await one.check("deploy", "c3") == "allow"


async def test_snapshots_and_restores_in_one_fold_come_to_what_they_came_to_one_by_one(pair):
    one, other = pair
    await one.begin()
    for number in range(5):
        await one.result("test", f"t{number}")
        await keep(one, f"tested {number}")
        await one.result("edit", f"e{number}")
        await keep(other, f"edited {number}")
        await set_back(one, f"tested {number}")
    before = await one.store.whole(KEY)
    await one.store.forget(KEY)
    assert await other.check("deploy", "d") == "allow"
    assert (await one.store.whole(KEY)).facts == before.facts
    # From a place in the middle, too, as one that was behind folds it.
    chunk = await one.log.read(KEY, 0)
    await one.store.forget(KEY)
    await other.engine._folder._fold(KEY, None, chunk[:3], chunk[-1].sequence)
    assert await other.check("deploy", "d") == "allow"
    assert (await one.store.whole(KEY)).facts == before.facts


async def test_while_a_long_log_is_read_again_reports_are_kept_and_calls_denied(pair, monkeypatch):
    one, other = pair
    await one.begin()
    for number in range(300):
        await one.result("edit", f"c{number}")
    assert await other.check("edit", "d") == "allow"
    await one.store.forget(KEY)
    monkeypatch.setattr(Engine.catch_up, "__defaults__", (0.1,))
    go_on = asyncio.Event()
    read = other.log.read

    async def slowly(key, after, limit=256, *, known=0):
        if after:
            await go_on.wait()
        return await read(key, after, limit, known=known)

    monkeypatch.setattr(other.log, "read", slowly)
    with pytest.raises(Behind, match="256 of 302 entries"):
        await other.check("edit", "e1")
    reported = await asyncio.gather(*(other.result("test", f"r{n}") for n in range(20)))
    assert all(answer.ok for answer in reported)
    go_on.set()
    monkeypatch.undo()
    assert await one.check("deploy", "e2") == "allow"
    assert (await one.tally()).calls == 320


async def test_what_changed_the_state_tells_the_same_when_it_is_asked_for_again(pair):
    """An answer may be lost: who asks again must hear that it is done, and it must not be done twice."""
    one, other = pair
    await one.begin()
    await one.result("test", "c1")
    keeping = SnapshotRequest(**asked(), snapshot_id="tested", with_document=True)
    kept = (await one.desk.snapshot(keeping)).answer
    assert kept.ok
    assert (await other.desk.snapshot(keeping)).answer == kept
    await one.result("edit", "c2")
    again = (await other.desk.snapshot(keeping)).answer
    assert (again.ok, again.state_hash, again.document) == (True, kept.state_hash, None)
    assert not (await one.desk.snapshot(SnapshotRequest(**asked(), snapshot_id="tested"))).answer.ok

    restoring = RestoreRequest(**asked(), snapshot_id="tested", cause="try again")
    restored = (await one.desk.restore(restoring)).answer
    assert await other.check("deploy", "c3") == "allow"
    await one.result("edit", "c4")
    last = await one.log.last(KEY)
    assert (await other.desk.restore(restoring)).answer == restored
    assert await one.log.last(KEY) == last
    # What was edited since is not taken for tested.
    assert await other.check("deploy", "c5") == "deny"

    resetting = ResetRequest(**asked(), cause="begin anew")
    reset = (await one.desk.reset(resetting)).answer
    await one.result("test", "c6")
    assert (await other.desk.reset(resetting)).answer == reset
    assert await other.check("deploy", "c7") == "allow"
    assert (await other.desk.reset(ResetRequest(**asked(), cause="begin anew"))).answer.ok
    assert await one.check("deploy", "c8") == "deny"


async def test_the_others_hear_of_an_entry_that_was_not_committed(pair):
    """The mark of it in the store may be lost, as anything there may be."""
    one, other = pair
    await one.begin()
    await one.result("test", "c1")
    assert await other.check("deploy", "c2") == "allow"
    one.store.losing = frozenset({"commit"})
    assert (await one.result("edit", "c3")).ok
    await one.store._redis.hdel(f"lictor:feedback:{{{KEY}}}", "@pending")
    assert await other.check("deploy", "c4") == "deny"


async def test_who_dies_after_appending_without_the_store_has_told_the_others_before(
    pair, monkeypatch
):
    one, other = pair
    await one.begin()
    await one.result("test", "c1")
    assert await other.check("deploy", "c2") == "allow"
    one.store.losing = frozenset({"load", "load_for_write", "commit"})
    append = one.log.append

    async def and_die(*given, **more):
        await append(*given, **more)
        raise KeyboardInterrupt

    monkeypatch.setattr(one.log, "append", and_die)
    with pytest.raises(KeyboardInterrupt):
        await one.result("edit", "c3")
    assert await other.check("deploy", "c4") == "deny"


async def test_a_report_is_kept_while_the_session_s_definition_can_t_be_used(pair, monkeypatch):
    one, other = pair
    await one.begin()
    await one.result("test", "c1")

    async def lost(definition_hash):
        raise DefinitionError(f"{definition_hash} can't be used")

    usable = other.engine._session_for
    monkeypatch.setattr(other.engine, "_session_for", lost)
    with pytest.raises(DefinitionError):
        await other.check("deploy", "c2")
    answer = await other.result("edit", "c3")
    assert (answer.ok, "definition" in answer.reason) == (True, True)
    entries = [logged.entry for logged in await one.log.read(KEY, 0)]
    assert len({entry.definition_hash for entry in entries if entry}) == 1
    assert await one.check("deploy", "c4") == "deny"
    monkeypatch.setattr(other.engine, "_session_for", usable)
    assert (await other.result("edit", "c3")).duplicate
    assert (await other.tally()).succeeded == 2


def holding_last(instance, monkeypatch):
    """The second look at the end of the log is told only when `go_on` is set; `looked`: it was taken."""
    last, looked, go_on = instance.log.last, asyncio.Event(), asyncio.Event()
    looks = itertools.count(1)

    async def held(key):
        look = next(looks)
        found = await last(key)
        if look == 2:
            looked.set()
            await go_on.wait()
        return found

    monkeypatch.setattr(instance.log, "last", held)
    return looked, go_on


async def test_a_restore_is_folded_even_if_a_fold_under_way_looked_at_the_log_before(
    pair, monkeypatch
):
    one, _ = pair
    await one.begin()
    await one.result("test", "c1")
    await keep(one, "tested")
    await one.result("edit", "c2")
    looked, go_on = holding_last(one, monkeypatch)
    append = one.log.append

    async def then_go_on(*args, **more):
        sequence = await append(*args, **more)
        go_on.set()
        return sequence

    monkeypatch.setattr(one.log, "append", then_go_on)
    fold = asyncio.create_task(one.engine.catch_up(KEY))
    await looked.wait()
    await set_back(one, "tested")
    await fold
    assert (await one.store.load(KEY, [])).cursor == await one.log.last(KEY)


async def test_a_look_waits_for_the_entry_that_it_saw_in_the_log(pair, monkeypatch):
    one, other = pair
    await one.begin()
    await one.result("test", "c1")
    assert await one.check("deploy", "d1") == "allow"
    looked, go_on = holding_last(one, monkeypatch)
    fold = asyncio.create_task(one.engine.catch_up(KEY))
    await looked.wait()
    other.store.losing = frozenset({"commit"})
    assert (await other.result("edit", "c2")).ok
    join = one.engine._join_fold

    async def joined(*args):
        go_on.set()
        return await join(*args)

    monkeypatch.setattr(one.engine, "_join_fold", joined)
    assert await one.check("deploy", "d2") == "deny"
    await fold


async def test_a_restore_is_not_appended_without_its_mark(pair, monkeypatch):
    one, other = pair
    await one.begin()
    await one.result("test", "c1")
    await keep(one, "tested")
    load_for_write, append = one.store.load_for_write, one.log.append
    calls = itertools.count()
    marks = []

    async def overtaken(key, names, mark):
        stored = await load_for_write(key, names, mark)
        if not next(calls):
            await other.result("edit", "c2")
        return stored

    async def watched(*args, **more):
        marks.append((await one.store.load(KEY, [])).pending)
        return await append(*args, **more)

    monkeypatch.setattr(one.store, "load_for_write", overtaken)
    monkeypatch.setattr(one.log, "append", watched)
    await set_back(one, "tested")
    assert marks
    assert all(marks)


async def test_a_snapshot_whose_state_can_t_be_kept_stops_nothing(pair):
    one, other = pair
    await one.begin()
    await one.result("test", "c1")
    one.store.losing = frozenset({"keep_state"})
    tested = await keep(one, "tested")
    assert (await one.store.load(KEY, [])).cursor == await one.log.last(KEY)
    await one.result("edit", "c2")
    assert await set_back(other, "tested") == tested
    assert await other.check("deploy", "d1") == "allow"


async def test_thousands_of_facts_are_stored_and_removed_in_one_commit(pair):
    store = pair[0].store
    facts = {f"policy/p/{number}": b"%d" % number for number in range(4501)}
    await store.commit(KEY, None, 1, facts)
    assert (await store.whole(KEY)).facts == facts
    await store.commit(KEY, 1, 2, {**dict.fromkeys(facts), "policy/p/x": b"1"})
    assert (await store.whole(KEY)).facts == {"policy/p/x": b"1"}


async def test_closing_gives_up_a_fold_that_nobody_waits_for(pair, monkeypatch):
    """It would go on asking a store that is closed, on a connection that nobody closes."""
    one, other = pair
    await one.begin()
    await one.result("test", "c1")
    looked, _ = holding_last(one, monkeypatch)
    asking = asyncio.create_task(one.engine.catch_up(KEY))
    await looked.wait()
    before = asyncio.all_tasks() - {asking}
    async with asyncio.timeout(60):
        await one.engine.close()
    with pytest.raises(asyncio.CancelledError):
        await asking
    assert len(asyncio.all_tasks()) < len(before)
    assert await other.check("deploy", "d1") == "allow"
