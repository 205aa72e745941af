"""One event judged: what is refused, how rules are weighed, what the record says."""

from typing import Any, get_args

import pytest

from lictor_policy.conditions.facts import FACTS
from lictor_policy.errors import TaskStateError, UnacceptableEvent
from lictor_policy.events.content import claim_of, message_of, structure_of
from lictor_policy.judge.step import EventPosition, step
from lictor_policy.task.state import MAX_EVIDENCE, TaskState, note_evidence, read_evidence
from lictor_schema.core.time import to_micros
from lictor_schema.decisions.decision import Disposition, Severity
from lictor_schema.events.event import Event
from lictor_schema.events.evidence import EvidenceClass, Quality


def test_an_event_of_a_task_that_never_started_is_unacceptable(stage: Any) -> None:
    with pytest.raises(UnacceptableEvent) as caught:
        stage.say("task_checkpoint_sent")
    assert caught.value.field == "task_id"
    assert "task_started" in caught.value.remedy


def test_a_missing_anchor_may_be_told_before_the_start(stage: Any) -> None:
    stage.say("report_anchor_missing")
    with pytest.raises(UnacceptableEvent):
        stage.say("task_checkpoint_sent", 1)
    assert stage.say("task_started", 2).state.started


def test_a_second_start_is_unacceptable(stage: Any) -> None:
    stage.say("task_started")
    with pytest.raises(UnacceptableEvent, match="has started already"):
        stage.say("task_started", 1)


def test_a_time_far_in_the_future_is_unacceptable(make_event: Any, shipped: Any) -> None:
    stored = make_event("task_started").timestamp
    position = EventPosition(1, to_micros(stored), "sha256:" + "0" * 64)
    assert step(None, make_event("task_started", 300), position, shipped).record
    with pytest.raises(UnacceptableEvent, match="timestamp") as caught:
        step(None, make_event("task_started", 301), position, shipped)
    assert caught.value.field == "timestamp"


def test_an_interval_without_end_is_unacceptable(stage: Any) -> None:
    with pytest.raises(UnacceptableEvent, match=r"payload\.checkpoint_interval_s"):
        stage.say("task_started", checkpoint_interval_s=2**53 - 1)


def test_the_strongest_decision_wins_and_the_others_are_listed(
    new_stage: Any, config_of: Any, pack_of: Any, rule_of: Any
) -> None:
    rules = [rule_of(f"r.{name}", name.value) for name in Disposition]
    record = new_stage(config_of(pack_of(*rules))).say("task_started").record
    assert [rule.decision.value for rule in record.matched_rules] == [
        "escalate",
        "block",
        "force_checkpoint",
        "downgrade_status",
        "require_review",
        "rewrite",
        "annotate_placeholder",
        "allow",
    ]
    assert record.decision.policy_id == "r.escalate"
    assert record.decision.severity is Severity.LOW  # the pack's default


def test_a_notice_is_kept_when_a_stronger_rule_demands_none(
    new_stage: Any, config_of: Any, pack_of: Any, rule_of: Any
) -> None:
    notice = {"required": True, "channel": "{{channel}}", "urgency": "low"}
    weak = rule_of("weak", "require_review", output={"operator_notice": notice})
    record = new_stage(config_of(pack_of(rule_of("strong"), weak))).say("task_started").record
    assert record.decision.policy_id == "strong"
    assert record.decision.operator_notice.required
    assert record.decision.operator_notice.channel == "telegram"
    assert record.receipt.operator_notice_required


def test_first_match_stops_at_the_first_rule(
    new_stage: Any, config_of: Any, pack_of: Any, rule_of: Any
) -> None:
    pack = pack_of(rule_of("first", "rewrite"), rule_of("second", "escalate"))
    pack["spec"]["evaluation_mode"] = "first_match"
    record = new_stage(config_of(pack)).say("task_started").record
    assert [rule.rule_id for rule in record.matched_rules] == ["first"]


@pytest.mark.parametrize(
    ("applies_to", "looked_at"),
    [
        ({}, True),
        ({"runtimes": ["*"]}, True),
        ({"runtimes": ["openclaw"], "channels": ["telegram"]}, True),
        ({"runtimes": ["claude-code"]}, False),
        ({"task_modes": ["silent"]}, False),
        ({"workflow_shapes": ["parent-child"]}, False),
        ({"channels": ["mail"]}, False),
    ],
)
def test_a_pack_looks_only_at_the_tasks_it_applies_to(
    applies_to: Any, looked_at: bool, new_stage: Any, config_of: Any, pack_of: Any, rule_of: Any
) -> None:
    config = config_of(pack_of(rule_of(), applies_to=applies_to))
    assert bool(new_stage(config).say("task_started").record.matched_rules) is looked_at


def test_a_pack_for_a_runtime_also_sees_the_timers_of_its_tasks(
    new_stage: Any, config_of: Any, pack_of: Any, rule_of: Any
) -> None:
    rule = rule_of(triggers={"event_types": ["task_checkpoint_due"]})
    pack = pack_of(rule, applies_to={"runtimes": ["openclaw"]})
    stage = new_stage(config_of(pack))
    stage.say("task_started", checkpoint_interval_s=60)
    fired = stage.fire("checkpoint")
    assert fired.record.runtime == "lictor"
    assert fired.record.decision.decision is Disposition.BLOCK


def test_a_signal_triggers_only_when_it_holds(
    new_stage: Any, config_of: Any, pack_of: Any, rule_of: Any
) -> None:
    rule = rule_of(triggers={"derived_signals": ["checkpoint_overdue"]})
    stage = new_stage(config_of(pack_of(rule)))
    stage.say("task_started", checkpoint_interval_s=60)
    assert not stage.say("watchdog_fired", 30).record.matched_rules
    assert stage.say("watchdog_fired", 60).record.matched_rules


def test_a_variable_in_an_agents_message_is_not_filled_in(stage: Any) -> None:
    stage.say("task_started")
    record = stage.say("task_claimed_complete", 1, message="{{task_id}} {{nonsense}}").record
    assert "{{task_id}} {{nonsense}}" in record.decision.rewritten_message


def test_a_text_that_grows_too_long_is_cut(stage: Any) -> None:
    stage.say("task_started")
    record = stage.say("task_claimed_complete", 1, message="x" * 65536).record
    assert len(record.decision.rewritten_message) == 65536
    assert record.original_claim == "x" * 65536


def test_the_record_shows_the_actions_as_intent_and_nothing_as_sent(stage: Any) -> None:
    stage.say("task_started")
    record = stage.say("task_claimed_complete", 1).record
    assert record.receipt.status.value == "planned"
    assert record.receipt.delivery_state.value == "prepared"
    assert [act.action.value for act in record.receipt.enforcement_intent] == [
        "set_status",
        "rewrite_message",
        "append_audit_note",
    ]
    assert record.message_sent is None


def test_the_first_and_the_closing_record_carry_the_episode(
    stage: Any, make_evidence: Any, shipped: Any
) -> None:
    first = stage.say("task_started", session_id="s1").record
    between = stage.say("task_evidence_attached", 1, items=[make_evidence(1)]).record
    last = stage.say("task_claimed_complete", 2).record
    assert first.episode.final_status is None
    assert between.episode is None
    assert last.episode.started_at == first.episode.started_at
    assert last.episode.session_id == "s1"
    assert last.episode.packs == shipped.packs


def test_the_same_item_attached_again_is_nothing_new(stage: Any, make_evidence: Any) -> None:
    stage.say("task_started")
    stage.say("task_evidence_attached", 1, items=[make_evidence(1)])
    again = stage.say("task_evidence_attached", 2, items=[make_evidence(1)])
    assert again.record.evidence.new_since_last_checkpoint == 1


def test_of_much_evidence_the_strongest_stays_listed(stage: Any, make_evidence: Any) -> None:
    stage.say("task_started")
    stage.say("task_evidence_attached", 1, items=[make_evidence("best", "decisive")])
    items = [make_evidence(number, "weak") for number in range(40)]
    record = stage.say("task_evidence_attached", 2, items=items).record
    listed = [item.evidence_id for item in record.evidence.attached]
    assert len(listed) == MAX_EVIDENCE
    assert listed[0] == "ev-best"
    assert listed[-1] == "ev-39"


def test_a_runtime_that_reports_the_same_miss_does_not_make_it_two(stage: Any) -> None:
    stage.say("task_started", checkpoint_interval_s=60)
    stage.fire("checkpoint")
    told = stage.say("task_checkpoint_due", 62, due_at="2026-03-02T09:01:00Z")
    assert told.record.decision.decision is Disposition.ALLOW
    assert told.state.missed_in_a_row == 1
    assert stage.pending["checkpoint"].task.checkpoint_number == 2


def test_a_due_checkpoint_without_an_interval_is_met_by_a_report_since_the_last(
    stage: Any,
) -> None:
    stage.say("task_started")
    stage.say("task_checkpoint_sent", 10)
    met = stage.say("task_checkpoint_due", 20).record.decision.decision
    unmet = stage.say("task_checkpoint_due", 40).record.decision.decision
    assert (met, unmet) == (Disposition.ALLOW, Disposition.FORCE_CHECKPOINT)


def test_an_externalized_path_of_placeholders_is_not_valid(stage: Any) -> None:
    path = {
        "first_forced_checkpoint_trigger": "in 20 minutes",
        "if_unfinished_report": "what is done",
        "if_no_new_evidence": "paused",
        "externalized_trigger": " TBD ",
        "final_handoff_path": "message to the owner",
    }
    record = stage.say("task_started", mode="silent", externalized_path=path).record
    assert record.decision.decision is Disposition.BLOCK


def test_state_of_another_format_is_refused() -> None:
    for raw in (b"", b"[]", b"{}", b"[2]", b"[1,2]", b"\xff"):
        with pytest.raises(TaskStateError, match="replay"):
            TaskState.decode(raw)


def test_a_noted_item_reads_back() -> None:
    for evidence_class in EvidenceClass:
        for quality in Quality:
            note = note_evidence("42: ä", evidence_class, quality)
            assert read_evidence(note) == ("42: ä", evidence_class, quality)


def test_what_an_event_says_is_read_from_every_type_that_can_say_it() -> None:
    readers = {"claim": claim_of, "message": message_of, "structure": structure_of}
    for kind in get_args(get_args(Event)[0]):
        payload = kind.model_fields["payload"].annotation
        (event_type,) = get_args(kind.model_fields["event_type"].annotation)
        for name, read in readers.items():
            # Unvalidated on purpose: only the wiring from type to field is looked at.
            said = payload.model_construct(**{name: "said"})
            event = kind.model_construct(event_type=event_type, payload=said)
            assert read(event) == ("said" if name in payload.model_fields else None)


def test_every_fact_says_what_it_means() -> None:
    assert all(fact.meaning and len(fact.meaning) < 100 for fact in FACTS.values())
