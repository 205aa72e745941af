"""Each cause of drift is one event: named the same in every episode, never milder for the company it keeps."""

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from lictor_contracts.drift.causes import (
    Dispatch,
    FeatureUse,
    Measured,
    Retries,
    bypass_causes,
    contention_causes,
    fallback_causes,
    fanout_causes,
    freshness_causes,
    outcome_causes,
    time_causes,
    verify_causes,
)
from lictor_contracts.drift.events import PATCH_FOR, Cause, drift_events
from lictor_schema.contracts.drift import DriftEvent, DriftSeverity, DriftType, PatchType
from lictor_schema.contracts.envelope import DegradeStep
from lictor_schema.contracts.verification import VerificationResult
from lictor_schema.seals.episode import OutcomeCode

NOON = datetime(2026, 1, 31, 12, tzinfo=UTC)
SCHEMA = Path(__file__).parents[4] / "schemas" / "json" / "drift-event.schema.json"
GREEN, YELLOW, RED = DriftSeverity
BUDGETS = {"context": 10, "plan": 20, "act": 30, "verify": 40}
WITHIN: dict[str, Measured] = {"context": 10, "plan": 20, "act": 30, "verify": 40}
UNMEASURED = [None, -1, -0.5, float("nan"), float("inf"), True, 10**400]

CAUSES = st.builds(
    Cause,
    st.sampled_from(DriftType),
    st.sampled_from(["a", "b", "c", "a long cause " * 30, "a long cause " * 31]),
    st.sampled_from(DriftSeverity),
    st.text(max_size=5),
    st.lists(st.sampled_from(["e1", "e2", "e3"]), max_size=3).map(tuple),
)


def times(elapsed_ms: Measured = 100, **stage_ms: Measured) -> tuple[Cause, ...]:
    """The causes of a decision with a deadline of 100 ms and the budgets above."""
    return time_causes(
        elapsed_ms=elapsed_ms,
        deadline_ms=100,
        stage_ms={**WITHIN, **stage_ms},
        budgets_ms=BUDGETS,
    )


ONE_OF_EACH: dict[DriftType, tuple[Cause, ...]] = {
    DriftType.TIME: times(101),
    DriftType.FRESHNESS: freshness_causes([FeatureUse("price", 250, 251)]),
    DriftType.FALLBACK: fallback_causes(DegradeStep.CACHE_BUNDLE),
    DriftType.BYPASS: bypass_causes(dispatches=[Dispatch("refund", "no contract", ("a1",))]),
    DriftType.VERIFY: verify_causes(
        method="read_after_write", result=VerificationResult.FAIL, required=True
    ),
    DriftType.OUTCOME: outcome_causes(
        claimed=OutcomeCode.SUCCESS, expected={"balance": 5}, observed={"balance": 4}
    ),
    DriftType.FANOUT: fanout_causes({"maxFanout": 4}, {"maxFanout": 3}),
    DriftType.CONTENTION: contention_causes([Retries("lock", "account", 9, 3)]),
}


@pytest.mark.parametrize("drift_type", DriftType)
def test_every_type_has_an_emitter_and_a_patch_mapping(drift_type: DriftType) -> None:
    """Contract scenario 52: eight types, eight emitters, eight patches."""
    (event,) = drift_events("ep-1", "refund", ONE_OF_EACH[drift_type], NOON)
    assert event.drift_type is drift_type
    assert event.recommended_patch_type is PATCH_FOR[drift_type]


def test_the_patch_mapping_is_total() -> None:
    """Contract scenario 52: eight types, eight emitters, eight patches."""
    assert set(PATCH_FOR) == set(DriftType)
    assert set(PATCH_FOR.values()) <= set(PatchType)


@pytest.mark.parametrize("drift_type", DriftType)
def test_every_emitted_event_fits_the_published_schema(drift_type: DriftType) -> None:
    """Contract scenario 45: every emitted event is valid."""
    validator = Draft202012Validator(json.loads(SCHEMA.read_text(encoding="utf-8")))
    for event in drift_events("ep-1", "refund", ONE_OF_EACH[drift_type], NOON):
        wire = event.to_json()
        assert not list(validator.iter_errors(json.loads(wire)))
        assert DriftEvent.from_json(wire) == event


@given(st.lists(CAUSES, max_size=8))
def test_each_cause_is_one_event_that_no_other_cause_changes(causes: list[Cause]) -> None:
    """Contract scenario 46: two causes, two events."""
    together = drift_events("ep-1", "refund", causes, NOON)
    alone = [drift_events("ep-1", "refund", [each], NOON)[0] for each in causes]
    assert {each.drift_id for each in together} == {each.drift_id for each in alone}
    assert len(together) == len({(each.drift_type, each.cause) for each in causes})
    for event in together:
        alike = [each for each in alone if each.drift_id == event.drift_id]
        assert event.severity.rank == max(each.severity.rank for each in alike)
        assert set(event.evidence_refs) == {ref for each in alike for ref in each.evidence_refs}


def test_a_red_verification_beside_a_missed_stage_stays_red() -> None:
    """Contract scenario 46: two causes, two events."""
    causes = (
        *verify_causes(method="m", result=VerificationResult.INCONCLUSIVE, required=True),
        *times(plan=21),
    )
    severities = [
        (each.drift_type, each.severity) for each in drift_events("ep", "t", causes, NOON)
    ]
    assert severities == [(DriftType.VERIFY, RED), (DriftType.TIME, YELLOW)]


@given(CAUSES, st.text(min_size=1, max_size=9), st.text(min_size=1, max_size=9))
def test_one_cause_has_one_fingerprint_in_all_episodes_and_one_id_in_each(
    cause: Cause, one: str, other: str
) -> None:
    """Contract scenario 47: one cause, one fingerprint."""
    first, again, elsewhere = (
        drift_events(episode, "refund", [cause], NOON)[0] for episode in (one, one, other)
    )
    assert first == again
    assert first.fingerprint == elsewhere.fingerprint
    assert (first.drift_id == elsewhere.drift_id) == (one == other)


def test_measured_values_stay_out_of_the_fingerprint() -> None:
    small, large = (drift_events("ep", "t", times(took), NOON)[0] for took in (101, 90_000))
    assert small.fingerprint == large.fingerprint
    assert (small.notes, large.notes) == ("101 ms, allowed 100", "90000 ms, allowed 100")


def test_another_decision_type_is_another_fingerprint() -> None:
    one, other = (drift_events("ep", kind, times(101), NOON)[0] for kind in ("a", "b"))
    assert one.fingerprint != other.fingerprint


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=257, max_size=300))
def test_long_causes_that_differ_at_their_end_stay_apart(cause: str) -> None:
    events = drift_events(
        "ep",
        "t",
        [Cause(DriftType.TIME, cause + end, GREEN) for end in ("a", "b")],
        NOON,
    )
    assert len(events) == 2


def test_what_is_exactly_at_its_limit_does_not_drift() -> None:
    assert times() == ()
    assert freshness_causes([FeatureUse("price", 250, 250)]) == ()
    assert fanout_causes({"maxHops": 3}, {"maxHops": 3}) == ()
    assert contention_causes([Retries("lock", "account", 3, 3)]) == ()


def test_a_missed_deadline_is_red_and_a_stage_over_its_budget_yellow() -> None:
    found = times(101, act=31)
    assert [(each.cause, each.severity) for each in found] == [
        ("deadline exceeded", RED),
        ("stage act over its budget", YELLOW),
    ]


@pytest.mark.parametrize("value", UNMEASURED)
def test_what_can_not_have_been_measured_is_a_red_cause(value: Measured) -> None:
    found = (
        *times(value),
        *times(act=value),
        *freshness_causes([FeatureUse("price", 250, value, tolerated=True)]),
        *fanout_causes({"maxFanout": value}, {"maxFanout": 3}),
        *contention_causes([Retries("rate_limit", "mail", value, 3)]),
    )
    assert len(found) == 5
    assert all(each.severity is RED and "not measured" in each.cause for each in found)
    assert not any("None" in (each.notes or "") for each in found)


def test_a_limit_nobody_counted_and_a_count_without_a_limit_are_both_red() -> None:
    assert [each.cause for each in fanout_causes({"maxSpread": 1}, {"maxHops": 1})] == [
        "count for maxHops not measured",
        "maxSpread has no limit",
    ]
    found = time_causes(elapsed_ms=1, deadline_ms=2, stage_ms={"dream": 1}, budgets_ms={"act": 1})
    assert [each.cause for each in found] == [
        "time of stage act not measured",
        "stage dream has no budget",
    ]
    assert {each.severity for each in found} == {RED}


@pytest.mark.parametrize(
    ("use", "cause", "severity"),
    [
        (FeatureUse("price", 250, 251), "price stale at use", RED),
        (FeatureUse("price", 250, 251, tolerated=True), "price stale at use", YELLOW),
        (
            FeatureUse("price", 250, 251, fresh_at_plan=True),
            "price fresh at plan, stale at use",
            RED,
        ),
    ],
)
def test_context_that_went_stale_is_told_from_context_that_was(
    use: FeatureUse, cause: str, severity: DriftSeverity
) -> None:
    (found,) = freshness_causes([use])
    assert (found.cause, found.severity) == (cause, severity)


@pytest.mark.parametrize("step", [each for each in DegradeStep if each != "bypass"])
def test_a_rung_used_is_green_and_names_the_rung(step: DegradeStep) -> None:
    (found,) = fallback_causes(step)
    assert (found.cause, found.severity) == (f"rung {step} used", GREEN)
    assert bypass_causes(step) == ()


def test_an_exhausted_ladder_is_yellow_beside_the_rung_it_ended_on() -> None:
    found = fallback_causes(DegradeStep.ABSTAIN, exhausted=True)
    assert [each.severity for each in found] == [GREEN, YELLOW]


def test_a_bypass_rung_is_one_red_bypass_and_no_mild_fallback() -> None:
    assert fallback_causes(DegradeStep.BYPASS) == ()
    (found,) = bypass_causes(DegradeStep.BYPASS)
    assert (found.drift_type, found.severity) == (DriftType.BYPASS, RED)


def test_every_dispatch_without_a_contract_is_a_red_bypass() -> None:
    found = bypass_causes(dispatches=[Dispatch("refund", "no contract"), Dispatch("mail", "late")])
    assert [(each.cause, each.severity) for each in found] == [
        ("refund dispatched: no contract", RED),
        ("mail dispatched: late", RED),
    ]


@pytest.mark.parametrize(
    ("result", "required", "timed_out", "severity"),
    [
        ("pass", True, False, None),
        ("fail", True, False, YELLOW),
        ("fail", False, False, YELLOW),
        ("inconclusive", True, False, RED),
        ("inconclusive", False, False, YELLOW),
        ("inconclusive", False, True, RED),
        ("pass", False, True, RED),
        ("na", True, False, RED),
        ("na", False, False, None),
    ],
)
def test_every_verification_that_did_not_pass_drifts(
    result: str, required: bool, timed_out: bool, severity: DriftSeverity | None
) -> None:
    found = verify_causes(
        method="m", result=VerificationResult(result), required=required, timed_out=timed_out
    )
    assert [each.severity for each in found] == ([] if severity is None else [severity])


@pytest.mark.parametrize("claimed", OutcomeCode)
def test_a_wrong_outcome_is_red_exactly_where_success_was_claimed(claimed: OutcomeCode) -> None:
    found = outcome_causes(
        claimed=claimed,
        expected={"paid": True, "balance": 5, "note": None},
        observed={"paid": 1, "note": None},
        expected_code=OutcomeCode.PARTIAL,
    )
    causes = [each.cause for each in found]
    assert causes[-2:] == ["effect paid differs", "effect balance not observed"]
    assert (f"outcome {claimed} instead of partial" in causes) == (claimed != "partial")
    assert {each.severity for each in found} == {RED if claimed == "success" else YELLOW}


@pytest.mark.parametrize(
    ("retries", "severity"),
    [
        (Retries("lock", "account", 4, 3), YELLOW),
        (Retries("rate_limit", "mail", 1, None), YELLOW),
        (Retries("lock", "account", 1, 3, gave_up=True), RED),
    ],
)
def test_a_retry_storm_is_yellow_and_giving_up_red(
    retries: Retries, severity: DriftSeverity
) -> None:
    assert [each.severity for each in contention_causes([retries])] == [severity]
