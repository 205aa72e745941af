"""What governs and seals decisions on a clean bus, in this process, and a runtime that asks it."""

import asyncio
import json
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from nats.aio.client import Client
from running_loops import at_work

from lictor_bus.logs.allowed_calls import SeenCalls
from lictor_bus.logs.dead_letters import DeadLetters
from lictor_bus.logs.decision_log import DecisionLog
from lictor_bus.logs.governed_decisions import Decisions
from lictor_bus.logs.packs import publish_switch, store_bundle
from lictor_bus.names import streams, subjects
from lictor_bus.service.service import Runnable, ServiceRuntime, connected
from lictor_bus.service.settings import ServiceSettings
from lictor_bus.service.telemetry import ServiceTelemetry
from lictor_bus.wire.connection import close_nats, connect_nats
from lictor_bus.wire.publish import Outgoing, publish_one
from lictor_bus.wire.read import read_from
from lictor_local.embedded_servers import Endpoints
from lictor_policy.packs.bundle import Bundled, read_bundle
from lictor_policy.version import ENGINE_VERSION
from lictor_schema.contracts.decision_log import AnyDecisionEntry, parse_decision_entry
from lictor_schema.contracts.drift import DriftEvent
from lictor_schema.core.canonical_json import canonical_json, content_hash
from lictor_schema.core.ids import decision_id
from lictor_schema.decisions.decision import NO_RULE_MATCHED, DecisionRecord, PackStamp
from lictor_schema.packs.release import ConfigSwitch, PackBundle
from lictor_schema.seals.seal import SealedEpisode
from lictor_seal import SealBundle, SigningKey, TrustStore, verify_bundle
from lictor_sealer.episode import gathering
from lictor_sealer.episode.decision_closing import FOLDS, Closings
from lictor_sealer.episode.resumed import sealing_loops
from lictor_sealer.episode.sealing import SealingOutbox
from lictor_sealer.log.stream import EpisodeLog
from lictor_supervisor import decision_loops

KEY = SigningKey.from_seed("lictor.test/log", bytes(32))
TRUST = TrustStore.of([KEY.verifying_key])
HASH = "sha256:" + "0" * 64
RESULT = "sha256:" + "1" * 64
PATIENCE_S = 60.0
SPREAD = {"hops": 0, "fanout": 1, "tool_calls": 1, "chain_depth": 1}

ENVELOPE: dict[str, Any] = {
    "decisionType": "refund",
    "version": "3",
    "deadlineMs": 60_000,
    "stageBudgetsMs": {"context": 10_000, "plan": 20_000, "act": 20_000, "verify": 10_000},
    "freshness": {"defaultTtlMs": 30_000, "featureTtls": {"balance": 30_000}},
    "limits": {"maxHops": 2, "maxFanout": 3, "maxToolCalls": 10, "maxChainDepth": 4},
    "degradeLadder": [
        {"step": "cache_bundle", "maxExtraMs": 50},
        {"step": "hitl"},
        {"step": "bypass", "approver": "duty-officer"},
        {"step": "abstain"},
    ],
    "verification": {
        "requiredAboveBlastRadius": "small",
        "methods": ["read_after_write", "invariant_check"],
        "verifyTimeoutMs": 5000,
    },
    "safeAction": {
        "requireIdempotency": True,
        "requireRollbackAbove": "small",
        "blastRadiusMax": "large",
    },
}

CONTRACT: dict[str, Any] = {
    "actionId": "a-1",
    "actionType": "refund",
    "blastRadiusTier": "small",
    "targetRefs": [{"type": "order", "id": "o-1"}],
    "constraints": {},
    "authorization": {"mode": "auto"},
    "idempotencyKey": "k-1",
    "rollbackPlan": {"type": "compensate"},
}


def pack_data(
    pack_id: str = "refunds", pack_version: str = "1.4.0", **changes: Any
) -> dict[str, Any]:
    """A pack with the envelope of these tests; some fields of it, at the wire's names, changed."""
    return {
        "apiVersion": "lictor/v1",
        "kind": "PolicyPack",
        "metadata": {
            "id": pack_id,
            "title": "Refunds",
            "version": pack_version,
            "summary": "How refunds are decided",
            "severity_default": "high",
            "owner": "ops",
            "applies_to": {"runtimes": ["*"]},
            "tags": [],
        },
        "spec": {
            "evaluation_mode": "any_rule_match",
            "rules": [],
            "envelopes": [{**ENVELOPE, **changes}],
        },
    }


PACK = PackStamp(pack_id="refunds", pack_version="1.4.0", pack_hash=content_hash(pack_data()))


def write_pack(folder: Path, pack_id: str = "refunds", **changes: Any) -> Path:
    """Such a pack in its folder; YAML takes JSON."""
    (folder / pack_id).mkdir(parents=True, exist_ok=True)
    (folder / pack_id / "policy.yaml").write_text(json.dumps(pack_data(pack_id, **changes)))
    return folder


def bundle_of(**changes: Any) -> Bundled:
    """A bundle of such a pack alone."""
    files = {"refunds/policy.yaml": json.dumps(pack_data(**changes))}
    return read_bundle(canonical_json(PackBundle(files=files).model_dump(mode="json")))


async def put_in_force(client: Client, bundled: Bundled | None = None) -> None:
    """Switch every partition to a bundle, as an evaluator that has taken it does."""
    chosen = bundled or bundle_of()
    await streams.declare(client, streams.EVENTS, streams.PACKS)
    await store_bundle(client, chosen.body)
    switch = ConfigSwitch(
        bundle_hash=chosen.bundle_hash,
        config_hash=chosen.config.config_hash,
        engine=ENGINE_VERSION,
        why="a test",
    )
    for partition in range(streams.DEFAULT_PARTITIONS):
        await publish_switch(client, partition, switch)


def record(
    task: str,
    event_id: str,
    *,
    closes: bool = False,
    runtime: str = "rt",
    decision_type: str = "refund",
    at: datetime | None = None,
    status: str = "completed",
    event_type: str | None = None,
    disposition: str = "allow",
    session_id: str | None = None,
) -> DecisionRecord:
    """A decision record, as the evaluator writes it."""
    moment = (at or datetime.now(UTC)).isoformat(timespec="milliseconds")[:-6] + "Z"
    value = {
        "record_id": decision_id(task, runtime, event_id, HASH, NO_RULE_MATCHED),
        "recorded_at": moment,
        "runtime": runtime,
        "task_id": task,
        "agent_id": "agent",
        "correlation_id": "flow",
        "event_id": event_id,
        "session_id": session_id,
        "event_type": event_type or ("task_claimed_complete" if closes else "task_started"),
        "event_timestamp": moment,
        "event_sequence": 1,
        "event_sha256": HASH,
        "trigger_event_ids": [event_id],
        "decision": {
            "decision": disposition,
            "policy_id": NO_RULE_MATCHED,
            "severity": "info",
            "reason": "no rule matched this event",
            "rewritten_message": None,
            "suggested_status": None,
            "required_actions": [],
            "operator_notice": None,
        },
        "matched_rules": [],
        "config_hash": HASH,
        "decision_type": decision_type,
        "evidence": {},
        "receipt": {
            "status": "planned",
            "delivery_state": "prepared",
            "operator_notice_required": False,
        },
        "task_closed": closes,
        "episode": {
            "title": "Work",
            "started_at": moment,
            "packs": [],
            "final_status": status,
        }
        if closes
        else None,
    }
    return DecisionRecord.from_json(canonical_json(value))


@dataclass
class Asker:
    """A runtime with one task, and an operator; answers are JSON values."""

    client: Client
    task: str = "task-1"
    runtime: str = "rt"

    def of(self, task: str) -> "Asker":
        return Asker(self.client, task, self.runtime)

    @property
    def key(self) -> str:
        return subjects.decision_key(self.runtime, self.task)

    def question(self, **fields: Any) -> dict[str, Any]:
        return {
            "request_id": uuid.uuid4().hex,
            "runtime": self.runtime,
            "agent_id": "agent",
            "task_id": self.task,
            "requested_at": datetime.now(UTC).isoformat(),
            **fields,
        }

    async def raw(self, subject: str, body: bytes, timeout_s: float = 5) -> dict[str, Any]:
        return json.loads((await self.client.request(subject, body, timeout=timeout_s)).data)

    async def ask(self, operation: str, **fields: Any) -> dict[str, Any]:
        group = "gate" if operation == "action" else "contract"
        subject = f"lictor.{group}.{operation}.{subjects.token(self.runtime)}"
        return await self.raw(subject, json.dumps(self.question(**fields)).encode())

    async def order(self, operation: str, by: str = "ada", **fields: Any) -> dict[str, Any]:
        body = {
            "request_id": uuid.uuid4().hex,
            "by": by,
            "reason": "looked at",
            "requested_at": datetime.now(UTC).isoformat(),
            **fields,
        }
        if operation not in ("halt", "release"):
            body = {"runtime": self.runtime, "task_id": self.task, **body}
        return await self.raw(subjects.contract_order(operation), json.dumps(body).encode())

    async def decided(self, each: DecisionRecord) -> int | None:
        subject = subjects.decision(each.runtime, each.decision.decision.value, each.task_id)
        message = Outgoing(subject, each.to_json(), each.record_id)
        return await publish_one(self.client, streams.DECISIONS, message)

    async def start(self, **changes: Any) -> None:
        await self.decided(
            record(self.task, f"{self.task}-started", runtime=self.runtime, **changes)
        )

    async def close(self, **changes: Any) -> None:
        await self.decided(record(self.task, f"{self.task}-done", closes=True, **changes))

    async def begin(self) -> dict[str, Any]:
        await self.start()
        answer = await self.ask("begin")
        assert answer["ok"], answer
        return answer

    async def ready(self) -> "Asker":
        """Begun, with all that an action needs."""
        await self.begin()
        assert (await self.capture("balance"))["ok"]
        assert (await self.report("spread_counted", **SPREAD))["ok"]
        return self

    async def report(self, what: str, **fields: Any) -> dict[str, Any]:
        return await self.ask("report", report={"what": what, **fields})

    async def capture(self, feature: str, age_ms: int = 0, **more: Any) -> dict[str, Any]:
        moment = datetime.now(UTC) - timedelta(milliseconds=age_ms)
        fields = {"feature": feature, "captured_at": moment.isoformat(), **more}
        return await self.report("context_captured", **fields)

    async def act(self, request_id: str | None = None, **changes: Any) -> dict[str, Any]:
        more = {} if request_id is None else {"request_id": request_id}
        return await self.ask("action", contract={**CONTRACT, **changes}, **more)

    async def dispatched(self, action_id: str = "a-1", **more: Any) -> dict[str, Any]:
        fields = {"action_id": action_id, "action_type": "refund", **more}
        return await self.report("action_dispatched", **fields)

    async def finished(self, action_id: str = "a-1", **more: Any) -> dict[str, Any]:
        fields = {"action_id": action_id, "outcome": "success", "result_hash": RESULT, **more}
        return await self.report("action_finished", **fields)

    async def entries(self) -> list[AnyDecisionEntry]:
        """The decision's log."""
        subject = subjects.decision_log(self.key)
        found = await read_from(self.client, streams.ACTIONS, subject, 1, 1000)
        return [parse_decision_entry(each.body) for each in found]

    async def kinds(self) -> list[str]:
        return [entry.kind for entry in await self.entries()]

    async def until(self, kind: str) -> None:
        """Wait until the log has an entry of a kind."""
        async with asyncio.timeout(PATIENCE_S):
            while kind not in await self.kinds():
                await asyncio.sleep(0.02)

    async def sealed(self) -> list[SealedEpisode]:
        """The episodes of the task, each verified."""
        stored = await read_from(self.client, streams.EPISODES, subjects.EPISODE.any, 1, 1000)
        assert all(verify_bundle(each.body, TRUST).ok for each in stored)
        found = [SealBundle.from_bytes(each.body).sealed_episode for each in stored]
        episodes = [SealedEpisode.from_json(canonical_json(each)) for each in found]
        return [each for each in episodes if each.task_id == self.task]

    async def until_sealed(self) -> SealedEpisode:
        async with asyncio.timeout(PATIENCE_S):
            while not (found := await self.sealed()):
                await asyncio.sleep(0.02)
        return found[0]

    async def sightings(self) -> list[DriftEvent]:
        found = await read_from(self.client, streams.DRIFT, subjects.SIGHTING.any, 1, 1000)
        return [DriftEvent.from_json(each.body) for each in found]

    async def until_sighted(self, drift_type: str, cause: str) -> DriftEvent:
        """Wait until a cause is published."""
        async with asyncio.timeout(PATIENCE_S):
            while True:
                for event in await self.sightings():
                    if (event.drift_type, event.cause) == (drift_type, cause):
                        return event
                await asyncio.sleep(0.02)


@asynccontextmanager
async def governing_bus(endpoints: Endpoints) -> AsyncIterator[Asker]:
    """A connection, and the streams."""
    client = await connect_nats(endpoints.nats_url, name="test")
    names = (streams.DECISIONS, streams.EPISODES, streams.DRIFT, streams.DEAD)
    await streams.declare(client, *names, *decision_loops.STREAMS, *gathering.STREAMS)
    await put_in_force(client)
    try:
        yield Asker(client)
    finally:
        await close_nats(client)


@asynccontextmanager
async def _running(
    service: str,
    endpoints: Endpoints,
    loops_of: Callable[[ServiceRuntime], Awaitable[Sequence[Runnable]]],
) -> AsyncIterator[None]:
    """Loops as a service runs them, until the block ends."""
    settings = ServiceSettings(nats_url=endpoints.nats_url, redis_url=endpoints.redis_url)
    async with (
        connected(service, settings, ServiceTelemetry(service)) as runtime,
        at_work(*await loops_of(runtime)),
    ):
        yield


@asynccontextmanager
async def supervising(endpoints: Endpoints, bundled: Bundled | None = None) -> AsyncIterator[None]:
    """Answers, ticks and sightings; with a bundle, that is put in force first."""
    if bundled is not None:
        client = await connect_nats(endpoints.nats_url, name="packs")
        await put_in_force(client, bundled)
        await close_nats(client)
    async with _running("supervisor", endpoints, decision_loops.governing_loops):
        yield


@asynccontextmanager
async def sealing(endpoints: Endpoints) -> AsyncIterator[None]:
    """What seals."""

    async def loops(runtime: ServiceRuntime) -> Sequence[Runnable]:
        client = runtime.client
        closings = Closings(Decisions(DecisionLog(client), FOLDS), SeenCalls(client))
        dead = DeadLetters(client, runtime.service)
        outbox = SealingOutbox(client, EpisodeLog(client, KEY), dead, closings=closings)
        return sealing_loops(runtime, outbox)

    async with _running("sealer", endpoints, loops):
        yield


@asynccontextmanager
async def governing_services(
    endpoints: Endpoints, bundled: Bundled | None = None
) -> AsyncIterator[None]:
    """Both."""
    async with supervising(endpoints, bundled), sealing(endpoints):
        yield
