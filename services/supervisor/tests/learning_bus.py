"""What follows drift, patches and claims on a clean bus, in this process, to stop and start at will."""

import asyncio
import uuid
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from running_loops import at_work

from lictor_bus.names import streams, subjects
from lictor_bus.service.service import connected
from lictor_bus.service.settings import ServiceSettings
from lictor_bus.service.telemetry import ServiceTelemetry
from lictor_bus.wire.connection import TolerantClient, close_nats, connect_nats
from lictor_bus.wire.publish import Outgoing, publish_one
from lictor_bus.wire.read import read_from
from lictor_contracts.drift.events import Cause, drift_events
from lictor_local.embedded_servers import Endpoints
from lictor_schema.contracts.drift import (
    DriftEvent,
    DriftSeverity,
    DriftType,
    TriageMove,
    TriageState,
)
from lictor_schema.contracts.patch import PatchEntry, PatchStep
from lictor_schema.services.desk_answer import DeskAnswer
from lictor_seal import TrustStore
from lictor_supervisor import drift_loops

NOW = datetime.now(UTC) - timedelta(hours=1)
PATIENCE_S = 60.0

PACK = """\
apiVersion: lictor/v1
kind: PolicyPack
metadata:
  id: refunds
  title: Refunds
  version: 1.4.0
  summary: How refunds are decided
  severity_default: high
  owner: ops
  applies_to: {runtimes: ["*"]}
  tags: []
spec:
  evaluation_mode: any_rule_match
  rules: []
  envelopes:
    - decisionType: refund
      version: "3"
      deadlineMs: 1000
      stageBudgetsMs: {context: 100, plan: 300, act: 400, verify: 200}
      freshness: {defaultTtlMs: 500, allowStaleIfSafe: true}
      limits: {maxHops: 2, maxFanout: 3, maxToolCalls: 10, maxChainDepth: 4}
      degradeLadder: # in this order
        - {step: rules_only, maxExtraMs: 50}
        - {step: abstain}
        - {step: bypass, approver: duty-officer}
      verification: {requiredAboveBlastRadius: small, methods: [read_after_write]}
      safeAction: {requireIdempotency: true, requireRollbackAbove: small, blastRadiusMax: large}
"""


def sighting(
    episode: str,
    *,
    drift_type: DriftType = DriftType.BYPASS,
    severity: DriftSeverity = DriftSeverity.GREEN,
    decision_type: str = "refund",
    cause: str = "refund dispatched: no contract",
    at: datetime = NOW,
) -> DriftEvent:
    (event,) = drift_events(episode, decision_type, [Cause(drift_type, cause, severity)], at)
    return event


@dataclass
class Bus:
    """What tests publish, ask and look at."""

    client: TolerantClient
    endpoints: Endpoints

    async def see(self, *events: DriftEvent, again: bool = False) -> None:
        """Publish sightings as whoever folds the decision log does."""
        for event in events:
            message_id = str(uuid.uuid4()) if again else event.drift_id
            subject = subjects.sighting(event.fingerprint.key)
            await publish_one(
                self.client, streams.DRIFT, Outgoing(subject, event.to_json(), message_id)
            )

    async def drift(self) -> list[DriftEvent]:
        stored = await read_from(self.client, streams.DRIFT, subjects.DRIFT.any, 1, 1000)
        return [DriftEvent.from_json(each.body) for each in stored]

    async def patches(self, state: str = "*") -> list[PatchEntry]:
        stored = await read_from(self.client, streams.PATCHES, f"lictor.patch.{state}.*", 1, 1000)
        return [PatchEntry.from_json(each.body) for each in stored]

    async def until_drift(self, count: int) -> list[DriftEvent]:
        """Wait until that many events are published."""
        async with asyncio.timeout(PATIENCE_S):
            while len(found := await self.drift()) < count:
                await asyncio.sleep(0.02)
        return found

    async def until_settled(self, count: int) -> None:
        """Wait until the sightings are told of that many settled patches."""
        async with asyncio.timeout(PATIENCE_S):
            while len(await self._settled()) < count:
                await asyncio.sleep(0.02)

    async def _settled(self) -> list[bytes]:
        found = await read_from(self.client, streams.DRIFT, subjects.SETTLEMENT.any, 1, 100)
        return [each.body for each in found]

    async def move(
        self, drift_id: str, to: TriageState, by: str = "ada", request_id: str | None = None
    ) -> DeskAnswer:
        move = TriageMove(
            request_id=request_id or str(uuid.uuid4()), drift_id=drift_id, to=to, by=by
        )
        return await self.ask("triage", move.to_json())

    async def step(self, **fields: object) -> DeskAnswer:
        step = PatchStep.model_validate({"request_id": str(uuid.uuid4()), **fields})
        return await self.ask("patch", step.to_json())

    async def ask(self, name: str, body: bytes) -> DeskAnswer:
        answer = await self.client.request(subjects.desk(name), body, timeout=5)
        return DeskAnswer.from_json(answer.data)


@asynccontextmanager
async def learning_bus(endpoints: Endpoints) -> AsyncIterator[Bus]:
    """A connection, and the streams."""
    client = await connect_nats(endpoints.nats_url, name="test")
    await streams.declare(
        client, *drift_loops.STREAMS, streams.DEAD, streams.EPISODES, streams.DECISIONS
    )
    try:
        yield Bus(client, endpoints)
    finally:
        await close_nats(client)


@asynccontextmanager
async def learning_supervisor(
    endpoints: Endpoints, trust: Callable[[], TrustStore] = lambda: TrustStore.of([])
) -> AsyncIterator[None]:
    """The workers and the desk, running."""
    settings = ServiceSettings(nats_url=endpoints.nats_url, redis_url=endpoints.redis_url)
    async with (
        connected("supervisor", settings, ServiceTelemetry("supervisor")) as runtime,
        at_work(*await drift_loops.learning_loops(runtime, trust)),
    ):
        yield
