"""Conditions over a task's past: what they mean at the edges, what is refused, what is remembered."""

from collections.abc import Callable
from typing import Any

import pytest

from lictor_policy.conditions.moments import MEASURES
from lictor_policy.errors import PackError
from lictor_policy.judge.step import EventPosition, step

EVERYTHING = ["task_started", "task_checkpoint_sent", "task_evidence_attached"]
EVERYTHING += ["task_status_changed", "task_claimed_complete", "report_anchor_missing"]
Asking = Callable[..., Any]


@pytest.fixture
def asking(config_of: Any, pack_of: Any, rule_of: Any) -> Asking:
    """A configuration with one rule for each condition, looked at on every event."""

    def build(*conditions: dict[str, Any], api_version: str = "lictor/v1") -> Any:
        rules = [
            rule_of(f"rule-{number}", triggers={"event_types": EVERYTHING}, conditions=condition)
            for number, condition in enumerate(conditions)
        ]
        return config_of({**pack_of(*rules), "apiVersion": api_version})

    return build


def fires(outcome: Any) -> bool:
    return bool(outcome.record.matched_rules)


CHECKPOINTS = {"event": "task_checkpoint_sent"}


def test_the_event_being_judged_counts(new_stage: Any, asking: Asking) -> None:
    stage = new_stage(asking({"count": {**CHECKPOINTS, "within": "10m"}, "greater_than": 1}))
    stage.say("task_started")
    assert not fires(stage.say("task_checkpoint_sent", 1))
    assert fires(stage.say("task_checkpoint_sent", 2))


def test_a_window_takes_in_its_own_edge(new_stage: Any, asking: Asking) -> None:
    stage = new_stage(asking({"count": {**CHECKPOINTS, "within": "90s"}, "equals": 2}))
    stage.say("task_started")
    stage.say("task_checkpoint_sent", 10)
    assert fires(stage.say("task_checkpoint_sent", 100))
    assert not fires(stage.say("task_checkpoint_sent", 190.000001))


def test_what_never_happened_is_longer_ago_than_any_time(new_stage: Any, asking: Asking) -> None:
    since = {"since": {"event": "task_evidence_attached"}}
    late, soon = {**since, "greater_than": "31d"}, {**since, "less_than": "31d"}
    assert fires(new_stage(asking(late)).say("task_started"))
    assert not fires(new_stage(asking(soon)).say("task_started"))


def test_a_decision_counts_from_the_next_event_on(new_stage: Any, asking: Asking) -> None:
    stage = new_stage(
        asking({"count": {"decision": "allow"}, "in": [1, 2]}, {"previous": {"decision": "block"}})
    )
    assert not fires(stage.say("task_started"))
    fired = [
        [rule.rule_id for rule in stage.say("task_checkpoint_sent", at).record.matched_rules]
        for at in (1, 2, 3)
    ]
    assert fired == [["rule-0"], ["rule-0", "rule-1"], ["rule-0", "rule-1"]]


def test_the_event_before_is_looked_for_within_its_time(new_stage: Any, asking: Asking) -> None:
    stage = new_stage(asking({"previous": {**CHECKPOINTS, "within": "90s"}}))
    stage.say("task_started")
    stage.say("task_checkpoint_sent", 10)
    assert fires(stage.say("task_checkpoint_sent", 100))
    assert not fires(stage.say("task_checkpoint_sent", 190.000001))


def test_order_is_judged_at_the_latest_then(
    new_stage: Any, asking: Asking, make_evidence: Any
) -> None:
    backed = {"before": {"first": "task_evidence_attached", "then": "task_claimed_complete"}}
    stage = new_stage(asking({"not": backed}))
    assert fires(stage.say("task_started"))
    assert fires(stage.say("task_claimed_complete", 1))
    assert fires(stage.say("task_evidence_attached", 2, items=[make_evidence(1)]))
    assert not fires(stage.say("task_claimed_complete", 3))
    assert not fires(stage.say("task_checkpoint_sent", 4))


def test_what_comes_between_breaks_the_order(
    new_stage: Any, asking: Asking, make_evidence: Any
) -> None:
    order = {
        "first": "task_evidence_attached",
        "then": "task_claimed_complete",
        "without": {"event": "task_status_changed", "where": {"to_status": "blocked"}},
    }
    stage = new_stage(asking({"before": order}))
    stage.say("task_started")
    stage.say("task_evidence_attached", 1, items=[make_evidence(1)])
    stage.say("task_status_changed", 2, to_status="active")
    assert fires(stage.say("task_claimed_complete", 3))
    stage.say("task_status_changed", 4, to_status="blocked")
    assert not fires(stage.say("task_claimed_complete", 5))
    stage.say("task_evidence_attached", 6, items=[make_evidence(2)])
    assert fires(stage.say("task_claimed_complete", 7))


def test_an_event_does_not_come_before_itself(new_stage: Any, asking: Asking) -> None:
    stage = new_stage(
        asking({"before": {"first": "task_checkpoint_sent", "then": "task_checkpoint_sent"}})
    )
    stage.say("task_started")
    assert not fires(stage.say("task_checkpoint_sent", 1))
    assert fires(stage.say("task_checkpoint_sent", 2))


def test_what_was_told_before_the_start_belongs_to_the_past(new_stage: Any, asking: Asking) -> None:
    stage = new_stage(asking({"count": {"event": "report_anchor_missing"}, "equals": 1}))
    assert fires(stage.say("report_anchor_missing"))
    assert fires(stage.say("task_started", 1))


def test_a_clock_that_is_set_back_makes_nothing_younger_or_older(
    new_stage: Any, asking: Asking
) -> None:
    stage = new_stage(
        asking(
            {"count": {**CHECKPOINTS, "within": "10s"}, "greater_than": 2},
            {"since": CHECKPOINTS, "less_than": "1s"},
        )
    )
    stage.say("task_started")
    stage.say("task_checkpoint_sent", 100)
    stage.say("task_checkpoint_sent", 50)
    assert len(stage.say("task_checkpoint_sent", 60).record.matched_rules) == 2


@pytest.mark.parametrize(
    ("condition", "told"),
    [
        ({"count": {"event": "task_checkpoint_snt"}, "equals": 1}, "did you mean"),
        ({"count": {**CHECKPOINTS, "within": "10"}, "equals": 1}, "90s, 10m, 2h or 1d"),
        ({"count": {**CHECKPOINTS, "within": "32d"}, "equals": 1}, "at most 31 days"),
        ({"count": {**CHECKPOINTS, "within": "0s"}, "equals": 1}, "90s, 10m, 2h or 1d"),
        ({"count": CHECKPOINTS, "equals": "1"}, "it needs int"),
        ({"count": CHECKPOINTS, "greater_than": 1001}, "goes up to 1000"),
        ({"count": CHECKPOINTS, "contains": 1}, "has no contains"),
        ({"count": CHECKPOINTS}, "exactly one comparator"),
        ({"count": {}, "equals": 1}, "must name an event or a decision"),
        ({"count": {"decision": "blok"}, "equals": 1}, "decision"),
        ({"count": {"where": {"a": 1}, "decision": "block"}, "equals": 1}, "where without event"),
        (
            {"count": {**CHECKPOINTS, "where": {"operator_visibel": True}}, "equals": 1},
            "did you mean operator_visible?",
        ),
        (
            {"count": {**CHECKPOINTS, "where": {"operator_visible": 1}}, "equals": 1},
            "compared with 1, a int; it needs bool",
        ),
        (
            {"count": {**CHECKPOINTS, "where": {"claim_type": "done"}}, "equals": 1},
            "is never 'done'; it is one of 'progress'",
        ),
        ({"count": {**CHECKPOINTS, "scope": "world"}, "equals": 1}, "must be 'task' or 'session'"),
        ({"since": CHECKPOINTS, "greater_than": 600}, "it needs a duration such as 90s"),
        ({"since": CHECKPOINTS, "greater_than": "10min"}, "90s, 10m, 2h or 1d"),
        ({"since": CHECKPOINTS, "equals": "10m"}, "use one of greater_than, less_than"),
        ({"total": {"of": "evidence_item"}, "equals": 1}, "did you mean evidence_items?"),
        (
            {"total": {"of": "evidence_items", "within": "1h"}, "greater_than": 1001},
            "one without a window as far as you like",
        ),
        ({"total": {"of": "evidence_items"}, "equals": True}, "it needs int"),
        (
            {"before": {"first": "task_started", "then": "task_started"}, "equals": True},
            "none beside anything else",
        ),
        ({"before": {"first": "task_startd", "then": "task_started"}}, "did you mean"),
        ({"before": {"first": "task_started"}}, "is required and missing"),
        ({"previous": {"event": "task_started", "within": "1y"}}, "90s, 10m, 2h or 1d"),
        ({"previous": CHECKPOINTS, "fact": "task.mode"}, "exactly one of all, any"),
    ],
)
def test_a_mistake_in_a_temporal_condition_is_told_at_load(
    condition: Any, told: str, asking: Asking
) -> None:
    with pytest.raises(PackError) as caught:
        asking(condition)
    assert told in str(caught.value)
    assert "rule rule-0: spec.rules.0.conditions" in str(caught.value)


def test_the_documented_format_has_no_temporal_conditions(asking: Asking) -> None:
    with pytest.raises(PackError, match="lictor/v1"):
        asking({"count": CHECKPOINTS, "equals": 1}, api_version="reporting-governance/v1alpha1")


def test_a_total_without_a_window_has_no_limit(new_stage: Any, asking: Asking) -> None:
    stage = new_stage(asking({"total": {"of": "message_characters"}, "greater_than": 100_000}))
    stage.say("task_started")
    assert not fires(stage.say("task_checkpoint_sent", 1, message="x" * 60_000))
    assert fires(stage.say("task_checkpoint_sent", 2, message="x" * 60_000))


def test_a_total_in_a_window_is_known_past_what_it_is_compared_with(
    new_stage: Any, asking: Asking
) -> None:
    stage = new_stage(
        asking({"total": {"of": "visible_updates", "within": "1h"}, "greater_than": 2})
    )
    stage.say("task_started")
    fired = [fires(stage.say("task_checkpoint_sent", at)) for at in (1, 2, 3, 4)]
    assert fired == [False, False, True, True]
    assert not fires(stage.say("task_checkpoint_sent", 3604.5))


def test_questions_that_are_the_same_share_one_memory(new_stage: Any, asking: Asking) -> None:
    visible = {"operator_visible": True, "reminder_only": False}
    turned = dict(reversed(visible.items()))
    stage = new_stage(
        asking(
            {"count": {**CHECKPOINTS, "where": visible, "within": "1m"}, "greater_than": 2},
            {"count": {**CHECKPOINTS, "where": turned, "within": "1h"}, "less_than": 7},
            {"not": {"count": {**CHECKPOINTS, "where": visible, "within": "2h"}, "equals": 1}},
        )
    )
    stage.say("task_started")
    for at in range(20):
        stage.say("task_checkpoint_sent", at)
    (memory,) = (kept for name, kept in stage.state.history.items() if name != "plan")
    assert len(memory) == 8


def test_what_is_remembered_does_not_grow_with_the_past(new_stage: Any, asking: Asking) -> None:
    stage = new_stage(
        asking(
            {"count": {**CHECKPOINTS, "within": "1h"}, "greater_than": 5},
            {"count": CHECKPOINTS, "equals": 5},
            {"total": {"of": "visible_updates", "within": "1h"}, "greater_than": 5},
            {"total": {"of": "message_characters"}, "equals": 5},
            {"since": CHECKPOINTS, "greater_than": "1h"},
            {"before": {"first": "task_started", "then": "task_checkpoint_sent"}},
            {"previous": CHECKPOINTS},
            {"count": {"decision": "block", "within": "1h"}, "greater_than": 5},
        )
    )
    stage.say("task_started")
    sizes: list[int] = []
    for at in range(200):
        stage.say("task_checkpoint_sent", at)
        sizes.append(len(str(stage.state.history)))
    assert max(sizes) <= sizes[20] + 16


def test_a_pack_that_asks_nothing_keeps_nothing(stage: Any) -> None:
    stage.say("task_started")
    assert stage.say("task_checkpoint_sent", 1).state.history == {}


def test_a_new_version_of_a_pack_finds_what_the_old_one_kept(
    new_stage: Any, asking: Asking
) -> None:
    three = {"count": {**CHECKPOINTS, "within": "1h"}, "greater_than": 2}
    stage = new_stage(asking(three))
    stage.say("task_started")
    stage.say("task_checkpoint_sent", 1)
    stage.say("task_checkpoint_sent", 2)
    stage.config = asking({"fact": "task.is_closed", "equals": True}, three)
    assert fires(stage.say("task_checkpoint_sent", 3))


def test_what_was_not_kept_up_in_between_is_forgotten(new_stage: Any, asking: Asking) -> None:
    one = {"count": CHECKPOINTS, "equals": 1}
    stage = new_stage(asking(one))
    stage.say("task_started")
    assert fires(stage.say("task_checkpoint_sent", 1))
    stage.config = asking({"fact": "task.is_closed", "equals": True})
    assert stage.say("task_checkpoint_sent", 2).state.history == {}
    stage.config = asking(one)
    assert fires(stage.say("task_checkpoint_sent", 3))


def test_judging_changes_no_memory_in_place(make_event: Any, asking: Asking) -> None:
    config = asking(
        {"count": {**CHECKPOINTS, "within": "1h"}, "greater_than": 2},
        {"before": {"first": "task_started", "then": "task_checkpoint_sent"}},
        {"total": {"of": "message_characters", "within": "1h"}, "equals": 5},
        {"previous": CHECKPOINTS},
    )
    place = EventPosition(1, 1_800_000_000_000_000, "sha256:" + "0" * 64)
    state = step(None, make_event("task_started"), place, config).state
    state = step(state, make_event("task_checkpoint_sent", 1), place, config).state
    before = state.encode()
    step(state, make_event("task_checkpoint_sent", 2), place, config)
    assert state.encode() == before


def test_every_measure_says_what_it_means() -> None:
    assert all(measure.meaning and measure.event_types for measure in MEASURES.values())


NOTHING_OF_THE_PAST = {"fact": "task.is_closed", "equals": True}


def running(new_stage: Any, asking: Asking) -> Any:
    """A task that sent a report while no rule asked for the past."""
    stage = new_stage(asking(NOTHING_OF_THE_PAST))
    stage.say("task_started")
    stage.say("task_checkpoint_sent", 3600)
    return stage


def test_a_new_since_counts_from_the_switch_in_a_running_task(
    new_stage: Any, asking: Asking
) -> None:
    stage = running(new_stage, asking)
    stage.config = asking({"since": CHECKPOINTS, "greater_than": "30m"})
    assert not fires(stage.say("task_status_changed", 3610))
    assert not fires(stage.say("task_status_changed", 3610 + 1800))
    assert fires(stage.say("task_status_changed", 3610 + 1801))


def test_a_new_since_does_not_take_the_switch_for_the_moment(
    new_stage: Any, asking: Asking
) -> None:
    stage = running(new_stage, asking)
    stage.config = asking({"since": CHECKPOINTS, "less_than": "30m"})
    assert not fires(stage.say("task_status_changed", 3610))


@pytest.mark.parametrize(
    "few",
    [
        {"count": {**CHECKPOINTS, "within": "10m"}, "less_than": 1},
        {"count": {**CHECKPOINTS, "within": "10m"}, "equals": 0},
        {"total": {"of": "visible_updates", "within": "10m"}, "less_than": 1},
    ],
)
def test_that_there_was_too_little_is_said_once_the_whole_window_is_known(
    new_stage: Any, asking: Asking, few: dict[str, Any]
) -> None:
    stage = running(new_stage, asking)
    stage.config = asking(few)
    assert not fires(stage.say("task_status_changed", 3610))
    assert not fires(stage.say("task_status_changed", 3610 + 599))
    assert fires(stage.say("task_status_changed", 3610 + 600))


def test_a_switch_that_keeps_the_question_keeps_since_when_it_is_known(
    new_stage: Any, asking: Asking
) -> None:
    late = {"since": CHECKPOINTS, "greater_than": "30m"}
    stage = running(new_stage, asking)
    stage.config = asking(late)
    stage.say("task_status_changed", 3610)
    stage.config = asking(late, {"count": CHECKPOINTS, "greater_than": 9})
    assert fires(stage.say("task_status_changed", 3610 + 1801))


def test_a_task_that_began_under_the_rule_has_no_grace(new_stage: Any, asking: Asking) -> None:
    few = {"count": {**CHECKPOINTS, "within": "10m"}, "less_than": 1}
    late = {"since": CHECKPOINTS, "greater_than": "30m"}
    stage = new_stage(asking(few, late))
    assert len(stage.say("task_started").record.matched_rules) == 2
    stage.config = asking(late, few)
    assert len(stage.say("task_status_changed", 1).record.matched_rules) == 2
