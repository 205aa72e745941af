"""A clean bus with an agent, a prover and an approver about the runner: they are this process, the broker is real."""

import asyncio
import time
import uuid
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from reporting import service_process, wait_until_ready
from runs_on_disk import Bank

from lictor_approval.decision_validity import ApprovalLimits as ApprovalLimits
from lictor_approval.decision_validity import decided, requested
from lictor_approval.request_binding import asked
from lictor_approval.request_life import RequestLife, folded
from lictor_approval.signed_decisions import Approvers, sign_decision
from lictor_bus.logs.entry_logs import approval_log
from lictor_bus.names import streams, subjects
from lictor_bus.wire.appends import Appends
from lictor_bus.wire.connection import TolerantClient, close_nats, connect_nats
from lictor_bus.wire.delivery import Delivery
from lictor_bus.wire.publish import Outgoing, publish_one
from lictor_bus.wire.read import read_from
from lictor_local.embedded_servers import Endpoints
from lictor_prove.layers import discover_trusted_roots, load_layer
from lictor_prove.layers.installed import InstalledLayers, installed_layers
from lictor_prove.proof.prover import prove
from lictor_prove.proof.result import Proof
from lictor_prover.proof_results import answer
from lictor_run.run_limits import RunLimits
from lictor_runner.app import SPEC
from lictor_runner.run_journal import JOURNALS
from lictor_runner.runner import Runner, Surroundings
from lictor_schema.approvals.approval import ApprovalDecision, ApprovalEntry
from lictor_schema.approvals.run import AnyRunEntry
from lictor_schema.core.base_model import utc_millis
from lictor_schema.proofs.program import ProgramSubmission
from lictor_seal import SigningKey, TrustStore

PATIENCE_S = 60.0
TASK = "task-1"
POLICY = """
from lictor_layer import domain_policy

POLICY = domain_policy(when_used="pay", label="bank")
"""
ALICE = SigningKey.generate("alice")
MALLORY = SigningKey.generate("mallory")


def policed(base: Path) -> Bank:
    """The bank's layer, with a policy: proofs tell their coverage."""
    bank = Bank.at(base)
    (bank.module.parent / "policy.py").write_text(POLICY)
    return bank


@dataclass
class Bus:
    """What tests do on the bus."""

    client: TolerantClient
    endpoints: Endpoints
    bank: Bank
    keys: Path
    limits: RunLimits = field(default_factory=lambda: RunLimits(wall_s=20.0, cpu_s=10))
    apart: timedelta = timedelta()

    def now(self) -> datetime:
        """The runner's clock."""
        return datetime.now(UTC) + self.apart

    def installed_layers(self) -> InstalledLayers:
        """The layers as their files are now."""
        return installed_layers({"LICTOR_LAYERS": str(self.bank.root)})

    def approvers(self) -> Approvers:
        return Approvers.load(self.keys, None)

    def runner(self, **changes: Any) -> Runner:
        """A runner in this process."""
        given: dict[str, Any] = {
            "approvers": self.approvers,
            "installed_layers": self.installed_layers,
            "limits": self.limits,
            "environment": {},
            "certificate_level": "c",
            "now": self.now,
        }
        return Runner(self.client, "runner@test", Surroundings(**{**given, **changes}))

    @asynccontextmanager
    async def process(self) -> AsyncIterator[asyncio.subprocess.Process]:
        """A runner as a process."""
        async with service_process(
            "lictor_runner",
            self.endpoints,
            LICTOR_LAYERS=str(self.bank.root),
            LICTOR_APPROVERS=str(self.keys),
            LICTOR_RUN_TIMEOUT_S="20",
        ) as running:
            await wait_until_ready(self.client, "runner")
            yield running

    async def submit(self, source: str, **fields: Any) -> tuple[int, ProgramSubmission]:
        """An agent submits a program; its place, and what was submitted."""
        given: dict[str, Any] = {
            "submission_id": str(uuid.uuid4()),
            "task_id": TASK,
            "agent_id": "agent-1",
            "correlation_id": "c-1",
            "submitted_at": datetime.now(UTC),
            "language": "python",
            "source_name": "program.py",
            "program": source,
        }
        submission = ProgramSubmission(**{**given, **fields})
        message = Outgoing(
            subjects.program(submission.runtime, submission.task_id), submission.to_json()
        )
        place = await publish_one(self.client, streams.PROGRAMS, message)
        assert place is not None
        return place, submission

    async def request(
        self, source: str, certify: Callable[[Proof], Proof] = lambda proof: proof, **fields: Any
    ) -> RequestLife:
        """A program is submitted, proved (without a certificate, unless one is made), and asked about."""
        place, submission = await self.submit(source, **fields)
        layer = load_layer(discover_trusted_roots([self.bank.root]), [self.bank.root])
        proof = prove(source, name=submission.source_name, layer=layer, target=submission.target)
        result = answer(submission, certify(proof), datetime.now(UTC))
        assert result.verdict == "proved", result.reasons
        message = Outgoing(
            subjects.proof(result.runtime, "proved", result.task_id), result.to_json()
        )
        proved = await publish_one(self.client, streams.PROOFS, message)
        assert proved is not None
        made = asked(
            submission, place, result, proved, at=datetime.now(UTC), within=timedelta(hours=1)
        )
        await self.write(requested(made))
        return await self.life(made.request_id)

    async def approve(self, life: RequestLife, key: SigningKey = ALICE, **changes: Any) -> Delivery:
        """Somebody approves; the message that the runner gets."""
        now = datetime.now(UTC)
        said: dict[str, Any] = {
            "request_id": life.request.request_id,
            "binding_hash": life.request.binding_hash,
            "decision": "approve",
            "by": key.name,
            "decided_at": utc_millis(now),
            "expires_at": utc_millis(now + timedelta(minutes=10)),
            "nonce": str(uuid.uuid4()),
        }
        signed = sign_decision(ApprovalDecision(**{**said, **changes}), key)
        known = TrustStore.of([key.verifying_key])
        trusting = Approvers(policies=known) if "automatic" in changes else Approvers(known)
        entry = decided(life, signed, trusting, now, ApprovalLimits())
        return await self.stored(entry)

    async def stored(self, entry: ApprovalEntry) -> Delivery:
        """Write an entry, and read it as it is delivered."""
        place = await self.write(entry)
        subject = subjects.approval(entry.runtime, entry.state.value, entry.request_id)
        (found,) = await read_from(self.client, streams.APPROVALS, subject, place, 1)
        return found

    async def approved(self, source: str, **fields: Any) -> tuple[str, Delivery]:
        """A program is submitted, proved and approved."""
        life = await self.request(source, **fields)
        return life.request.request_id, await self.approve(life)

    async def write(self, entry: ApprovalEntry) -> int:
        found = await approval_log(self.client, entry.request_id)
        subject = subjects.approval(entry.runtime, entry.state.value, entry.request_id)
        return await Appends(self.client).append(
            streams.APPROVALS,
            Outgoing(subject, entry.to_json(), entry.entry_id),
            found.last,
            log=found.subjects,
        )

    async def life(self, request_id: str) -> RequestLife:
        found = await approval_log(self.client, request_id)
        life = folded(entry for _, entry in found.entries)
        assert life is not None
        return life

    async def journal(self, request_id: str) -> list[AnyRunEntry]:
        log = JOURNALS.log(self.client, subjects.run_journal(None, TASK, request_id))
        return list((await log.read()).state)

    async def kinds(self, request_id: str) -> list[str]:
        return [entry.kind for entry in await self.journal(request_id)]

    async def until_state(self, request_id: str, *states: str) -> RequestLife:
        """Wait until the request stands so."""
        end = time.monotonic() + PATIENCE_S
        while (life := await self.life(request_id)).state.value not in states:
            assert time.monotonic() < end, f"the request is {life.state}, not {states}"
            await asyncio.sleep(0.02)
        return life

    async def until_journal(self, request_id: str, kind: str, count: int = 1) -> None:
        """Wait until the journal has that many entries of a kind."""
        end = time.monotonic() + PATIENCE_S
        while (await self.kinds(request_id)).count(kind) < count:
            assert time.monotonic() < end, f"{kind} does not come"
            await asyncio.sleep(0.02)


@asynccontextmanager
async def runner_bus(endpoints: Endpoints, base: Path) -> AsyncIterator[Bus]:
    """The streams of the runner, and nobody at work on them."""
    client = await connect_nats(endpoints.nats_url, name="test")
    await streams.declare(client, *SPEC.streams, streams.DEAD)
    keys = base / "approvers.json"
    keys.write_bytes(TrustStore.of([ALICE.verifying_key]).to_bytes())
    try:
        yield Bus(client, endpoints, policed(base), keys)
    finally:
        await close_nats(client)
