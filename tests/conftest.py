"""All services, as processes, on a clean bus."""

import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path

import nats
import pytest
from nats.aio.client import Client
from reporting import reach, service_process, wait_until_ready

from lictor_bus.logs.dead_letters import StoredLetter, list_dead
from lictor_bus.names import subjects
from lictor_bus.wire.publish import Outgoing, publish_one
from lictor_bus.wire.read import read_from
from lictor_local.embedded_servers import Endpoints
from lictor_schema.decisions.decision import DecisionRecord

SERVICES = {
    "policy-evaluator": "lictor_policy_evaluator",
    "sealer": "lictor_sealer",
    "supervisor": "lictor_supervisor",
    "feedback": "lictor_feedback",
    "rehearser": "lictor_rehearser",
    "prover": "lictor_prover",
    "approvals": "lictor_approvals",
}


@dataclass(frozen=True)
class Stack:
    """A running installation, and what the tests do with it."""

    endpoints: Endpoints
    client: Client
    keys: Path

    async def send(self, subject: str, body: bytes, **headers: str) -> None:
        """Store raw bytes, as any publisher could."""
        await publish_one(self.client, "EVENTS", Outgoing(subject, body, None, headers))

    async def send_event(self, event: dict[str, object], **headers: str) -> None:
        """Store an event given as JSON value on the subject of its task."""
        subject = subjects.event(str(event["runtime"]), str(event["task_id"]))
        await self.send(subject, json.dumps(event).encode(), **headers)

    async def until(self, stream: str, messages: int) -> None:
        """Wait until the stream holds that many messages."""
        await reach(self.client, stream, messages)

    async def decisions(self) -> list[DecisionRecord]:
        """Every decision so far."""
        stored = await read_from(self.client, "DECISIONS", subjects.DECISION.all, 1, 1000)
        return [DecisionRecord.from_json(delivery.body) for delivery in stored]

    async def dead(self) -> list[StoredLetter]:
        """Every dead letter so far."""
        return [letter async for letter in list_dead(self.client)]


@pytest.fixture
async def stack(clean_infra: Endpoints, tmp_path: Path) -> AsyncIterator[Stack]:
    """All services, ready."""
    async with AsyncExitStack() as running:
        client = await nats.connect(clean_infra.nats_url)
        running.push_async_callback(client.close)
        environment = {
            "LICTOR_SEAL_KEY": str(tmp_path / "seal.pem"),
            "LICTOR_SEAL_KEY_CREATE": "1",
            "LICTOR_LOG_ORIGIN": "lictor.test/log",
        }
        for module in SERVICES.values():
            await running.enter_async_context(service_process(module, clean_infra, **environment))
        for name in SERVICES:
            await wait_until_ready(client, name)
        yield Stack(clean_infra, client, tmp_path)
