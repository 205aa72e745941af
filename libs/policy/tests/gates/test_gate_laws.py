"""The law of the gates: what is asked about is judged as it will be when it is told.

Under the same state, time and packs the decision at a gate is the decision on the event that follows. The answer is
never more permissive than that decision, and where it is stricter a built-in gate rule denies and is named.
"""

from functools import partial
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, find, given, settings
from hypothesis import strategies as st

from libs.policy.tests.judge.test_resolution_laws import CONDITIONS, RULES, config
from libs.policy.tests.judge.test_step_laws import CLAIMS, HAPPENINGS, perform
from lictor_policy.errors import UnacceptableEvent
from lictor_policy.events.position import EventPosition
from lictor_policy.gates.judgement import (
    OPEN_PROMISE,
    REPORT_ANCHOR,
    RESULT_FORWARDING,
    SILENT_LAUNCH,
    SUBAGENT_FAILURE,
    TASK_CLOSED,
    TASK_HELD,
    GateJudgement,
    judge_dispatch,
    judge_report,
)
from lictor_policy.judge.step import step
from lictor_policy.offline.stories import moment, usual_event
from lictor_policy.task.state import TaskState
from lictor_schema.core.time import to_micros
from lictor_schema.decisions.decision import Disposition
from lictor_schema.events.event import Event
from lictor_schema.events.operator_context import EvidenceRef
from lictor_schema.gates.gate import DispatchGateRequest, ReportGateRequest

LAWS = settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
ABOUT_CLAIMS = (SUBAGENT_FAILURE, RESULT_FORWARDING, OPEN_PROMISE, TASK_CLOSED, TASK_HELD)
AT = 600
"""After everything that happens in a stream."""
NOWHERE = "sha256:" + "1" * 64
STRICTNESS = ["allow", "rewrite", "deny"]
TEXT_ONLY = (Disposition.ALLOW, Disposition.ANNOTATE_PLACEHOLDER, Disposition.REWRITE)
HELD_BACK = (Disposition.REQUIRE_REVIEW, Disposition.BLOCK, Disposition.ESCALATE)

# What a task owes or is held by is made late, so that little of it is settled again before the gate is asked.
LATE = st.sampled_from(
    [
        ("child", ("subagent_spawn_failed", 1)),
        ("child", ("subagent_completed", 1)),
        ("promise", 400),
        ("status", "failed"),
        ("status", "blocked"),
        ("evidence", "strong"),
    ]
)
STREAMS = st.tuples(
    st.sampled_from(["interactive", "silent"]),
    st.sampled_from([None, 30, 90]),
    st.sampled_from([None, 45]),
    st.builds(
        lambda early, late: [*early, *late],
        st.lists(HAPPENINGS, max_size=22),
        st.lists(LATE, max_size=3),
    ),
)
REFS = st.lists(st.just({"kind": "log", "ref": "run.txt"}), max_size=2)
REQUIRED = {
    "progress": {"min_new_items_since_last_checkpoint": 1},
    "completion": {"min_quality": "moderate"},
}

ANSWER = st.sampled_from([None, "done so far", "TBD", "nothing"])
STRUCTURES = st.fixed_dictionaries(
    dict.fromkeys(
        (
            "current_status",
            "completed_this_segment",
            "next_step",
            "next_report_condition",
            "operator_intervention_needed",
        ),
        ANSWER,
    )
)
PROMISES = st.builds(
    lambda due: {"what": "more", "due_at": moment(AT + due).isoformat()}, st.integers(-50, 500)
)
REPORTS = st.fixed_dictionaries(
    {
        "message": st.just("It is done."),
        "claim": st.none() | CLAIMS,
        "structure": st.none() | STRUCTURES,
        "promised_followup": st.none() | PROMISES,
        "reminder_only": st.booleans(),
        "evidence_refs": REFS,
    }
)
CLAIMED = st.fixed_dictionaries(
    {"message": st.just("It is done."), "claim": CLAIMS, "evidence_refs": REFS}
)
ANCHORS = st.sampled_from([None, {"channel": "telegram", "target": "chat-1"}])
PATHS = st.sampled_from(
    [
        None,
        {
            "first_forced_checkpoint_trigger": "in 20 minutes",
            "if_unfinished_report": "what is left",
            "if_no_new_evidence": "paused",
            "externalized_trigger": "a scheduled reminder",
            "final_handoff_path": "a message in chat-1",
        },
    ]
)
CHILDREN = st.fixed_dictionaries(
    {
        "run_id": st.sampled_from(["run-1", "run-2", "run-9"]),
        "child_session_key": st.just("key"),
        "expected_by": st.none()
        | st.builds(lambda s: moment(AT + s).isoformat(), st.integers(-60, 60)),
        "purpose": st.just("survey"),
        "report_anchor": ANCHORS,
        "attempt": st.integers(1, 2),
        "evidence_refs": REFS,
    }
)
STARTS = st.fixed_dictionaries(
    {
        "title": st.just("A new task"),
        "mode": st.sampled_from(["interactive", "silent"]),
        "workflow_shape": st.sampled_from(["single-agent", "parent-child"]),
        "channel": st.sampled_from(["telegram", "mail"]),
        "checkpoint_interval_s": st.sampled_from([None, 60]),
        "silence_timeout_s": st.sampled_from([None, 90]),
        "report_anchor": ANCHORS,
        "externalized_path": PATHS,
        "session_id": st.sampled_from([None, "s-1"]),
        "decision_type": st.sampled_from(["task_completion", "refund"]),
        "evidence_refs": REFS,
    }
)
RUNTIMES = st.sampled_from(["openclaw", "openclaw", "openclaw", "another"])
TRIGGERS = st.sampled_from(
    ["task_started", "subagent_spawned", "task_checkpoint_sent", "task_claimed_complete"]
)
ASKING = st.one_of(
    CONDITIONS,
    st.sampled_from(
        [
            {"fact": "claim.announces_next_step", "equals": True},
            {"fact": "evidence.requirements_met", "equals": False},
            {"fact": "subagents.overdue", "greater_than": 0},
            {"fact": "forwarding.named_result_unforwarded", "equals": True},
            {"fact": "claim.promised_followup_open", "equals": True},
            {"fact": "message.has_required_checkpoint_fields", "equals": False},
            {"count": {"event": "subagent_spawned", "where": {"attempt": 2}}, "greater_than": 0},
            {"count": {"event": "task_started", "where": {"decision_type": "refund"}}, "equals": 1},
            {"count": {"event": "task_claimed_complete"}, "greater_than": 1},
            {"total": {"of": "evidence_refs"}, "greater_than": 0},
        ]
    ),
)
PACKS = st.lists(
    st.lists(
        st.builds(
            lambda rule, asked, types: {**rule, "conditions": asked, "types": types},
            RULES,
            ASKING,
            st.lists(TRIGGERS, min_size=1, max_size=4, unique=True),
        ),
        min_size=1,
        max_size=3,
    ),
    min_size=1,
    max_size=2,
)


def question(runtime: str, task_id: str = "task-1") -> dict[str, Any]:
    return {
        "request_id": "q1",
        "runtime": runtime,
        "agent_id": "agent-1",
        "task_id": task_id,
        "requested_at": moment(AT),
    }


def told(event_type: str, said: dict[str, Any], runtime: str = "openclaw") -> Event:
    """The event that says what a question said."""
    payload = {name: value for name, value in said.items() if name != "evidence_refs"}
    refs = tuple(EvidenceRef.model_validate(each) for each in said["evidence_refs"])
    event = usual_event(event_type, AT, runtime=runtime, **payload)
    return event.model_copy(update={"evidence_refs": refs})


def holds(
    state: TaskState | None, event: Event, judged: GateJudgement, packs: Any, *, text: bool
) -> None:
    """The law, for an answer and the event that tells of the act."""
    try:
        outcome = step(state, event, EventPosition(77, to_micros(moment(AT)), NOWHERE), packs)
    except UnacceptableEvent:
        # No decision follows: the event would be refused.
        assert judged.answer.decision == "deny"
        assert (judged.disposition, judged.judged_as) == (None, None)
        assert "lictor.gate.not-judged" in judged.gate_rules
        return
    decision = outcome.decision
    assert judged.disposition is decision.decision
    assert judged.judged_as == event.event_type
    assert judged.matched_json == outcome.verdict.matched_json
    assert judged.missing == outcome.verdict.missing
    if not text:
        follows = "allow" if decision.decision in TEXT_ONLY else "deny"
    elif decision.decision is Disposition.ALLOW:
        follows = "allow"
    else:
        shown = decision.decision not in HELD_BACK and decision.rewritten_message
        follows = "rewrite" if shown else "deny"
    given = judged.answer.decision
    assert STRICTNESS.index(given) >= STRICTNESS.index(follows)
    if given == follows and not judged.gate_rules:
        assert judged.answer.policy_id == decision.policy_id
    else:
        assert given == "deny"
        assert judged.answer.policy_id == judged.gate_rules[0]
        assert all(name.startswith("lictor.gate.") for name in judged.gate_rules)


def reports_hold(stage: Any, asked: dict[str, Any], told_by: str, runtime: str) -> None:
    request = ReportGateRequest.model_validate(
        {**question(runtime), **asked, "event_type": told_by}, strict=False
    )
    judged = judge_report(stage.state, request, to_micros(moment(AT)), stage.config)
    visible = {"operator_visible": True} if told_by == "task_checkpoint_sent" else {}
    event = told(told_by, {**asked, **visible}, runtime)
    holds(stage.state, event, judged, stage.config, text=True)


def dispatches_hold(stage: Any, asked: dict[str, Any], mode: str, runtime: str) -> None:
    request = DispatchGateRequest.model_validate(
        {**question(runtime), **asked, "dispatch_kind": "subagent", "mode": mode}, strict=False
    )
    judged = judge_dispatch(stage.state, request, to_micros(moment(AT)), stage.config)
    event = told("subagent_spawned", asked, runtime)
    holds(stage.state, event, judged, stage.config, text=False)


def starts_hold(stage: Any, asked: dict[str, Any], parent: str | None, *, again: bool) -> None:
    said = {name: value for name, value in asked.items() if name != "title"}
    request = DispatchGateRequest.model_validate(
        {
            **question("openclaw"),
            **said,
            "dispatch_kind": "task",
            "purpose": asked["title"],
            "parent_task_id": parent,
        },
        strict=False,
    )
    state = stage.state if again else None
    now = to_micros(moment(AT))
    judged = judge_dispatch(state, request, now, stage.config, stage.state if parent else None)
    event = told("task_started", {**asked, "parent_task_id": parent})
    holds(state, event, judged, stage.config, text=False)


@LAWS
@given(stream=STREAMS, asked=REPORTS, claimed=CLAIMED, runtime=RUNTIMES)
def test_a_report_is_judged_at_the_gate_as_it_will_be_when_it_is_told(
    stream: Any,
    asked: Any,
    claimed: Any,
    runtime: str,
    new_stage: Any,
    shipped: Any,
    make_evidence: Any,
) -> None:
    stage = new_stage(shipped)
    perform(stage, stream, make_evidence)
    reports_hold(stage, asked, "task_checkpoint_sent", runtime)
    reports_hold(stage, claimed, "task_claimed_complete", runtime)


@LAWS
@given(
    stream=STREAMS,
    child=CHILDREN,
    start=STARTS,
    mode=st.sampled_from(["interactive", "silent"]),
    parent=st.sampled_from([None, "task-0"]),
    again=st.booleans(),
    runtime=RUNTIMES,
)
def test_a_dispatch_is_judged_at_the_gate_as_it_will_be_when_it_is_told(
    stream: Any,
    child: Any,
    start: Any,
    mode: str,
    parent: str | None,
    again: bool,
    runtime: str,
    new_stage: Any,
    shipped: Any,
    make_evidence: Any,
) -> None:
    stage = new_stage(shipped)
    perform(stage, stream, make_evidence)
    dispatches_hold(stage, child, mode, runtime)
    starts_hold(stage, start, parent, again=again)


@LAWS
@given(packs=PACKS, stream=STREAMS, asked=REPORTS, claimed=CLAIMED, child=CHILDREN, start=STARTS)
def test_the_law_holds_whatever_the_packs_say(
    packs: Any,
    stream: Any,
    asked: Any,
    claimed: Any,
    child: Any,
    start: Any,
    new_stage: Any,
    own_pack: Any,
    rule_of: Any,
    make_evidence: Any,
) -> None:
    demanding = partial(rule_of, evidence_requirements=REQUIRED)
    stage = new_stage(config(packs, own_pack, demanding))
    perform(stage, stream, make_evidence)
    reports_hold(stage, asked, "task_checkpoint_sent", "openclaw")
    reports_hold(stage, claimed, "task_claimed_complete", "openclaw")
    dispatches_hold(stage, child, "interactive", "openclaw")
    starts_hold(stage, start, None, again=False)


@pytest.mark.parametrize("rule", [REPORT_ANCHOR, SILENT_LAUNCH, *ABOUT_CLAIMS])
def test_the_laws_reach_every_built_in_rule(
    rule: str, new_stage: Any, shipped: Any, make_evidence: Any
) -> None:
    def reached(drawn: Any) -> bool:
        stream, claimed, child, mode = drawn
        stage = new_stage(shipped)
        perform(stage, stream, make_evidence)
        now = to_micros(moment(AT))
        asked = question("openclaw")
        if rule in ABOUT_CLAIMS:
            request = ReportGateRequest.model_validate({**asked, **claimed}, strict=False)
            return rule in judge_report(stage.state, request, now, stage.config).gate_rules
        dispatch = {**asked, **child, "dispatch_kind": "subagent", "mode": mode}
        request = DispatchGateRequest.model_validate(dispatch, strict=False)
        return rule in judge_dispatch(stage.state, request, now, stage.config).gate_rules

    modes = st.sampled_from(["interactive", "silent"])
    bounded = settings(
        LAWS, max_examples=300, phases=[Phase.generate], database=None, derandomize=True
    )
    find(st.tuples(STREAMS, CLAIMED, CHILDREN, modes), reached, settings=bounded)


def test_a_completion_claim_with_a_further_step_is_judged_alike_in_a_report_and_at_the_gate(
    stage: Any, make_evidence: Any
) -> None:
    answers = dict.fromkeys(
        ("current_status", "completed_this_segment", "next_step", "next_report_condition"), "so"
    )
    report = {
        "message": "All tables are migrated.",
        "claim": {"type": "completion", "text": "done", "next_step": "switch over"},
        "structure": {**answers, "operator_intervention_needed": "no"},
    }
    stage.say("task_started")
    stage.say("task_evidence_attached", 1, items=[make_evidence(1)])
    request = ReportGateRequest.model_validate({**question("openclaw"), **report}, strict=False)
    judged = judge_report(stage.state, request, to_micros(moment(AT)), stage.config)
    assert judged.answer.decision == "deny"
    told = stage.say("task_checkpoint_sent", AT, **report)
    assert told.decision.decision is judged.disposition is Disposition.REQUIRE_REVIEW


def test_an_allowed_completion_claim_inside_a_report_does_not_close_the_task(
    stage: Any, make_evidence: Any
) -> None:
    answers = dict.fromkeys(
        ("current_status", "completed_this_segment", "next_step", "next_report_condition"), "so"
    )
    stage.say("task_started")
    stage.say("task_evidence_attached", 1, items=[make_evidence(1)])
    told = stage.say(
        "task_checkpoint_sent",
        2,
        claim={"type": "completion", "text": "done"},
        structure={**answers, "operator_intervention_needed": "no"},
    )
    assert told.decision.decision is Disposition.ALLOW
    assert not told.state.closed
    assert stage.say("task_claimed_complete", 3).state.closed


def test_what_a_report_points_to_counts_at_the_gate_as_in_the_event(
    new_stage: Any, own_pack: Any, rule_of: Any
) -> None:
    rule = {
        "types": ["task_checkpoint_sent"],
        "conditions": {"total": {"of": "evidence_refs"}, "less_than": 1},
        "decision": "block",
        "severity": "high",
        "notice": None,
        "mode": "enforce",
        "escalate_after": None,
    }
    stage = new_stage(config([[rule]], own_pack, rule_of))
    stage.say("task_started")
    asked = {"message": "It is done.", "evidence_refs": [{"kind": "log", "ref": "run.txt"}]}
    request = ReportGateRequest.model_validate({**question("openclaw"), **asked}, strict=False)
    judged = judge_report(stage.state, request, to_micros(moment(AT)), stage.config)
    assert judged.answer.decision == "allow"
    reports_hold(stage, asked, "task_checkpoint_sent", "openclaw")
