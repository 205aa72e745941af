"""Halts at the gate: told to the agent, shared by instances, and kept through kills, races and a lost Redis."""

import asyncio
import json
import uuid
from contextlib import AsyncExitStack

import pytest
import redis.asyncio
from reporting import service_process, wait_until_ready

from lictor_bus.logs.halts import HALTS
from lictor_bus.names import subjects
from lictor_bus.wire.appends import Appends
from lictor_schema.sessions.halt import HaltEntry


def order(kind: str = "halted", *, by: str = "ada", reason: str = "it deletes files", **target):
    return {
        "request_id": str(uuid.uuid4()),
        "order": kind,
        "target": target or {"scope": "all"},
        "by": by,
        "reason": reason,
    }


def of_session(asker) -> dict[str, str]:
    return {"scope": "session", "runtime": asker.runtime, "session_id": asker.session}


async def ordered(asker, order, timeout_s: float = 10):
    return await asker.raw("lictor.desk.halt", json.dumps(order).encode(), timeout_s)


async def done(asker, order):
    answer = await ordered(asker, order)
    assert answer["outcome"] == "done", answer
    return answer


async def test_a_halted_session_is_denied_every_call_and_told_by_whom_and_why(asker):
    await asker.begin()
    assert (await asker.check("note", "c1"))["decision"] == "allow"
    assert (await done(asker, order(**of_session(asker))))["state"] == "halted"

    denied = await asker.check("note", "c2")
    assert (denied["decision"], denied["policy_id"]) == ("deny", "lictor.halted")
    assert "ada halted this session" in denied["reason"]
    assert "it deletes files" in denied["reason"]
    assert "you can't mend this: report it to whoever runs you" in denied["remedy"]
    other = asker.of("s2")
    await other.begin()
    assert (await other.check("note", "c1"))["decision"] == "allow"

    assert (await done(asker, order("resumed", **of_session(asker))))["state"] == "running"
    assert (await asker.check("note", "c3"))["decision"] == "allow"


async def test_the_log_of_the_session_says_who_halted_and_resumed_it_and_why(asker):
    await asker.begin()
    halt = order(**of_session(asker))
    for _ in range(2):
        await done(asker, halt)
    await done(asker, order("resumed", **of_session(asker), by="bob", reason="it was fine"))
    entries = await asker.entries()
    assert [each.kind for each in entries] == ["session_begun", "session_halted", "session_resumed"]
    assert (entries[1].by, entries[1].reason) == ("ada", "it deletes files")
    assert (entries[2].by, entries[2].reason) == ("bob", "it was fine")
    assert entries[1].task_id == "task of s1"
    assert entries[1].request_id == halt["request_id"]


async def test_what_is_running_may_report_keep_its_state_and_stop(asker):
    await asker.begin()
    await asker.check("test", "c1")
    await done(asker, order())
    assert (await asker.result("test", "c1"))["ok"]
    assert (await asker.ask("snapshot", snapshot_id="a"))["ok"]
    assert (await asker.ask("restore", snapshot_id="a", cause="to see"))["ok"]
    assert (await asker.check("note", "c2"))["policy_id"] == "lictor.halted"
    stopped = await asker.ask("stop", reason="done")
    assert (stopped["decision"], stopped["status"], stopped["bypass"]) == (
        "allow",
        "bypassed",
        "halt",
    )
    # Not used up: resumed, its work is checked again.
    await done(asker, order("resumed"))
    assert (await asker.ask("stop", reason="done"))["bypass"] is None


@pytest.mark.parametrize("target", [{"scope": "all"}, {"scope": "agent", "definition": "coder"}])
async def test_sessions_that_begin_later_are_halted_too_until_they_are_resumed(asker, target):
    await done(asker, order(**target))
    await asker.begin()
    assert (await asker.check("note", "c1"))["policy_id"] == "lictor.halted"
    other = asker.of("other agent")
    await other.begin("lictor-default")
    expected = "deny" if target["scope"] == "all" else "allow"
    assert (await other.check("Whatever", "c1"))["decision"] == expected
    await done(asker, order("resumed", **target))
    assert (await asker.check("note", "c2"))["decision"] == "allow"


async def test_halts_of_different_scope_are_resumed_one_by_one(asker):
    await asker.begin()
    await done(asker, order())
    await done(asker, order(**of_session(asker), reason="it loops"))
    both = await asker.check("note", "c1")
    assert [each["policy_id"] for each in both["denials"]] == ["lictor.halted"] * 2
    resumed = await done(asker, order("resumed"))
    assert resumed["state"] == "running"
    resumed = await done(asker, order("halted"))
    resumed = await done(asker, order("resumed", **of_session(asker)))
    assert resumed["still"] == ["ada halted everything: it deletes files"]
    assert (await asker.check("note", "c2"))["decision"] == "deny"


async def test_an_order_is_done_once_and_a_wrong_one_is_refused(asker):
    await asker.begin()
    first = order(**of_session(asker))
    sequence = (await done(asker, first))["sequence"]
    assert (await done(asker, first))["sequence"] == sequence
    await done(asker, order("resumed", **of_session(asker)))
    again = await done(asker, first)
    assert (again["sequence"], again["state"]) == (sequence, "running")
    assert (await asker.check("note", "c1"))["decision"] == "allow"

    for wrong, words in (
        ({**first, "order": "resumed"}, "was used for another order"),
        (order("resumed"), "no order halts everything"),
        (order(scope="agent", definition="codre"), "no agent definition is called 'codre'"),
        (order(**{**of_session(asker), "session_id": "none"}), "never began"),
        (order(scope="agent"), "scope agent needs definition"),
        (order(reason=""), "reason"),
    ):
        answer = await ordered(asker, wrong)
        assert answer["outcome"] == "refused"
        assert words in answer["reason"]
    assert (await asker.check("note", "c2"))["decision"] == "allow"


@pytest.mark.timeout(120)
async def test_once_a_halt_is_answered_no_instance_allows_a_later_call(clean_infra, agents, start):
    """Two instances, many sessions that ask all the time, and halts in between."""
    async with start(clean_infra, agents, 2) as asker:
        sessions = [asker.of(f"s{number}") for number in range(6)]
        for each in sessions:
            await each.begin()
        halted, going, allowed = asyncio.Event(), True, 0

        async def ask(each) -> None:
            nonlocal allowed
            while going:
                must_be_denied = halted.is_set()
                answer = await each.check("note", uuid.uuid4().hex)
                allowed += answer["decision"] == "allow"
                assert not (must_be_denied and halted.is_set() and answer["decision"] == "allow")

        asking = [asyncio.create_task(ask(each)) for each in sessions]
        for _ in range(12):
            before = allowed
            while allowed < before + 20:
                await asyncio.sleep(0)
            await done(asker, order())
            halted.set()
            for each in sessions:
                assert (await each.check("note", uuid.uuid4().hex))["decision"] == "deny"
            halted.clear()
            await done(asker, order("resumed"))
        going = False
        await asyncio.gather(*asking)


@pytest.mark.timeout(120)
async def test_a_halt_holds_without_redis_after_it_was_emptied_and_over_restarts(
    own_servers, agents, start
):
    async with start(own_servers.endpoints, agents, 2) as asker:
        await asker.begin()
        await done(asker, order())
        async with redis.asyncio.from_url(own_servers.endpoints.redis_url) as store:
            await store.flushall()
        assert (await asker.check("note", "c1"))["policy_id"] == "lictor.halted"
        await own_servers.kill_redis()
        # Whoever lets it go on waits until no instance can believe the older state any more.
        await done(asker, order("resumed"))
        await done(asker, order(reason="once more"))
        await own_servers.start_redis()
        denied = await asker.check("note", "c2")
        assert (denied["policy_id"], "once more" in denied["reason"]) == ("lictor.halted", True)
    async with start(own_servers.endpoints, agents) as later:
        assert (await later.check("note", "c3"))["policy_id"] == "lictor.halted"
        await done(later, order("resumed"))
        assert (await later.check("note", "c4"))["decision"] == "allow"


async def test_an_order_of_somebody_who_died_before_the_answer_is_found_and_completed(
    clean_infra, agents, start
):
    """It stands in the log, nobody was told of it, and the position in Redis says that there is nothing new."""
    async with start(clean_infra, agents) as asker:
        await asker.begin()
        assert (await asker.check("note", "c1"))["decision"] == "allow"
        halt = order(**of_session(asker))
        entry = HaltEntry(
            entry_id=halt["request_id"],
            kind="halted",
            at_us=1,
            by=halt["by"],
            reason=halt["reason"],
            target=halt["target"],
        )
        log = HALTS.log(asker.client, subjects.HALTS)
        await HALTS.change(Appends(asker.client), log, lambda _: entry)
        number = 0
        async with asyncio.timeout(5):
            while (await asker.check("note", f"d{number}"))["decision"] == "allow":
                number += 1
        await done(asker, halt)
        assert (await asker.entries())[-1].kind != "session_begun"
        assert "session_halted" in [each.kind for each in await asker.entries()]


@pytest.mark.timeout(180)
async def test_orders_survive_kills_between_order_and_answer(clean_infra, agents, start):
    async with AsyncExitStack() as running:
        asker = await running.enter_async_context(start(clean_infra, agents, 0))

        async def instance():
            made = service_process("lictor_feedback", clean_infra, LICTOR_AGENTS=str(agents))
            return await running.enter_async_context(made)

        process = await instance()
        await wait_until_ready(asker.client, "feedback")
        await asker.begin()
        for number in range(4):
            kind = ("halted", "resumed")[number % 2]
            wanted = order(kind, **of_session(asker))
            asking = asyncio.create_task(ordered(asker, wanted, 2))
            # In the middle of it, wherever that is: a little later each time.
            await asyncio.sleep(0.002 * number)
            process.kill()
            await process.wait()
            await asyncio.gather(asking, return_exceptions=True)
            process = await instance()
            await wait_until_ready(asker.client, "feedback")
            await done(asker, wanted)
            answer = await asker.check("note", f"c{number}")
            assert answer["decision"] == ("deny" if kind == "halted" else "allow")
        kinds = [each.kind for each in await asker.entries() if each.kind != "call_denied"]
        assert kinds == ["session_begun", *["session_halted", "session_resumed"] * 2]


async def test_a_position_that_was_forged_or_put_back_opens_no_gate(clean_infra, agents, start):
    async with start(clean_infra, agents, 2) as asker:
        await asker.begin()
        await asker.check("note", "c1")
        async with redis.asyncio.from_url(clean_infra.redis_url) as store:
            before = await store.get("lictor:feedback:halts")
            assert before is not None
            await done(asker, order())
            assert (await asker.check("note", "c2"))["decision"] == "deny"
            await store.set("lictor:feedback:halts", b"7.7 " + b"0" * 32)
            assert (await asker.check("note", "c3"))["decision"] == "deny"
            # A genuine one of before is believed by nobody who looked since; all look every second.
            async with asyncio.timeout(5):
                await store.set("lictor:feedback:halts", before)
                while (await asker.check("note", uuid.uuid4().hex))["decision"] == "allow":
                    await store.set("lictor:feedback:halts", before)
