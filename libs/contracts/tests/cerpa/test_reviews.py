"""A claim held against an event: what contradicts it, what nothing measured, and what can't be compared at all."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lictor_contracts.cerpa.cycle import NotReviewable, review, shows
from lictor_schema.contracts.cerpa_cycle import (
    Assumption,
    CerpaClaim,
    CerpaDomain,
    CerpaEvent,
    CerpaReview,
    Measurement,
    Verdict,
)
from lictor_schema.contracts.drift import DriftSeverity

MADE = datetime(2026, 1, 31, 9, tzinfo=UTC)
NOON = datetime(2026, 1, 31, 12, tzinfo=UTC)
GREEN, YELLOW, RED = DriftSeverity
FAST = Assumption(metric="p99_ms", operator="lt", bound="200")
DECIMALS = st.from_regex(r"\A-?(0|[1-9][0-9]{0,5})(\.[0-9]{1,12})?\Z")


def claimed(*assumptions: Assumption, **fields: Any) -> CerpaClaim:
    """A claim about the API, made in the morning."""
    base: dict[str, Any] = {
        "id": "claim-1",
        "domain": CerpaDomain.ACTIONOPS,
        "timestamp": MADE,
        "source": "ops",
        "text": "the API is fast",
        "subject": "api",
        "assumptions": assumptions,
    }
    return CerpaClaim(**{**base, **fields})


def happened(*measurements: Measurement, **fields: Any) -> CerpaEvent:
    """An event about the API, at noon."""
    base: dict[str, Any] = {
        "id": "event-1",
        "domain": CerpaDomain.ACTIONOPS,
        "timestamp": NOON,
        "source": "monitor",
        "text": "something happened",
        "subject": "api",
        "measurements": measurements,
    }
    return CerpaEvent(**{**base, **fields})


def measured(value: str, metric: str = "p99_ms", *, before: timedelta = timedelta()) -> Measurement:
    """A value measured so long before noon."""
    return Measurement(metric=metric, value=value, measured_at=NOON - before)


def reviewed(
    claim: CerpaClaim, event: CerpaEvent, now: datetime = NOON, **more: Any
) -> CerpaReview:
    """The review, which must be possible."""
    result = review(claim, event, now, **more)
    assert isinstance(result, CerpaReview), result
    return result


def test_each_of_the_four_verdicts_can_be_found() -> None:
    """Contract scenario 53: four verdicts and their patches."""
    good, bad = measured("199.999"), measured("900")
    aligned = reviewed(claimed(FAST), happened(good))
    mismatch = reviewed(claimed(FAST), happened(bad))
    expired = reviewed(claimed(FAST, expires_at=NOON), happened(good))
    violation = reviewed(claimed(FAST), happened(good, violation="left the region"))
    found = [(each.verdict, each.severity) for each in (aligned, mismatch, expired, violation)]
    assert found == [
        (Verdict.ALIGNED, None),
        (Verdict.MISMATCH, YELLOW),
        (Verdict.EXPIRED, YELLOW),
        (Verdict.VIOLATION, RED),
    ]


@pytest.mark.parametrize("violation", [None, "left the region"])
@pytest.mark.parametrize("expires_at", [None, NOON])
@pytest.mark.parametrize("value", ["1", "900"])
def test_the_strongest_verdict_wins_and_every_finding_is_told(
    violation: str | None, expires_at: datetime | None, value: str
) -> None:
    """Contract scenario 54: the strongest verdict wins."""
    result = reviewed(
        claimed(FAST, expires_at=expires_at), happened(measured(value), violation=violation)
    )
    expected = [
        word
        for word, holds in (
            ("violation", violation is not None),
            ("expired", expires_at is not None),
            ("mismatch", value == "900"),
        )
        if holds
    ]
    assert result.verdict.value == (expected[0] if expected else "aligned")
    assert [part.partition(":")[0] for part in result.rationale.split("; ") if ":" in part] == (
        expected
    )


def test_a_number_that_contradicts_its_bound_is_a_mismatch_that_names_both() -> None:
    """Contract scenario 55: a number that contradicts."""
    result = reviewed(claimed(FAST), happened(measured("900")))
    assert result.rationale == "mismatch: p99_ms is 900, not lt 200"


@given(
    DECIMALS,
    DECIMALS,
    st.sampled_from(["lt", "le", "eq", "ne", "ge", "gt"]),
)
def test_bounds_are_compared_exactly(value: str, bound: str, operator: Any) -> None:
    rule = Assumption(metric="m", operator=operator, bound=bound)
    result = reviewed(claimed(rule), happened(measured(value, "m")))
    one, other = Fraction(Decimal(value)), Fraction(Decimal(bound))
    holds = {
        "lt": one < other,
        "le": one <= other,
        "eq": one == other,
        "ne": one != other,
        "ge": one >= other,
        "gt": one > other,
    }[operator]
    assert result.verdict is (Verdict.ALIGNED if holds else Verdict.MISMATCH)


def test_a_fraction_that_floats_would_round_away_is_seen() -> None:
    rule = Assumption(metric="m", operator="le", bound="100000000000000000")
    event = happened(measured("100000000000000000.000000000001", "m"))
    assert reviewed(claimed(rule), event).verdict is Verdict.MISMATCH


@pytest.mark.parametrize("text", ["notification sent", "nothing failed", "violated? not at all"])
def test_words_in_a_text_contradict_nothing(text: str) -> None:
    """Contract scenario 56: words contradict nothing."""
    claim = claimed(FAST, text="customers are told")
    assert reviewed(claim, happened(measured("20"), text=text)).verdict is Verdict.ALIGNED
    assert reviewed(claimed(), happened(text=text)).verdict is Verdict.ALIGNED


def test_what_nothing_measured_is_not_contradicted_and_not_shown_either() -> None:
    claim = claimed(FAST, Assumption(metric="errors", operator="eq", bound="0"))
    result = reviewed(claim, happened(measured("20"), text="notification sent"))
    assert (result.verdict, result.unmeasured) == (Verdict.ALIGNED, ("errors",))
    assert "not shown: nothing measured errors" in result.rationale
    assert not shows(result, claim)


def test_a_claim_is_shown_only_when_all_it_rests_on_was_measured_and_holds() -> None:
    claim = claimed(FAST)
    assert shows(reviewed(claim, happened(measured("20"))), claim)
    assert not shows(reviewed(claim, happened(measured("900"))), claim)
    assert not shows(reviewed(claim, happened()), claim)
    assert not shows(reviewed(claimed(), happened()), claimed())
    assert not shows(reviewed(claim, happened(measured("20"))), claimed(FAST, id="another"))


def test_without_a_window_only_the_latest_counts() -> None:
    old = measured("900", before=timedelta(minutes=1))
    assert reviewed(claimed(FAST), happened(old, measured("20"))).verdict is Verdict.ALIGNED
    both = happened(measured("20"), measured("900"))
    assert reviewed(claimed(FAST), both).verdict is Verdict.MISMATCH


def test_in_a_window_every_measurement_counts_and_none_outside_it() -> None:
    rule = Assumption(metric="p99_ms", operator="lt", bound="200", window_ms=60_000)
    inside = measured("900", before=timedelta(minutes=1))
    outside = measured("900", before=timedelta(minutes=1, microseconds=1))
    mismatch = reviewed(claimed(rule), happened(inside, measured("20")))
    assert mismatch.rationale.endswith("(1 of 2 do)")
    assert reviewed(claimed(rule), happened(outside, measured("20"))).verdict is Verdict.ALIGNED
    assert reviewed(claimed(rule), happened(outside)).unmeasured == ("p99_ms",)


def test_what_was_measured_before_the_claim_was_made_does_not_count() -> None:
    rule = Assumption(metric="p99_ms", operator="lt", bound="200", window_ms=2**53 - 1)
    early = measured("900", before=NOON - MADE + timedelta(microseconds=1))
    at_once = measured("900", before=NOON - MADE)
    assert reviewed(claimed(rule), happened(early)).unmeasured == ("p99_ms",)
    assert reviewed(claimed(rule), happened(at_once)).verdict is Verdict.MISMATCH


def test_a_claim_expires_at_its_moment_whatever_was_observed() -> None:
    """Contract scenario 57: an expired claim."""
    claim = claimed(FAST, expires_at=NOON + timedelta(hours=1))
    event = happened(measured("20"))
    before = NOON + timedelta(minutes=59)
    assert reviewed(claim, event, before).verdict is Verdict.ALIGNED
    assert reviewed(claim, event, NOON + timedelta(hours=1)).verdict is Verdict.EXPIRED


@pytest.mark.parametrize(
    ("event", "words"),
    [
        (happened(subject="database"), "about database"),
        (happened(domain=CerpaDomain.INTELOPS), "belongs to intelops"),
        (happened(timestamp=MADE - timedelta(microseconds=1)), "before the claim was made"),
        (happened(timestamp=NOON + timedelta(microseconds=1)), "in the future"),
        (happened(measured("1", before=timedelta(seconds=-1))), "after the event"),
    ],
)
def test_what_can_not_be_compared_is_said_to_be_so_and_never_aligned(
    event: CerpaEvent, words: str
) -> None:
    """Contract scenario 58: another claim's or an earlier event."""
    for each in (event, event.model_copy(update={"violation": "left the region"})):
        result = review(claimed(FAST), each, NOON)
        assert isinstance(result, NotReviewable)
        assert words in result.reason
        assert result.remedy


def test_recurrence_can_raise_a_finding_but_makes_none() -> None:
    mismatch = reviewed(claimed(FAST), happened(measured("900")), at_least=RED)
    assert mismatch.severity is RED
    assert reviewed(claimed(FAST), happened(measured("20")), at_least=RED).severity is None
    violation = reviewed(claimed(FAST), happened(violation="left"), at_least=GREEN)
    assert violation.severity is RED


def test_reviewing_again_gives_the_same_review() -> None:
    claim, event = claimed(FAST), happened(measured("900"))
    assert review(claim, event, NOON) == review(claim, event, NOON)


def test_a_rationale_that_would_be_too_long_is_cut() -> None:
    event = happened(measured("900"), violation="x" * 65_536)
    assert len(reviewed(claimed(FAST), event).rationale) == 65_536
