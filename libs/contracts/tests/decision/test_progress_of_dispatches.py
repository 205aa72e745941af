"""What is told before an action is sent: told again, under another id, or when the ladder has had its say since."""

from typing import Any

import pytest

from libs.contracts.tests.decision_play import HASH, SPREAD, Play
from libs.contracts.tests.strategies_contracts import action, dte
from lictor_schema.contracts.envelope import DegradeStep

BYPASS = "lictor.contract.bypass"
OTHER = "lictor.contract.request-id"


def test_a_refused_dispatch_stays_refused_when_its_answer_was_lost() -> None:
    """A client that hears nothing asks again under the same id: that must not make it allowed."""
    play = Play(dte(deadlineMs=1000)).ready()
    play.judge()
    play.wait(251)
    first = play.dispatched(request_id="r-9")
    again = play.dispatched(request_id="r-9")
    assert (first.ok, first.policy_id) == (False, BYPASS)
    assert (again.ok, again.policy_id) == (False, BYPASS)
    assert play.state is not None
    assert play.state.bypasses == 1, "it was sent once, or not at all"


def test_a_dispatch_told_again_is_taken_once_and_only_while_it_holds() -> None:
    play = Play(dte(deadlineMs=1000)).ready()
    play.judge()
    assert play.dispatched(request_id="r-9").ok
    entries = len(play.log)
    again = play.dispatched(request_id="r-9")
    assert (again.ok, again.duplicate, len(play.log)) == (True, True, entries)
    play.freeze()
    frozen = play.dispatched(request_id="r-9")
    assert (frozen.ok, len(play.log)) == (False, entries + 1)
    assert "while frozen" in frozen.reason


def test_the_id_of_a_dispatch_is_no_allowance_for_another() -> None:
    play = Play().ready()
    play.judge()
    assert play.dispatched(request_id="r-9").ok
    other = play.dispatched(action(actionId="a-2", actionType="wire"), request_id="r-9")
    assert (other.ok, other.policy_id) == (False, OTHER)
    hashed = play.dispatched(request_id="r-9", action_hash="sha256:" + "b" * 64)
    assert (hashed.ok, hashed.policy_id) == (False, OTHER)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (
            {"what": "spread_counted", **SPREAD},
            {"what": "spread_counted", **SPREAD, "hops": 99},
        ),
        (
            {"what": "action_finished", "action_id": "a-1", "outcome": "fail", "result_hash": HASH},
            {
                "what": "action_finished",
                "action_id": "a-1",
                "outcome": "success",
                "result_hash": HASH,
            },
        ),
        ({"what": "stage_begun", "stage": "plan"}, {"what": "stage_begun", "stage": "act"}),
    ],
)
def test_something_else_under_the_same_id_is_not_taken_for_told(
    one: dict[str, Any], other: dict[str, Any]
) -> None:
    play = Play().ready()
    play.judge()
    play.dispatched()
    assert play.tell("r-9", **one).ok
    assert play.tell("r-9", **one).duplicate
    told = play.tell("r-9", **other)
    assert (told.ok, told.policy_id) == (False, OTHER)


def test_a_capture_of_another_moment_under_the_same_id_is_not_taken_for_told() -> None:
    play = Play().ready()
    at = play.now_us - 5_000_000
    assert play.tell("r-9", what="context_captured", feature="priceFeed", captured_at_us=at).ok
    told = play.tell(
        "r-9", what="context_captured", feature="priceFeed", captured_at_us=play.now_us
    )
    assert (told.ok, told.policy_id) == (False, OTHER)


def test_an_approval_or_a_finding_of_another_action_under_the_same_id_is_none() -> None:
    play = Play().ready()
    one = play.judge(action(authorization={"mode": "hitl"}))
    two = play.judge(action(actionId="a-2", idempotencyKey="k-2", authorization={"mode": "hitl"}))
    assert play.approve("ada", one.action_hash, request_id="r-1").ok
    assert play.approve("ada", one.action_hash, request_id="r-1").duplicate
    assert play.approve("ada", two.action_hash, request_id="r-1").policy_id == OTHER
    assert play.approve("bob", one.action_hash, request_id="r-1").policy_id == OTHER
    assert play.judge(action(authorization={"mode": "hitl"})).decision == "allow"
    assert play.dispatched(action(authorization={"mode": "hitl"})).ok
    assert play.verify("r-2").ok
    assert play.verify("r-2", action_id="a-2").policy_id == OTHER


def test_one_key_is_allowed_once_under_whatever_ids() -> None:
    """The first was refused, the second allowed: the first may not be allowed beside it."""
    play = Play(dte(deadlineMs=1000)).ready()
    play.wait(251)
    assert play.judge(action(actionId="a-1")).decision == "wait"
    play.capture("priceFeed")
    assert play.judge(action(actionId="a-2")).decision == "allow"
    beside = play.judge(action(actionId="a-1"))
    assert (beside.decision, beside.standing) == ("wait", "in_flight")


def test_one_question_allows_one_id_of_a_key() -> None:
    play = Play().ready()
    assert play.judge(action(actionId="a-1"), request_id="r-1").decision == "allow"
    beside = play.judge(action(actionId="a-2"), request_id="r-1")
    assert (beside.decision, beside.standing) == ("wait", "in_flight")


def test_what_was_sent_is_not_allowed_again_under_its_key() -> None:
    """Allowed, sent, asked again when it was stale, and then once more under another id."""
    play = Play(dte(deadlineMs=1000)).ready()
    assert play.judge(request_id="r-1").decision == "allow"
    assert play.dispatched().ok
    play.wait(251)
    assert play.judge(request_id="r-1").decision == "wait"
    play.capture("priceFeed")
    for action_id in ("a-1", "a-2"):
        assert play.judge(action(actionId=action_id)).decision == "wait"


def test_a_key_whose_first_action_is_refused_does_not_fill_the_log_under_another_id() -> None:
    play = Play(dte(deadlineMs=1000)).ready()
    play.wait(251)
    play.judge(action(actionId="a-1"))
    play.judge(action(actionId="a-2"))
    entries = len(play.log)
    for _ in range(3):
        assert play.judge(action(actionId="a-2")).decision == "wait"
    assert len(play.log) == entries


def test_an_allowance_does_not_outlive_the_ladder_s_word() -> None:
    """Allowed while nothing spoke against it; then a verifier found that another action had failed."""
    play = Play(dte(deadlineMs=10_000, freshness={"defaultTtlMs": 9000})).ready()
    first, second = action(), action(actionId="a-2", idempotencyKey="k-2")
    play.judge(first)
    approved = play.judge(second)
    assert approved.decision == "allow"
    play.dispatched(first)
    play.verify(observed={"status": "open"})
    answer = play.dispatched(second)
    assert (answer.ok, answer.policy_id) == (False, BYPASS)
    assert answer.rung is not None
    assert answer.rung.step is DegradeStep.HITL


def test_a_person_who_approved_it_has_answered_the_ladder() -> None:
    play = Play(dte(deadlineMs=10_000, freshness={"defaultTtlMs": 9000})).ready()
    first, second = action(), action(actionId="a-2", idempotencyKey="k-2")
    play.judge(first)
    allowed = play.judge(second)
    play.approve("ada", allowed.action_hash)
    play.dispatched(first)
    play.verify(observed={"status": "open"})
    assert play.dispatched(second).ok


def test_a_stage_that_ran_over_since_takes_the_allowance_with_it_when_no_rung_is_left() -> None:
    play = Play(dte(degradeLadder=[{"step": "abstain"}])).ready()
    play.tell(what="stage_begun", stage="act")
    assert play.judge().decision == "allow"
    play.wait(31)
    answer = play.dispatched()
    assert (answer.ok, answer.policy_id) == (False, BYPASS)
    assert ("bypass", "refund dispatched: after the ladder said abstain", "red") in play.causes


def test_who_asks_can_not_approve_the_bypass() -> None:
    play = Play().ready()
    play.tell(what="stage_begun", stage="context")
    play.wait(41)
    assert play.approve("head-of-ops", None).ok
    own = play.judge(agent_id="Head-of-Ops")
    assert own.rung is None or own.rung.step is not DegradeStep.BYPASS
