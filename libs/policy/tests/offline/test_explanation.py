"""An explanation says the same as the evaluator, of every condition and at every event."""

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lictor_policy.conditions.compiled_condition import FITTING
from lictor_policy.conditions.condition_text import condition_text
from lictor_policy.conditions.facts import FACTS, FactType
from lictor_policy.events.position import EventPosition
from lictor_policy.offline.explanation import explain
from lictor_policy.offline.stories import Stage, evidence_item, moment, usual_event
from lictor_schema.core.time import to_micros
from lictor_schema.events.evidence import Quality

HASH = "sha256:" + "0" * 64
OPERANDS: dict[FactType, st.SearchStrategy[Any]] = {
    FactType.BOOL: st.booleans(),
    FactType.INT: st.integers(0, 3),
    FactType.QUALITY: st.sampled_from([quality.value for quality in Quality]),
}


@st.composite
def leaves(draw: st.DrawFn) -> dict[str, Any]:
    fact = draw(st.sampled_from(list(FACTS.values())))
    comparator = draw(st.sampled_from(FITTING[fact.type]))
    texts = st.sampled_from(fact.values or ("telegram", "other"))
    values = OPERANDS.get(fact.type, texts)
    given = draw(st.lists(values, min_size=1, max_size=3) if comparator == "in" else values)
    return {"fact": fact.name, comparator: given}


TEMPORAL: st.SearchStrategy[dict[str, Any]] = st.sampled_from(
    [
        {"count": {"event": "task_checkpoint_sent", "within": "1m"}, "greater_than": 1},
        {"count": {"decision": "block"}, "equals": 0},
        {"since": {"event": "task_evidence_attached"}, "less_than": "30s"},
        {"since": {"event": "task_claimed_complete"}, "greater_than": "1s"},
        {"before": {"first": "task_evidence_attached", "then": "task_checkpoint_sent"}},
    ]
)
CONDITIONS = st.recursive(
    leaves() | TEMPORAL,
    lambda inner: (
        st.lists(inner, min_size=1, max_size=3).map(lambda parts: {"all": parts})
        | st.lists(inner, min_size=1, max_size=3).map(lambda parts: {"any": parts})
        | inner.map(lambda part: {"not": part})
    ),
    max_leaves=6,
)
STEPS = st.lists(
    st.sampled_from(
        [
            ("task_checkpoint_sent", {}),
            ("task_checkpoint_sent", {"operator_visible": False}),
            ("task_checkpoint_due", {}),
            ("task_evidence_attached", {"items": [evidence_item(1, "weak")]}),
            ("task_evidence_attached", {"items": [evidence_item(2, "strong")]}),
            ("task_claimed_complete", {}),
            ("task_status_changed", {"to_status": "blocked"}),
            ("watchdog_fired", {}),
        ]
    ),
    min_size=1,
    max_size=6,
)
LAWS = settings(
    max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@LAWS
@given(steps=STEPS, condition=CONDITIONS)
def test_the_parts_of_a_condition_add_up_to_what_the_evaluator_says(
    steps: Any, condition: Any, config_of: Any, pack_of: Any, rule_of: Any
) -> None:
    types = sorted({event_type for event_type, _ in steps})
    rule = rule_of(conditions=condition, triggers={"event_types": types})
    config = config_of({**pack_of(rule), "apiVersion": "lictor/v1"})
    stage = Stage(config)
    stage.say("task_started", checkpoint_interval_s=20)
    for number, (event_type, payload) in enumerate(steps, 1):
        event = usual_event(event_type, number * 15, number=number, **payload)
        position = EventPosition(number + 1, to_micros(moment(number * 15)), HASH)
        (look,) = explain(stage.state, event, position, config).looks
        fired = stage.play(event, number * 15).record.matched_rules
        assert look.answer is not None
        assert look.answer.holds == bool(fired)
        assert condition_text(look.rule.rule.conditions)


@LAWS
@given(steps=STEPS)
def test_every_event_of_a_stream_is_explained_as_it_was_decided(steps: Any, shipped: Any) -> None:
    stage = Stage(shipped)
    for number, (event_type, payload) in enumerate([("task_started", {}), *steps]):
        event = usual_event(event_type, number * 15, number=number, **payload)
        position = EventPosition(number + 1, to_micros(moment(number * 15)), HASH)
        told = explain(stage.state, event, position, shipped)
        outcome = stage.play(event, number * 15)
        assert told.outcome.decision == outcome.decision
        fired = {look.rule.rule.id for look in told.looks if look.fired}
        assert fired == {rule.rule_id for rule in outcome.record.matched_rules}
        assert len(told.looks) == len({look.rule.rule.id for look in told.looks})


def test_the_strongest_decision_is_said_to_win(config_of: Any, pack_of: Any, rule_of: Any) -> None:
    weak, strong = rule_of("example.weak", "rewrite"), rule_of("example.strong", "block")
    config = config_of(pack_of(weak, strong))
    position = EventPosition(1, to_micros(moment(0)), HASH)
    told = explain(None, usual_event("task_started"), position, config)
    assert told.why == "example.strong decides over example.weak: block comes before rewrite"
    assert told.outcome.decision.policy_id == "example.strong"


@pytest.mark.parametrize(
    ("severity", "why"),
    [
        ("low", "both block, and high is above low"),
        ("high", "both block, equally severe, and it comes first in the order of packs and rules"),
    ],
)
def test_between_equal_decisions_severity_and_then_order_are_said_to_win(
    config_of: Any, pack_of: Any, rule_of: Any, severity: str, why: str
) -> None:
    first = rule_of("example.first", output={"severity": "high"})
    second = rule_of("example.second", output={"severity": severity})
    position = EventPosition(1, to_micros(moment(0)), HASH)
    config = config_of(pack_of(first, second))
    told = explain(None, usual_event("task_started"), position, config)
    assert told.why == f"example.first decides over example.second: {why}"


def test_a_rule_behind_the_first_match_says_why_it_did_not_look(
    config_of: Any, pack_of: Any, rule_of: Any
) -> None:
    pack = pack_of(rule_of("example.first", "rewrite"), rule_of("example.second", "block"))
    pack["spec"]["evaluation_mode"] = "first_match"
    position = EventPosition(1, to_micros(moment(0)), HASH)
    told = explain(None, usual_event("task_started"), position, config_of(pack))
    second = told.looks[1]
    assert second.rule.rule.id == "example.second"
    assert second.not_looked == "an earlier rule of its first_match pack fired"
    assert not second.fired


def test_a_pack_that_does_not_govern_the_task_says_so(
    config_of: Any, pack_of: Any, rule_of: Any
) -> None:
    config = config_of(pack_of(rule_of(), applies_to={"channels": ["pager"]}))
    position = EventPosition(1, to_micros(moment(0)), HASH)
    told = explain(None, usual_event("task_started"), position, config)
    assert told.looks[0].not_looked == "its pack does not govern this task (metadata.applies_to)"
    assert told.why == "no rule fired, so the event is allowed"


def test_a_rule_that_only_records_is_told_apart(config_of: Any, pack_of: Any, rule_of: Any) -> None:
    shadow = rule_of("example.shadow", "escalate", mode="shadow")
    pack = {**pack_of(shadow, rule_of("example.rule", "rewrite")), "apiVersion": "lictor/v1"}
    position = EventPosition(1, to_micros(moment(0)), HASH)
    told = explain(None, usual_event("task_started"), position, config_of(pack))
    assert [(look.fired, look.fate) for look in told.looks] == [
        (True, "would fire, but is in shadow mode"),
        (True, "decides"),
    ]
    assert told.why == "example.rule is the only rule that fired"


def test_an_escalation_on_repetition_is_said_to_be_one(
    config_of: Any, pack_of: Any, rule_of: Any
) -> None:
    notice = {"required": True, "channel": "operator", "urgency": "low"}
    rule = rule_of(
        escalate_after=2,
        triggers={"event_types": ["task_checkpoint_sent"]},
        output={"operator_notice": notice},
    )
    config = config_of({**pack_of(rule), "apiVersion": "lictor/v1"})
    stage = Stage(config)
    stage.say("task_started")
    stage.say("task_checkpoint_sent", 10)
    event = usual_event("task_checkpoint_sent", 20)
    told = explain(stage.state, event, EventPosition(3, to_micros(moment(20)), HASH), config)
    assert told.outcome.decision.decision == "escalate"
    assert "has fired so often in this task that it escalates" in told.why
