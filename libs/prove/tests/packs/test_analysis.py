"""Every kind of finding, on the smallest packs that have it; and the shipped packs, which have none to mend."""

from typing import Any

import pytest
from packs_analysis import copies

from lictor_policy.judge.config import EvaluatorConfig
from lictor_prove.packs.analysis import PackAnalysis, analyze
from lictor_prove.packs.z3_questions import Asking, SolverAnswer

PROGRESS = {"fact": "claim.is_progress_bearing", "equals": True}
NOTHING_NEW = {"fact": "evidence.new_items_since_last_checkpoint", "equals": 0}


def warnings(analysis: PackAnalysis) -> list[tuple[str, str | None, tuple[str, ...]]]:
    return [
        (each.check, each.rule_id, each.others)
        for each in analysis.findings
        if each.level == "warning"
    ]


def test_conditions_that_contradict_what_is_known_of_facts_never_fire(
    rule: Any, packs: Any
) -> None:
    """No fact contradicts itself here: only together they are impossible, which lint can't see."""
    impossible = {
        "all": [
            {"fact": "evidence.best_quality", "less_than": "moderate"},
            {"fact": "evidence.completion_min_quality", "equals": "strong"},
        ]
    }
    analysis = analyze(packs([rule("a", "block", impossible), rule("b", "rewrite", PROGRESS)]))
    assert warnings(analysis) == [("never-fires", "a", ())]


def test_a_trigger_that_can_not_meet_the_conditions_is_named(rule: Any, packs: Any) -> None:
    given = rule("a", "block", PROGRESS, "task_checkpoint_sent", "task_evidence_attached")
    (finding,) = analyze(packs([given])).of("never-fires")
    assert (finding.rule_id, finding.event_type) == ("a", "task_evidence_attached")


def test_a_rule_that_a_stronger_one_always_overrules_is_shadowed(rule: Any, packs: Any) -> None:
    narrow = {"all": [PROGRESS, NOTHING_NEW]}
    analysis = analyze(packs([rule("a", "rewrite", narrow)], [rule("b", "block", PROGRESS)]))
    assert warnings(analysis) == [("shadowed", "a", ("b",))]


def test_a_rule_that_several_overrule_together_names_all_of_them(rule: Any, packs: Any) -> None:
    few = {"fact": "message.status_only_in_a_row", "less_than": 5}
    many = {"fact": "message.status_only_in_a_row", "greater_than": 3}
    (finding,) = analyze(
        packs([rule("a", "rewrite", PROGRESS), rule("b", "block", few), rule("c", "block", many)])
    ).of("shadowed")
    assert (finding.rule_id, finding.others) == ("a", ("b", "c"))


def test_an_earlier_rule_of_a_first_match_pack_shadows_even_a_stronger_one(
    rule: Any, packs: Any
) -> None:
    rules = [rule("a", "allow", PROGRESS), rule("b", "block", {"all": [PROGRESS, NOTHING_NEW]})]
    assert warnings(analyze(packs(rules, mode="first_match"))) == [("shadowed", "b", ("a",))]
    assert warnings(analyze(packs(rules[::-1], mode="first_match"))) == []


def test_a_rule_in_shadow_mode_stands_before_nobody_and_is_not_called_shadowed(
    rule: Any, packs: Any
) -> None:
    rules = [rule("a", "block", PROGRESS, mode="shadow"), rule("b", "rewrite", PROGRESS)]
    assert warnings(analyze(packs(rules, mode="first_match"))) == []


def test_a_rule_that_escalates_when_it_repeats_is_not_shadowed_by_less(
    rule: Any, packs: Any
) -> None:
    rules = [rule("a", "rewrite", PROGRESS, escalate_after=2), rule("b", "block", PROGRESS)]
    analysis = analyze(packs(rules))
    assert analysis.of("shadowed") == []
    assert analysis.assumptions == (
        "a rule with escalate_after may have matched any number of times before",
    )


def test_equivalent_conditions_are_found_however_they_are_written(rule: Any, packs: Any) -> None:
    turned = {"not": {"any": [{"not": PROGRESS}, {"not": NOTHING_NEW}]}}
    rules = [
        rule("a", "rewrite", {"all": [PROGRESS, NOTHING_NEW]}),
        rule("b", "rewrite", turned),
        rule("c", "block", {"all": [NOTHING_NEW, PROGRESS]}),
    ]
    analysis = analyze(packs(rules))
    assert ("duplicate", "b", ("a",)) in warnings(analysis)
    (finding,) = analysis.of("contradictory")
    assert (finding.rule_id, finding.others) == ("c", ("a",))
    assert "decides block where that decides rewrite" in finding.problem


def test_facts_that_mean_the_same_make_rules_equal(rule: Any, packs: Any) -> None:
    rules = [
        rule("a", "rewrite", {"fact": "message.has_required_checkpoint_fields", "equals": True}),
        rule("b", "rewrite", {"fact": "message.checkpoint_fields_given", "greater_than": 4}),
    ]
    assert ("duplicate", "b", ("a",)) in warnings(analyze(packs(rules)))


def test_rules_on_other_events_or_channels_are_not_alike(rule: Any, packs: Any) -> None:
    rules = [
        rule("a", "rewrite", PROGRESS),
        rule("b", "rewrite", PROGRESS, "forced_operator_update"),
        rule("c", "rewrite", {"all": [PROGRESS, {"fact": "task.channel", "contains": "mail"}]}),
        rule("d", "block", {"all": [PROGRESS, {"fact": "task.channel", "equals": "mail"}]}),
    ]
    assert [each for each in warnings(analyze(packs(rules))) if each[1] != "c"] == []


def test_requirements_that_no_evidence_meets_and_misses_so_leave_nothing_unknown() -> None:
    """Three channels' copies of the shipped packs: a model may say what no evidence can be."""
    found = analyze(copies(3)).findings
    assert [each for each in found if each.level != "information"] == []


def test_an_inherited_rule_is_not_told_as_its_own_duplicate(rule: Any, packs: Any) -> None:
    same = rule("a", "rewrite", PROGRESS)
    config = packs([same])
    twice = EvaluatorConfig(
        **{
            **{name: getattr(config, name) for name in EvaluatorConfig.__slots__},
            "rules": (*config.rules, *config.rules),
            "index": {name: (*each, *each) for name, each in config.index.items()},
        }
    )
    assert warnings(analyze(twice)) == []


def test_a_state_in_which_nothing_decides_is_shown_with_what_makes_it_so(
    rule: Any, packs: Any
) -> None:
    analysis = analyze(packs([rule("a", "block", {"any": [PROGRESS, NOTHING_NEW]})]))
    found = {each.event_type: each for each in analysis.of("nothing-decides")}
    assert len(found) == 16
    example = found["task_checkpoint_sent"].example
    assert example is not None
    assert example.facts["claim.is_progress_bearing"] is False
    assert example.facts["evidence.new_items_since_last_checkpoint"] > 0
    assert example.judged[0].rule_id is None
    assert found["task_checkpoint_sent"].level == "information"


def test_an_event_on_which_some_rule_always_decides_is_proved_so(rule: Any, packs: Any) -> None:
    halves = [rule("a", "block", PROGRESS), rule("b", "rewrite", {"not": PROGRESS})]
    analysis = analyze(packs(halves))
    assert analysis.always_decided == ("task_checkpoint_sent",)


def test_a_rule_in_shadow_mode_decides_nothing(rule: Any, packs: Any) -> None:
    halves = [rule("a", "block", PROGRESS), rule("b", "block", {"not": PROGRESS}, mode="shadow")]
    assert analyze(packs(halves)).always_decided == ()


def test_counts_of_the_past_are_related_as_they_really_are(rule: Any, packs: Any) -> None:
    def count(within: str, **compared: int) -> dict[str, Any]:
        return {"count": {"event": "task_checkpoint_sent", "within": within}, **compared}

    rules = [
        rule("a", "block", {"all": [count("1m", greater_than=3), count("1h", less_than=2)]}),
        rule("b", "block", count("1m", greater_than=3)),
        rule("c", "rewrite", {"count": {"event": "task_checkpoint_sent"}, "equals": 0}),
        rule("d", "rewrite", {"since": {"event": "task_checkpoint_sent"}, "greater_than": "5s"}),
        rule("e", "rewrite", {"count": {"event": "task_evidence_attached"}, "less_than": 0}),
    ]
    assert warnings(analyze(packs(rules))) == [
        ("never-fires", "a", ()),
        ("never-fires", "c", ()),
        ("never-fires", "d", ()),
        ("never-fires", "e", ()),
    ]


def test_a_window_that_was_not_watched_from_its_start_is_neither_full_nor_empty(
    rule: Any, packs: Any
) -> None:
    count = {"count": {"event": "task_evidence_attached", "within": "1h"}}
    halves = [
        rule("a", "block", {**count, "greater_than": 2}),
        rule("b", "block", {**count, "less_than": 3}),
    ]
    (example,) = [
        each.example
        for each in analyze(packs(halves)).of("nothing-decides")
        if each.event_type == "task_checkpoint_sent"
    ]
    assert example is not None
    assert example.facts["time that times task_evidence_attached is kept"] != "never"


def test_what_the_solver_does_not_answer_is_unknown_and_nothing_else(
    rule: Any, packs: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Asking, "ask", lambda *_, **__: SolverAnswer("unknown", why="timeout"))
    analysis = analyze(packs([rule("a", "block", PROGRESS), rule("b", "block", PROGRESS)]))
    assert {each.check for each in analysis.findings} == {"unknown"}
    assert {each.rule_id for each in analysis.findings} == {"a", "b", None}
    assert all("timeout" in each.problem for each in analysis.findings)
    assert analysis.always_decided == ()


def test_the_shipped_packs_have_nothing_to_mend(shipped: EvaluatorConfig, shipped_as: Any) -> None:
    profiles = ("minimal-solo-mode", "standard-team-mode", "strict-manager-mode")
    for config in (shipped, *map(shipped_as, profiles)):
        analysis = analyze(config)
        assert warnings(analysis) == []
        assert analysis.of("unknown") == []
        assert analysis.always_decided == ("report_anchor_missing",)
        assert len(analysis.of("nothing-decides")) == 15
