"""The guard over HTTP: whatever goes wrong, a client that reads only `decision` or `ok` allows nothing."""

from __future__ import annotations

import asyncio
import json
import signal
import socket
import stat
import urllib.error
import urllib.request
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
import uvicorn
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from nats.aio.client import Client
from uvicorn.server import ServerState

from libs.client.tests.conftest import COMMAND, REQUEST, Cli, StandIn
from lictor.runtimes.http import admission
from lictor.runtimes.http.admission import MAX_BODY
from lictor.runtimes.http.application import OPERATIONS, HttpAdapter
from lictor.runtimes.http.bodies import Refusal
from lictor.runtimes.http.sessions import HttpSessions
from lictor.runtimes.lasting_connection import Reaching
from lictor_cli.http import Impatient, listen
from lictor_local.embedded_servers import EmbeddedServers

TOKEN = "t" * 32
CALL = {"call_id": "c1", "tool": "echo", "params": {"a": 1}}
SEEN = {"path": "out.txt", "state": "missing"}


class Agent:
    """Asks the application as a server would."""

    def __init__(self, app: HttpAdapter) -> None:
        self._app = app
        self.headers: dict[bytes, bytes] = {}
        """Of the last reply."""

    async def ask(
        self,
        operation: str,
        body: Any = None,
        *,
        session: str = "s",
        token: str | None = TOKEN,
        method: str = "POST",
        path: str | None = None,
        receive: Callable[[], Any] | None = None,
        length: int | None = None,
        query: bytes = b"",
    ) -> tuple[int, dict[str, Any]]:
        raw = body if isinstance(body, bytes) else json.dumps(body or {}).encode()
        path = path or f"/v1/sessions/{quote(session, safe='')}/{operation}"
        headers = [] if token is None else [(b"authorization", f"Bearer {token}".encode())]
        if length is not None:
            headers.append((b"content-length", str(length).encode()))
        scope = {
            "type": "http",
            "method": method,
            "path": path,
            "raw_path": path.encode(),
            "headers": headers,
            "query_string": query,
        }
        parts = [raw[:7], raw[7:]]
        told: list[Any] = []

        async def whole() -> Any:
            return {"type": "http.request", "body": parts.pop(0), "more_body": bool(parts)}

        async def send(message: Any) -> None:
            told.append(message)

        # What fails inside is answered, and raised again for the server to log.
        with suppress(Broken):
            await self._app(scope, receive or whole, send)
        self.headers = dict(told[0]["headers"])
        return told[0]["status"], json.loads(told[1]["body"])


class Broken(Exception):
    """Something fails inside the adapter."""


@asynccontextmanager
async def agent_at(url: str, **options: Any) -> AsyncIterator[Agent]:
    reaching = Reaching(url, name="test")
    sessions = HttpSessions(reaching, runtime="http", **options)
    try:
        yield Agent(HttpAdapter(sessions, reaching, TOKEN, b"{}"))
    finally:
        await reaching.close()


def url_of(broker: Client) -> str:
    assert broker.connected_url is not None
    return broker.connected_url.geturl()


@pytest.fixture
async def agent(broker: Client, standin: StandIn) -> AsyncIterator[Agent]:
    assert standin.asked == []
    async with agent_at(url_of(broker)) as asking:
        yield asking


async def test_a_session_goes_from_begin_to_stop(agent: Agent, standin: StandIn) -> None:
    standin.advice = "<feedback>mind</feedback>"
    standin.stops = [False]
    begun = await agent.ask("begin", {"definition": "coder", "task_id": "t", "agent_id": "a"})
    assert (begun[0], begun[1]["ok"]) == (200, True)
    assert (await agent.ask("check", CALL))[1]["decision"] == "allow"
    assert (await agent.ask("result", {**CALL, "outcome": "ok", "duration_ms": 3}))[1]["ok"]
    assert (await agent.ask("feedback", {"call_id": "c1"}))[1]["text"] == standin.advice
    status, blocked = await agent.ask("stop", {})
    assert (status, blocked["decision"], blocked["status"]) == (200, "deny", "incomplete")
    assert "write it" in blocked["text"]
    assert (await agent.ask("stop", {}))[1]["decision"] == "allow"
    (asked,) = standin.told("tool")
    assert (asked.runtime, asked.session_id, asked.task_id, asked.agent_id) == (
        "http",
        "s",
        "t",
        "a",
    )
    assert standin.outcomes() == [("echo", "ok")]


async def test_a_denial_tells_every_reason(agent: Agent, standin: StandIn) -> None:
    standin.denied = {"echo"}
    status, told = await agent.ask("check", CALL)
    assert (status, told["decision"]) == (200, "deny")
    assert told["denials"] == [
        {"policy_id": "test.no", "reason": "not this one", "remedy": "take another"}
    ]


async def test_state_is_kept_set_back_and_reset(agent: Agent, standin: StandIn) -> None:
    usage = {"report_id": "r", "usage": {"input_tokens": 3, "cost_usd": "0.01"}}
    assert (await agent.ask("usage", usage))[1]["ok"]
    assert (await agent.ask("snapshot", {"snapshot_id": "n", "with_document": True}))[1]["ok"]
    assert (await agent.ask("restore", {"snapshot_id": "n", "cause": "undone"}))[1]["ok"]
    assert (await agent.ask("reset", {"cause": "anew"}))[1]["ok"]
    assert standin.told("usage")[0].usage.input_tokens == 3


@pytest.mark.parametrize(
    ("body", "told"),
    [
        (b"", "tool"),
        (b"no json", "body"),
        (b'{"call_id":"c","tool":"t","params":[]}', "params"),
        (b'{"call_id":"c","tool":"t","params":{},"extra":1}', "extra"),
        (b'{"call_id":"c","tool":"t","tool":"u","params":{}}', "tool"),
        (b'{"call_id":"","tool":"t","params":{}}', "call_id"),
        (b"\xff", "body"),
        (b"[" * 5000, "body"),
    ],
)
async def test_a_malformed_question_is_denied_and_never_asked(
    agent: Agent, standin: StandIn, body: bytes, told: str
) -> None:
    status, reply = await agent.ask("check", body)
    assert (status, reply["decision"], reply["ok"]) == (400, "deny", False)
    assert told in reply["text"]
    assert [name for name, _ in standin.asked] == ["refusal"]
    assert standin.refusals() == [("(without a name)", "lictor.http.malformed-request")]


@pytest.mark.parametrize("token", [None, "", "wrong", TOKEN[:-1], TOKEN + "x", "é"])
async def test_who_has_no_token_is_told_nothing(
    agent: Agent, standin: StandIn, token: str | None
) -> None:
    for operation in OPERATIONS:
        status, reply = await agent.ask(operation, CALL, token=token)
        assert (status, reply["decision"], reply["ok"]) == (401, "deny", False)
    assert standin.asked == []


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("POST", "/v1/sessions/s/nothing", 404),
        ("POST", "/v1/sessions/s/check/", 404),
        ("POST", "/v1/sessions/s/check\n", 404),
        ("POST", "/v1/sessions/s/t/check", 404),
        ("POST", "/v1/sessions//check", 400),
        ("POST", "/v1/sessions/%FF/check", 400),
        ("POST", f"/v1/sessions/{'s' * 513}/check", 400),
        ("POST", "/v1/sessions/s/../s/check", 404),
        ("POST", "http://elsewhere/v1/sessions/s/check", 404),
        ("POST", "/", 404),
        ("GET", "/v1/sessions/s/check", 405),
    ],
)
async def test_what_is_not_there_denies(agent: Agent, method: str, path: str, status: int) -> None:
    told = await agent.ask("", CALL, method=method, path=path)
    assert (told[0], told[1]["decision"]) == (status, "deny")


async def test_who_has_a_token_may_ask_for_the_head_of_what_is_public(agent: Agent) -> None:
    for path in ("/health", "/openapi.json"):
        assert (await agent.ask("", method="HEAD", path=path))[0] == 200
        assert (await agent.ask("", method="HEAD", path=path, token=None))[0] == 401
        assert (await agent.ask("", method="GET", path=path, token=None))[0] == 200


async def test_a_body_that_is_too_large_is_denied(agent: Agent, standin: StandIn) -> None:
    large = {**CALL, "params": {"content": "x" * MAX_BODY}}
    status, told = await agent.ask("check", large)
    assert (status, told["decision"]) == (413, "deny")
    assert standin.told("tool") == []
    assert standin.refusals() == [("(without a name)", "lictor.client.too-large")]


async def test_a_body_that_says_it_is_too_large_is_denied_unread(
    agent: Agent, standin: StandIn
) -> None:
    async def receive() -> Any:
        raise AssertionError("the body was read")

    status, told = await agent.ask("check", receive=receive, length=MAX_BODY + 1)
    assert (status, told["policy_id"]) == (413, "lictor.client.too-large")
    assert standin.refusals() == [("(without a name)", "lictor.client.too-large")]
    assert (await agent.ask("check", receive=receive, length=MAX_BODY + 1, token="no"))[0] == 401


async def test_a_body_that_does_not_come_is_denied(
    agent: Agent, standin: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(admission, "BODY_WITHIN_S", 0.0)
    first = [{"type": "http.request", "body": b"{", "more_body": True}]

    async def receive() -> Any:
        return first.pop() if first else await asyncio.Event().wait()

    status, told = await agent.ask("check", receive=receive)
    assert (status, told["policy_id"]) == (408, "lictor.http.too-slow")
    assert standin.refusals() == [("(without a name)", "lictor.http.too-slow")]


async def test_a_client_that_leaves_is_denied(agent: Agent, standin: StandIn) -> None:
    async def receive() -> Any:
        return {"type": "http.disconnect"}

    assert (await agent.ask("check", receive=receive))[0] == 400
    assert standin.refusals() == [("(without a name)", "lictor.http.malformed-request")]


async def test_what_fails_inside_denies(agent: Agent, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any) -> Any:
        raise Broken

    monkeypatch.setattr(HttpSessions, "_session", fail)
    monkeypatch.setattr(Reaching, "reachable", fail)
    for method, path in (("POST", None), ("GET", "/health")):
        status, told = await agent.ask("check", CALL, method=method, path=path)
        assert (status, told["decision"], told["ok"]) == (500, "deny", False)
        assert "Broken" in told["text"]


async def test_more_requests_than_fit_are_denied(
    agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(admission, "MAX_AT_ONCE", 0)
    assert (await agent.ask("check", CALL))[1]["policy_id"] == "lictor.http.busy"
    assert (await agent.ask("", method="GET", path="/health"))[0] == 200
    monkeypatch.setattr(admission, "MAX_AT_ONCE", 1)
    assert (await agent.ask("check", CALL))[1]["decision"] == "allow"


async def test_a_stop_has_the_id_that_the_client_gives_it(agent: Agent, standin: StandIn) -> None:
    for body in ({"request_id": "mine"}, {"request_id": "mine"}, {}):
        assert (await agent.ask("stop", body))[1]["decision"] == "allow"
    first, again, other = (asked.request_id for asked in standin.told("stop"))
    assert (first, again) == ("mine", "mine")
    assert other not in ("", "mine")


async def test_a_session_id_may_hold_anything(agent: Agent, standin: StandIn) -> None:
    await agent.ask("check", CALL, session="a/b?c é\n%2F")
    assert standin.told("tool")[0].session_id == "a/b?c é\n%2F"


async def test_nobody_answering_denies_with_503(agent: Agent, standin: StandIn) -> None:
    standin.silent = set(OPERATIONS) | {"tool", "show", "collect"}
    asked = {
        "begin": {},
        "check": CALL,
        "feedback": {"call_id": "c"},
        "stop": {},
        "usage": {"report_id": "r", "usage": {}},
        "snapshot": {"snapshot_id": "n"},
        "restore": {"snapshot_id": "n", "cause": "c"},
        "reset": {"cause": "c"},
    }
    replies = await asyncio.gather(*(agent.ask(name, body) for name, body in asked.items()))
    for status, told in replies:
        assert status == 503
        assert told.get("decision", "deny") == "deny"
        assert told.get("ok", False) is False


async def test_a_result_that_nobody_took_denies_calls_until_it_is_taken(
    agent: Agent, standin: StandIn
) -> None:
    await agent.ask("check", CALL)
    standin.silent = {"result"}
    result = {**CALL, "outcome": "ok"}
    assert (await agent.ask("result", result))[0] == 503
    assert (await agent.ask("check", {**CALL, "call_id": "c2"}))[1]["decision"] == "deny"
    assert (await agent.ask("begin", {"task_id": "other"}))[0] == 409
    standin.silent = set()
    assert (await agent.ask("check", {**CALL, "call_id": "c2"}))[1]["decision"] == "allow"
    assert [report.call_id for report in standin.told("result")][-1] == "c1"


async def test_a_client_tells_what_it_sees_of_its_files(agent: Agent, standin: StandIn) -> None:
    resource = {"param": "path", "given": "a.txt", "key": "a.txt", "state": "missing"}
    call = {"call_id": "c", "tool": "write_file", "params": {"path": "a.txt"}}
    await agent.ask("check", {**call, "resources": [resource]})
    await agent.ask("result", {**call, "resources": [resource], "outcome": "ok"})
    await agent.ask("feedback", {"call_id": "c", "files": [SEEN]})
    await agent.ask("stop", {"files": [SEEN]})
    await agent.ask("stop", {})
    assert [each.key for each in standin.told("tool")[0].resources] == ["a.txt"]
    assert [each.key for each in standin.told("result")[0].resources] == ["a.txt"]
    assert [each.path for each in standin.told("collect")[0].files] == ["out.txt"]
    first, second = standin.told("stop")
    assert [each.path for each in first.files] == ["out.txt"]
    # Without a view of files nobody may take them for missing, or for there.
    assert second.files is None


async def test_a_server_with_a_workspace_looks_itself(
    broker: Client, standin: StandIn, tmp_path: Path
) -> None:
    (tmp_path / "a.txt").write_text("x")
    call = {"call_id": "c", "tool": "write_file", "params": {"path": "./a.txt"}}
    async with agent_at(url_of(broker), workspace=str(tmp_path)) as agent:
        await agent.ask("check", call)
        (resource,) = standin.told("tool")[0].resources
        assert (resource.key, resource.state) == ("a.txt", "file")
        for operation, more in (("check", {"resources": []}), ("stop", {"files": []})):
            body = {**(call if operation == "check" else {}), **more}
            status, told = await agent.ask(operation, body)
            assert (status, told["decision"]) == (400, "deny")


async def test_sessions_are_forgotten_unless_they_owe_a_result(
    broker: Client, standin: StandIn
) -> None:
    async with agent_at(url_of(broker), most=2) as agent:
        standin.silent = {"result"}
        await agent.ask("result", {**CALL, "outcome": "ok"}, session="owes")
        for name in ("a", "b", "c"):
            assert (await agent.ask("check", CALL, session=name))[1]["decision"] == "allow"
        assert (await agent.ask("check", CALL, session="owes"))[1]["decision"] == "deny"


async def test_an_agent_is_denied_while_the_broker_is_away_and_goes_on_when_it_is_back(
    own_servers: EmbeddedServers,
) -> None:
    url = own_servers.nats_url
    await own_servers.kill_nats()
    async with agent_at(url) as agent:
        status, told = await agent.ask("check", CALL)
        assert (status, told["decision"]) == (503, "deny")
        assert (await agent.ask("", method="GET", path="/health"))[0] == 503
        await own_servers.start_nats()
        while (await agent.ask("", method="GET", path="/health"))[0] != 200:
            await asyncio.sleep(0.05)
        # The broker is back, and nobody answers on it.
        status, told = await agent.ask("check", CALL)
        assert (status, told["decision"]) == (503, "deny")
        assert "no service answers" in told["text"]


BODIES = st.binary(max_size=60) | st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["call_id", "tool", "params", "cause"]), inner)
    ),
    max_leaves=6,
)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(operation=st.sampled_from(list(OPERATIONS)), body=BODIES)
async def test_whatever_is_sent_without_a_service_allows_nothing(operation: str, body: Any) -> None:
    async with agent_at("nats://127.0.0.1:1") as agent:
        status, told = await agent.ask(operation, body)
        assert status in (400, 503)
        assert told.get("decision", "deny") == "deny"
        assert told.get("ok", False) is False


async def test_every_reply_is_as_the_document_says(agent: Agent) -> None:
    status, told = await agent.ask("check", CALL)
    assert status == 200
    OPERATIONS["check"].reply.from_json(json.dumps(told))
    Refusal.from_json(json.dumps((await agent.ask("check", b"x"))[1]))


@asynccontextmanager
async def served(
    environment: dict[str, str], cwd: Path, *options: str
) -> AsyncIterator[tuple[dict[str, str], asyncio.subprocess.Process]]:
    process = await asyncio.create_subprocess_exec(
        *(COMMAND, "http", "--json", *options),
        stdout=asyncio.subprocess.PIPE,
        env=environment,
        cwd=cwd,
    )
    try:
        assert process.stdout is not None
        yield json.loads(await asyncio.wait_for(process.stdout.readline(), 20)), process
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


def kept(told: dict[str, str]) -> tuple[str, int]:
    """The token, and who may read it."""
    file = Path(told["token"])
    return file.read_text().strip(), stat.S_IMODE(file.stat().st_mode)


def post(url: str, body: Any, token: str) -> tuple[int, Any]:
    request = urllib.request.Request(
        url, json.dumps(body).encode(), {"Authorization": f"Bearer {token}"}
    )
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        with error:
            return error.code, json.load(error)


async def test_the_command_answers_keeps_its_token_to_itself_and_ends_in_order(
    broker: Client, standin: StandIn, environment: dict[str, str], tmp_path: Path
) -> None:
    environment["LICTOR_NATS_URL"] = url_of(broker)
    ask: Callable[..., Any] = post
    async with served(environment, tmp_path) as (told, process):
        token, mode = kept(told)
        assert mode == 0o600
        url = f"{told['url']}/v1/sessions/s/check"
        status, reply = await asyncio.to_thread(ask, url, CALL, token)
        assert (status, reply["decision"]) == (200, "allow")
        assert (await asyncio.to_thread(ask, url, CALL, "wrong"))[0] == 401
        process.send_signal(signal.SIGTERM)
        assert await asyncio.wait_for(process.wait(), 20) == 0
    async with served(environment, tmp_path) as (again, _):
        assert (kept(again)[0], again["url"]) == (token, told["url"])
        # Another beside it takes another port, and both stay where they are.
        async with served(environment, tmp_path, "--runtime", "other") as (other, _):
            assert other["url"] != told["url"]
    async with served(environment, tmp_path, "--runtime", "other") as (other_again, _):
        assert other_again["url"] == other["url"]
    assert len(standin.told("tool")) == 1


async def test_answers_leave_at_once_on_every_connection() -> None:
    """Else each answer after the first few waits for the client's ACK, which comes 40 ms later."""
    accepted: asyncio.Future[Any] = asyncio.get_running_loop().create_future()

    def greet(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        accepted.set_result(writer)

    with listen("127.0.0.1", 0) as listener:
        async with await asyncio.start_server(greet, sock=listener):
            _, writer = await asyncio.open_connection(*listener.getsockname())
            taken = await accepted
            connection = taken.get_extra_info("socket")
            assert connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
            for each in (writer, taken):
                each.close()
                await each.wait_closed()


class Hasty(Impatient):
    within_s = 0.05


async def test_a_connection_that_sends_no_whole_request_is_ended_and_no_other() -> None:
    answering = asyncio.Event()

    async def app(scope: Any, _receive: Any, send: Any) -> None:
        if scope["path"] == "/slow":
            await answering.wait()
        await send({"type": "http.response.start", "status": 204, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    config = uvicorn.Config(app, http=Hasty, ws="none", lifespan="off", log_level="error")
    state, loop = ServerState(), asyncio.get_running_loop()
    server = await loop.create_server(lambda: Hasty(config, state, {}), "127.0.0.1", 0)
    async with server:
        port = server.sockets[0].getsockname()[1]

        async def talk(*said: bytes) -> bytes:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            try:
                writer.writelines(said)
                return await asyncio.wait_for(reader.read(), 10)
            except ConnectionResetError:
                return b"cut off"
            finally:
                writer.close()

        slow = asyncio.create_task(talk(b"GET /slow HTTP/1.1\r\nHost: h\r\n\r\n"))
        assert await talk() == b""
        assert await talk(b"GET / HTTP/1.1\r\nHost: h") == b""
        once = await talk(b"GET / HTTP/1.1\r\nHost: h\r\n\r\nGET / HT")
        assert once.count(b"204") == 1
        # Without a token it is answered at once; what follows is read by nobody.
        endless = b"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n"
        assert (await talk(endless)).count(b"204") == 1
        huge = await talk(b"GET / HTTP/1.1\r\nHost: h\r\nX: ", b"x" * 500_000, b"\r\n\r\n")
        assert b"400" in huge or huge == b"cut off"
        answering.set()
        assert b"204" in await slow


async def test_other_machines_are_not_let_in_without_a_token_of_the_operator(
    cli: Cli, tmp_path: Path
) -> None:
    refused = await cli("http", "--host", "0.0.0.0")
    assert refused.returncode == 1
    assert "LICTOR_HTTP_TOKEN" in refused.stderr
    short = await cli("http", LICTOR_HTTP_TOKEN="short")
    assert "at least 16" in short.stderr
    data = tmp_path / ".lictor"
    data.mkdir()
    (data / "http-token").write_text("t" * 40)
    (data / "http-token").chmod(0o644)
    opened = await cli("http")
    assert "open to others" in opened.stderr


async def test_a_call_that_waits_for_a_person_is_accepted_and_not_allowed(
    agent: Agent, standin: StandIn
) -> None:
    standin.asks = {"echo": "waiting"}
    status, reply = await agent.ask("check", CALL, session="a b")
    assert (status, reply["decision"], reply["asked"], reply["denials"]) == (202, "deny", True, [])
    assert reply["approval"]["request_id"] == REQUEST
    assert reply["approval"]["standing"] == "waiting"
    assert agent.headers[b"location"] == f"/v1/sessions/a%20b/approvals/{REQUEST}".encode()
    standin.asks = {"echo": "approved"}
    status, reply = await agent.ask("check", CALL, session="a b")
    assert (status, reply["decision"], reply["asked"]) == (200, "allow", False)


async def test_an_edit_and_guidance_are_told_with_the_denial(
    agent: Agent, standin: StandIn
) -> None:
    standin.asks, standin.edited = {"echo": "edited"}, {"a": 2}
    status, reply = await agent.ask("check", CALL)
    assert (status, reply["decision"], reply["approval"]["params"]) == (200, "deny", {"a": 2})
    standin.asks = {"echo": "rejected"}
    status, reply = await agent.ask("check", CALL)
    assert reply["approval"]["guidance"] == "not on a Friday"


async def test_a_request_is_cancelled(agent: Agent, standin: StandIn) -> None:
    status, reply = await agent.ask("cancel", {"approval_request": REQUEST, "why": "not needed"})
    assert (status, reply["ok"]) == (200, True)
    (asked,) = standin.told("cancel")
    assert (asked.approval_request, asked.why) == (REQUEST, "not needed")


@pytest.mark.parametrize(
    ("request_id", "query", "status"),
    [
        (REQUEST, b"wait=soon", 400),
        (REQUEST, b"wait=-1", 400),
        (REQUEST, b"wait=nan", 400),
        (REQUEST, b"wait=1e9", 400),
        ("not-an-id", b"", 400),
        (REQUEST.upper(), b"", 400),
    ],
)
async def test_a_question_about_a_request_that_can_not_be_meant_is_refused(
    agent: Agent, request_id: str, query: bytes, status: int
) -> None:
    path = f"/v1/sessions/s/approvals/{request_id}"
    answered, reply = await agent.ask("", method="GET", path=path, query=query)
    assert (answered, reply["ok"], reply["decision"]) == (status, False, "deny")
