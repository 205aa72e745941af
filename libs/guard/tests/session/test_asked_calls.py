"""Calls that people are asked about: when they are asked, what an answer lifts, and for how long."""

import pytest
from asked_play import LARGE, MONEY, AskedPlay, file
from rehearsed_session import Rehearsal, Scripted, guarded

from lictor_guard.plugins.tool_policy import PeopleAsked, PolicyDecision
from lictor_guard.session.asking import ReadApproval
from lictor_schema.core.base_model import utc_millis
from lictor_schema.core.time import from_micros
from lictor_schema.sessions.session_log import CallAsked, CallDenied, CallReserved
from lictor_schema.sessions.session_questions import Resource

UNLESS = {**MONEY, "unless": [{"param": "amount", "allow": ["[0-9]{1,2}"]}]}
WRITES = {"kind": "require-approval", "name": "writes", "tools": ["write"]}
LATER = 86_400


def test_people_are_asked_once_about_a_call_however_often_it_comes() -> None:
    play = AskedPlay()
    first, second = play.pay("c1"), play.pay("c2")
    assert (first.decision, first.policy_id) == ("ask", "money")
    assert first.approval == second.approval
    assert first.retry_after_ms
    assert play.kinds == ["session_begun", "call_asked"]
    assert play.tally.calls == 0


@pytest.mark.parametrize(
    "now",
    [
        file("another"),
        file("as shown").model_copy(update={"param": "from", "given": "./a.txt", "digest": None}),
        file("as shown").model_copy(update={"key": "b.txt"}),
        file("as shown").model_copy(update={"state": "missing", "digest": None}),
    ],
)
def test_an_edit_is_about_the_files_that_the_person_saw(now: Resource) -> None:
    play = AskedPlay(WRITES)
    mine, theirs = {"path": "a.txt", "mode": "prod"}, {"path": "a.txt", "mode": "staging"}
    play.check("write", params=mine, resources=(file("as shown"),))
    play.approve(params=theirs)
    play.check("write", params=mine, resources=(file("as shown"),))
    assert play.check("write", params=theirs, resources=(now,)).decision != "allow"
    assert play.requests[-1].resources == (now,)


def test_an_edit_that_leaves_a_file_named_needs_somebody_to_have_looked_at_it_again() -> None:
    play = AskedPlay(WRITES)
    mine, theirs = {"path": "a.txt", "mode": "prod"}, {"path": "a.txt", "mode": "staging"}
    play.check("write", params=mine, resources=(file("as shown"),))
    play.approve(params=theirs)
    play.check("write", params=mine, resources=(file("as shown"),))
    assert play.check("write", params=theirs).decision != "allow"


def test_an_edit_may_name_files_that_nobody_was_shown() -> None:
    play = AskedPlay(WRITES)
    play.check("write", params={"path": "a.txt"}, resources=(file("one"),))
    play.approve(params={"path": "b.txt"})
    play.check("write", params={"path": "a.txt"}, resources=(file("one"),))
    other = file("other", "b.txt")
    assert play.check("write", params={"path": "b.txt"}, resources=(other,)).decision == "allow"


def test_a_call_that_keeps_the_rules_needs_nobody() -> None:
    play = AskedPlay(UNLESS)
    assert play.check("pay", params={"amount": 5}).decision == "allow"
    assert play.check("look").decision == "allow"
    assert play.pay().decision == "ask"


@pytest.mark.parametrize("params", [{}, {"amount": None}, {"amount": "9" * 9_000_000}])
def test_a_call_of_which_it_can_not_be_told_is_asked_about(params) -> None:
    """A parameter that is left out may mean anything to the tool."""
    play = AskedPlay(UNLESS)
    assert play.check("pay", params=params).decision == "ask"


def test_nobody_is_asked_about_a_call_that_is_denied_anyway() -> None:
    never = {"kind": "parameters", "name": "never", "tools": ["pay"]}
    play = AskedPlay(MONEY, {**never, "rules": [{"param": "amount", "deny": ["500"]}]})
    denied = play.pay()
    assert [each.policy_id for each in denied.denials] == ["never"]
    assert play.kinds == ["session_begun", "call_denied"]


def test_an_approved_call_is_made_once() -> None:
    play = AskedPlay()
    play.pay("c1")
    play.approve()
    allowed = play.pay("c1")
    assert (allowed.decision, allowed.reason) == ("allow", "Approved by alice.")
    entry = play.log[-1][1]
    assert isinstance(entry, CallReserved)
    assert entry.permission is not None
    assert entry.permission.request == play.requests[0]
    # The answer was lost.
    assert play.pay("c1").decision == "allow"
    assert play.kinds[-1] == "call_reserved"
    # Another call is another question, and no result makes the approval good again.
    assert play.pay("c2").decision == "ask"
    play.result("pay", "c1", params=LARGE)
    assert play.pay("c3").approval == play.pay("c2").approval
    assert play.pay("c1").policy_id == "lictor.call-id-used"


def test_a_result_names_the_request_that_let_the_call_be_made() -> None:
    play = AskedPlay()
    play.pay()
    play.approve()
    play.pay("c1")
    play.result("pay", "c1", params=LARGE)
    finished = play.log[-1][1]
    assert getattr(finished, "approval_request", None) == play.requests[0].request_id
    play.result("look", "c2")
    assert getattr(play.log[-1][1], "approval_request", "") is None


def test_so_does_that_of_a_call_which_was_denied_when_it_was_asked_about_again() -> None:
    play = AskedPlay(deadline_s=30)
    play.pay()
    play.approve()
    play.pay("c1")
    play.passing(30)
    assert play.pay("c1").policy_id == "lictor.deadline"
    play.result("pay", "c1", params=LARGE)
    assert getattr(play.log[-1][1], "approval_request", None) == play.requests[0].request_id
    # Reported again, it says nothing new; nor does one that was never allowed.
    play.result("pay", "c1", params=LARGE)
    play.pay("c2", params={"amount": 1})
    play.reject()
    denied = play.pay("c2", params={"amount": 1})
    assert denied.decision == "deny"
    play.result("pay", "c2", params={"amount": 1})
    assert getattr(play.log[-1][1], "approval_request", "") is None


def test_every_policy_is_judged_again_when_an_approval_is_used() -> None:
    rare = {"kind": "rate-limit", "name": "rare", "tools": ["look"], "limit": 1, "window_s": 600}
    needs = {"kind": "sequential-dependency", "name": "order", "requires": {"pay": ["look"]}}
    fresh = {**needs, "invalidated_by": {"look": ["send"]}}
    play = AskedPlay(MONEY, fresh, rare)
    play.call("look")
    play.pay()
    play.approve()
    play.call("send")
    assert play.pay().policy_id == "order"
    assert play.kinds[-1] == "call_denied"


def test_a_policy_that_did_not_ask_is_not_lifted() -> None:
    asking: list[str] = []

    def asks_too(_: object) -> PolicyDecision:
        return PolicyDecision.ask(asking[0]) if asking else PolicyDecision.allow()

    play = AskedPlay(policies=(Scripted("second", asks_too),))
    play.pay()
    play.approve()
    asking.append("a second look")
    assert play.pay().decision == "ask"
    assert [each.policy_id for each in play.requests[1].asks] == ["money", "second"]
    # Nor one that asks for another reason now; one that asks no more needs nobody's say.
    play.approve()
    asking[0] = "a third look"
    assert play.pay().decision == "ask"
    assert len(play.requests) == 3
    play.approve()
    asking.clear()
    assert play.pay().decision == "allow"


def test_an_approval_is_about_the_files_as_they_were() -> None:
    play = AskedPlay(WRITES)
    params = {"path": "a.txt"}
    play.check("write", params=params, resources=(file("old"),))
    play.approve()
    changed = play.check("write", params=params, resources=(file("new"),))
    assert changed.decision == "ask"
    assert len(play.requests) == 2
    play.approve()
    assert play.check("write", params=params, resources=(file("new"),)).decision == "allow"


def test_a_call_made_by_an_approval_is_not_made_again_under_its_id_over_another_file() -> None:
    play = AskedPlay(WRITES)
    params = {"path": "a.txt"}
    play.check("write", "c1", params=params, resources=(file("old"),))
    play.approve()
    assert play.check("write", "c1", params=params, resources=(file("old"),)).decision == "allow"
    other = play.check("write", "c1", params=params, resources=(file("new"),))
    assert other.policy_id == "lictor.call-id-used"
    # The call that was allowed under it goes on.
    assert play.check("write", "c1", params=params, resources=(file("old"),)).decision == "allow"
    assert play.check("write", "c2", params=params, resources=(file("new"),)).decision == "ask"
    play.result("write", "c1", params=params)
    assert play.tally.running == 0
    assert getattr(play.log[-1][1], "approval_request", None) == play.requests[0].request_id


def test_another_agent_of_the_session_is_not_let_by_what_one_was_allowed() -> None:
    play = AskedPlay()
    play.pay()
    play.approve()
    assert play.pay(agent="sub").decision == "ask"
    assert play.pay().decision == "allow"


def test_a_rejection_stays_until_its_time_is_up() -> None:
    play = AskedPlay()
    play.pay("c1")
    play.reject()
    denied = play.pay("c2")
    assert denied.policy_id == "lictor.approval.rejected"
    assert denied.approval is not None
    assert (denied.approval.standing, denied.approval.guidance) == ("rejected", "not today")
    play.said.clear()
    # The same id has the same denial, another id one of its own.
    again = play.pay("c2")
    assert (again.record_id, again.reason) == (denied.record_id, denied.reason)
    assert again.approval == denied.approval
    assert play.pay("c3").record_id != denied.record_id
    play.passing(LATER)
    assert play.pay("c4").decision == "ask"
    assert len(play.requests) == 2


def test_what_a_person_wrote_is_told_as_it_was_written() -> None:
    play = AskedPlay()
    play.pay("c1")
    play.reject(guidance="use ../other, then ask...")
    assert play.pay("c2").reason == "A person rejected this call: use ../other, then ask..."


def test_a_rejection_may_let_the_agent_ask_again_at_once() -> None:
    play = AskedPlay()
    play.pay("c1")
    play.reject(may_ask_again=True)
    denied = play.pay("c2")
    assert denied.approval is not None
    assert denied.approval.may_ask_again
    assert play.pay("c3").decision == "ask"
    assert len(play.requests) == 2


def test_an_edited_call_is_made_as_it_was_approved_and_the_original_is_not() -> None:
    play = AskedPlay()
    play.pay("c1")
    play.approve(params={"amount": 400})
    denied = play.pay("c2")
    assert (denied.decision, denied.policy_id) == ("deny", "lictor.approval.edited")
    assert denied.approval is not None
    assert denied.approval.params == {"amount": 400}
    assert play.pay("c3", params={"amount": 400}).decision == "allow"
    assert play.pay("c3", params={"amount": 400}).decision == "allow"
    assert play.pay("c4", params={"amount": 400}).decision == "ask"
    assert play.pay("c5").policy_id == "lictor.approval.edited"
    assert play.pay("c6", params={"amount": 401}).decision == "ask"


def test_an_edit_settles_what_was_asked_about_the_other_call() -> None:
    play = AskedPlay({**MONEY, "max_waiting": 2})
    play.pay(params={"amount": 400})
    play.pay()
    play.approve(params={"amount": 400})
    assert play.pay().decision == "deny"
    assert play.pay("c3", params={"amount": 400}).decision == "allow"
    # Neither of the two waits any more.
    assert play.pay(params={"amount": 1}).decision == "ask"
    assert play.pay(params={"amount": 2}).decision == "ask"


def test_a_denial_stands_against_an_edited_call_like_any_other() -> None:
    never = {"kind": "parameters", "name": "never", "tools": ["pay"]}
    play = AskedPlay(MONEY, {**never, "rules": [{"param": "amount", "deny": ["^400$"]}]})
    play.pay()
    play.approve(params={"amount": 400})
    assert play.pay().decision == "deny"
    assert play.pay(params={"amount": 400}).policy_id == "never"


def test_what_nobody_decided_in_time_is_denied_once_and_may_be_asked_about_anew() -> None:
    play = AskedPlay()
    play.pay("c1")
    play.passing(LATER)
    late = play.pay("c1")
    assert (late.decision, late.policy_id) == ("deny", "lictor.approval.expired")
    assert late.reason == "Nobody decided about this call until 2027-01-16T08:00:00.000Z."
    again = play.pay("c2")
    assert again.decision == "ask"
    assert again.approval != late.approval


def test_an_approval_that_was_not_used_in_time_lifts_nothing() -> None:
    play = AskedPlay()
    play.pay("c1")
    play.approve(seconds=60)
    play.passing(60)
    late = play.pay("c2")
    assert late.policy_id == "lictor.approval.expired"
    assert "was good until" in late.reason
    assert play.pay("c3").decision == "ask"


def test_a_cancelled_request_lifts_nothing() -> None:
    play = AskedPlay()
    play.pay("c1")
    request = play.requests[0]
    play.approve()
    assert play.cancel(request.request_id).ok
    assert play.cancel(request.request_id).ok
    assert play.kinds.count("approval_cancelled") == 1
    assert play.pay("c2").decision == "ask"
    assert len(play.requests) == 2
    assert not play.cancel("00000000-0000-4000-8000-000000000000").ok
    assert not play.cancel(request.request_id, task="t2").ok
    assert not play.cancel(play.requests[1].request_id, agent_id="sub").ok
    assert play.cancel(play.requests[1].request_id).ok


def test_what_was_used_can_not_be_cancelled() -> None:
    play = AskedPlay()
    play.pay("c1")
    play.approve()
    play.pay("c1")
    told = play.cancel(play.requests[0].request_id)
    assert "used" in told.reason
    assert play.kinds[-1] == "call_reserved"


def test_an_approval_for_the_session_is_good_for_the_same_call_again() -> None:
    play = AskedPlay({**MONEY, "remember": ["session"]})
    play.pay()
    play.approve(reusable=True)
    assert [play.pay(f"c{n}").decision for n in range(3)] == ["allow"] * 3
    assert play.pay(params={"amount": 501}).decision == "ask"
    play.said[play.requests[0].request_id] = ReadApproval(
        standing="waiting", problem="the key was revoked"
    )
    assert play.pay("c9").decision == "ask"
    assert play.cancel(play.requests[0].request_id).ok
    play.approve(play.requests[0], reusable=True)
    assert play.pay("c10").decision == "ask"
    assert len(play.requests) == 3


def test_nobody_approves_for_the_session_where_a_policy_does_not_let_them() -> None:
    play = AskedPlay()
    play.pay()
    play.approve(reusable=True)
    assert play.pay("c1").decision == "allow"
    assert play.pay("c2").decision == "ask"


@pytest.mark.parametrize(
    "changed", [{"request": None}, {"signed": ()}, {"until": None}, {"standing": None}]
)
def test_what_can_not_be_verified_lifts_nothing(changed) -> None:
    play = AskedPlay()
    play.pay()
    play.approve(**changed)
    assert play.pay().decision != "allow"


def test_an_approval_of_another_request_lifts_nothing() -> None:
    """Of the same call in another session, or under another version of the definition."""
    play, other = AskedPlay(), AskedPlay(deadline_s=5)
    play.pay()
    other.pay()
    play.approve(other.requests[0])
    play.said[play.requests[0].request_id] = play.said[other.requests[0].request_id]
    again = play.pay()
    assert again.decision == "ask"
    assert "another request" in again.reason


def test_what_people_said_that_can_not_be_read_is_waited_for_and_then_denied() -> None:
    play = AskedPlay()
    play.pay("c1")
    play.said[play.requests[0].request_id] = ReadApproval(standing=None, problem="no answer")
    assert play.pay("c1").decision == "ask"
    play.passing(LATER)
    assert play.pay("c1").policy_id == "lictor.approval.unreadable"
    play.approve()
    assert play.pay("c2").decision == "allow"


def test_only_so_many_calls_wait() -> None:
    play = AskedPlay({**MONEY, "max_waiting": 2})
    play.pay(params={"amount": 1})
    play.pay(params={"amount": 2})
    denied = play.pay("c3", params={"amount": 3})
    assert (denied.decision, denied.policy_id) == ("deny", "lictor.approval.too-many-waiting")
    assert play.pay(params={"amount": 1}).decision == "ask"
    play.cancel(play.requests[0].request_id)
    assert play.pay(params={"amount": 4}).decision == "ask"
    play.passing(LATER)
    assert play.pay(params={"amount": 5}).decision == "ask"


def test_who_does_not_know_the_answer_ask_is_denied_and_no_call_is() -> None:
    play = AskedPlay()
    denied = play.pay("c1", knows_ask=False)
    assert (denied.decision, denied.policy_id) == ("deny", "lictor.approval.waiting")
    assert denied.record_id is None
    assert play.pay("c1").decision == "ask"
    play.approve()
    assert play.pay("c1", knows_ask=False).decision == "allow"


def test_neither_restore_nor_reset_brings_a_used_approval_back() -> None:
    play = AskedPlay()
    play.pay()
    play.snapshot("before")
    play.approve()
    play.pay("c1")
    play.restore("before")
    assert play.pay("c2").decision == "ask"
    play.reset()
    assert play.pay("c3").decision == "ask"
    assert len(play.requests) == 2


def test_the_deadline_stands_still_while_a_call_waits() -> None:
    play = AskedPlay(deadline_s=100)
    play.passing(90)
    play.pay()
    play.passing(3600)
    assert play.check("look").decision == "allow"
    play.approve()
    assert play.pay("c1").decision == "allow"
    play.passing(9)
    assert play.check("look").decision == "allow"
    play.passing(1)
    assert play.check("look").policy_id == "lictor.deadline"


def test_the_deadline_goes_on_when_people_have_decided_and_when_they_may_no_more() -> None:
    play = AskedPlay(deadline_s=100)
    play.pay()
    decided_at = play.now_us + 30_000_000
    play.passing(1000)
    play.approve(settled_at=utc_millis(from_micros(decided_at)))
    # It was decided long ago, and the agent came late.
    assert play.pay("c1").decision == "allow"
    assert play.check("look").policy_id == "lictor.deadline"

    late = AskedPlay(deadline_s=100)
    late.pay()
    late.passing(LATER + 101)
    assert late.check("look").policy_id == "lictor.deadline"


def test_the_deadline_runs_where_a_policy_wants_it_to() -> None:
    play = AskedPlay({**MONEY, "pauses_deadline": False}, deadline_s=100)
    play.pay()
    play.passing(100)
    assert play.check("look").policy_id == "lictor.deadline"


def test_the_request_says_who_decides_and_until_when_the_first_of_them_may() -> None:
    both = {**MONEY, "name": "also", "decide_within_s": 60, "approvers": ["finance"], "needed": 2}
    play = AskedPlay(MONEY, both)
    play.pay()
    (request,) = play.requests
    assert [(each.policy_id, each.needed) for each in request.asks] == [("money", 1), ("also", 2)]
    assert request.requested_at == "2027-01-15T08:00:00.000Z"
    assert request.expires_at == "2027-01-15T08:01:00.000Z"
    assert request.binding.number == 1


@pytest.mark.parametrize(
    "odd",
    [
        None,
        {"allowed": True, "people": PeopleAsked()},
        {"allowed": 1},
        {"allowed": False, "people": "everybody"},
        {"allowed": None, "people": PeopleAsked()},
        {"allowed": False, "people": PeopleAsked(needed=0)},
        {"allowed": False, "people": PeopleAsked(max_waiting=0)},
    ],
)
def test_a_decision_that_is_not_plainly_allow_deny_or_ask_is_a_denial(odd) -> None:
    decision = PolicyDecision.deny("r", "m")
    for name, value in (odd or {}).items():
        object.__setattr__(decision, name, value)
    policy = Scripted("odd", lambda _: None if odd is None else decision)
    play = Rehearsal(guarded(tools=["pay"], policies=(policy,)))
    answer = play.check("pay")
    assert answer.decision == "deny"
    assert isinstance(play.log[-1][1], CallDenied)


def test_a_plugin_may_ask_people() -> None:
    asks = PolicyDecision.ask("somebody must see it", PeopleAsked(approvers=("finance",)))
    play = Rehearsal(guarded(tools=["pay"], policies=(Scripted("p", lambda _: asks),)))
    answer = play.check("pay")
    assert (answer.decision, answer.policy_id) == ("ask", "p")
    assert answer.reason == "somebody must see it"


def test_people_are_not_asked_about_what_can_not_be_shown_to_them() -> None:
    play = AskedPlay()
    denied = play.pay(params={"amount": 2**80})
    assert (denied.decision, denied.policy_id) == ("deny", "lictor.approval.unaskable")


def test_a_request_that_stands_in_the_log_twice_is_one_and_is_used_once() -> None:
    play = AskedPlay()
    play.pay()
    play.approve()
    play.pay("c1")
    stored = dict(play.stored)
    for _, entry in list(play.log)[1:]:
        play._append(entry)  # pyright: ignore[reportPrivateUsage]
    assert play.stored == stored
    assert play.pay("c2").decision == "ask"
    assert len(play.requests) == 3


def test_a_new_request_about_a_call_takes_the_place_of_the_old_one() -> None:
    play = AskedPlay({**WRITES, "max_waiting": 1})
    for content in ("one", "two", "three"):
        asked = play.check("write", params={"path": "a.txt"}, resources=(file(content),))
        assert asked.decision == "ask"
    one, two, three = (entry for _, entry in play.log if isinstance(entry, CallAsked))
    ids = [each.request_id for each in play.requests]
    assert [each.replaces for each in (one, two, three)] == [None, ids[0], ids[1]]
    play.approve(play.requests[0])
    old = play.check("write", params={"path": "a.txt"}, resources=(file("one"),))
    assert old.decision == "ask"


def test_an_entry_that_stands_in_the_log_twice_takes_no_cancelling_back() -> None:
    play = AskedPlay({**MONEY, "remember": ["session"]})
    play.pay()
    play.approve(reusable=True)
    play.pay("c1")
    used = play.log[-1][1]
    play.cancel(play.requests[0].request_id)
    play._append(used)  # pyright: ignore[reportPrivateUsage]
    assert play.pay("c2").decision == "ask"
