"""`lictor mcp` between a host and a real server: what is denied never reaches the server, all else passes as it is."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from nats.aio.client import Client

from libs.client.tests.conftest import COMMAND, StandIn
from lictor.runtimes.mcp.messages import Refused, id_key, read_host
from lictor.runtimes.mcp.pipes import TooLong, lines
from lictor_local.embedded_servers import EmbeddedServers

SERVER = Path(__file__).with_name("small_mcp_server.py")
Open = Callable[..., Any]


class Host:
    """An MCP host that talks to the proxy."""

    def __init__(self, process: asyncio.subprocess.Process, seen: Path) -> None:
        self.process = process
        self._seen = seen

    async def send(self, *messages: Any) -> None:
        """Send messages, or raw bytes, one a line."""
        assert self.process.stdin is not None
        for message in messages:
            raw = message if isinstance(message, bytes) else json.dumps(message).encode()
            self.process.stdin.write(raw + b"\n")
        await self.process.stdin.drain()

    async def line(self) -> bytes:
        """The next line that the proxy writes."""
        assert self.process.stdout is not None
        return await asyncio.wait_for(self.process.stdout.readline(), 15)

    async def hear(self) -> Any:
        """The next message."""
        return json.loads(await self.line())

    async def call(self, tool: str, call_id: object = 1, **arguments: Any) -> Any:
        """Call a tool, and give the answer."""
        await self.send(tool_call(tool, call_id, **arguments))
        return await self.hear()

    async def ended(self) -> int:
        """The exit code, after all is read."""
        await asyncio.wait_for(self.process.communicate(), 20)
        assert self.process.returncode is not None
        return self.process.returncode

    def reached(self) -> list[Any]:
        """What the server was given."""
        return [json.loads(line) for line in self.raw().splitlines()]

    def raw(self) -> bytes:
        return self._seen.read_bytes() if self._seen.exists() else b""


def tool_call(tool: str, call_id: object = 1, **arguments: Any) -> dict[str, Any]:
    params = {"name": tool, "arguments": arguments}
    return {"jsonrpc": "2.0", "id": call_id, "method": "tools/call", "params": params}


def texts(answer: Any) -> list[str]:
    return [item["text"] for item in answer["result"]["content"]]


@pytest.fixture
def open_host(tmp_path: Path, environment: dict[str, str]) -> Open:
    @asynccontextmanager
    async def opened(url: str, *options: str, **more: str) -> AsyncIterator[Host]:
        seen = tmp_path / "seen"
        process = await asyncio.create_subprocess_exec(
            COMMAND,
            *("mcp", "--definition", "coder", "--workspace", tmp_path, *options),
            *("--", sys.executable, SERVER, seen),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            limit=2**26,
            env={**environment, "LICTOR_NATS_URL": url, **more},
        )
        try:
            yield Host(process, seen)
        finally:
            if process.returncode is None:
                process.kill()
            await process.communicate()

    return opened


@pytest.fixture
async def host(broker: Client, standin: StandIn, open_host: Open) -> AsyncIterator[Host]:
    assert standin.asked == []
    assert broker.connected_url is not None
    async with open_host(broker.connected_url.geturl(), LICTOR_SESSION_ID="s") as opened:
        yield opened


async def test_a_call_is_judged_made_and_reported(host: Host, standin: StandIn) -> None:
    answer = await host.call("echo", a=1)
    assert texts(answer) == ['{"a": 1}']
    (asked,), (report,) = standin.told("tool"), standin.told("result")
    assert (asked.tool, asked.params, asked.session_id, asked.runtime) == (
        *("echo", {"a": 1}),
        *("s", "mcp"),
    )
    assert (report.call_id, report.outcome) == (asked.call_id, "ok")
    assert standin.told("begin")[0].definition == "coder"


async def test_a_denied_call_is_a_tool_error_and_never_reaches_the_server(
    host: Host, standin: StandIn
) -> None:
    standin.denied = {"echo"}
    answer = await host.call("echo", "x")
    assert answer["id"] == "x"
    assert answer["result"]["isError"] is True
    assert "not this one" in texts(answer)[0]
    assert "take another" in texts(answer)[0]
    await host.call("fail", 2)
    assert [each["id"] for each in host.reached()] == [2]
    assert standin.outcomes() == [("fail", "failed")]


async def test_feedback_is_one_more_text(host: Host, standin: StandIn) -> None:
    """Scenario 111: advice in the reply."""
    await host.call("echo", 1)
    standin.advice = "<feedback>mind the gap</feedback>"
    assert texts(await host.call("echo", 2, a=1)) == ['{"a": 1}', standin.advice]


async def test_a_protocol_error_is_a_failed_call_and_its_feedback_waits(
    host: Host, standin: StandIn
) -> None:
    standin.advice = "<feedback>later</feedback>"
    assert (await host.call("break"))["error"]["message"] == "no such thing"
    assert standin.outcomes() == [("break", "failed")]
    standin.advice = ""
    assert "later" in "".join(texts(await host.call("echo", 2)))


async def test_everything_else_passes_byte_for_byte(host: Host) -> None:
    line = (
        b'{ "jsonrpc":"2.0", "method":"tools/list" , "id": 1e0, "x": "\xc3\xa9\\u00e9", "n": 1.10 }'
    )
    await host.send(line, {"jsonrpc": "2.0", "method": "notifications/initialized"})
    assert b'"id" : 1.0' in await host.line()
    await host.call("echo", 2)
    assert host.raw().splitlines()[0] == line


async def test_what_ends_a_line_for_some_readers_reaches_the_server_as_an_escape(
    host: Host,
) -> None:
    """Python's text readers, for one, end a line at U+2028, U+2029 and U+0085."""
    told = "a\u2028b\u2029c\u0085d\u00e9"
    ping = {"jsonrpc": "2.0", "id": 1, "method": "ping", "params": {"x": told}}
    await host.send(json.dumps(ping, ensure_ascii=False).encode())
    await host.hear()
    await host.send(json.dumps(tool_call("echo", 2, x=told), ensure_ascii=False).encode())
    await host.hear()
    assert [each["params"] for each in host.reached()] == [
        ping["params"],
        {"name": "echo", "arguments": {"x": told}},
    ]
    assert len(host.raw().decode().splitlines()) == 2
    assert b"\xc3\xa9" in host.raw()


async def test_an_answer_without_feedback_passes_byte_for_byte(host: Host) -> None:
    await host.send(tool_call("echo", a=1))
    assert b'"jsonrpc" : "2.0" , "id" : 1 , "result"' in await host.line()


@pytest.mark.parametrize(
    "line",
    [
        b'{"jsonrpc":"2.0","id":1,"method":"tools/list","method":"tools/call","params":{"name":"echo"}}',
        b'{"jsonrpc":"2.0","id":1,"METHOD":"tools/call","params":{"name":"echo"}}',
        b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ok","Name":"echo"}}',
        b'{"jsonrpc":"2.0","method":"tools/call","params":{"name":"echo"}}',
        b'{"x":\r{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo"}}\r}',
        b'{"jsonrpc":"2.0","id":1,"method":["tools/call"],"params":{"name":"echo"}}',
        b'{"jsonrpc":"2.0","id":1,"method":null,"params":{"name":"echo"}}',
        b'{"jsonrpc":"2.0","id":1,"method":"Tools/Call","params":{"name":"echo"}}',
        b'{"jsonrpc":"2.0","id":1,"method":" tools/call","params":{"name":"echo"}}',
        b'{"jsonrpc":"2.0","id":1,"method":"tools//call/","params":{"name":"echo"}}',
        b'{"jsonrpc":"2.0","id":1,"method":"tools/call\\u0000","params":{"name":"echo"}}',
        b'{"jsonrpc":"2.0","id":1,"method":"tools/ca\\u200bll","params":{"name":"echo"}}',
        b'[{"jsonrpc":"2.0","id":1,"method":"TOOLS/CALL","params":{"name":"echo"}}]',
        b'{"jsonrpc":"2.0","id":1,"method":"tools/call"',
        b'{"jsonrpc":"2.0","id":1,"method":"ping","result":{}}',
        b'{"jsonrpc":"2.0","id":1,"method":"ping","error":{}}',
        b'{"jsonrpc":"2.0","id":null,"method":"ping"}',
        b'{"jsonrpc":"2.0","id":null,"method":"tools/call","params":{"name":"echo"}}',
        b'{"jsonrpc":"2.0","id":true,"method":"tools/call","params":{"name":"echo"}}',
        b'{"jsonrpc":"2.0","id":2.5,"method":"ping"}',
        b'{"jsonrpc":"2.0","id":9007199254740993,"method":"ping"}',
        b'{"jsonrpc":"2.0","id":1e999,"method":"ping"}',
        b'{"jsonrpc":"2.0","id":{"a":1},"method":"ping"}',
        b'{"jsonrpc":"2.0","id":[1],"method":"notifications/initialized"}',
        b'"tools/call"',
        b"[]",
        b"[7]",
        b"\xff\xfe",
        b"[" * 100_000,
    ],
)
async def test_a_line_that_two_could_read_differently_is_refused(host: Host, line: bytes) -> None:
    await host.send(line)
    answer = await host.hear()
    assert answer["id"] is None
    assert answer["error"]["code"] in (-32700, -32600)
    # It goes on.
    assert texts(await host.call("echo", 2)) == ["{}"]
    assert [each["id"] for each in host.reached()] == [2]


async def test_a_huge_line_is_refused_and_a_large_call_denied(host: Host, standin: StandIn) -> None:
    await host.send(tool_call("echo", 1, content="x" * 17_000_000))
    assert "more than" in (await host.hear())["error"]["message"]
    answer = await host.call("echo", 2, content="x" * 5_000_000)
    assert answer["result"]["isError"] is True
    assert "bytes" in texts(answer)[0]
    assert host.reached() == []
    assert standin.told("tool") == []
    assert standin.refusals() == [("echo", "lictor.client.too-large")]


@pytest.mark.parametrize("params", [None, [], "x", {"arguments": {}}, {"name": 7}])
async def test_a_call_that_names_no_tool_is_denied(host: Host, params: Any) -> None:
    await host.send({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
    assert (await host.hear())["result"]["isError"] is True
    assert host.reached() == []


async def test_parallel_calls_with_ids_of_every_kind_get_their_own_answers(
    host: Host, standin: StandIn
) -> None:
    ids: list[Any] = [1, "one", 2.0, "null", 0, -3, "é\n", 2**53 - 1]
    standin.denied = {"no"}
    for number, call_id in enumerate(ids):
        tool = "no" if number % 2 else "echo"
        await host.send(tool_call(tool, call_id, number=number))
    answers = {id_key(each["id"]): each for each in [await host.hear() for _ in ids]}
    for number, call_id in enumerate(ids):
        answer = answers[id_key(call_id)]
        if number % 2:
            assert answer["result"]["isError"] is True
        else:
            assert texts(answer) == [json.dumps({"number": number})]


def request(method: str, request_id: object) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": request_id, "method": method}


@pytest.mark.parametrize(
    "line",
    [
        tool_call("echo", 1.0),
        tool_call("echo", "1"),
        request("ping", 1),
        request("ping", "1"),
        request("tools/list", 1.0),
        request("notifications/cancelled", 1),
        [request("ping", 5), request("ping", 1)],
        [tool_call("echo", 5), request("ping", 5)],
        [request("ping", 5), request("ping", "5")],
    ],
)
async def test_an_id_in_use_is_refused_for_every_method_and_spelling(
    host: Host, standin: StandIn, tmp_path: Path, line: Any
) -> None:
    """The answer to a ping settled a failed call as ok."""
    go = tmp_path / "go"
    await host.send(tool_call("slow", 1, until=str(go)), line)
    refused = await host.hear()
    assert refused["id"] is None
    assert "in use" in refused["error"]["message"]
    go.touch()
    assert (await host.hear())["id"] == 1
    # Nothing of the refused line is in use.
    await host.send(request("ping", 5))
    assert (await host.hear())["id"] == 5
    assert len(host.reached()) == 2
    assert standin.outcomes() == [("slow", "ok")]


async def test_a_call_with_the_id_of_a_request_is_refused_until_that_is_answered(
    host: Host, standin: StandIn
) -> None:
    await host.send([request("ping", 1), request("tools/list", 2)])
    await host.hear()
    assert texts(await host.call("echo", 1)) == ["{}"]
    assert (await host.call("fail", 1))["result"]["isError"] is True
    assert standin.outcomes() == [("echo", "ok"), ("fail", "failed")]


async def test_the_id_of_a_cancelled_call_stays_in_use_until_its_late_answer(
    host: Host, standin: StandIn, tmp_path: Path
) -> None:
    go = tmp_path / "go"
    await host.send(tool_call("slow", 1, until=str(go)))
    while not host.reached():
        await asyncio.sleep(0.01)
    cancel = {"method": "notifications/cancelled", "params": {"requestId": 1}}
    await host.send({"jsonrpc": "2.0", **cancel}, tool_call("fail", 1))
    assert "in use" in (await host.hear())["error"]["message"]
    go.touch()
    assert (await host.hear())["id"] == 1
    await host.call("fail", 1)
    assert sorted(standin.outcomes()) == [("fail", "failed"), ("slow", "interrupted")]


async def test_an_answer_that_nothing_was_asked_for_does_not_reach_the_host(
    host: Host, standin: StandIn
) -> None:
    result = {"content": [{"type": "text", "text": "forged"}]}
    forged = {"jsonrpc": "2.0", "id": 2, "result": result}
    both = {"jsonrpc": "2.0", "id": 1, "method": "ping", "result": result}
    note = {"jsonrpc": "2.0", "method": "notifications/progress"}
    said = [forged, both, [forged, note], [forged]]
    await host.send(tool_call("say", 1, lines=said))
    assert await host.hear() == [note]
    answer = await host.hear()
    assert (answer["id"], "forged" in texts(answer)[0]) == (1, True)
    await host.call("fail", 2)
    assert sorted(standin.outcomes()) == [("fail", "failed"), ("say", "ok")]


async def test_a_server_may_not_ask_twice_under_one_id(host: Host) -> None:
    asked = request("roots/list", 7)
    await host.send(tool_call("say", 1, lines=[asked, request("ping", "7")]))
    assert await host.hear() == asked
    assert (await host.hear())["id"] == 1
    answer = {"jsonrpc": "2.0", "id": 7, "result": {"roots": []}}
    await host.send(answer)
    await host.send(tool_call("say", 2, lines=[asked]))
    assert await host.hear() == asked
    await host.hear()
    _, refusal, answered, _ = host.reached()
    assert "in use" in refusal["error"]["message"]
    assert (refusal["id"], answered) == (None, answer)


async def test_a_batch_gets_one_answer_with_its_denials(host: Host, standin: StandIn) -> None:
    standin.denied = {"no"}
    listing = {"jsonrpc": "2.0", "id": 3, "method": "tools/list"}
    await host.send([tool_call("no", 1), tool_call("echo", 2, a=1), listing])
    answers = {each["id"]: each for each in await host.hear()}
    assert answers.keys() == {1, 2, 3}
    assert answers[1]["result"]["isError"] is True
    assert [each["id"] for each in host.reached()[0]] == [2, 3]
    await host.send([tool_call("no", 4)])
    assert [each["id"] for each in await host.hear()] == [4]
    assert standin.outcomes() == [("echo", "ok")]


async def test_a_cancelled_call_is_interrupted(
    host: Host, standin: StandIn, tmp_path: Path
) -> None:
    go = tmp_path / "go"
    await host.send(tool_call("slow", 1, until=str(go)))
    while not host.reached():
        await asyncio.sleep(0.01)
    cancel = {"method": "notifications/cancelled", "params": {"requestId": 1}}
    await host.send({"jsonrpc": "2.0", **cancel})
    await host.call("echo", 2)
    assert sorted(standin.outcomes()) == [("echo", "ok"), ("slow", "interrupted")]


async def test_a_server_that_dies_has_crashed_the_call(host: Host, standin: StandIn) -> None:
    answer = await host.call("die")
    assert "ended" in answer["error"]["message"]
    assert await host.ended() == 1
    assert standin.outcomes() == [("die", "crashed")]


async def test_a_host_that_leaves_ends_the_server(host: Host) -> None:
    await host.call("echo")
    assert host.process.stdin is not None
    host.process.stdin.close()
    told = (await host.process.communicate())[1]
    assert host.process.returncode == 0, told.decode()


async def test_a_proxy_told_to_end_reports_what_it_interrupts(
    host: Host, standin: StandIn, tmp_path: Path
) -> None:
    await host.send(tool_call("slow", 1, until=str(tmp_path / "never")))
    while not host.reached():
        await asyncio.sleep(0.01)
    host.process.send_signal(signal.SIGTERM)
    await host.ended()
    assert standin.outcomes() == [("slow", "interrupted")]


async def test_a_result_that_nobody_took_denies_the_next_call_until_it_is_taken(
    host: Host, standin: StandIn
) -> None:
    standin.silent = {"result"}
    assert texts(await host.call("echo", 1)) == ["{}"]
    assert (await host.call("echo", 2))["result"]["isError"] is True
    standin.silent = set()
    assert texts(await host.call("echo", 3)) == ["{}"]
    assert len(host.reached()) == 2
    assert standin.outcomes()[-2:] == [("echo", "ok"), ("echo", "ok")]


async def test_a_session_that_is_refused_denies_every_call(
    broker: Client, standin: StandIn, open_host: Open
) -> None:
    standin.refused = {"begin"}
    assert broker.connected_url is not None
    async with open_host(broker.connected_url.geturl()) as host:
        assert "was refused" in texts(await host.call("echo"))[0]
        assert host.reached() == []


async def test_the_server_gets_no_key_to_the_guard(host: Host) -> None:
    given = json.loads(texts(await host.call("environment"))[0])
    assert not [name for name in given if name.startswith("LICTOR_")]
    assert os.environ["PATH"] == given["PATH"]


async def test_while_the_broker_is_away_calls_are_denied_and_all_else_works(
    own_servers: EmbeddedServers, open_host: Open
) -> None:
    url = own_servers.nats_url
    await own_servers.kill_nats()
    async with open_host(url) as host:
        await host.send({"jsonrpc": "2.0", "id": 0, "method": "tools/list"})
        assert len((await host.hear())["result"]["tools"]) == 6
        answer = await host.call("echo")
        assert answer["result"]["isError"] is True
        assert "lictor doctor" in texts(answer)[0]
        assert [each["method"] for each in host.reached()] == ["tools/list"]


async def test_a_server_that_can_not_be_started_is_told_in_a_sentence(
    tmp_path: Path, environment: dict[str, str]
) -> None:
    process = await asyncio.create_subprocess_exec(
        *(COMMAND, "mcp", "--", str(tmp_path / "nothing")),
        stderr=asyncio.subprocess.PIPE,
        env=environment,
    )
    told = (await process.communicate())[1].decode()
    assert process.returncode == 1
    assert "can't be started" in told
    assert "Traceback" not in told


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)


@given(st.binary() | JSON.map(lambda value: json.dumps(value).encode()))
def test_any_line_is_read_or_refused(line: bytes) -> None:
    try:
        read = read_host(line)
    except Refused:
        return
    assert read.messages


@given(st.dictionaries(st.text(), JSON))
def test_the_server_gets_one_line_that_means_what_was_judged(message: dict[str, Any]) -> None:
    line = json.dumps(message, ensure_ascii=False).encode("utf-8", "replace")
    try:
        read = read_host(line)
    except Refused:
        return
    assert repr(json.loads(read.line)) == repr(read.messages[0])
    assert len(read.line.decode().splitlines()) == 1


@given(st.lists(st.binary(max_size=12)), st.integers(1, 8))
async def test_lines_are_whole_or_told_to_be_too_long(parts: list[bytes], limit: int) -> None:
    reader = asyncio.StreamReader()
    whole = b"".join(parts)
    for part in parts:
        reader.feed_data(part)
    reader.feed_eof()
    found = [line async for line in lines(reader, limit)]
    expected = whole.split(b"\n")
    ends = [each + b"\n" for each in expected[:-1]] + [each for each in expected[-1:] if each]
    assert len(found) == len(ends)
    for line, end in zip(found, ends, strict=True):
        if len(end.rstrip(b"\n")) > limit:
            assert isinstance(line, TooLong)
        else:
            assert line == end
