"""Tasks that stand still, whose task it is, and what a report that nobody saw is worth."""

from typing import Any

import pytest

from lictor_policy.errors import UnacceptableEvent
from lictor_policy.gates import judgement
from lictor_policy.gates.judgement import judge_report
from lictor_policy.offline.stories import Stage, moment, usual_event
from lictor_schema.core.time import to_micros
from lictor_schema.gates.gate import ReportGateRequest

DONE = {"type": "completion", "text": "done"}
AMBIGUOUS = {**DONE, "next_step": "drop the old tables"}


def decision(outcome: Any) -> str:
    return outcome.record.decision.decision.value


@pytest.fixture
def blocked(stage: Stage, make_evidence: Any) -> Stage:
    stage.say("task_started", 0, mode="silent", checkpoint_interval_s=60, silence_timeout_s=60)
    stage.say("task_evidence_attached", 1, items=[make_evidence(1)])
    return stage


@pytest.fixture
def in_review(stage: Stage, make_evidence: Any) -> Stage:
    stage.say("task_started", 0, checkpoint_interval_s=60)
    stage.say("task_evidence_attached", 1, items=[make_evidence(1)])
    stage.say("task_claimed_complete", 2, claim=AMBIGUOUS)
    return stage


@pytest.mark.parametrize("target", ["active", "in_progress", "pending_verification", "completed"])
def test_no_status_of_the_agents_lifts_a_block(blocked: Stage, target: str) -> None:
    outcome = blocked.say("task_status_changed", 2, to_status=target)
    assert decision(outcome) in ("block", "require_review")
    assert outcome.state.held_by
    assert not outcome.state.closed
    assert decision(blocked.say("task_claimed_complete", 3)) == "require_review"


def test_a_downgraded_claim_is_no_way_out_of_a_block(stage: Stage, make_evidence: Any) -> None:
    stage.say("task_started", 0, mode="silent")
    downgraded = stage.say("task_claimed_complete", 1)
    assert decision(downgraded) == "downgrade_status"
    assert downgraded.record.decision.suggested_status is None
    assert downgraded.state.status == "blocked"
    stage.say("task_evidence_attached", 2, items=[make_evidence(1)])
    assert decision(stage.say("task_claimed_complete", 3)) == "require_review"


def test_claiming_again_does_not_answer_a_review(in_review: Stage) -> None:
    for seconds in (3, 4, 5):
        assert decision(in_review.say("task_claimed_complete", seconds)) == "require_review"


def test_a_blocked_task_may_be_given_up(blocked: Stage) -> None:
    outcome = blocked.say("task_status_changed", 2, to_status="failed")
    assert (decision(outcome), outcome.state.closed) == ("allow", True)


def test_the_operator_may_end_a_review_by_accepting_the_work(in_review: Stage) -> None:
    accepted = in_review.say("task_status_changed", 9, to_status="completed", decided_by="ops")
    assert (decision(accepted), accepted.state.closed) == ("allow", True)


def test_the_operators_word_is_no_evidence(stage: Stage) -> None:
    stage.say("task_started", 0, mode="silent")
    accepted = stage.say("task_status_changed", 9, to_status="completed", decided_by="ops")
    assert (decision(accepted), accepted.state.closed) == ("block", False)


@pytest.mark.parametrize("held", ["blocked", "in_review"])
def test_no_report_is_called_for_while_a_task_is_held(
    held: str, request: pytest.FixtureRequest
) -> None:
    task: Stage = request.getfixturevalue(held)
    assert not task.pending
    told = task.play(usual_event("task_checkpoint_due", 500, runtime="cron"), 500)
    assert decision(told) == "allow"


def test_a_decision_suggests_no_other_status_to_a_held_task(in_review: Stage) -> None:
    in_review.say("task_checkpoint_sent", 3)
    labelled = in_review.say("task_checkpoint_sent", 4, claim={"type": "progress", "text": "more"})
    assert decision(labelled) == "annotate_placeholder"
    assert labelled.record.decision.suggested_status is None
    assert labelled.state.status == "awaiting_review"


def test_a_completion_of_a_held_task_is_denied_at_the_gate(in_review: Stage) -> None:
    asked = ReportGateRequest.model_validate(
        {
            "request_id": "q1",
            "runtime": "openclaw",
            "agent_id": "agent-1",
            "task_id": "task-1",
            "requested_at": moment(9),
            "message": "done",
            "claim": DONE,
        },
        strict=False,
    )
    judged = judge_report(in_review.state, asked, to_micros(moment(9)), in_review.config)
    assert judged.answer.decision == "deny"
    assert judgement.TASK_HELD in judged.gate_rules


def test_a_task_that_waits_for_an_answer_says_so_or_is_called_on(stage: Stage) -> None:
    stage.say("task_started", 0, checkpoint_interval_s=60)
    stage.say("task_checkpoint_sent", 2)
    stage.say("task_status_changed", 3, to_status="waiting_user")
    assert "checkpoint" in stage.pending
    stage.say("operator_review_requested", 4)
    assert not stage.pending
    # The answer was to another question than the next one.
    stage.say("task_status_changed", 10)
    stage.say("task_status_changed", 11, to_status="waiting_user")
    assert "checkpoint" in stage.pending


def test_of_twenty_misses_in_a_row_three_are_escalated(stage: Stage) -> None:
    stage.say("task_started", 0, checkpoint_interval_s=60)
    told = [decision(stage.fire("checkpoint")) for _ in range(20)]
    assert [number for number, each in enumerate(told, 1) if each == "escalate"] == [3, 6, 12]


@pytest.mark.parametrize(
    "event_type",
    [
        "task_status_changed",
        "task_claimed_complete",
        "task_checkpoint_sent",
        "forced_operator_update",
        "subagent_completed",
        "subagent_result_forwarded",
        "subagent_spawned",
    ],
)
def test_another_runtime_can_neither_steer_a_task_nor_report_for_it(
    stage: Stage, event_type: str
) -> None:
    stage.say("task_started", 0)
    with pytest.raises(UnacceptableEvent, match="belongs to openclaw"):
        stage.play(usual_event(event_type, 1, runtime="evil"), 1)


def test_another_runtime_may_tell_that_a_report_is_missing(stage: Stage) -> None:
    stage.say("task_started", 0, checkpoint_interval_s=60)
    told = stage.play(usual_event("task_checkpoint_due", 60, runtime="cron"), 60)
    assert decision(told) == "force_checkpoint"


def test_a_report_that_is_held_back_meets_no_duty(stage: Stage) -> None:
    stage.say("task_started", 0, checkpoint_interval_s=60)
    before = stage.say("subagent_spawn_failed", 8).state
    claim = {"type": "progress", "text": "x"}
    after = stage.say("task_checkpoint_sent", 9, claim=claim, structure=None)
    assert decision(after) == "block"
    assert after.state == before


def test_a_hidden_report_uses_up_no_evidence(stage: Stage, make_evidence: Any) -> None:
    stage.say("task_started", 0)
    stage.say("task_evidence_attached", 1, items=[make_evidence(1)])
    stage.say("task_checkpoint_sent", 2, operator_visible=False)
    shown = stage.say("task_checkpoint_sent", 3, claim={"type": "progress", "text": "x"})
    assert decision(shown) == "allow"
