"""An envelope held against what was measured: every bound, its boundary, and every signal that is none."""

from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from libs.contracts.tests.strategies_contracts import (
    ENVELOPES,
    MS,
    NOW,
    TIERS,
    UNUSABLE,
    any_signals,
    dte,
    envelope,
    signals,
    within,
)
from lictor_contracts.envelope.bounds import (
    BoundSeverity,
    Envelope,
    EnvelopeBound,
    Signals,
    is_count,
    is_measure,
)
from lictor_schema.contracts.envelope import BlastRadius
from lictor_schema.core.canonical_json import content_hash


def found(of: Envelope, **changes: Any) -> list[tuple[str, str]]:
    return [(each.field, each.severity.value) for each in of.violations(signals(**changes))]


def test_signals_within_every_bound_are_clean() -> None:
    assert envelope().violations(signals()) == ()


def test_the_deadline_itself_is_in_time_and_a_millisecond_more_is_one_hard_violation() -> None:
    """Contract scenario 1: the deadline itself is in time."""
    assert found(envelope(), elapsed_ms=120) == []
    (late,) = envelope().violations(signals(elapsed_ms=121))
    assert (late.gate, late.field, late.limit, late.actual) == (
        EnvelopeBound.DEADLINE,
        "deadlineMs",
        120,
        121,
    )
    assert late.is_hard
    assert late.message == "121 ms have passed and the deadline is 120 ms; abstain"


def test_a_stage_over_its_budget_is_soft_and_at_it_is_clean() -> None:
    assert found(envelope(), stage_ms={"plan": 40}) == []
    assert found(envelope(), stage_ms={"plan": 40.5}) == [("stageBudgetsMs.plan", "soft")]


def test_each_limit_is_hard_and_at_it_is_clean() -> None:
    most = {"hops": 3, "fanout": 4, "tool_calls": 10, "chain_depth": 5}
    assert found(envelope(), counts=most) == []
    for name, field in (
        ("hops", "limits.maxHops"),
        ("fanout", "limits.maxFanout"),
        ("tool_calls", "limits.maxToolCalls"),
        ("chain_depth", "limits.maxChainDepth"),
    ):
        over = {**most, name: most[name] + 1}
        assert found(envelope(), counts=over) == [(field, "hard")]


def test_all_four_gates_report_everything_in_their_order() -> None:
    """Contract scenario 2: all four gates report, in their order."""
    late = signals(
        elapsed_ms=900,
        stage_ms={"verify": 11, "act": 31, "plan": 41, "context": 41},
        captured_at_us={"profile": NOW - 501 * MS, "priceFeed": NOW - 251 * MS},
        counts={"chain_depth": 6, "tool_calls": 11, "fanout": 5, "hops": 4},
    )
    assert [each.field for each in envelope().violations(late)] == [
        "deadlineMs",
        "stageBudgetsMs.context",
        "stageBudgetsMs.plan",
        "stageBudgetsMs.act",
        "stageBudgetsMs.verify",
        "freshness.featureTtls.profile",
        "freshness.featureTtls.priceFeed",
        "limits.maxHops",
        "limits.maxFanout",
        "limits.maxToolCalls",
        "limits.maxChainDepth",
    ]


def test_a_ttl_of_its_own_overrides_the_default_also_under_a_camel_case_name() -> None:
    """Contract scenarios 3 and 6: a feature's own TTL, and the default; camelCase feature names keep their TTL."""
    age = {"priceFeed": NOW - 300 * MS, "profile": NOW - 300 * MS}
    (stale,) = envelope().violations(signals(captured_at_us=age))
    assert (stale.field, stale.limit, stale.actual) == (
        "freshness.featureTtls.priceFeed",
        250,
        300,
    )


def test_an_unlisted_feature_has_the_default_ttl_which_comes_from_the_envelope() -> None:
    """Contract scenarios 3 and 18: a feature's own TTL, and the default; the TTL comes from the envelope."""
    ages = {"priceFeed": NOW, "profile": NOW - 600 * MS}
    assert found(envelope(), captured_at_us=ages) == [("freshness.featureTtls.profile", "hard")]
    longer = envelope(freshness={"defaultTtlMs": 600})
    assert found(longer, captured_at_us=ages) == []


def test_a_feature_is_stale_a_microsecond_after_its_ttl_and_told_as_older_than_it() -> None:
    assert found(envelope(), captured_at_us={"priceFeed": NOW - 250 * MS}) == []
    (stale,) = envelope().violations(signals(captured_at_us={"priceFeed": NOW - 250 * MS - 1}))
    assert stale.actual == 251


@pytest.mark.parametrize(
    ("allowed", "tier", "severity"),
    [
        (True, BlastRadius.TINY, BoundSeverity.SOFT),
        (True, BlastRadius.SMALL, BoundSeverity.SOFT),
        (True, BlastRadius.MEDIUM, BoundSeverity.HARD),
        (True, BlastRadius.LARGE, BoundSeverity.HARD),
        (True, None, BoundSeverity.HARD),
        (True, "tiny", BoundSeverity.HARD),
        (False, BlastRadius.TINY, BoundSeverity.HARD),
    ],
)
def test_stale_context_is_soft_only_where_allowed_and_for_a_known_tier_that_is_safe(
    allowed: bool, tier: Any, severity: BoundSeverity
) -> None:
    """Contract scenarios 4 and 5: stale context that is tolerated is soft; but only up to the safe tier."""
    of = envelope(freshness={"defaultTtlMs": 1, "allowStaleIfSafe": allowed})
    old = signals(captured_at_us={"profile": NOW - 2 * MS})
    assert [each.severity for each in of.violations(old, tier=tier)] == [severity]


def test_no_tier_is_safe_where_everything_has_to_be_verified() -> None:
    of = envelope(
        freshness={"defaultTtlMs": 1, "allowStaleIfSafe": True},
        verification={"requiredAboveBlastRadius": "none"},
    )
    old = signals(captured_at_us={"profile": NOW - 2 * MS})
    assert [each.is_hard for each in of.violations(old, tier=BlastRadius.TINY)] == [True]


def test_a_feature_with_a_ttl_of_its_own_that_was_not_captured_is_hard() -> None:
    """Contract scenario 7: a missing signal is hard."""
    (missing,) = envelope().violations(signals(captured_at_us={"profile": NOW}))
    assert (missing.field, missing.actual, missing.is_hard) == (
        "freshness.featureTtls.priceFeed",
        None,
        True,
    )
    assert missing.message == "priceFeed was not captured; capture it before it is decided"


@pytest.mark.parametrize("value", UNUSABLE)
def test_a_time_that_is_no_measure_is_hard(value: Any) -> None:
    """Contract scenario 8: negative, NaN, future: hard."""
    assert found(envelope(), elapsed_ms=value) == [("deadlineMs", "hard")]
    assert found(envelope(), stage_ms={"plan": value}) == [("stageBudgetsMs.plan", "hard")]
    assert found(envelope(), now_us=value) == [("freshness", "hard")]


@pytest.mark.parametrize("value", [*UNUSABLE, 1.0, 1.5])
def test_a_count_or_a_capture_time_that_is_no_whole_number_is_hard(value: Any) -> None:
    """Contract scenario 8: negative, NaN, future: hard."""
    counts = {"hops": value, "fanout": 0, "tool_calls": 0, "chain_depth": 0}
    assert found(envelope(), counts=counts) == [("limits.maxHops", "hard")]
    field = "freshness.featureTtls.priceFeed"
    assert found(envelope(), captured_at_us={"priceFeed": value}) == [(field, "hard")]


def test_each_count_that_is_missing_is_hard() -> None:
    """Contract scenario 7: a missing signal is hard."""
    assert found(envelope(), counts={"fanout": 1}) == [
        ("limits.maxHops", "hard"),
        ("limits.maxToolCalls", "hard"),
        ("limits.maxChainDepth", "hard"),
    ]


@pytest.mark.parametrize("value", [None, [], "plan", 7])
def test_signals_that_are_not_there_at_all_are_hard(value: Any) -> None:
    """Contract scenario 7: a missing signal is hard."""
    assert found(envelope(), stage_ms=value) == [("stageBudgetsMs", "hard")]
    assert found(envelope(), captured_at_us=value) == [("freshness", "hard")]
    assert found(envelope(), counts=value) == [("limits", "hard")]


def test_a_capture_from_the_future_is_hard_by_a_single_microsecond_and_even_if_stale_is_allowed() -> (
    None
):
    """Contract scenario 8: negative, NaN, future: hard."""
    of = envelope(freshness={"defaultTtlMs": 500, "allowStaleIfSafe": True})
    early = signals(captured_at_us={"profile": NOW + 1})
    (future,) = of.violations(early, tier=BlastRadius.TINY)
    assert future.is_hard
    assert future.actual == -0.001
    assert future.message.startswith("profile was captured 1 us after this moment")


def test_names_that_nobody_knows_are_hard() -> None:
    counts = {"hops": 0, "fanout": 0, "tool_calls": 0, "chain_depth": 0, "toolCalls": 99}
    assert found(envelope(), counts=counts) == [("limits", "hard")]
    (unknown,) = envelope().violations(signals(stage_ms={"reflect": 1}))
    assert unknown.message == "'reflect' is no stage; known are context, plan, act, verify"
    assert unknown.is_hard


def test_any_mapping_will_do() -> None:
    clean = signals()
    assert clean.stage_ms is not None
    assert clean.counts is not None
    frozen = signals(
        stage_ms=MappingProxyType(dict(clean.stage_ms)),
        counts=MappingProxyType(dict(clean.counts)),
    )
    assert envelope().violations(frozen) == ()


def test_a_stage_that_may_take_more_than_what_remains_degrades_before_it_begins() -> None:
    """Contract scenario 10: too little time for the next stage."""
    of = envelope()
    assert of.before_stage("act", elapsed_ms=90) == ()
    (pressed,) = of.before_stage("act", elapsed_ms=91)
    assert (pressed.gate, pressed.field, pressed.limit, pressed.actual) == (
        EnvelopeBound.STAGE_BUDGET,
        "stageBudgetsMs.act",
        29,
        30,
    )
    assert not pressed.is_hard


@pytest.mark.parametrize("value", UNUSABLE)
def test_no_stage_begins_without_a_measure_of_time(value: Any) -> None:
    assert [each.is_hard for each in envelope().before_stage("act", elapsed_ms=value)] == [True]


def test_no_stage_begins_after_the_deadline_and_none_that_is_unknown() -> None:
    assert [each.field for each in envelope().before_stage("act", elapsed_ms=121)] == ["deadlineMs"]
    assert [each.is_hard for each in envelope().before_stage("reflect", elapsed_ms=1)] == [True]


def test_time_that_has_passed_since_the_measurement_counts() -> None:
    later = signals().at(NOW + 21 * MS)
    assert later.elapsed_ms == 121
    assert [each.field for each in envelope().violations(later)] == ["deadlineMs"]
    assert signals().at(NOW - 5 * MS).elapsed_ms == 100
    assert signals(elapsed_ms=None).at(NOW + MS).elapsed_ms is None


def test_an_envelope_that_can_not_hold_does_not_exist() -> None:
    """Contract scenario 9: budgets beyond the deadline are refused at load."""
    with pytest.raises(ValidationError, match="add up to 121, more than deadlineMs 120"):
        dte(stageBudgetsMs={"context": 41, "plan": 40, "act": 30, "verify": 10})
    with pytest.raises(ValidationError, match="must contain `abstain`"):
        dte(degradeLadder=[{"step": "hitl"}])
    with pytest.raises(ValidationError, match="must name its approver"):
        dte(degradeLadder=[{"step": "bypass"}, {"step": "abstain"}])
    with pytest.raises(ValidationError, match="blastRadiusMax"):
        dte(safeAction={**SAFE_ACTION, "blastRadiusMax": "huge"})


SAFE_ACTION = {"requireIdempotency": True, "requireRollbackAbove": "none"}


def test_an_envelope_knows_its_hash() -> None:
    assert envelope().dte_hash == content_hash(dte())


@given(st.data(), ENVELOPES, st.none() | TIERS)
def test_what_holds_every_bound_is_clean_for_any_envelope(
    data: st.DataObject, of: Envelope, tier: BlastRadius | None
) -> None:
    assert of.violations(data.draw(within(of)), tier=tier) == ()


@given(st.data(), ENVELOPES, st.none() | TIERS)
def test_signals_are_clean_exactly_when_every_bound_holds(
    data: st.DataObject, of: Envelope, tier: BlastRadius | None
) -> None:
    """The quick way and the careful way agree with the rules written out plainly."""
    drawn = data.draw(any_signals(of))
    assert (of.violations(drawn, tier=tier) == ()) == _all_hold(of, drawn)


@given(st.data(), ENVELOPES)
def test_violations_come_in_the_order_of_the_gates_and_a_second_look_finds_the_same(
    data: st.DataObject, of: Envelope
) -> None:
    drawn = data.draw(any_signals(of))
    all_found = of.violations(drawn)
    gates = [list(EnvelopeBound).index(each.gate) for each in all_found]
    assert gates == sorted(gates)
    assert repr(all_found) == repr(of.violations(drawn))


@given(st.data(), ENVELOPES, TIERS)
def test_a_known_tier_never_adds_a_violation_and_only_softens_stale_features(
    data: st.DataObject, of: Envelope, tier: BlastRadius
) -> None:
    drawn = data.draw(any_signals(of))
    without, known = of.violations(drawn), of.violations(drawn, tier=tier)
    assert [each.field for each in without] == [each.field for each in known]
    for one, other in zip(without, known, strict=True):
        softened = one.severity is not other.severity
        assert not softened or (one.gate is EnvelopeBound.FEATURE_TTL and one.is_hard)


def _all_hold(of: Envelope, given: Signals) -> bool:
    dte, now = of.dte, given.now_us
    stages, captured, counts = given.stage_ms, given.captured_at_us, given.counts
    if stages is None or captured is None or counts is None or not is_count(now):
        return False
    budgets = dte.stage_budgets_ms.model_dump()
    limits = {name.removeprefix("max_"): top for name, top in dte.limits.model_dump().items()}
    ttls = dte.freshness.feature_ttls
    return (
        is_measure(given.elapsed_ms)
        and given.elapsed_ms <= dte.deadline_ms
        and all(
            name in budgets and is_measure(spent) and spent <= budgets[name]
            for name, spent in stages.items()
        )
        and all(
            is_count(at) and 0 <= now - at <= ttls.get(name, dte.freshness.default_ttl_ms) * MS
            for name, at in captured.items()
        )
        and set(ttls) <= set(captured)
        and set(counts) == set(limits)
        and all(is_count(count) and count <= limits[name] for name, count in counts.items())
    )
