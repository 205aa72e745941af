"""Promises and children: what is owed, when it is told, and what settles it."""

from typing import Any

import pytest

from lictor_policy.conditions.facts import FACTS
from lictor_policy.events.position import EventPosition
from lictor_policy.offline.stories import Stage, moment, usual_event
from lictor_policy.task.obligations import MAX_OWED, MAX_PROMISES, Owed, read_owed
from lictor_policy.task.timers import SetReportingTimer, all_timer_orders, timer_orders
from lictor_schema.core.time import to_micros
from lictor_schema.events.event import Event, parse_event

PROMISE = {"what": "the row counts", "due_at": "t+300"}


@pytest.fixture
def task(stage: Stage) -> Stage:
    stage.say("task_started")
    return stage


def due(stage: Stage) -> dict[str, float]:
    return {
        kind: order.due.timestamp() - moment(0).timestamp() for kind, order in stage.pending.items()
    }


def fact(stage: Stage, name: str, seconds: float, event: Event | None = None) -> Any:
    """A fact as a rule would see it after the last event."""
    position = EventPosition(1, to_micros(moment(seconds)), "sha256:" + "0" * 64)
    happening = event or usual_event("watchdog_fired", seconds)
    return FACTS[name].compute(stage.state, happening, position)  # pyright: ignore[reportArgumentType]


def test_what_is_owed_reads_back_from_its_note() -> None:
    for name, detail in (("run 1", "agent:a b"), ("", ""), ("7 7", "ä\n"), ("a" * 512, "x")):
        owed = Owed(1, 2, 3, 4, 5, 6, True, 7, name, detail)
        assert read_owed(owed.note()) == owed


def test_a_promise_sets_a_timer_and_a_report_with_evidence_ends_it(
    task: Stage, make_evidence: Any
) -> None:
    task.say("task_checkpoint_sent", 10, promised_followup=PROMISE)
    assert due(task) == {"followup": 300}
    task.say("task_evidence_attached", 20, items=[make_evidence(1)])
    task.say("task_checkpoint_sent", 30)
    assert due(task) == {}
    assert not fact(task, "claim.promised_followup_open", 40)


def test_a_report_without_evidence_leaves_the_promise_open(task: Stage) -> None:
    task.say("task_checkpoint_sent", 10, promised_followup=PROMISE)
    task.say("task_checkpoint_sent", 100)
    assert due(task) == {"followup": 300}
    task.fire("followup")
    assert fact(task, "claim.promised_followup_due", 300)
    assert fact(task, "claim.promised_followup_seen", 300)
    assert not fact(task, "claim.promised_followup_has_evidence", 300)


def test_promising_the_same_again_for_later_does_not_put_the_first_off(task: Stage) -> None:
    task.say("task_checkpoint_sent", 10, promised_followup=PROMISE)
    task.say("task_checkpoint_sent", 290, promised_followup={**PROMISE, "due_at": "t+900"})
    assert due(task) == {"followup": 300}


def test_an_update_after_the_due_time_is_judged_as_what_was_promised(task: Stage) -> None:
    task.say("task_checkpoint_sent", 10, promised_followup=PROMISE)
    task.say("task_checkpoint_sent", 310)
    assert due(task) == {}
    assert task.state is not None
    assert task.state.promises == ()


def test_a_report_nobody_sees_delivers_nothing(task: Stage, make_evidence: Any) -> None:
    task.say("task_checkpoint_sent", 10, promised_followup=PROMISE)
    task.say("task_evidence_attached", 20, items=[make_evidence(1)])
    task.say("task_checkpoint_sent", 310, operator_visible=False)
    assert due(task) == {"followup": 300}


def test_an_overdue_promise_is_told_three_times_and_each_under_an_id_of_its_own(
    task: Stage,
) -> None:
    task.say("task_checkpoint_sent", 10, promised_followup=PROMISE)
    ids = {task.fire("followup").record.event_id for _ in range(3)}
    assert len(ids) == 3
    assert fact(task, "obligation.times_told", 900) == 3
    assert due(task) == {}


def test_a_promise_told_by_a_watch_and_by_the_timer_is_told_once(task: Stage) -> None:
    task.say("task_checkpoint_sent", 10, promised_followup=PROMISE)
    told = {"condition": "promised_followup_due", "due_at": "t+300"}
    task.say("watchdog_fired", 301, **told)
    assert fact(task, "obligation.times_told", 301) == 1
    assert due(task) == {"followup": 601}
    second = usual_event("watchdog_fired", 302, number=9, **told)
    task.play(second, 302)
    assert not fact(task, "obligation.newly_told", 302, second)
    assert due(task) == {"followup": 601}


def test_a_timer_that_is_stored_a_moment_before_its_time_still_counts(task: Stage) -> None:
    task.say("task_checkpoint_sent", 10, promised_followup=PROMISE)
    task.say("subagent_spawned", 11, expected_by="t+300")
    task.say("subagent_completed", 12, run_id="run-2", forward_by="t+300")
    for kind in ("followup", "subagent", "forwarding"):
        event = parse_event(task.pending.pop(kind).event_json())
        outcome = task.play(event, 299.9995)
        assert fact(task, "obligation.newly_told", 299.9995, event), kind
        assert outcome.record.decision.decision.value == "force_checkpoint", kind


def test_a_watch_may_tell_of_a_promise_that_was_never_published(task: Stage) -> None:
    told = usual_event("watchdog_fired", 50, condition="promised_followup_due", detail="a call")
    task.play(told, 50)
    assert fact(task, "claim.promised_followup_due", 50)
    assert fact(task, "obligation.newly_told", 50, told)


def test_a_watch_that_tells_of_a_kept_promise_is_late(task: Stage, make_evidence: Any) -> None:
    task.say("task_checkpoint_sent", 10, promised_followup=PROMISE)
    task.say("task_evidence_attached", 20, items=[make_evidence(1)])
    task.say("task_checkpoint_sent", 30)
    task.say("watchdog_fired", 301, condition="promised_followup_due", due_at="t+300")
    assert not fact(task, "claim.promised_followup_due", 301)


def test_a_result_is_to_be_shown_in_five_minutes_unless_a_time_is_set(task: Stage) -> None:
    task.say("subagent_completed", 10)
    assert due(task) == {"forwarding": 310}
    task.say("subagent_completed", 20, run_id="run-2", forward_by="t+60")
    assert due(task) == {"forwarding": 60}
    assert fact(task, "forwarding.unforwarded_results", 20) == 2
    assert fact(task, "forwarding.overdue_results", 60) == 1


@pytest.mark.parametrize(
    ("how", "left"),
    [
        ({}, 0),
        ({"presentation": "direct"}, 0),
        ({"presentation": "placeholder"}, 1),
        ({"operator_visible": False}, 1),
        ({"run_id": "another"}, 1),
    ],
)
def test_only_the_result_itself_shown_to_the_operator_counts(
    how: dict[str, Any], left: int, task: Stage
) -> None:
    task.say("subagent_completed", 10)
    task.say("subagent_result_forwarded", 20, **how)
    assert fact(task, "forwarding.unforwarded_results", 20) == left
    assert ("forwarding" in task.pending) is bool(left)


def test_a_report_is_a_follow_up_but_does_not_show_the_result(task: Stage) -> None:
    task.say("subagent_completed", 10)
    assert fact(task, "forwarding.result_available_without_visible_followup", 10)
    task.say("task_checkpoint_sent", 20)
    assert not fact(task, "forwarding.result_available_without_visible_followup", 20)
    assert due(task) == {"forwarding": 310}


def test_showing_one_result_is_no_follow_up_to_another(task: Stage) -> None:
    task.say("subagent_completed", 10)
    task.say("subagent_completed", 11, run_id="run-2")
    task.say("subagent_result_forwarded", 20)
    assert fact(task, "forwarding.result_available_without_visible_followup", 20)


def test_a_telling_that_crosses_the_result_on_its_way_changes_nothing(task: Stage) -> None:
    task.say("subagent_completed", 10)
    late = task.pending["forwarding"]
    task.say("subagent_result_forwarded", 309)
    for event in (
        parse_event(late.event_json()),
        usual_event("subagent_result_not_forwarded", 311, forward_due_at="t+310"),
    ):
        task.play(event, 311)
        assert not fact(task, "forwarding.named_result_unforwarded", 311, event)
        assert not fact(task, "obligation.newly_told", 311, event)


def test_a_runtime_may_tell_of_a_result_that_was_never_published(task: Stage) -> None:
    told = usual_event("subagent_result_not_forwarded", 50)
    task.play(told, 50)
    assert fact(task, "forwarding.named_result_unforwarded", 50, told)
    assert fact(task, "obligation.newly_told", 50, told)
    assert due(task) == {"forwarding": 350}


def test_a_child_is_waited_for_until_it_is_back(task: Stage) -> None:
    task.say("subagent_spawned", 0, expected_by="t+100")
    task.say("subagent_spawned", 0, run_id="run-2", expected_by="t+50")
    assert due(task) == {"subagent": 50}
    task.fire("subagent")
    assert fact(task, "subagents.overdue", 50) == 1
    assert due(task) == {"subagent": 100}
    task.say("subagent_completed", 60)
    assert due(task) == {"subagent": 350, "forwarding": 360}
    task.say("subagent_spawn_failed", 70, run_id="run-2")
    assert due(task) == {"forwarding": 360}


def test_a_failure_is_unreported_until_the_operator_sees_a_report(task: Stage) -> None:
    task.say("subagent_spawn_failed", 10, operator_notified=True)
    assert fact(task, "subagents.unreported_failures", 10) == 0
    task.say("subagent_spawn_failed", 20)
    task.say("subagent_completed", 30, run_id="run-2", outcome="failure")
    assert fact(task, "subagents.unreported_failures", 30) == 2
    task.say("subagent_result_forwarded", 40, run_id="run-2")
    assert fact(task, "subagents.unreported_failures", 40) == 1
    task.say("task_checkpoint_sent", 50)
    assert fact(task, "subagents.unreported_failures", 50) == 0


def test_past_the_cap_results_still_count_as_not_shown(task: Stage) -> None:
    for number in range(MAX_OWED + 3):
        task.say("subagent_completed", number, run_id=f"run-{number}")
    assert fact(task, "forwarding.unforwarded_results", 99) == MAX_OWED + 3
    for number in range(MAX_OWED + 3):
        task.say("subagent_result_forwarded", 100, run_id=f"run-{number}")
    assert fact(task, "forwarding.unforwarded_results", 100) == 0
    assert task.state is not None
    assert len(task.state.encode()) < 4096


def test_a_failure_past_the_cap_is_told_and_counts_until_a_report(task: Stage) -> None:
    for number in range(MAX_OWED):
        task.say("subagent_completed", number, run_id=f"run-{number}", forward_by="t+90000")
    failed = task.say("subagent_completed", 100, run_id="last", outcome="failure", error="gone")
    assert "no-silence.subagent-failure-unreported" in {
        rule.rule_id for rule in failed.record.matched_rules
    }
    assert due(task) == {"forwarding": 400}, "it is due first, so it is watched"
    task.say("subagent_completed", 101, run_id="later", outcome="failure", forward_by="t+99999")
    assert fact(task, "subagents.unreported_failures", 101) == 2
    task.say("task_checkpoint_sent", 102)
    assert fact(task, "subagents.unreported_failures", 102) == 0
    assert fact(task, "forwarding.unforwarded_results", 102) == MAX_OWED + 2


def test_a_failure_counts_although_the_brokers_clock_was_set_back(task: Stage) -> None:
    task.say("task_checkpoint_sent", 60)
    failed = task.say("subagent_completed", 50, outcome="failure", error="gone")
    assert failed.record.decision.decision.value == "force_checkpoint"
    assert fact(task, "subagents.unreported_failures", 50) == 1
    assert fact(task, "forwarding.result_available_without_visible_followup", 50)
    task.say("task_checkpoint_sent", 40)
    assert fact(task, "subagents.unreported_failures", 40) == 0


def test_a_failure_that_was_shown_as_one_is_no_news_when_it_is_told_again(task: Stage) -> None:
    task.say("subagent_completed", 10, outcome="failure", error="gone")
    task.say("subagent_result_forwarded", 20)
    again = task.say("subagent_completed", 30, outcome="failure", result_source="history_fetch")
    assert again.record.decision.decision.value == "allow"
    assert due(task) == {}


def test_a_child_dispatched_anew_owes_its_result_anew(task: Stage) -> None:
    task.say("subagent_completed", 10)
    task.say("subagent_result_forwarded", 20)
    task.say("subagent_spawned", 30)
    task.say("subagent_completed", 40)
    assert due(task) == {"forwarding": 340}


def test_of_too_many_children_those_expected_first_are_waited_for(task: Stage) -> None:
    for number in range(MAX_OWED):
        task.say("subagent_spawned", 1, run_id=f"run-{number}", expected_by="t+90000")
    told = task.say("subagent_spawned", 100, run_id="real", expected_by="t+200")
    assert due(task) == {"subagent": 200}
    assert fact(task, "obligation.untracked", 100) == 1
    assert told.record.decision.policy_id == "no-silence.more-owed-than-watched"
    more = task.say("subagent_spawned", 101, run_id="more", expected_by="t+99999")
    assert more.record.decision.decision.value == "allow", "that there is more is told once"


def test_dispatching_a_child_again_does_not_put_off_when_it_is_expected(task: Stage) -> None:
    task.say("subagent_spawned", 1, expected_by="t+100")
    task.say("subagent_spawned", 50, expected_by="t+200")
    assert due(task) == {"subagent": 100}
    task.say("subagent_spawned", 51, expected_by="t+80")
    assert due(task) == {"subagent": 80}


def test_of_too_many_promises_the_earliest_due_are_kept(task: Stage) -> None:
    for number in range(MAX_PROMISES + 3):
        promise = {"what": f"part {number}", "due_at": f"t+{1000 - number}"}
        task.say("task_checkpoint_sent", number, promised_followup=promise)
    assert task.state is not None
    assert len(task.state.promises) == MAX_PROMISES
    assert fact(task, "obligation.untracked", 20) == 3
    assert due(task) == {"followup": 1000 - MAX_PROMISES - 2}


def test_a_closed_task_owes_nothing_any_more(task: Stage, make_evidence: Any) -> None:
    task.say("subagent_spawned", 0, expected_by="t+900")
    task.say("subagent_completed", 1, run_id="run-2")
    task.say("task_evidence_attached", 2, items=[make_evidence(1)])
    task.say("task_checkpoint_sent", 3, promised_followup=PROMISE)
    assert set(due(task)) == {"subagent", "forwarding", "followup"}
    task.say("subagent_result_forwarded", 4, run_id="run-2")
    assert not task.say("task_claimed_complete", 4).record.task_closed, "a promise is open"
    closed = task.say("task_status_changed", 4, to_status="completed", decided_by="ops")
    assert closed.record.task_closed
    assert due(task) == {}
    task.say("subagent_completed", 5, run_id="run-3")
    assert due(task) == {}


def test_every_timer_says_what_the_model_would_write(task: Stage) -> None:
    odd = 'a "quoted" \\ name ü'
    task.say("subagent_spawned", 0, run_id=odd, expected_by="t+900")
    task.say("subagent_completed", 1, run_id=odd + "2", forward_by="2026-03-02T10:00:00.123456Z")
    task.say("task_checkpoint_sent", 2, promised_followup={"what": odd, "due_at": "t+300"})
    orders = {order.kind.value: order for order in all_timer_orders(task.state)}  # pyright: ignore[reportArgumentType]
    for kind in ("subagent", "forwarding", "followup"):
        order = orders[kind]
        assert isinstance(order, SetReportingTimer)
        assert parse_event(order.event_json()).to_json() == order.event_json()


def test_timers_of_a_whole_batch_are_those_of_its_last_state(task: Stage) -> None:
    before = task.state
    task.say("subagent_completed", 10)
    task.say("subagent_result_forwarded", 20)
    task.say("subagent_completed", 30, run_id="run-2")
    assert task.state is not None
    (order,) = timer_orders(before, task.state)
    assert isinstance(order, SetReportingTimer)
    assert order.owed is not None
    assert order.owed.name == "run-2"


def test_an_item_attached_again_after_many_others_is_nothing_new(
    task: Stage, make_evidence: Any
) -> None:
    task.say("task_evidence_attached", 1, items=[make_evidence("weak", "weak")])
    task.say("task_evidence_attached", 2, items=[make_evidence(n) for n in range(20)])
    task.say("task_checkpoint_sent", 3)
    again = task.say("task_evidence_attached", 4, items=[make_evidence("weak", "weak")])
    assert again.state.new_items == 0


def test_an_item_that_shows_nothing_is_no_new_evidence(task: Stage, make_evidence: Any) -> None:
    nothing = task.say("task_evidence_attached", 1, items=[make_evidence(1, "none")])
    assert nothing.state.new_items == 0
    better = task.say("task_evidence_attached", 2, items=[make_evidence(1, "moderate")])
    assert better.state.new_items == 1
