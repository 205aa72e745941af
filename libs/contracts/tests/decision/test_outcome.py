"""The outcome that may be told of a decision: never better than what its log shows."""

from typing import Any

import pytest

from libs.contracts.tests.decision_play import Play
from libs.contracts.tests.strategies_contracts import DTE_FIELDS, action, dte
from lictor_contracts.decision.outcome import final_rung, not_done, why
from lictor_schema.contracts.envelope import DegradeStep
from lictor_schema.seals.episode import OutcomeCode


def closed(play: Play, claimed: OutcomeCode = OutcomeCode.SUCCESS) -> OutcomeCode:
    assert play.close(claimed).ok
    assert play.state is not None
    assert play.state.closed is not None
    return play.state.closed.outcome


def told(play: Play) -> str:
    assert play.state is not None
    assert play.state.closed is not None
    end = play.state.closed
    rung = final_rung(play.state, end.at_us)
    return why(play.state, rung, end.verification, end.at_us)


def acted(play: Play, outcome: str = "success") -> Play:
    assert play.judge().decision == "allow"
    play.dispatched()
    play.finished(outcome=outcome)
    return play


def test_what_ends_exactly_at_the_deadline_is_in_time_and_a_moment_later_abstains() -> None:
    play = acted(Play().ready())
    play.wait(120)
    play.tell(what="decision_ended")
    assert closed(play) is OutcomeCode.SUCCESS
    assert told(play) == "1 sent: refund (a-1)"
    late = acted(Play().ready())
    late.wait(120.001)
    late.tell(what="decision_ended")
    assert closed(late) is OutcomeCode.ABSTAIN
    assert "it abstained after something had been dispatched" in told(late)


@pytest.mark.parametrize(
    ("outcome", "claimed", "expected"),
    [
        ("success", OutcomeCode.SUCCESS, OutcomeCode.SUCCESS),
        ("success", OutcomeCode.FAIL, OutcomeCode.FAIL),
        ("partial", OutcomeCode.SUCCESS, OutcomeCode.PARTIAL),
        ("fail", OutcomeCode.SUCCESS, OutcomeCode.FAIL),
        ("success", OutcomeCode.PARTIAL, OutcomeCode.PARTIAL),
    ],
)
def test_the_worse_of_what_was_claimed_and_what_was_done_counts(
    outcome: str, claimed: OutcomeCode, expected: OutcomeCode
) -> None:
    assert closed(acted(Play().ready(), outcome), claimed) is expected


def test_a_failure_that_was_claimed_to_be_a_success_is_red() -> None:
    play = acted(Play().ready(), "fail")
    closed(play)
    assert ("outcome", "outcome success instead of fail", "red") in play.causes
    honest = acted(Play().ready(), "fail")
    closed(honest, OutcomeCode.FAIL)
    assert all(kind != "outcome" for kind, _, _ in honest.causes)


def test_what_was_sent_and_never_finished_is_no_success() -> None:
    play = Play().ready()
    play.judge()
    play.dispatched()
    assert closed(play) is OutcomeCode.PARTIAL


def test_a_rung_makes_it_partial_and_a_failed_verification_a_failure() -> None:
    play = Play().ready()
    play.wait(85)
    play.tell(what="stage_begun", stage="plan")
    assert closed(play) is OutcomeCode.PARTIAL
    assert "the ladder said cache_bundle" in told(play)
    failed = acted(Play().ready())
    failed.verify(observed={"status": "open"})
    assert closed(failed) is OutcomeCode.FAIL
    assert "verification fail" in told(failed)


def test_the_worst_verification_counts_and_one_that_is_missing_is_worse_than_a_pass() -> None:
    play = Play(dte(deadlineMs=1000)).ready()
    first = action(blastRadiusTier="medium")
    second = action(actionId="a-2", idempotencyKey="k-2", blastRadiusTier="medium")
    for each in (first, second):
        assert play.judge(each).decision == "allow"
        play.dispatched(each)
        play.finished(each)
    play.verify()
    assert closed(play) is OutcomeCode.PARTIAL
    assert play.state is not None
    assert play.state.closed is not None
    assert play.state.closed.verification.result == "na"


def test_nothing_done_is_a_success_that_needed_no_verification() -> None:
    play = Play().ready()
    assert closed(play) is OutcomeCode.SUCCESS
    assert play.state is not None
    assert final_rung(play.state, play.now_us).step is None
    assert told(play) == "nothing was done"


def test_a_bypass_is_not_undone_by_a_later_rung() -> None:
    play = Play().ready()
    play.approve("head-of-ops", None)
    play.wait(85)
    play.tell(what="stage_begun", stage="plan")
    assert play.state is not None
    assert play.state.rung is not None
    assert play.state.rung.step is DegradeStep.BYPASS
    assert closed(play) is OutcomeCode.BYPASSED


def test_nobody_approves_after_the_end_or_without_a_name_and_a_reason() -> None:
    play = Play().ready()
    name = play.judge(action(authorization={"mode": "hitl"})).action_hash
    assert play.approve(" ", name).policy_id == "lictor.contract.nobody"
    play.tell(what="decision_ended")
    assert play.approve("ada", name).policy_id == "lictor.contract.ended"


LARGE = {"blastRadiusTier": "large"}
SCOPE = dte(
    deadlineMs=10_000,
    safeAction={**DTE_FIELDS["safeAction"], "blastRadiusMax": "medium"},
    freshness={"defaultTtlMs": 9000},
)
REFUSED: dict[str, tuple[dict[str, Any], str, DegradeStep | None]] = {
    "tier above blastRadiusMax": (LARGE, "blast_radius", DegradeStep.HITL),
    "mode blocked": ({"authorization": {"mode": "blocked"}}, "blocked", DegradeStep.HITL),
    "type not allowed": ({"actionType": "wire"}, "action_type", None),
    "no rollback plan": (
        {"blastRadiusTier": "medium", "rollbackPlan": {"type": "none"}},
        "rollback_missing",
        None,
    ),
    "precondition false": (
        {"preconditions": [{"fact": "open", "operator": "equals", "value": True}]},
        "precondition",
        None,
    ),
    "hitl never approved": ({"authorization": {"mode": "hitl"}}, "approvals", None),
}


@pytest.mark.parametrize("cause", REFUSED)
def test_a_decision_whose_only_action_was_refused_is_no_success(cause: str) -> None:
    changes, code, step = REFUSED[cause]
    play = Play(SCOPE).ready()
    answer = play.judge(action(**changes))
    assert answer.decision in ("deny", "wait")
    assert code in [each.code for each in answer.reasons]
    assert closed(play) is OutcomeCode.FAIL
    assert play.state is not None
    assert final_rung(play.state, play.now_us).step is step
    (missing,) = not_done(play.state)
    assert missing.status == ("never_approved" if code == "approvals" else "refused")
    assert told(play).startswith("nothing was done; ")
    assert missing.reason in told(play)
    assert any(kind == "outcome" for kind, _, _ in play.causes), play.causes
    assert ("outcome", "outcome success instead of fail", "red") in play.causes


@pytest.mark.parametrize("cause", ["tier above blastRadiusMax", "mode blocked"])
def test_what_the_envelope_never_allows_consults_the_ladder(cause: str) -> None:
    """Contract scenario 23: a tier above the largest, or a blocked action, is blocked; a person has to do it.

    Where the ladder lists nobody, the decision abstains.
    """
    changes, _, _ = REFUSED[cause]
    play = Play(SCOPE).ready()
    answer = play.judge(action(**changes))
    assert answer.rung is not None
    assert (answer.decision, answer.rung.step) == ("deny", DegradeStep.HITL)
    assert answer.rung.rationale["reason"] == "beyond_the_envelope"
    assert ("fallback", "rung hitl used", "green") in play.causes
    play.approve("ada", answer.action_hash)
    play.approve("bob", answer.action_hash)
    assert play.judge(action(**changes)).decision == "deny"
    alone = Play(SCOPE.model_copy(update={"degrade_ladder": SCOPE.degrade_ladder[-1:]})).ready()
    answer = alone.judge(action(**changes))
    assert answer.rung is not None
    assert (answer.decision, answer.rung.step) == ("deny", DegradeStep.ABSTAIN)
    assert closed(alone) is OutcomeCode.ABSTAIN


def test_no_value_of_a_fact_is_told_of_what_was_refused() -> None:
    play = Play(SCOPE).ready()
    careful = action(preconditions=[{"fact": "pin", "operator": "equals", "value": 1234}])
    assert "9876" in play.judge(careful, facts={"pin": 9876}).reason
    closed(play)
    assert "refund (a-1) was refused: its precondition on pin does not hold" in told(play)
    assert "9876" not in told(play)
    assert "1234" not in told(play)


def test_some_done_and_some_refused_is_partial() -> None:
    play = acted(Play(SCOPE).ready())
    play.judge(action(actionId="a-2", idempotencyKey="k-2", actionType="wire"))
    assert closed(play) is OutcomeCode.PARTIAL
    assert "1 sent: refund (a-1)" in told(play)
    assert "wire (a-2) was refused: 'wire' is not allowed" in told(play)


def test_what_was_refused_first_and_sent_later_under_its_key_is_done() -> None:
    play = Play(SCOPE).ready()
    careful = action(preconditions=[{"fact": "open", "operator": "equals", "value": True}])
    assert play.judge(careful).decision == "deny"
    again = careful.model_copy(update={"action_id": "a-2"})
    assert play.judge(again, facts={"open": True}).decision == "allow"
    play.dispatched(again)
    play.finished(again)
    assert closed(play) is OutcomeCode.SUCCESS


def test_what_was_allowed_and_never_sent_was_not_done() -> None:
    play = Play().ready()
    assert play.judge().decision == "allow"
    assert closed(play) is OutcomeCode.FAIL
    assert "refund (a-1) was never sent" in told(play)


def test_a_key_that_stands_for_another_action_is_refused_and_told() -> None:
    play = acted(Play().ready())
    assert play.judge(action(actionId="a-2", actionType="note")).standing == "conflict"
    assert closed(play) is OutcomeCode.PARTIAL
    assert "note (a-2) was refused" in told(play)


def test_expected_5_observed_50_is_a_failure_whatever_else_was_verified() -> None:
    play = Play().ready()
    play.judge()
    play.dispatched()
    play.finished(expected={"amount": 5}, observed={"amount": 50})
    play.verify()
    assert closed(play) is OutcomeCode.FAIL
    assert "observed is not what was expected of amount" in told(play)


def test_what_was_expected_and_not_observed_is_no_success() -> None:
    play = Play().ready()
    play.judge()
    play.dispatched()
    play.finished(expected={"amount": 5}, observed={})
    assert closed(play) is OutcomeCode.PARTIAL
    assert "expected and not observed: amount" in told(play)


def test_no_pass_of_one_check_answers_for_the_failure_of_another() -> None:
    play = acted(Play(SCOPE).ready())
    play.verify(expectation={"amount": 5}, observed={"amount": 50})
    play.verify()
    assert closed(play) is OutcomeCode.FAIL
    # The same check that passes in the end was looked at again: no failure, and a rung all the same.
    again = acted(Play(SCOPE).ready())
    again.verify(observed={"status": "open"})
    again.verify()
    assert closed(again) is OutcomeCode.PARTIAL


def test_what_was_sent_without_a_contract_is_told_also_when_the_ladder_says_abstain() -> None:
    play = Play().ready()
    play.dispatched(action(actionId="a-9"))
    play.wait(121)
    play.tick()
    assert closed(play) is OutcomeCode.BYPASSED


def test_a_failure_of_what_was_sent_is_told_also_when_the_ladder_says_abstain() -> None:
    play = acted(Play().ready(), "fail")
    play.wait(121)
    play.tick()
    assert closed(play) is OutcomeCode.FAIL


def test_a_limit_or_a_budget_that_was_exceeded_after_the_action_is_no_success() -> None:
    """Also where no timer rang and no gate was asked any more."""
    spread = acted(Play(SCOPE).ready())
    spread.tell(what="spread_counted", hops=4, fanout=1, tool_calls=1, chain_depth=1)
    assert closed(spread) is OutcomeCode.PARTIAL
    assert "hops is 4 and at most 3 is allowed" in told(spread)
    slow = acted(Play(SCOPE).ready())
    slow.stage("verify", 11)
    assert closed(slow) is OutcomeCode.PARTIAL
    assert "the stage verify took 11 ms and may take 10 ms" in told(slow)


def test_a_task_that_failed_because_its_decision_abstained_has_abstained() -> None:
    play = Play()
    play.begin()
    assert play.judge().decision == "deny"
    assert closed(play, OutcomeCode.FAIL) is OutcomeCode.ABSTAIN
