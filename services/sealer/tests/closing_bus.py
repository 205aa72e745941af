"""Records of a task on a real bus, and a sealer to bring its closings to."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from running_loops import at_work, connection

from lictor.history.episode_bundle import bundle_lines
from lictor_bus.fold.processor import Sourced
from lictor_bus.gates.gate_runner import BoundGate, GateRunner
from lictor_bus.logs.dead_letters import DeadLetters, list_dead
from lictor_bus.names import streams, subjects
from lictor_bus.service.telemetry import ServiceTelemetry
from lictor_bus.wire.connection import connect_nats
from lictor_bus.wire.publish import Outgoing, publish_one
from lictor_bus.wire.read import read_from
from lictor_local.embedded_servers import Endpoints
from lictor_schema.core.canonical_json import canonical_json
from lictor_schema.core.ids import decision_id
from lictor_schema.decisions.decision import DecisionRecord
from lictor_schema.seals.seal import SealedEpisode
from lictor_seal import Entry, Message, SealBundle, SigningKey, TrustStore, verify_bundle
from lictor_sealer.episode import gathering
from lictor_sealer.episode.sealing import ClosedTask, SealingOutbox
from lictor_sealer.log.stream import EpisodeLog

KEY = SigningKey.from_seed("lictor.test/log", bytes(32))
HASH = "sha256:" + "0" * 64
MOMENT = "2026-01-01T00:00:00.000Z"
TASK = "task"
ERASED = b"erased"


def record(
    event_id: str,
    *,
    closes: bool = False,
    opens: bool = False,
    missing: tuple[str, ...] = (),
    session: str | None = None,
    task: str = TASK,
) -> DecisionRecord:
    value = {
        "record_id": decision_id(task, "bench", event_id, HASH, "no_rule_matched"),
        "recorded_at": MOMENT,
        "runtime": "test",
        "task_id": task,
        "agent_id": "agent",
        "correlation_id": "flow",
        "session_id": session,
        "event_id": event_id,
        "event_type": "task_claimed_complete" if closes else "task_status_changed",
        "event_timestamp": MOMENT,
        "event_sequence": 1,
        "event_sha256": HASH,
        "trigger_event_ids": [event_id],
        "decision": {
            "decision": "allow",
            "policy_id": "no_rule_matched",
            "severity": "info",
            "reason": "no rule matched this event",
            "rewritten_message": None,
            "suggested_status": None,
            "required_actions": [],
            "operator_notice": None,
        },
        "matched_rules": [],
        "config_hash": HASH,
        "decision_type": "report",
        "evidence": {"missing": missing},
        "receipt": {
            "status": "planned",
            "delivery_state": "prepared",
            "operator_notice_required": False,
        },
        "task_closed": closes,
        "episode": {
            "title": "Work",
            "started_at": MOMENT,
            "packs": [],
            "profiles": [{"profile_id": "solo", "profile_hash": HASH}],
            "final_status": "completed" if closes else None,
        }
        if closes or opens
        else None,
    }
    return DecisionRecord.from_json(canonical_json(value))


class Log:
    """A log on a clean bus, and closings to bring to it."""

    def __init__(self, client) -> None:
        self.client = client

    async def decide(self, *records: DecisionRecord) -> None:
        for each in records:
            out = Outgoing(subjects.decision(each.runtime, "allow", TASK), each.to_json())
            await publish_one(self.client, streams.DECISIONS, out)

    async def seal(self) -> None:
        """Give every closing in DECISIONS to a new outbox, as one batch."""
        stored = await self.closings()
        outbox = SealingOutbox(
            self.client, EpisodeLog(self.client, KEY), DeadLetters(self.client, "sealer")
        )
        await outbox.publish([Sourced(TASK, each.sequence, ClosedTask(each)) for each in stored])

    async def closings(self):
        found, after = [], 0
        while page := await read_from(
            self.client, streams.DECISIONS, subjects.DECISION.any, after + 1, 100
        ):
            found += (each for each in page if DecisionRecord.from_json(each.body).task_closed)
            after = page[-1].sequence
        return found

    async def episodes(self) -> list[SealedEpisode]:
        """Every sealed episode, each verified."""
        trust = TrustStore.of([KEY.verifying_key])
        stored = await read_from(self.client, streams.EPISODES, subjects.EPISODE.all, 1, 100)
        assert all(verify_bundle(each.body, trust).ok for each in stored)
        return [
            SealedEpisode.from_json(canonical_json(SealBundle.from_bytes(each.body).sealed_episode))
            for each in stored
        ]

    async def bundle(self, number: int = 0) -> bytes:
        """The file of an episode as it is exported: its seal, and every message that it covers."""
        stored = await read_from(self.client, streams.EPISODES, subjects.EPISODE.all, 1, 100)
        return b"".join([line async for line in bundle_lines(self.client, stored[number].body)])

    async def messages(self, number: int = 0) -> dict[str, list[bytes]]:
        """The exact bytes that the file of an episode carries, by their strands, once it is verified."""
        found: dict[str, list[bytes]] = {}

        def visit(each: Message | Entry) -> None:
            body = each.body if isinstance(each, Message) else ERASED
            found.setdefault(each.strand, []).append(body)

        trust = TrustStore.of([KEY.verifying_key])
        report = verify_bundle(await self.bundle(number), trust, visit=visit)
        assert report.ok, report.failures
        return found

    async def letters(self):
        return [letter async for letter in list_dead(self.client)]


@asynccontextmanager
async def closing_bus(endpoints: Endpoints) -> AsyncIterator[Log]:
    """A connection, and the streams."""
    client = await connect_nats(endpoints.nats_url, name="test")
    names = (streams.DECISIONS, streams.EPISODES, streams.DEAD, *gathering.STREAMS)
    await streams.declare(client, *names)
    yield Log(client)
    await client.close()


@asynccontextmanager
async def answering(log: Log, gate: BoundGate[Any, Any]) -> AsyncIterator[None]:
    """A gate on the bus, as the service has it."""
    url = log.client.connected_url
    assert url is not None
    async with (
        connection(url.geturl(), "gates") as client,
        at_work(GateRunner(client, "sealer", [gate], ServiceTelemetry("sealer"))),
    ):
        yield
