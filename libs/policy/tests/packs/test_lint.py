"""Lint finds every error at once, and what can never happen; and it never cries wolf."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lictor_policy.conditions.compiled_condition import FITTING
from lictor_policy.conditions.facts import FACTS, FactType
from lictor_policy.conditions.satisfiability import can_hold, claims_on, facts_on
from lictor_policy.errors import PackError
from lictor_policy.events.content import claim_type_of
from lictor_policy.events.position import EventPosition
from lictor_policy.offline.stories import Stage, evidence_item, moment, usual_event
from lictor_policy.packs.lint import LintFinding, findings_in, lint_pack
from lictor_policy.packs.lint_directory import lint_packs
from lictor_policy.packs.pack import read_pack
from lictor_schema.core.time import to_micros
from lictor_schema.events.event_types import EVENT_TYPES
from lictor_schema.events.evidence import Quality
from lictor_schema.packs.pack import Condition

HASH = "sha256:" + "0" * 64
MISSED = "checkpoint.missed_in_a_row"


def lint(pack: Any) -> list[LintFinding]:
    return lint_pack(read_pack(json.dumps(pack, indent=1).encode(), "policy.yaml"))


def condition(given: Any) -> Condition:
    return Condition.model_validate_json(json.dumps(given), by_alias=True, by_name=False)


def test_every_error_of_a_rule_is_told_at_once_with_its_place(pack_of: Any, rule_of: Any) -> None:
    rule = rule_of(
        conditions={
            "all": [
                {"fact": "checkpoint.is_overdu", "equals": True},
                {"not": {"fact": "task.mode", "greater_than": 3}},
            ]
        },
        triggers={"derived_signals": ["checkpoint_overdu"]},
        output={"reason": "because {{event_typ}}"},
    )
    found = lint(pack_of(rule))
    assert [(each.level, each.field, each.suggestion) for each in found] == [
        ("error", "spec.rules.0.conditions.all.0.fact", "did you mean checkpoint.is_overdue?"),
        (
            "error",
            "spec.rules.0.conditions.all.1.not.greater_than",
            "use one of equals, not_equals, in, contains",
        ),
        ("error", "spec.rules.0.decision_output.reason", "did you mean event_type?"),
        (
            "error",
            "spec.rules.0.triggers.derived_signals.0",
            "did you mean checkpoint_overdue?",
        ),
    ]
    assert all(each.file == "policy.yaml" and each.line for each in found)
    assert {each.rule for each in found} == {"example.rule"}


def test_what_only_the_compiler_finds_is_told_too(pack_of: Any, rule_of: Any) -> None:
    (found,) = lint(pack_of(rule_of(operator_message_templates={})))
    assert (found.level, found.problem) == ("error", "block needs blocked")


def test_an_error_of_the_loader_becomes_a_finding_for_each_line() -> None:
    error = PackError("a/policy.yaml:3: metadata.id: is bad; do better\nb.yaml: is empty")
    one, two = findings_in(error)
    assert (one.file, one.line, one.field) == ("a/policy.yaml", 3, "metadata.id")
    assert (one.problem, one.suggestion) == ("is bad", "do better")
    assert (two.file, two.line, two.problem) == ("b.yaml", None, "is empty")


@pytest.mark.parametrize(
    "contradiction",
    [
        {"all": [{"fact": "task.mode", "equals": "silent"}, {"fact": "task.mode", "equals": "interactive"}]},
        {"all": [{"fact": "task.is_closed", "equals": True}, {"not": {"fact": "task.is_closed", "equals": True}}]},
        {"all": [{"fact": MISSED, "greater_than": 2}, {"fact": MISSED, "less_than": 3}]},
        {"fact": "checkpoint.missed_in_a_row", "less_than": 0},
        {"fact": "evidence.best_quality", "greater_than": "decisive"},
        {"all": [{"fact": "task.channel", "contains": "ops-1"}, {"not": {"fact": "task.channel", "contains": "ops"}}]},
        {"not": {"any": [{"fact": "task.mode", "equals": "silent"}, {"fact": "task.mode", "equals": "interactive"}]}},
        # No started task claims anything, or moves to a status.
        {"fact": "claim.type", "equals": "completion"},
        {"fact": "status.target", "equals": "failed"},
    ],
)  # fmt: skip
def test_a_rule_that_can_never_fire_is_told(contradiction: Any, pack_of: Any, rule_of: Any) -> None:
    (found,) = lint(pack_of(rule_of(conditions=contradiction)))
    assert (found.level, found.check) == ("warning", "never-fires")


@pytest.mark.parametrize(
    "possible",
    [
        {"all": [{"fact": MISSED, "greater_than": 2}, {"fact": MISSED, "less_than": 4}]},
        {"all": [{"fact": "task.channel", "contains": "ops"}, {"fact": "task.channel", "not_equals": "ops"}]},
        {"any": [{"fact": "task.channel", "equals": "a"}, {"fact": "task.mode", "equals": "silent"}]},
        {"not": {"fact": "task.channel", "in": ["a", "b"]}},
    ],
)  # fmt: skip
def test_a_rule_that_can_fire_is_left_alone(possible: Any, pack_of: Any, rule_of: Any) -> None:
    assert lint(pack_of(rule_of(conditions=possible))) == []


def test_a_trigger_that_can_not_meet_the_conditions_is_told(pack_of: Any, rule_of: Any) -> None:
    rule = rule_of(
        triggers={"event_types": ["task_started", "task_checkpoint_sent"]},
        conditions={"fact": "claim.type", "equals": "progress"},
    )
    (found,) = lint(pack_of(rule))
    assert found.problem == "the rule can never fire on task_started"


def test_a_claim_type_that_the_event_never_has_is_told(pack_of: Any, rule_of: Any) -> None:
    triggers = {"event_types": ["task_claimed_complete"], "claim_types": ["progress"]}
    (found,) = lint(
        pack_of(rule_of(triggers=triggers, conditions={"fact": "claim.type", "not_equals": ""}))
    )
    assert found.check == "never-fires"
    (found,) = lint(
        pack_of(rule_of(triggers={"event_types": ["task_started"], "claim_types": ["progress"]}))
    )
    assert (found.check, found.field) == ("no-effect", "spec.rules.0.triggers.claim_types")


def test_a_rule_behind_one_that_always_comes_first_is_told(pack_of: Any, rule_of: Any) -> None:
    wide = rule_of(
        "example.wide", conditions={"fact": "checkpoint.missed_in_a_row", "less_than": 9}
    )
    narrow = rule_of(
        "example.narrow", conditions={"fact": "checkpoint.missed_in_a_row", "less_than": 5}
    )
    first_match = pack_of(wide, narrow)
    first_match["spec"]["evaluation_mode"] = "first_match"
    (found,) = lint(first_match)
    assert (found.check, found.rule) == ("shadowed", "example.narrow")
    assert "example.wide comes first" in found.problem
    assert lint(pack_of(wide, narrow)) == []
    first_match["spec"]["rules"].reverse()
    assert lint(first_match) == []


def test_a_text_that_leaves_out_what_it_must_mention_is_told(pack_of: Any, rule_of: Any) -> None:
    notice = {
        "required": True,
        "channel": "operator",
        "urgency": "high",
        "must_reference": ["task_started", "silence_timeout"],
    }
    rule = rule_of(output={"operator_notice": notice})
    rule["operator_message_templates"]["blocked"] = "stopped at {{event_type}}"
    (found,) = lint(pack_of(rule))
    assert (found.check, found.field) == (
        "must-reference",
        "spec.rules.0.decision_output.operator_notice.must_reference.1",
    )
    rule["operator_message_templates"]["blocked"] += " after a silence timeout"
    assert lint(pack_of(rule)) == []


OPERANDS: dict[FactType, st.SearchStrategy[Any]] = {
    FactType.BOOL: st.booleans(),
    FactType.INT: st.integers(-1, 3),
    FactType.QUALITY: st.sampled_from([quality.value for quality in Quality]),
}


@st.composite
def leaves(draw: st.DrawFn) -> dict[str, Any]:
    # Few facts, so that they meet often.
    name = draw(
        st.sampled_from(
            [
                "task.mode",
                "task.channel",
                "task.is_closed",
                "evidence.best_quality",
                "evidence.new_items_since_last_checkpoint",
                "claim.type",
            ]
        )
    )
    fact = FACTS[name]
    comparator = draw(st.sampled_from(FITTING[fact.type]))
    values = OPERANDS.get(fact.type, st.sampled_from(fact.values or ("telegram", "tele", "x")))
    given = draw(st.lists(values, min_size=1, max_size=3) if comparator == "in" else values)
    return {"fact": name, comparator: given}


CONDITIONS = st.recursive(
    leaves(),
    lambda inner: (
        st.lists(inner, min_size=1, max_size=3).map(lambda parts: {"all": parts})
        | st.lists(inner, min_size=1, max_size=3).map(lambda parts: {"any": parts})
        | inner.map(lambda part: {"not": part})
    ),
    max_leaves=8,
)
PLAYS = st.sampled_from(
    [
        ("task_started", {}),
        ("task_started", {"mode": "silent", "channel": "x"}),
        ("task_evidence_attached", {"items": [evidence_item(1, "weak"), evidence_item(2)]}),
        ("task_claimed_complete", {}),
        ("task_checkpoint_sent", {"claim": {"type": "progress", "text": "half"}}),
    ]
)


@settings(max_examples=200)
@given(given_condition=CONDITIONS, play=PLAYS)
def test_what_is_called_impossible_never_happens(
    given_condition: Any, play: Any, config_of: Any, pack_of: Any, rule_of: Any
) -> None:
    event_type, payload = play
    rule = rule_of(conditions=given_condition, triggers={"event_types": [event_type]})
    stage = Stage(config_of(pack_of(rule)))
    if event_type != "task_started":
        stage.say("task_started")
    fired = stage.say(event_type, 10, **payload).record.matched_rules
    claims = claims_on(event_type)
    possible, contrary = (
        any(
            can_hold([(condition(given_condition), so)], facts_on(event_type, claim))
            for claim in claims
        )
        for so in (True, False)
    )
    assert possible or not fired
    assert contrary or fired
    # One of the two always is.
    assert possible or contrary


@pytest.mark.parametrize("event_type", EVENT_TYPES)
def test_what_events_of_a_type_can_make_of_facts_is_true(event_type: Any, shipped: Any) -> None:
    """The table that lint goes by, against the facts themselves."""
    stage = Stage(shipped)
    payloads: list[dict[str, Any]] = [{}]
    if event_type == "task_evidence_attached":
        payloads = [{"items": [evidence_item(1)]}]
    if event_type in ("task_checkpoint_sent", "task_status_changed", "operator_review_requested"):
        payloads += [
            {"claim": {"type": claim, "text": "x", "next_step": "y"}}
            for claim in ("progress", "completion", "verified_completion")
        ]
    if event_type != "task_started":
        stage.say("task_started")
    for number, payload in enumerate(payloads):
        event = usual_event(event_type, 10 + number, number=number, **payload)
        outcome = stage.play(event, 10 + number)
        position = EventPosition(1, to_micros(moment(10)), HASH)
        claim = claim_type_of(event)
        assert claim in claims_on(event_type)
        for name, values in facts_on(event_type, claim).items():
            assert FACTS[name].compute(outcome.state, event, position) in values, name


@pytest.fixture
def directory(tmp_path: Path, pack_of: Any, rule_of: Any) -> Path:
    """A pack that takes a text from a shared file, and examples for its rule."""
    rule = rule_of(operator_message_templates={"blocked": "{{> stop}}"})
    pack = {**pack_of(rule), "apiVersion": "lictor/v1"}
    pack["spec"]["template_files"] = ["shared/texts.yaml"]
    texts = {"stop": "Stopped.", "go": "Going."}
    shared = {"apiVersion": "lictor/v1", "kind": "TemplateSet", "templates": texts}
    tests = {
        "kind": "PolicyPackTests",
        "pack": "example",
        "tests": [
            {"title": "a", "rule": "example.rule", "fires": fires, "steps": [step]}
            for fires, step in (
                (True, {"at": 0, "event": "task_started"}),
                (False, {"at": 0, "event": "report_anchor_missing"}),
            )
        ],
    }
    for name, content in (
        ("example/policy.yaml", pack),
        ("example/tests.yaml", tests),
        ("shared/texts.yaml", shared),
    ):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(content, indent=1))
    return tmp_path


def test_a_shared_text_that_nobody_uses_is_told(directory: Path) -> None:
    (found,) = lint_packs(directory)
    assert (found.check, found.field, found.line) == ("unused", "templates.go", 6)
    assert found.suggestion == "take it in with {{> go}}, or remove it"


def test_a_profile_that_can_not_be_applied_is_an_error(directory: Path) -> None:
    profile = directory / "profiles/weak.yaml"
    profile.parent.mkdir()
    profile.write_text(
        "apiVersion: lictor/v1\nkind: PolicyOverlay\n"
        "metadata: {id: weak, title: Weak, summary: Less, owner: me}\n"
        "spec: {rules: [{id: example.rule, enabled: false}]}\n"
    )
    errors = [found for found in lint_packs(directory) if found.level == "error"]
    assert [(each.file, each.line) for each in errors] == [(str(profile), 4)]
    assert "weakens rule example.rule" in errors[0].problem
    # One pack alone is judged without the profiles of the directory.
    assert all(found.level == "warning" for found in lint_packs(directory, ["example"]))
