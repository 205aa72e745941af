"""A NATS user for each role, on a real server: everybody can do their work, and nobody another's."""

import asyncio
import itertools
import json
import os
import re
import subprocess
import sys
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import nats
import pytest
from approval_samples import ALICE, proof, statement, submission
from governing_bus import CONTRACT, put_in_force, record
from nats.aio.client import Client
from nats.aio.msg import Msg
from reporting import ROOT, service_process, wait_until_ready
from secured_nats import Secured, secured_server

import lictor
from lictor.history.episode_bundle import bundle_lines
from lictor_approval.signed_decisions import sign_decision
from lictor_bus.errors import NotAllowed, ReservedName
from lictor_bus.logs.certificates import load_certificate
from lictor_bus.names import subjects
from lictor_bus.names.roles import password_variable, roles, users_config
from lictor_bus.wire.connection import TolerantClient, connect_nats
from lictor_bus.wire.publish import Outgoing, publish_one
from lictor_bus.wire.read import read_from
from lictor_local.demo_story import play
from lictor_local.doctor import health
from lictor_local.embedded_servers import Endpoints
from lictor_prove.layers.installed import installed_layers
from lictor_schema.approvals.approval import ApprovalEntry, ApprovalOrder
from lictor_schema.contracts.coherence_report import CoherenceAnswer, CoherenceQuestion
from lictor_schema.events.operator_context import OperatorContext
from lictor_schema.seals.erasure import ErasureAnswer, ErasureOrder
from lictor_schema.services.health import ServiceHealth
from lictor_seal import SealBundle, TrustStore, verify_bundle

SERVICES = {
    "policy-evaluator": "lictor_policy_evaluator",
    "sealer": "lictor_sealer",
    "supervisor": "lictor_supervisor",
    "feedback": "lictor_feedback",
    "prover": "lictor_prover",
    "approvals": "lictor_approvals",
    "runner": "lictor_runner",
}


@pytest.fixture
async def secured(clean_infra: Endpoints, tmp_path: Path) -> AsyncIterator[Secured]:
    async with secured_server(clean_infra, tmp_path) as found:
        yield found


async def test_every_role_can_do_its_work_from_the_first_event_to_the_seal(
    secured: Secured, tmp_path: Path
) -> None:
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    async with AsyncExitStack() as running:
        ops = await connect_nats(secured.url("ops"), name="test")
        running.push_async_callback(ops.close)
        for name, module in SERVICES.items():
            await running.enter_async_context(
                service_process(
                    module,
                    secured.endpoints(name),
                    LICTOR_SEAL_KEY=str(tmp_path / "seal.pem"),
                    LICTOR_SEAL_KEY_CREATE="1",
                    LICTOR_SEAL_TRUST=str(tmp_path / "trust.json"),
                )
            )
        for name in SERVICES:
            await wait_until_ready(ops, name)
        for stream in ("DECISIONS", "EPISODES", "GUIDANCE", "PROOFS", "APPROVALS"):
            count = (await ops.jetstream().stream_info(stream)).state.consumer_count
            named = [name for name in SERVICES if await has_consumer(ops, stream, name)]
            assert count == len(named), (
                "a runtime could remove a consumer that roles.py does not know"
            )
        operator = OperatorContext(operator_id="you", channel="terminal")
        async with lictor.connect(
            secured.url("openclaw"), runtime="openclaw", agent_id="agent", operator=operator
        ) as governor:
            # It has a checkpoint fall due, by a timer that the evaluator sets in the broker.
            ending = await play(governor, workspace, lambda _: None, lambda _: None)
        trust = TrustStore.load(tmp_path / "trust.json")
        assert verify_bundle(ending.bundle, trust).ok
        # An operator reads what the episode covers, and has some of it erased by the sealer.
        lines = [line async for line in bundle_lines(ops, ending.bundle)]
        assert verify_bundle(b"".join(lines), trust).ok
        sealed = SealBundle.from_bytes(ending.bundle).sealed_episode
        order = ErasureOrder(
            request_id=str(uuid.uuid4()),
            episode_id=str(sealed["episodeId"]),
            by="ada",
            reason="the customer asked",
            parts=("events",),
        )
        reply = await ops.request(subjects.desk("erase"), order.to_json(), timeout=10)
        answer = ErasureAnswer.from_json(reply.data)
        assert (answer.outcome, (answer.erased or 0) > 0) == ("done", True), answer
        lines = [line async for line in bundle_lines(ops, ending.bundle)]
        left = verify_bundle(b"".join(lines), trust).verified
        assert left is not None
        assert left.contents is not None
        assert left.contents.erased == answer.erased


async def has_consumer(client: Client, stream: str, name: str) -> bool:
    answer = await client.request(f"$JS.API.CONSUMER.INFO.{stream}.{name}", b"", timeout=5)
    return "error" not in json.loads(answer.data)


async def test_a_guarded_session_works_under_its_runtime_s_own_user(secured: Secured) -> None:
    question = {
        "request_id": "q",
        "runtime": "openclaw",
        "agent_id": "agent",
        "task_id": "task",
        "session_id": "session",
        "requested_at": "2026-01-31T12:00:00Z",
    }
    call: dict[str, object] = {"tool": "Frobnicate", "call_id": "c1", "params": {}}
    async with AsyncExitStack() as running:
        ops = await connect_nats(secured.url("ops"), name="test")
        running.push_async_callback(ops.close)
        await running.enter_async_context(
            service_process("lictor_feedback", secured.endpoints("feedback"))
        )
        await wait_until_ready(ops, "feedback")
        runtime = await connect_nats(secured.url("openclaw"), name="test")
        running.push_async_callback(runtime.close)

        async def ask(subject: str, **more: object) -> dict[str, Any]:
            body = json.dumps({**question, **more}).encode()
            return json.loads((await runtime.request(subject, body, timeout=5)).data)

        assert (await ask("lictor.session.begin.openclaw"))["ok"]
        assert (await ask("lictor.gate.tool.openclaw", **call))["decision"] in ("allow", "deny")
        assert (await ask("lictor.session.result.openclaw", **call, outcome="ok"))["ok"]
        kept = await ask("lictor.session.snapshot.openclaw", snapshot_id="one")
        assert kept["ok"]
        assert (await ask("lictor.session.restore.openclaw", snapshot_id="one", cause="try"))["ok"]
        denied = await ask(
            "lictor.gate.tool.openclaw", tool="Write", call_id="c2", params={"file_path": "a"}
        )
        assert denied["decision"] == "deny"
        async with asyncio.timeout(60):
            while not await read_from(runtime, "DECISIONS", "lictor.dec.*.guard.task", 1, 10):
                await asyncio.sleep(0.05)


async def test_a_program_is_approved_by_an_operator_and_never_by_its_runtime(
    secured: Secured, tmp_path: Path
) -> None:
    layers = {"LICTOR_LAYERS": str(ROOT / "examples/layers")}
    approvers = tmp_path / "approvers.json"
    approvers.write_bytes(TrustStore.of([ALICE.verifying_key]).to_bytes())
    submitted = submission()
    (layer, _) = installed_layers(layers).named(None) or ("", None)
    proved = proof(submitted, layer_hash=layer)

    async with AsyncExitStack() as running:

        async def user(name: str) -> TolerantClient:
            client = await connect_nats(secured.url(name), name="test")
            running.push_async_callback(client.close)
            return client

        ops, runtime, prover = await user("ops"), await user("openclaw"), await user("prover")
        await running.enter_async_context(
            service_process(
                "lictor_approvals",
                secured.endpoints("approvals"),
                LICTOR_APPROVERS=str(approvers),
                **layers,
            )
        )
        await wait_until_ready(ops, "approvals")
        program = Outgoing(subjects.program(submitted.task_id), submitted.to_json())
        await publish_one(runtime, "PROGRAMS", program)
        result = Outgoing(subjects.proof("proved", submitted.task_id), proved.to_json())
        await publish_one(prover, "PROOFS", result)
        async with lictor.connect(secured.url("openclaw"), runtime="openclaw") as governor:
            waiting = asyncio.create_task(governor.approval(proved, timeout_s=30))
            async with asyncio.timeout(30):
                while not (found := await read_from(runtime, "APPROVALS", "lictor.appr.>", 1, 1)):
                    await asyncio.sleep(0.02)
            request = ApprovalEntry.from_json(found[0].body).request
            assert request is not None
            said = statement(request, at=datetime.now(UTC))
            order = ApprovalOrder(request_id=request.request_id, signed=sign_decision(said, ALICE))
            # Even with a signature in hand, a runtime can't bring it.
            with pytest.raises(NotAllowed):
                await runtime.request(subjects.desk("approval"), order.to_json(), timeout=1)
            answer = await ops.request(subjects.desk("approval"), order.to_json(), timeout=10)
            assert json.loads(answer.data)["outcome"] == "done"
            assert (await waiting).state == "approved"


async def test_a_governed_decision_works_under_its_runtime_s_own_user(
    secured: Secured, tmp_path: Path
) -> None:
    def question(**more: object) -> dict[str, object]:
        stamp = {"request_id": str(uuid.uuid4()), "requested_at": "2026-01-31T12:00:00Z"}
        return {**stamp, **more}

    whose: dict[str, object] = {"runtime": "openclaw", "agent_id": "agent", "task_id": "task-1"}
    keys = {
        "LICTOR_SEAL_KEY": str(tmp_path / "seal.pem"),
        "LICTOR_SEAL_KEY_CREATE": "1",
        "LICTOR_SEAL_TRUST": str(tmp_path / "trust.json"),
    }
    async with AsyncExitStack() as running:
        ops = await connect_nats(secured.url("ops"), name="test")
        running.push_async_callback(ops.close)
        for name in ("supervisor", "sealer"):
            await running.enter_async_context(
                service_process(f"lictor_{name}", secured.endpoints(name), **keys)
            )
            await wait_until_ready(ops, name)
        evaluator = await connect_nats(secured.url("policy-evaluator"), name="test")
        running.push_async_callback(evaluator.close)
        await put_in_force(evaluator)
        started = record("task-1", "e-1", runtime="openclaw")
        await evaluator.request(subjects.decision("allow", "task-1"), started.to_json(), timeout=5)
        runtime = await connect_nats(secured.url("openclaw"), name="test")
        running.push_async_callback(runtime.close)

        async def ask(client: Client, subject: str, **more: object) -> dict[str, Any]:
            body = json.dumps(question(**more)).encode()
            return json.loads((await client.request(subject, body, timeout=5)).data)

        order: dict[str, object] = {"by": "ada", "reason": "looked at"}
        assert (await ask(runtime, "lictor.contract.begin.openclaw", **whose))["ok"]
        denied = await ask(runtime, "lictor.gate.action.openclaw", **whose, contract=CONTRACT)
        assert (denied["decision"], len(denied["violations"])) == ("deny", 2)
        assert (await ask(ops, "lictor.contract.halt", **order))["ok"]
        shown = await ask(ops, "lictor.contract.show.openclaw", **whose)
        assert shown["standing"]["state"] == "frozen"
        async with asyncio.timeout(60):
            while not await read_from(ops, "DRIFT", "lictor.drifting.*", 1, 10):
                await asyncio.sleep(0.05)
        # Closed while it is frozen, it is sealed once somebody resumes it; then the report is about it.
        closed = record("task-1", "e-2", runtime="openclaw", closes=True)
        await evaluator.request(subjects.decision("allow", "task-1"), closed.to_json(), timeout=5)
        async with asyncio.timeout(60):
            while not await read_from(ops, "DEAD", "lictor.dead.sealer.DECISIONS.*", 1, 10):
                await asyncio.sleep(0.05)
        of_task = {"runtime": "openclaw", "task_id": "task-1"}
        assert (await ask(ops, "lictor.contract.release", **order))["ok"]
        assert (await ask(ops, "lictor.contract.resume", **order, **of_task))["ok"]
        async with asyncio.timeout(60):
            while not await read_from(ops, "EPISODES", "lictor.ep.*.*", 1, 10):
                await asyncio.sleep(0.05)
        asked = CoherenceQuestion(request_id="q").to_json()
        told = CoherenceAnswer.from_json(
            (await ops.request(subjects.REPORT, asked, timeout=10)).data
        )
        assert told.report is not None, told.problem
        assert told.report.episodes == 1


@pytest.mark.parametrize("name", SERVICES)
async def test_a_container_may_ask_for_the_health_of_its_own_service(
    secured: Secured, name: str
) -> None:
    """Its health check runs under the service's own user."""
    service = await connect_nats(secured.url(name), name="test")
    state = ServiceHealth(
        service=name, version="1", ready=True, started_at=datetime(2026, 1, 31, tzinfo=UTC)
    )

    async def answer(message: Msg) -> None:
        await message.respond(state.to_json())

    await service.subscribe(subjects.health(name), cb=answer)
    await service.flush()
    checked = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "lictor_bus.service.health", name),
        env={**os.environ, "LICTOR_NATS_URL": secured.url(name)},
    )
    assert await checked.wait() == 0
    await service.close()


async def test_the_doctor_of_a_runtime_does_not_call_the_sealer_dead(secured: Secured) -> None:
    runtime = await connect_nats(secured.url("openclaw"), name="test")
    sealer = await health(runtime, "sealer", "start it")
    supervisor = await health(runtime, "supervisor", "start it")
    await runtime.close()
    assert (sealer.ok, sealer.detail.partition(":")[0]) == (True, "not asked")
    # This one may be asked, and nobody answers.
    assert not supervisor.ok


def test_nothing_that_a_runtime_may_publish_reaches_who_holds_the_private_key() -> None:
    """Computed, so that it stays true of whatever either may do one day."""
    found = {role.user: role for role in roles(["openclaw", "codex"])}
    hears = [each for each in found["sealer"].subscribe if not each.startswith("_INBOX.sealer.")]
    assert hears
    for user in ("openclaw", "codex"):
        role = found[user]
        reaching = [
            (allowed, heard)
            for heard in hears
            for allowed in role.publish
            if _meet(allowed, heard)
            and not any(_covers(denied, heard) for denied in role.not_publish)
        ]
        assert reaching == []
        # Its inboxes too: only services write there.
        assert not any(_meet(allowed, "_INBOX.sealer.>") for allowed in role.publish)


def _meet(one: str, other: str) -> bool:
    """Whether some subject matches both filters."""
    pairs = itertools.zip_longest(one.split("."), other.split("."))
    for left, right in pairs:
        if ">" in (left, right):
            return left is not None and right is not None
        if left is None or right is None or ("*" not in (left, right) and left != right):
            return False
    return True


def _covers(denied: str, heard: str) -> bool:
    """Whether a filter matches every subject that another one does."""
    pairs = itertools.zip_longest(denied.split("."), heard.split("."))
    for left, right in pairs:
        if left == ">":
            return right is not None
        if right is None or (left != "*" and left != right):
            return False
    return True


async def test_a_program_is_proved_and_its_certificate_kept_under_their_own_users(
    secured: Secured,
) -> None:
    examples = Path(__file__).parents[2] / "examples"
    program = (examples / "programs/newsletter.py").read_text("utf-8")
    settings = {"LICTOR_LAYERS": str(examples / "layers"), "LICTOR_PROOF_WORKERS": "1"}
    async with AsyncExitStack() as running:
        ops = await connect_nats(secured.url("ops"), name="test")
        running.push_async_callback(ops.close)
        await running.enter_async_context(
            service_process("lictor_prover", secured.endpoints("prover"), **settings)
        )
        await wait_until_ready(ops, "prover")
        governor = await running.enter_async_context(
            lictor.connect(secured.url("openclaw"), runtime="openclaw", agent_id="agent")
        )
        (first,) = await governor.prove(program, task_id="t")
        (again,) = await governor.prove(program, task_id="t")
        assert first.certificate_hash is not None
        assert await load_certificate(ops, first.certificate_hash) is not None
    assert again.cached
    assert again.certificate_hash == first.certificate_hash


async def test_a_runtime_that_has_answers_put_into_the_log_of_another_stops_nothing(
    secured: Secured,
) -> None:
    def question(runtime: str, **more: object) -> bytes:
        stamp = {"request_id": "q", "agent_id": "agent", "requested_at": "2026-01-31T12:00:00Z"}
        whose = {"runtime": runtime, "task_id": "task", "session_id": "session"}
        return json.dumps({**stamp, **whose, **more}).encode()

    async with AsyncExitStack() as running:
        ops = await connect_nats(secured.url("ops"), name="test")
        running.push_async_callback(ops.close)
        await running.enter_async_context(
            service_process("lictor_feedback", secured.endpoints("feedback"))
        )
        await wait_until_ready(ops, "feedback")
        victim = await connect_nats(secured.url("openclaw"), name="test")
        running.push_async_callback(victim.close)
        other = await connect_nats(secured.url("codex"), name="test")
        running.push_async_callback(other.close)

        async def ask(subject: str, **more: object) -> dict[str, Any]:
            body = question("openclaw", **more)
            return json.loads((await victim.request(subject, body, timeout=5)).data)

        assert (await ask("lictor.session.begin.openclaw"))["ok"]
        # A record of its own, to have it copied.
        await other.request("lictor.session.begin.codex", question("codex"), timeout=5)
        denied = question("codex", tool="Write", call_id="c1", params={"file_path": "a"})
        await other.request("lictor.gate.tool.codex", denied, timeout=5)
        async with asyncio.timeout(60):
            while not await read_from(other, "DECISIONS", "lictor.dec.>", 1, 10):
                await asyncio.sleep(0.05)
        log = subjects.session_log(subjects.session_key("openclaw", "session"))
        before = (await ops.jetstream().stream_info("SESSIONS")).state.messages
        await other.publish("$JS.API.DIRECT.GET.DECISIONS", b'{"seq":1}', reply=log)
        consumer = {"name": "z", "ack_policy": "none", "metadata": {"entry_id": "x"}}
        await other.publish(
            "$JS.API.CONSUMER.CREATE.DECISIONS.z",
            json.dumps({"stream_name": "DECISIONS", "config": consumer}).encode(),
            reply=log,
        )
        await other.publish("lictor.health.feedback", b"", reply=log)
        async with asyncio.timeout(60):
            while (await ops.jetstream().stream_info("SESSIONS")).state.messages < before + 2:
                await asyncio.sleep(0.05)
        call: dict[str, object] = {"tool": "Frobnicate", "call_id": "c1", "params": {}}
        assert (await ask("lictor.session.result.openclaw", **call, outcome="ok"))["ok"]
        judged = await ask("lictor.gate.tool.openclaw", **{**call, "call_id": "c2"})
        assert judged["policy_id"] != "lictor.unavailable"


async def told_off(url: str, act: Callable[[Client], Awaitable[object]]) -> str:
    """What the server says to a user who does something it may not."""
    told: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    async def on_error(error: Exception) -> None:
        if not told.done():
            told.set_result(str(error).lower())

    client = await nats.connect(url, error_cb=on_error)
    try:
        await act(client)
        await client.flush()
        async with asyncio.timeout(60):
            return await told
    finally:
        await client.close()


@pytest.mark.parametrize(
    ("user", "subject"),
    [
        ("openclaw", "lictor.dec.allow.task"),
        ("openclaw", "lictor.ev.codex.task"),
        # Events of the evaluator's timers, and switches of its configuration.
        ("openclaw", "lictor.ev.lictor.task"),
        ("openclaw", "lictor.ev.0.lictor.config.switch"),
        ("openclaw", "lictor.ev.openclaw.lictor.config.switch"),
        ("openclaw", "lictor.receipt.codex"),
        ("openclaw", "lictor.ep.report.episode"),
        ("openclaw", "lictor.log.checkpoint"),
        # The messages that episodes cover: no runtime reads them, and only the sealer writes or erases.
        ("openclaw", "$JS.API.DIRECT.GET.CONTENTS"),
        ("openclaw", "$JS.API.DIRECT.GET.CONTENTS.lictor.contents.episode.part"),
        ("openclaw", "$JS.API.STREAM.MSG.GET.CONTENTS"),
        ("openclaw", "$JS.API.CONSUMER.CREATE.CONTENTS.mine.lictor.contents.>"),
        ("openclaw", "lictor.desk.erase"),
        *(
            (user, subject)
            for user in ("openclaw", "ops", "policy-evaluator", "feedback")
            for subject in (
                "lictor.contents.episode.part",
                "lictor.erased.episode",
                "$JS.API.STREAM.MSG.DELETE.CONTENTS",
                "$JS.API.STREAM.PURGE.CONTENTS",
            )
        ),
        ("sealer", "$JS.API.STREAM.MSG.DELETE.ERASURES"),
        ("sealer", "$JS.API.STREAM.MSG.DELETE.EPISODES"),
        ("sealer", "$JS.API.STREAM.PURGE.CONTENTS"),
        ("openclaw", "lictor.sched.checkpoint.task"),
        ("openclaw", "lictor.tick.checkpoint.task"),
        ("openclaw", "lictor.packs.release.stable"),
        # Another runtime's sessions, what becomes of them, and what they are judged by.
        ("openclaw", "lictor.gate.tool.codex"),
        ("openclaw", "lictor.gate.stop.codex"),
        ("openclaw", "lictor.session.restore.codex"),
        ("openclaw", "lictor.sess.session"),
        ("openclaw", "lictor.def.coder"),
        ("openclaw", "lictor.guide.session"),
        ("openclaw", "lictor.dec.allow.guard.task"),
        ("openclaw", "lictor.sched.guidance.session"),
        ("openclaw", "lictor.ask.standing"),
        ("openclaw", "lictor.doubt.session"),
        # What drifted, who handles it, and what is patched for it.
        ("openclaw", "lictor.drifting.cause"),
        ("openclaw", "lictor.drift.time.green"),
        ("openclaw", "lictor.triage.drift"),
        ("openclaw", "lictor.patch.approved.patch"),
        ("openclaw", "lictor.desk.triage"),
        # Whether a decision was a false alarm is not for who was decided on to say.
        ("openclaw", "lictor.desk.mark"),
        ("openclaw", "lictor.mark.task.record"),
        ("openclaw", "$JS.API.DIRECT.GET.MARKS"),
        ("ops", "lictor.mark.task.record"),
        ("openclaw", "lictor.desk.patch"),
        ("openclaw", "lictor.ask.report"),
        ("openclaw", "lictor.desk.claim"),
        ("openclaw", "lictor.desk.event"),
        ("openclaw", "lictor.claim.made.refund"),
        ("openclaw", "lictor.cycle.applied.refund"),
        ("ops", "lictor.cycle.applied.refund"),
        ("policy-evaluator", "lictor.desk.patch"),
        ("sealer", "lictor.desk.patch"),
        ("supervisor", "lictor.desk.patch"),
        # The sealer seals, and nothing else; the supervisor does all but that.
        ("openclaw", "lictor.health.sealer"),
        ("openclaw", "lictor.desk.correct"),
        ("sealer", "lictor.drifting.cause"),
        ("sealer", "lictor.patch.approved.patch"),
        ("sealer", "lictor.cycle.applied.refund"),
        ("sealer", "lictor.gated.action.task"),
        ("sealer", "lictor.sched.decision.task"),
        *(
            ("supervisor", subject)
            for subject in (
                "lictor.ep.report.episode",
                "lictor.log.checkpoint",
                "lictor.contents.episode.part",
                "lictor.erased.episode",
                "$JS.API.STREAM.MSG.DELETE.CONTENTS",
                "$JS.API.DIRECT.GET.CONTENTS",
                "$JS.API.CONSUMER.CREATE.DECISIONS.mine.lictor.dec.>",
                "lictor.dec.allow.task",
                "lictor.ev.openclaw.task",
            )
        ),
        ("ops", "lictor.patch.approved.patch"),
        ("openclaw", "$JS.API.DIRECT.GET.SESSIONS"),
        # What only operators may order, another runtime's decisions, and the logs of all.
        ("openclaw", "lictor.contract.approve"),
        ("openclaw", "lictor.contract.freeze"),
        ("openclaw", "lictor.contract.resume"),
        ("openclaw", "lictor.contract.halt"),
        ("openclaw", "lictor.contract.release"),
        ("openclaw", "lictor.contract.begin.codex"),
        ("openclaw", "lictor.contract.show.codex"),
        ("openclaw", "lictor.gate.action.codex"),
        ("openclaw", "lictor.act.switch"),
        ("openclaw", "lictor.act.task"),
        ("openclaw", "lictor.sched.decision.task"),
        ("openclaw", "lictor.tick.decision.task"),
        ("openclaw", "$JS.API.DIRECT.GET.ACTIONS"),
        ("ops", "lictor.act.switch"),
        ("ops", "lictor.contract.begin.openclaw"),
        ("ops", "lictor.gate.action.openclaw"),
        ("feedback", "lictor.act.switch"),
        ("policy-evaluator", "lictor.act.switch"),
        ("openclaw", "lictor.dead.sealer.DECISIONS.1"),
        ("openclaw", "_INBOX.codex.answer"),
        ("openclaw", "$JS.API.STREAM.DELETE.EVENTS"),
        ("openclaw", "$JS.API.STREAM.PURGE.DECISIONS"),
        ("openclaw", "$JS.API.STREAM.UPDATE.DECISIONS"),
        ("openclaw", "$JS.API.STREAM.CREATE.MINE"),
        ("openclaw", "$JS.API.CONSUMER.CREATE.EVENTS.mine.lictor.ev.>"),
        ("openclaw", "$JS.API.CONSUMER.DURABLE.CREATE.EVENTS.mine"),
        ("openclaw", "$JS.API.DIRECT.GET.EVENTS"),
        # By which services fold what a runtime may read.
        ("openclaw", "$JS.API.CONSUMER.DELETE.DECISIONS.sealer"),
        ("openclaw", "$JS.API.CONSUMER.MSG.NEXT.DECISIONS.sealer"),
        ("openclaw", "$JS.API.CONSUMER.CREATE.DECISIONS.sealer.lictor.dec.>"),
        ("openclaw", "$JS.API.CONSUMER.CREATE.DECISIONS.sealer"),
        ("openclaw", "$JS.API.CONSUMER.DELETE.DECISIONS.policy-evaluator"),
        ("openclaw", "$JS.API.DIRECT.GET.DEAD"),
        ("policy-evaluator", "lictor.ep.report.episode"),
        ("policy-evaluator", "lictor.ev.openclaw.task"),
        ("policy-evaluator", "$JS.API.STREAM.PURGE.EVENTS"),
        ("sealer", "lictor.dec.allow.task"),
        ("sealer", "lictor.ev.openclaw.task"),
        ("feedback", "lictor.dec.allow.task"),
        ("feedback", "lictor.sched.checkpoint.task"),
        ("feedback", "lictor.gated.report.task"),
        ("policy-evaluator", "lictor.dec.allow.guard.task"),
        ("policy-evaluator", "lictor.dec.block.refused.task"),
        ("openclaw", "lictor.dec.block.refused.task"),
        ("policy-evaluator", "lictor.sess.session"),
        ("prover", "lictor.dec.allow.task"),
        # Only the approval service writes what was decided, and only operators bring decisions.
        *(
            (user, f"lictor.appr.{state}.request")
            for user in ("openclaw", "ops", "prover", "sealer")
            for state in ("requested", "approved", "executing")
        ),
        ("approvals", "lictor.appr.executing.request"),
        # Nobody but the runner says what ran, and it does not say what may.
        *(
            (user, "lictor.run.task.request")
            for user in ("openclaw", "ops", "prover", "sealer", "approvals")
        ),
        *(
            ("runner", f"lictor.appr.{state}.request")
            for state in ("requested", "approved", "rejected", "expired")
        ),
        ("runner", "lictor.proof.proved.task"),
        ("runner", "lictor.prog.task"),
        ("openclaw", "$JS.API.CONSUMER.DELETE.APPROVALS.runner"),
        ("openclaw", "$JS.API.CONSUMER.MSG.NEXT.APPROVALS.runner"),
        ("openclaw", "$JS.API.DIRECT.GET.RUNS"),
        ("approvals", "lictor.proof.proved.task"),
        ("approvals", "lictor.prog.task"),
        ("openclaw", "lictor.desk.approval"),
        ("openclaw", "lictor.sched.approval.request"),
        ("openclaw", "lictor.tick.approval.request"),
        ("openclaw", "$JS.API.CONSUMER.DELETE.PROOFS.approvals"),
        ("openclaw", "$JS.API.CONSUMER.MSG.NEXT.PROOFS.approvals"),
        ("openclaw", "$JS.API.STREAM.PURGE.APPROVALS"),
        ("openclaw", "lictor.cert.hash"),
        ("openclaw", "$JS.API.DIRECT.GET.CERTIFICATES"),
        ("sealer", "lictor.cert.hash"),
        ("ops", "lictor.cert.hash"),
        ("prover", "$JS.API.STREAM.PURGE.CERTIFICATES"),
        ("ops", "lictor.dec.allow.task"),
        ("ops", "lictor.ep.report.episode"),
        ("ops", "$JS.API.STREAM.DELETE.DECISIONS"),
    ],
)
async def test_nobody_publishes_what_is_not_theirs(
    secured: Secured, user: str, subject: str
) -> None:
    told = await told_off(secured.url(user), lambda client: client.publish(subject, b"{}"))
    assert f'permissions violation for publish to "{subject}"'.lower() in told


@pytest.mark.parametrize(
    ("user", "subject"),
    [
        ("openclaw", "_INBOX.>"),
        ("openclaw", "_INBOX.codex.>"),
        ("openclaw", "lictor.ev.>"),
        ("openclaw", "lictor.gate.report"),
        ("openclaw", "$JS.ACK.>"),
        ("feedback", "lictor.gate.report"),
        ("sealer", "_INBOX.policy-evaluator.>"),
        ("sealer", "lictor.gate.action.openclaw"),
        ("sealer", "lictor.contract.begin.openclaw"),
        ("sealer", "lictor.desk.patch"),
        ("supervisor", "lictor.desk.erase"),
        ("supervisor", "lictor.desk.correct"),
    ],
)
async def test_nobody_listens_to_what_is_not_theirs(
    secured: Secured, user: str, subject: str
) -> None:
    told = await told_off(secured.url(user), lambda client: client.subscribe(subject))
    assert f'permissions violation for subscription to "{subject}"'.lower() in told


async def test_nobody_comes_in_without_a_name(secured: Secured) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", secured.port)
    assert (await reader.readline()).startswith(b"INFO ")
    writer.write(b"CONNECT {}\r\nPING\r\n")
    async with asyncio.timeout(60):
        assert (await reader.readline()).startswith(b"-ERR 'Authorization Violation'")
    writer.close()
    await writer.wait_closed()


def test_the_shipped_users_are_those_of_the_code() -> None:
    shipped = (ROOT / "deploy/nats/users.conf").read_text("utf-8")
    assert shipped == users_config(["my-runtime"]), (
        "write it anew: python -m lictor_bus.names.roles my-runtime > deploy/nats/users.conf"
    )


def test_compose_gives_the_server_every_password(tmp_path: Path) -> None:
    compose = (ROOT / "docker-compose.yml").read_text("utf-8")
    for role in roles(["my-runtime"]):
        variable = password_variable(role.user)
        assert f"{variable}: ${{{variable}:?" in compose
    (tmp_path / "deploy/nats").mkdir(parents=True)
    for name in ("deploy/make-secrets", "deploy/nats/users.conf"):
        (tmp_path / name).write_bytes((ROOT / name).read_bytes())
    for _ in range(2):
        subprocess.run(["sh", "deploy/make-secrets"], cwd=tmp_path, check=True, capture_output=True)
    secrets = (tmp_path / ".env").read_text("utf-8").splitlines()
    assert [line.partition("=")[0] for line in secrets] == [
        password_variable(role.user) for role in roles(["my-runtime"])
    ]
    assert all(re.fullmatch(r"\w+=p[0-9a-f]{48}", line) for line in secrets)
    assert (tmp_path / ".env").stat().st_mode & 0o077 == 0


@pytest.mark.parametrize(
    "name", ["lictor", "ops", "policy-evaluator", "sealer", "supervisor", "Ops", "policy_evaluator"]
)
def test_no_runtime_may_pass_for_one_of_ours(name: str) -> None:
    with pytest.raises(ReservedName, match="give the runtime another name"):
        roles(["openclaw", name])


def test_no_two_runtimes_share_a_password() -> None:
    with pytest.raises(ReservedName, match="NATS_PASSWORD_MY_RUNTIME"):
        roles(["my-runtime", "my_runtime"])
    assert [role.user for role in roles(["a", "b", "a"])][-2:] == ["a", "b"]
