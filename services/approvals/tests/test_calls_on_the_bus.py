"""Tool calls that wait for people, on a real broker: what sessions log, what people decide, and what comes of it."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from approval_bus import Bus
from approval_samples import ALICE, BOB
from call_samples import AGENT, CAROL, DAVE, PARAMS, ask, call_request, said
from session_samples import asked, cancelled, ended, later, now_asked, used

from lictor_approval.call_permission import standing_in_log
from lictor_approval.decision_validity import requested
from lictor_approval.signed_decisions import Approvers
from lictor_bus.names import streams, subjects
from lictor_schema.approvals.approval import ApprovalState
from lictor_schema.core.canonical_json import content_hash
from lictor_seal import TrustStore

TWO = ask(approvers=("finance",), needed=2)


async def test_a_call_that_waits_is_asked_about_decided_used_and_ended(bus: Bus) -> None:
    bus.trust(ALICE, BOB)
    request = now_asked(TWO)
    async with bus.service():
        await bus.log(asked(request))
        await bus.until_states("requested")
        assert (await bus.say(request)).state == "endorsed"
        assert (await bus.say(request, BOB)).state == "approved"
        # What the gate judges by is the log alone.
        people = Approvers(TrustStore.load(bus.keys / "approvers.json"))
        entries = await bus.entries()
        found = standing_in_log(request, entries, people, datetime.now(UTC))
        assert (found.standing, found.decided_by) == ("approved", (ALICE.name, BOB.name))
        reserved = used(request, *found.signed)
        await bus.log(reserved)
        await bus.until_states("calling")
        await bus.log(ended(request))
        await bus.until_states("called")
        (life,) = await bus.lives()
        assert life.execution is not None
        assert life.execution.execution_id == reserved.entry_id
        assert await bus.dead() == []


async def test_what_comes_again_changes_a_request_once(bus: Bus) -> None:
    bus.trust(ALICE)
    request = now_asked()
    async with bus.service():
        for _ in range(2):
            await bus.log(asked(request))
        await bus.until_states("requested")
        signed = said(request, at=datetime.now(UTC))
        for _ in range(3):
            assert (await bus.hand_in(request.request_id, signed)).state == "approved"
        for _ in range(2):
            await bus.log(used(request, signed))
            await bus.log(ended(request, "failed"))
        await bus.until_states("call_failed")
        await bus.until_sessions_handled()
    await bus.client.jetstream().delete_consumer(streams.SESSIONS, "approvals")
    async with bus.service():
        await bus.until_sessions_handled()
        states = [entry.state.value for entry in await bus.entries()]
        assert states == ["requested", "approved", "calling", "call_failed"]
        assert await bus.dead() == []


@pytest.mark.parametrize("decided", [False, True])
async def test_what_the_agent_cancels_waits_for_nobody(bus: Bus, decided: bool) -> None:
    bus.trust(ALICE)
    request = now_asked()
    async with bus.service():
        await bus.log(asked(request))
        await bus.until_states("requested")
        if decided:
            await bus.say(request)
        await bus.log(cancelled(request))
        await bus.until_states("cancelled")
        assert "`cancelled` already" in str((await bus.say(request)).reason)


async def test_another_agent_of_the_session_may_report_the_end_and_that_nobody_wants_it(
    bus: Bus,
) -> None:
    """The session's log is the authority: what it says is never a dead letter because of who reported it."""
    bus.trust(ALICE)
    one, two = now_asked(), now_asked(number=2)
    async with bus.service():
        await bus.log(asked(one))
        await bus.log(asked(two))
        await bus.until_states("requested", "requested")
        await bus.say(one)
        await bus.log(used(one))
        await bus.log(ended(one, agent_id="another"))
        await bus.log(cancelled(two, agent_id="another"))
        await bus.until_states("called", "cancelled")
        assert await bus.dead() == []


@pytest.mark.parametrize("decided", [False, True])
async def test_a_request_that_a_new_one_replaced_waits_for_nobody(bus: Bus, decided: bool) -> None:
    """A file that the call names has changed, say."""
    bus.trust(ALICE)
    old, new = now_asked(), now_asked(number=2)
    async with bus.service():
        await bus.log(asked(old))
        await bus.until_states("requested")
        if decided:
            await bus.say(old)
        for _ in range(2):
            await bus.log(asked(new, replaces=old.request_id))
        await bus.until_states("stale", "requested")
        first, _ = await bus.lives()
        assert new.request_id in str(first.reason)
        assert "`stale` already" in str((await bus.say(old)).reason)
        # One that was never taken in keeps no other from being asked about.
        third = now_asked(number=3)
        await bus.log(asked(third, replaces="00000000-0000-4000-8000-000000000000"))
        await bus.until_states("stale", "requested", "requested")
        assert await bus.dead() == []


async def test_a_call_that_nobody_decides_on_or_makes_expires(bus: Bus) -> None:
    bus.trust(ALICE)
    quick = ask(decide_within_s=1)
    async with bus.service():
        await bus.log(asked(now_asked(quick)))
        await bus.until_states("expired")
        one = now_asked(ask(use_within_s=1), number=2)
        await bus.log(asked(one))
        await bus.until_states("expired", "requested")
        await bus.say(one)
        await bus.until_states("expired", "expired")
        first, second = await bus.lives()
        assert "nobody decided" in str(first.reason)
        assert "the call was not made" in str(second.reason)


async def test_a_use_that_came_before_the_end_is_recorded(bus: Bus) -> None:
    """The session's log says so, though somebody took the approval back before this service saw it."""
    bus.trust(ALICE, BOB)
    request = now_asked()
    async with bus.service():
        await bus.log(asked(request))
        await bus.until_states("requested")
        await bus.say(request)
        await bus.say(request, BOB, "reject")
        await bus.until_states("rejected")
        await bus.log(used(request))
        await bus.log(ended(request))
        await bus.until_states("called")
        states = [entry.state.value for entry in await bus.entries()]
        assert states == ["requested", "approved", "rejected", "calling", "called"]


async def test_forged_or_foreign_entries_of_sessions_ask_and_change_nothing(bus: Bus) -> None:
    bus.trust(ALICE)
    mine, other = now_asked(), now_asked(session_id="s-2", number=2)
    long_ago = call_request(at=datetime.now(UTC) - timedelta(hours=1), number=3)
    longer = now_asked(number=4)
    longer = longer.model_copy(
        update={"expires_at": now_asked(ask(decide_within_s=90_000)).expires_at}
    )
    forged = [
        # Another session, task, agent or definition than the entry's.
        asked(mine, session_id="s-9"),
        asked(mine, task_id="t-9"),
        asked(mine, agent_id="somebody"),
        asked(mine, runtime="another"),
        asked(mine, definition_hash=content_hash("another")),
        asked(long_ago),
        asked(longer),
        asked(mine, at_us=later(900)),
        used(mine, task_id="t-9"),
    ]
    async with bus.service():
        for entry in forged:
            await bus.log(entry)
        elsewhere = subjects.session_log(subjects.session_key("python", "s-3"))
        await bus.log(asked(mine), elsewhere)
        wrong_hash = (
            asked(mine).to_json().replace(mine.binding_hash.encode(), mine.binding.tool.encode())
        )
        wrong_id = (
            asked(mine)
            .to_json()
            .replace(
                b'"request_id":"%b"' % mine.request_id.encode(),
                b'"request_id":"%b"' % other.request_id.encode(),
            )
        )
        key = subjects.session_log(subjects.session_key("python", "s-1"))
        for body in (wrong_hash, wrong_id):
            await bus.client.jetstream().publish(key, body)
        await bus.log(asked(other))
        await bus.until_states("requested")
        # Another session can neither cancel, use nor end it; nor is used what nobody approved.
        for entry in (
            cancelled(other, session_id="s-1"),
            ended(other, session_id="s-1"),
            used(other, session_id="s-1"),
            used(other),
        ):
            await bus.log(entry)
        await bus.until_sessions_handled()
        assert await bus.states() == ["requested"]
        letters = [letter.letter.reason for letter in await bus.dead()]
        assert len(letters) >= len(forged) + 1 + 4
        assert any("never approved" in reason for reason in letters)


async def test_a_request_that_somebody_else_wrote_is_withdrawn(bus: Bus) -> None:
    bus.trust(ALICE)
    mine = now_asked()
    shown = mine.model_copy(update={"call_id": "another"})
    async with bus.service():
        await bus.write(requested(shown))
        await bus.log(asked(mine))
        await bus.until_states("stale")
        (life,) = await bus.lives()
        assert "something else" in str(life.reason)
        assert (await bus.say(mine)).outcome == "refused"


@pytest.mark.parametrize(
    ("who", "what", "terms", "why"),
    [
        (AGENT, "approve", {}, "the agent that wants to call"),
        (AGENT, "reject", {}, "the agent that wants to call"),
        (CAROL, "approve", {}, "none of those"),
        (CAROL, "reject", {}, "none of those"),
        (ALICE, "approve", {"scope": "session"}, "lets nobody approve for the session"),
        (ALICE, "approve", {"params": PARAMS}, "those that it was asked about with"),
        (ALICE, "approve", {"binding_hash": content_hash("x")}, "the request is about"),
        (ALICE, "approve", {"by": BOB.name}, "and signed by 'alice@example.org'"),
        (ALICE, "delegate", {"delegate": "agent-7"}, "the agent that wants to call"),
        (ALICE, "delegate", {"delegate": "mallory"}, "is no approver"),
    ],
)
async def test_a_decision_that_does_not_count_is_refused_with_the_reason(
    bus: Bus, who: Any, what: str, terms: dict[str, Any], why: str
) -> None:
    bus.trust(ALICE, BOB, CAROL, DAVE, AGENT)
    request = now_asked(TWO)
    async with bus.service():
        await bus.log(asked(request))
        await bus.until_states("requested")
        answer = await bus.say(request, who, what, **terms)
        assert answer.outcome == "refused"
        assert why in str(answer.reason)
        assert await bus.states() == ["requested"]


async def test_replays_and_decisions_for_another_request_change_nothing(bus: Bus) -> None:
    bus.trust(ALICE, BOB)
    one, two = now_asked(TWO), now_asked(TWO, number=2)
    async with bus.service():
        await bus.log(asked(one))
        await bus.log(asked(two))
        await bus.until_states("requested", "requested")
        signed = said(one, at=datetime.now(UTC))
        assert (await bus.hand_in(one.request_id, signed)).state == "endorsed"
        # Again, for the other, and by the same person in other words.
        assert (await bus.hand_in(one.request_id, signed)).state == "endorsed"
        assert "about request" in str((await bus.hand_in(two.request_id, signed)).reason)
        assert "counts once" in str((await bus.say(one)).reason)
        assert await bus.states() == ["endorsed", "requested"]
        assert [entry.state for entry in await bus.entries()].count(ApprovalState.ENDORSED) == 1


async def test_a_program_and_a_call_wait_side_by_side_and_are_decided_apart(bus: Bus) -> None:
    bus.trust(ALICE, BOB)
    request = now_asked()
    async with bus.service():
        await bus.prove()
        await bus.until_states("requested")
        await bus.log(asked(request))
        await bus.until_states("requested", "requested")
        program, call = await bus.lives()
        crossed = said(call.call, request_id=program.request.request_id, at=datetime.now(UTC))
        for life in (program, call):
            answer = await bus.hand_in(life.request.request_id, crossed)
            assert answer.outcome == "refused"
        assert (await bus.decide(program)).state == "approved"
        assert (await bus.say(call.call)).state == "approved"
        # Another proof of the task makes no call stale.
        await bus.prove(submission_id="s-2")
        await bus.until_states("stale", "approved", "requested")
