"""What runs is what was asked about: a call whose arguments the caller changes while people decide is not made."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable
from typing import Any

import pytest
from nats.aio.client import Client

import lictor
from libs.client.tests.conftest import StandIn
from lictor.fast.verdicts import ToolVerdict
from lictor.runtimes.python.function_tools import CHANGED

JUDGED = {"services": ["shop"], "options": {"dry": True}}
Params = dict[str, Any]


class Host:
    """Keeps the arguments of its agent's call, and changes them while a person decides."""

    def __init__(self, standin: StandIn, change: Callable[[Params], object]) -> None:
        self.given: Params = {"services": ["shop"], "options": {"dry": True}}
        self.ran: list[Params] = []
        self._standin = standin
        self._change = change
        standin.asks = {"deploy": "waiting"}

    def heard(self, verdict: ToolVerdict) -> None:
        """The request waits: the arguments are changed, and a person approves what they were."""
        if verdict.asked:
            self._change(self.given)
            self._standin.asks = {"deploy": "approved"}

    def deploy(self, services: list[str], options: Params) -> str:
        self.ran.append({"services": list(services), "options": dict(options)})
        return "done"

    async def later(self, services: list[str], options: Params) -> str:
        return self.deploy(services, options)

    def not_made(self) -> None:
        """The call was judged and reported as it was asked about, and never ran."""
        assert self.ran == []
        assert self._standin.outcomes() == [("deploy", "denied")]
        assert [each.params for each in self._standin.told("tool")] == [JUDGED] * 2
        assert [each.params for each in self._standin.told("result")] == [JUDGED]


CHANGES: dict[str, Callable[[Params], object]] = {
    "a list grows": lambda given: given["services"].append("bank"),
    "a list is emptied": lambda given: given["services"].clear(),
    "an option is another": lambda given: given["options"].update(dry=False),
    "an option is 1 and not true": lambda given: given["options"].update(dry=1),
    "an option came": lambda given: given["options"].update(force=True),
    "an option has no JSON": lambda given: given["options"].update(dry=object()),
}


@pytest.fixture(params=list(CHANGES.values()), ids=list(CHANGES))
def host(request: pytest.FixtureRequest, standin: StandIn) -> Host:
    return Host(standin, request.param)


async def _call(guard: lictor.Guard, host: Host) -> object:
    return await guard.call("deploy", host.given, host.later, wait="1m")


async def _call_in_thread(guard: lictor.Guard, host: Host) -> object:
    return await guard.call("deploy", host.given, host.deploy, wait="1m")


async def _make(guard: lictor.Guard, host: Host) -> object:
    work = lambda: host.deploy(**host.given)  # noqa: E731
    return await guard.make("deploy", host.given, work, "raise", wait="1m")


async def _tool(guard: lictor.Guard, host: Host) -> object:
    return await guard.tool(name="deploy", wait="1m")(host.later)(**host.given)


async def _tool_in_thread(guard: lictor.Guard, host: Host) -> object:
    return await guard.tool(name="deploy", wait="1m")(host.deploy)(**host.given)


async def _guarded(guard: lictor.Guard, host: Host) -> object:
    assert guard is not None
    return await lictor.guarded(name="deploy", wait="1m")(host.later)(**host.given)


WAYS = (_call, _call_in_thread, _make, _tool, _tool_in_thread, _guarded)


@pytest.mark.parametrize("way", WAYS)
async def test_a_call_whose_arguments_were_changed_is_not_made(
    governor: lictor.Governor, host: Host, way: Any
) -> None:
    async with governor.guard("s", on_ask=host.heard) as guard:
        with pytest.raises(lictor.ToolDenied, match="changed while it was asked about") as denied:
            await way(guard, host)
    assert [each.policy_id for each in denied.value.verdict.denials] == [CHANGED]
    host.not_made()


def _blocking_call(guard: lictor.SyncGuard, host: Host) -> object:
    return guard.call("deploy", host.given, host.deploy, wait="1m")


def _blocking_make(guard: lictor.SyncGuard, host: Host) -> object:
    work = lambda: host.deploy(**host.given)  # noqa: E731
    return guard.make("deploy", host.given, work, "raise", wait="1m")


def _blocking_tool(guard: lictor.SyncGuard, host: Host) -> object:
    return guard.tool(name="deploy", wait="1m")(host.deploy)(**host.given)


def _blocking_guarded(guard: lictor.SyncGuard, host: Host) -> object:
    assert guard is not None
    return lictor.guarded(name="deploy", wait="1m")(host.deploy)(**host.given)


def _behind_callbacks(guard: lictor.SyncGuard, host: Host) -> object:
    """As LangChain runs a tool."""
    handler = lictor.GuardCallbackHandler(guard, wait="1m")
    run_id = uuid.uuid4()
    handler.on_tool_start({"name": "deploy"}, str(host.given), inputs=host.given, run_id=run_id)
    return host.deploy(**host.given)


BLOCKING_WAYS = (
    _blocking_call,
    _blocking_make,
    _blocking_tool,
    _blocking_guarded,
    _behind_callbacks,
)


@pytest.mark.parametrize("way", BLOCKING_WAYS)
async def test_a_blocking_guard_does_not_make_it_either(
    broker: Client, host: Host, way: Any
) -> None:
    assert broker.connected_url is not None
    url = broker.connected_url.geturl()

    def work() -> None:
        guarded = lictor.guard_sync("s", runtime="test", url=url, on_ask=host.heard)
        refused = pytest.raises(lictor.ToolDenied, match="changed while it was asked about")
        with guarded as guard, refused:
            way(guard, host)

    await asyncio.to_thread(work)
    host.not_made()


async def test_who_asks_to_be_told_reads_that_it_was_not_made(
    governor: lictor.Governor, standin: StandIn
) -> None:
    host = Host(standin, CHANGES["a list grows"])
    async with governor.guard("s", on_ask=host.heard) as guard:
        tool = guard.tool(name="deploy", wait="1m", denied="tell")(host.later)
        assert "changed while it was asked about" in await tool(**host.given)
    host.not_made()


async def test_an_edited_call_runs_with_what_the_person_wants_and_nothing_else(
    governor: lictor.Governor, standin: StandIn
) -> None:
    """What the edit leaves as it was is the caller's value: changed since, it is not what the person has seen."""
    host = Host(standin, CHANGES["a list grows"])
    wanted = {"services": ["shop"], "options": {"dry": False}}

    def heard(verdict: ToolVerdict) -> None:
        host.heard(verdict)
        if verdict.asked:
            standin.asks, standin.edited = {"deploy": "edited"}, wanted

    async with governor.guard("s", on_ask=heard, apply_edits=True) as guard:
        await guard.tool(name="deploy", wait="1m")(host.later)(**host.given)
    assert host.ran == [wanted]
    assert [each.params for each in standin.told("result")] == [wanted]


async def test_a_mapping_of_parameters_belongs_to_the_caller_again_once_it_is_given(
    governor: lictor.Governor, standin: StandIn
) -> None:
    """Only its values are shared: another value under a name is none of this call's."""
    host = Host(standin, lambda given: given.update(services=["bank"], more=1))
    async with governor.guard("s", on_ask=host.heard) as guard:
        assert await guard.call("deploy", host.given, host.later, wait="1m") == "done"
    assert host.ran == [JUDGED]
    assert [each.params for each in standin.told("result")] == [JUDGED]


async def test_values_that_are_no_business_of_the_guard_may_change(
    governor: lictor.Governor, standin: StandIn
) -> None:
    host = Host(standin, CHANGES["an option is another"])
    async with governor.guard("s", on_ask=host.heard) as guard:
        tool = guard.tool(name="deploy", wait="1m", without=("options",))(host.later)
        assert await tool(**host.given) == "done"
    assert host.ran == [{"services": ["shop"], "options": {"dry": False}}]


async def test_a_default_that_is_changed_is_an_argument_too(
    governor: lictor.Governor, standin: StandIn
) -> None:
    host = Host(standin, CHANGES["a list grows"])

    def deploy(services: list[str] = host.given["services"]) -> None:
        pytest.fail(f"it was called with {services}")

    async with governor.guard("s", on_ask=host.heard) as guard:
        with pytest.raises(lictor.ToolDenied, match="changed while it was asked about"):
            await guard.tool(wait="1m")(deploy)()


async def test_a_tool_gets_the_very_values_that_it_was_called_with(
    governor: lictor.Governor, standin: StandIn
) -> None:
    assert standin.asks == {}
    given = ["shop"]
    async with governor.guard("s") as guard:

        @guard.tool
        async def deploy(services: list[str]) -> None:
            assert services is given
            # Its own from here on.
            services.append("bank")

        await deploy(given)
    assert [each.params for each in standin.told("result")] == [{"services": ["shop"]}]
