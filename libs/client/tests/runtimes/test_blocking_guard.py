"""The guard without asyncio, and behind LangChain-style callbacks."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any, TypeVar

import pytest
from nats.aio.client import Client

import lictor
from libs.client.tests.conftest import StandIn
from lictor.errors import SessionRefused, Unreachable

T = TypeVar("T")


@pytest.fixture
def url(broker: Client, standin: StandIn) -> str:  # noqa: ARG001 -- somebody must answer
    assert broker.connected_url is not None
    return broker.connected_url.geturl()


@contextmanager
def begun(url: str, **options: Any) -> Iterator[lictor.SyncGuard]:
    with lictor.guard_sync("s", url=url, runtime="test", **{"timeout_s": 2.0, **options}) as guard:
        yield guard


async def beside(work: Callable[[], T]) -> T:
    """The stand-in answers on this loop, so whatever blocks must not run on it."""
    return await asyncio.to_thread(work)


async def test_a_call_is_checked_made_and_reported(url: str, standin: StandIn) -> None:
    def work() -> int:
        with begun(url) as guard:
            return guard.call("add", {"a": 1, "b": 2}, lambda a, b: a + b)

    assert await beside(work) == 3
    assert standin.told("tool")[0].params == {"a": 1, "b": 2}
    assert standin.outcomes() == [("add", "ok")]


async def test_a_denied_call_is_not_made(url: str, standin: StandIn) -> None:
    standin.denied = {"rm"}

    def work() -> None:
        with begun(url) as guard:

            @guard.tool
            def rm() -> None:
                pytest.fail("it was called")

            rm()

    with pytest.raises(lictor.ToolDenied, match="not this one"):
        await beside(work)
    assert standin.outcomes() == []


@pytest.mark.parametrize(
    ("raised", "outcome"), [(ValueError, "crashed"), (KeyboardInterrupt, "interrupted")]
)
async def test_what_a_tool_raises_is_raised_and_reported(
    url: str, standin: StandIn, raised: type[BaseException], outcome: str
) -> None:
    def fail() -> None:
        raise raised("no")

    def work() -> str:
        with begun(url) as guard:
            try:
                guard.call("fail", {}, fail)
            except raised:
                return "raised"
        return "not raised"

    assert await beside(work) == "raised"
    assert standin.outcomes() == [("fail", outcome)]


async def test_a_coroutine_function_needs_the_other_guard(url: str) -> None:
    def work() -> None:
        with begun(url) as guard:

            @guard.tool
            async def rm() -> None: ...

    with pytest.raises(TypeError, match=r"governor\.guard"):
        await beside(work)


async def test_a_tool_that_returns_work_to_be_done_later_has_crashed(
    url: str, standin: StandIn
) -> None:
    class Tests:
        async def __call__(self) -> None:
            pytest.fail("nobody waits for it")

    def work() -> None:
        with begun(url) as guard:
            with pytest.raises(TypeError, match=r"governor\.guard"):
                guard.tool(name="test")(Tests())
            # What hides behind a plain function shows only in what it returns.
            with pytest.raises(TypeError, match="returned a coroutine: its work is not done yet"):
                _ = guard.tool(name="test")(lambda: Tests()())()
            with pytest.raises(TypeError, match="returned a generator"):
                guard.call("test", {}, lambda: (1 / 0 for _ in "a"))

    await beside(work)
    assert standin.outcomes() == [("test", "crashed")] * 2


async def test_a_guarded_function_finds_its_guard(url: str, standin: StandIn) -> None:
    @lictor.guarded
    def greet(name: str) -> str:
        return f"hello {name}"

    def work() -> str:
        with begun(url):
            return greet("you")

    assert await beside(work) == "hello you"
    assert standin.outcomes() == [("greet", "ok")]
    with pytest.raises(lictor.ToolDenied, match=r"lictor\.guard_sync"):
        greet("you")


async def test_two_arguments_of_one_name_are_denied(url: str, standin: StandIn) -> None:
    @lictor.guarded
    def write(path: str, /, **more: Any) -> None:
        pytest.fail(f"it was called with {path}, {more}")

    def work() -> None:
        with begun(url) as guard:
            with pytest.raises(lictor.ToolDenied, match="two arguments that go by the name path"):
                write("secret.txt", path="harmless.txt")
            tell = guard.tool(name="write", denied="tell")(lambda path, /, **more: (path, more))
            assert "the name path" in tell("secret.txt", path="harmless.txt")

    await beside(work)
    assert standin.told("tool") == []
    assert [tool for tool, _ in standin.refusals()] == ["write", "write"]


async def test_threads_share_a_guard(url: str, standin: StandIn) -> None:
    def work() -> list[int]:
        with begun(url) as guard, ThreadPoolExecutor(8) as pool:
            return list(pool.map(lambda n: guard.call("n", {"n": n}, lambda n: n), range(40)))

    assert await beside(work) == list(range(40))
    assert len({report.call_id for report in standin.told("result")}) == 40


async def test_a_result_that_nobody_took_closes_the_gate(url: str, standin: StandIn) -> None:
    def work() -> list[bool]:
        with begun(url) as guard:
            standin.silent = {"result"}
            guard.call("edit", {}, lambda: None)
            first = guard.check("deploy", {}).allowed
            standin.silent = set()
            return [first, guard.check("deploy", {}).allowed]

    assert await beside(work) == [False, True]
    assert standin.outcomes() == [("edit", "ok")] * 3


async def test_turns_go_on_until_the_agent_may_stop(url: str, standin: StandIn) -> None:
    standin.stops = [False]

    def work() -> list[str]:
        with begun(url) as guard:
            return list(guard.turns("write it"))

    first, second = await beside(work)
    assert (first, "a file is missing" in second) == ("write it", True)


async def test_a_session_that_can_not_begin_raises(url: str, standin: StandIn) -> None:
    def work() -> None:
        with begun(url):
            pytest.fail("it began")

    standin.refused = {"begin"}
    with pytest.raises(SessionRefused):
        await beside(work)
    standin.silent = {"begin"}
    with pytest.raises(Unreachable):
        await beside(work)


class Runs:
    """Tells a handler of tool runs as LangChain's callback manager does."""

    def __init__(self, handler: Any) -> None:
        self.handler = handler

    def tell(self, event: str, ignored_by: str | None, *args: Any, **kwargs: Any) -> None:
        if ignored_by is not None and getattr(self.handler, ignored_by):
            return
        try:
            getattr(self.handler, event)(*args, **kwargs)
        except Exception:
            if self.handler.raise_error:
                raise

    def tool(self, name: str, inputs: dict[str, Any] | str, work: Callable[[], Any]) -> Any:
        run = uuid.uuid4()
        self.tell(
            "on_tool_start",
            "ignore_agent",
            {"name": name, "description": ""},
            str(inputs),
            run_id=run,
            parent_run_id=None,
            tags=[],
            metadata={},
            inputs=inputs if isinstance(inputs, dict) else None,
            color="green",
            name=None,
        )
        try:
            output = work()
        except (Exception, KeyboardInterrupt) as error:
            self.tell("on_tool_error", "ignore_agent", error, run_id=run, parent_run_id=None)
            raise
        self.tell("on_tool_end", "ignore_agent", output, run_id=run, parent_run_id=None)
        return output


async def test_a_callback_handler_gates_and_reports_tools(url: str, standin: StandIn) -> None:
    standin.denied = {"rm"}

    def work() -> None:
        with begun(url) as guard:
            runs = Runs(lictor.GuardCallbackHandler(guard))
            runs.tool("ls", {"path": "."}, lambda: "a b c")
            runs.tool("cat", {"path": "x"}, lambda: SimpleNamespace(status="error"))
            with pytest.raises(ZeroDivisionError):
                runs.tool("divide", {}, lambda: 1 / 0)
            with pytest.raises(TypeError, match="not done yet"):
                runs.tool("test", {}, lambda: (1 / 0 for _ in "a"))
            with pytest.raises(lictor.ToolDenied, match="not this one"):
                runs.tool("rm", {}, lambda: pytest.fail("it was called"))

    await beside(work)
    assert standin.outcomes() == [
        ("ls", "ok"),
        ("cat", "failed"),
        ("divide", "crashed"),
        ("test", "crashed"),
    ]


async def test_a_bare_text_is_denied_unless_its_parameter_is_named(
    url: str, standin: StandIn
) -> None:
    def work() -> None:
        with begun(url) as guard:
            with pytest.raises(lictor.ToolDenied, match="bare text"):
                Runs(lictor.GuardCallbackHandler(guard)).tool("sh", "rm -r /", lambda: None)
            named = lictor.GuardCallbackHandler(guard, text_params={"sh": "command"})
            Runs(named).tool("sh", "ls", lambda: None)

    await beside(work)
    assert [asked.params for asked in standin.told("tool")] == [{"command": "ls"}]
    assert standin.refusals() == [("sh", "lictor.client.malformed-question")]


async def test_the_end_of_the_outermost_run_is_a_stop(url: str, standin: StandIn) -> None:
    standin.stops = [False]

    def work() -> None:
        with begun(url) as guard:
            runs = Runs(lictor.GuardCallbackHandler(guard))
            outer = uuid.uuid4()
            inner: dict[str, Any] = {"run_id": uuid.uuid4(), "parent_run_id": outer}
            runs.tell("on_chain_end", "ignore_chain", {}, **inner)
            with pytest.raises(lictor.StopBlocked, match="a file is missing"):
                runs.tell("on_chain_end", "ignore_chain", "done", run_id=outer, parent_run_id=None)
            runs.tell("on_chain_end", "ignore_chain", {}, run_id=outer, parent_run_id=None)

    await beside(work)
    assert [asked.final_message for asked in standin.told("stop")] == ["done", None]


async def test_what_else_a_handler_is_told_is_passed_over(url: str) -> None:
    def work() -> None:
        with begun(url) as guard:
            handler = lictor.GuardCallbackHandler(guard)
            runs = Runs(handler)
            runs.tell("on_text", None, "text", run_id=uuid.uuid4())
            runs.tell("on_llm_start", "ignore_llm", {}, [], run_id=uuid.uuid4())
            runs.tell("on_something_new", None)
            runs.tell(
                "on_tool_end", "ignore_agent", "of a run that began before", run_id=uuid.uuid4()
            )
            assert not hasattr(handler, "something_else")

    await beside(work)
