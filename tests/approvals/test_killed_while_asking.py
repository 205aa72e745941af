"""Whatever is killed between question, decision, call and result: the call is made once, and nothing is lost."""

import asyncio
import os
import signal
import sys
from pathlib import Path
from typing import Any

import pytest
from asking_installation import Installation, made_in

import lictor

CALL = {"service": "shop"}
AGENT = """
import asyncio, json, sys
import lictor

url, made = sys.argv[1:]

def deploy(**params):
    with open(made, "a") as file:
        file.write(json.dumps(params) + chr(10))
    return "done"

async def main():
    async with lictor.connect(url) as governor, governor.guard("s", definition="deployer") as guard:
        print(await guard.call("deploy", {"service": "shop"}, deploy, wait="5m"), flush=True)

asyncio.run(main())
"""


@pytest.mark.parametrize("victim", ["feedback", "approvals", "nats"])
async def test_whatever_is_killed_the_call_is_made_once_and_no_decision_is_lost(
    place: Installation, governor: lictor.Governor, victim: str
) -> None:
    made: list[str] = []

    async def deploy(service: str) -> str:
        made.append(service)
        await place.kill(victim)
        return "done"

    async with governor.guard("s", definition="deployer") as guard:
        calling = asyncio.create_task(guard.call("deploy", CALL, deploy, wait="4m"))
        request = await place.asked("s")
        await place.kill(victim)
        await place.requested(request)
        await place.kill(victim)
        deciding = asyncio.create_task(place.decide(request))
        await place.kill(victim)
        await deciding
        assert await asyncio.wait_for(calling, 120) == "done"
        assert made == ["shop"]
        await place.kill(victim)
        # The result is on record, or is reported before anything else is asked.
        with pytest.raises(lictor.ToolDenied) as denied:
            await _asked_again(guard)
        assert isinstance(denied.value, lictor.ToolAsked)
        assert denied.value.approval.request_id != request.request_id
    assert made == ["shop"]
    kinds = [each.kind for each in await place.session("s")]
    assert (kinds.count("call_reserved"), kinds.count("call_finished")) == (1, 1)
    await place.reached(request, "called")
    states = [each.state.value for each in await place.entries(request.request_id)]
    assert states == ["requested", "approved", "calling", "called"]


@pytest.mark.parametrize("victim", ["feedback", "approvals", "nats"])
async def test_what_was_decided_while_nobody_waited_outlives_every_kill(
    place: Installation, governor: lictor.Governor, victim: str
) -> None:
    async with governor.guard("s", definition="deployer") as guard:
        with pytest.raises(lictor.ToolAsked):
            await guard.call("deploy", CALL, lambda **_: pytest.fail("it was called"))
        request = await place.asked("s")
        await place.requested(request)
        await place.decide(request)
        await place.reached(request, "approved")
        await place.kill(victim)
        verdict = await guard.check("deploy", CALL, call_id="c", wait="1m")
        assert verdict.allowed, verdict.text
        # The answer was lost, as far as the agent knows: it asks about the same call again.
        await place.kill(victim)
        async with asyncio.timeout(60):
            while not (verdict := await guard.check("deploy", CALL, call_id="c")).allowed:
                assert verdict.record_id is None, verdict.text
        await guard.result("deploy", CALL, call_id="c")
        with pytest.raises(lictor.ToolAsked):
            await _asked_again(guard)
    kinds = [each.kind for each in await place.session("s")]
    assert (kinds.count("call_reserved"), kinds.count("call_finished")) == (1, 1)


async def _asked_again(guard: lictor.Guard) -> None:
    """The same call, until the services that were killed answer."""
    async with asyncio.timeout(60):
        while True:
            verdict = await guard.check("deploy", CALL)
            if verdict.asked or verdict.allowed:
                break
    await guard.call("deploy", CALL, lambda **_: pytest.fail("it was called"))


async def test_an_agent_that_is_killed_while_it_waits_goes_on_by_the_same_call(
    place: Installation, tmp_path: Path
) -> None:
    made = tmp_path / "made"
    first = await _agent(place, made)
    request = await place.asked("s")
    first.send_signal(signal.SIGKILL)
    await first.wait()
    # Nobody waits, and a person decides all the same.
    await place.decide(request)
    assert made_in(made) == []
    second = await _agent(place, made)
    said, _ = await asyncio.wait_for(second.communicate(), 60)
    assert said.decode().strip() == "done"
    assert made_in(made) == [CALL]
    assert len([each for each in await place.session("s") if each.kind == "call_asked"]) == 1


async def test_of_many_agents_that_wait_for_one_request_one_makes_the_call(
    place: Installation, governor: lictor.Governor
) -> None:
    made: list[Any] = []
    guards = [governor.guard("s", definition="deployer") for _ in range(4)]
    for guard in guards:
        await guard.__aenter__()
    calls = [
        asyncio.create_task(
            guard.call("deploy", CALL, lambda **params: made.append(params), wait=6)
        )
        for guard in guards
    ]
    request = await place.asked("s")
    await place.decide(request)
    outcomes = await asyncio.gather(*calls, return_exceptions=True)
    assert len(made) == 1
    # The others are asked about anew: an approval is used once.
    assert sum(isinstance(each, lictor.ToolAsked) for each in outcomes) == 3, outcomes
    for guard in guards:
        await guard.__aexit__()


async def _agent(place: Installation, made: Path) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        AGENT,
        place.nats_url,
        str(made),
        stdout=asyncio.subprocess.PIPE,
        env={**os.environ, "XDG_STATE_HOME": str(made.parent)},
    )
