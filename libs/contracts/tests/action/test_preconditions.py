"""Declarative checks: typed, never coerced, and met only by facts that are there."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import SCALARS, instances

from lictor_contracts.action.preconditions import is_scalar, same, unmet
from lictor_schema.contracts.action import Precondition


def check(operator: Any, value: Any) -> Precondition:
    if operator == "in":
        return Precondition(fact="x", operator=operator, values=tuple(value))
    return Precondition(fact="x", operator=operator, value=value)


def met(operator: str, value: Any, fact: Any) -> bool:
    return unmet((check(operator, value),), {"x": fact}) == ()


@pytest.mark.parametrize(
    ("operator", "value", "fact"),
    [
        ("equals", 1, 1),
        ("equals", "a", "a"),
        ("equals", True, True),
        ("equals", None, None),
        ("not_equals", "a", "b"),
        ("not_equals", 1, 2),
        ("not_equals", None, "b"),
        ("not_equals", None, 0),
        ("greater_than", 1, 2),
        ("less_than", 1, 0),
        ("in", ["a", 1, None], 1),
        ("in", ["a", 1, None], None),
        ("contains", "b", "abc"),
    ],
)
def test_a_fact_of_the_right_type_meets_what_holds_of_it(
    operator: str, value: Any, fact: Any
) -> None:
    assert met(operator, value, fact)


@pytest.mark.parametrize(
    ("operator", "value", "fact"),
    [
        ("equals", 1, 2),
        ("equals", 1, True),
        ("equals", True, 1),
        ("equals", 0, False),
        ("equals", 1, "1"),
        ("equals", 1, 1.0),
        ("equals", None, 0),
        ("not_equals", "a", "a"),
        ("not_equals", "a", 1),
        ("not_equals", 1, True),
        ("not_equals", 1, None),
        ("not_equals", None, None),
        ("not_equals", "a", ["b"]),
        ("not_equals", None, ["b"]),
        ("greater_than", 1, 1),
        ("greater_than", 0, True),
        ("greater_than", False, 1),
        ("greater_than", 1, "2"),
        ("greater_than", "1", "2"),
        ("greater_than", 1, 2.5),
        ("greater_than", 1, float("nan")),
        ("greater_than", 1, float("inf")),
        ("less_than", 1, 1),
        ("less_than", 1, False),
        ("less_than", 1, None),
        ("less_than", 1, -(2**53)),
        ("in", [1], True),
        ("in", [True], 1),
        ("in", ["1"], 1),
        ("in", ["a"], "b"),
        ("contains", "b", "ac"),
        ("contains", "", "abc"),
        ("contains", "b", ["b"]),
        ("contains", 1, "1"),
        ("contains", None, "None"),
    ],
)
def test_a_fact_that_differs_or_is_of_another_type_meets_nothing(
    operator: str, value: Any, fact: Any
) -> None:
    assert not met(operator, value, fact)


def test_what_is_not_met_says_what_is_and_what_should_be() -> None:
    checks = (check("equals", "paid"), check("greater_than", 10), check("in", ["a", "b"]))
    assert [each.why for each in unmet(checks, {"x": "open"})] == [
        "x is 'open', and must equal 'paid'",
        "x is text, which can't be compared; it must be greater than 10",
        "x is 'open', and must be one of 'a', 'b'",
    ]
    (missing,) = unmet(checks[:1], {})
    assert missing.why == "x is not known, and must equal 'paid'"


@given(instances(Precondition))
def test_a_missing_fact_meets_no_precondition(drawn: Precondition) -> None:
    assert len(unmet((drawn,), {})) == 1


@given(instances(Precondition), st.floats() | st.lists(st.integers()) | st.binary())
def test_what_is_no_scalar_meets_no_precondition(drawn: Precondition, fact: Any) -> None:
    assert not is_scalar(fact)
    assert len(unmet((drawn,), {drawn.fact: fact})) == 1


@given(SCALARS, SCALARS)
def test_equals_and_not_equals_never_both_hold_and_only_equal_values_of_one_type_are_the_same(
    one: Any, other: Any
) -> None:
    assert not (met("equals", one, other) and met("not_equals", one, other))
    assert met("equals", one, other) == same(one, other) == (repr(one) == repr(other))
