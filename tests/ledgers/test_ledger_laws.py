"""Every ledger there is keeps the laws: no entry lost, none doubled, each stored right after what its judge had read.

A ledger registers itself when its module is imported, and all modules of all services are: a new ledger has no story
here, and the first test says so. What appends to a log without a ledger is found by the last.
"""

import asyncio
import importlib
import pkgutil
import re
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from approval_samples import request as approval_request
from governing_bus import ENVELOPE

from lictor_approval.decision_validity import requested
from lictor_bus.fold.state_tags import StateTags
from lictor_bus.ledger import LEDGERS, Ledger, LedgerChange, Log, OutOfDate, WholeLedger
from lictor_bus.logs.decision_log import DecisionLog
from lictor_bus.logs.governed_decisions import DecisionAt, Decisions
from lictor_bus.names import streams, subjects
from lictor_bus.wire.appends import Appends
from lictor_bus.wire.connection import TolerantClient, connect_nats
from lictor_bus.wire.publish import Outgoing, publish_one
from lictor_bus.wire.read import read_all
from lictor_bus.wire.redis_connection import connect_redis
from lictor_contracts.decision import kill_switch
from lictor_contracts.decision.question_stamp import QuestionStamp
from lictor_contracts.decision.questions import Governing, begin
from lictor_feedback.halt.read_position import ReadPosition
from lictor_feedback.halt.watch import HaltWatch
from lictor_feedback.session import engine as sessions
from lictor_feedback.session.log import SessionLog
from lictor_feedback.session.questions import SessionQuestions, Sessions
from lictor_feedback.session.server_age import ServerAge
from lictor_feedback.session.store import SessionStore
from lictor_guard.definitions.loading import read_definition
from lictor_guard.session.asking import ReadApproval
from lictor_local.embedded_servers import Endpoints
from lictor_policy_evaluator.decisions import receipts
from lictor_runner.run_journal import JOURNALS
from lictor_schema.approvals.run import RunTakenOver
from lictor_schema.contracts.cerpa_claim import ClaimMade
from lictor_schema.contracts.cerpa_cycle import CerpaClaim, CerpaDomain
from lictor_schema.contracts.drift import (
    DriftSeverity,
    DriftType,
    Fingerprint,
    PatchType,
    TriageEntry,
    TriageState,
)
from lictor_schema.contracts.envelope import DTE
from lictor_schema.contracts.patch import PatchEntry, PatchRequest, PatchState
from lictor_schema.core.canonical_json import canonical_json
from lictor_schema.decisions.decision import Disposition, PackStamp
from lictor_schema.decisions.mark import DecisionMark
from lictor_schema.decisions.receipt import (
    DeliveryReceipt,
    DeliveryState,
    ReceiptReport,
    ReceiptStatus,
)
from lictor_schema.seals.erasure import ErasureEntry
from lictor_schema.sessions.halt import HaltEntry, HaltTarget
from lictor_schema.sessions.session_questions import SessionBeginRequest, ToolResultReport
from lictor_sealer.correction.desk import EPISODES
from lictor_sealer.erasure import desk as erasures
from lictor_supervisor.decision.desk import FOLDS

ROOT = Path(__file__).parents[2]
WRITERS = 6
NOW = datetime(2026, 1, 31, 12, tzinfo=UTC)
MILLIS = "2026-01-31T12:00:00.000Z"
OF = str(uuid.UUID(int=1))
FINGERPRINT = Fingerprint.of("refund", DriftType.FRESHNESS, "balance stale at use")


def _services() -> None:
    """Import everything that the services consist of."""
    for place in sorted((ROOT / "services").glob("*/lictor_*")):
        package = importlib.import_module(place.name)
        for module in pkgutil.walk_packages(package.__path__, f"{place.name}."):
            if not module.name.endswith("__main__"):
                importlib.import_module(module.name)


_services()


@dataclass(frozen=True)
class Seen:
    """A change that appended: where, after what, and as what."""

    stream: str
    subjects: str
    after: int
    sequence: int


@dataclass
class World:
    """Two processes on one broker."""

    endpoints: Endpoints
    clients: tuple[TolerantClient, TolerantClient]
    seen: dict[str, list[Seen]] = field(default_factory=dict[str, list[Seen]])

    def client(self, number: int) -> TolerantClient:
        return self.clients[number % 2]

    async def all_at_once(self, write: Callable[[int], Awaitable[Any]]) -> list[Any]:
        return await asyncio.gather(*(write(number) for number in range(WRITERS)))


@pytest.fixture
async def world(clean_infra: Endpoints, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[World]:
    one, other = [await connect_nats(clean_infra.nats_url, name="test") for _ in range(2)]
    await streams.declare(one, *{each.stream for each in LEDGERS.values()})
    world = World(clean_infra, (one, other))
    change = Ledger.change

    async def watched(
        self: Ledger[Any, Any], appends: Any, log: Log[Any, Any], judge: Any, **more: Any
    ) -> LedgerChange[Any, Any]:
        read, read_until = log.read, []

        async def reading() -> Any:
            found = await read()
            read_until.append(found.last if found else None)
            return found

        log.read = reading  # pyright: ignore[reportAttributeAccessIssue] -- to see what the judge saw
        changed = await change(self, appends, log, judge, **more)
        if changed.is_new:
            on = log.subjects or log.message(changed.entry).subject
            seen = Seen(self.stream, on, read_until[-1], changed.sequence)
            world.seen.setdefault(self.name, []).append(seen)
        return changed

    monkeypatch.setattr(Ledger, "change", watched)
    yield world
    for client in world.clients:
        await client.close()


def everyone(name: str, on: str, make: Callable[[int], Any]) -> Callable[[World], Awaitable[int]]:
    """Each writer adds an entry of its own; so each must stand."""

    async def story(world: World) -> int:
        ledger = _whole(name)

        async def write(number: int) -> None:
            client = world.client(number)
            entry = make(number)
            changed = await ledger.change(
                Appends(client), ledger.log(client, on), lambda _: entry, entry_id=entry.entry_id
            )
            again = await ledger.change(
                Appends(client), ledger.log(client, on), lambda _: entry, entry_id=entry.entry_id
            )
            assert (again.is_new, again.sequence) == (False, changed.sequence)

        await world.all_at_once(write)
        await _pass_over_litter(world, ledger, on)
        return WRITERS

    return story


def the_first(name: str, on: str, make: Callable[[int], Any]) -> Callable[[World], Awaitable[int]]:
    """Each writer wants to be the first; so one entry must stand, and everybody sees it."""

    async def story(world: World) -> int:
        ledger = _whole(name)

        async def write(number: int) -> Any:
            client = world.client(number)
            entry = make(number)
            log = ledger.log(client, on)
            changed = await ledger.change(
                Appends(client), log, lambda state: entry if state is None else None
            )
            assert changed.is_new or changed.state is not None or changed.entry is not None

        await world.all_at_once(write)
        await _pass_over_litter(world, ledger, on)
        return 1

    return story


def _whole(name: str) -> WholeLedger[Any, Any]:
    ledger = LEDGERS[name]
    assert isinstance(ledger, WholeLedger)
    return ledger


async def _pass_over_litter(world: World, ledger: WholeLedger[Any, Any], on: str) -> None:
    """NATS puts an answer wherever a question says, and so into any log."""
    client = world.clients[0]
    before = await ledger.log(client, on).read()
    litter = Outgoing(on.replace("*", "proposed"), b'{"type":"io.nats.jetstream.api.v1"}')
    await publish_one(client, ledger.stream, litter)
    after = await ledger.log(client, on).read()
    assert (after.entries, after.last) == (before.entries, before.last + 1)


def _patch(number: int) -> PatchEntry:
    return PatchEntry(
        entry_id=_id(number),
        patch_id=OF,
        state=PatchState.PROPOSED,
        by="ada",
        at=MILLIS,
        decision_type="refund",
        fingerprint=FINGERPRINT,
        request=PatchRequest(
            request_id=OF,
            decision_type="refund",
            drift_type=DriftType.FRESHNESS,
            cause="balance stale at use",
            fingerprint=FINGERPRINT,
            recommended_patch_type=PatchType.TTL_CHANGE,
            severity=DriftSeverity.RED,
            occurrences=3,
            attempt=1,
            drift_ids=(),
        ),
    )


def _triage(number: int) -> TriageEntry:
    return TriageEntry(
        entry_id=_id(number), drift_id="d", state=TriageState.TRIAGED, by="ada", at=NOW
    )


def _claim(number: int) -> ClaimMade:
    claim = CerpaClaim(
        id=f"c-{number}",
        domain=CerpaDomain.ACTIONOPS,
        timestamp=NOW,
        source="the handbook",
        text="refunds take a day",
        subject="refund",
    )
    return ClaimMade(entry_id=_id(number), by="ada", at=NOW, claim=claim, red_needs_another=True)


def _mark(number: int) -> DecisionMark:
    return DecisionMark(
        entry_id=_id(number),
        request_id=_id(number),
        record_id=OF,
        task_id="t",
        decision=Disposition.BLOCK,
        pack_id="p",
        pack_version="1",
        rule_id="r",
        mark="false_alarm",
        by="ada",
        reason="it was fine",
        marked_at=NOW,
    )


def _erasure(number: int) -> ErasureEntry:
    return ErasureEntry(
        entry_id=_id(number), episode_id="e", by="ada", reason="asked to", erased_at=MILLIS
    )


def _halt(number: int) -> HaltEntry:
    return HaltEntry(
        entry_id=_id(number),
        kind="halted",
        target=HaltTarget(scope="all"),
        at_us=1,
        by="ada",
        reason="enough",
    )


def _run(number: int) -> RunTakenOver:
    return RunTakenOver(
        entry_id=_id(number),
        kind="run_taken_over",
        run_id=OF,
        task_id="t",
        number=number,
        at=MILLIS,
        runner="r",
    )


def _id(number: int) -> str:
    return str(uuid.uuid5(uuid.UUID(OF), str(number)))


REQUEST = approval_request()


async def reports(world: World) -> int:
    async def write(number: int) -> None:
        client = world.client(number)
        report = ReceiptReport(
            report_id=f"r-{number}",
            record_id=OF,
            recorded_at=MILLIS,
            task_id="t",
            runtime="rt",
            receipt=DeliveryReceipt(
                status=ReceiptStatus.PLANNED,
                delivery_state=DeliveryState.PREPARED,
                operator_notice_required=False,
            ),
            reported_at=NOW,
        )
        log = receipts._ReportLog(client, subjects.receipts_of_record("t", OF))
        for is_new in (True, False):
            changed = await receipts.RECEIPTS.change(
                Appends(client), log, lambda _: receipts._Kept(report), entry_id=report.report_id
            )
            assert changed.is_new is is_new

    await world.all_at_once(write)
    return WRITERS


async def parts(world: World) -> int:
    async def write(number: int) -> None:
        client = world.client(number)
        part: Any = SimpleNamespace(to_bytes=lambda: b"part %d" % number)
        log = erasures._PartLog(client, "lictor.contents.e.p")
        await erasures.PARTS.change(
            Appends(client), log, lambda _: erasures._Cleaned(_id(number), part)
        )

    await world.all_at_once(write)
    return WRITERS


async def episodes(_: World) -> int:
    """More than one message at a time: what is overtaken is tried again."""
    tries: list[int] = []

    async def attempt() -> str:
        tries.append(1)
        if len(tries) < 3:
            raise OutOfDate("another sealer was faster")
        return "sealed"

    assert await EPISODES.again(attempt) == "sealed"
    return 0


async def decisions(world: World) -> int:
    envelope = DTE.from_json(canonical_json(ENVELOPE))
    pack = PackStamp(pack_id="p", pack_version="1.0.0", pack_hash="sha256:" + "a" * 64)
    governing = Governing("e", envelope.decision_type, "rt", envelope, pack)
    key = subjects.decision_key("rt", "t")

    async def write(number: int) -> None:
        known = Decisions(DecisionLog(world.client(number)), FOLDS)

        def decide(at: DecisionAt[Any, Any]) -> Any:
            asked = QuestionStamp(f"r-{number}", "rt", "t", "agent", at.now_us, at.after)
            return begin(at.state, at.switch, asked, governing)

        await known.change(key, decide)
        assert (await known.known(key)).state is not None

    await world.all_at_once(write)
    return 1


async def switch(world: World) -> int:
    async def write(number: int) -> None:
        known = Decisions(DecisionLog(world.client(number)), FOLDS)
        await known.turn(
            lambda held, now_us, after: kill_switch.halt(
                held,
                request_id=f"halt-{number}",
                by="ada",
                reason="fire",
                now_us=now_us,
                after=after,
            )
        )
        assert (await known.switch()).switch.halted is not None

    await world.all_at_once(write)
    return len(world.seen["kill-switch"])


GUARDED = read_definition(
    b"{apiVersion: lictor/v1, kind: AgentDefinition, metadata: {name: coder, version: '1'},"
    b" tools: [{name: edit}]}",
    "coder.yaml",
)


class OneDefinition:
    async def newest(self, _: str) -> Any:
        return GUARDED

    async def by_hash(self, _: str) -> Any:
        return GUARDED


def _asked() -> dict[str, Any]:
    return {
        "request_id": uuid.uuid4().hex,
        "runtime": "rt",
        "agent_id": "a",
        "task_id": "t",
        "session_id": "s1",
        "requested_at": datetime.now(UTC),
    }


async def _session(world: World, running: AsyncExitStack, client: TolerantClient) -> Any:
    async def tell_doubt(_: str) -> None:
        pass

    async def no_standing(_: Any, __: int) -> None:
        return None

    async def nobody_said(_: str) -> ReadApproval:
        return ReadApproval(standing="waiting")

    age = ServerAge()
    redis = await connect_redis(world.endpoints.redis_url, on_connect=age.on_connect)
    running.push_async_callback(redis.aclose)
    known: Any = Sessions(OneDefinition())  # pyright: ignore[reportArgumentType] -- as much as is asked of it
    engine = sessions.Engine(
        SessionLog(client), SessionStore(redis, age), known.pinned_to, tell_doubt=tell_doubt
    )
    watch = HaltWatch(client, ReadPosition(redis, age, None, StateTags(b"", "feedback")))
    return SessionQuestions(engine, known, no_standing, watch, nobody_said)


async def beginnings(world: World) -> int:
    async with AsyncExitStack() as running:
        desks = [await _session(world, running, client) for client in world.clients]
        told = await world.all_at_once(
            lambda number: desks[number % 2].begin(
                SessionBeginRequest(**_asked(), definition="coder")
            )
        )
        assert all(each.answer.ok for each in told)
    return 1


async def results(world: World) -> int:
    async with AsyncExitStack() as running:
        desks = [await _session(world, running, client) for client in world.clients]
        await desks[0].begin(SessionBeginRequest(**_asked(), definition="coder"))
        for _ in range(2):  # each report comes twice, and counts once
            told = await world.all_at_once(
                lambda number: desks[number % 2].result(
                    ToolResultReport(
                        **_asked(),
                        tool="edit",
                        call_id=f"c-{number}",
                        params={},
                        outcome="ok",
                        duration_ms=0,
                    )
                )
            )
            assert all(each.answer.ok for each in told)
    return WRITERS


STORIES: dict[str, Callable[[World], Awaitable[int]]] = {
    "patch": the_first("patch", subjects.patch_entries(OF), _patch),
    "drift event": everyone("drift event", subjects.triage("d"), _triage),
    "claims about the subject": everyone(
        "claims about the subject", subjects.claim("made", "refund"), _claim
    ),
    "marks on the decision": everyone("marks on the decision", subjects.mark("t", OF), _mark),
    "erasures of the episode": everyone(
        "erasures of the episode", subjects.erasures("e"), _erasure
    ),
    "request": the_first(
        "request", subjects.approval_entries(REQUEST.request_id), lambda _: requested(REQUEST)
    ),
    "request to run": the_first(
        "request to run",
        subjects.approval_entries(REQUEST.request_id),
        lambda _: requested(REQUEST),
    ),
    JOURNALS.name: everyone(JOURNALS.name, subjects.run_journal(None, "t", OF), _run),
    "receipts of the decision": reports,
    "part of the episode": parts,
    "log of episodes": episodes,
    "decision": decisions,
    "kill-switch": switch,
    "halts": everyone("halts", subjects.HALTS, _halt),
    "beginning of the session": beginnings,
    "session": results,
}
"""What is done to the logs of each ledger; returns how many entries must stand in the end."""


def test_every_ledger_has_a_story() -> None:
    assert set(STORIES) == set(LEDGERS)


@pytest.mark.parametrize("name", sorted(STORIES))
async def test_entries_are_neither_lost_nor_doubled_and_follow_what_was_judged(
    world: World, name: str
) -> None:
    expected = await STORIES[name](world)
    seen = world.seen.get(name, [])
    assert len(seen) == expected
    for on in {each.subjects for each in seen}:
        stored = read_all(world.clients[0], LEDGERS[name].stream, on)
        sequences = [each.sequence async for each in stored]
        for each in seen:
            if each.subjects == on:
                place = sequences.index(each.sequence)
                assert each.after == (sequences[place - 1] if place else 0)


OWN_LOOP = re.compile(r"\b(SequenceConflict|publish_expecting|expecting\()|Nats-Expected-Last")


def test_nobody_but_the_bus_appends_to_a_log_by_a_loop_of_its_own() -> None:
    """A ledger does that: `lictor_bus.ledger`. What comes to light here is to be judged by one."""
    found = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for folder in ("libs", "services")
        for path in sorted((ROOT / folder).glob("*/lictor*/**/*.py"))
        if "lictor_bus" not in path.parts
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if OWN_LOOP.search(line)
    ]
    # The log of seals: entries and the checkpoint that covers them are one batch, after all that is there.
    allowed = "services/sealer/lictor_sealer/log/"
    assert [each for each in found if not each.startswith(allowed)] == []
