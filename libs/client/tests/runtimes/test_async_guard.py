"""A guarded session in this process: nothing runs that was not allowed, and no result is lost."""

from __future__ import annotations

import asyncio
import concurrent.futures
import functools
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

import lictor
from libs.client.tests.conftest import StandIn
from lictor.errors import SessionRefused, Unreachable
from lictor.fast.verdicts import Advice
from lictor_bus.names import subjects
from lictor_local.embedded_servers import EmbeddedServers


@pytest.fixture
async def guard(
    governor: lictor.Governor,
    standin: StandIn,  # noqa: ARG001 -- somebody must answer
    tmp_path: Path,
) -> AsyncIterator[lictor.Guard]:
    async with governor.guard("s", workspace=tmp_path, timeout_s=0.5) as begun:
        yield begun


async def test_a_call_is_checked_made_and_reported(guard: lictor.Guard, standin: StandIn) -> None:
    """Scenario 126: a tool gets its parameters."""

    async def add(a: int, b: int) -> int:
        return a + b

    assert await guard.call("add", {"a": 1, "b": 2}, add) == 3
    (asked,), (report,) = standin.told("tool"), standin.told("result")
    assert (asked.tool, asked.params, asked.runtime) == ("add", {"a": 1, "b": 2}, "test")
    assert (report.call_id, report.outcome) == (asked.call_id, "ok")
    assert report.duration_ms is not None


async def test_a_relative_path_starts_at_the_workspace_wherever_the_process_is(
    guard: lictor.Guard, standin: StandIn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    await guard.check("write_file", {"path": "notes.txt"})
    (asked,) = standin.told("tool")
    (named,) = asked.resources
    assert (named.key, named.problem) == ("notes.txt", None)


async def test_an_agent_that_is_denied_hears_advice(guard: lictor.Guard, standin: StandIn) -> None:
    standin.denied, standin.advice = {"rm"}, "you go round in circles"
    with pytest.raises(lictor.ToolDenied):
        await guard.call("rm", {}, lambda: pytest.fail("it was called"))
    (asked,), (collected) = standin.told("tool"), standin.told("collect")
    assert collected[-1].call_id == asked.call_id
    assert guard.take_advice() == "you go round in circles"


async def test_a_denied_call_is_not_made(guard: lictor.Guard, standin: StandIn) -> None:
    """Scenarios 34 and 127: the handler does not run, and the caller gets the reason."""
    standin.denied = {"rm"}
    with pytest.raises(lictor.ToolDenied, match=r"not this one .* take another") as denied:
        await guard.call("rm", {}, lambda: pytest.fail("it was called"))
    assert [each.policy_id for each in denied.value.verdict.denials] == ["test.no"]
    assert standin.outcomes() == []


async def test_a_denial_can_be_told_as_the_result(guard: lictor.Guard, standin: StandIn) -> None:
    standin.denied = {"rm"}

    @guard.tool(denied="tell")
    async def rm() -> str:
        pytest.fail("it was called")

    assert "not this one" in await rm()


async def test_what_a_tool_raises_is_raised_and_reported(
    guard: lictor.Guard, standin: StandIn
) -> None:
    @guard.tool
    async def burn() -> None:
        raise ZeroDivisionError("by zero")

    with pytest.raises(ZeroDivisionError):
        await burn()
    assert standin.outcomes() == [("burn", "crashed")]
    assert standin.told("result")[0].error == "ZeroDivisionError: by zero"


async def test_a_cancelled_tool_is_interrupted_and_known_before_the_next_check(
    guard: lictor.Guard, standin: StandIn
) -> None:
    started = asyncio.Event()

    async def wait() -> None:
        started.set()
        await asyncio.Event().wait()

    calling = asyncio.create_task(guard.call("wait", {}, wait))
    await started.wait()
    calling.cancel()
    with pytest.raises(asyncio.CancelledError):
        await calling
    await guard.check("next", {})
    assert [name for name, _ in standin.asked if name != "collect"][-3:] == [
        "tool",
        "result",
        "tool",
    ]
    assert standin.outcomes() == [("wait", "interrupted")]


async def test_a_result_counts_also_when_its_caller_is_cancelled_while_it_is_reported(
    guard: lictor.Guard, standin: StandIn
) -> None:
    standin.silent = {"result"}
    calling = asyncio.create_task(guard.call("edit", {}, lambda: None))
    while not standin.outcomes():
        await asyncio.sleep(0)
    calling.cancel()
    with pytest.raises(asyncio.CancelledError):
        await calling
    standin.silent = set()
    assert (await guard.check("next", {})).allowed
    assert standin.outcomes() == [("edit", "ok")] * 2


async def test_plain_functions_run_beside_the_loop(guard: lictor.Guard) -> None:
    @guard.tool
    def where() -> bool:
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return True
        return False

    assert await where()


async def test_arguments_become_parameters_by_name(guard: lictor.Guard, standin: StandIn) -> None:
    """Scenario 126: a tool gets its parameters."""

    @guard.tool(name="write_file", without=("handle",))
    async def write(path: Path, /, text: str = "empty", *, handle: object, **more: Any) -> object:
        return path, text, handle, more

    await write(Path("/dev/null"), handle=object(), mode=("a", 1))
    (asked,) = standin.told("tool")
    assert asked.params == {"path": "/dev/null", "text": "empty", "mode": ["a", 1]}
    assert [(each.key, each.state) for each in asked.resources] == [("/dev/null", "other")]


async def test_two_arguments_of_one_name_are_denied_since_only_one_would_be_seen(
    guard: lictor.Guard, standin: StandIn
) -> None:
    @guard.tool(name="write_file", without=("handle",))
    async def write(path: str, handle: object = None, /, **more: Any) -> object:
        pytest.fail(f"it was called with {path}, {handle}, {more}")

    @guard.tool(denied="tell")
    async def run(*args: str, **more: Any) -> str:
        pytest.fail(f"it was called with {args}, {more}")

    with pytest.raises(lictor.ToolDenied, match="two arguments that go by the name path"):
        await write("secret.txt", path="harmless.txt")
    with pytest.raises(lictor.ToolDenied, match="the name handle"):
        await write("a.txt", object(), handle="b")
    assert "the name args" in await run("rm", args=["ls"])
    assert standin.told("tool") == []
    assert [tool for tool, _ in standin.refusals()] == ["write_file", "write_file", "run"]


async def test_parameters_that_are_no_json_are_denied(guard: lictor.Guard) -> None:
    """Scenario 118: invalid parameters."""
    with pytest.raises(lictor.ToolDenied, match="JSON"):
        await guard.call("add", {"a": object()}, lambda a: a)
    verdict = await guard.check("add", [1, 2])  # pyright: ignore[reportArgumentType]
    assert not verdict.allowed
    assert "not an object" in verdict.text
    assert await guard.call("add", {"a": 1}, lambda a: a) == 1, "the next valid call works"


async def test_a_function_that_yields_is_no_tool(guard: lictor.Guard) -> None:
    with pytest.raises(TypeError, match="yields"):

        @guard.tool
        def lines() -> Any:
            yield 1


async def test_what_yields_when_it_is_called_is_no_tool_either(guard: lictor.Guard) -> None:
    class Lines:
        def __call__(self) -> Any:
            yield 1

    with pytest.raises(TypeError, match="yields"):
        guard.tool(name="lines")(functools.partial(Lines()))
    with pytest.raises(TypeError, match="no name"):
        guard.tool(functools.partial(print))


async def test_an_object_that_is_called_as_a_coroutine_is_reported_when_it_has_run(
    guard: lictor.Guard, standin: StandIn
) -> None:
    class Tests:
        async def __call__(self, which: str) -> str:
            await asyncio.sleep(0)
            raise RuntimeError(f"{which} are red")

    with pytest.raises(RuntimeError, match="all are red"):
        await guard.tool(name="test")(Tests())("all")
    with pytest.raises(RuntimeError, match="most are red"):
        await lictor.guarded(name="test")(Tests())("most")
    assert standin.outcomes() == [("test", "crashed")] * 2


async def _not_yet() -> None:
    pytest.fail("nobody waits for it")


async def _one_by_one() -> AsyncIterator[int]:
    yield 1


@pytest.mark.parametrize(
    "begin",
    [
        _not_yet,
        _one_by_one,
        lambda: (1 for _ in "a"),
        lambda: map(str, [1]),
        lambda: asyncio.ensure_future(_not_yet()),
        concurrent.futures.Future,
    ],
    ids=["coroutine", "async generator", "generator", "map", "task", "future"],
)
async def test_a_tool_that_returns_work_to_be_done_later_has_crashed(
    guard: lictor.Guard, standin: StandIn, begin: Callable[[], object]
) -> None:
    async def test() -> object:
        return begin()

    with pytest.raises(TypeError, match=r"test returned a .*: its work is not done yet"):
        await guard.call("test", {}, test)
    assert standin.outcomes() == [("test", "crashed")]


async def test_an_open_file_is_a_result(guard: lictor.Guard, tmp_path: Path) -> None:
    with await guard.call("open", {}, lambda: (tmp_path / "a").open("w")) as file:
        assert file.writable()


async def test_a_result_that_nobody_took_is_reported_as_it_was_before_anything_else(
    guard: lictor.Guard, standin: StandIn, tmp_path: Path
) -> None:
    file = tmp_path / "a.txt"
    standin.silent = {"result"}
    await guard.call("write_file", {"path": "a.txt"}, lambda **_: file.write_text("mine"))
    verdict = await guard.check("read_file", {})
    assert not verdict.allowed
    assert "was not taken" in verdict.text
    stop = await guard.may_stop()
    assert (stop.allowed, stop.status, stop.answered) == (False, "unanswered", False)
    assert standin.told("tool")[1:] == standin.told("stop") == []

    file.write_text("somebody else's")
    standin.silent = set()
    assert (await guard.check("read_file", {})).allowed
    reports = standin.told("result")
    assert len({report.to_json() for report in reports}) == 1
    assert len({report.resources[0].digest for report in reports}) == 1


async def test_a_result_waits_behind_those_of_calls_that_ended_before(
    guard: lictor.Guard, standin: StandIn
) -> None:
    """Else a test that passed before an edit could be counted after it."""
    edited = asyncio.Event()
    editing = asyncio.create_task(guard.call("edit", {}, edited.wait))
    while not standin.told("tool"):
        await asyncio.sleep(0)
    standin.silent = {"result"}
    await guard.call("test", {}, lambda: None)
    edited.set()
    await editing
    assert standin.outcomes() == [("test", "ok")] * 2
    standin.silent = set()
    assert (await guard.check("deploy", {})).allowed
    assert standin.outcomes()[2:] == [("test", "ok"), ("edit", "ok")]


async def test_a_result_that_was_refused_closes_the_gate_until_it_is_taken(
    guard: lictor.Guard, standin: StandIn
) -> None:
    standin.refused = {"result"}
    await guard.call("edit", {}, lambda: None)
    assert not (await guard.check("deploy", {})).allowed
    standin.refused = set()
    assert (await guard.check("deploy", {})).allowed


async def test_silence_denies_a_call_and_blocks_a_stop(
    guard: lictor.Guard, standin: StandIn
) -> None:
    """Scenario 150: the gate denies, advice is silent, a stop is as configured."""
    standin.silent = {"tool", "stop"}
    with pytest.raises(lictor.ToolDenied, match=r"within 0\.5 s"):
        await guard.call("add", {}, lambda: pytest.fail("it was called"))
    assert not (await guard.may_stop()).allowed


async def test_silence_allows_a_stop_where_that_is_configured(
    governor: lictor.Governor, standin: StandIn
) -> None:
    async with governor.guard("s", stop_on_silence="allow", timeout_s=0.2) as guard:
        standin.silent = {"stop"}
        stop = await guard.may_stop()
    assert (stop.allowed, stop.status) == (True, "unanswered")


async def test_advice_is_kept_until_it_is_taken(
    governor: lictor.Governor, standin: StandIn
) -> None:
    heard: list[Advice] = []
    async with governor.guard("s", on_feedback=heard.append) as guard:
        blocks = [
            '<feedback provider="time" severity="info">\n17 seconds left.\n</feedback>',
            '<feedback provider="loops" severity="info">\nAgain?\n</feedback>',
            '<feedback provider="time" severity="info">\n6 seconds left.\n</feedback>',
        ]
        standin.advice = "\n\n".join(blocks[:2])
        await guard.call("a", {}, lambda: None)
        standin.advice = blocks[2]
        await guard.call("b", {}, lambda: None)
        told = [advice.text for advice in guard.advice]
        assert told == ["\n\n".join(blocks[:2]), blocks[2]] == [advice.text for advice in heard]
        # What a provider said later takes the place of what it said before, taken only now.
        assert guard.take_advice() == "\n\n".join(blocks[1:])
        assert guard.take_advice() == ""


async def test_a_listener_that_fails_harms_no_result(
    governor: lictor.Governor, standin: StandIn, caplog: pytest.LogCaptureFixture
) -> None:
    """Scenario 145: the tool's result is unharmed."""

    def fail(_advice: Advice) -> None:
        raise RuntimeError("deaf")

    standin.advice = "<feedback/>"
    async with governor.guard("s", on_feedback=fail) as guard:
        assert await guard.call("a", {}, lambda: 7) == 7
    assert "on_feedback failed" in caplog.text


async def test_turns_go_on_until_the_agent_may_stop(guard: lictor.Guard, standin: StandIn) -> None:
    """Scenario 114: the second turn's input says what is missing."""
    standin.stops = [False, False]
    prompts = [prompt async for prompt in guard.turns("write it")]
    assert prompts[0] == "write it"
    assert len(prompts) == 3
    assert "a file is missing" in prompts[1] == prompts[2]
    assert standin.told("begin")[-1].prompted
    assert guard.stopped is not None
    assert (guard.stopped.allowed, guard.stopped.status) == (True, "complete")


async def test_turns_that_nobody_judges_do_not_go_on_for_ever(
    guard: lictor.Guard, standin: StandIn
) -> None:
    standin.silent = {"stop"}
    turns = guard.turns("write it")
    assert await anext(turns) == "write it"
    assert "nobody could judge the stop" in await anext(turns)
    with pytest.raises(Unreachable, match="unjudged"):
        await anext(turns)


async def test_turns_that_nobody_counts_do_not_go_on_for_ever(
    guard: lictor.Guard, standin: StandIn
) -> None:
    """A service without its store blocks every stop, and can't count."""
    standin.stops, standin.counts = [False] * 9, False
    turns = guard.turns("write it")
    await anext(turns)
    await anext(turns)
    with pytest.raises(Unreachable, match="unjudged"):
        await anext(turns)


async def test_a_session_that_is_refused_does_not_begin(
    governor: lictor.Governor, standin: StandIn
) -> None:
    standin.refused = {"begin"}
    with pytest.raises(SessionRefused, match="the test says so"):
        async with governor.guard("s"):
            pytest.fail("it began")


async def test_a_session_that_nobody_answers_does_not_begin(governor: lictor.Governor) -> None:
    with pytest.raises(Unreachable, match="no service answers"):
        async with governor.guard("s"):
            pytest.fail("it began")


async def test_a_guarded_function_needs_a_guard(guard: lictor.Guard) -> None:
    @lictor.guarded(name="greet")
    async def greeting(name: str) -> str:
        return f"hello {name}"

    assert await greeting("you") == "hello you"
    await guard.__aexit__()
    with pytest.raises(lictor.ToolDenied, match="no guard is active for greet"):
        await greeting("you")


async def test_parameters_larger_than_the_broker_takes_are_denied(
    guard: lictor.Guard, standin: StandIn
) -> None:
    verdict = await guard.check("write_file", {"text": "x" * 5_000_000})
    assert not verdict.allowed
    assert "bytes" in verdict.text
    assert standin.told("tool") == []
    assert standin.refusals() == [("write_file", "lictor.client.too-large")]


async def test_state_and_usage_go_over_the_bus(guard: lictor.Guard, standin: StandIn) -> None:
    assert (await guard.used(input_tokens=10, cost_usd="0.01")).ok
    assert (await guard.snapshot("before")).ok
    assert (await guard.restore("it went wrong", snapshot_id="before")).ok
    assert (await guard.reset("a new start")).ok
    assert [name for name, _ in standin.asked][-4:] == ["usage", "snapshot", "restore", "reset"]


async def test_a_broker_that_is_gone_denies(own_servers: EmbeddedServers) -> None:
    from nats.aio.client import Client

    client = Client()
    await client.connect(own_servers.nats_url, allow_reconnect=False)
    service = StandIn()
    await client.subscribe(subjects.SESSION_REQUEST.any, cb=service.answer)
    async with (
        lictor.connect(own_servers.nats_url) as governor,
        governor.guard("s", timeout_s=0.3) as guard,
    ):
        await client.close()
        await own_servers.kill_nats()
        assert not (await guard.check("add", {})).allowed
        assert not (await guard.may_stop()).allowed
