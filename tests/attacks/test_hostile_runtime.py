"""A runtime's password in the wrong hands: it speaks NATS itself, with headers and reply subjects of its choice."""

import asyncio
import re
import uuid
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager

import pytest
from nats.aio.client import Client
from nats.aio.msg import Msg
from secured_nats import RUNTIMES, Secured, refused_publish, refused_subscription, violation

from lictor.event_publishing import read_event, store_event
from lictor_bus.names import subjects
from lictor_bus.names.roles import Role, roles
from lictor_bus.names.server_accounts import ACCOUNT, account_of
from lictor_bus.names.streams import STREAMS
from lictor_bus.wire.connection import connect_nats
from lictor_bus.wire.publish import Outgoing, publish_all
from lictor_bus.wire.read import read_from
from lictor_local.accounts import Accounts

ATTACKER, VICTIM = RUNTIMES
FROM_OUTSIDE = {name for name, stream in STREAMS.items() if stream.from_outside}


@asynccontextmanager
async def connected(secured: Secured, role: str) -> AsyncIterator[Client]:
    client = await connect_nats(secured.url(role), name="test")
    try:
        yield client
    finally:
        await client.close()


def role_named(name: str) -> Role:
    (found,) = (role for role in roles(RUNTIMES) if role.name == name)
    return found


def an_event(runtime: str, task: str, event_id: str) -> dict[str, object]:
    return {
        "event_id": event_id,
        "event_type": "task_started",
        "runtime": runtime,
        "adapter_version": "1",
        "agent_id": "agent",
        "task_id": task,
        "correlation_id": task,
        "timestamp": "2026-01-31T12:00:00Z",
        "payload": {
            "title": "t",
            "mode": "interactive",
            "workflow_shape": "single-agent",
            "channel": "terminal",
        },
        "evidence_refs": [],
        "operator_context": {"channel": "terminal"},
    }


async def stored_counts(client: Client) -> dict[str, int]:
    js = client.jetstream()
    return {name: (await js.stream_info(name)).state.messages for name in STREAMS}


# What crosses, computed over the configuration that the server reads.


def test_nothing_but_listed_subjects_of_its_own_crosses_to_a_runtime() -> None:
    written = Accounts.new(RUNTIMES, address="h:1").config()
    exports = re.findall(r'\{ (service|stream): "([^"]+)", accounts: \["([^"]+)"\] \}', written)
    imports = re.findall(
        r'\{ (service|stream): \{ account: "([^"]+)", subject: "([^"]+)" \} \}', written
    )
    # Every export and import has that form: none is open to all accounts.
    assert len(exports) == len(re.findall(r"\{ (?:service|stream): \"", written))
    assert len(imports) == len(re.findall(r"\{ (?:service|stream): \{", written)) == len(exports)
    assert {account for _, account, _ in imports} == {ACCOUNT}
    assert sorted((kind, subject) for kind, _, subject in imports) == sorted(
        (kind, subject) for kind, subject, _ in exports
    )
    for runtime in RUNTIMES:
        role = role_named(runtime)
        own = {subject for _, subject, account in exports if account == account_of(role)}
        assert own == {*role.publish, *role.hears}
        for subject in own:
            assert subject.startswith("lictor.")
            assert runtime in subject.split(".") or subject.startswith("lictor.health."), subject
    # JetStream's own, the server's, and inboxes: with them a runtime would have the server publish for it.
    assert not [subject for _, subject, _ in exports if subject.startswith(("$", "_"))]


def test_only_the_account_of_the_services_has_streams() -> None:
    written = Accounts.new(RUNTIMES, address="h:1").config()
    assert written.count("jetstream") == 1
    assert written.index("jetstream") < written.index(account_of(role_named(ATTACKER)))


def test_nothing_that_a_runtime_may_publish_reaches_who_holds_the_private_key() -> None:
    for heard in role_named("sealer").hears:
        assert not [it for it in role_named(ATTACKER).publish if _meet(it, heard)]


def _meet(one: str, other: str) -> bool:
    """Whether some subject matches both filters."""
    for left, right in zip(one.split("."), other.split("."), strict=False):
        if ">" in (left, right):
            return True
        if "*" not in (left, right) and left != right:
            return False
    return one.count(".") == other.count(".")


# Forbidden subjects: refused at once, with a sentence.


@pytest.mark.parametrize(
    "subject",
    [
        # In the name of another, or of Lictor itself.
        "lictor.ev.codex.task",
        "lictor.ev.lictor.task",
        "lictor.ev.0.lictor.config.switch",
        "lictor.ev.openclaw.lictor.config.switch",
        "lictor.prog.codex.task",
        "lictor.receipt.codex",
        "lictor.gate.report.codex",
        "lictor.gate.dispatch.codex",
        "lictor.gate.tool.codex",
        "lictor.gate.stop.codex",
        "lictor.gate.action.codex",
        "lictor.session.restore.codex",
        "lictor.contract.begin.codex",
        "lictor.contract.show.codex",
        # What another stored: by history, or by reading what the broker repeats.
        *(
            f"lictor.history.{kind}.codex"
            for kind in ("dec", "guide", "proof", "appr", "run", "ep")
        ),
        "lictor.stored.dec.codex.allow.task",
        # What only services write.
        "lictor.stored.dec.openclaw.allow.task",
        "lictor.dec.openclaw.allow.task",
        "lictor.dec.openclaw.allow.guard.task",
        "lictor.dec.openclaw.block.refused.task",
        "lictor.guide.openclaw.session",
        "lictor.proof.openclaw.proved.task",
        "lictor.progress.proof.openclaw.task",
        *(
            f"lictor.appr.openclaw.{state}.request"
            for state in ("requested", "approved", "executing")
        ),
        "lictor.run.openclaw.task.request",
        "lictor.ep.openclaw.report.episode",
        "lictor.log.checkpoint",
        "lictor.contents.episode.part",
        "lictor.erased.episode",
        "lictor.cert.hash",
        "lictor.sess.session",
        "lictor.act.switch",
        "lictor.act.task",
        "lictor.gated.openclaw.tool.task",
        "lictor.rcpt.openclaw.done.task.record",
        "lictor.mark.task.record",
        "lictor.doubt.session",
        "lictor.dead.sealer.DECISIONS.1",
        "lictor.sched.checkpoint.task",
        "lictor.tick.checkpoint.task",
        "lictor.packs.release.stable",
        "lictor.def.coder",
        "lictor.drifting.cause",
        "lictor.drift.time.green",
        "lictor.triage.drift",
        "lictor.patch.approved.patch",
        "lictor.claim.made.refund",
        "lictor.cycle.applied.refund",
        # What only operators ask, and who no runtime may ask.
        "lictor.ask.standing",
        "lictor.ask.report",
        *(
            f"lictor.desk.{desk}"
            for desk in (
                "triage",
                "mark",
                "patch",
                "claim",
                "event",
                "correct",
                "erase",
                "approval",
            )
        ),
        *(
            f"lictor.contract.{order}"
            for order in ("approve", "freeze", "resume", "halt", "release")
        ),
        "lictor.health.sealer",
        # JetStream and the server themselves, and the inboxes of others.
        "$JS.API.INFO",
        "$JS.API.STREAM.NAMES",
        "$JS.API.STREAM.CREATE.MINE",
        "$JS.API.STREAM.UPDATE.DECISIONS",
        "$JS.API.STREAM.DELETE.EVENTS",
        "$JS.API.STREAM.PURGE.DECISIONS",
        "$JS.API.STREAM.MSG.GET.CONTENTS",
        "$JS.API.STREAM.MSG.DELETE.CONTENTS",
        *(f"$JS.API.DIRECT.GET.{stream}" for stream in STREAMS),
        "$JS.API.CONSUMER.CREATE.DECISIONS.mine.lictor.dec.>",
        "$JS.API.CONSUMER.DELETE.DECISIONS.sealer",
        "$JS.API.CONSUMER.MSG.NEXT.APPROVALS.runner",
        "$JS.ACK.DECISIONS.sealer.1.1.1.1.1",
        "$SYS.REQ.SERVER.PING",
        "_INBOX.codex.answer",
        "_INBOX.sealer.answer",
        "_R_.anything.at.all",
    ],
)
async def test_a_runtime_publishes_nothing_but_its_own(secured: Secured, subject: str) -> None:
    assert await refused_publish(secured.url(ATTACKER), subject)


@pytest.mark.parametrize(
    "subject",
    [
        "_INBOX.>",
        "_INBOX.codex.>",
        "_R_.>",
        ">",
        "lictor.>",
        "lictor.ev.>",
        "lictor.gate.report.*",
        "lictor.gate.report.openclaw",
        "lictor.dec.>",
        "lictor.stored.>",
        "lictor.stored.*.*.>",
        *(
            f"lictor.stored.{kind}.codex.>"
            for kind in ("dec", "guide", "proof", "appr", "run", "ep")
        ),
        "lictor.progress.proof.codex.*",
        "lictor.health.feedback",
        "$JS.>",
        "$JS.ACK.>",
        "$JS.EVENT.>",
        "$SYS.>",
    ],
)
async def test_a_runtime_hears_nothing_but_its_own(secured: Secured, subject: str) -> None:
    assert await refused_subscription(secured.url(ATTACKER), subject)


async def test_each_runtime_follows_its_own_and_no_others(secured: Secured) -> None:
    writers = {
        "dec": ("policy-evaluator", "lictor.dec.{}.allow.task"),
        "guide": ("feedback", "lictor.guide.{}.session"),
        "proof": ("prover", "lictor.proof.{}.proved.task"),
        "appr": ("approvals", "lictor.appr.{}.requested.request"),
        "run": ("runner", "lictor.run.{}.task.request"),
        "ep": ("sealer", "lictor.ep.{}.report.episode"),
    }
    heard: dict[str, list[str]] = {runtime: [] for runtime in RUNTIMES}
    async with AsyncExitStack() as running:
        for runtime in RUNTIMES:
            client = await running.enter_async_context(connected(secured, runtime))

            async def take(message: Msg, mine: list[str] = heard[runtime]) -> None:
                mine.append(message.subject)

            await client.subscribe(subjects.stored_for(runtime), cb=take)
            await client.flush()
        wanted = {
            runtime: sorted(
                subject.format(runtime).replace("lictor.", "lictor.stored.", 1)
                for _, subject in writers.values()
            )
            for runtime in RUNTIMES
        }
        for service, subject in writers.values():
            writer = await running.enter_async_context(connected(secured, service))
            for runtime in RUNTIMES:
                await writer.request(subject.format(runtime), b"{}", timeout=5)
        async with asyncio.timeout(60):
            while any(len(heard[each]) < len(writers) for each in RUNTIMES):
                await asyncio.sleep(0.02)
    assert {runtime: sorted(mine) for runtime, mine in heard.items()} == wanted


# Reply subjects of the attacker's choice: the broker and the services answer wherever a question says.

TARGETS = {
    "freeze another's run for good": "lictor.run.codex.task.request",
    "stop all sealing": "lictor.ep.codex.report.episode",
    "stop all sealing by the log": "lictor.log.checkpoint",
    "hide dead letters": "lictor.dead.sealer.DECISIONS.1",
    "break patch list": "lictor.patch.proposed.patch",
    "break drift list": "lictor.drift.time.green",
    "break claim list": "lictor.claim.made.refund",
    "break the report": "lictor.cycle.applied.refund",
    "decide for itself": "lictor.dec.openclaw.allow.task",
    "write another's session": "lictor.sess.session",
    "speak as another": "lictor.ev.codex.task",
    "release packs": "lictor.packs.release.stable",
    "set a timer": "lictor.sched.checkpoint.task",
    "have JetStream delete a stream": "$JS.API.STREAM.DELETE.EVENTS",
    "answer in another's place": "_INBOX.codex.answer",
}


async def test_an_answer_goes_nowhere_but_to_who_asked(secured: Secured) -> None:
    """Every question that a runtime may ask, answered by whoever answers it, with each target as its reply subject."""
    asked = [it for it in role_named(ATTACKER).publish if not it.endswith(".*")]
    stored = [f"{it[:-1]}task" for it in role_named(ATTACKER).publish if it.endswith(".*")]
    assert asked
    assert stored
    async with AsyncExitStack() as running:
        ops = await running.enter_async_context(connected(secured, "ops"))
        before = await stored_counts(ops)
        seen: set[str] = set()
        answered: list[str] = []

        async def see(message: Msg) -> None:
            seen.add(message.subject)

        await ops.subscribe("lictor.>", cb=see)
        for role in roles(RUNTIMES):
            if role.is_runtime or role.name in ("ops", "deploy"):
                continue
            service = await running.enter_async_context(connected(secured, role.name))

            async def answer(message: Msg, by: Client = service) -> None:
                answered.append(message.subject)
                await by.publish(message.reply, b"{}")

            for subject in role.hears:
                await service.subscribe(subject, cb=answer)
            await service.flush()
        await ops.flush()
        attacker = await running.enter_async_context(connected(secured, ATTACKER))
        for target in TARGETS.values():
            for subject in (*asked, *stored):
                await attacker.publish(subject, b"{}", reply=target)
        await attacker.flush()
        async with asyncio.timeout(60):
            while len(answered) < len(asked) * len(TARGETS):
                await asyncio.sleep(0.02)
        # What a service sent before this answer has arrived before it.
        for subject in asked:
            await attacker.request(subject, b"{}", timeout=10)
        after = await stored_counts(ops)
    assert {name for name in STREAMS if after[name] != before[name]} == FROM_OUTSIDE
    assert after["EVENTS"] - before["EVENTS"] == len(TARGETS)
    assert not seen & set(TARGETS.values())


# Headers that the broker obeys.


@pytest.mark.parametrize("subject", ["lictor.ev.openclaw.task", "lictor.prog.openclaw.task"])
@pytest.mark.parametrize(
    "headers",
    [
        {"Nats-Rollup": "sub"},
        {"Nats-Rollup": "all"},
        {"Nats-TTL": "1s"},
        {"Nats-Schedule": "@every 1s", "Nats-Schedule-Target": "lictor.ep.codex.report.episode"},
        {"Nats-Schedule": "@at 2026-01-01T00:00:00Z", "Nats-Schedule-Target": "lictor.ev.codex.t"},
        {"Nats-Incr": "+1"},
        {"Nats-Expected-Stream": "DECISIONS"},
        {"Nats-Expected-Last-Sequence": "7"},
        {"Nats-Expected-Last-Msg-Id": "unknown"},
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else value,
)
async def test_a_header_that_would_change_the_stream_is_refused(
    secured: Secured, subject: str, headers: dict[str, str]
) -> None:
    async with connected(secured, ATTACKER) as attacker, connected(secured, "ops") as ops:
        before = await stored_counts(ops)
        answer = await attacker.request(subject, b"{}", timeout=5, headers=headers)
        assert b'"error"' in answer.data
        assert await stored_counts(ops) == before


@pytest.mark.parametrize("destination", ["lictor.ep.codex.report.e", "_INBOX.codex.trace"])
async def test_a_trace_goes_nowhere_that_a_runtime_may_not_publish(
    secured: Secured, destination: str
) -> None:
    told = await violation(
        secured.url(ATTACKER),
        lambda client: client.publish(
            "lictor.ev.openclaw.task", b"{}", headers={"Nats-Trace-Dest": destination}
        ),
    )
    assert f'permissions violation for publish to "{destination}"'.lower() in told
    async with connected(secured, "ops") as ops:
        assert not any((await stored_counts(ops)).values())


async def test_headers_that_the_broker_sets_itself_are_believed_from_nobody_else(
    secured: Secured,
) -> None:
    """As a reader would take them: another sequence, another subject, the end of an answer."""
    lies: Sequence[dict[str, str]] = (
        {
            "Nats-Sequence": "77",
            "Nats-Subject": "lictor.ev.0.codex.task",
            "Nats-Stream": "DECISIONS",
        },
        {"Status": "204", "Description": "EOB", "Nats-Num-Pending": "0"},
        {"Status": "503"},
        {"Nats-Marker-Reason": "MaxAge"},
        {"Nats-Pin-Id": "mine"},
        {"Nats-Last-Sequence": "9"},
    )
    async with connected(secured, ATTACKER) as attacker, connected(secured, VICTIM) as victim:
        for headers in lies:
            await attacker.request("lictor.ev.openclaw.task", b"{}", timeout=5, headers=headers)
        await victim.request("lictor.ev.codex.task", b"last", timeout=5)
    async with connected(secured, "policy-evaluator") as evaluator:
        found = await read_from(evaluator, "EVENTS", "lictor.ev.>", 1, 100)
    assert [each.sequence for each in found] == list(range(1, len(lies) + 2))
    assert {each.subject.split(".")[3] for each in found[:-1]} == {"openclaw"}
    assert found[-1].body == b"last"


# What is one for the whole stream: message ids, and batches under way.


async def test_nobody_takes_the_message_id_of_another_runtime_s_event(secured: Secured) -> None:
    """The broker drops what has an id that it knows: whoever could guess it would have an event dropped."""
    guessed = subjects.event_message_id(VICTIM, "task", "e-1")
    async with connected(secured, ATTACKER) as attacker, connected(secured, VICTIM) as victim:
        await attacker.request(
            "lictor.ev.openclaw.task", b"{}", timeout=5, headers={"Nats-Msg-Id": guessed}
        )
        event = read_event(an_event(VICTIM, "task", "e-1"))
        first = await store_event(victim, event)
        again = await store_event(victim, event)
    assert (first.duplicate, again.duplicate) == (False, True)
    assert again.sequence == first.sequence
    async with connected(secured, "policy-evaluator") as evaluator:
        found = await read_from(evaluator, "EVENTS", "lictor.ev.*.codex.task", 1, 10)
    assert [each.body for each in found] == [event.to_json()]


async def test_batches_that_a_runtime_leaves_open_hold_up_nobody(secured: Secured) -> None:
    """The broker holds a limited number of unfinished batches a stream, whoever began them."""
    async with connected(secured, ATTACKER) as attacker, connected(secured, VICTIM) as victim:
        for _ in range(200):
            headers = {"Nats-Batch-Id": str(uuid.uuid4()), "Nats-Batch-Sequence": "1"}
            await attacker.publish("lictor.prog.openclaw.task", b"{}", headers=headers)
        await attacker.flush()
        programs = [Outgoing("lictor.prog.codex.task", b"%d" % n, f"id-{n}") for n in range(3)]
        await publish_all(victim, "PROGRAMS", programs)
    async with connected(secured, "prover") as prover:
        found = await read_from(prover, "PROGRAMS", "lictor.prog.codex.task", 1, 10)
    assert [each.body for each in found] == [b"0", b"1", b"2"]
