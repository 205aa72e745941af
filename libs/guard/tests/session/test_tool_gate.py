"""The tool gate of a session: who is asked, what is told, and what is counted."""

from collections.abc import Callable

import pytest
from rehearsed_session import BEGIN_US, SECOND_US, Rehearsal, Scripted, guarded

from lictor_guard.plugins.tool_policy import PolicyDecision
from lictor_guard.session.limits import NEAR_END
from lictor_schema.sessions.session_log import CallDenied
from lictor_schema.sessions.session_questions import Denial

ORDER = {"kind": "sequential-dependency", "name": "order", "requires": {"deploy": ["test"]}}
FRESH = {**ORDER, "invalidated_by": {"test": ["edit"]}}
TWO_AN_HOUR = {
    "kind": "rate-limit",
    "name": "rare",
    "tools": ["edit"],
    "limit": 2,
    "window_s": 3600,
}
TOOLS = ("edit", "test", "deploy")


def _raise(error: Exception) -> Callable[[object], PolicyDecision]:
    def raising(_: object) -> PolicyDecision:
        raise error

    return raising


def _deny(reason: str, remedy: str) -> Callable[[object], PolicyDecision]:
    return lambda _: PolicyDecision.deny(reason, remedy)


def test_an_allowed_call_leaves_no_entry_unless_a_policy_counts_it() -> None:
    play = Rehearsal(guarded(tools=TOOLS))
    assert play.check("edit").decision == "allow"
    assert play.kinds == ["session_begun"]
    assert play.tally.calls == 0


def test_a_denial_is_logged_counted_and_named_in_the_answer() -> None:
    play = Rehearsal(guarded(tools=TOOLS))
    denied = play.check("nuke")
    entry = play.log[-1][1]
    assert isinstance(entry, CallDenied)
    assert denied.decision == "deny"
    assert denied.record_id == entry.entry_id
    assert denied.denials == entry.denials
    assert (play.tally.calls, play.tally.denied) == (1, 1)


def test_a_call_that_the_adapter_refused_itself_is_denied_for_its_reason_and_counted() -> None:
    policy = Scripted("p")
    play = Rehearsal(guarded(tools=TOOLS, policies=(policy,)))
    own = Denial(
        policy_id="lictor.client.too-large", reason="It is too large.", remedy="Send less."
    )
    denied = play.check("edit", "c1", refused=own)
    entry = play.log[-1][1]
    assert isinstance(entry, CallDenied)
    assert (denied.decision, denied.denials, denied.record_id) == ("deny", (own,), entry.entry_id)
    assert (play.tally.calls, play.tally.denied, policy.asked) == (1, 1, [])
    assert play.check("edit", "c1", refused=own).record_id == entry.entry_id
    assert (play.tally.calls, play.tally.denied) == (1, 1), "told again, it counts once"


def test_every_policy_is_asked_and_every_reason_told() -> None:
    first = Scripted("first", _deny("No one.", "Try two."))
    second = Scripted("second")
    third = Scripted("third", _deny("No three", "Try four"))
    play = Rehearsal(guarded(tools=TOOLS, policies=(first, second, third)))
    denied = play.check("edit", "c1")
    assert [each.policy_id for each in denied.denials] == ["first", "third"]
    assert denied.reason == "No one; No three"
    assert denied.remedy == "Try two; Try four"
    assert first.asked == second.asked == third.asked == ["c1"]


def test_an_unknown_tool_is_denied_with_the_nearest_name() -> None:
    play = Rehearsal(guarded(tools=TOOLS))
    denied = play.check("deplyo")
    assert denied.policy_id == "lictor.unknown-tool"
    assert "deploy" in (denied.remedy or "")
    assert Rehearsal(guarded(tools=TOOLS, other_tools="allow")).check("x").decision == "allow"


def test_an_unknown_tool_hears_the_other_reasons_too() -> None:
    play = Rehearsal(guarded(tools=TOOLS, policies=(Scripted("p", _deny("No", "Ask")),)))
    assert [each.policy_id for each in play.check("x").denials] == ["lictor.unknown-tool", "p"]


def test_the_deadline_denies_from_its_very_moment_on() -> None:
    """Scenarios 92 and 117: before a call: limits; an expired deadline."""
    play = Rehearsal(guarded(tools=TOOLS, deadline_s=60))
    play.now_us = BEGIN_US + 60 * SECOND_US - 1
    assert play.check("edit").decision == "allow"
    play.now_us += 1
    assert play.check("edit").policy_id == "lictor.deadline"


def test_a_budget_of_calls_is_used_up_when_it_is_reached_denials_included() -> None:
    """Scenario 92: before a call: limits."""
    play = Rehearsal(guarded(tools=TOOLS, budgets={"calls": 3}))
    play.call("edit")
    play.call("nuke")
    assert play.check("edit", "last").decision == "allow"
    play.result("edit", "last", "failed")
    denied = play.check("edit")
    assert denied.policy_id == "lictor.budget"
    assert "3 of 3 calls" in denied.reason


def test_calls_side_by_side_do_not_pass_a_budget_of_calls_together() -> None:
    """A call counts from the moment it is allowed, not only when it has ended."""
    play = Rehearsal(guarded(tools=TOOLS, budgets={"calls": 2}))
    for call_id in ("c0", "c1", "c1"):
        assert play.check("edit", call_id).decision == "allow", "asked again, it counts once"
    denied = play.check("edit", "c2")
    assert denied.policy_id == "lictor.budget"
    assert "2 of 2 calls" in denied.reason
    assert (play.tally.calls, play.tally.running) == (1, 2)
    play.result("edit", "c0")
    play.result("edit", "c0")
    play.result("edit", "c1", "failed")
    play.result("edit", "c9")
    assert (play.tally.calls, play.tally.running) == (4, 0)


def test_far_from_its_end_a_budget_of_calls_costs_no_entry() -> None:
    play = Rehearsal(guarded(tools=TOOLS, budgets={"calls": NEAR_END + 2}))
    play.check("edit", "c0")
    assert play.kinds == ["session_begun"]
    play.result("edit", "c0")
    play.call("edit")
    assert play.tally.running == 0
    play.check("edit", "c2")
    assert (play.kinds[-1], play.tally.running) == ("call_reserved", 1)


def test_a_call_that_was_allowed_and_then_denied_runs_no_more() -> None:
    play = Rehearsal(guarded(tools=TOOLS, budgets={"calls": 9}, deadline_s=60))
    play.check("edit", "c1")
    play.now_us += 60 * SECOND_US
    assert play.check("edit", "c1").policy_id == "lictor.deadline"
    assert (play.tally.calls, play.tally.denied, play.tally.running) == (1, 1, 0)


@pytest.mark.parametrize(
    "error", [ValueError("odd"), KeyError("x"), RecursionError(), UnicodeError("\udcff")]
)
def test_a_policy_that_raises_denies_and_is_named(error: Exception) -> None:
    others = Scripted("others", _deny("No", "Ask"))
    play = Rehearsal(guarded(tools=TOOLS, policies=(Scripted("bad", _raise(error)), others)))
    denied = play.check("edit")
    assert [each.policy_id for each in denied.denials] == ["bad", "others"]
    assert type(error).__name__ in denied.denials[0].reason


@pytest.mark.parametrize("junk", [None, True, "allow", object()])
def test_a_policy_that_answers_nonsense_denies(junk: object) -> None:
    play = Rehearsal(guarded(tools=TOOLS, policies=(Scripted("bad", lambda _: junk),)))
    assert play.check("edit").policy_id == "bad"


def test_a_decision_that_is_only_truthy_denies() -> None:
    odd = PolicyDecision("no")  # pyright: ignore[reportArgumentType]
    play = Rehearsal(guarded(tools=TOOLS, policies=(Scripted("bad", lambda _: odd),)))
    assert play.check("edit").policy_id == "bad"


def test_a_very_long_reason_is_cut_and_still_denies() -> None:
    long = Scripted("long", _deny("a" * 200_000, "b" * 200_000))
    many = tuple(Scripted(f"p{n}", _deny("c" * 9_000, "d" * 9_000)) for n in range(40))
    play = Rehearsal(guarded(tools=TOOLS, policies=(long, *many)))
    denied = play.check("edit")
    assert (denied.decision, len(denied.denials)) == ("deny", 41)


def test_a_denied_call_asked_again_is_answered_again_and_counted_once() -> None:
    play = Rehearsal(guarded(tools=TOOLS))
    first = play.check("nuke", "c1")
    again = play.check("nuke", "c1")
    assert again.decision == "deny"
    assert again.record_id == first.record_id
    assert play.tally.calls == 1
    assert play.kinds.count("call_denied") == 1


def test_a_denied_call_stays_denied_when_the_reason_is_gone() -> None:
    play = Rehearsal(guarded(tools=TOOLS, policy_specs=[ORDER]))
    first = play.check("deploy", "d1")
    play.call("test")
    again = play.check("deploy", "d1")
    assert (again.policy_id, again.record_id) == ("lictor.denied-before", first.record_id)
    assert play.check("deploy", "d2").decision == "allow"


def test_the_id_of_a_call_that_ended_is_not_used_again() -> None:
    play = Rehearsal(guarded(tools=TOOLS))
    play.check("edit", "c1")
    play.result("edit", "c1")
    denied = play.check("edit", "c1")
    assert denied.policy_id == "lictor.call-id-used"
    assert play.kinds[-1] == "call_denied"
    assert (play.tally.calls, play.tally.denied) == (1, 0)


def test_another_call_under_the_id_of_one_that_is_being_made_is_denied() -> None:
    play = Rehearsal(guarded(tools=TOOLS, policy_specs=[TWO_AN_HOUR]))
    assert play.check("edit", "c1", params={"file": "a"}).decision == "allow"
    assert play.check("edit", "c1", params={"file": "b"}).policy_id == "lictor.call-id-used"
    assert play.check("test", "c1", params={"file": "a"}).policy_id == "lictor.call-id-used"
    assert play.check("edit", "c1", params={"file": "a"}).decision == "allow"
    assert play.kinds.count("call_reserved") == 1


def test_a_denial_under_the_id_of_another_call_takes_nothing_from_that_one() -> None:
    play = Rehearsal(guarded(tools=TOOLS, policy_specs=[FRESH]))
    play.check("test", "t1", params={"suite": "all"})
    play.check("test", "t1", params={"suite": "none"})
    play.result("test", "t1", params={"suite": "all"})
    assert play.check("deploy").decision == "allow"
    assert (play.tally.calls, play.tally.denied) == (1, 0)


def test_the_id_of_a_call_that_was_reported_as_denied_is_not_used_again() -> None:
    play = Rehearsal(guarded(tools=TOOLS, policy_specs=[TWO_AN_HOUR]))
    play.result("edit", "c1", "denied")
    assert play.check("edit", "c1").policy_id == "lictor.call-id-used"


def test_a_session_answers_only_for_its_own_task() -> None:
    play = Rehearsal(guarded(tools=TOOLS))
    assert play.check("edit", task="t2").policy_id == "lictor.other-task"
    assert play.log[-1][1].task_id == "t1"


def test_a_session_that_nobody_began_is_denied() -> None:
    play = Rehearsal(guarded(tools=TOOLS), begin=False)
    assert play.check("edit").policy_id == "lictor.unknown-session"
    assert play.stop().decision == "deny"
    assert not play.result("edit").ok
    assert not play.use("u1", input_tokens=1).ok
    assert not play.collect().ok
    assert not play.show().ok
    assert not play.snapshot("a").ok
    assert not play.restore("a").ok
    assert not play.reset().ok
    assert play.tick() is None
    assert play.log == []


def test_a_clock_that_ran_fast_and_was_put_right_holds_no_window_open() -> None:
    hours = {
        "kind": "time-window",
        "name": "hours",
        "tools": ["deploy"],
        "begins": "09:00",
        "ends": "17:00",
    }
    play = Rehearsal(guarded(tools=TOOLS, policy_specs=[hours]))
    assert "08:00" in play.check("deploy").reason
    play.passing(2 * 3600)
    play.result("edit")
    assert play.check("deploy").decision == "allow"
    play.passing(-2 * 3600)
    denied = play.check("deploy")
    assert denied.policy_id == "hours"
    assert "09:00" in (denied.remedy or "")
    play.passing(3600)
    assert play.check("deploy").decision == "allow"
    play.passing(9 * 3600)
    play.result("edit")
    play.passing(-9 * 3600)
    assert "fri 2027-01-15 18:00" in play.check("deploy").reason


def test_a_clock_that_goes_back_does_not_reopen_what_time_closed() -> None:
    play = Rehearsal(guarded(tools=TOOLS, deadline_s=60))
    play.passing(61)
    play.result("edit")
    play.passing(-50)
    assert play.check("edit").policy_id == "lictor.deadline"
    assert play.log[-1][1].at_us == BEGIN_US + 61 * SECOND_US
