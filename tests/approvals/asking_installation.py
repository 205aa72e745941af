"""A running installation in which an agent's calls wait for people: its services can be killed, and come again."""

import asyncio
import json
import uuid
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, TypeVar

from nats.aio.client import Client
from reporting import service_process, wait_until_ready

from lictor.desk_orders import ask_desk
from lictor.errors import LictorError
from lictor_approval.signed_decisions import sign_decision
from lictor_bus.logs.entry_logs import read_entry
from lictor_bus.logs.session_log import read_session_entry
from lictor_bus.names import streams, subjects
from lictor_bus.wire.connection import close_nats, connect_nats
from lictor_bus.wire.read import read_all
from lictor_local.embedded_servers import EmbeddedServers, Endpoints
from lictor_schema.approvals.approval import ApprovalDecision, ApprovalEntry, ApprovalOrder
from lictor_schema.approvals.call_approval import CallApprovalRequest
from lictor_schema.core.base_model import utc_millis
from lictor_schema.services.desk_answer import DeskAnswer
from lictor_schema.sessions.session_log import AnySessionEntry
from lictor_seal import SigningKey, TrustStore

T = TypeVar("T")
ANN = SigningKey.from_seed("ann@example.org", b"a" * 32)
BEN = SigningKey.from_seed("ben@example.org", b"b" * 32)
RUNTIME = "python"
SERVICES = {"feedback": "lictor_feedback", "approvals": "lictor_approvals"}
DEFINITION = """
apiVersion: lictor/v1
kind: AgentDefinition
metadata: {name: deployer, version: "1"}
tools: [{name: deploy}, {name: transfer}, {name: brief}, {name: read}]
policies:
  - {kind: require-approval, name: deploys, tools: [deploy], use_within_s: 600}
  - {kind: require-approval, name: two-people, tools: [transfer], needed: 2}
  - {kind: require-approval, name: in-a-hurry, tools: [brief], decide_within_s: 2}
"""
PATIENCE_S = 60.0


@dataclass
class Installation:
    """Servers, services, and people who decide."""

    folder: Path
    client: Client
    """Of an operator."""
    endpoints_of: Callable[[str], Endpoints]
    """By service."""
    servers: EmbeddedServers | None = None
    """Where the broker may be killed."""
    refusal: str | None = None
    """Why the desk did not take a decision the last time."""
    _running: dict[str, tuple[AsyncExitStack, asyncio.subprocess.Process]] = field(
        default_factory=dict[str, tuple[AsyncExitStack, asyncio.subprocess.Process]]
    )

    @property
    def nats_url(self) -> str:
        """Where agents connect."""
        assert self.servers is not None
        return self.servers.nats_url

    async def begin(self, definition: str = DEFINITION) -> None:
        """Start every service, with one definition and two people who may decide."""
        (self.folder / "agents").mkdir()
        (self.folder / "agents" / "agent.yaml").write_text(definition)
        keys = [ANN.verifying_key, BEN.verifying_key]
        (self.folder / "approvers.json").write_bytes(TrustStore.of(keys).to_bytes())
        for name in SERVICES:
            await self.start(name)

    async def start(self, name: str) -> None:
        """Start a service, and wait until it is ready."""
        stack = AsyncExitStack()
        environment = {
            "LICTOR_AGENTS": str(self.folder / "agents"),
            "LICTOR_APPROVERS": str(self.folder / "approvers.json"),
        }
        process = await stack.enter_async_context(
            service_process(SERVICES[name], self.endpoints_of(name), **environment)
        )
        self._running[name] = (stack, process)
        await wait_until_ready(self.client, name)

    async def kill(self, victim: str) -> None:
        """Kill a service or the broker, without a warning, and start it again."""
        if victim == "nats":
            assert self.servers is not None
            await self.servers.kill_nats()
            await self.servers.start_nats()
            for name in self._running:
                await wait_until_ready(self.client, name)
            return
        stack, process = self._running.pop(victim)
        process.kill()
        await process.wait()
        await stack.aclose()
        await self.start(victim)

    async def close(self) -> None:
        """End the services."""
        for stack, _ in self._running.values():
            await stack.aclose()
        await close_nats(self.client)

    async def session(self, session_id: str, runtime: str = RUNTIME) -> list[AnySessionEntry]:
        """A session's log."""
        subject = subjects.session_log(subjects.session_key(runtime, session_id))
        found = [
            read_session_entry(each)
            async for each in read_all(self.client, streams.SESSIONS, subject)
        ]
        return [each for each in found if each is not None]

    async def entries(self, request_id: str) -> list[ApprovalEntry]:
        """What stands about a request where people decide."""
        subject = subjects.approval_entries(request_id)
        stored = read_all(self.client, streams.APPROVALS, subject)
        found = [read_entry(each, ApprovalEntry.from_json) async for each in stored]
        return [each for each in found if each is not None]

    async def asked(
        self, session_id: str, number: int = 1, runtime: str = RUNTIME
    ) -> CallApprovalRequest:
        """The n-th request of a session, once its log holds it."""

        async def find() -> CallApprovalRequest | None:
            found = [
                each.request
                for each in await self.session(session_id, runtime)
                if each.kind == "call_asked"
            ]
            return found[number - 1] if len(found) >= number else None

        return await self.once(find)

    async def requested(self, request: CallApprovalRequest) -> None:
        """Wait until people can decide about it."""
        await self.reached(request, "requested")

    async def reached(self, request: CallApprovalRequest, state: str) -> None:
        """Wait until a request came to a state."""

        async def find() -> bool:
            return state in [each.state.value for each in await self.entries(request.request_id)]

        await self.once(find)

    async def decide(
        self,
        request: CallApprovalRequest,
        decision: str = "approve",
        key: SigningKey = ANN,
        **changes: Any,
    ) -> None:
        """Somebody signs a decision and hands it in until it was taken: the same again changes nothing."""
        now = datetime.now(UTC)
        fields: dict[str, Any] = {
            "request_id": request.request_id,
            "binding_hash": request.binding_hash,
            "decision": decision,
            "by": key.name,
            "decided_at": utc_millis(now),
            "expires_at": utc_millis(now + timedelta(minutes=10)),
            "nonce": str(uuid.uuid4()),
            "reason": "looked at it",
            **changes,
        }
        signed = sign_decision(ApprovalDecision(**fields), key)
        order = ApprovalOrder(request_id=request.request_id, signed=signed)

        async def hand_in() -> DeskAnswer | None:
            try:
                return await ask_desk(self.client, "approval", order, DeskAnswer, 2.0)
            except LictorError as error:
                self.refusal = str(error)
                return None

        await self.once(hand_in)

    async def once(self, find: Callable[[], Awaitable[T | None]]) -> T:
        """What is found as soon as there is something; the broker may be away meanwhile."""
        problem: object = None
        try:
            async with asyncio.timeout(PATIENCE_S):
                while True:
                    try:
                        if found := await find():
                            return found
                    except Exception as error:  # noqa: BLE001 -- told below, if it never ends
                        problem = error
                    await asyncio.sleep(0.05)
        except TimeoutError:
            why = f"{problem!r}, {self.refusal}"
            raise AssertionError(f"it did not happen in time ({why})") from None


async def install(
    servers: EmbeddedServers, folder: Path, definition: str = DEFINITION
) -> Installation:
    """An installation on these servers, ready."""
    client = await connect_nats(servers.nats_url, name="test")
    found = Installation(folder, client, lambda _: servers.endpoints, servers)
    await found.begin(definition)
    return found


def made_in(place: Path) -> list[dict[str, Any]]:
    """The calls that a tool wrote down."""
    return [json.loads(line) for line in place.read_text().splitlines()] if place.exists() else []
