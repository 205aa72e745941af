"""The scripted agent behind the adapters for other languages and other people's tools: HTTP and MCP."""

import asyncio
import json
import uuid
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from scripted import Called, ScriptedAgent, Setting, Stopped, Work

from lictor.fast.session_operations import SessionOperations
from lictor.fast.workspace import Workspace
from lictor.runtimes.guarded_session import Guarding
from lictor.runtimes.http.application import HttpAdapter
from lictor.runtimes.http.sessions import HttpSessions
from lictor.runtimes.lasting_connection import Reaching
from lictor.runtimes.mcp.proxy import Proxy

TOKEN = "conformance-token"


class HttpAgent(ScriptedAgent):
    """An agent that asks over HTTP; the application is asked as a server would ask it."""

    runtime = "http"
    capabilities = HttpSessions.capabilities

    def __init__(self, setting: Setting) -> None:
        super().__init__(setting)
        self._reaching = Reaching(setting.nats_url, name="test")
        sessions = HttpSessions(
            self._reaching,
            runtime=self.runtime,
            definition=setting.definition,
            workspace=str(setting.workspace),
            stop_on_silence=setting.stop_on_silence,
        )
        self._app = HttpAdapter(sessions, self._reaching, TOKEN, b"{}")

    async def begin(self) -> None:
        assert (await self._post("begin"))["ok"]

    async def prompted(self) -> None:
        assert (await self._post("begin", prompted=True))["ok"]

    async def call(self, tool: str, params: Mapping[str, Any], work: Work) -> Called:
        call = {"call_id": str(uuid.uuid4()), "tool": tool, "params": params}
        verdict = await self._post("check", **call)
        if verdict["decision"] != "allow":
            return Called(denied=verdict["text"], advice=verdict.get("advice", ""))
        failed = False
        try:
            await asyncio.to_thread(work, **params)
        except RuntimeError:
            failed = True
        await self._post("result", **call, outcome="crashed" if failed else "ok")
        advice = await self._post("feedback", call_id=call["call_id"])
        return Called(failed=failed, advice=advice["text"])

    async def stop(self) -> Stopped:
        verdict = await self._post("stop")
        return Stopped(verdict["decision"] == "allow", verdict["text"])

    async def hand_over(self, output: Mapping[str, Any]) -> str:
        said = await self._post(
            "feedback", call_id=str(uuid.uuid4()), output={"value": dict(output)}
        )
        return said["text"]

    async def close(self) -> None:
        await self._reaching.close()

    async def _post(self, operation: str, **body: Any) -> dict[str, Any]:
        path = f"/v1/sessions/{quote(self.setting.session_id, safe='')}/{operation}"
        scope = {
            "type": "http",
            "method": "POST",
            "path": path,
            "raw_path": path.encode(),
            "headers": [(b"authorization", f"Bearer {TOKEN}".encode())],
        }
        told: list[Any] = []

        async def receive() -> Any:
            return {"type": "http.request", "body": json.dumps(body).encode()}

        async def send(message: Any) -> None:
            told.append(message)

        await self._app(scope, receive, send)
        return json.loads(told[1]["body"])


class McpAgent(ScriptedAgent):
    """A host whose tools are those of an MCP server behind the proxy, which nobody tells of stops."""

    runtime = "mcp"
    capabilities = Proxy.capabilities
    begins_by_itself = True

    def __init__(self, setting: Setting) -> None:
        super().__init__(setting)
        self._reaching = Reaching(setting.nats_url, name="test")
        operations = SessionOperations(
            runtime=self.runtime,
            session_id=setting.session_id,
            workspace=Workspace(str(setting.workspace)),
            definition=setting.definition,
            stop_on_silence=setting.stop_on_silence,
        )
        self._guarding = Guarding(operations)
        self._proxy = Proxy(self._guarding, self._reaching, self._to_host, self._to_server)
        self._work: dict[str, Work] = {}
        self._heard: dict[str, asyncio.Future[dict[str, Any]]] = {}

    async def begin(self) -> None:
        assert await self._proxy.begin() is None

    async def prompted(self) -> None:
        await self._reaching.drive(self._guarding.begin(prompted=True))

    async def call(self, tool: str, params: Mapping[str, Any], work: Work) -> Called:
        number = str(uuid.uuid4())
        self._work[number] = work
        self._heard[number] = asyncio.get_running_loop().create_future()
        request = {
            "jsonrpc": "2.0",
            "id": number,
            "method": "tools/call",
            "params": {"name": tool, "arguments": params},
        }
        await self._proxy.from_host(json.dumps(request).encode() + b"\n")
        result = (await self._heard[number])["result"]
        first, *advice = [item["text"] for item in result["content"]]
        if number in self._work:
            assert result["isError"]
            return Called(denied=first, advice="\n".join(advice))
        return Called(failed=result["isError"], advice="\n".join(advice))

    async def stop(self) -> Stopped:
        verdict = await self._reaching.drive(
            self._guarding.stop("done", None, None, subagent=False)
        )
        return Stopped(verdict.allowed, verdict.text)

    async def close(self) -> None:
        await self._proxy.idle()
        await self._reaching.close()

    async def _to_host(self, line: bytes) -> None:
        answer = json.loads(line)
        self._heard[answer["id"]].set_result(answer)

    async def _to_server(self, line: bytes) -> None:
        """The server: it does the work, and answers."""
        request = json.loads(line)
        work = self._work.pop(request["id"])
        try:
            text, failed = await asyncio.to_thread(work, **request["params"]["arguments"]), False
        except RuntimeError as error:
            text, failed = str(error), True
        result = {"content": [{"type": "text", "text": text}], "isError": failed}
        answer = {"jsonrpc": "2.0", "id": request["id"], "result": result}
        await self._proxy.from_server(json.dumps(answer).encode() + b"\n")
