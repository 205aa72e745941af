"""What a pack states as required is required."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from lictor_policy.judge.config import build_config
from lictor_policy.offline.stories import Stage
from lictor_policy.packs.lint import LintFinding, lint_pack
from lictor_policy.packs.pack import read_pack
from lictor_schema.decisions.decision import Disposition

MET = {"fact": "evidence.requirements_met", "equals": False}
VERIFIED = {
    "verified_completion": {"min_quality": "strong"},
    "must_reference_evidence_classes": ["verification_output"],
}
CLAIMS = ["task_claimed_complete", "task_checkpoint_sent", "task_status_changed"]


@pytest.fixture
def stage_of(pack_of: Any, rule_of: Any) -> Callable[..., Stage]:
    """A stage with one rule that fires when what it requires is not there."""

    def build(requirements: dict[str, Any], *event_types: str) -> Stage:
        rule = rule_of(
            triggers={"event_types": list(event_types or CLAIMS)},
            conditions=MET,
            evidence_requirements=requirements,
        )
        pack = read_pack(json.dumps(pack_of(rule)).encode(), "policy.yaml")
        return Stage(build_config([pack]))

    return build


def missing(stage: Stage, event: str, at: float, **payload: Any) -> list[str]:
    return list(stage.say(event, at, **payload).record.evidence.missing)


def claim(kind: str) -> dict[str, Any]:
    return {"claim": {"type": kind, "text": "so it is"}}


def test_a_verified_completion_on_one_strong_operator_message_does_not_close_the_task(
    stage: Stage, make_evidence: Any
) -> None:
    stage.say("task_started")
    item = make_evidence(1, "strong", **{"class": "operator_message"})
    stage.say("task_evidence_attached", 1, items=[item])
    outcome = stage.say("task_claimed_complete", 2, **claim("verified_completion"))
    assert outcome.decision.decision is Disposition.DOWNGRADE_STATUS
    assert not outcome.state.closed
    stage.say("task_evidence_attached", 3, items=[make_evidence(2, "strong")])
    assert stage.say("task_claimed_complete", 4, **claim("verified_completion")).state.closed


def test_strong_evidence_of_one_class_and_weak_of_the_required_one_is_not_enough(
    stage_of: Any, make_evidence: Any
) -> None:
    stage = stage_of(VERIFIED)
    stage.say("task_started")
    strong = make_evidence(1, "strong", **{"class": "tool_output"})
    stage.say("task_evidence_attached", 1, items=[strong, make_evidence(2, "weak")])
    (told,) = missing(stage, "task_claimed_complete", 2, **claim("verified_completion"))
    assert told == (
        "evidence for verified completion: at least strong wanted, weak there"
        " (counting only verification_output)"
    )


def test_progress_is_shown_by_new_evidence_of_a_required_class(
    stage_of: Any, make_evidence: Any
) -> None:
    stage = stage_of(
        {
            "progress": {
                "min_new_items_since_last_checkpoint": 1,
                "allowed_quality_floor": "moderate",
            },
            "must_reference_evidence_classes": ["tool_output", "file_change"],
        }
    )
    stage.say("task_started")
    stage.say("task_evidence_attached", 1, items=[make_evidence(1, "strong")])
    assert missing(stage, "task_checkpoint_sent", 2, **claim("progress"))
    weak = make_evidence(2, "weak", **{"class": "tool_output"})
    stage.say("task_evidence_attached", 3, items=[weak])
    assert missing(stage, "task_checkpoint_sent", 4, **claim("progress")) == [
        "new evidence of at least moderate quality (counting only tool_output, file_change)"
    ]
    better = make_evidence(3, "moderate", **{"class": "file_change"})
    stage.say("task_evidence_attached", 5, items=[better])
    assert stage.say("task_checkpoint_sent", 6, **claim("progress")).decision.decision is (
        Disposition.ALLOW
    )


ALL = {
    "progress": {"min_new_items_since_last_checkpoint": 1},
    "completion": {"min_quality": "moderate"},
    "verified_completion": {"min_quality": "strong"},
}


@pytest.mark.parametrize(
    ("event", "payload", "told"),
    [
        ("task_checkpoint_sent", claim("progress"), ["new evidence"]),
        ("task_checkpoint_sent", claim("completion"), ["evidence for completion"]),
        ("task_claimed_complete", claim("completion"), ["evidence for completion"]),
        (
            "task_claimed_complete",
            claim("verified_completion"),
            ["evidence for verified completion"],
        ),
        ("task_claimed_complete", claim("progress"), ["evidence for completion"]),
        ("task_status_changed", {"to_status": "completed"}, ["evidence for completion"]),
        (
            "task_status_changed",
            {"to_status": "paused"},
            ["new evidence", "evidence for completion", "evidence for verified completion"],
        ),
    ],
)
def test_requirements_of_other_claim_types_are_not_told(
    stage_of: Any, event: str, payload: dict[str, Any], told: list[str]
) -> None:
    stage = stage_of(ALL)
    stage.say("task_started")
    found = missing(stage, event, 1, **payload)
    assert len(found) == len(told)
    assert all(text.startswith(start) for text, start in zip(found, told, strict=True))


def test_a_verified_completion_is_held_to_what_a_completion_needs(stage_of: Any) -> None:
    stage = stage_of({"completion": {"min_quality": "moderate"}})
    stage.say("task_started")
    (told,) = missing(stage, "task_claimed_complete", 1, **claim("verified_completion"))
    assert told.startswith("evidence for completion: at least moderate")


def test_event_types_that_must_be_referenced_reach_the_notice(pack_of: Any, rule_of: Any) -> None:
    rule = rule_of(
        triggers={"event_types": ["task_checkpoint_due"]},
        evidence_requirements={"must_reference_event_types": ["silence_timeout"]},
    )
    rule["decision_output"]["operator_notice"] = {
        "required": True,
        "channel": "mail",
        "urgency": "low",
        "message": "The task is late.",
        "must_reference": ["task_started"],
    }
    rule["conditions"] = {"fact": "task.is_closed", "equals": False}
    stage = Stage(build_config([read_pack(json.dumps(pack_of(rule)).encode(), "policy.yaml")]))
    stage.say("task_started")
    notice = stage.say("task_checkpoint_due", 1).decision.operator_notice
    assert notice is not None
    assert notice.must_reference == ("task_started", "silence_timeout")
    assert notice.message == "The task is late. (Concerns: task_started, silence_timeout.)"


def idle(pack: Any) -> list[LintFinding]:
    found = lint_pack(read_pack(json.dumps(pack).encode(), "policy.yaml"))
    return [each for each in found if each.check == "no-effect"]


QUALITY = {"fact": "evidence.completion_min_quality", "less_than": "strong"}


@pytest.mark.parametrize(
    ("triggers", "conditions", "requirements", "field"),
    [
        pytest.param(CLAIMS, QUALITY, VERIFIED, "must_reference_evidence_classes", id="classes"),
        pytest.param(
            CLAIMS, QUALITY, {"completion": {"min_quality": "moderate"}}, "completion", id="other"
        ),
        pytest.param(
            ["task_checkpoint_sent"],
            {"fact": "message.reminder_only", "equals": True},
            {"progress": {"min_new_items_since_last_checkpoint": 1}},
            "progress",
            id="never asked",
        ),
        pytest.param(
            ["task_checkpoint_due"],
            MET,
            {"completion": {"min_quality": "moderate"}},
            "completion",
            id="never claimed",
        ),
        pytest.param(CLAIMS, MET, {}, "conditions", id="nothing stated"),
        pytest.param(
            CLAIMS,
            {"fact": "task.is_closed", "equals": False},
            {"must_reference_event_types": ["task_started"]},
            "must_reference_event_types",
            id="no notice",
        ),
    ],
)
def test_lint_says_when_a_stated_requirement_can_have_no_effect(
    pack_of: Any, rule_of: Any, triggers: Any, conditions: Any, requirements: Any, field: str
) -> None:
    rule = rule_of(
        triggers={"event_types": triggers},
        conditions=conditions,
        evidence_requirements=requirements,
    )
    rule["decision_output"]["operator_notice"] = None
    found = idle(pack_of(rule))
    assert [each.field for each in found if each.field and each.field.endswith(field)], found


@pytest.mark.parametrize(
    ("triggers", "conditions", "requirements"),
    [
        pytest.param(CLAIMS, MET, {**ALL, **VERIFIED}, id="asked"),
        pytest.param(
            ["task_claimed_complete"],
            {"fact": "evidence.completion_min_quality", "less_than": "moderate"},
            {"completion": {"min_quality": "moderate"}},
            id="compared by itself",
        ),
        pytest.param(
            ["task_checkpoint_sent"],
            {"fact": "evidence.new_items_since_last_checkpoint", "equals": 0},
            {
                "progress": {
                    "min_new_items_since_last_checkpoint": 1,
                    "allowed_quality_floor": "weak",
                }
            },
            id="counted by itself",
        ),
        pytest.param(
            ["task_checkpoint_due", "silence_timeout"],
            {"fact": "checkpoint.is_overdue", "equals": True},
            {"progress": {"min_new_items_since_last_checkpoint": 1}},
            id="of the report that is called for",
        ),
    ],
)
def test_lint_is_content_with_requirements_that_count(
    pack_of: Any, rule_of: Any, triggers: Any, conditions: Any, requirements: Any
) -> None:
    rule = rule_of(
        triggers={"event_types": triggers},
        conditions=conditions,
        evidence_requirements=requirements,
    )
    assert idle(pack_of(rule)) == []


@pytest.mark.parametrize("kind", ["progress", "completion", "verified_completion"])
def test_a_report_of_something_finished_is_held_to_progress_whatever_it_claims(
    stage_of: Callable[..., Stage], make_evidence: Any, kind: str
) -> None:
    stage = stage_of({"progress": {"min_new_items_since_last_checkpoint": 1}})
    finished = {"structure": {"completed_this_segment": "the last table"}, **claim(kind)}
    stage.say("task_started")
    stage.say("task_evidence_attached", 1, items=[make_evidence(1, "strong")])
    assert not missing(stage, "task_checkpoint_sent", 2, **finished)
    assert missing(stage, "task_checkpoint_sent", 3, **finished)


def test_what_a_report_lacks_of_both_its_claims_is_told(stage_of: Callable[..., Stage]) -> None:
    stage = stage_of(
        {
            "progress": {"min_new_items_since_last_checkpoint": 1},
            "completion": {"min_quality": "moderate"},
        }
    )
    stage.say("task_started")
    structure = {"completed_this_segment": "the last table"}
    told = missing(stage, "task_checkpoint_sent", 1, structure=structure, **claim("completion"))
    assert len(told) == 2
    assert len(missing(stage, "task_claimed_complete", 2, **claim("completion"))) == 1
