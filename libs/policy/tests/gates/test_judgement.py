"""What a gate makes of an act before it happens: the packs' own decision, and the built-in rules on top."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from lictor_policy.gates import judgement
from lictor_policy.gates.judgement import (
    OPEN_PROMISE,
    judge_dispatch,
    judge_report,
    write_gate_record,
)
from lictor_policy.task.state import TaskState
from lictor_schema.core.time import to_micros
from lictor_schema.decisions.decision import NO_RULE_MATCHED, Disposition
from lictor_schema.events.event import Event
from lictor_schema.gates.gate import DispatchGateRequest, ReportGateRequest
from lictor_schema.gates.gate_record import GateRecord

ANCHOR = {"channel": "telegram", "target": "chat-1"}
PATH = {
    "first_forced_checkpoint_trigger": "in 20 minutes",
    "if_unfinished_report": "what is done and what is left",
    "if_no_new_evidence": "paused",
    "externalized_trigger": "a scheduled reminder",
    "final_handoff_path": "a message in chat-1",
}
ANSWERS = {
    "current_status": "half done",
    "completed_this_segment": "the first table",
    "next_step": "the second table",
    "next_report_condition": "when it is done",
    "operator_intervention_needed": "no",
}


@pytest.fixture(scope="session")
def report(make_event: Callable[..., Event]) -> Callable[..., ReportGateRequest]:
    def ask(seconds: float = 1, **fields: Any) -> ReportGateRequest:
        when = make_event("task_started", seconds).timestamp
        return ReportGateRequest.model_validate(
            {
                "request_id": "q1",
                "runtime": "openclaw",
                "agent_id": "agent-1",
                "task_id": "task-1",
                "requested_at": when,
                "message": "Half of it is done.",
                **fields,
            },
            strict=False,
        )

    return ask


@pytest.fixture(scope="session")
def dispatch(make_event: Callable[..., Event]) -> Callable[..., DispatchGateRequest]:
    def ask(seconds: float = 1, **fields: Any) -> DispatchGateRequest:
        return DispatchGateRequest.model_validate(
            {
                "request_id": "q1",
                "runtime": "openclaw",
                "agent_id": "agent-1",
                "task_id": "task-1",
                "requested_at": make_event("task_started", seconds).timestamp,
                "dispatch_kind": "subagent",
                "mode": "interactive",
                "purpose": "Survey the tables",
                "report_anchor": ANCHOR,
                **fields,
            },
            strict=False,
        )

    return ask


@pytest.fixture
def now(make_event: Callable[..., Event]) -> Callable[[float], int]:
    return lambda seconds: to_micros(make_event("task_started", seconds).timestamp)


def test_an_honest_report_is_allowed_and_nothing_of_it_is_kept(stage, report, now, make_evidence):
    stage.say("task_started", 0)
    stage.say("task_evidence_attached", 0, items=[make_evidence(1)])
    before: TaskState = stage.state
    asked = report(structure=ANSWERS)
    judged = judge_report(before, asked, now(1), stage.config)
    assert (judged.answer.decision, judged.answer.policy_id) == ("allow", NO_RULE_MATCHED)
    assert (judged.answer.request_id, stage.state) == ("q1", before)


def test_a_completion_claim_without_evidence_is_not_shown_as_it_stands(stage, report, now):
    stage.say("task_started", 0)
    claim = {"type": "completion", "text": "It is done."}
    judged = judge_report(stage.state, report(claim=claim), now(1), stage.config)
    assert judged.disposition is Disposition.DOWNGRADE_STATUS
    assert judged.answer.decision in ("rewrite", "deny")
    assert judged.answer.message != "Half of it is done."
    assert json.loads(judged.matched_json)[0]["rule_id"] == judged.answer.policy_id
    assert judged.missing


def test_a_completion_claim_with_evidence_is_allowed(stage, report, now, make_evidence):
    stage.say("task_started", 0)
    stage.say("task_evidence_attached", 1, items=[make_evidence(1)])
    claim = {"type": "completion", "text": "It is done."}
    judged = judge_report(stage.state, report(2, claim=claim), now(2), stage.config)
    assert judged.answer.decision == "allow"


@pytest.mark.parametrize("state", ["none", "held back"])
def test_a_task_that_never_started_may_neither_report_nor_dispatch(
    stage, report, dispatch, now, state: str
):
    if state == "held back":
        stage.say("report_anchor_missing", 0)
    for judged in (
        judge_report(stage.state, report(), now(1), stage.config),
        judge_dispatch(stage.state, dispatch(), now(1), stage.config),
    ):
        assert judged.answer.decision == "deny"
        assert "never started" in judged.answer.reason
        assert judged.answer.policy_id == judgement.NOT_JUDGED


def test_a_question_from_the_future_is_denied(stage, report, now):
    stage.say("task_started", 0)
    judged = judge_report(stage.state, report(1000), now(1), stage.config)
    assert judged.answer.decision == "deny"
    assert judged.answer.remedy == "correct the clock of the runtime"


@pytest.mark.parametrize(
    ("decision", "template", "expected"),
    [
        ("allow", True, "allow"),
        ("annotate_placeholder", True, "rewrite"),
        ("rewrite", True, "rewrite"),
        ("require_review", True, "deny"),
        ("downgrade_status", True, "rewrite"),
        ("downgrade_status", False, "deny"),
        ("force_checkpoint", True, "rewrite"),
        ("force_checkpoint", False, "deny"),
        ("block", True, "deny"),
        ("escalate", True, "deny"),
    ],
)
def test_each_decision_has_its_answer_at_the_report_gate(
    new_stage, config_of, pack_of, rule_of, report, now, decision, template, expected
):
    texts = {"checkpoint_forced": "text", "status_downgraded": "text"}
    texts |= {"review_required": "text", "blocked": "text"}
    if template:
        texts["placeholder_rewrite"] = "Not proven: {{original_message}}"
    rule = rule_of(
        decision=decision,
        triggers={"event_types": ["task_checkpoint_sent"]},
        operator_message_templates=texts,
    )
    stage = new_stage(config_of(pack_of(rule)))
    stage.say("task_started", 0)
    judged = judge_report(stage.state, report(), now(1), stage.config)
    assert (judged.answer.decision, judged.disposition) == (expected, decision)
    assert judged.answer.policy_id == "example.rule"
    if expected == "rewrite":
        assert judged.answer.message == 'Not proven: "Half of it is done."'
    if expected == "deny":
        assert judged.answer.remedy


@pytest.mark.parametrize("decision", list(Disposition))
def test_each_decision_has_its_answer_at_the_dispatch_gate(
    new_stage, config_of, pack_of, rule_of, dispatch, now, decision
):
    rule = rule_of(decision=decision, triggers={"event_types": ["subagent_spawned"]})
    stage = new_stage(config_of(pack_of(rule)))
    stage.say("task_started", 0)
    judged = judge_dispatch(stage.state, dispatch(), now(1), stage.config)
    texts_only = decision in ("allow", "annotate_placeholder", "rewrite")
    assert judged.answer.decision == ("allow" if texts_only else "deny")


def test_nothing_is_dispatched_without_a_report_anchor(stage, dispatch, now):
    stage.say("task_started", 0)
    judged = judge_dispatch(stage.state, dispatch(report_anchor=None), now(1), stage.config)
    assert (judged.answer.decision, judged.gate_rules) == ("deny", (judgement.REPORT_ANCHOR,))
    assert "report_anchor" in str(judged.answer.remedy)
    assert judge_dispatch(stage.state, dispatch(), now(1), stage.config).answer.decision == "allow"


def test_a_child_may_use_the_anchor_of_its_task(stage, dispatch, now):
    stage.say("task_started", 0, report_anchor=ANCHOR)
    judged = judge_dispatch(stage.state, dispatch(report_anchor=None), now(1), stage.config)
    assert judged.answer.decision == "allow"


@pytest.mark.parametrize(
    ("path", "expected"),
    [(None, "deny"), ({**PATH, "externalized_trigger": "TBD"}, "deny"), (PATH, "allow")],
)
@pytest.mark.parametrize("kind", ["task", "subagent"])
def test_a_silent_launch_needs_a_way_to_be_heard_of(stage, dispatch, now, kind, path, expected):
    if kind == "subagent":
        stage.say("task_started", 0)
    asked = dispatch(dispatch_kind=kind, mode="silent", externalized_path=path)
    judged = judge_dispatch(stage.state, asked, now(1), stage.config)
    assert judged.answer.decision == expected
    assert (judgement.SILENT_LAUNCH in judged.gate_rules) == (expected == "deny")


def test_a_task_that_has_started_is_not_started_again(stage, dispatch, now):
    asked = dispatch(dispatch_kind="task")
    assert judge_dispatch(None, asked, now(1), stage.config).answer.decision == "allow"
    stage.say("task_started", 0)
    judged = judge_dispatch(stage.state, asked, now(1), stage.config)
    assert (judged.answer.decision, judged.answer.policy_id) == ("deny", judgement.NOT_JUDGED)


def test_a_closed_task_dispatches_nothing(stage, dispatch, now):
    stage.say("task_started", 0)
    stage.say("task_status_changed", 1, to_status="failed", reason="given up")
    assert stage.state.closed
    judged = judge_dispatch(stage.state, dispatch(), now(2), stage.config)
    assert (judged.answer.decision, judged.answer.policy_id) == ("deny", judgement.TASK_CLOSED)


def test_a_new_task_needs_the_parent_it_names(stage, dispatch, now):
    asked = dispatch(dispatch_kind="task", task_id="task-2", parent_task_id="task-1")
    assert judge_dispatch(None, asked, now(1), stage.config).answer.decision == "deny"
    stage.say("task_started", 0)
    judged = judge_dispatch(None, asked, now(1), stage.config, stage.state)
    assert judged.answer.decision == "allow"


def test_a_record_is_what_its_model_would_write(stage, report, dispatch, now):
    stage.say("task_started", 0)
    claim = {"type": "completion", "text": 'It is "done".'}
    for request, judge in (
        (report(message="Grüße\n"), judge_report),
        (report(claim=claim), judge_report),
        (dispatch(report_anchor=None, mode="silent"), judge_dispatch),
    ):
        judged = judge(stage.state, request, now(1), stage.config)
        gate = "report" if judge is judge_report else "dispatch"
        for sequence in (None, 7):
            text = write_gate_record(
                "6f0d1c57-5e0d-4b8e-9d53-1c9b8a2f7e11",
                now(2),
                gate,
                request,
                judged,
                stage.config.config_hash,
                sequence,
            )
            record = GateRecord.from_json(text)
            assert record.to_json() == text
            assert (record.request, record.answer) == (request, judged.answer)


COMPLETION = {"type": "completion", "text": "It is done."}


@pytest.mark.parametrize("failure", ["spawn", "outcome"])
def test_a_failed_child_is_reported_before_anything_else_is_dispatched_or_claimed(
    stage, report, dispatch, now, make_evidence, failure: str
):
    stage.say("task_started", 0, report_anchor=ANCHOR)
    stage.say("task_evidence_attached", 1, items=[make_evidence(1)])
    if failure == "spawn":
        stage.say("subagent_spawn_failed", 2)
    else:
        stage.say("subagent_completed", 2, outcome="failure")
    held = (
        judge_dispatch(stage.state, dispatch(3), now(3), stage.config),
        judge_report(stage.state, report(3, claim=COMPLETION), now(3), stage.config),
    )
    for judged in held:
        assert (judged.answer.decision, judged.answer.policy_id) == (
            "deny",
            judgement.SUBAGENT_FAILURE,
        )
    # The report itself passes: it is the way out.
    told = report(4, message="The survey failed: no capacity.", structure=ANSWERS)
    assert judge_report(stage.state, told, now(4), stage.config).gate_rules == ()
    stage.say("task_checkpoint_sent", 4, message="The survey failed.", structure=ANSWERS)
    judged = judge_dispatch(stage.state, dispatch(5), now(5), stage.config)
    assert judgement.SUBAGENT_FAILURE not in judged.gate_rules


def test_a_childs_result_is_shown_before_completion_or_a_silent_dispatch(
    stage, report, dispatch, now, make_evidence
):
    stage.say("task_started", 0, report_anchor=ANCHOR)
    stage.say("task_evidence_attached", 1, items=[make_evidence(1)])
    stage.say("subagent_completed", 2)
    silent = dispatch(3, mode="silent", externalized_path=PATH)
    for judged in (
        judge_dispatch(stage.state, silent, now(3), stage.config),
        judge_report(stage.state, report(3, claim=COMPLETION), now(3), stage.config),
    ):
        assert (judged.answer.decision, judged.gate_rules) == (
            "deny",
            (judgement.RESULT_FORWARDING,),
        )
    open_dispatch = judge_dispatch(stage.state, dispatch(3), now(3), stage.config)
    assert open_dispatch.gate_rules == ()
    stage.say("task_checkpoint_sent", 3, message="Still at work.", structure=ANSWERS)
    done = judge_report(stage.state, report(3, claim=COMPLETION), now(3), stage.config)
    assert done.gate_rules == (judgement.RESULT_FORWARDING,), "a report may leave the result out"
    stage.say("subagent_result_forwarded", 4)
    assert judge_dispatch(stage.state, silent, now(4), stage.config).gate_rules == ()


def test_a_promised_report_is_delivered_before_completion(stage, report, now, make_evidence):
    stage.say("task_started")
    promise = {"what": "the row counts", "due_at": "t+600"}
    stage.say("task_checkpoint_sent", 1, promised_followup=promise)
    denied = judge_report(stage.state, report(2, claim=COMPLETION), now(2), stage.config)
    assert (denied.answer.decision, denied.answer.policy_id) == ("deny", OPEN_PROMISE)
    assert '"the row counts"' in denied.answer.reason
    assert denied.disposition is Disposition.FORCE_CHECKPOINT
    stage.say("task_evidence_attached", 3, items=[make_evidence(1)])
    delivered = report(4, claim=COMPLETION, structure=ANSWERS)
    assert judge_report(stage.state, delivered, now(4), stage.config).answer.decision == "allow"
    stage.say("task_checkpoint_sent", 4)
    done = judge_report(stage.state, report(5, claim=COMPLETION), now(5), stage.config)
    assert done.answer.decision == "allow"


def test_what_the_packs_have_against_it_is_told_beside_the_built_in_rule(stage, report, now):
    stage.say("task_started", mode="silent")
    judged = judge_report(stage.state, report(claim=COMPLETION), now(1), stage.config)
    assert judged.answer.policy_id == "lictor.gate.task-held"
    assert judged.gate_rules == ("lictor.gate.task-held",)
    assert "Completion was claimed without the evidence" in judged.answer.reason


def test_a_new_task_does_not_get_around_what_its_parent_owes(stage, dispatch, now):
    stage.say("task_started", 0)
    stage.say("subagent_spawn_failed", 2)
    asked = dispatch(3, dispatch_kind="task", task_id="task-2", parent_task_id="task-1")
    judged = judge_dispatch(None, asked, now(3), stage.config, stage.state)
    assert judged.gate_rules == (judgement.SUBAGENT_FAILURE,)


def test_a_shadow_rule_denies_nothing(new_stage, config_of, pack_of, rule_of, report, now):
    rule = rule_of(triggers={"event_types": ["task_checkpoint_sent"]}, mode="shadow")
    stage = new_stage(config_of({**pack_of(rule), "apiVersion": "lictor/v1"}))
    stage.say("task_started", 0)
    assert judge_report(stage.state, report(), now(1), stage.config).answer.decision == "allow"
