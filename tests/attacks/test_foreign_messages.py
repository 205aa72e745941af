"""Foreign messages in every stream, before and between those of ours: the whole story goes on, and every list works."""

import asyncio
import json
import random
import subprocess
import sys
import time
import uuid
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import warm_processes
from foreign_messages import Intruder
from governing_bus import CONTRACT, write_pack
from reporting import service_process, wait_until_ready
from runner_bus import ALICE, policed
from runs_on_disk import Bank, program

import lictor
from lictor.governed_decision import DecisionRefused, GovernedDecision
from lictor.tasks import Task
from lictor_approval.request_life import RequestLife, folded
from lictor_approval.signed_decisions import sign_decision
from lictor_bus.errors import MessageRefused
from lictor_bus.logs.dead_letters import DeadLetters, find_dead, list_dead, replay_dead
from lictor_bus.logs.entry_logs import approval_log
from lictor_bus.names import streams, subjects
from lictor_bus.wire.connection import TolerantClient, connect_nats
from lictor_bus.wire.delivery import Delivery
from lictor_bus.wire.provenance import LOG
from lictor_bus.wire.publish import Outgoing, publish_one
from lictor_local.embedded_servers import Endpoints
from lictor_schema.approvals.approval import ApprovalDecision, ApprovalOrder
from lictor_schema.core.base_model import utc_millis
from lictor_schema.proofs.proof import ProofVerdict
from lictor_seal import TrustStore, verify_bundle

COMMAND = Path(sys.executable).with_name("lictor")
PATIENCE_S = 60.0
SERVICES = (
    *("policy_evaluator", "sealer", "supervisor", "feedback", "rehearser"),
    *("prover", "approvals", "runner"),
)
PAY = program("pay('ada', 5)")
LISTS = (
    ("dead", "list"),
    ("log", "list"),
    ("patch", "list"),
    ("drift", "list"),
    ("claim", "list"),
    ("claim", "cycles"),
    ("session", "list"),
    ("approvals", "list"),
    ("runs", "list"),
    ("decision", "list"),
    ("agent", "list"),
    ("report",),
    ("pack", "stats"),
)


@dataclass(frozen=True)
class Installation:
    """All services on one broker, an intruder, and the command."""

    endpoints: Endpoints
    client: TolerantClient
    governor: lictor.Governor
    intruder: Intruder
    bank: Bank
    folder: Path

    async def cli(self, *arguments: str) -> "subprocess.CompletedProcess[str]":
        """Run a command to its end."""
        environment = {"LICTOR_NATS_URL": self.endpoints.nats_url, "PATH": "/usr/bin:/bin"}
        environment["LICTOR_REDIS_URL"] = self.endpoints.redis_url
        environment["LICTOR_PACKS"] = str(self.folder / "packs")
        return await asyncio.to_thread(
            warm_processes.run,
            [COMMAND, *arguments],
            input="",
            cwd=self.folder,
            env=environment,
            timeout=90,
        )


@asynccontextmanager
async def installation(clean_infra: Endpoints, folder: Path) -> AsyncIterator[Installation]:
    bank = policed(folder)
    (folder / "approvers.json").write_bytes(TrustStore.of([ALICE.verifying_key]).to_bytes())
    environment = {
        "LICTOR_PACKS": str(write_pack(folder / "packs")),
        "LICTOR_SEAL_KEY": str(folder / "seal.pem"),
        "LICTOR_SEAL_KEY_CREATE": "1",
        "LICTOR_LAYERS": str(bank.root),
        "LICTOR_PROOF_WORKERS": "1",
        "LICTOR_APPROVERS": str(folder / "approvers.json"),
    }
    async with AsyncExitStack() as running:
        client = await connect_nats(clean_infra.nats_url, name="test")
        running.push_async_callback(client.close)
        await streams.declare(client, *streams.STREAMS)
        intruder = Intruder(client, random.Random(15))
        # Before there is anything of ours; a stream that holds nothing has no subject to name.
        await intruder.everywhere(3, BEFORE)
        for name in SERVICES:
            await running.enter_async_context(
                service_process(f"lictor_{name}", clean_infra, **environment)
            )
        for name in SERVICES:
            await wait_until_ready(client, name.replace("_", "-"))
        governor = await running.enter_async_context(
            lictor.connect(clean_infra.nats_url, runtime="python", agent_id="agent-7")
        )
        yield Installation(clean_infra, client, governor, intruder, bank, folder)


BEFORE = (
    subjects.LOG_CHECKPOINT,
    subjects.episode("python", "refund", "ep-1"),
    subjects.decision("python", "allow", "story"),
    subjects.guard_decision("python", "block", "story"),
    subjects.config_switch(0),
    subjects.pack_release("stable"),
    subjects.pack_refusal("stable"),
    subjects.pack_bundle("0" * 64),
    subjects.proof("python", "proved", "story"),
    subjects.program("python", "story"),
    subjects.certificate("0" * 64),
    subjects.approval("python", "requested", "r-1"),
    subjects.run_journal("python", "story", "r-1"),
    subjects.contents_part("ep-1", "p-1"),
    subjects.erasures("ep-1"),
    subjects.sighting("0" * 64),
    subjects.settlement("0" * 64),
    subjects.drift("time", "red"),
    subjects.triage("d-1"),
    subjects.patch("proposed", "p-1"),
    subjects.claim("made", "refund"),
    subjects.claim("drift", "refund"),
    subjects.cycle("open", "refund"),
    subjects.tick("decision", "~k"),
    subjects.gated("python", "tool", "story"),
    subjects.gated("python", "action", "story"),
    subjects.session_log(subjects.session_key("python", "s-1")),
    subjects.guidance("python", subjects.session_key("python", "s-1")),
    subjects.definition("helper"),
    subjects.decision_log(subjects.decision_key("python", "story")),
    subjects.decision_log(subjects.SWITCH_KEY),
    subjects.receipt("python", "applied", "story", "rec-1"),
    subjects.mark("story", "rec-1"),
    subjects.dead_letter("sealer", "DECISIONS", 1),
    subjects.dead_letter("policy-evaluator", "EVENTS", 1),
)


async def until(happened: Callable[[], "asyncio.Future[object] | object"], what: str) -> object:
    end = time.monotonic() + PATIENCE_S
    while True:
        found = happened()
        if asyncio.iscoroutine(found):
            found = await found
        if found:
            return found
        assert time.monotonic() < end, what
        await asyncio.sleep(0.05)


async def run_a_program(here: Installation) -> None:
    """Proved, approved by a signature, and run, with foreign messages in between."""
    (proved,) = await here.governor.prove(PAY, task_id="paying")
    assert proved.verdict is ProofVerdict.PROVED, proved.reasons
    await here.intruder.everywhere()

    async def request(*states: str) -> RequestLife | None:
        listed = await here.client.jetstream().stream_info(
            streams.APPROVALS, subjects_filter=subjects.APPROVAL.where(state="requested")
        )
        for subject in listed.state.subjects or {}:
            log = await approval_log(here.client, subject.rpartition(".")[2])
            life = folded(entry for _, entry in log.entries)
            if life is not None and life.state.value in states:
                return life
        return None

    life = await until(lambda: request("requested"), "nobody was asked")
    assert isinstance(life, RequestLife)
    now = datetime.now(UTC)
    decision = ApprovalDecision(
        request_id=life.request.request_id,
        binding_hash=life.request.binding_hash,
        decision="approve",
        by=ALICE.name,
        decided_at=utc_millis(now),
        expires_at=utc_millis(now + timedelta(minutes=5)),
        nonce=str(uuid.uuid4()),
    )
    # The journal of the run, before it begins.
    await here.intruder.put(subjects.run_journal("python", "paying", life.request.request_id))
    order = ApprovalOrder(request_id=life.request.request_id, signed=sign_decision(decision, ALICE))
    asked = await here.client.request(subjects.desk("approval"), order.to_json(), timeout=30)
    assert json.loads(asked.data)["outcome"] == "done", asked.data
    await here.intruder.everywhere()
    await until(lambda: request("executed"), "the program did not run to its end")
    assert here.bank.done() == [["pay", "ada", 5]]


async def begin(begun: AsyncExitStack, task: Task) -> GovernedDecision:
    """Begin the decision; a gate that had too little time on a busy machine is asked again."""
    end = time.monotonic() + PATIENCE_S
    while True:
        try:
            return await begun.enter_async_context(task.decision())
        except DecisionRefused:
            if time.monotonic() > end:
                raise


async def govern_a_decision(here: Installation, number: int) -> bytes:
    """A task with a decision, to its seal."""
    task = await here.governor.start_task(f"Refund order o-{number}", decision_type="refund")
    await here.intruder.everywhere()
    # On a busy machine the gate would not wait long enough for the decision on the start.
    async with aclosing(here.governor.decisions(task.task_id, since_start=True)) as decisions:
        await anext(decisions)
    status = {"status": "open"}

    async def refund() -> None:
        status["status"] = "refunded"

    async def read_back() -> dict[str, str]:
        return status

    async with AsyncExitStack() as begun:
        decision = await begin(begun, task)
        async with decision.stage("context"):
            await decision.capture("balance")
        await decision.count(hops=0, fanout=0, tool_calls=1, chain_depth=1)
        await here.intruder.everywhere()
        async with decision.stage("act"):
            await decision.carry_out({**CONTRACT, "blastRadiusTier": "medium"}, refund)
        async with decision.stage("verify"):
            await decision.verify("a-1", expected={"status": "refunded"}, observed=read_back)
    await here.intruder.everywhere()
    await task.claim_complete("the order is refunded")
    return await task.sealed()


async def test_the_whole_story_goes_on_among_foreign_messages(
    clean_infra: Endpoints, tmp_path: Path
) -> None:
    async with installation(clean_infra, tmp_path) as here:
        first = await govern_a_decision(here, 1)
        await run_a_program(here)
        claimed = await here.cli(
            "claim", "add", "c-1", "refunds are quick", "--subject", "refund", "--by", "ada"
        )
        assert claimed.returncode == 0, claimed
        await here.intruder.everywhere()
        second = await govern_a_decision(here, 2)
        trust = tmp_path / "trust.json"
        for bundle in (first, second):
            assert verify_bundle(bundle, TrustStore.load(trust)).ok

        for command in LISTS:
            listed = await here.cli(*command)
            assert listed.returncode == 0, (command, listed.stdout, listed.stderr)
            assert "Traceback" not in listed.stderr, command
        assert "c-1" in (await here.cli("claim", "list")).stdout
        assert "executed" in (await here.cli("runs", "list")).stdout
        verified = await here.cli("log", "verify", "--trust", str(trust))
        assert verified.returncode == 0, verified.stdout
        assert "foreign messages" in verified.stdout
        exported = await here.cli("log", "export", "exported", "--trust", str(trust))
        assert exported.returncode == 0, exported
        verified = await here.cli("log", "verify", "exported", "--trust", str(trust))
        assert verified.returncode == 0, verified.stdout
        for name in SERVICES:
            await wait_until_ready(here.client, name.replace("_", "-"))
        told = await here.client.request(subjects.health("sealer"), b"", timeout=5)
        assert "foreign messages passed over" in json.loads(told.data)["detail"]


async def test_a_dead_letter_is_neither_hidden_nor_replaced(clean_infra: Endpoints) -> None:
    client = await connect_nats(clean_infra.nats_url, name="test")
    await streams.declare(client, streams.DEAD, streams.EVENTS)
    subject = subjects.dead_letter("sealer", "DECISIONS", 7)
    await client.jetstream().publish(subject, b"mine now")
    letter = Delivery("lictor.dec.python.allow.t", b"the message", {}, 7, time.time_ns())
    dead = DeadLetters(client, "sealer")
    for _ in range(3):
        await dead.store(
            streams.DECISIONS, letter, MessageRefused("unreadable", remedy="look at it")
        )
    foreign, own = [each async for each in list_dead(client)]
    assert (foreign.is_readable, foreign.body) == (False, b"mine now")
    assert (own.is_readable, own.body, own.letter.sequence) == (True, b"the message", 7)
    # The next stream under the same numbers has a letter of its own.
    another = letter._replace(body=b"another", stored_at_ns=time.time_ns())
    await dead.store(streams.DECISIONS, another, MessageRefused("too", remedy="look at it"))
    assert [each.body async for each in list_dead(client)][2:] == [b"another"]
    with pytest.raises(Exception, match="no dead letter"):
        await replay_dead(client, await find_dead(client, foreign.sequence))
    await client.close()


async def test_a_copy_of_an_entry_does_not_keep_the_entry_of_its_id_out(
    clean_infra: Endpoints,
) -> None:
    client = await connect_nats(clean_infra.nats_url, name="test")
    await streams.declare(client, streams.CERPA)
    own = Outgoing(subjects.claim("patch", "refund"), b"{}", "e-1")
    copied = {"Nats-Msg-Id": "e-1", LOG: subjects.patch("proposed", "p-1")}
    await client.jetstream().publish(subjects.claim("made", "x"), b"{}", headers=copied)
    assert await publish_one(client, streams.CERPA, own) == 2
    await client.close()
