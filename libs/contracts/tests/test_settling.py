"""The outcome that may be told of a decision: never better than what its log shows."""

import pytest

from lictor_contracts.settling import final_rung, why
from lictor_schema import DegradeStep, OutcomeCode

from .decision_play import Play
from .strategies_contracts import action, dte


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
    return why(play.state, rung, end.verification, end.outcome)


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
    assert told(play) == "success: 1 dispatched"
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
    assert "rung cache_bundle" in told(play)
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
    assert told(play) == "success: 0 dispatched"


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
