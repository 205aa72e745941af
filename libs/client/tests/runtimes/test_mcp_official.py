"""`lictor mcp` between the client and a server of the official MCP package, which know nothing of it."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp import Client as McpClient
from mcp import StdioServerParameters
from mcp.types import ElicitResult, JSONRPCError, methods, version
from nats.aio.client import Client

from libs.client.tests.conftest import COMMAND, REQUEST, StandIn
from lictor.fast.verdicts import ToolApproval, ToolVerdict
from lictor.runtimes.mcp import messages, waiting_calls

SERVER = Path(__file__).with_name("official_mcp_server.py")


class Opened:
    """The client, and what reached the server."""

    def __init__(self, client: McpClient, seen: Path) -> None:
        self.client = client
        self._seen = seen

    def reached(self) -> list[str]:
        return self._seen.read_text().splitlines() if self._seen.exists() else []


@asynccontextmanager
async def opened(
    mode: str, url: str, folder: Path, environment: dict[str, str], **more: Any
) -> AsyncIterator[Opened]:
    seen = folder / "seen"
    arguments = ["mcp", "--definition", "coder", "--workspace", str(folder), "--session", "s", "--"]
    server = StdioServerParameters(
        command=str(COMMAND),
        args=[*arguments, sys.executable, str(SERVER), str(seen)],
        env={**environment, "LICTOR_NATS_URL": url},
    )
    async with McpClient(server, mode=mode, read_timeout_seconds=30, **more) as client:
        yield Opened(client, seen)


@pytest.fixture(params=["legacy", "auto"])
def start(
    request: pytest.FixtureRequest,
    broker: Client,
    standin: StandIn,
    tmp_path: Path,
    environment: dict[str, str],
) -> Any:
    """The handshake of 2025, and the discovery of 2026."""
    assert standin.asked == []
    assert broker.connected_url is not None
    url = broker.connected_url.geturl()
    return lambda: opened(request.param, url, tmp_path, environment)


def text(result: Any) -> str:
    return "".join(each.text for each in result.content)


async def test_everything_works(start: Any, standin: StandIn) -> None:
    progress: list[float] = []

    async def heard(done: float, _total: float | None, _message: str | None) -> None:
        progress.append(done)

    async with start() as it:
        tools = (await it.client.list_tools()).tools
        assert {each.name for each in tools} == {"add", "fail", "count", "wait"}
        result = await it.client.call_tool("add", {"a": 1, "b": 2})
        assert (result.is_error, text(result), result.structured_content) == (
            False,
            "3",
            {"result": 3},
        )
        assert (await it.client.call_tool("fail")).is_error
        assert text(await it.client.call_tool("count", progress_callback=heard)) == "counted"
        assert (await it.client.read_resource("note://x")).contents[0].text == "the note x"
        assert "greet y" in str((await it.client.get_prompt("greet", {"name": "y"})).messages)
    assert progress == [1, 2]
    assert it.reached() == ["add 1 2", "fail", "count"]
    assert standin.outcomes() == [("add", "ok"), ("fail", "failed"), ("count", "ok")]


async def test_a_denial_is_a_result_that_the_client_reads(start: Any, standin: StandIn) -> None:
    standin.denied = {"add"}
    async with start() as it:
        result = await it.client.call_tool("add", {"a": 1, "b": 2})
        assert result.is_error
        assert "take another" in text(result)
    assert it.reached() == []


async def test_feedback_is_one_more_text(start: Any, standin: StandIn) -> None:
    standin.advice = "<feedback>mind the gap</feedback>"
    async with start() as it:
        result = await it.client.call_tool("add", {"a": 1, "b": 2})
        assert [each.text for each in result.content] == ["3", standin.advice]


async def test_a_call_that_is_given_up_is_interrupted(start: Any, standin: StandIn) -> None:
    async with start() as it:
        call = asyncio.create_task(it.client.call_tool("wait"))
        while not it.reached():
            await asyncio.sleep(0.01)
        call.cancel()
        await asyncio.gather(call, return_exceptions=True)
        assert text(await it.client.call_tool("add", {"a": 1, "b": 2})) == "3"
    assert sorted(standin.outcomes()) == [("add", "ok"), ("wait", "interrupted")]


@pytest.mark.parametrize(
    "protocol", [*version.HANDSHAKE_PROTOCOL_VERSIONS, *version.MODERN_PROTOCOL_VERSIONS]
)
def test_what_we_answer_ourselves_fits_every_version(protocol: str) -> None:
    denial = messages.denial(1, "no")
    advised = messages.with_advice(denial, "mind")
    for answer in (denial, advised):
        assert answer is not None
        methods.validate_server_result("tools/call", protocol, answer["result"])


@pytest.mark.parametrize("message_id", [None, 1, "1"])
def test_our_errors_are_those_of_the_protocol(message_id: Any) -> None:
    error = messages.error(message_id, messages.INVALID_REQUEST, "no")
    assert JSONRPCError.model_validate(error).model_dump(exclude_unset=True) == error


def asking_call(call_id: object = 1, **params: Any) -> dict[str, Any]:
    """A call of a host of 2026 whose user can be asked."""
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {"elicitation": {"form": {}}},
    }
    fields = {"name": "add", "arguments": {}, "_meta": meta, **params}
    return {"jsonrpc": "2.0", "id": call_id, "method": "tools/call", "params": fields}


WAITS = ToolVerdict(
    allowed=False,
    text="somebody decides",
    asked=True,
    approval=ToolApproval(request_id=REQUEST, standing="waiting", expires_at="2030"),
)


def test_what_requires_input_fits_the_version_that_knows_it() -> None:
    answer = waiting_calls.input_required(asking_call(), WAITS)
    assert answer is not None
    methods.validate_server_result("tools/call", "2026-07-28", answer["result"])
    # What the host sends back could be altered, so nothing depends on it.
    assert "requestState" not in answer["result"]
    assert methods.is_input_required(answer["result"])


@pytest.mark.parametrize(
    "call",
    [
        asking_call(_meta={}),
        asking_call(_meta=None),
        asking_call(_meta={"io.modelcontextprotocol/protocolVersion": "2025-11-25"}),
        asking_call(_meta={"io.modelcontextprotocol/protocolVersion": "2026-07-28"}),
        asking_call(
            _meta={
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientCapabilities": {"elicitation": {"url": {}}},
            }
        ),
        asking_call(requestState="of the server"),
        asking_call(inputResponses={"of the server": {}}),
    ],
)
def test_who_can_not_be_asked_reads_an_error(call: dict[str, Any]) -> None:
    assert waiting_calls.input_required(call, WAITS) is None


def test_what_is_ours_does_not_reach_the_server() -> None:
    ours = {f"lictor.approval.{REQUEST}": {"action": "accept"}}
    assert waiting_calls.for_server(asking_call(inputResponses=ours)) == asking_call()
    both = asking_call(inputResponses={**ours, "other": {}})
    assert waiting_calls.for_server(both) == asking_call(inputResponses={"other": {}})
    untouched = asking_call(inputResponses={"other": {}})
    assert waiting_calls.for_server(untouched) is untouched


async def test_the_user_of_a_host_hears_of_a_request_and_the_gate_decides(
    broker: Client, standin: StandIn, tmp_path: Path, environment: dict[str, str]
) -> None:
    """The official client asks its user, and makes the call again: only the gate's yes reaches the server."""
    standin.asks = {"add": "waiting"}
    heard: list[str] = []

    async def user(_context: Any, params: Any) -> ElicitResult:
        heard.append(params.message)
        if len(heard) == 2:
            standin.asks = {"add": "approved"}
        return ElicitResult(action="accept")

    assert broker.connected_url is not None
    url = broker.connected_url.geturl()
    async with opened("auto", url, tmp_path, environment, elicitation_callback=user) as it:
        assert text(await it.client.call_tool("add", {"a": 1, "b": 2})) == "3"
    assert len(heard) == 2
    assert REQUEST in heard[0]
    assert it.reached() == ["add 1 2"]
    assert standin.outcomes() == [("add", "ok")]


async def test_a_user_who_does_not_want_to_wait_ends_it_and_the_request_stays(
    broker: Client, standin: StandIn, tmp_path: Path, environment: dict[str, str]
) -> None:
    standin.asks = {"add": "waiting"}

    async def user(_context: Any, _params: Any) -> ElicitResult:
        # Approved meanwhile: it must not be used up by a call that nobody wants to make now.
        standin.asks = {"add": "approved"}
        return ElicitResult(action="decline")

    assert broker.connected_url is not None
    url = broker.connected_url.geturl()
    async with opened("auto", url, tmp_path, environment, elicitation_callback=user) as it:
        result = await it.client.call_tool("add", {"a": 1, "b": 2})
        assert result.is_error
        assert "when it is approved" in text(result)
    assert it.reached() == []
    assert len(standin.told("tool")) == 1


async def test_where_no_user_can_be_asked_the_model_reads_of_the_request(
    start: Any, standin: StandIn
) -> None:
    standin.asks = {"add": "waiting"}
    async with start() as it:
        result = await it.client.call_tool("add", {"a": 1, "b": 2})
        assert result.is_error
        assert REQUEST in text(result)
    assert it.reached() == []
