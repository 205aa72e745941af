"""The service, or what it stands on, killed in the middle of everything: nothing is lost, nothing is doubled."""

import asyncio
import shutil
from contextlib import AsyncExitStack

import nats
import pytest
from nats.errors import Error as NatsError
from nats.errors import NoRespondersError
from reporting import reach, service_process, wait_until_ready

from lictor_bus.names import subjects

SESSIONS = 4
RESULTS = 500
DENIALS = 10


@pytest.mark.timeout(300)
async def test_kills_in_the_middle_of_two_thousand_results_leave_every_count_right(
    clean_infra, agents, start
):
    """Two instances; one after the other is killed with -9 and started again."""
    async with AsyncExitStack() as running:
        asker = await running.enter_async_context(start(clean_infra, agents, 0))
        processes = [
            await running.enter_async_context(_instance(clean_infra, agents)) for _ in range(2)
        ]
        await wait_until_ready(asker.client, "feedback")
        askers = [asker.of(f"session {number}") for number in range(SESSIONS)]
        for each in askers:
            await each.begin()
        limit = asyncio.Semaphore(24)

        async def report(each, number: int) -> None:
            async with limit:
                await each.result_until_recorded("test", f"c{number}")
                if number % (RESULTS // DENIALS) == 0:
                    await _deny(each, f"d{number}")

        working = asyncio.gather(
            *(report(each, number) for number in range(RESULTS) for each in askers)
        )
        for kill in range(4):
            await reach(asker.client, "SESSIONS", SESSIONS * RESULTS * (kill + 1) // 6)
            processes[kill % 2].kill()
            await processes[kill % 2].wait()
            processes[kill % 2] = await running.enter_async_context(_instance(clean_infra, agents))
        await working

        for each in askers:
            tally = await each.tally()
            assert (tally.calls, tally.succeeded) == (RESULTS + DENIALS, RESULTS)
            await _each_decision_once(each)
            await _each_feedback_once(each)


def _instance(endpoints, agents):
    return service_process("lictor_feedback", endpoints, LICTOR_AGENTS=str(agents))


async def _deny(asker, call_id: str) -> None:
    """Ask for what is denied, as often as it takes to be told so by somebody who recorded it."""
    while True:
        try:
            answer = await asker.check("nobody knows it", call_id)
        except (NatsError, TimeoutError):
            continue
        assert answer["decision"] == "deny"
        if answer["record_id"]:
            return


async def _each_decision_once(asker) -> None:
    denied = [entry.entry_id for entry in await asker.entries() if entry.kind == "call_denied"]
    task = subjects.token(f"task of {asker.session}")
    async with asyncio.timeout(60):
        while len(found := await _record_ids(asker, task)) < len(denied):
            await asyncio.sleep(0.05)
    assert found == denied
    assert len(denied) == DENIALS


async def _record_ids(asker, task: str) -> list[str]:
    stored = await asker.bodies("DECISIONS", f"lictor.dec.*.block.guard.{task}")
    return [each["record_id"] for each in stored]


async def _each_feedback_once(asker) -> None:
    told = [
        each.feedback_id
        for entry in await asker.entries()
        if entry.kind == "feedback_delivered"
        for each in entry.feedback
    ]
    async with asyncio.timeout(60):
        while len(
            found := await asker.bodies("GUIDANCE", subjects.GUIDANCE.where(session=asker.key))
        ) < len(told):
            await asyncio.sleep(0.05)
    assert [each["feedback_id"] for each in found] == told


@pytest.mark.timeout(120)
async def test_a_store_that_is_killed_and_emptied_in_the_middle_costs_nothing(
    own_servers, agents, start
):
    async with start(own_servers.endpoints, agents) as asker:
        await asker.begin()
        await asker.result("test", "c1")
        assert (await asker.check("deploy", "c2"))["decision"] == "allow"

        await own_servers.kill_redis()
        denied = await asker.check("deploy", "c3")
        assert (denied["decision"], denied["policy_id"]) == ("deny", "lictor.unavailable")
        stopped = await asker.ask("stop", reason="done")
        assert (stopped["decision"], stopped["policy_id"]) == ("deny", "lictor.unavailable")
        assert not (await asker.ask("collect", call_id="c3"))["ok"]
        assert not (await asker.ask("snapshot", snapshot_id="a"))["ok"]
        assert (await asker.begin())["reason"] == "The session goes on."
        reported = await asker.result("edit", "c4")
        assert (reported["ok"], "store" in reported["reason"]) == (True, True)

        # Without its files: nothing of what it knew is left.
        await own_servers.start_redis()
        assert (await asker.check("deploy", "c5"))["decision"] == "deny"
        assert (await asker.result("edit", "c4"))["duplicate"]
        tally = await asker.tally()
        assert (tally.calls, tally.succeeded, tally.denied) == (3, 2, 1)


async def test_a_store_that_comes_back_as_it_was_earlier_allows_nothing_by_what_it_forgot(
    own_servers, agents, start, tmp_path
):
    """As after a power loss that took its last second: the edit that made the test stale."""
    data, kept = tmp_path / "servers" / "redis", tmp_path / "earlier"
    async with start(own_servers.endpoints, agents) as asker:
        await asker.begin()
        await asker.result("test", "c1")
        assert (await asker.check("deploy", "c2"))["decision"] == "allow"
        shutil.copytree(data, kept, ignore=shutil.ignore_patterns("*.sock"))
        await asker.result("edit", "c3")
        await own_servers.kill_redis()
        shutil.rmtree(data)
        shutil.copytree(kept, data)
        await own_servers.start_redis()
        assert (await asker.check("deploy", "c4"))["decision"] == "deny"
        assert (await asker.result("edit", "c3"))["duplicate"]


@pytest.mark.timeout(120)
async def test_a_broker_that_is_killed_is_waited_for_and_nothing_is_allowed_meanwhile(
    own_servers, agents, start
):
    """Scenario 150: silence is no allowance; and the service comes back by itself."""
    async with start(own_servers.endpoints, agents) as asker:
        await asker.begin()
        await asker.result("test", "c1")
        await own_servers.kill_nats()
        await own_servers.start_nats()
        await asker.result_until_recorded("edit", "c2")
        assert (await asker.check("deploy", "c3"))["decision"] == "deny"


async def test_without_the_service_nobody_answers(clean_infra, agents, start):
    """Scenario 150: what silence means is the adapter's to say; the bus itself says that there is nobody."""
    async with start(clean_infra, agents) as asker:
        await asker.begin()
    async with AsyncExitStack() as running:
        client = await nats.connect(clean_infra.nats_url)
        running.push_async_callback(client.close)
        with pytest.raises(NoRespondersError):
            await client.request("lictor.gate.tool.rt", b"{}", timeout=2)


async def test_a_service_that_is_told_to_stop_writes_down_what_it_allowed(
    clean_infra, agents, start
):
    async with start(clean_infra, agents) as asker:
        await asker.begin()
        for number in range(40):
            await asker.check("note", f"c{number}")
    async with start(clean_infra, agents, 0) as later:
        kept = await later.bodies("GATES", f"lictor.gated.*.tool.{subjects.token('task of s1')}")
    assert [each["request"]["call_id"] for each in kept] == [f"c{n}" for n in range(40)]
