"""What loosens an envelope or a pack is known field by field; what nobody can show to tighten counts as loosening."""

import json
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import HealthCheck, given, settings
from strategies import instances

from lictor_contracts.envelope.bounds import LIMITS, Envelope, Signals
from lictor_contracts.envelope.ladder import LadderInput, choose
from lictor_contracts.patch.envelope_loosening import (
    BOUNDS,
    JUDGED_WHOLE,
    Direction,
    changes,
    loosens,
    wire_name,
)
from lictor_contracts.patch.operations import changed
from lictor_contracts.patch.pack_loosening import pack_changes, pack_loosens
from lictor_contracts.patch.remedies import suggested_operations
from lictor_policy.packs.strict_yaml import read_yaml
from lictor_schema.contracts.drift import DriftType
from lictor_schema.contracts.envelope import DTE, BlastRadius, DegradeStep, Threshold
from lictor_schema.core.base_model import Model
from lictor_schema.packs.pack import PolicyPack

PACKS = Path(__file__).parents[4] / "policy-packs"
DOCUMENT: dict[str, Any] = {
    "decisionType": "refund",
    "version": "1.2.0",
    "deadlineMs": 100,
    "stageBudgetsMs": {"context": 10, "plan": 20, "act": 30, "verify": 40},
    "freshness": {"defaultTtlMs": 500, "featureTtls": {"price": 250, "slow": 900}},
    "limits": {"maxHops": 3, "maxFanout": 4, "maxToolCalls": 20, "maxChainDepth": 5},
    "degradeLadder": [
        {"step": "bypass", "approver": "lead"},
        {"step": "cache_bundle", "maxExtraMs": 20},
        {"step": "rules_only"},
        {"step": "hitl"},
        {"step": "abstain"},
    ],
    "verification": {
        "requiredAboveBlastRadius": "small",
        "methods": ["read_after_write", "invariant_check"],
        "verifyTimeoutMs": 40,
    },
    "safeAction": {
        "requireIdempotency": True,
        "requireRollbackAbove": "small",
        "blastRadiusMax": "medium",
        "allowedActionTypes": ["refund", "mail"],
    },
}
LADDER = DOCUMENT["degradeLadder"]

many = settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])


def dte(**sections: Any) -> DTE:
    """The envelope above with some sections changed; an object is merged, anything else replaces."""
    document = json.loads(json.dumps(DOCUMENT))
    for name, value in sections.items():
        merged = isinstance(value, dict) and isinstance(document.get(name), dict)
        document[name] = {**document[name], **value} if merged else value
    return DTE.from_json(json.dumps(document))


def leaves(
    model: type[Model], at: tuple[str, ...] = ()
) -> Iterator[tuple[str, type[Model] | None]]:
    """Every field, as far down as it is judged apart, with the model inside it."""
    for name, field in model.model_fields.items():
        path = ".".join((*at, wire_name(model, name)))
        inner = next(iter(_models_in(field.annotation)), None)
        if path in JUDGED_WHOLE or inner is None:
            yield path, inner
        else:
            yield from leaves(inner, (*at, wire_name(model, name)))


def _models_in(annotation: Any) -> Iterator[type[Model]]:
    if isinstance(annotation, type) and issubclass(annotation, Model):
        yield annotation
    for argument in get_args(annotation):
        yield from _models_in(argument)


def test_every_field_of_the_envelope_has_its_direction_in_the_table() -> None:
    found = dict(leaves(DTE))
    assert found.keys() == BOUNDS.keys()
    for field, known in JUDGED_WHOLE.items():
        inner = found[field]
        assert inner is not None
        assert set(inner.model_fields) == known


@pytest.mark.parametrize(
    "changes",
    [
        {"deadlineMs": 101},
        {"stageBudgetsMs": {"act": 29, "verify": 41}},
        {"stageBudgetsMs": {"act": 29}},
        {"freshness": {"defaultTtlMs": 501}},
        {"freshness": {"featureTtls": {"price": 251, "slow": 900}}},
        {"freshness": {"featureTtls": {"slow": 900}}},
        {"freshness": {"featureTtls": {"price": 250}}},
        {"freshness": {"featureTtls": {"price": 250, "slow": 900, "new": 501}}},
        {"freshness": {"allowStaleIfSafe": True}},
        {"limits": {"maxHops": 4}},
        {"limits": {"maxFanout": 5}},
        {"limits": {"maxToolCalls": 21}},
        {"limits": {"maxChainDepth": 6}},
        {"verification": {"requiredAboveBlastRadius": "medium"}},
        {"verification": {"methods": ["read_after_write"]}},
        {"verification": {"methods": ["read_after_write", "invariant_check", "shrug"]}},
        {"verification": {"methods": ["invariant_check", "read_after_write"]}},
        {"verification": {"verifyTimeoutMs": 41}},
        {"verification": {"verifyTimeoutMs": 0}},
        {"safeAction": {"requireIdempotency": False}},
        {"safeAction": {"requireRollbackAbove": "medium"}},
        {"safeAction": {"blastRadiusMax": "large"}},
        {"safeAction": {"allowedActionTypes": ["refund", "mail", "delete"]}},
        {"safeAction": {"allowedActionTypes": None}},
        {"decisionType": "payout"},
        {"degradeLadder": [*LADDER, {"step": "small_model"}]},
        {"degradeLadder": [*LADDER[:3], LADDER[4]]},
        {"degradeLadder": [*LADDER[:2], *LADDER[3:]]},
        {"degradeLadder": [*LADDER[:3], LADDER[4], LADDER[3]]},
        {"degradeLadder": [{"step": "bypass", "approver": "me"}, *LADDER[1:]]},
        {"degradeLadder": [LADDER[0], {"step": "cache_bundle", "maxExtraMs": 21}, *LADDER[2:]]},
        {"degradeLadder": [LADDER[0], {"step": "cache_bundle", "maxExtraMs": 19}, *LADDER[2:]]},
        {"degradeLadder": [LADDER[0], {"step": "cache_bundle"}, *LADDER[2:]]},
        {"degradeLadder": [*LADDER[:2], {"step": "rules_only", "maxExtraMs": 1}, *LADDER[3:]]},
    ],
)
def test_this_loosens(changes: dict[str, Any]) -> None:
    assert loosens(dte(), dte(**changes))


@pytest.mark.parametrize(
    "changes",
    [
        {"version": "2", "description": "for humans"},
        {"policyPack": {"policyPackVersion": "7"}},
        {"freshness": {"defaultTtlMs": 250}},
        {"freshness": {"featureTtls": {"price": 249, "slow": 500, "new": 1}}},
        {"limits": {"maxHops": 0, "maxFanout": 0, "maxToolCalls": 0, "maxChainDepth": 0}},
        {"verification": {"requiredAboveBlastRadius": "none", "verifyTimeoutMs": 39}},
        {"safeAction": {"requireRollbackAbove": "none", "blastRadiusMax": "tiny"}},
        {"safeAction": {"allowedActionTypes": ["mail"]}},
        {"degradeLadder": LADDER[1:]},
        {"degradeLadder": LADDER[2:]},
        {"degradeLadder": LADDER[4:]},
    ],
)
def test_this_does_not(changes: dict[str, Any]) -> None:
    assert loosens(dte(), dte(**changes)) == ()


@pytest.mark.parametrize(
    ("changed_sections", "expected"),
    [
        ({"limits": {"maxToolCalls": 1}}, ["limits.maxToolCalls: tighter, lowered, 20 -> 1"]),
        ({"deadlineMs": 600_000}, ["deadlineMs: looser, raised, 100 -> 600000"]),
        (
            {"safeAction": {"blastRadiusMax": "large"}},
            ["safeAction.blastRadiusMax: looser, raised, medium -> large"],
        ),
        (
            {"freshness": {"featureTtls": {"price": 100, "slow": 1000, "new": 500}}},
            [
                "freshness.featureTtls.price: tighter, lowered, 250 -> 100",
                "freshness.featureTtls.slow: looser, raised, 900 -> 1000",
                "freshness.featureTtls.new: tighter, must be captured now",
            ],
        ),
        (
            {"stageBudgetsMs": {"act": 5}},
            [
                "stageBudgetsMs.act: not provably tighter, lowered, 30 -> 5: the stage also begins"
                " when less time is left"
            ],
        ),
        ({"degradeLadder": LADDER[1:]}, ["degradeLadder.bypass: tighter, the rung is gone"]),
        (
            {"safeAction": {"allowedActionTypes": ["mail"]}},
            ["safeAction.allowedActionTypes: tighter, no longer allows refund"],
        ),
        ({"version": "2"}, ["version: binds nothing, 1.2.0 -> 2"]),
    ],
)
def test_the_answer_names_each_field_with_its_direction(
    changed_sections: dict[str, Any], expected: list[str]
) -> None:
    assert [str(each) for each in changes(dte(), dte(**changed_sections))] == expected


class Wider(DTE):
    """An envelope as a later version could have it: with a field that nobody has judged yet."""

    patience: int = 0


def test_a_field_that_is_not_in_the_table_counts_as_loosened() -> None:
    before, after = (Wider(**dict(dte()), patience=number) for number in (2, 1))
    assert [(each.field, each.direction) for each in changes(before, after)] == [
        ("patience", Direction.UNPROVEN)
    ]
    assert "patience" not in BOUNDS
    assert Direction.UNPROVEN.loosens


@many
@given(instances(DTE), instances(DTE))
def test_every_field_that_differs_is_named(one: DTE, other: DTE) -> None:
    named = {each.field.partition(".")[0] for each in changes(one, other)}
    differing = {
        wire_name(DTE, name)
        for name in DTE.model_fields
        if getattr(one, name) != getattr(other, name)
    }
    assert named == differing


def test_a_feature_that_leaves_the_list_does_not_have_to_be_captured_any_more() -> None:
    before, after = dte(), dte(freshness={"featureTtls": {"price": 250}})
    used = Signals(0, 0, {}, {"price": 0}, dict.fromkeys(LIMITS, 0))
    assert Envelope.of(before).violations(used)
    assert not Envelope.of(after).violations(used)
    assert loosens(before, after) == (
        "freshness.featureTtls.slow: looser, no longer has to be captured; 900 -> 500",
    )


def test_a_rung_that_promises_to_be_quicker_is_taken_where_only_abstaining_was_left() -> None:
    slow, quick = (
        dte(degradeLadder=[{"step": "cache_bundle", "maxExtraMs": ms}, {"step": "abstain"}])
        for ms in (20, 5)
    )
    pressed = LadderInput(Envelope.of(slow).before_stage("act", elapsed_ms=90), 10)
    assert choose(Envelope.of(slow), pressed).step is DegradeStep.ABSTAIN
    assert choose(Envelope.of(quick), pressed).step is DegradeStep.CACHE_BUNDLE
    assert loosens(slow, quick)


def test_a_stage_with_a_smaller_budget_begins_when_less_remains() -> None:
    before, after = dte(), dte(stageBudgetsMs={"act": 5})
    assert Envelope.of(before).before_stage("act", elapsed_ms=90)
    assert not Envelope.of(after).before_stage("act", elapsed_ms=90)
    assert loosens(before, after)


def test_a_timeout_of_zero_can_not_be_compared() -> None:
    none, some = dte(verification={"verifyTimeoutMs": 0}), dte()
    assert loosens(none, some)
    assert loosens(some, none)


@many
@given(instances(DTE), instances(DTE))
def test_there_and_back_never_both_tighten(one: DTE, other: DTE) -> None:
    if loosens(one, other) == loosens(other, one) == ():
        harmless = {"version", "description", "policy_pack"}
        first, second = one.model_dump(exclude=harmless), other.model_dump(exclude=harmless)
        for each in (first, second):
            # An entry that repeats the default, and the order of an allowlist, say nothing.
            del each["freshness"]["feature_ttls"]
            allowed = each["safe_action"]["allowed_action_types"]
            each["safe_action"]["allowed_action_types"] = allowed and sorted(set(allowed))
        assert first == second


@many
@given(instances(DTE))
def test_no_change_loosens_nothing(envelope: DTE) -> None:
    assert loosens(envelope, envelope) == ()


@pytest.mark.parametrize("drift_type", DriftType)
@many
@given(envelope=instances(DTE))
def test_what_drift_suggests_by_itself_never_loosens(drift_type: DriftType, envelope: DTE) -> None:
    operations = suggested_operations(drift_type, envelope)
    document = changed(envelope.model_dump(mode="json", by_alias=True), operations)
    after = DTE.from_json(json.dumps(document))
    assert loosens(envelope, after) == ()
    assert (after == envelope) == (operations == ())


def test_suggestions_tighten_what_drifted() -> None:
    stale = dte(freshness={"allowStaleIfSafe": True})
    (operation,) = suggested_operations(DriftType.FRESHNESS, stale)
    assert (operation.path, operation.new) == ("/freshness/allowStaleIfSafe", False)
    bypass = suggested_operations(DriftType.BYPASS, dte())
    assert [each.path for each in bypass] == ["/degradeLadder/0", "/safeAction/blastRadiusMax"]
    (operation,) = suggested_operations(DriftType.VERIFY, dte())
    assert operation.new == Threshold.TINY
    assert suggested_operations(DriftType.TIME, dte()) == ()


def pack(*, mode: str = "enforce", evaluation: str = "any_rule_match", **rule: Any) -> PolicyPack:
    """A shipped pack as `lictor/v1`, with its mode and its first rule changed."""
    document = read_yaml((PACKS / "no-silence" / "policy.yaml").read_bytes()).data
    document["apiVersion"] = "lictor/v1"
    document["metadata"]["mode"] = mode
    document["spec"]["evaluation_mode"] = evaluation
    first = document["spec"]["rules"][0]
    first["decision_output"] |= rule.pop("output", {})
    first |= rule
    if rule.get("id") == "":
        del document["spec"]["rules"][0]
    return PolicyPack.from_json(json.dumps(document))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (pack(), pack(mode="shadow")),
        (pack(), pack(mode="enforce", output={"decision": "allow"})),
        (
            pack(output={"decision": "require_review"}),
            pack(output={"decision": "force_checkpoint"}),
        ),
        (pack(output={"decision": "escalate"}), pack(output={"decision": "block"})),
        (pack(), pack(output={"severity": "low"})),
        (pack(), pack(output={"severity": None})),
        (pack(), pack(conditions={"fact": "task.mode", "equals": "silent"})),
        (pack(), pack(id="")),
        (pack(), pack(evaluation="first_match")),
        (pack(mode="shadow"), pack()),
        (pack(), pack(escalate_after=3)),
        (pack(), pack(evidence_requirements={})),
    ],
)
def test_this_loosens_a_pack(before: PolicyPack, after: PolicyPack) -> None:
    assert pack_loosens(before, after)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (pack(), pack()),
        (pack(), pack(title="Other words", notes=["more"])),
        (pack(output={"decision": "require_review"}), pack(output={"decision": "block"})),
        (pack(output={"decision": "block"}), pack(output={"decision": "escalate"})),
        (pack(output={"severity": "low"}), pack(output={"severity": "critical"})),
    ],
)
def test_this_does_not_loosen_a_pack(before: PolicyPack, after: PolicyPack) -> None:
    assert pack_loosens(before, after) == ()


def condition(*more: dict[str, Any]) -> dict[str, Any]:
    return {"all": [{"fact": "task.mode", "equals": "interactive"}, *more]}


NARROW = condition({"fact": "task.has_report_anchor", "equals": False})


@pytest.mark.parametrize(
    ("output", "before", "after", "direction"),
    [
        ({"decision": "block", "suggested_status": None}, NARROW, condition(), Direction.TIGHTER),
        ({"decision": "block", "suggested_status": None}, condition(), NARROW, Direction.LOOSER),
        ({"decision": "rewrite"}, NARROW, condition(), Direction.UNPROVEN),
        (
            {"decision": "block", "suggested_status": "blocked"},
            NARROW,
            condition(),
            Direction.UNPROVEN,
        ),
    ],
)
def test_a_rule_that_only_denies_is_tighter_when_it_provably_fires_on_more(
    output: dict[str, Any], before: dict[str, Any], after: dict[str, Any], direction: Direction
) -> None:
    (found,) = pack_changes(
        pack(conditions=before, output=output), pack(conditions=after, output=output)
    )
    assert found.field == "spec.rules.no-silence.missed-checkpoint.conditions"
    assert found.direction is direction


def test_conditions_that_ask_for_other_requirements_are_not_compared_by_their_name() -> None:
    """`evidence.requirements_met` is about the requirements of its own rule."""

    def asking(quality: str, *more: dict[str, Any]) -> PolicyPack:
        unmet = {"fact": "evidence.requirements_met", "equals": False}
        return pack(
            conditions={"all": [unmet, *more]},
            evidence_requirements={"completion": {"min_quality": quality}},
            output={"decision": "block", "suggested_status": None},
        )

    before = asking("strong", {"fact": "task.mode", "equals": "interactive"})
    found = {each.field.rpartition(".")[2]: each for each in pack_changes(before, asking("weak"))}
    assert found["conditions"].direction is Direction.UNPROVEN
    assert found["evidence_requirements"].direction is Direction.UNPROVEN


def test_a_new_rule_that_only_denies_tightens_and_its_removal_loosens() -> None:
    with_it = pack(output={"decision": "block", "suggested_status": None})
    without = pack(id="")
    (added,), (removed,) = pack_changes(without, with_it), pack_changes(with_it, without)
    assert (added.direction, removed.direction) == (Direction.TIGHTER, Direction.LOOSER)


def test_a_blocking_rule_that_comes_into_force_tightens_only_where_it_hides_no_other() -> None:
    block = {"decision": "block"}
    for evaluation, expected in (("any_rule_match", 0), ("first_match", 1)):
        before = pack(evaluation=evaluation, output=block)
        rules = (before.spec.rules[0].model_copy(update={"mode": "shadow"}), *before.spec.rules[1:])
        shadowed = before.model_copy(
            update={"spec": before.spec.model_copy(update={"rules": rules})}
        )
        assert len(pack_loosens(shadowed, before)) == expected
        assert pack_loosens(before, shadowed)


def test_tiers_are_ordered_as_the_model_orders_them() -> None:
    tiers = list(BlastRadius)
    for lower, higher in pairwise(tiers):
        assert loosens(
            dte(safeAction={"blastRadiusMax": lower.value}),
            dte(safeAction={"blastRadiusMax": higher.value}),
        )
