"""The report says what was measured and no more: exact shares, and no pass for what nobody measured."""

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lictor_contracts.report.coherence import (
    Latency,
    Measured,
    MeasuredShare,
    ReportRefused,
    percentile,
    report,
)
from lictor_schema.contracts.coherence_report import CoherenceReport, SloName, SloResult, SloVerdict
from lictor_schema.contracts.drift import DriftSeverity, DriftType
from lictor_schema.contracts.envelope import DegradeStep

START, END = "2026-01-31T00:00:00.000Z", "2026-02-01T00:00:00.000Z"
HOUR = 60 * 60 * 1000
GOOD = Measured(
    episodes=100,
    drift={(DriftType.TIME, DriftSeverity.RED): 2, (DriftType.VERIFY, DriftSeverity.GREEN): 1},
    rungs={None: 80, DegradeStep.CACHE_BUNDLE: 15, DegradeStep.ABSTAIN: 5},
    latencies=(Latency("refund", 100, (90, 100)),),
    fresh=MeasuredShare(99, 100),
    within_deadline=MeasuredShare(99, 100),
    verified=MeasuredShare(7, 7),
    intact_seals=MeasuredShare(100, 100),
    red_patched_ms=(HOUR, 4 * HOUR - 1),
    red_waiting_ms=(),
    why_ms=(60_000, 3),
)


def slos(measured: Measured) -> dict[SloName, SloResult]:
    """The objectives of a report by name; the report survives the wire."""
    made = report(measured, START, END)
    assert CoherenceReport.from_json(made.to_json()) == made
    return {each.slo: each for each in made.slos}


def test_nothing_measured_is_never_a_pass() -> None:
    made = report(Measured(), START, END)
    assert {each.verdict for each in made.slos} == {SloVerdict.NOT_MEASURED}
    assert made.verdict is SloVerdict.NOT_MEASURED
    assert (made.drift, made.rungs, made.patch_times.median_ms) == ((), (), None)


def test_every_objective_passes_exactly_at_its_limit() -> None:
    made = report(GOOD, START, END)
    assert {each.verdict for each in made.slos} == {SloVerdict.PASS}
    assert made.verdict is SloVerdict.PASS


@pytest.mark.parametrize(
    ("slo", "changes"),
    [
        ("p99_within_window", {"latencies": (Latency("refund", 100, (90, 101)),)}),
        (
            "p99_within_window",
            {"latencies": (Latency("refund", 100, (101,)), Latency("payout", 100, ()))},
        ),
        ("freshness", {"fresh": MeasuredShare(98, 99 + 1)}),
        ("deadline", {"within_deadline": MeasuredShare(989, 1000)}),
        ("verification", {"verified": MeasuredShare(999_999, 1_000_000)}),
        ("seal_integrity", {"intact_seals": MeasuredShare(2**53 - 2, 2**53 - 1)}),
        ("red_drift_patched", {"red_patched_ms": (1, 4 * HOUR)}),
        ("red_drift_patched", {"red_waiting_ms": (4 * HOUR,)}),
        ("undegraded", {"rungs": {None: 79, DegradeStep.HITL: 21}}),
        ("why_retrieval", {"why_ms": (60_001,)}),
    ],
)
def test_just_beyond_its_limit_an_objective_fails_alone(slo: str, changes: dict[str, Any]) -> None:
    found = slos(replace(GOOD, **changes))
    failed = [name for name, each in found.items() if each.verdict is SloVerdict.FAIL]
    assert failed == [SloName(slo)]
    assert report(replace(GOOD, **changes), START, END).verdict is SloVerdict.FAIL


@pytest.mark.parametrize(
    ("slo", "changes"),
    [
        ("p99_within_window", {"latencies": (Latency("refund", 100, ()),)}),
        ("p99_within_window", {"latencies": (*GOOD.latencies, Latency("payout", 100, ()))}),
        ("freshness", {"fresh": MeasuredShare()}),
        ("deadline", {"within_deadline": MeasuredShare()}),
        ("verification", {"verified": MeasuredShare()}),
        ("seal_integrity", {"intact_seals": MeasuredShare()}),
        ("red_drift_patched", {"red_patched_ms": (), "red_waiting_ms": (HOUR, HOUR)}),
        ("undegraded", {"rungs": {}}),
        ("why_retrieval", {"why_ms": ()}),
    ],
)
def test_one_objective_nobody_measured_keeps_the_whole_from_passing(
    slo: str, changes: dict[str, Any]
) -> None:
    made = report(replace(GOOD, **changes), START, END)
    unmeasured = [each for each in made.slos if each.verdict is SloVerdict.NOT_MEASURED]
    assert [each.slo for each in unmeasured] == [SloName(slo)]
    assert (unmeasured[0].share, unmeasured[0].worst_ms) == (None, None)
    assert made.verdict is SloVerdict.NOT_MEASURED


@given(st.integers(1, 2**53 - 1), st.data())
def test_shares_are_compared_without_rounding(whole: int, data: st.DataObject) -> None:
    part = data.draw(st.integers(0, whole) | st.just(whole * 99 // 100))
    result = slos(replace(GOOD, within_deadline=MeasuredShare(part, whole)))[SloName.DEADLINE]
    assert (result.verdict is SloVerdict.PASS) == (Fraction(part, whole) >= Fraction(99, 100))
    assert result.share is not None
    assert (result.share.part, result.share.whole) == (part, whole)


@given(st.lists(st.integers(0, 1000), min_size=1, max_size=300), st.integers(1, 100))
def test_a_percentile_is_the_smallest_value_that_enough_do_not_exceed(
    values: list[int], percent: int
) -> None:
    found = percentile(values, percent)
    assert found in values
    needed = Fraction(percent, 100) * len(values)
    assert sum(each <= found for each in values) >= needed
    assert sum(each < found for each in values) < needed


def test_drift_rungs_and_patch_times_are_told_as_counted() -> None:
    measured = replace(GOOD, red_patched_ms=(5, 1, 3, 9), red_waiting_ms=(7, 2))
    made = report(measured, START, END)
    assert [(each.drift_type, each.severity, each.count) for each in made.drift] == [
        (DriftType.TIME, DriftSeverity.RED, 2),
        (DriftType.VERIFY, DriftSeverity.GREEN, 1),
    ]
    assert [(each.step, each.count) for each in made.rungs] == [
        ("none", 80),
        ("cache_bundle", 15),
        ("abstain", 5),
    ]
    times = made.patch_times
    assert (times.patched, times.waiting) == (4, 2)
    assert (times.median_ms, times.slowest_ms, times.longest_wait_ms) == (3, 9, 7)


def test_drift_that_still_has_time_is_told_but_not_counted_as_kept() -> None:
    found = slos(replace(GOOD, red_patched_ms=(1,), red_waiting_ms=(HOUR, 5 * HOUR)))
    result = found[SloName.RED_DRIFT_PATCHED]
    assert result.share is not None
    assert (result.share.part, result.share.whole, result.worst_ms) == (1, 2, 5 * HOUR)
    assert "1 still in time" in result.explanation


@pytest.mark.parametrize(
    "changes",
    [
        {"episodes": -1},
        {"episodes": True},
        {"drift": {(DriftType.TIME, DriftSeverity.RED): -1}},
        {"rungs": {None: 1.5}},
        {"latencies": (Latency("refund", -1, (1,)),)},
        {"latencies": (Latency("refund", 1, (math.nan,)),)},  # pyright: ignore[reportArgumentType]
        {"fresh": MeasuredShare(2, 1)},
        {"verified": MeasuredShare(None, 1)},  # pyright: ignore[reportArgumentType]
        {"intact_seals": MeasuredShare(-1, 1)},
        {"red_patched_ms": (-1,)},
        {"red_waiting_ms": (math.inf,)},
        {"why_ms": (None,)},
        {"why_ms": (2**53,)},
        {"red_patched_ms": (HOUR,)},
    ],
)
def test_what_nobody_can_have_counted_is_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(ReportRefused, match="count"):
        report(replace(GOOD, **changes), START, END)


@pytest.mark.parametrize(("values", "percent"), [([], 99), ([1], 0), ([1], 101)])
def test_there_is_no_percentile_of_nothing(values: list[int], percent: int) -> None:
    with pytest.raises(ReportRefused, match="no percentile"):
        percentile(values, percent)
