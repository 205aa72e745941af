"""Calls that a person decides about, in a guard: only the gate's yes makes the call, and the host may wait for it."""

from __future__ import annotations

import asyncio
import threading
import uuid
from collections.abc import AsyncIterator, Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from nats.aio.client import Client

import lictor
from libs.client.tests.conftest import REQUEST, StandIn
from lictor.fast.session_operations import approval_hints
from lictor.fast.verdicts import ToolVerdict
from lictor.runtimes.wait_time import patience

NEVER = "it was called"


async def until(holds: Callable[[], object]) -> None:
    async with asyncio.timeout(20):
        while not holds():
            await asyncio.sleep(0.01)


def never(to: str) -> str:
    pytest.fail(f"{NEVER} with {to}")


@pytest.fixture
def told() -> list[ToolVerdict]:
    return []


@pytest.fixture
async def guard(
    governor: lictor.Governor, standin: StandIn, told: list[ToolVerdict]
) -> AsyncIterator[lictor.Guard]:
    standin.asks = {"deploy": "waiting"}
    async with governor.guard("s", on_ask=told.append, timeout_s=0.5) as begun:
        yield begun


@pytest.fixture
def blocking(broker: Client, standin: StandIn) -> lictor.SyncGuard:
    standin.asks = {"deploy": "waiting"}
    assert broker.connected_url is not None
    return lictor.guard_sync("s", runtime="test", url=broker.connected_url.geturl(), timeout_s=0.5)


async def test_without_a_wait_the_call_is_not_made_and_names_its_request(
    guard: lictor.Guard, told: list[ToolVerdict], standin: StandIn
) -> None:
    with pytest.raises(lictor.ToolAsked, match=REQUEST) as asked:
        await guard.call("deploy", {"to": "eu"}, never)
    assert isinstance(asked.value, lictor.ToolDenied)
    assert asked.value.approval.request_id == REQUEST
    assert [each.asked for each in told] == [True]
    # It has not ended: there is nothing to hear about it, nor to report.
    assert len(standin.told("collect")) == 1
    assert standin.outcomes() == []


async def test_an_approved_call_is_made_once_and_reported(
    guard: lictor.Guard, standin: StandIn, told: list[ToolVerdict]
) -> None:
    calling = asyncio.create_task(guard.call("deploy", {}, lambda: "done", wait="10m"))
    await until(lambda: told)
    standin.asks = {"deploy": "approved"}
    assert await asyncio.wait_for(calling, 10) == "done"
    assert standin.outcomes() == [("deploy", "ok")]
    # One call, however often it was asked about.
    assert len({each.call_id for each in standin.told("tool")}) == 1
    assert [each.approval.standing for each in told if each.approval] == ["waiting", "approved"]


async def test_what_the_broker_repeats_ends_a_pause(
    governor: lictor.Governor, standin: StandIn, broker: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lictor.fast.call_wait.FIRST_PAUSE_S", 600.0)
    standin.asks = {"deploy": "waiting"}
    asked = asyncio.Event()
    async with governor.guard("s", on_ask=lambda _: asked.set()) as guard:
        calling = asyncio.create_task(guard.call("deploy", {}, lambda: "done", wait="1h"))
        await asked.wait()
        standin.asks = {"deploy": "approved"}
        while not calling.done():
            await broker.publish(
                approval_hints("test", REQUEST).replace("*", "approved"), b"no matter"
            )
            await asyncio.wait({calling}, timeout=0.1)
        assert calling.result() == "done"


async def test_guidance_is_what_a_rejected_call_raises(
    guard: lictor.Guard, standin: StandIn
) -> None:
    standin.asks = {"deploy": "rejected"}
    with pytest.raises(lictor.ToolDenied, match="not on a Friday") as denied:
        await guard.call("deploy", {}, lambda: pytest.fail(NEVER), wait="10m")
    assert not isinstance(denied.value, lictor.ToolAsked)


async def test_a_cancelled_wait_leaves_the_request_and_makes_no_call(
    guard: lictor.Guard, standin: StandIn, told: list[ToolVerdict]
) -> None:
    calling = asyncio.create_task(
        guard.call("deploy", {}, lambda: pytest.fail(NEVER), wait=timedelta(hours=1))
    )
    await until(lambda: told)
    calling.cancel()
    with pytest.raises(asyncio.CancelledError):
        await calling
    assert standin.told("cancel") == []


async def test_a_request_is_cancelled_by_its_id(guard: lictor.Guard, standin: StandIn) -> None:
    assert (await guard.cancel_approval(REQUEST, "no longer needed")).ok
    (asked,) = standin.told("cancel")
    assert (asked.approval_request, asked.why) == (REQUEST, "no longer needed")


async def test_a_gate_that_falls_silent_does_not_end_the_wait(
    guard: lictor.Guard, standin: StandIn, told: list[ToolVerdict]
) -> None:
    calling = asyncio.create_task(guard.call("deploy", {}, lambda: "done", wait="10m"))
    await until(lambda: told)
    standin.silent = {"tool"}
    before = len(standin.told("tool"))
    await until(lambda: len(standin.told("tool")) >= before + 2)
    standin.silent, standin.asks = set(), {"deploy": "approved"}
    assert await asyncio.wait_for(calling, 20) == "done"


async def test_a_tool_waits_as_long_as_it_says(guard: lictor.Guard, standin: StandIn) -> None:
    @guard.tool(wait=0.2)
    async def deploy() -> None:
        pytest.fail(NEVER)

    with pytest.raises(lictor.ToolAsked):
        await deploy()
    assert len(standin.told("tool")) > 1


async def test_whoever_asks_to_be_told_reads_the_request(guard: lictor.Guard) -> None:
    @guard.tool(denied="tell")
    async def deploy() -> str:
        pytest.fail(NEVER)

    assert REQUEST in await deploy()


async def test_an_edit_is_read_unless_the_host_applies_it(
    guard: lictor.Guard, standin: StandIn
) -> None:
    standin.asks, standin.edited = {"deploy": "edited"}, {"to": "staging"}
    with pytest.raises(lictor.ToolDenied, match="staging"):
        await guard.call("deploy", {"to": "eu"}, never, wait="10m")


async def test_an_applied_edit_is_another_call_with_exactly_these_parameters(
    governor: lictor.Governor, standin: StandIn
) -> None:
    standin.asks, standin.edited = {"deploy": "edited"}, {"to": "staging", "path": "b"}
    async with governor.guard("s", apply_edits=True) as guard:

        @guard.tool(without=("handle",))
        def deploy(handle: object, to: str, path: Path = Path("a")) -> tuple[Any, ...]:
            return handle, to, path

        assert await deploy(standin, "eu") == (standin, "staging", Path("b"))
        assert await guard.call("deploy", {"to": "eu"}, lambda to, path: to + path) == "stagingb"
    first, second = standin.told("tool")[:2]
    assert first.call_id != second.call_id
    assert second.params == standin.edited
    assert [each.params for each in standin.told("result")] == [standin.edited] * 2


@pytest.mark.parametrize("edited", [{"to": "x", "more": 1}, {}, {"other": "x"}])
async def test_an_edit_that_the_function_can_not_take_is_read(
    governor: lictor.Governor, standin: StandIn, edited: dict[str, Any]
) -> None:
    standin.asks, standin.edited = {"deploy": "edited"}, {**edited, "unlike": "any call"}
    async with governor.guard("s", apply_edits=True) as guard:

        @guard.tool(denied="tell")
        def deploy(to: str = "eu") -> str:
            return never(to)

        assert "any call" in await deploy()


@pytest.mark.parametrize(
    ("wait", "seconds"),
    [
        ("90s", 90),
        ("10m", 600),
        ("2h", 7200),
        ("1d", 86_400),
        (0, 0),
        (1.5, 1.5),
        (timedelta(minutes=1), 60),
    ],
)
def test_a_time_to_wait_is_what_it_says(wait: Any, seconds: float) -> None:
    found = patience(wait)
    assert found is not None
    assert found.seconds == seconds


@pytest.mark.parametrize(
    "wait",
    [
        "",
        "10",
        "10 m",
        "m",
        "-1s",
        "1.5h",
        "10m ",
        "\u0661s",
        -1,
        float("nan"),
        float("inf"),
        True,
        [1],
        b"1s",
        timedelta(-1),
    ],
)
async def test_what_is_no_time_is_refused_before_anything_is_asked(
    guard: lictor.Guard, standin: StandIn, wait: Any
) -> None:
    with pytest.raises((TypeError, ValueError), match="wait"):
        await guard.call("deploy", {}, lambda: pytest.fail(NEVER), wait=wait)
    with pytest.raises((TypeError, ValueError), match="wait"):
        guard.tool(wait=wait)(lambda: None)
    assert standin.told("tool") == []


async def test_threads_share_a_guard_while_one_of_them_waits(
    blocking: lictor.SyncGuard, standin: StandIn
) -> None:
    waits = threading.Event()
    blocking._on_ask = lambda _: waits.set()  # pyright: ignore[reportPrivateUsage]

    def work() -> str:
        with blocking as guard:
            waiting: list[str] = []
            thread = threading.Thread(
                target=lambda: waiting.append(guard.call("deploy", {}, lambda: "done", wait="10m"))
            )
            thread.start()
            assert waits.wait(10)
            assert guard.call("read", {}, lambda: "read") == "read"
            standin.asks = {"deploy": "approved"}
            thread.join(20)
            return waiting[0]

    assert await asyncio.to_thread(work) == "done"
    assert standin.outcomes() == [("read", "ok"), ("deploy", "ok")]


async def test_a_blocking_guard_hears_what_the_broker_repeats(
    blocking: lictor.SyncGuard, standin: StandIn, broker: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lictor.fast.call_wait.FIRST_PAUSE_S", 600.0)
    waits = threading.Event()
    blocking._on_ask = lambda _: waits.set()  # pyright: ignore[reportPrivateUsage]

    def work() -> str:
        with blocking as guard:
            return guard.call("deploy", {}, lambda: "done", wait="1h")

    working = asyncio.ensure_future(asyncio.to_thread(work))
    await asyncio.to_thread(waits.wait, 10)
    standin.asks = {"deploy": "approved"}
    while not working.done():
        await broker.publish(approval_hints("test", REQUEST).replace("*", "approved"), b"x" * 5000)
        await asyncio.wait({working}, timeout=0.1)
    assert working.result() == "done"


async def test_a_blocking_guard_without_a_wait_raises_what_is_asked(
    blocking: lictor.SyncGuard, standin: StandIn
) -> None:
    def work() -> None:
        with blocking as guard:
            with pytest.raises(lictor.ToolAsked, match=REQUEST):
                guard.call("deploy", {}, lambda: pytest.fail(NEVER))
            assert guard.cancel_approval(REQUEST, "no longer needed").ok

    await asyncio.to_thread(work)
    assert len(standin.told("cancel")) == 1


async def test_a_tool_behind_callbacks_waits_or_raises_what_is_asked(
    blocking: lictor.SyncGuard, standin: StandIn
) -> None:
    def start(**options: Any) -> None:
        handler = lictor.GuardCallbackHandler(blocking, **options)
        handler.on_tool_start({"name": "deploy"}, "", inputs={}, run_id=uuid.uuid4())

    def work() -> None:
        with blocking:
            with pytest.raises(lictor.ToolAsked, match=REQUEST):
                start()
            blocking._on_ask = lambda _: standin.asks.update(deploy="approved")  # pyright: ignore[reportPrivateUsage]
            start(wait="1m")
            with pytest.raises(ValueError, match="wait"):
                start(wait="soon")

    await asyncio.to_thread(work)


async def test_a_guarded_function_waits_as_long_as_it_says(
    guard: lictor.Guard, standin: StandIn, told: list[ToolVerdict]
) -> None:
    @lictor.guarded(wait="1m")
    async def deploy() -> str:
        return "done"

    assert guard is not None
    calling = asyncio.create_task(deploy())
    await until(lambda: told)
    standin.asks = {"deploy": "approved"}
    assert await calling == "done"


async def test_a_bare_question_is_answered_ask_only_if_it_knows_of_that(
    governor: lictor.Governor, standin: StandIn
) -> None:
    standin.asks = {"deploy": "waiting"}
    known = await governor.may("deploy", {}, task_id="t", knows_ask=True)
    assert known.approval is not None
    assert (known.decision, known.approval.request_id) == ("ask", REQUEST)
    assert (await governor.may("deploy", {}, task_id="t")).decision == "deny"
