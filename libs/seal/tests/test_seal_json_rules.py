"""What JSON implementations disagree about, through sealing and verifying: one stated rule for each.

The rules stand in docs/formats/canonical-json.md.
"""

import copy
import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lictor_schema.core.canonical_json import canonical_json
from lictor_seal import SealBundle, SealError, TrustStore, verify_bundle


def sealed_file(value: object, seal, log) -> bytes:
    (bundle,) = log([seal({"episodeId": "e", "value": value})])
    return bundle.to_bytes()


def written(data: bytes) -> bytes:
    """How the file spells the value."""
    return data.partition(b'"value":')[2].rpartition(b"}}")[0]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1, b"1"),
        (1.0, b"1"),
        (-0.0, b"0"),
        (0, b"0"),
        (1e21, b"1e+21"),
        (0.1 + 0.2, b"0.30000000000000004"),
        (2**53 - 1, b"9007199254740991"),
        (-(2**53) + 1, b"-9007199254740991"),
        ("\u00e9", "\u00e9".encode()),
        ("e\u0301", "e\u0301".encode()),
        ("\r\n", b'"\\r\\n"'),
        ("\U0001f512", "\U0001f512".encode()),
    ],
)
def test_a_value_has_one_spelling_and_verifies(
    value: object, text: bytes, seal, log, trust: TrustStore
) -> None:
    """Contract scenario 38: every odd value by a stated rule."""
    data = sealed_file(value, seal, log)
    assert text in written(data)
    assert verify_bundle(data, trust).ok


@pytest.mark.parametrize(("one", "other"), [(1, 1.0), (0, -0.0), (1e2, 100)])
def test_one_number_has_one_hash_however_it_was_written(one, other, seal, log) -> None:
    assert sealed_file(one, seal, log) == sealed_file(other, seal, log)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("\u00e9", "e\u0301"),
        ("a\nb", "a\r\nb"),
        ("2026-01-01T00:00:00.001Z", "2026-01-01T00:00:00.999Z"),
        (1, "1"),
        (True, 1),
        (None, False),
        (0.1 + 0.2, 0.3),
        ([], {}),
        ({"a": None}, {}),
    ],
)
def test_different_values_are_kept_apart(one: object, other: object, seal, log, trust) -> None:
    """Contract scenario 38: every odd value by a stated rule."""
    data = sealed_file(one, seal, log)
    assert data != sealed_file(other, seal, log)
    swapped = json.loads(data)
    swapped["sealedEpisode"]["value"] = other
    assert not verify_bundle(canonical_json(swapped) + b"\n", trust).ok


@pytest.mark.parametrize(
    "value",
    [
        float("nan"),
        float("inf"),
        -float("inf"),
        "\ud800",
        "\udfff\ud800",
        {"\ud800": 1},
        {1: "one"},
        {None: 1},
        {True: 1},
        2**53,
        2**53 + 1,
        -(2**53) - 1,
        float(2**53),
    ],
    ids=ascii,
)
def test_what_has_no_spelling_is_never_sealed(value: object, seal) -> None:
    """Contract scenario 38: every odd value by a stated rule."""
    with pytest.raises(SealError, match="no canonical JSON"):
        seal({"episodeId": "e", "value": value})


@pytest.mark.parametrize(
    "text",
    [
        b"NaN",
        b"Infinity",
        b"-Infinity",
        b"1e999",
        b"1.0",
        b"-0",
        b"-0.0",
        b"10e-1",
        b"9007199254740993",
        b'"\\ud800"',
        b'"\\u0031"',
        b'"\xed\xa0\x80"',
        b'{"a":1,"a":1}',
        b'{"b":1,"a":1}',
        b"{1:1}",
        b" 1",
        b"01",
        b"1,",
    ],
)
def test_what_the_rules_do_not_write_is_not_read(text: bytes, seal, log, trust: TrustStore) -> None:
    """Contract scenario 38: every odd value by a stated rule."""
    data = sealed_file(1, seal, log)
    assert data.count(b'"value":1') == 1
    assert not verify_bundle(data.replace(b'"value":1', b'"value":' + text), trust).ok


Path = tuple[str | int, ...]
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
# One of every class of JSON leaf in every episode, whatever else is drawn.
classes = st.fixed_dictionaries(
    {
        "null": st.none(),
        "bool": st.booleans(),
        "int": st.integers(-(2**53) + 1, 2**53 - 1),
        "float": st.floats(-1e15, 1e15),
        "text": texts,
        "empty list": st.just([]),
        "empty object": st.just({}),
        "list": st.lists(texts | st.integers(-9, 9), min_size=1, max_size=3),
        "object": st.dictionaries(texts, st.booleans() | texts, min_size=1, max_size=3),
    }
)


def leaves(value: Any, path: Path = ()) -> Iterator[Path]:
    members = value.items() if isinstance(value, dict) else enumerate(value)
    for name, member in members:
        if isinstance(member, dict | list) and member:
            yield from leaves(member, (*path, name))
        else:
            yield (*path, name)


def neighbour(value: Any) -> Any:
    """The least change of a leaf."""
    if isinstance(value, bool) or value is None:
        return not value
    if isinstance(value, int):
        return value - 1 if value > 0 else value + 1
    if isinstance(value, float):
        return value + 1.0
    if isinstance(value, str):
        return value + "\u0301"
    return [None] if isinstance(value, list) else {"": None}


@given(episode=classes)
def test_the_least_change_of_any_leaf_of_any_class_breaks_the_seal(
    episode: dict[str, Any], seal, log, trust: TrustStore
) -> None:
    """Contract scenario 37: any single change breaks the seal."""
    (bundle,) = log([seal(episode)])
    assert verify_bundle(bundle.to_bytes(), trust).ok
    sealed = json.loads(canonical_json(bundle.sealed_episode))
    for path in leaves(sealed):
        changed = copy.deepcopy(sealed)
        parent = changed
        for name in path[:-1]:
            parent = parent[name]
        parent[path[-1]] = neighbour(parent[path[-1]])
        forged = SealBundle(changed, bundle.leaf_index, bundle.inclusion_proof, bundle.checkpoint)
        report = verify_bundle(forged.to_bytes(), trust)
        failed = {check.name for check in report.failures}
        assert "inclusion" in failed, path
        assert failed & {"seal", "hash", "key", "signature"}, path
