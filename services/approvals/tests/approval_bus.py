"""The approval service on a clean bus, in this process, with an agent, a prover and approvers about it."""

import asyncio
import time
import uuid
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from approval_samples import ALICE, BOB, LAYER, proof, statement, submission
from call_samples import GROUPS, said
from reporting import acknowledged
from running_loops import at_work

from lictor_approval.decision_validity import ApprovalLimits
from lictor_approval.request_life import RequestLife, folded
from lictor_approval.signed_decisions import sign_decision
from lictor_approvals.app import SPEC, ApprovalSettings, approval_loops
from lictor_bus.logs.dead_letters import StoredLetter, list_dead
from lictor_bus.logs.entry_logs import all_entries, approval_log
from lictor_bus.names import streams, subjects
from lictor_bus.service.service import connected
from lictor_bus.service.settings import ServiceSettings
from lictor_bus.service.telemetry import ServiceTelemetry
from lictor_bus.wire.appends import Appends
from lictor_bus.wire.connection import TolerantClient, close_nats, connect_nats
from lictor_bus.wire.publish import Outgoing, publish_one
from lictor_local.embedded_servers import Endpoints
from lictor_schema.approvals.approval import ApprovalDecision, ApprovalEntry, ApprovalOrder
from lictor_schema.approvals.call_approval import CallApprovalRequest
from lictor_schema.proofs.program import ProgramSubmission
from lictor_schema.proofs.proof import ProofResult
from lictor_schema.services.desk_answer import DeskAnswer
from lictor_schema.sessions.session_log import AnySessionEntry
from lictor_seal import SigningKey, TrustStore

PATIENCE_S = 60.0


@dataclass
class Bus:
    """What tests do on the bus."""

    client: TolerantClient
    endpoints: Endpoints
    keys: Path
    layers: list[str] = field(default_factory=lambda: [LAYER])
    apart: timedelta = timedelta()
    """How far the service's clock is from ours."""

    def now(self) -> datetime:
        """The service's clock."""
        return datetime.now(UTC) + self.apart

    def trust(self, *keys: SigningKey) -> Path:
        """A file of approvers that holds just these."""
        path = self.keys / "approvers.json"
        store = TrustStore.of([key.verifying_key for key in keys])
        path.write_bytes(replace(store, groups=GROUPS).to_bytes())
        return path

    @asynccontextmanager
    async def service(self, **limits: timedelta) -> AsyncIterator[None]:
        """The service at work."""
        path = self.keys / "approvers.json"
        settings = ApprovalSettings(
            people=path if path.exists() else self.trust(ALICE, BOB),
            policies=None,
            limits=ApprovalLimits(**limits),
        )
        async with self._running(settings):
            yield

    @asynccontextmanager
    async def _running(self, settings: ApprovalSettings) -> AsyncIterator[None]:
        where = ServiceSettings(
            nats_url=self.endpoints.nats_url, redis_url=self.endpoints.redis_url
        )
        async with connected("approvals", where, ServiceTelemetry("approvals")) as runtime:
            loops = await approval_loops(
                runtime, settings, layers=lambda: self.layers, now=self.now
            )
            async with at_work(*loops):
                yield

    async def submit(self, **fields: Any) -> ProgramSubmission:
        """An agent submits a program."""
        submitted = submission(**fields)
        message = Outgoing(
            subjects.program(submitted.runtime, submitted.task_id), submitted.to_json()
        )
        await publish_one(self.client, streams.PROGRAMS, message)
        return submitted

    async def answer(self, submitted: ProgramSubmission, **fields: Any) -> ProofResult:
        """The prover answers it."""
        result = proof(submitted, **fields)
        subject = subjects.proof(result.runtime, result.verdict.value, result.task_id)
        await publish_one(self.client, streams.PROOFS, Outgoing(subject, result.to_json()))
        return result

    async def prove(self, **fields: Any) -> ProgramSubmission:
        """A program is submitted and proved."""
        submitted = await self.submit(**fields)
        await self.answer(submitted)
        return submitted

    async def entries(self) -> list[ApprovalEntry]:
        """Every change of every request."""
        found = all_entries(
            self.client, streams.APPROVALS, subjects.APPROVAL.any, ApprovalEntry.from_json
        )
        return [entry async for _, entry in found]

    async def lives(self) -> list[RequestLife]:
        """Every request, in the order they were made."""
        entries = await self.entries()
        ids = dict.fromkeys(each.request_id for each in entries)
        lives = [folded(e for e in entries if e.request_id == each) for each in ids]
        return [life for life in lives if life is not None]

    async def states(self) -> list[str]:
        """Where each request stands."""
        return [life.state.value for life in await self.lives()]

    async def until_states(self, *states: str) -> None:
        """Wait until the requests stand so."""
        end = time.monotonic() + PATIENCE_S
        while (found := await self.states()) != list(states):
            if time.monotonic() > end:
                raise AssertionError(f"the requests are {found}, not {list(states)}")
            await asyncio.sleep(0.02)

    async def until_handled(self) -> None:
        """Wait until every proof was taken in."""
        await acknowledged(self.client, streams.PROOFS, "approvals")

    async def until_sessions_handled(self) -> None:
        """Wait until everything that sessions logged was taken in."""
        await acknowledged(self.client, streams.SESSIONS, "approvals")

    async def log(self, entry: AnySessionEntry, subject: str | None = None) -> None:
        """The feedback service logs what changed a session."""
        key = subjects.session_key(entry.runtime, entry.session_id)
        message = Outgoing(subject or subjects.session_log(key), entry.to_json(), entry.entry_id)
        await publish_one(self.client, streams.SESSIONS, message)

    async def say(
        self,
        request: CallApprovalRequest,
        key: SigningKey = ALICE,
        what: str = "approve",
        **changes: Any,
    ) -> DeskAnswer:
        """Somebody decides on a call, by their own clock."""
        changes = {"at": datetime.now(UTC), "nonce": str(uuid.uuid4()), **changes}
        return await self.hand_in(request.request_id, said(request, key, what, **changes))

    def decision(
        self, life: RequestLife, key: SigningKey = ALICE, **changes: Any
    ) -> ApprovalDecision:
        """What somebody says, by their own clock."""
        said = {"at": datetime.now(UTC), "nonce": str(uuid.uuid4()), **changes}
        return statement(life.request, key, **said)

    async def decide(
        self, life: RequestLife, key: SigningKey = ALICE, **changes: Any
    ) -> DeskAnswer:
        """Somebody decides."""
        signed = sign_decision(self.decision(life, key, **changes), key)
        return await self.hand_in(life.request.request_id, signed)

    async def hand_in(self, request_id: str, signed: str) -> DeskAnswer:
        """A signed decision is brought to the desk."""
        order = ApprovalOrder(request_id=request_id, signed=signed)
        asked = await self.client.request(subjects.desk("approval"), order.to_json(), timeout=10)
        return DeskAnswer.from_json(asked.data)

    async def write(self, entry: ApprovalEntry) -> None:
        """An entry of the runner's."""
        found = await approval_log(self.client, entry.request_id)
        subject = subjects.approval(entry.runtime, entry.state.value, entry.request_id)
        await Appends(self.client).append(
            streams.APPROVALS,
            Outgoing(subject, entry.to_json(), entry.entry_id),
            found.last,
            log=found.subjects,
        )

    async def dead(self) -> list[StoredLetter]:
        """What was set aside."""
        return [letter async for letter in list_dead(self.client)]


async def until(condition: Callable[[], bool]) -> None:
    """Wait for something in this process."""
    end = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < end, "it did not happen in time"
        await asyncio.sleep(0.01)


@asynccontextmanager
async def approval_bus(endpoints: Endpoints, keys: Path) -> AsyncIterator[Bus]:
    """A clean bus with the streams of the service."""
    client = await connect_nats(endpoints.nats_url, name="test")
    await streams.declare(client, *SPEC.streams, streams.DEAD)
    try:
        yield Bus(client, endpoints, keys)
    finally:
        await close_nats(client)
