"""An agent's call waits for a person, with real services: question, decision, call and result."""

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import pytest
import warm_processes
from asking_installation import ANN, BEN, Installation

import lictor
from lictor.fast.verdicts import ToolVerdict

NEVER = "it was called"
CALL = {"service": "shop", "target": "production"}


async def never(**_: Any) -> None:
    pytest.fail(NEVER)


async def deploy(**params: Any) -> str:
    return f"deployed {params['service']} to {params['target']}"


@pytest.fixture
def guard(governor: lictor.Governor) -> lictor.Guard:
    return governor.guard("s", definition="deployer")


async def test_an_approved_call_is_made_once_and_the_next_one_asks_anew(
    place: Installation, guard: lictor.Guard
) -> None:
    async with guard:
        calling = asyncio.create_task(guard.call("deploy", CALL, deploy, wait="1m"))
        request = await place.asked("s")
        assert request.params == CALL
        await place.decide(request)
        assert await calling == "deployed shop to production"
        with pytest.raises(lictor.ToolAsked) as asked:
            await guard.call("deploy", CALL, never)
        assert asked.value.approval.request_id != request.request_id
    kinds = [each.kind for each in await place.session("s")]
    assert kinds[:3] == ["session_begun", "call_asked", "call_reserved"]
    assert kinds.count("call_finished") == 1
    await place.reached(request, "called")


async def test_what_the_caller_changes_while_people_decide_is_not_made(
    place: Installation, guard: lictor.Guard
) -> None:
    given = ["shop"]
    async with guard:

        @guard.tool(wait="1m")
        async def deploy(services: list[str]) -> None:
            pytest.fail(f"{NEVER} with {services}")

        calling = asyncio.ensure_future(deploy(given))
        request = await place.asked("s")
        given.append("bank")
        await place.decide(request)
        with pytest.raises(lictor.ToolDenied, match="changed while it was asked about"):
            await calling
    (ended,) = [each for each in await place.session("s") if each.kind == "call_finished"]
    assert (ended.outcome, ended.params) == ("denied", request.params)
    await place.reached(request, "call_failed")


async def test_a_person_approves_with_the_command(
    place: Installation, guard: lictor.Guard, tmp_path: Path
) -> None:
    (tmp_path / "key").mkdir()
    command = Path(sys.executable).with_name("lictor")

    async def cli(*arguments: str) -> str:
        done = await asyncio.to_thread(
            warm_processes.run,
            [command, "approvals", *arguments],
            cwd=tmp_path,
            env={"PATH": "/usr/bin:/bin", "LICTOR_NATS_URL": place.nats_url},
            timeout=60,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    await cli("keygen", "key/cleo.pem", "--name", "cleo", "--add", "approvers.json")
    async with guard:
        calling = asyncio.create_task(guard.call("deploy", CALL, deploy, wait="1m"))
        request = await place.asked("s")
        await place.requested(request)
        assert request.request_id in await cli("list")
        shown = await cli("show", request.request_id)
        assert "production" in shown
        words = ("--key", "key/cleo.pem", "--yes", "--hash", request.binding_hash)
        await cli("approve", request.request_id, *words)
        assert await calling == "deployed shop to production"


async def test_a_rejected_call_is_not_made_and_the_agent_reads_why(
    place: Installation, guard: lictor.Guard
) -> None:
    async with guard:
        calling = asyncio.create_task(guard.call("deploy", CALL, never, wait="1m"))
        request = await place.asked("s")
        await place.decide(request, "reject", reason="deploy to staging first")
        with pytest.raises(lictor.ToolDenied, match="deploy to staging first") as denied:
            await calling
        assert not isinstance(denied.value, lictor.ToolAsked)
        # It stays so, under whatever id.
        with pytest.raises(lictor.ToolDenied, match="deploy to staging first"):
            await guard.call("deploy", CALL, never, wait="1m")


async def test_an_edited_call_is_made_with_what_the_person_wants_and_once(
    place: Installation, governor: lictor.Governor
) -> None:
    wanted = {"service": "shop", "target": "staging"}
    told: list[ToolVerdict] = []
    async with governor.guard(
        "s", definition="deployer", apply_edits=True, on_ask=told.append
    ) as guard:
        calling = asyncio.create_task(guard.call("deploy", CALL, deploy, wait="1m"))
        await place.decide(await place.asked("s"), params=wanted)
        assert await calling == "deployed shop to staging"
        standings = [each.approval.standing for each in told if each.approval]
        assert standings[0] == "waiting"
        assert "edited" in standings
        with pytest.raises(lictor.ToolAsked):
            await guard.call("deploy", wanted, never)


async def test_an_agent_that_reads_an_edit_makes_that_call_itself(
    place: Installation, guard: lictor.Guard
) -> None:
    wanted = {"service": "shop", "target": "staging"}
    async with guard:
        calling = asyncio.create_task(guard.call("deploy", CALL, never, wait="1m"))
        await place.decide(await place.asked("s"), params=wanted)
        with pytest.raises(lictor.ToolDenied, match='"target":"staging"') as denied:
            await calling
        approval = denied.value.verdict.approval
        assert approval is not None
        assert approval.params == wanted
        assert (
            await guard.call("deploy", dict(approval.params or {}), deploy)
            == "deployed shop to staging"
        )


async def test_what_nobody_decides_in_time_is_denied_and_may_be_asked_again(
    place: Installation, guard: lictor.Guard
) -> None:
    async with guard:
        with pytest.raises(lictor.ToolDenied, match="until") as denied:
            await guard.call("brief", {}, never, wait="1m")
        assert not isinstance(denied.value, lictor.ToolAsked)
        with pytest.raises(lictor.ToolAsked):
            await guard.call("brief", {}, never)
    assert (await place.asked("s", 2)).binding.number == 2


async def test_two_people_are_needed_and_one_of_them_twice_is_one(
    place: Installation, guard: lictor.Guard
) -> None:
    async with guard:
        calling = asyncio.create_task(guard.call("transfer", {}, lambda: "done", wait="1m"))
        request = await place.asked("s")
        await place.decide(request, key=ANN)
        await place.reached(request, "endorsed")
        with pytest.raises(lictor.ToolAsked):
            await guard.call("transfer", {}, never)
        await place.decide(request, key=BEN)
        assert await calling == "done"


async def test_a_cancelled_request_is_asked_anew_whatever_people_say(
    place: Installation, guard: lictor.Guard
) -> None:
    async with guard:
        with pytest.raises(lictor.ToolAsked) as asked:
            await guard.call("deploy", CALL, never)
        request_id = asked.value.approval.request_id
        cancelled = await guard.cancel_approval(request_id, "not needed any more")
        assert cancelled.ok, cancelled.text
        await place.reached(await place.asked("s"), "cancelled")
        with pytest.raises(lictor.ToolAsked) as again:
            await guard.call("deploy", CALL, never)
        assert again.value.approval.request_id != request_id


async def test_a_blocking_agent_waits_too(place: Installation) -> None:
    def work() -> str:
        url = place.nats_url
        with lictor.guard_sync("s", definition="deployer", url=url) as guard:
            return guard.call("deploy", CALL, lambda **_: "done", wait="1m")

    working = asyncio.ensure_future(asyncio.to_thread(work))
    await place.decide(await place.asked("s"))
    assert await working == "done"


async def test_a_policy_that_denies_is_not_lifted_by_a_person(
    place: Installation, guard: lictor.Guard
) -> None:
    """The approval is of a call that nothing else stands against, when it is made."""
    async with guard:
        with pytest.raises(lictor.ToolAsked):
            await guard.call("deploy", CALL, never)
        await place.decide(await place.asked("s"))
        # Another call than the approved one, in any way, is another question.
        for other in ({**CALL, "target": "production2"}, {**CALL, "more": 1}, {}):
            with pytest.raises(lictor.ToolAsked):
                await guard.call("deploy", other, never)
        with pytest.raises(lictor.ToolDenied):
            await guard.call("unheard_of", CALL, never)
        assert await guard.call("deploy", json.loads(json.dumps(CALL)), deploy, wait="1m")
