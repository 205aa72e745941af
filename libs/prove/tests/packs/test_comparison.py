"""Two versions of packs: a state they decide differently, confirmed by the evaluator, or a proof of none."""

from typing import Any

import pytest

from lictor_policy.judge.config import EvaluatorConfig
from lictor_prove.packs import examples
from lictor_prove.packs.comparison import PackComparison, compare
from lictor_prove.packs.staged_tasks import Judgement, judge
from lictor_prove.packs.z3_questions import Asking, SolverAnswer
from lictor_schema.decisions.decision import Disposition

PROGRESS = {"fact": "claim.is_progress_bearing", "equals": True}
WEAK = {"fact": "evidence.best_quality", "less_than": "moderate"}


def changes(comparison: PackComparison) -> list[tuple[str, str]]:
    return [
        (event.event_type, each.change) for event in comparison.events for each in event.differences
    ]


def test_packs_written_otherwise_are_proved_the_same(rule: Any, packs: Any) -> None:
    old = packs([rule("a", "block", {"all": [PROGRESS, WEAK]}), rule("b", "rewrite", PROGRESS)])
    strong = {"fact": "evidence.best_quality", "in": ["moderate", "strong", "decisive"]}
    new = packs(
        [
            rule("b2", "rewrite", {"all": [PROGRESS, strong]}),
            rule("a2", "block", {"not": {"any": [{"not": PROGRESS}, strong]}}),
        ]
    )
    comparison = compare(old, new)
    assert comparison.verdict == "same"
    assert changes(comparison) == []


def test_a_bound_moved_by_one_is_shown_by_the_value_in_between(rule: Any, packs: Any) -> None:
    def bare(most: int) -> EvaluatorConfig:
        more = {"fact": "message.status_only_in_a_row", "greater_than": most}
        return packs([rule("a", "rewrite", more)])

    comparison = compare(bare(1), bare(2))
    assert comparison.verdict == "differs"
    (event,) = [each for each in comparison.events if each.verdict == "differs"]
    (difference,) = event.differences
    assert (event.event_type, difference.change) == ("task_checkpoint_sent", "milder")
    assert dict(difference.example.facts) == {"message.status_only_in_a_row": 2}
    old, new = difference.example.judged
    assert (old.decision, old.rule_id, new.decision, new.rule_id) == (
        Disposition.REWRITE,
        "a",
        Disposition.ALLOW,
        None,
    )


def test_a_version_that_is_stricter_here_and_milder_there_shows_both(rule: Any, packs: Any) -> None:
    old = packs([rule("a", "rewrite", PROGRESS)])
    new = packs([rule("a", "block", WEAK)])
    assert changes(compare(old, new)) == [
        ("task_checkpoint_sent", "milder"),
        ("task_checkpoint_sent", "stricter"),
    ]


def test_another_severity_of_the_same_decision_is_told_apart(rule: Any, packs: Any) -> None:
    old = packs([rule("a", "block", PROGRESS, severity="low")])
    new = packs([rule("a", "block", PROGRESS, severity="high")])
    assert changes(compare(old, new)) == [("task_checkpoint_sent", "other severity")]


def test_a_later_escalation_differs_only_in_between(rule: Any, packs: Any) -> None:
    old = packs([rule("a", "rewrite", PROGRESS, escalate_after=2)])
    new = packs([rule("a", "rewrite", PROGRESS, escalate_after=4)])
    comparison = compare(old, new)
    (difference,) = [each for event in comparison.events for each in event.differences]
    assert difference.change == "milder"
    assert difference.example.facts["earlier matches of a"] in (1, 2)
    assert comparison.assumptions


def test_scopes_and_the_order_of_first_match_packs_count(rule: Any, packs: Any) -> None:
    rules = [rule("a", "allow", WEAK), rule("b", "block", PROGRESS)]
    turned = compare(packs(rules, mode="first_match"), packs(rules[::-1], mode="first_match"))
    assert changes(turned) == [("task_checkpoint_sent", "stricter")]
    narrowed = compare(packs(rules), packs(rules, channels=["mail"], runtimes=["openclaw"]))
    difference = next(each for event in narrowed.events for each in event.differences)
    assert difference.change == "milder"
    named = difference.example.every_fact
    assert (named["task.channel"], named["task.runtime"]) != ("mail", "openclaw")


def test_an_example_that_the_evaluator_does_not_confirm_is_unknown(
    rule: Any, packs: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def other(config: EvaluatorConfig, scene: Any) -> Judgement:
        judged = judge(config, scene)
        return Judgement(judged.decision, judged.severity, judged.policy_id, judged.decider, ())

    monkeypatch.setattr(examples, "judge", other)
    comparison = compare(packs([rule("a", "block", PROGRESS)]), packs([rule("a", "block", WEAK)]))
    assert comparison.verdict == "unknown"
    assert changes(comparison) == []
    told = [why for event in comparison.events for why in event.unknown]
    assert told
    assert all("did not confirm" in why for why in told)


def test_a_question_without_an_answer_proves_nothing(
    rule: Any, packs: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = packs([rule("a", "block", PROGRESS)])
    monkeypatch.setattr(Asking, "ask", lambda *_, **__: SolverAnswer("unknown", why="timeout"))
    comparison = compare(config, config)
    assert comparison.verdict == "unknown"
    assert {event.verdict for event in comparison.events} == {"unknown"}


def test_what_the_profiles_promise_is_proved(shipped: EvaluatorConfig, shipped_as: Any) -> None:
    """Standard is the packs as written; strict is never milder, minimal is never stricter."""
    assert compare(shipped, shipped_as("standard-team-mode")).verdict == "same"
    stricter = compare(shipped, shipped_as("strict-manager-mode"))
    assert {change for _, change in changes(stricter)} == {"stricter", "other severity"}
    milder = compare(shipped, shipped_as("minimal-solo-mode"))
    assert {change for _, change in changes(milder)} == {"milder"}
    assert not any(event.unknown for each in (stricter, milder) for event in each.events)
