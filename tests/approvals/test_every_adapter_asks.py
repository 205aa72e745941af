"""Every adapter tells its agent of the request that its call waits by, and makes the call once when it is approved."""

import asyncio
import json
import uuid
from pathlib import Path
from typing import Any

import pytest
from asking_installation import Installation
from scripted import ScriptedAgent, Setting
from scripted_agents import ADAPTERS

from lictor.history.own_history import OwnHistory
from lictor.runtimes.http.application import HttpAdapter
from lictor.runtimes.http.sessions import HttpSessions
from lictor.runtimes.lasting_connection import Reaching

CALL = {"service": "shop"}


def name_of(adapter: type[ScriptedAgent]) -> str:
    return adapter.__name__


@pytest.mark.parametrize("adapter", ADAPTERS, ids=name_of)
async def test_a_call_waits_by_its_request_and_is_made_once_when_it_is_approved(
    place: Installation, adapter: type[ScriptedAgent], tmp_path: Path
) -> None:
    made: list[dict[str, Any]] = []

    def deploy(**params: Any) -> str:
        made.append(params)
        return "done"

    session_id = str(uuid.uuid4())
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    setting = Setting(place.nats_url, workspace, session_id, "deployer")
    agent = adapter(setting)
    try:
        await agent.begin()
        told = await agent.call("deploy", CALL, deploy)
        first = await place.asked(session_id, runtime=agent.runtime)
        assert told.denied is not None
        assert first.request_id in told.denied
        assert "approved" in told.denied

        # However often it is asked about, it is one request.
        told = await agent.call("deploy", CALL, deploy)
        assert told.denied is not None
        assert first.request_id in told.denied

        await place.decide(first)
        assert (await agent.call("deploy", CALL, deploy)).denied is None
        assert made == [CALL]

        told = await agent.call("deploy", CALL, deploy)
        second = await place.asked(session_id, 2, runtime=agent.runtime)
        assert told.denied is not None
        assert second.request_id in told.denied

        await place.decide(second, "reject", reason="not on a Friday")
        told = await agent.call("deploy", CALL, deploy)
        assert told.denied is not None
        assert "not on a Friday" in told.denied
    finally:
        await agent.close()
    assert made == [CALL]
    kinds = [each.kind for each in await place.session(session_id, agent.runtime)]
    assert (kinds.count("call_reserved"), kinds.count("call_asked")) == (1, 2)


class Http:
    """A client of the HTTP adapter, as the command sets it up."""

    def __init__(self, url: str) -> None:
        self.reaching = Reaching(url, name="test")
        sessions = HttpSessions(self.reaching, runtime="http", definition="deployer")
        self._app = HttpAdapter(
            sessions, self.reaching, "t" * 32, b"{}", lambda client: OwnHistory(client, "http")
        )

    async def ask(self, method: str, path: str, body: Any = None) -> tuple[int, dict[str, Any]]:
        """Ask, and give the status and the reply."""
        path, _, query = path.partition("?")
        scope = {
            "type": "http",
            "method": method,
            "path": path,
            "raw_path": path.encode(),
            "query_string": query.encode(),
            "headers": [(b"authorization", b"Bearer " + b"t" * 32)],
        }
        told: list[Any] = []

        async def receive() -> Any:
            return {"type": "http.request", "body": json.dumps(body or {}).encode()}

        async def send(message: Any) -> None:
            told.append(message)

        await self._app(scope, receive, send)
        self.headers = dict(told[0]["headers"])
        return told[0]["status"], json.loads(told[1]["body"])


async def test_over_http_a_client_waits_until_people_have_decided(place: Installation) -> None:
    http = Http(place.nats_url)
    check = {"call_id": "c", "tool": "deploy", "params": CALL}
    try:
        await http.ask("POST", "/v1/sessions/s/begin")
        status, reply = await http.ask("POST", "/v1/sessions/s/check", check)
        assert (status, reply["decision"], reply["asked"]) == (202, "deny", True)
        request = await place.asked("s", runtime="http")
        assert reply["approval"]["request_id"] == request.request_id
        where = http.headers[b"location"].decode()

        waiting = asyncio.create_task(http.ask("GET", f"{where}?wait=50"))
        await place.requested(request)
        status, shown = await http.ask("GET", where)
        assert (status, shown["state"], shown["waiting"]) == (200, "requested", True)
        await place.decide(request)
        status, found = await waiting
        assert (status, found["state"], found["waiting"]) == (200, "approved", False)

        for other in (where.replace("/s/", "/another/"), f"{where[:-36]}{uuid.uuid4()}?wait=0.1"):
            status, refused = await http.ask("GET", other)
            assert (status, refused["ok"], refused["decision"]) == (404, False, "deny")
        # To look at it used nothing up.
        status, reply = await http.ask("POST", "/v1/sessions/s/check", check)
        assert (status, reply["decision"]) == (200, "allow")
    finally:
        await http.reaching.close()
