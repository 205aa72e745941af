"""The password of a service, an operator or `deploy` in the wrong hands: it does its own work, and nobody else's."""

import asyncio
import itertools
import json
from typing import Any

import pytest
from secured_nats import Secured, refused_publish, refused_subscription

from lictor_bus.errors import MessageRefused, NotAllowed
from lictor_bus.gates.decision import CONTRACT_HALT
from lictor_bus.gates.gate_runner import BoundGate, GateRunner
from lictor_bus.names.roles import roles
from lictor_bus.names.streams import STREAMS
from lictor_bus.service.telemetry import ServiceTelemetry
from lictor_bus.wire.connection import TolerantClient, connect_nats
from lictor_bus.wire.provenance import LOG, is_named
from lictor_bus.wire.read import read_from
from lictor_schema.contracts.decision_questions import SwitchOrder

SERVICES = [role.name for role in roles() if role.name not in ("ops", "deploy")]
CHANGING = ("CREATE", "UPDATE", "DELETE", "PURGE", "RESTORE", "SNAPSHOT")


def test_nobody_but_deploy_may_change_a_stream() -> None:
    """Computed, so that it stays true of whatever a role may do one day."""
    changing = [
        (role.name, subject)
        for role in roles(["openclaw"])
        for subject in role.publish
        if subject.split(".")[:3] == ["$JS", "API", "STREAM"] and subject.split(".")[3] in CHANGING
    ]
    assert {name for name, _ in changing} == {"deploy"}


def test_nobody_hears_the_answers_to_another() -> None:
    for one, other in itertools.permutations(roles(["openclaw", "codex"]), 2):
        inbox = other.subscribe[-1]
        assert inbox.startswith("_INBOX.")
        assert inbox not in one.subscribe
        assert not [it for it in one.subscribe if it.startswith("_R_") or it in (">", "_INBOX.>")]


async def test_a_service_can_t_have_the_broker_drop_what_it_stored(secured: Secured) -> None:
    evaluator = await connect_nats(secured.url("policy-evaluator"), name="test")
    ops = await connect_nats(secured.url("ops"), name="test")
    for number in range(5):
        await evaluator.request(f"lictor.dec.openclaw.allow.t{number}", b"{}", timeout=5)
    config = (await ops.jetstream().stream_info("DECISIONS")).config.as_dict()
    smaller = json.dumps({**config, "max_msgs": 1}).encode()
    with pytest.raises(NotAllowed):
        await evaluator.request("$JS.API.STREAM.UPDATE.DECISIONS", smaller, timeout=0.5)
    info = await ops.jetstream().stream_info("DECISIONS")
    assert (info.state.messages, info.config.max_msgs) == (5, config.get("max_msgs"))
    await evaluator.close()
    await ops.close()


@pytest.mark.parametrize("service", SERVICES)
async def test_a_service_changes_no_stream(secured: Secured, service: str) -> None:
    for subject in (
        *(f"$JS.API.STREAM.{verb}.{name}" for verb in CHANGING for name in ("DECISIONS", "MINE")),
        "$JS.API.STREAM.MSG.DELETE.EPISODES",
        "$JS.API.CONSUMER.DURABLE.CREATE.EVENTS.mine",
        "$JS.API.ACCOUNT.PURGE.LICTOR",
    ):
        assert await refused_publish(secured.url(service), subject), subject


@pytest.mark.parametrize(
    ("role", "subject"),
    [
        *(
            (role, subject)
            for role in ("ops", "policy-evaluator", "feedback", "supervisor")
            for subject in (
                "lictor.contents.episode.part",
                "lictor.erased.episode",
                "$JS.API.STREAM.MSG.DELETE.CONTENTS",
            )
        ),
        ("sealer", "$JS.API.STREAM.MSG.DELETE.ERASURES"),
        ("ops", "lictor.mark.task.record"),
        ("ops", "lictor.cycle.applied.refund"),
        ("ops", "lictor.patch.approved.patch"),
        ("ops", "lictor.act.switch"),
        ("ops", "lictor.contract.begin.openclaw"),
        ("ops", "lictor.gate.action.openclaw"),
        ("ops", "lictor.cert.hash"),
        ("ops", "lictor.dec.openclaw.allow.task"),
        ("ops", "lictor.ep.openclaw.report.episode"),
        ("ops", "$JS.API.STREAM.DELETE.DECISIONS"),
        ("ops", "$JS.API.STREAM.UPDATE.DECISIONS"),
        ("policy-evaluator", "lictor.desk.patch"),
        ("sealer", "lictor.desk.patch"),
        ("supervisor", "lictor.desk.patch"),
        # The sealer seals, and nothing else; the supervisor does all but that.
        ("sealer", "lictor.drifting.cause"),
        ("sealer", "lictor.patch.approved.patch"),
        ("sealer", "lictor.cycle.applied.refund"),
        ("sealer", "lictor.gated.openclaw.action.task"),
        ("sealer", "lictor.sched.decision.task"),
        ("sealer", "lictor.dec.openclaw.allow.task"),
        ("sealer", "lictor.ev.openclaw.task"),
        ("sealer", "lictor.cert.hash"),
        *(
            ("supervisor", subject)
            for subject in (
                "lictor.ep.openclaw.report.episode",
                "lictor.log.checkpoint",
                "$JS.API.DIRECT.GET.CONTENTS",
                "$JS.API.CONSUMER.CREATE.DECISIONS.mine.lictor.dec.>",
                "lictor.dec.openclaw.allow.task",
                "lictor.ev.openclaw.task",
            )
        ),
        ("feedback", "lictor.act.switch"),
        ("feedback", "lictor.dec.openclaw.allow.task"),
        ("feedback", "lictor.sched.checkpoint.task"),
        ("feedback", "lictor.gated.openclaw.report.task"),
        ("policy-evaluator", "lictor.act.switch"),
        ("policy-evaluator", "lictor.ep.openclaw.report.episode"),
        ("policy-evaluator", "lictor.ev.openclaw.task"),
        ("policy-evaluator", "lictor.dec.openclaw.allow.guard.task"),
        ("policy-evaluator", "lictor.dec.openclaw.block.refused.task"),
        ("policy-evaluator", "lictor.sess.session"),
        ("prover", "lictor.dec.openclaw.allow.task"),
        # Only the approval service writes what was decided, and only operators bring decisions.
        *(
            (role, f"lictor.appr.openclaw.{state}.request")
            for role in ("ops", "prover", "sealer")
            for state in ("requested", "endorsed", "approved", "executing", "calling")
        ),
        # It says which calls were made by an approval, as their sessions' logs say; how a program runs it does not.
        ("approvals", "lictor.appr.openclaw.executing.request"),
        ("approvals", "lictor.appr.openclaw.executed.request"),
        ("approvals", "lictor.appr.openclaw.failed.request"),
        ("runner", "lictor.appr.openclaw.calling.request"),
        ("feedback", "lictor.appr.openclaw.approved.request"),
        ("approvals", "lictor.sess.session"),
        ("approvals", "lictor.proof.openclaw.proved.task"),
        ("approvals", "lictor.prog.openclaw.task"),
        # Nobody but the runner says what ran, and it does not say what may.
        *(
            (role, "lictor.run.openclaw.task.request")
            for role in ("ops", "prover", "sealer", "approvals")
        ),
        *(
            ("runner", f"lictor.appr.openclaw.{state}.request")
            for state in ("requested", "approved", "rejected", "expired")
        ),
        ("runner", "lictor.proof.openclaw.proved.task"),
        ("runner", "lictor.prog.openclaw.task"),
        # Whoever deploys makes streams; it asks no gate and answers nobody.
        ("deploy", "lictor.desk.approval"),
        ("deploy", "lictor.contract.halt"),
        ("deploy", "lictor.gate.tool.openclaw"),
        ("deploy", "_INBOX.ops.answer"),
        ("deploy", "_R_.anything"),
        ("deploy", "lictor.dec.openclaw.allow.task"),
    ],
)
async def test_nobody_publishes_what_is_not_theirs(
    secured: Secured, role: str, subject: str
) -> None:
    assert await refused_publish(secured.url(role), subject)


@pytest.mark.parametrize(
    ("role", "subject"),
    [
        ("feedback", "lictor.gate.report.*"),
        ("policy-evaluator", "lictor.gate.tool.*"),
        ("sealer", "_INBOX.policy-evaluator.>"),
        ("sealer", "lictor.gate.action.openclaw"),
        ("sealer", "lictor.contract.begin.openclaw"),
        ("sealer", "lictor.desk.patch"),
        ("supervisor", "lictor.desk.erase"),
        ("supervisor", "lictor.desk.correct"),
        ("ops", "_INBOX.>"),
        ("ops", "_R_.>"),
        ("deploy", "lictor.>"),
        *((service, "_R_.>") for service in SERVICES),
        *((service, "lictor.>") for service in SERVICES),
    ],
)
async def test_nobody_listens_to_what_is_not_theirs(
    secured: Secured, role: str, subject: str
) -> None:
    assert await refused_subscription(secured.url(role), subject)


def test_every_stream_is_written_by_somebody_and_by_no_runtime_but_from_outside() -> None:
    runtime = next(role for role in roles(["openclaw"]) if role.is_runtime)
    for name, stream in STREAMS.items():
        kinds = {subject.split(".")[1] for subject in stream.subjects}
        own = {subject.split(".")[1] for subject in runtime.publish}
        assert bool(kinds & own) == stream.from_outside, name


# Copies: the broker sends what it has stored wherever whoever may read it says.


async def _copies(thief: TolerantClient, own: str, target: str, body: bytes) -> None:
    """Every way to have a message of one's own sent to a subject on which one may not publish."""
    stored = json.loads((await thief.request(own, body, timeout=5, headers={LOG: target})).data)
    stream = stored["stream"]
    last = json.dumps({"last_by_subj": own}).encode()
    await thief.publish(f"$JS.API.DIRECT.GET.{stream}", last, reply=target)
    await thief.publish(f"$JS.API.STREAM.MSG.GET.{stream}", last, reply=target)
    for name, more in (("pushed", {"deliver_subject": target}), ("pulled", {})):
        config = {"name": name, "filter_subject": own, "ack_policy": "explicit", **more}
        made = json.dumps({"stream_name": stream, "action": "create", "config": config}).encode()
        await thief.request(f"$JS.API.CONSUMER.CREATE.{stream}.{name}.{own}", made, timeout=5)
    await thief.publish(f"$JS.API.CONSUMER.MSG.NEXT.{stream}.pulled", b"1", reply=target)
    await thief.flush()


@pytest.mark.parametrize(
    ("role", "own"),
    [
        ("prover", "lictor.proof.openclaw.proved.t"),
        ("feedback", "lictor.guide.openclaw.s"),
        ("runner", "lictor.run.openclaw.t.r"),
        ("approvals", "lictor.appr.openclaw.requested.r"),
    ],
)
async def test_no_copy_of_a_service_s_own_words_is_taken_for_an_operator_s_order(
    secured: Secured, role: str, own: str
) -> None:
    supervisor = await connect_nats(secured.url("supervisor"), name="test")
    ops = await connect_nats(secured.url("ops"), name="test")
    thief = await connect_nats(secured.url(role), name="test")
    judged: list[str] = []

    async def halt(order: SwitchOrder) -> Any:
        judged.append(order.by)
        raise MessageRefused("only a test", remedy="none")

    gates = [BoundGate(gate=CONTRACT_HALT, handle=halt)]
    runner = GateRunner(supervisor, "supervisor", gates, ServiceTelemetry("supervisor"))
    running = asyncio.create_task(runner.run())
    async with asyncio.timeout(60):
        while runner.trouble is not None:
            await asyncio.sleep(0.01)

    def order(by: str) -> bytes:
        at = "2026-01-31T12:00:00Z"
        said = {"request_id": by, "by": by, "reason": "r", "requested_at": at}
        return json.dumps(said).encode()

    arrived = await ops.subscribe(CONTRACT_HALT.subject)
    await ops.flush()
    await _copies(thief, own, CONTRACT_HALT.subject, order("thief"))
    for _ in range(4):
        await arrived.next_msg(timeout=30)
    await ops.request(CONTRACT_HALT.subject, order("operator"), timeout=5)
    assert judged == ["operator"]
    runner.stop()
    await running
    await supervisor.close()
    await thief.close()
    await ops.close()


@pytest.mark.parametrize("target", ["lictor.patch.approved.p", "lictor.dec.openclaw.allow.t"])
async def test_a_copy_in_a_stream_of_another_s_is_known_for_one(
    secured: Secured, target: str
) -> None:
    """The broker stores copies where it is told: those that carry a header of the thief's choice carry its own too."""
    thief = await connect_nats(secured.url("prover"), name="test")
    ops = await connect_nats(secured.url("ops"), name="test")
    await _copies(thief, "lictor.proof.openclaw.proved.t", target, b"{}")
    stream = "PATCHES" if ".patch." in target else "DECISIONS"
    async with asyncio.timeout(60):
        while (await ops.jetstream().stream_info(stream)).state.messages < 2:
            await asyncio.sleep(0.02)
    # What is left names no subject: the broker's own answer, which is nothing that a reader could read.
    assert not [each for each in await read_from(ops, stream, target, 1, 10) if is_named(each)]
    await thief.close()
    await ops.close()
