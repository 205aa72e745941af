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
from mcp.types import JSONRPCError, methods, version
from nats.aio.client import Client

from libs.client.tests.conftest import COMMAND, StandIn
from lictor.runtimes.mcp import messages

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
    mode: str, url: str, folder: Path, environment: dict[str, str]
) -> AsyncIterator[Opened]:
    seen = folder / "seen"
    arguments = ["mcp", "--definition", "coder", "--workspace", str(folder), "--session", "s", "--"]
    server = StdioServerParameters(
        command=str(COMMAND),
        args=[*arguments, sys.executable, str(SERVER), str(seen)],
        env={**environment, "LICTOR_NATS_URL": url},
    )
    async with McpClient(server, mode=mode, read_timeout_seconds=30) as client:
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
