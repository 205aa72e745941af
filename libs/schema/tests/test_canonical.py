"""Canonical JSON follows RFC 8785, and every doubtful value has a stated fate."""

import json
import struct
import unicodedata
from typing import Any

import pytest
import rfc8785
from hypothesis import given, settings
from strategies import FINITE_JSON

from lictor_schema import (
    CanonicalError,
    ClaimType,
    OperatorContext,
    SchemaError,
    canonical_json,
    content_hash,
    hash_bytes,
    parse_json,
)
from lictor_schema.canonical import MAX_DEPTH

# RFC 8785, appendix B: the bits of a double and its text.
NUMBERS = {
    "0000000000000000": "0",
    "8000000000000000": "0",
    "0000000000000001": "5e-324",
    "8000000000000001": "-5e-324",
    "7fefffffffffffff": "1.7976931348623157e+308",
    "ffefffffffffffff": "-1.7976931348623157e+308",
    "4340000000000000": "9007199254740992",
    "c340000000000000": "-9007199254740992",
    "4430000000000000": "295147905179352830000",
    "44b52d02c7e14af5": "9.999999999999997e+22",
    "44b52d02c7e14af6": "1e+23",
    "44b52d02c7e14af7": "1.0000000000000001e+23",
    "444b1ae4d6e2ef4e": "999999999999999700000",
    "444b1ae4d6e2ef4f": "999999999999999900000",
    "444b1ae4d6e2ef50": "1e+21",
    "3eb0c6f7a0b5ed8c": "9.999999999999997e-7",
    "3eb0c6f7a0b5ed8d": "0.000001",
    "41b3de4355555553": "333333333.3333332",
    "41b3de4355555554": "333333333.33333325",
    "41b3de4355555555": "333333333.3333333",
    "41b3de4355555556": "333333333.3333334",
    "41b3de4355555557": "333333333.33333343",
    "becbf647612f3696": "-0.0000033333333333333333",
    "43143ff3c1cb0959": "1424953923781206.2",
}


@pytest.mark.parametrize(("bits", "text"), NUMBERS.items())
def test_numbers_are_written_as_appendix_b_says(bits: str, text: str) -> None:
    (number,) = struct.unpack(">d", bytes.fromhex(bits))
    if text.lstrip("-").isdigit() and abs(int(text)) > 2**53 - 1:
        # Stricter than the RFC on purpose: no reader could be sure of such an integer.
        with pytest.raises(CanonicalError, match=r"beyond 2\*\*53 - 1"):
            canonical_json(number)
    else:
        assert canonical_json(number) == text.encode()


def test_the_example_of_section_3_2_2_is_reproduced() -> None:
    source = r"""{
      "numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
      "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/",
      "literals": [null, true, false]
    }"""
    assert canonical_json(parse_json(source)).decode() == (
        '{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],'
        '"string":"€$\\u000f\\nA\'B\\"\\\\\\\\\\"/"}'
    )


def test_keys_are_sorted_by_utf_16_units_as_in_section_3_2_3() -> None:
    keys = ["\u20ac", "\r", "\ufb33", "1", "\U0001f600", "\u0080", "\u00f6"]
    written = json.loads(canonical_json(dict.fromkeys(keys, 0)), object_pairs_hook=list)
    assert [key for key, _ in written] == [
        "\r", "1", "\u0080", "\u00f6", "\u20ac", "\U0001f600", "\ufb33",
    ]  # fmt: skip


@settings(max_examples=300, deadline=None)
@given(FINITE_JSON)
def test_the_fast_path_writes_the_same_bytes_as_rfc8785(value: Any) -> None:
    assert canonical_json(value) == rfc8785.dumps(value)


@settings(max_examples=200, deadline=None)
@given(FINITE_JSON)
def test_canonical_json_reads_back_to_the_same_canonical_json(value: Any) -> None:
    text = canonical_json(value)
    assert canonical_json(parse_json(text)) == text


def test_the_order_of_keys_does_not_matter() -> None:
    assert content_hash({"a": 1, "b": [2]}) == content_hash({"b": [2], "a": 1})


def test_one_and_one_point_zero_are_the_same_number() -> None:
    assert canonical_json([1, 1.0]) == b"[1,1]"


def test_negative_zero_becomes_zero() -> None:
    assert canonical_json(-0.0) == b"0"


def test_nfc_and_nfd_are_different_texts() -> None:
    nfc, nfd = (unicodedata.normalize(form, "é") for form in ("NFC", "NFD"))
    assert content_hash(nfc) != content_hash(nfd)


@pytest.mark.parametrize("value", [2**53, 2**53 + 1, -(2**53), 10**400])
def test_an_unsafe_integer_is_refused_with_its_place(value: int) -> None:
    with pytest.raises(CanonicalError, match=r"^a/1 is an integer beyond 2\*\*53 - 1"):
        canonical_json({"a": [0, value]})


@pytest.mark.parametrize("value", [2**53 - 1, -(2**53) + 1])
def test_the_largest_safe_integers_are_written(value: int) -> None:
    assert canonical_json(value) == str(value).encode()


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
def test_a_number_that_is_not_finite_is_refused_with_its_place(value: float) -> None:
    with pytest.raises(CanonicalError, match=r"^telemetry/p99 is "):
        canonical_json({"telemetry": {"p99": value}})


@pytest.mark.parametrize("value", [{"a": "\ud800"}, {"a": {"\udfff": 1}}, {"a": ["\ud83d"]}])
def test_half_a_surrogate_pair_is_refused_with_its_place(value: Any) -> None:
    with pytest.raises(CanonicalError, match=r"^a.* holds half of a surrogate pair"):
        canonical_json(value)


@pytest.mark.parametrize("key", [1, None, True, 1.5, ("a",), b"a"])
def test_a_key_that_is_not_a_string_is_refused_with_its_place(key: object) -> None:
    with pytest.raises(CanonicalError, match=r"^a has the key .* which is not a string"):
        canonical_json({"a": {key: 1}})


@pytest.mark.parametrize("value", [b"bytes", {1, 2}, object(), 1j])
def test_a_value_json_does_not_have_is_refused(value: object) -> None:
    with pytest.raises(CanonicalError, match="which JSON does not have"):
        canonical_json([value])


def nested(depth: int) -> Any:
    """A list in a list, `depth` levels deep."""
    value: Any = 1
    for _ in range(depth):
        value = [value]
    return value


def test_nesting_is_bounded_in_both_directions() -> None:
    assert parse_json(canonical_json(nested(MAX_DEPTH))) == nested(MAX_DEPTH)
    with pytest.raises(CanonicalError, match="nested deeper than 64"):
        canonical_json(nested(MAX_DEPTH + 1))
    with pytest.raises(CanonicalError, match="nested deeper than 64"):
        parse_json("[" * (MAX_DEPTH + 1) + "]" * (MAX_DEPTH + 1))
    with pytest.raises(CanonicalError, match="nested deeper than 64"):
        parse_json("[" * 200_000 + "]" * 200_000)


def test_enumerations_and_tuples_are_written_as_json() -> None:
    assert canonical_json({"t": (ClaimType.PROGRESS,)}) == b'{"t":["progress"]}'


def test_a_model_is_hashed_by_its_wire_form() -> None:
    context = OperatorContext(channel="telegram")
    assert content_hash(context) == content_hash(json.loads(context.to_json()))
    assert content_hash(context) == hash_bytes(canonical_json(context))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('{"a": 1, "a": 1}', "the key 'a' stands twice"),
        ('[{"b": {"a": 1, "\\u0061": 2}}]', "the key 'a' stands twice"),
        ("NaN", "NaN is not JSON"),
        ('{"a": [-Infinity]}', "-Infinity is not JSON"),
        ("1e999", "1e999 is too large"),
        ('"\\ud800"', "half of a surrogate pair"),
        ('{"\\udc00": 1}', "half of a surrogate pair"),
        ("\ud800", "not JSON"),
        ('"\ud800"', "half of a surrogate pair"),
        (b'"\xff"', "not UTF-8"),
        ('"a"'.encode("utf-16"), "not UTF-8"),
        (b'\xef\xbb\xbf"a"', "not JSON"),
        ("{} {}", "not JSON"),
        ("", "not JSON"),
        ("{'a': 1}", "not JSON"),
        ('"\n"', "not JSON"),
        ("9" * 5000, "not JSON"),
    ],
)
def test_text_that_is_not_strict_json_is_refused(text: str | bytes, reason: str) -> None:
    with pytest.raises(CanonicalError, match=reason):
        parse_json(text)


def test_a_whole_surrogate_pair_is_one_character() -> None:
    assert parse_json('"\\ud83d\\ude00"') == "\U0001f600"


def test_canonical_errors_belong_to_the_library() -> None:
    assert issubclass(CanonicalError, SchemaError)
