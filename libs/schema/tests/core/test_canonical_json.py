"""Canonical JSON follows RFC 8785, and every doubtful value has a stated fate."""

import json
import struct
import unicodedata
from typing import Any

import pytest
import rfc8785
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import CHARACTERS, FINITE_JSON, SCALARS

from lictor_schema.core.canonical_json import (
    MAX_DEPTH,
    CanonicalError,
    canonical_json,
    content_hash,
    hash_bytes,
    parse_json,
    plain_json,
    refuse_duplicate_keys,
)
from lictor_schema.errors import SchemaError
from lictor_schema.events.claim import ClaimType
from lictor_schema.events.operator_context import OperatorContext

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


BMP_TEXT = st.text(st.characters(max_codepoint=0xFFFF, exclude_categories=["Cs"]), max_size=6)


@settings(max_examples=300, deadline=None)
@given(
    st.recursive(
        SCALARS,
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(BMP_TEXT, inner, max_size=5),
        max_leaves=20,
    )
)
def test_the_plain_form_is_rfc8785_unless_a_name_goes_beyond_the_bmp(value: Any) -> None:
    assert plain_json(value) == rfc8785.dumps(value)


def test_every_character_is_written_as_rfc8785_writes_it() -> None:
    text = "".join(chr(code) for code in range(0x110000) if not 0xD800 <= code < 0xE000)
    assert canonical_json(text) == rfc8785.dumps(text)


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


def scattered(value: object, draw: st.DrawFn) -> str:
    """JSON text of a value, spaced and escaped at will, whose objects may name a key twice."""
    space = draw(st.sampled_from(["", " ", "\n", " \t\r\n "]))
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=draw(st.booleans()))
    if isinstance(value, list):
        inner = f"{space},{space}".join(scattered(item, draw) for item in value)
        return f"[{space}{inner}{space}]"
    if isinstance(value, dict):
        members = list(value.items())
        if members and draw(st.integers(0, 3)) == 0:
            members.insert(draw(st.integers(0, len(members))), draw(st.sampled_from(members)))
        inner = f"{space},{space}".join(
            f"{scattered(name, draw)}{space}:{space}{scattered(item, draw)}"
            for name, item in members
        )
        return f"{{{space}{inner}{space}}}"
    return json.dumps(value)


# Names and values that look like what stands between them.
TANGLED = st.recursive(
    st.sampled_from(["", ":", '":', ",", "a", "{", "\\", "\u00fc", "\U0001f600"])
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.none(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["", "a", "b", ":", '":', "\u00fc"]), inner, max_size=4)
    ),
    max_leaves=12,
)


@settings(max_examples=500, deadline=None)
@given(data=st.data(), value=TANGLED)
def test_a_key_that_stands_twice_is_refused_however_it_is_written(
    data: st.DataObject, value: object
) -> None:
    text = data.draw(st.composite(lambda draw: scattered(value, draw))())
    repeats = []

    def look(pairs: list[tuple[str, object]]) -> None:
        repeats.append(len({name for name, _ in pairs}) != len(pairs))

    json.loads(text, object_pairs_hook=look)
    for form in (text, text.encode()):
        if any(repeats):
            with pytest.raises(CanonicalError, match="stands twice"):
                refuse_duplicate_keys(form)
        else:
            refuse_duplicate_keys(form)


@settings(max_examples=500, deadline=None)
@given(
    st.binary(max_size=12)
    | st.text(CHARACTERS, max_size=12).map(str.encode)
    | st.lists(
        st.sampled_from(rb'{ } [ ] : , "a" " 1 - . e9 0 null NaN Infinity 1e999 /**/'.split())
        | st.sampled_from([b" ", b"\xff", b"\xef\xbb\xbf", b"\x00"]),
        max_size=8,
    ).map(b"".join)
)
def test_what_the_quick_look_for_duplicates_takes_is_strict_json(text: bytes) -> None:
    try:
        refuse_duplicate_keys(text)
    except CanonicalError:
        return
    parse_json(text)


def test_deep_and_long_texts_get_the_long_look_for_duplicates() -> None:
    deep = "[" * 300 + "]" * 300
    refuse_duplicate_keys(deep)
    with pytest.raises(CanonicalError, match="nested deeper than 64"):
        refuse_duplicate_keys("[" * 200_000 + "]" * 200_000)
    with pytest.raises(CanonicalError, match="the key 'a' stands twice"):
        refuse_duplicate_keys('[{"a": 1, "a": 1}, ' + deep + "]")
    with pytest.raises(CanonicalError, match="not JSON"):
        refuse_duplicate_keys("9" * 5000)


def test_a_whole_surrogate_pair_is_one_character() -> None:
    assert parse_json('"\\ud83d\\ude00"') == "\U0001f600"


def test_canonical_errors_belong_to_the_library() -> None:
    assert issubclass(CanonicalError, SchemaError)
