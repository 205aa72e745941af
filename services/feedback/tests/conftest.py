"""The feedback service as a process, and an adapter that asks it straight over the bus."""

import json
import uuid
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import nats
import pytest
import redis.asyncio
from nats.aio.client import Client
from nats.errors import Error as NatsError
from reporting import service_process, wait_until_ready

from lictor_bus.names import subjects
from lictor_bus.wire.read import read_from
from lictor_guard.facts import session_facts
from lictor_guard.facts.fact import decode_fact
from lictor_local.embedded_servers import Endpoints
from lictor_schema.sessions.session_log import AnySessionEntry, parse_session_entry

CODER = """
apiVersion: lictor/v1
kind: AgentDefinition
metadata: {name: coder, version: "1"}
tools:
  - {name: read_file, access: read, resources: [path]}
  - {name: write_file, access: write, resources: [path]}
  - {name: edit}
  - {name: test}
  - {name: deploy}
  - {name: ping}
  - {name: note}
policies:
  - {kind: read-before-write, name: read-first}
  - kind: sequential-dependency
    name: order
    requires: {deploy: [test]}
    invalidated_by: {test: [edit]}
  - {kind: rate-limit, name: pings, tools: [ping], limit: 3, window_s: 3600}
feedback:
  - {kind: static, name: nag, trigger: {every_n_calls: 5}, text: keep going}
completion:
  max_blocks: 2
  checker: {kind: verification, name: tested, tool: test, stale_after: [edit]}
"""

Answer = dict[str, Any]


@dataclass
class Asker:
    """What an adapter of runtime `rt` would ask; answers are JSON values."""

    client: Client
    endpoints: Endpoints
    session: str = "s1"
    runtime: str = "rt"

    @property
    def key(self) -> str:
        return subjects.session_key(self.runtime, self.session)

    def of(self, session: str) -> "Asker":
        return Asker(self.client, self.endpoints, session, self.runtime)

    def question(self, **fields: Any) -> Answer:
        return {
            "request_id": uuid.uuid4().hex,
            "runtime": self.runtime,
            "agent_id": "agent",
            "task_id": f"task of {self.session}",
            "session_id": self.session,
            "requested_at": datetime.now(UTC).isoformat(),
            **fields,
        }

    async def raw(self, subject: str, body: bytes, timeout_s: float = 5) -> Answer:
        return json.loads((await self.client.request(subject, body, timeout=timeout_s)).data)

    async def ask(self, operation: str, **fields: Any) -> Answer:
        name = "gate" if operation in ("tool", "stop") else "session"
        subject = f"lictor.{name}.{operation}.{subjects.token(self.runtime)}"
        return await self.raw(subject, json.dumps(self.question(**fields)).encode())

    async def begin(self, definition: str = "coder", **fields: Any) -> Answer:
        answer = await self.ask("begin", definition=definition, **fields)
        assert answer["ok"], answer
        return answer

    async def check(self, tool: str, call_id: str, **fields: Any) -> Answer:
        return await self.ask("tool", tool=tool, call_id=call_id, **{"params": {}, **fields})

    async def result(self, tool: str, call_id: str, outcome: str = "ok", **fields: Any) -> Answer:
        return await self.ask(
            "result", tool=tool, call_id=call_id, outcome=outcome, **{"params": {}, **fields}
        )

    async def result_until_recorded(self, tool: str, call_id: str) -> Answer:
        """Report it again until somebody says that it is recorded, as an adapter would after silence."""
        while True:
            try:
                answer = await self.result(tool, call_id)
            except (NatsError, TimeoutError):
                continue
            if answer["ok"]:
                return answer

    async def entries(self) -> list[AnySessionEntry]:
        """The session's log."""
        found: list[AnySessionEntry] = []
        sequence = 1
        while page := await read_from(
            self.client, "SESSIONS", subjects.session_log(self.key), sequence, 500
        ):
            found += [parse_session_entry(each.body) for each in page]
            sequence = page[-1].sequence + 1
        return found

    async def tally(self) -> session_facts.Tally:
        """What was counted, as it is stored; after a question that makes sure of it."""
        await self.ask("collect", call_id=uuid.uuid4().hex)
        async with redis.asyncio.from_url(self.endpoints.redis_url) as store:
            stored = await store.hget(f"lictor:feedback:{{{self.key}}}", session_facts.TALLY)
        fact = decode_fact(stored or b"")
        assert isinstance(fact, session_facts.Tally)
        return fact

    async def bodies(self, stream: str, subject: str) -> list[Answer]:
        found: list[Answer] = []
        sequence = 1
        while page := await read_from(self.client, stream, subject, sequence, 500):
            found += [json.loads(each.body) for each in page]
            sequence = page[-1].sequence + 1
        return found


@pytest.fixture
def agents(tmp_path: Path) -> Path:
    """A folder with one definition."""
    folder = tmp_path / "agents"
    folder.mkdir()
    (folder / "coder.yaml").write_text(CODER)
    return folder


@pytest.fixture
async def asker(clean_infra: Endpoints, agents: Path) -> AsyncIterator[Asker]:
    """An adapter, and one instance of the service."""
    async with asking(clean_infra, agents) as asker:
        yield asker


@asynccontextmanager
async def asking(endpoints: Endpoints, agents: Path, instances: int = 1) -> AsyncIterator[Asker]:
    """An adapter, and so many instances of the service."""
    async with AsyncExitStack() as running:
        client = await nats.connect(endpoints.nats_url)
        running.push_async_callback(client.close)
        for _ in range(instances):
            await running.enter_async_context(feedback_service(endpoints, agents))
        if instances:
            await wait_until_ready(client, "feedback")
        yield Asker(client, endpoints)


@pytest.fixture
def start() -> Callable[..., Any]:
    """Starts the service with other servers, or more than one instance of it."""
    return asking


def feedback_service(endpoints: Endpoints, agents: Path) -> Any:
    """One instance of the service, as a process."""
    return service_process("lictor_feedback", endpoints, LICTOR_AGENTS=str(agents))
