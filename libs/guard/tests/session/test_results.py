"""Results, usage, stops and feedback of a session: counted once, heard by everybody, lost by nobody."""

from typing import Any

import pytest
from rehearsed_session import BEGIN_US, SECOND_US, Rehearsal, Scripted, guarded

from lictor_guard.facts.fact import Changes, Fact, OwnFacts
from lictor_guard.facts.session_facts import Broken, Recent, SubagentBlocks
from lictor_guard.plugins.feedback_provider import FeedbackContext, PlainProvider
from lictor_guard.plugins.tool_call import Call, Result
from lictor_guard.plugins.tool_policy import CheckContext
from lictor_guard.session.limits import with_usage
from lictor_guard.session.stop_gate import ASKED_AGAIN_US
from lictor_schema.sessions.agent_definition import TriggerSpec
from lictor_schema.sessions.feedback import Feedback
from lictor_schema.sessions.session_log import StopJudged
from lictor_schema.sessions.session_questions import Resource, SeenFile, Usage

TOOLS = ("edit", "test", "deploy")
RATE = {"kind": "rate-limit", "name": "rate", "tools": ["edit"], "limit": 2, "window_s": 60}


class Heard(Fact, kind="test-heard", retention="state"):
    """What a scripted policy remembers."""

    what: str


def _fail(_: Result) -> Changes:
    raise RuntimeError("lost my pencil")


def test_a_result_reported_again_counts_for_nothing() -> None:
    """Scenario 149: a redelivered result does not count twice."""
    ear = Scripted("ear")
    play = Rehearsal(guarded(tools=TOOLS, policies=(ear,)))
    assert not play.result("edit", "c1").duplicate
    before = dict(play.stored)
    again = play.result("edit", "c1", "failed")
    assert (again.ok, again.duplicate) == (True, True)
    assert play.stored == before
    assert ear.heard == ["c1"]


def test_a_result_logged_twice_is_folded_once() -> None:
    """Scenario 149: while the store is away the log may get a result twice; its fold counts it once."""
    ear = Scripted("ear")
    play = Rehearsal(guarded(tools=TOOLS, policies=(ear,)))
    play.result_unseen("edit", "c1")
    play.result_unseen("edit", "c1")
    assert (play.tally.calls, ear.heard) == (1, ["c1"])
    assert play.rebuilt() == play.stored


ORDER = {"kind": "sequential-dependency", "name": "order", "requires": {"deploy": ["test"]}}
GATED = {
    "tools": [*TOOLS, {"name": "write", "access": "write", "resources": ["path"]}],
    "policy_specs": [
        {**ORDER, "invalidated_by": {"test": ["write"]}},
        {"kind": "read-before-write", "name": "read-first"},
        {"kind": "parameters", "name": "safe", "tools": ["test"], "rules": [{"param": "x", "deny": ["x"]}]},
    ],
    "completion": {"checker": {"kind": "verification", "name": "tested", "tool": "test", "stale_after": ["write"]}},
}  # fmt: skip


def _file(content: str) -> Resource:
    return Resource(param="path", given="a", key="a", state="file", digest=f"sha256:{content * 64}")


def test_a_denied_call_that_ran_all_the_same_earns_nothing() -> None:
    play = Rehearsal(guarded(**GATED))
    fields: Any = {"params": {"path": "a"}, "resources": (_file("1"),)}
    assert play.check("write", "w1", **fields).policy_id == "read-first"
    play.result("write", "w1", **fields)
    assert play.check("write", "w2", **fields).policy_id == "read-first"
    assert play.check("test", "t1", params={"x": "x"}).policy_id == "safe"
    play.result("test", "t1", params={"x": "x"})
    assert play.check("deploy", "d1").policy_id == "order"
    assert play.stop().decision == "deny"
    assert play.rebuilt() == play.stored


def test_a_denied_call_that_ran_all_the_same_spoils_what_was_known() -> None:
    play = Rehearsal(guarded(**GATED))
    play.call("test")
    assert (play.check("deploy").decision, play.stop().decision) == ("allow", "allow")
    fields: Any = {"params": {"path": "a"}, "resources": (_file("1"),)}
    assert play.check("write", "w1", **fields).decision == "deny"
    play.result("write", "w1", "ok", params={"path": "a"}, resources=(_file("2"),))
    assert (play.check("deploy").decision, play.stop().decision) == ("deny", "deny")


def test_a_change_between_check_and_end_of_a_test_makes_it_stale_without_any_duration() -> None:
    play = Rehearsal(guarded(**GATED))
    assert play.check("test", "t1").decision == "allow"
    fields: Any = {"params": {"path": "a"}, "resources": (_file("1"),)}
    play.result("write", "w1", **fields)
    play.result("test", "t1")
    assert "write came after it" in (play.stop().remedy or "")
    play.call("test")
    assert play.stop().status == "complete"
    assert play.rebuilt() == play.stored


def test_an_entry_that_is_earlier_than_the_one_before_is_not_taken_so() -> None:
    play = Rehearsal(guarded(tools=TOOLS))
    play.passing(10)
    play.result("edit", "c1")
    play.passing(-9)
    play.result_unseen("edit", "c2")
    recent = play.whole["session/recent"]
    assert isinstance(recent, Recent)
    assert [call.at_us for call in recent.calls] == [BEGIN_US + 10 * SECOND_US] * 2


def test_each_outcome_counts_as_a_call_and_only_ok_as_a_success() -> None:
    """Scenario 119: events of an evaluation."""
    play = Rehearsal(guarded(tools=TOOLS))
    for outcome in ("ok", "failed", "denied", "invalid", "crashed", "interrupted"):
        play.result("edit", outcome=outcome)
    tally = play.tally
    assert (tally.calls, tally.succeeded, tally.failed, tally.denied) == (6, 1, 4, 1)


def test_a_denial_that_the_adapter_reports_too_counts_once() -> None:
    play = Rehearsal(guarded(tools=TOOLS))
    play.check("nuke", "c1")
    assert play.result("nuke", "c1", "denied").duplicate
    assert (play.tally.calls, play.tally.denied) == (1, 1)


def test_a_call_that_ran_in_spite_of_a_denial_is_heard_and_counts_as_one_call() -> None:
    ear = Scripted("ear")
    play = Rehearsal(guarded(tools=TOOLS, policies=(ear,)))
    play.check("nuke", "c1")
    assert not play.result("nuke", "c1", "ok").duplicate
    assert play.result("nuke", "c1", "ok").duplicate
    assert (play.tally.calls, ear.heard) == (1, ["c1"])


def test_a_call_counted_when_it_was_allowed_is_not_counted_again_by_its_result() -> None:
    play = Rehearsal(guarded(tools=TOOLS, policy_specs=[RATE]))
    assert play.check("edit", "c1").decision == "allow"
    assert play.check("edit", "c1").decision == "allow"
    play.result("edit", "c1")
    assert play.kinds.count("call_reserved") == 1
    assert play.check("edit", "c2").decision == "allow"
    assert play.check("edit", "c3").policy_id == "rate"
    assert play.check("edit", "c2").decision == "allow"


def test_calls_that_have_not_ended_count_whichever_policy_comes_last() -> None:
    play = Rehearsal(guarded(tools=TOOLS, policy_specs=[RATE], policies=(Scripted("last"),)))
    answers = [play.check("edit", f"p{number}") for number in range(3)]
    assert [each.decision for each in answers] == ["allow", "allow", "deny"]
    assert answers[2].policy_id == "rate"


def test_a_policy_of_one_section_hears_results_of_another() -> None:
    order = {"kind": "sequential-dependency", "name": "order", "requires": {"deploy": ["test"]}}
    sections = [
        {"name": "check", "tools": [{"name": "test"}]},
        {"name": "ship", "tools": [{"name": "deploy"}], "policies": [order]},
    ]
    play = Rehearsal(guarded(sections=sections))
    assert play.check("deploy").policy_id == "order"
    play.call("test")
    assert play.check("deploy").decision == "allow"


def test_a_policy_of_one_section_counts_calls_of_another_from_when_they_are_allowed() -> None:
    order = {
        "kind": "sequential-dependency",
        "name": "order",
        "requires": {"deploy": ["test"]},
        "invalidated_by": {"test": ["edit"]},
    }
    sections = [
        {"name": "ship", "tools": [{"name": "deploy"}], "policies": [order]},
        {"name": "work", "tools": [{"name": "edit"}, {"name": "test"}]},
    ]
    play = Rehearsal(guarded(sections=sections))
    play.call("test")
    assert play.check("deploy").decision == "allow"
    play.check("edit")
    assert play.check("deploy").policy_id == "order"


def test_a_policy_that_fails_to_learn_loses_nothing_for_others_and_denies_from_then_on() -> None:
    """Scenario 140: the failing one's facts are unchanged, the others learn, in order."""
    before = Scripted("before", learn=lambda _: {"k": Heard(what="one")})
    bad = Scripted("bad", learn=_fail)
    after = Scripted("after", learn=lambda _: {"k": Heard(what="two")})
    play = Rehearsal(guarded(tools=TOOLS, policies=(before, bad, after)))
    assert play.result("edit").ok
    assert play.tally.calls == 1
    assert "policy/before/k" in play.stored
    assert "policy/after/k" in play.stored
    denied = play.check("edit")
    assert denied.policy_id == "bad"
    assert "RuntimeError: lost my pencil" in denied.reason
    play.reset()
    assert play.check("edit").decision == "allow"


def test_a_policy_that_is_broken_stays_so_over_a_restore() -> None:
    play = Rehearsal(guarded(tools=TOOLS, policies=(Scripted("bad", learn=_fail),)))
    play.snapshot("clean")
    play.result("edit")
    play.restore("clean")
    assert play.check("edit").policy_id == "bad"


def test_what_a_policy_returns_is_kept_only_if_it_can_be_stored() -> None:
    junk: Any
    for junk in (
        None,
        {"k": "text"},
        {1: None},
        {"k" * 5000: None},
        {"k": Heard(what="x" * 70_000)},
    ):
        bad = Scripted("bad", learn=lambda _, junk=junk: junk)
        play = Rehearsal(guarded(tools=TOOLS, policies=(bad,)))
        play.result("edit")
        assert isinstance(play.whole["session/broken"], Broken), junk
        assert play.check("edit").policy_id == "bad"


def test_the_last_calls_are_kept_oldest_first_and_no_more_of_them() -> None:
    """Scenario 50: recent calls."""
    play = Rehearsal(guarded(tools=TOOLS))
    for number in range(40):
        play.result("edit", f"r{number}")
    recent = play.whole["session/recent"]
    assert isinstance(recent, Recent)
    assert [call.call_id for call in recent.calls] == [f"r{n}" for n in range(8, 40)]


def test_usage_adds_up_to_the_last_digit() -> None:
    """Scenario 115: fields add, none counts as nothing."""
    play = Rehearsal(guarded(tools=TOOLS, budgets={"cost_usd": "0.3"}))
    play.result("edit", usage=Usage(input_tokens=5, cost_usd="0.1"))
    play.use("u1", output_tokens=7, cost_usd="0.1")
    play.use("u1", output_tokens=7, cost_usd="0.1")
    play.use("u2", cost_usd="0.099999999999")
    assert (play.tally.input_tokens, play.tally.output_tokens) == (5, 7)
    assert play.check("edit").decision == "allow"
    play.use("u3", cost_usd="0.000000000001")
    assert play.check("edit").policy_id == "lictor.budget"
    assert (play.tally.cost_micro_usd, play.tally.cost_below_micro) == (300_000, 0)


def test_usage_that_is_reported_as_negative_gives_nothing_back() -> None:
    play = Rehearsal(guarded(tools=TOOLS, budgets={"cost_usd": "1"}))
    play.use("u1", cost_usd="1")
    play.use("u2", cost_usd="-5.5")
    assert play.check("edit").policy_id == "lictor.budget"
    assert with_usage(play.tally, None) == play.tally


def test_each_token_budget_is_used_up_when_it_is_reached() -> None:
    for budget, used in (
        ("input_tokens", {"input_tokens": 10}),
        ("output_tokens", {"output_tokens": 10}),
        ("total_tokens", {"input_tokens": 4, "output_tokens": 6}),
    ):
        play = Rehearsal(guarded(tools=TOOLS, budgets={budget: 10}))
        first = next(iter(used))
        play.use("u1", **{**used, first: used[first] - 1})
        assert play.check("edit").decision == "allow", budget
        play.use("u2", **{first: 1})
        assert play.check("edit").policy_id == "lictor.budget", budget


FILES = {"checker": {"kind": "files", "files": ["out.txt"]}, "max_blocks": 2}


def test_a_blocked_stop_is_counted_until_work_is_given_anew() -> None:
    play = Rehearsal(guarded(tools=TOOLS, completion=FILES))
    assert [play.stop(files=()).decision for _ in range(3)] == ["deny", "deny", "allow"]
    assert play.tally.ended == "incomplete"
    play.begin(prompted=True)
    assert (play.tally.ended, play.tally.blocks) == (None, 0)
    blocked = play.stop(files=())
    assert (blocked.decision, blocked.attempt) == ("deny", 1)
    assert blocked.record_id == play.log[-1][1].entry_id


def test_a_stop_asked_again_is_the_same_stop_and_counts_once() -> None:
    play = Rehearsal(guarded(tools=TOOLS, completion={**FILES, "subagents": True}))
    for who in ({}, {"agent": "sub", "subagent": True}):
        for attempt, decision in ((1, "deny"), (2, "deny"), (2, "allow")):
            asked = {**who, "request_id": f"q{attempt} {decision}", "files": ()}
            first, logged = play.stop(**asked), len(play.log)
            assert (first.attempt, first.decision) == (attempt, decision)
            assert [play.stop(**asked) for _ in range(3)] == [first] * 3
            assert len(play.log) == logged
            assert first.escalated == (decision == "allow")


def test_a_stop_asked_again_is_answered_by_what_stands_now() -> None:
    """An allowed stop is no ticket: what was undone since is not complete, and what was done since is."""
    play = Rehearsal(guarded(tools=TOOLS, completion=FILES))
    there = (SeenFile(path="out.txt", state="file", size=3),)
    play.stop(request_id="again", files=there)
    assert (play.stop(request_id="again", files=()).attempt, play.tally.blocks) == (1, 1)
    assert play.stop(request_id="again", files=there).status == "complete"
    assert (play.tally.blocks, play.tally.ended) == (0, "complete")


def test_a_stop_after_more_calls_or_new_work_is_another_whatever_its_id() -> None:
    """Else an adapter that gives every stop the same id would be sent back for ever."""
    play = Rehearsal(guarded(tools=TOOLS, completion=FILES))
    asked = {"request_id": "mine", "files": ()}
    assert play.stop(**asked).attempt == 1
    play.call("edit")
    assert play.stop(**asked).attempt == 2
    play.begin(prompted=True)
    assert (play.stop(**asked).attempt, play.tally.blocks) == (1, 1)
    play.call("edit")
    assert play.stop(**asked).attempt == 2
    play.call("edit")
    assert play.stop(**asked).escalated


@pytest.mark.parametrize("who", [{}, {"agent": "sub", "subagent": True}])
def test_a_stop_long_after_is_another_whatever_its_id(who: dict[str, Any]) -> None:
    """Else an agent that calls nothing between its stops would be sent back for ever."""
    play = Rehearsal(guarded(tools=TOOLS, completion={**FILES, "subagents": True}))
    asked = {**who, "request_id": "mine", "files": ()}
    for attempt in (1, 2):
        assert play.stop(**asked).attempt == attempt
        play.passing(ASKED_AGAIN_US / SECOND_US)
        assert play.stop(**asked).attempt == attempt
        play.passing(1)
    assert play.stop(**asked).escalated


def test_a_stop_with_nothing_left_is_bypassed_and_says_why() -> None:
    play = Rehearsal(guarded(tools=TOOLS, completion=FILES, deadline_s=60, budgets={"calls": 1}))
    play.call("edit")
    assert (play.stop().status, play.stop().bypass) == ("bypassed", "budget")
    play.passing(60)
    stopped = play.stop()
    assert (stopped.decision, stopped.bypass) == ("allow", "deadline")
    assert stopped.policy_id == "lictor.completion.bypassed"
    assert stopped.record_id == play.log[-1][1].entry_id


def test_a_complete_stop_has_no_decision_record_and_later_calls_go_on() -> None:
    play = Rehearsal(guarded(tools=TOOLS, completion=FILES))
    play.stop(files=())
    there = (SeenFile(path="out.txt", state="file", size=3),)
    done = play.stop(files=there)
    assert (done.status, done.record_id, play.tally.blocks) == ("complete", None, 0)
    assert play.call("edit").decision == "allow"
    assert play.tally.ended is None


def test_a_subagent_that_was_let_go_is_counted_anew() -> None:
    play = Rehearsal(guarded(tools=TOOLS, completion={**FILES, "subagents": True}))
    stops = [play.stop(agent="sub", subagent=True, files=()).decision for _ in range(4)]
    assert stops == ["deny", "deny", "allow", "deny"]
    assert play.whole["session/blocks/sub"] == SubagentBlocks(count=1)
    assert (play.tally.blocks, play.tally.ended) == (0, None)


def test_subagents_under_ever_new_names_are_not_sent_back_for_ever() -> None:
    play = Rehearsal(guarded(tools=TOOLS, completion={**FILES, "subagents": True}))
    stops = [play.stop(agent=f"sub{n}", subagent=True, files=()) for n in range(12)]
    assert [each.decision for each in stops] == ["deny"] * 8 + ["allow"] * 4
    assert all(each.escalated and each.status == "incomplete" for each in stops[8:])
    told = [entry.reason for _, entry in play.log if isinstance(entry, StopJudged)]
    assert "8 times of sending subagents back" in told[8]
    assert "8" not in stops[8].reason
    assert sum(name.startswith("session/blocks/") for name in play.whole) == 8
    assert play.stop(files=()).decision == "deny"
    play.begin(prompted=True)
    assert play.stop(agent="sub99", subagent=True, files=()).decision == "deny"


def test_a_stop_of_a_subagent_that_is_asked_again_is_sent_back_once() -> None:
    play = Rehearsal(guarded(tools=TOOLS, completion={**FILES, "subagents": True}))
    for n in range(8):
        asked = {"agent": f"sub{n}", "subagent": True, "request_id": f"once-{n}"}
        for _ in range(3):
            assert play.stop(files=(), **asked).decision == "deny"
    assert play.tally.subagent_blocks == 8


class Failing(PlainProvider):
    """A provider that speaks, and fails to learn."""

    name = "failing"

    def provide(self, context: FeedbackContext) -> Feedback:
        return Feedback(provider=self.name, summary=f"{context.tally.calls} calls")

    def on_result(
        self, call: Call, result: Result, facts: OwnFacts, context: CheckContext
    ) -> Changes:
        raise RuntimeError("no ear")


def test_a_provider_that_fails_to_learn_is_told_of_and_harms_nobody() -> None:
    trigger = TriggerSpec(every_n_calls=1)
    play = Rehearsal(guarded(tools=TOOLS, providers=((Failing(), trigger),)))
    assert play.call("edit").decision == "allow"
    heard = play.collect("c1")
    assert [each.summary for each in heard.feedback] == ["1 calls"]
    assert [each.error for each in heard.failures] == ["RuntimeError: no ear"]
    assert play.check("edit").decision == "allow"


def test_feedback_asked_for_again_is_the_same_and_changes_nothing() -> None:
    static = {"kind": "static", "name": "s", "text": "hi", "trigger": {"every_n_calls": 1}}
    play = Rehearsal(guarded(tools=TOOLS, feedback=[static]))
    play.call("edit")
    first = play.collect("c9")
    play.passing(30)
    again = play.collect("c9")
    assert (again.feedback, again.text) == (first.feedback, first.text)
    assert play.kinds.count("feedback_delivered") == 1
    assert play.collect("c10").feedback == ()


def test_a_tick_raises_feedback_that_waits_for_the_next_hook() -> None:
    static = {"kind": "static", "name": "s", "text": "hi", "trigger": {"every_n_seconds": 60}}
    play = Rehearsal(guarded(tools=TOOLS, feedback=[static]))
    play.call("edit")
    play.collect()
    play.passing(60)
    raised = play.tick()
    assert raised is not None
    assert play.tick() is None
    assert [each.provider for each in play.collect().feedback] == ["s"]
    assert play.collect().feedback == ()
    assert play.rebuilt() == play.stored
