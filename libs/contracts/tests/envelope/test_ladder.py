"""Which rung is taken: total, fail closed, and with everything that led to it."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from libs.contracts.tests.strategies_contracts import (
    DTE_FIELDS,
    ENVELOPES,
    MS,
    NOW,
    UNUSABLE,
    envelope,
    signals,
    situations,
)
from lictor_contracts.decision.outcome import of_rung, of_verification
from lictor_contracts.decision.outcome_signs import worst
from lictor_contracts.envelope.bounds import BoundViolation, Envelope
from lictor_contracts.envelope.ladder import LadderInput, choose
from lictor_schema.contracts.decision_log import RungTaken
from lictor_schema.contracts.envelope import BlastRadius, DegradeStep
from lictor_schema.contracts.verification import Verification, VerificationResult
from lictor_schema.seals.episode import DegradeStamp, OutcomeCode

ABSTAIN, HITL, BYPASS = DegradeStep.ABSTAIN, DegradeStep.HITL, DegradeStep.BYPASS
CACHE, SMALL, RULES = DegradeStep.CACHE_BUNDLE, DegradeStep.SMALL_MODEL, DegradeStep.RULES_ONLY
FULL: list[dict[str, Any]] = DTE_FIELDS["degradeLadder"]


def ladder(*steps: str) -> Envelope:
    """An envelope whose ladder has only these rungs, and `abstain`."""
    chosen = [rung for step in steps for rung in FULL if rung["step"] == step]
    return envelope(degradeLadder=[*chosen, {"step": "abstain"}])


def violated(**changes: Any) -> tuple[BoundViolation, ...]:
    return envelope().violations(signals(**changes))


SLOW = violated(stage_ms={"plan": 41})
STALE = violated(captured_at_us={"priceFeed": NOW - 251 * MS})
LATE = violated(elapsed_ms=121)


def situation(**changes: Any) -> LadderInput:
    return LadderInput(**{"violations": (), "remaining_ms": 100, **changes})


def chosen(of: Envelope, **changes: Any) -> DegradeStep | None:
    return choose(of, situation(**changes)).step


def test_nothing_wrong_takes_no_rung() -> None:
    choice = choose(envelope(), situation(verification=VerificationResult.PASS))
    assert (choice.step, choice.rejected, choice.exhausted) == (None, (), False)
    assert choice.rationale["reason"] == "within_envelope"


def test_stale_context_is_answered_by_the_ladder_in_its_order() -> None:
    """Contract scenario 12: stale context: a cache is no fresher, a person may answer for it, else it abstains.

    `abstain` is taken where it is listed.
    """
    choice = choose(envelope(), situation(violations=STALE))
    assert (choice.step, choice.exhausted) == (HITL, False)
    assert choice.rationale["reason"] == "stale_context"
    assert choice.rationale["fields"] == "freshness.featureTtls.priceFeed"
    assert "makes no context fresher" in str(choice.rationale["rejected.cache_bundle"])
    assert choice.rationale["rejected.bypass"] == "a hard violation can't be bypassed"
    first = envelope(degradeLadder=[{"step": "abstain"}, {"step": "hitl"}])
    assert chosen(first, violations=STALE) is ABSTAIN


@pytest.mark.parametrize(
    "steps", [(), ("cache_bundle",), ("cache_bundle", "small_model", "rules_only", "bypass")]
)
def test_hard_stale_context_abstains(steps: tuple[str, ...]) -> None:
    """Contract scenario 12: stale context abstains, where the ladder lists nobody who could answer for it."""
    choice = choose(ladder(*steps), situation(violations=STALE, approved_by="head-of-ops"))
    assert (choice.step, choice.exhausted) == (ABSTAIN, False)
    assert choice.rationale["reason"] == "stale_context"


def test_context_that_nobody_captured_abstains_whoever_could_be_asked() -> None:
    assert chosen(envelope(), violations=violated(captured_at_us={})) is ABSTAIN
    future = violated(captured_at_us={"priceFeed": NOW + 1})
    assert chosen(envelope(), violations=future) is ABSTAIN


def test_what_asks_for_too_much_goes_to_a_person_or_abstains_in_the_ladder_s_order() -> None:
    choice = choose(envelope(), situation(beyond="the action is large", approved_by="head-of-ops"))
    assert (choice.step, choice.rationale["detail"]) == (HITL, "the action is large")
    assert chosen(ladder("cache_bundle", "bypass"), beyond="large") is ABSTAIN
    first = envelope(degradeLadder=[{"step": "abstain"}, {"step": "hitl"}])
    assert chosen(first, beyond="large") is ABSTAIN
    assert chosen(envelope(), beyond="large", violations=LATE) is ABSTAIN


@pytest.mark.parametrize("result", [VerificationResult.FAIL, VerificationResult.INCONCLUSIVE])
def test_a_verification_that_did_not_pass_is_looked_at_by_a_person(
    result: VerificationResult,
) -> None:
    """Contract scenario 13: a verifier that did not pass asks a person."""
    assert chosen(envelope(), verification=result) is HITL


def test_a_verification_result_that_nobody_knows_is_looked_at_too() -> None:
    assert chosen(envelope(), verification="probably") is HITL


@pytest.mark.parametrize(
    "pressed", [{"violations": SLOW}, {"p99_ms": 121}, {"jitter_ms": 31, "remaining_ms": 30}]
)
def test_time_pressure_takes_the_first_rung_that_saves_time(pressed: dict[str, Any]) -> None:
    """Contract scenario 14: time pressure takes the first rung that saves time."""
    assert chosen(envelope(), **pressed) is CACHE
    assert chosen(ladder("rules_only", "cache_bundle"), **pressed) is RULES


def test_measures_at_their_bounds_press_nobody() -> None:
    assert chosen(envelope(), p99_ms=120, jitter_ms=100) is None


def test_too_little_time_for_the_next_stage_takes_a_rung_before_it_begins() -> None:
    """Contract scenario 10: too little time for the next stage."""
    ahead = envelope().before_stage("act", elapsed_ms=91)
    assert chosen(envelope(), violations=ahead, remaining_ms=29) is CACHE


@pytest.mark.parametrize(
    ("remaining", "step"), [(20, CACHE), (19, SMALL), (15, SMALL), (14, RULES), (5, RULES)]
)
def test_a_rung_that_would_take_more_than_what_remains_gives_way_to_the_next(
    remaining: int, step: DegradeStep
) -> None:
    """Contract scenario 19: a rung over its extra time gives way."""
    assert chosen(envelope(), violations=SLOW, remaining_ms=remaining) is step


def test_a_rung_expected_to_take_more_than_it_may_gives_way_to_the_next() -> None:
    """Contract scenario 19: a rung over its extra time gives way."""
    choice = choose(envelope(), situation(violations=SLOW, expected_extra_ms={CACHE: 21, SMALL: 9}))
    assert choice.step is SMALL
    assert choice.rationale["rejected.cache_bundle"] == (
        "is expected to take 21 ms, over its maxExtraMs 20"
    )


def test_a_rung_expected_to_take_less_than_it_may_fits_into_less() -> None:
    fast = situation(violations=SLOW, remaining_ms=2, expected_extra_ms={CACHE: 2})
    assert choose(envelope(), fast).step is CACHE


@pytest.mark.parametrize("cost", [each for each in UNUSABLE if each is not None])
def test_a_rung_whose_expected_time_is_no_measure_is_not_taken(cost: Any) -> None:
    assert chosen(envelope(), violations=SLOW, expected_extra_ms={CACHE: cost}) is SMALL


def test_an_exhausted_ladder_abstains_and_says_so() -> None:
    """Contract scenario 20: an exhausted ladder abstains, and drifts."""
    choice = choose(envelope(), situation(violations=SLOW, remaining_ms=4))
    assert (choice.step, choice.exhausted) == (ABSTAIN, True)
    assert choice.rationale["exhausted"] is True
    assert [each.step for each in choice.rejected] == [BYPASS, CACHE, SMALL, RULES, HITL]


def test_a_ladder_that_has_no_rung_to_save_time_abstains() -> None:
    """Contract scenario 17: no rung that saves time: abstain."""
    for of in (ladder(), ladder("hitl"), ladder("bypass"), ladder("hitl", "bypass")):
        choice = choose(of, situation(violations=SLOW))
        assert (choice.step, choice.exhausted) == (ABSTAIN, True)


def test_a_person_who_answers_in_time_can_relieve_time_pressure() -> None:
    of = envelope(degradeLadder=[{"step": "hitl", "maxExtraMs": 50}, {"step": "abstain"}])
    assert chosen(of, violations=SLOW, remaining_ms=50) is HITL
    assert chosen(of, violations=SLOW, remaining_ms=49) is ABSTAIN


def test_a_ladder_without_the_wanted_rung_takes_the_safest_and_never_bypass() -> None:
    """Contract scenario 15: a missing rung is never replaced by bypass."""
    failed = {"verification": VerificationResult.FAIL}
    assert chosen(ladder("cache_bundle", "bypass"), **failed) is ABSTAIN
    assert chosen(ladder("rules_only", "bypass"), violations=STALE) is ABSTAIN


def test_stale_context_that_is_safe_is_left_to_a_cache_or_rules_then_to_a_person() -> None:
    of = envelope(freshness={"defaultTtlMs": 1, "allowStaleIfSafe": True})
    old = of.violations(signals(captured_at_us={"x": NOW - 2 * MS}), tier=BlastRadius.TINY)
    assert chosen(envelope(), violations=old) is CACHE
    assert chosen(ladder("rules_only", "cache_bundle"), violations=old) is RULES
    assert chosen(ladder("small_model", "hitl"), violations=old) is HITL
    assert chosen(ladder("small_model"), violations=old) is ABSTAIN


@pytest.mark.parametrize("remaining", [-1, -0.5, float("-inf")])
def test_a_deadline_that_has_passed_abstains(remaining: float) -> None:
    """Contract scenario 16: a deadline that has passed abstains."""
    assert chosen(envelope(), remaining_ms=remaining) is ABSTAIN
    assert choose(envelope(), situation(violations=LATE)).rationale["reason"] == "deadline"
    both = {"violations": (*SLOW, *LATE), "verification": VerificationResult.FAIL}
    assert chosen(envelope(), **both) is ABSTAIN


@pytest.mark.parametrize("value", UNUSABLE)
def test_a_signal_that_is_no_measure_abstains(value: Any) -> None:
    assert chosen(envelope(), remaining_ms=value) is ABSTAIN
    if value is not None:
        assert chosen(envelope(), p99_ms=value) is ABSTAIN
        assert chosen(envelope(), jitter_ms=value) is ABSTAIN


def test_bypass_is_taken_only_when_exactly_its_approver_has_approved() -> None:
    """Contract scenario 21: bypass needs its named approver."""
    failed = {"verification": VerificationResult.FAIL}
    for name in (None, "", "Head-of-ops", "head-of-ops ", "somebody"):
        choice = choose(envelope(), situation(**failed, approved_by=name))
        assert choice.step is HITL
        assert "rejected.bypass" in choice.rationale
    choice = choose(envelope(), situation(**failed, approved_by="head-of-ops"))
    assert (choice.step, choice.approved_by) == (BYPASS, "head-of-ops")
    assert choice.rationale["approved_by"] == "head-of-ops"
    assert outcome(taken(choice.step), verification("pass")) is OutcomeCode.BYPASSED


def test_no_approval_bypasses_a_hard_violation_and_none_is_used_where_nothing_is_wrong() -> None:
    assert chosen(envelope(), violations=LATE, approved_by="head-of-ops") is ABSTAIN
    assert chosen(envelope(), approved_by="head-of-ops") is None


def verification(result: str, required: bool = True) -> Verification:
    code = VerificationResult(result)
    method = None if code is VerificationResult.NA else "read_after_write"
    return Verification(required=required, result=code, method=method)


def taken(step: DegradeStep | None) -> RungTaken:
    return RungTaken(step=step, rationale={}, ladder=(ABSTAIN,))


def outcome(rung: RungTaken, found: Verification) -> OutcomeCode:
    return worst([of_rung(rung), of_verification(found)])


@pytest.mark.parametrize("result", list(VerificationResult))
def test_what_abstained_did_even_if_a_verifier_passed(result: VerificationResult) -> None:
    """Contract scenario 22: abstained is abstained."""
    seen = outcome(taken(ABSTAIN), verification(result))
    assert seen is (OutcomeCode.FAIL if result == "fail" else OutcomeCode.ABSTAIN)


@pytest.mark.parametrize(
    ("step", "result", "required", "expected"),
    [
        (None, "pass", True, OutcomeCode.SUCCESS),
        (None, "na", False, OutcomeCode.SUCCESS),
        (None, "na", True, OutcomeCode.PARTIAL),
        (None, "inconclusive", True, OutcomeCode.PARTIAL),
        (None, "inconclusive", False, OutcomeCode.PARTIAL),
        (None, "fail", False, OutcomeCode.FAIL),
        (CACHE, "pass", True, OutcomeCode.PARTIAL),
        (CACHE, "fail", True, OutcomeCode.FAIL),
        (HITL, "inconclusive", True, OutcomeCode.PARTIAL),
    ],
)
def test_the_outcome_follows_from_rung_and_verification(
    step: DegradeStep | None, result: str, required: bool, expected: OutcomeCode
) -> None:
    assert outcome(taken(step), verification(result, required)) is expected


@given(st.data(), ENVELOPES)
def test_a_choice_is_always_made_from_the_ladder_and_fits_into_an_episode(
    data: st.DataObject, of: Envelope
) -> None:
    choice = choose(of, data.draw(situations(of)))
    assert choice.step is None or choice.step in {rung.step for rung in of.dte.degrade_ladder}
    assert DegradeStamp.from_json(choice.stamp.to_json()) == choice.stamp
    assert not choice.exhausted or choice.step is ABSTAIN
    assert choice.step not in {each.step for each in choice.rejected}


@given(st.data(), ENVELOPES)
def test_bypass_is_never_taken_without_the_approval_of_its_approver(
    data: st.DataObject, of: Envelope
) -> None:
    """Contract scenario 21: bypass needs its named approver."""
    given_situation = data.draw(situations(of))
    choice = choose(of, given_situation)
    if choice.step is BYPASS:
        (rung,) = (each for each in of.dte.degrade_ladder if each.step is BYPASS)
        assert given_situation.approved_by == rung.approver == choice.approved_by
    else:
        assert choice.approved_by is None


@given(st.data(), ENVELOPES)
def test_a_hard_violation_always_abstains_and_only_a_clean_situation_goes_on_undegraded(
    data: st.DataObject, of: Envelope
) -> None:
    given_situation = data.draw(situations(of))
    choice = choose(of, given_situation)
    hard = [each for each in given_situation.violations if each.is_hard]
    if any(not each.is_stale for each in hard):
        assert choice.step is ABSTAIN
    if hard:
        assert choice.step in (ABSTAIN, HITL)
    if choice.step is None:
        assert given_situation.violations == ()
        assert given_situation.verification in (
            None,
            VerificationResult.PASS,
            VerificationResult.NA,
        )


def test_stale_context_that_is_safe_is_left_to_no_small_model_because_time_presses_too() -> None:
    of = envelope(freshness={"defaultTtlMs": 500, "allowStaleIfSafe": True})
    measured = signals(stage_ms={"plan": 41}, captured_at_us={"profile": NOW - 501 * MS})
    both = of.violations(measured, tier=BlastRadius.TINY)
    assert [each.is_hard for each in both] == [False, False]
    assert chosen(of, violations=both) is CACHE
    rungs = ladder("small_model", "rules_only")
    assert chosen(rungs, violations=both) is RULES
    assert chosen(rungs, violations=both[:1]) is SMALL
