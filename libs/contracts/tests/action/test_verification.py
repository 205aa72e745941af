"""Whether what was done is what was expected, and that nothing passes by looking away."""

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import SCALARS, instances

from libs.contracts.tests.strategies_contracts import DTE_FIELDS, UNUSABLE, envelope
from lictor_contracts.action.verification import (
    MAX_EXPECTED,
    METHODS,
    Check,
    Finding,
    Method,
    Methods,
    State,
    checking,
    method,
    not_verified,
    required,
    time_limit_ms,
    verify,
)
from lictor_contracts.decision.outcome import of_verification
from lictor_contracts.errors import ContractError, ExpectationRefused, MethodRefused
from lictor_schema.contracts.action import Precondition
from lictor_schema.contracts.envelope import BlastRadius
from lictor_schema.contracts.verification import Verification, VerificationResult
from lictor_schema.seals.episode import OutcomeCode

PAID = {"status": "paid", "amount": 5}


def ran(
    expectation: Any,
    observed: Any,
    *,
    name: str = "read_after_write",
    took_ms: Any = 3,
    tier: Any = BlastRadius.MEDIUM,
) -> Verification:
    check = checking(METHODS, envelope(), method=name, expectation=expectation)
    return verify(check, envelope(), tier=tier, method=name, observed=observed, took_ms=took_ms)


def test_a_state_as_expected_passes_whatever_else_it_holds() -> None:
    verification = ran(PAID, {**PAID, "note": "x"})
    assert verification.result is VerificationResult.PASS
    assert (verification.required, verification.method) == (True, "read_after_write")


@pytest.mark.parametrize(
    "observed",
    [
        {},
        {"status": "paid"},
        {**PAID, "amount": "5"},
        {**PAID, "amount": 5.0},
        {**PAID, "amount": 6},
    ],
)
def test_a_state_that_differs_or_lacks_a_field_fails(observed: dict[str, Any]) -> None:
    assert ran(PAID, observed).result is VerificationResult.FAIL


def test_a_failure_names_every_difference() -> None:
    verification = ran(PAID, {"status": "open"})
    assert verification.details == {
        "differences": 2,
        "difference_1": "status is 'open', expected 'paid'",
        "difference_2": "amount is missing, expected 5",
    }


def test_invariants_hold_or_fail_of_the_state() -> None:
    sound = {"invariants": [{"fact": "balance", "operator": "greater_than", "value": -1}]}
    assert ran(sound, {"balance": 0}, name="invariant_check").result is VerificationResult.PASS
    for state in ({"balance": -1}, {"balance": True}, {}):
        failed = ran(sound, state, name="invariant_check")
        assert failed.result is VerificationResult.FAIL


@pytest.mark.parametrize(
    ("name", "expectation"),
    [
        ("read_after_write", {}),
        ("read_after_write", None),
        ("read_after_write", "paid"),
        ("read_after_write", {"": 1}),
        ("read_after_write", {"a": [1]}),
        ("read_after_write", {"a": 1.5}),
        ("read_after_write", {"a": float("nan")}),
        ("read_after_write", {str(number): 1 for number in range(MAX_EXPECTED + 1)}),
        ("invariant_check", {}),
        ("invariant_check", {"invariants": []}),
        ("invariant_check", {"invariants": "x"}),
        ("invariant_check", {"invariants": [{"fact": "a"}]}),
        ("invariant_check", {"invariants": [1]}),
        ("invariant_check", {"invariants": [], "more": 1}),
    ],
)
def test_an_expectation_that_is_empty_or_makes_no_sense_is_refused_when_it_is_read(
    name: str, expectation: Any
) -> None:
    """Contract scenario 35: a vacuous expectation."""
    with pytest.raises(ExpectationRefused, match="expectation"):
        checking(METHODS, envelope(), method=name, expectation=expectation)


def test_an_invariant_that_can_not_be_read_is_named_with_its_place() -> None:
    wrong = {"invariants": [{"fact": "a", "operator": "equals"}, {"fact": "a", "operator": "is"}]}
    with pytest.raises(ExpectationRefused, match=r"invariants\.1\.operator"):
        checking(METHODS, envelope(), method="invariant_check", expectation=wrong)


@method("at_most")
def at_most(expectation: Mapping[str, object]) -> Check:
    """A method somebody adds: a bound on what is observed, met also where nothing is."""

    def check(state: State) -> Finding:
        over = [name for name, top in expectation.items() if state.get(name, 0) > top]  # type: ignore[operator]
        return Finding(tuple(f"{name} is over" for name in over))

    return check


ALLOWED = {**DTE_FIELDS["verification"], "methods": ["at_most", "exact", "read_after_write"]}


def test_a_method_is_added_under_its_own_name_and_used_once_the_envelope_lists_it() -> None:
    @method("exact")
    def exact(expectation: Mapping[str, object]) -> Check:
        return lambda state: Finding(() if state == expectation else ("differs",))

    methods = METHODS.plus(exact)
    assert methods.names == ("read_after_write", "invariant_check", "exact")
    assert METHODS.names == ("read_after_write", "invariant_check")
    of = envelope(verification=ALLOWED)
    check = checking(methods, of, method="exact", expectation={"a": 1})
    said = {"tier": BlastRadius.LARGE, "method": "exact", "took_ms": 1}
    assert verify(check, of, observed={"a": 1}, **said).result is VerificationResult.PASS
    assert verify(check, of, observed={"a": 2}, **said).result is VerificationResult.FAIL


def test_an_expectation_of_any_method_that_a_state_with_nothing_in_it_meets_is_vacuous() -> None:
    """Contract scenario 35: a vacuous expectation."""
    of = envelope(verification=ALLOWED)
    with pytest.raises(ExpectationRefused, match="vacuous"):
        checking(METHODS.plus(at_most), of, method="at_most", expectation={"a": 5})


def test_no_method_takes_the_place_of_another_and_none_is_nameless() -> None:
    with pytest.raises(ContractError, match="two methods read_after_write"):
        METHODS.plus(Method("read_after_write", at_most.read))
    with pytest.raises(ContractError, match="no name"):
        Methods((Method(" ", at_most.read),))


def test_a_method_that_the_envelope_does_not_list_is_refused() -> None:
    """Contract scenario 34: a method that is not listed."""
    of = envelope(verification={**ALLOWED, "methods": ["read_after_write"]})
    with pytest.raises(MethodRefused, match=r"verification\.methods: 'invariant_check' is not"):
        checking(METHODS, of, method="invariant_check", expectation=PAID)
    none = envelope(verification={"requiredAboveBlastRadius": "none"})
    with pytest.raises(MethodRefused, match="known are none"):
        checking(METHODS, none, method="read_after_write", expectation=PAID)


def test_a_method_that_is_listed_and_does_not_exist_is_refused() -> None:
    with pytest.raises(MethodRefused, match="there is no method 'exact'"):
        checking(METHODS, envelope(verification=ALLOWED), method="exact", expectation=PAID)


def test_an_exception_is_inconclusive() -> None:
    """Contract scenario 32: a verifier that raises."""

    def stumbles(state: State) -> Finding:
        raise RuntimeError(f"{state} can't be looked at")

    verification = verify(
        stumbles,
        envelope(),
        tier=BlastRadius.LARGE,
        method="read_after_write",
        observed={},
        took_ms=1,
    )
    assert verification.result is VerificationResult.INCONCLUSIVE
    assert verification.details == {"error": "RuntimeError"}


@pytest.mark.parametrize("observed", [None, [], "paid", 1])
def test_a_state_that_could_not_be_read_back_is_inconclusive(observed: Any) -> None:
    assert ran(PAID, observed).result is VerificationResult.INCONCLUSIVE


def test_what_takes_longer_than_it_may_is_inconclusive_whatever_it_found() -> None:
    """Contract scenario 33: a verifier that takes too long."""
    assert ran(PAID, PAID, took_ms=8).result is VerificationResult.PASS
    late = ran(PAID, PAID, took_ms=8.01)
    assert late.result is VerificationResult.INCONCLUSIVE
    assert late.details == {"timed_out": True, "limit_ms": 8}


def test_without_a_timeout_of_its_own_a_verifier_has_the_budget_of_its_stage() -> None:
    of = envelope(verification={**ALLOWED, "verifyTimeoutMs": 0})
    assert time_limit_ms(of) == 10
    assert time_limit_ms(envelope()) == 8


@pytest.mark.parametrize("took_ms", UNUSABLE)
def test_a_time_that_is_no_measure_is_inconclusive(took_ms: Any) -> None:
    assert ran(PAID, PAID, took_ms=took_ms).result is VerificationResult.INCONCLUSIVE


@pytest.mark.parametrize(
    ("tier", "mandatory"),
    [
        (BlastRadius.TINY, False),
        (BlastRadius.SMALL, False),
        (BlastRadius.MEDIUM, True),
        (BlastRadius.LARGE, True),
        (None, True),
        ("tiny", True),
    ],
)
def test_verification_is_mandatory_strictly_above_the_threshold_and_for_any_unknown_tier(
    tier: Any, mandatory: bool
) -> None:
    assert required(envelope(), tier) is mandatory
    assert not_verified(envelope(), tier).required is mandatory


def test_what_had_to_be_verified_and_was_not_is_no_success() -> None:
    """Contract scenario 31: unverified is no success."""
    unverified = not_verified(envelope(), BlastRadius.MEDIUM)
    assert of_verification(unverified).at_best is OutcomeCode.PARTIAL
    free = not_verified(envelope(), BlastRadius.SMALL)
    assert of_verification(free).at_best is OutcomeCode.SUCCESS


@given(instances(Verification))
def test_only_a_pass_or_what_nobody_had_to_verify_leaves_a_success(
    verification: Verification,
) -> None:
    left = of_verification(verification).at_best
    unneeded = verification.result is VerificationResult.NA and not verification.required
    passed = verification.result is VerificationResult.PASS
    assert (left is OutcomeCode.SUCCESS) is (passed or unneeded)


@given(st.dictionaries(st.text(min_size=1, max_size=5), SCALARS, min_size=1, max_size=4), st.data())
def test_what_was_written_is_read_back_and_any_other_value_of_a_field_is_not(
    expectation: dict[str, Any], data: st.DataObject
) -> None:
    assert ran(expectation, dict(expectation)).result is VerificationResult.PASS
    name = data.draw(st.sampled_from(sorted(expectation)))
    other = data.draw(SCALARS.filter(lambda value: repr(value) != repr(expectation[name])))
    changed = ran(expectation, {**expectation, name: other})
    assert changed.result is VerificationResult.FAIL
    assert Verification.from_json(changed.to_json()) == changed


@given(st.lists(instances(Precondition), min_size=1, max_size=3))
def test_no_invariant_is_met_by_nothing(drawn: list[Precondition]) -> None:
    check = METHODS.reading("invariant_check", {"invariants": drawn})
    assert not check({}).holds


@pytest.mark.parametrize("name", ["x" * 70_000, "\ud800"], ids=["long", "half"])
def test_a_name_that_no_record_can_hold_does_not_hide_that_it_failed(name: str) -> None:
    found = ran({name: 1}, {})
    assert found.result is VerificationResult.FAIL
    assert Verification.from_json(found.to_json()) == found
