"""The values of a program's parameters: one spelling each, of four types, and not too many to be looked at."""

import math
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from lictor_schema.core.canonical_json import canonical_json, content_hash, parse_json
from lictor_schema.proofs.inputs import (
    MAX_INPUT_BYTES,
    MAX_INT_BITS,
    InputParameter,
    InputRefused,
    Inputs,
    are_same,
    read_input,
    read_inputs,
    shown_inputs,
    why_not_of,
    written_input,
    written_inputs,
)

ADAPTER: TypeAdapter[Inputs] = TypeAdapter(Inputs)
PLAIN = (
    st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats()
    | st.text(st.characters(max_codepoint=0x2FFFF, exclude_categories=["Cs"]))
)


def identity(value: object) -> tuple[str, str]:
    return type(value).__name__, value.hex() if isinstance(value, float) else repr(value)


@given(PLAIN)
def test_what_is_written_reads_back_as_the_very_same_value(value: Any) -> None:
    written = written_input(value)
    again = read_input(parse_json(canonical_json(written)))
    assert identity(again) == identity(value)
    assert ADAPTER.validate_python({"x": written}) == {"x": written}


@given(PLAIN, PLAIN)
def test_values_are_the_same_exactly_if_their_hashes_are(one: Any, other: Any) -> None:
    first, second = written_inputs({"x": one}), written_inputs({"x": other})
    alike = identity(one) == identity(other)
    assert are_same(first, second) is alike
    assert (content_hash(first) == content_hash(second)) is alike


def test_true_is_not_one_and_none_given_is_not_something_given() -> None:
    assert not are_same({"x": True}, {"x": 1})
    assert not are_same(None, {"x": 1})
    assert are_same(None, None)


@pytest.mark.parametrize(
    "written",
    [
        None,
        [1],
        {},
        {"map": []},
        1.5,
        5.0,
        2**53,
        {"int": "5"},
        {"int": "0009007199254740993"},
        {"int": "9007199254740993", "float": "1.0"},
        {"int": "1_0000000000000000000000"},
        {"int": "9" * 5000},
        {"float": "1"},
        {"float": " 1.0"},
        {"float": "NaN"},
        {"float": "0x1p3"},
        {"float": 1.5},
        "\U00030000",
        "half \ud800",
    ],
)
def test_every_other_spelling_is_refused(written: Any) -> None:
    with pytest.raises(InputRefused):
        read_input(written)
    with pytest.raises(ValidationError):
        ADAPTER.validate_python({"x": written})


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (Decimal("1.5"), "Decimal"),
        (None, "NoneType"),
        ([1], "list"),
        ({"a": 1}, "dict"),
        ((1,), "tuple"),
        (object(), "bool, int, float or str"),
        (type("Text", (str,), {})("a"), "Text"),
        (2**MAX_INT_BITS, "bits"),
        ("\ud800", "surrogate"),
    ],
)
def test_what_no_parameter_takes_is_refused_with_what_to_give_instead(
    value: object, told: str
) -> None:
    with pytest.raises(InputRefused, match=told):
        written_inputs({"x": value})


def test_values_are_bounded_together() -> None:
    with pytest.raises(InputRefused, match="bytes together"):
        written_inputs({"x": "a" * MAX_INPUT_BYTES})
    with pytest.raises(InputRefused, match="at most 100"):
        written_inputs({f"x{number}": 1 for number in range(101)})
    with pytest.raises(ValidationError, match="bytes together"):
        ADAPTER.validate_python({"x": "a" * MAX_INPUT_BYTES})
    with pytest.raises(ValidationError):
        ADAPTER.validate_python({})


TAKES = (InputParameter(name="limit", type="int"), InputParameter(name="rate", type="float"))


@pytest.mark.parametrize(
    ("values", "code", "told"),
    [
        ({"limit": 5, "rate": 0.5}, None, ""),
        ({"limit": 5, "rate": math.nan}, None, ""),
        ({}, "inputs.not_run", "no value is given for limit, rate"),
        ({"limit": 5}, "inputs.not_run", "no value is given for rate"),
        ({"limit": 5, "rate": 0.5, "x": 1}, "inputs.unknown", "for x, and main takes limit: int"),
        ({"limit": True, "rate": 0.5}, "inputs.type", "limit of main is int"),
        ({"limit": 5, "rate": 5}, "inputs.type", "rate of main is float"),
        ({"limit": "5", "rate": 0.5}, "inputs.type", "type str"),
    ],
)
def test_values_are_held_against_the_parameters(values: Any, code: str | None, told: str) -> None:
    found = why_not_of("main", TAKES, written_inputs(values))
    assert (found and found.code) == code
    assert found is None or told in found.message


def test_a_program_that_takes_nothing_is_given_nothing() -> None:
    assert why_not_of("main", (), None) is None
    found = why_not_of("main", (), {"x": 1})
    assert found is not None
    assert "main takes nothing" in found.message


def test_values_are_shown_as_python_writes_them() -> None:
    given = written_inputs({"b": "a\n  b", "a": 2**60, "c": -0.0})
    assert shown_inputs(given) == (f"a = {2**60}", "b = 'a\\n  b'", "c = -0.0")
    assert read_inputs(None) == {}
