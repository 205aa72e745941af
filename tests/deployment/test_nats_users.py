"""A NATS account for each runtime and a user for each role, on a real server: everybody can do their work.

That nobody can do another's is tried in `tests/attacks`.
"""

import asyncio
import json
import os
import sys
import uuid
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

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
from lictor_bus.names.roles import roles
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
    "rehearser": "lictor_rehearser",
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
            while not await read_from(ops, "DECISIONS", "lictor.dec.openclaw.*.guard.task", 1, 10):
                await asyncio.sleep(0.05)


async def test_operators_halt_sessions_and_no_runtime_does(secured: Secured) -> None:
    whose = {"runtime": "openclaw", "agent_id": "agent", "task_id": "task", "session_id": "s"}
    stamp = {"requested_at": "2026-01-31T12:00:00Z"}
    async with AsyncExitStack() as running:
        ops = await connect_nats(secured.url("ops"), name="test")
        running.push_async_callback(ops.close)
        for name in ("feedback", "supervisor"):
            service = service_process(f"lictor_{name}", secured.endpoints(name))
            await running.enter_async_context(service)
            await wait_until_ready(ops, name)
        runtime = await connect_nats(secured.url("openclaw"), name="test")
        running.push_async_callback(runtime.close)

        async def ask(client: Client, subject: str, **more: object) -> dict[str, Any]:
            body = json.dumps({"request_id": str(uuid.uuid4()), **more}).encode()
            return json.loads((await client.request(subject, body, timeout=8)).data)

        async def call() -> str:
            call_id = str(uuid.uuid4())
            of_call = {"tool": "Frobnicate", "call_id": call_id, "params": {}}
            gate = "lictor.gate.tool.openclaw"
            return (await ask(runtime, gate, **whose, **stamp, **of_call))["policy_id"]

        assert (await ask(runtime, "lictor.session.begin.openclaw", **whose, **stamp))["ok"]
        assert await call() == "lictor.allowed"
        target = {"scope": "session", "runtime": "openclaw", "session_id": "s"}
        order = {"target": target, "by": "ada", "reason": "looked at"}
        for subject in (subjects.desk("halt"), subjects.HALT_NEWS, subjects.HALTS):
            with pytest.raises(NotAllowed):
                await ask(runtime, subject, **order, order="halted")
        assert await call() == "lictor.allowed"
        done = await ask(ops, subjects.desk("halt"), **order, order="halted")
        assert done["outcome"] == "done", done
        assert await call() == "lictor.halted"
        assert (await ask(ops, subjects.desk("halt"), **order, order="resumed"))["still"] == []
        assert await call() == "lictor.allowed"
        switch: dict[str, object] = {"by": "ada", "reason": "looked at", **stamp}
        engaged = await ask(ops, "lictor.contract.halt", **switch)
        assert (engaged["ok"], "confirmed" in engaged["reason"]) == (True, False)
        assert await call() == "lictor.halted"


async def test_a_program_is_approved_by_an_operator_and_never_by_its_runtime(
    secured: Secured, tmp_path: Path
) -> None:
    layers = {"LICTOR_LAYERS": str(ROOT / "examples/layers")}
    approvers = tmp_path / "approvers.json"
    approvers.write_bytes(TrustStore.of([ALICE.verifying_key]).to_bytes())
    submitted = submission(runtime="openclaw")
    (layer, _) = installed_layers(layers).named(None) or ("", None)
    proved = proof(submitted, layer_hash=layer, runtime="openclaw")

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
        program = Outgoing(subjects.program("openclaw", submitted.task_id), submitted.to_json())
        await publish_one(runtime, "PROGRAMS", program)
        result = Outgoing(subjects.proof("openclaw", "proved", submitted.task_id), proved.to_json())
        await publish_one(prover, "PROOFS", result)
        async with lictor.connect(secured.url("openclaw"), runtime="openclaw") as governor:
            waiting = asyncio.create_task(governor.approval(proved, timeout_s=30))
            async with asyncio.timeout(30):
                while not (found := await read_from(ops, "APPROVALS", "lictor.appr.>", 1, 1)):
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
        await evaluator.request(
            subjects.decision("openclaw", "allow", "task-1"), started.to_json(), timeout=5
        )
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
        await evaluator.request(
            subjects.decision("openclaw", "allow", "task-1"), closed.to_json(), timeout=5
        )
        async with asyncio.timeout(60):
            while not await read_from(ops, "DEAD", "lictor.dead.sealer.DECISIONS.*", 1, 10):
                await asyncio.sleep(0.05)
        of_task = {"runtime": "openclaw", "task_id": "task-1"}
        assert (await ask(ops, "lictor.contract.release", **order))["ok"]
        assert (await ask(ops, "lictor.contract.resume", **order, **of_task))["ok"]
        async with asyncio.timeout(60):
            while not await read_from(ops, "EPISODES", "lictor.ep.*.*.*", 1, 10):
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


async def test_nobody_comes_in_without_a_name(secured: Secured) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", secured.port)
    assert (await reader.readline()).startswith(b"INFO ")
    writer.write(b"CONNECT {}\r\nPING\r\n")
    async with asyncio.timeout(60):
        assert (await reader.readline()).startswith(b"-ERR 'Authorization Violation'")
    writer.close()
    await writer.wait_closed()


@pytest.mark.parametrize(
    "name", ["lictor", "ops", "deploy", "policy-evaluator", "sealer", "Ops", "policy_evaluator"]
)
def test_no_runtime_may_pass_for_one_of_ours(name: str) -> None:
    with pytest.raises(ReservedName, match="give the runtime another name"):
        roles(["openclaw", name])


@pytest.mark.parametrize(("one", "other"), [("my-runtime", "my_runtime"), ("codex", "Codex")])
def test_no_two_runtimes_look_alike(one: str, other: str) -> None:
    with pytest.raises(ReservedName, match="look alike"):
        roles([one, other])


@pytest.mark.parametrize("name", ["a\nb", " ", ""])
def test_a_runtime_has_a_name_that_can_be_read(name: str) -> None:
    with pytest.raises(ReservedName, match="can't be called"):
        roles([name])


def test_a_runtime_that_is_named_twice_has_one_account() -> None:
    assert [role.name for role in roles(["a", "b", "a"]) if role.is_runtime] == ["a", "b"]


@pytest.mark.parametrize(
    "name", ["my runtime", "läufer", 'a"b', "a:b@c/d", "openclaw.2", "x" * 100]
)
async def test_a_runtime_with_any_printable_name_can_report(
    clean_infra: Endpoints, tmp_path: Path, name: str
) -> None:
    async with secured_server(clean_infra, tmp_path, [name]) as secured:
        client = await connect_nats(secured.url(name), name="test")
        answer = await client.request(subjects.event(name, "task"), b"{}", timeout=5)
        assert json.loads(answer.data)["stream"] == "EVENTS"
        await client.close()
