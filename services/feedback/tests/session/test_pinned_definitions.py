"""The whole service as a process: a session keeps the definition it began with, whatever is published after."""

import json
from pathlib import Path
from typing import Any

from reporting import service_process, wait_until_ready

from lictor_bus.logs.definitions import store_definition
from lictor_bus.names import subjects
from lictor_bus.wire.connection import connect_nats
from lictor_guard.definitions.loading import read_definition
from lictor_guard.definitions.stored_versions import stored_form
from lictor_local.embedded_servers import Endpoints

DEFINITION = """\
apiVersion: lictor/v1
kind: AgentDefinition
metadata: {name: coder, version: "VERSION"}
tools: [{name: TOOL}]
"""


def definition(version: str, tool: str) -> bytes:
    return DEFINITION.replace("VERSION", version).replace("TOOL", tool).encode()


class Asking:
    """An adapter that only asks."""

    def __init__(self, client: Any, session: str) -> None:
        self._client = client
        self._about = {
            "request_id": "r",
            "runtime": "scripted",
            "agent_id": "main",
            "task_id": "t",
            "session_id": session,
            "requested_at": "2026-01-31T12:00:00Z",
        }

    async def ask(self, subject: str, **fields: Any) -> dict[str, Any]:
        body = json.dumps({**self._about, **fields}).encode()
        return json.loads((await self._client.request(subject, body, timeout=5)).data)

    async def begin(self, **fields: Any) -> dict[str, Any]:
        return await self.ask(subjects.session_request("begin", "scripted"), **fields)

    async def allowed(self, tool: str) -> bool:
        subject = subjects.gate("tool", "scripted")
        answer = await self.ask(subject, call_id=f"call-{tool}", tool=tool, params={})
        return answer["decision"] == "allow"


async def test_a_session_is_pinned_to_the_version_it_began_with(
    clean_infra: Endpoints, tmp_path: Path
) -> None:
    (tmp_path / "coder.yaml").write_bytes(definition("1", "old"))
    environment = {"LICTOR_AGENTS": str(tmp_path), "LICTOR_DEFAULT_AGENT": "coder"}
    client = await connect_nats(clean_infra.nats_url, name="test")
    try:
        async with service_process("lictor_feedback", clean_infra, **environment):
            await wait_until_ready(client, "feedback")
            before = Asking(client, "before")
            begun = await before.begin()
            assert (begun["ok"], begun["definition"], begun["version"]) == (True, "coder", "1")
            newer = read_definition(definition("2", "new"), "coder.yaml")
            await store_definition(client, "coder", stored_form(newer, "an operator"))
            after = Asking(client, "after")
            assert (await after.begin())["definition_hash"] == newer.hash
            again = await before.begin(prompted=True)
            assert again["definition_hash"] == begun["definition_hash"]
            assert [await before.allowed(tool) for tool in ("old", "new")] == [True, False]
            assert [await after.allowed(tool) for tool in ("old", "new")] == [False, True]
            refused = await Asking(client, "other").begin(definition="nobody")
            assert not refused["ok"]
            assert "'nobody'" in refused["reason"]
        # The folder now says what the stream says; only the stream still has version 1.
        (tmp_path / "coder.yaml").write_bytes(definition("2", "new"))
        async with service_process("lictor_feedback", clean_infra, **environment):
            await wait_until_ready(client, "feedback")
            assert (await before.begin())["definition_hash"] == begun["definition_hash"]
            # Under new ids: a call id is used once.
            pinned = Asking(client, "fresh")
            exact = await pinned.begin(definition_hash=begun["definition_hash"])
            assert exact["version"] == "1"
            assert [await pinned.allowed(tool) for tool in ("old", "new")] == [True, False]
    finally:
        await client.close()


async def test_a_definition_with_a_mistake_stops_the_service_at_its_start(
    clean_infra: Endpoints, tmp_path: Path
) -> None:
    (tmp_path / "coder.yaml").write_bytes(definition("1", "old").replace(b"tools", b"tolos"))
    async with service_process(
        "lictor_feedback", clean_infra, LICTOR_AGENTS=str(tmp_path)
    ) as process:
        assert await process.wait() == 1
