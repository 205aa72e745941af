"""Several rules fire on one event: the deciding rule words it, and nothing that another demands is lost."""

from typing import Any

import pytest

from lictor_policy.errors import PackError


def notice(urgency: str = "low", **changes: Any) -> dict[str, Any]:
    return {"required": True, "channel": "mail", "urgency": urgency, **changes}


def act(action: str, target: str = "task_record", **details: Any) -> dict[str, Any]:
    return {"action": action, "target": target, "mandatory": True, "details": details}


@pytest.fixture
def decide(new_stage: Any, config_of: Any, pack_of: Any, rule_of: Any) -> Any:
    """The decision that rules make together; of each, its decision and what of its output differs."""

    def build(*rules: tuple[str, str, dict[str, Any]]) -> Any:
        made = [
            rule_of(name, decision, output=output, operator_message_templates=texts(name))
            for name, decision, output in rules
        ]
        return new_stage(config_of(pack_of(*made))).say("task_started").decision

    return build


def texts(name: str) -> dict[str, str]:
    keys = ("checkpoint_forced", "review_required", "blocked", "status_downgraded")
    return {**dict.fromkeys(keys, f"{name} speaks."), "placeholder_rewrite": f"{name} rewrites."}


def test_the_notice_is_worded_by_the_deciding_rule_and_as_urgent_as_the_strictest(
    decide: Any,
) -> None:
    told = decide(
        ("a", "rewrite", {"operator_notice": notice("critical", deadline="immediate")}),
        ("b", "block", {"operator_notice": notice("low")}),
    )
    assert told.policy_id == "b"
    assert told.operator_notice.message == "b speaks. Also (a): a rewrites."
    assert told.operator_notice.urgency == "critical"
    assert told.operator_notice.deadline == "immediate"


def test_a_deciding_rule_without_a_notice_still_words_the_one_that_another_requires(
    decide: Any,
) -> None:
    told = decide(
        ("a", "rewrite", {"operator_notice": notice(must_reference=["task_started"])}),
        ("b", "block", {"operator_notice": None}),
    )
    assert told.operator_notice.required
    assert told.operator_notice.message.startswith("b speaks. Also (a): a rewrites.")
    assert told.operator_notice.must_reference == ("task_started",)


def test_an_allow_that_demands_no_notice_changes_nothing_of_it(decide: Any) -> None:
    told = decide(
        ("a", "allow", {"operator_notice": None}),
        ("b", "block", {"operator_notice": notice("high")}),
    )
    assert told.operator_notice.message == "b speaks."


def test_a_notice_that_nobody_requires_stays_one(decide: Any) -> None:
    quiet = {"operator_notice": notice(required=False)}
    told = decide(("a", "rewrite", quiet), ("b", "block", quiet))
    assert (told.operator_notice.required, told.operator_notice.message) == (False, None)


def test_another_channel_is_named_where_its_text_is_appended(decide: Any) -> None:
    told = decide(
        ("a", "rewrite", {"operator_notice": notice(channel="pager")}),
        ("b", "block", {"operator_notice": notice(channel="mail")}),
    )
    assert told.operator_notice.channel == "mail"
    assert told.operator_notice.message == "b speaks. Also (for pager, a): a rewrites."


def test_the_required_actions_of_all_rules_are_kept_once_each(decide: Any) -> None:
    note, review = act("append_audit_note", note="x"), act("request_review", "operator_channel")
    told = decide(
        ("a", "require_review", {"required_actions": [note, review]}),
        ("b", "block", {"required_actions": [act("block_transition"), note]}),
    )
    assert [each.action for each in told.required_actions] == [
        "block_transition",
        "append_audit_note",
        "request_review",
    ]
    assert all(each.mandatory for each in told.required_actions)


def test_what_contradicts_the_decision_is_listed_and_must_not_be_done(decide: Any) -> None:
    status = act("set_status", "status_transition", status="pending_verification")
    rewrite = act("rewrite_message", "outgoing_report", mode="replace_with_placeholder")
    output = {"required_actions": [status, rewrite], "suggested_status": "pending_verification"}
    told = decide(
        ("a", "downgrade_status", output),
        ("b", "block", {"suggested_status": "blocked"}),
    )
    assert told.suggested_status == "blocked"
    assert [(each.action, each.mandatory) for each in told.required_actions] == [
        ("set_status", False),
        ("rewrite_message", False),
    ]
    assert {each.details["superseded_by"] for each in told.required_actions} == {"b"}


def test_a_status_that_the_decision_suggests_too_is_set(decide: Any) -> None:
    status = act("set_status", "status_transition", status="in_progress")
    told = decide(
        ("a", "annotate_placeholder", {"required_actions": [status]}),
        ("b", "force_checkpoint", {"suggested_status": "in_progress"}),
    )
    assert [each.mandatory for each in told.required_actions] == [True]


def test_more_actions_than_a_decision_can_list_are_refused(
    config_of: Any, pack_of: Any, rule_of: Any
) -> None:
    rules = [
        rule_of(
            f"r{number}",
            output={
                "required_actions": [
                    act("append_audit_note", note=f"{number} {each}") for each in range(60)
                ]
            },
        )
        for number in range(9)
    ]
    with pytest.raises(PackError, match="require 540 different actions"):
        config_of(pack_of(*rules))
