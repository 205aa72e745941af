"""Of all rules that fired, one decision: precedence, shadow mode, escalation on repetition, counters."""

from typing import Any

import pytest

from lictor_policy.errors import PackError
from lictor_schema.decisions.decision import NO_RULE_MATCHED, REPEATED_MATCH

NOTICE = {"required": False, "channel": "mail", "urgency": "low"}
REPORTS = {"event_types": ["task_checkpoint_sent"]}


def uses(outcome: Any) -> list[tuple[str, str]]:
    return [(use.rule_id, use.fate) for use in outcome.uses]


def test_the_strictest_wins_and_the_others_are_overridden(
    new_stage: Any, config_of: Any, pack_of: Any, rule_of: Any
) -> None:
    config = config_of(
        pack_of(rule_of("a", "rewrite"), rule_of("b", "block"), rule_of("c", "allow"))
    )
    outcome = new_stage(config).say("task_started")
    assert outcome.decision.policy_id == "b"
    assert uses(outcome) == [("b", "fired"), ("a", "overridden"), ("c", "overridden")]
    assert {(use.pack_id, use.pack_version) for use in outcome.uses} == {("example", "1")}


def test_an_event_that_no_rule_looks_at_is_allowed_and_recorded(
    new_stage: Any, config_of: Any, pack_of: Any, rule_of: Any
) -> None:
    outcome = new_stage(config_of(pack_of(rule_of(triggers=REPORTS)))).say("task_started")
    assert outcome.record.decision.policy_id == NO_RULE_MATCHED
    assert outcome.uses == ()


def test_an_allow_of_a_rule_is_told_as_that_rules(
    new_stage: Any, config_of: Any, pack_of: Any, rule_of: Any
) -> None:
    record = new_stage(config_of(pack_of(rule_of("a", "allow")))).say("task_started").record
    assert (record.decision.decision, record.decision.policy_id) == ("allow", "a")


@pytest.mark.parametrize("where", ["pack", "rule"])
def test_a_rule_in_shadow_mode_is_recorded_and_changes_nothing(
    where: str, new_stage: Any, config_of: Any, own_pack: Any, rule_of: Any
) -> None:
    shadow = {"mode": "shadow"}
    rule = rule_of("a", "escalate", output={"operator_notice": {**NOTICE, "required": True}})
    pack = own_pack(rule, **shadow) if where == "pack" else own_pack({**rule, **shadow})
    outcome = new_stage(config_of(pack)).say("task_started")
    record = outcome.record
    assert record.decision.decision == "allow"
    assert record.decision.policy_id == NO_RULE_MATCHED
    assert record.decision.operator_notice is None
    assert record.matched_rules == ()
    assert [(rule.rule_id, rule.decision) for rule in record.shadow_rules] == [("a", "escalate")]
    assert uses(outcome) == [("a", "shadow")]


def test_a_rule_may_be_enforced_in_a_pack_in_shadow_mode(
    new_stage: Any, config_of: Any, own_pack: Any, rule_of: Any
) -> None:
    pack = own_pack(rule_of("a", "rewrite", mode="enforce"), rule_of("b"), mode="shadow")
    record = new_stage(config_of(pack)).say("task_started").record
    assert record.decision.policy_id == "a"
    assert [rule.rule_id for rule in record.shadow_rules] == ["b"]


def test_a_shadow_rule_does_not_take_the_place_of_the_first_match(
    new_stage: Any, config_of: Any, own_pack: Any, rule_of: Any
) -> None:
    rules = (rule_of("a", "allow", mode="shadow"), rule_of("b"), rule_of("c", mode="shadow"))
    pack = own_pack(*rules, spec={"evaluation_mode": "first_match"})
    record = new_stage(config_of(pack)).say("task_started").record
    assert record.decision.policy_id == "b"
    assert [rule.rule_id for rule in record.shadow_rules] == ["a"]


@pytest.fixture
def repeating(config_of: Any, own_pack: Any, rule_of: Any) -> Any:
    """A rule that rewrites every report, and escalates from the third on."""

    def build(**changes: Any) -> Any:
        output = {"operator_notice": NOTICE, "reason": "no news"}
        told = {"triggers": REPORTS, "escalate_after": 3, "output": output, **changes}
        return config_of(own_pack(rule_of("a", "rewrite", **told)))

    return build


def test_a_rule_escalates_from_its_last_allowed_match_on(repeating: Any, new_stage: Any) -> None:
    stage = new_stage(repeating())
    stage.say("task_started")
    decided = [stage.say("task_checkpoint_sent", at * 60).decision for at in range(1, 6)]
    assert [each.decision.value for each in decided] == ["rewrite"] * 2 + ["escalate"] * 3
    assert [each.policy_id for each in decided] == ["a"] * 2 + [REPEATED_MATCH] * 3
    last = decided[-1]
    assert last.severity == "high"
    assert last.reason == "no news (It matched 3 times or more in this task.)"
    assert [act.action for act in last.required_actions] == ["raise_escalation"]
    assert last.operator_notice.required
    assert (last.operator_notice.urgency, last.operator_notice.deadline) == ("high", "immediate")
    record = stage.records[-1]
    assert [(rule.rule_id, rule.decision) for rule in record.matched_rules] == [("a", "escalate")]
    assert stage.state.repeats == {"a": 3}, "no more than it needs to know"


def test_a_shadow_rule_tells_that_it_would_have_escalated(repeating: Any, new_stage: Any) -> None:
    stage = new_stage(repeating(mode="shadow"))
    stage.say("task_started")
    for at in range(1, 4):
        stage.say("task_checkpoint_sent", at * 60)
    assert [record.shadow_rules[0].decision.value for record in stage.records[1:]] == [
        "rewrite",
        "rewrite",
        "escalate",
    ]
    assert {record.decision.decision.value for record in stage.records} == {"allow"}


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"output": {"reason": "no news"}}, "escalate_after: needs an operator_notice"),
        ({"output": {"decision": "escalate"}}, "beside the decision escalate"),
        ({"output": {"decision": "allow"}}, "beside the decision allow"),
        ({"escalate_after": 1}, "escalate_after: must be greater than or equal to 2"),
        (
            {"operator_message_templates": {"placeholder_rewrite": "text"}},
            "escalate needs checkpoint_forced or review_required or blocked",
        ),
    ],
)
def test_an_escalation_that_cannot_be_told_is_refused(
    changes: Any, told: str, repeating: Any
) -> None:
    with pytest.raises(PackError) as caught:
        repeating(**changes)
    assert told in str(caught.value)
