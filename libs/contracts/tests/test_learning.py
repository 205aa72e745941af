"""CERPA as a fold: what each claim, event and patch does to the cycles of a subject."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lictor_contracts.drift import Cause, drift_events
from lictor_contracts.learning import (
    MAX_CLAIMS,
    LearningRefused,
    Subject,
    claimed,
    drift_as_event,
    happened,
    patch_moved,
)
from lictor_schema import (
    Assumption,
    CerpaClaim,
    CerpaCycle,
    CerpaDomain,
    CerpaEvent,
    CycleRef,
    CycleStatus,
    DriftSeverity,
    DriftType,
    Measurement,
    PatchEntry,
    PatchState,
    Verdict,
)

NOON = datetime(2026, 1, 31, 12, tzinfo=UTC)
ID = "00000000-0000-5000-8000-00000000000"


def claim(name: str = "quick", day: int = 1, bound: str = "200") -> CerpaClaim:
    return CerpaClaim(
        id=name,
        domain=CerpaDomain.ACTIONOPS,
        timestamp=datetime(2026, 1, day, tzinfo=UTC),
        source="ops",
        text="refunds are quick",
        subject="refund",
        assumptions=(Assumption(metric="latency_ms", operator="le", bound=bound),),
    )


def event(value: str, name: str = "e", violation: str | None = None) -> CerpaEvent:
    return CerpaEvent(
        id=name,
        domain=CerpaDomain.ACTIONOPS,
        timestamp=NOON,
        source="meter",
        text="measured",
        subject="refund",
        measurements=(Measurement(metric="latency_ms", value=value, measured_at=NOON),),
        violation=violation,
    )


def settled(cycle: CerpaCycle, state: PatchState = PatchState.FAILED) -> PatchEntry:
    return PatchEntry(
        entry_id=ID + "1",
        patch_id=ID + "2",
        state=state,
        by="bob",
        at="2026-01-31T12:00:00.000Z",
        reason="the pack has moved on",
        cycle=CycleRef(cycle_id=cycle.cycle_id, subject="refund"),
    )


def test_the_first_finding_asks_for_a_patch_and_the_next_only_stand_on_record() -> None:
    subject = claimed(None, claim(), "ada", NOON).subject
    first = happened(subject, event("900", "e1"), NOON)
    second = happened(first.subject, event("901", "e2"), NOON)
    assert [each.status for each in first.cycles] == [CycleStatus.PATCHED]
    assert [each.status for each in second.cycles] == [CycleStatus.MISMATCHED]
    assert second.subject == first.subject


def test_a_new_form_of_the_claim_settles_it_also_when_it_was_escalated() -> None:
    subject = claimed(None, claim(), "ada", NOON).subject
    red = happened(subject, event("1", violation="refunded twice"), NOON)
    assert red.cycles[0].status is CycleStatus.ESCALATED
    done = claimed(red.subject, claim(day=2, bound="1000"), "ada", NOON)
    assert [each.status for each in done.cycles] == [CycleStatus.APPLIED]
    assert not done.subject.open_cycles


def test_red_escalates_also_while_something_milder_is_open() -> None:
    """A mismatch that waits for its patch must not keep a violation from a human."""
    subject = claimed(None, claim(), "ops", NOON).subject
    subject = happened(subject, event("900", "slow"), NOON).subject
    learned = happened(subject, event("100", "broken", violation="sent twice"), NOON)
    (cycle,) = learned.cycles
    assert (cycle.review.verdict, cycle.status) == (Verdict.VIOLATION, CycleStatus.ESCALATED)
    again = happened(learned.subject, event("100", "again", violation="sent twice"), NOON)
    assert [each.status for each in again.cycles] == [CycleStatus.MISMATCHED]
    settled = claimed(again.subject, claim(day=31), "ops", NOON)
    assert [each.status for each in settled.cycles] == [CycleStatus.APPLIED] * 2
    assert not settled.subject.open_cycles


def test_a_failed_patch_leaves_the_cycle_open_and_says_why() -> None:
    found = happened(claimed(None, claim(), "ada", NOON).subject, event("900"), NOON)
    failed = patch_moved(found.subject, settled(found.cycles[0]), NOON)
    (cycle,) = failed.cycles
    assert cycle.status is CycleStatus.PATCHED
    assert cycle.apply_result is not None
    assert not cycle.apply_result.success
    assert failed.subject.open_for("quick") == (cycle,)


def test_a_patch_of_a_cycle_that_is_not_open_is_refused() -> None:
    found = happened(claimed(None, claim(), "ada", NOON).subject, event("900"), NOON)
    with pytest.raises(LearningRefused, match="is not open"):
        patch_moved(None, settled(found.cycles[0]), NOON)


def test_a_subject_holds_so_many_claims_and_no_older_form_of_one() -> None:
    subject = Subject({f"c{n}": claim(f"c{n}") for n in range(MAX_CLAIMS)})
    with pytest.raises(LearningRefused, match="no more are held"):
        claimed(subject, claim("one more"), "ada", NOON)
    with pytest.raises(LearningRefused, match="date it anew"):
        claimed(claimed(None, claim(day=2), "ada", NOON).subject, claim(), "ada", NOON)


@pytest.mark.parametrize("severity", DriftSeverity)
@pytest.mark.parametrize("kind", DriftType)
def test_drift_is_an_event_about_its_decision_type(
    kind: DriftType, severity: DriftSeverity
) -> None:
    (drift,) = drift_events("e", "refund", [Cause(kind, "a cause", severity)], NOON)
    told = drift_as_event(drift, NOON - timedelta(seconds=1))
    assert told.subject == "refund"
    assert told.timestamp == NOON - timedelta(seconds=1), "never later than it was told"
    assert (told.violation is not None) == (severity is DriftSeverity.RED)
    assert f"drift.{kind.value}" in [each.metric for each in told.measurements]


INPUTS = st.lists(
    st.builds(claim, st.sampled_from("ab"), st.integers(1, 28), st.sampled_from(["1", "500"]))
    | st.builds(
        event,
        st.sampled_from(["0", "300", "900"]),
        st.uuids().map(str),
        st.sampled_from([None, "broke it"]),
    ),
    max_size=20,
)


@given(INPUTS)
def test_each_open_cycle_of_a_claim_is_worse_than_the_one_before_and_no_event_goes_unreviewed(
    inputs: list[CerpaClaim | CerpaEvent],
) -> None:
    subject = Subject()
    for each in inputs:
        if isinstance(each, CerpaEvent):
            learned = happened(subject, each, NOON)
            assert {cycle.claim.id for cycle in learned.cycles} == set(subject.claims)
            assert all(
                (cycle.review.verdict is Verdict.ALIGNED) == (cycle.status is CycleStatus.ALIGNED)
                for cycle in learned.cycles
            )
        else:
            try:
                learned = claimed(subject, each, "ada", NOON)
            except LearningRefused:
                continue
        subject = learned.subject
        for name in subject.claims:
            waiting = [each.review.severity for each in subject.open_for(name)]
            assert waiting in ([], ["yellow"], ["red"], ["yellow", "red"])
        assert {each.claim.id for each in subject.open_cycles.values()} <= set(subject.claims)
        assert happened(subject, event("900"), NOON) == happened(subject, event("900"), NOON)
