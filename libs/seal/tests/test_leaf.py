"""Sealing straight to bytes gives the bytes of the plain way, and refuses what it refuses."""

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lictor_schema.core.canonical_json import canonical_json
from lictor_schema.seals.episode import DecisionEpisode
from lictor_seal import (
    AlreadySealedError,
    SealBundle,
    SealError,
    SigningKey,
    bundle_of_leaf,
    leaf_data,
    seal_episode,
    seal_leaf,
    unsigned_leaf,
)

KEY = SigningKey.from_seed("example.org/log", bytes(range(32)))
SEALED_AT = "2026-03-01T12:00:00.000Z"
# Around the place of `seal`, and beyond the BMP, where UTF-16 sorts otherwise than code points do.
names = st.text(st.characters(exclude_categories=["Cs"]), max_size=5) | st.sampled_from(
    ["seal", "seal0", "sea", "seak", "seam", "sealed", "\uffff", "\U0001f512", "\u00e9", "s", "t"]
)
values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53) + 1, 2**53 - 1) | st.floats(-1e6, 1e6) | names,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3),
    max_leaves=8,
)


@given(episode=st.dictionaries(names, values, max_size=6))
def test_the_leaf_and_the_bundle_are_those_of_the_plain_way(episode: dict[str, Any]) -> None:
    plain = seal_episode(episode, sealed_at=SEALED_AT, signer=KEY)
    leaf = seal_leaf(episode, sealed_at=SEALED_AT, signer=KEY)
    assert leaf == leaf_data(plain)
    assert unsigned_leaf(episode, sealed_at=SEALED_AT, signer=KEY).sign() == leaf
    proof = (bytes(32), b"\xff" * 32)
    bundle = SealBundle(plain, 7, proof, "caf\u00e9\n\n\u2014 x y\n")
    assert bundle_of_leaf(leaf, 7, proof, bundle.checkpoint) == bundle.to_bytes()


def test_a_correction_is_linked_as_in_the_plain_way(make_episode) -> None:
    first = seal_episode(make_episode(1), sealed_at=SEALED_AT, signer=KEY)
    how: dict[str, Any] = {"sealed_at": SEALED_AT, "signer": KEY, "previous": first}
    assert seal_leaf(make_episode(1), **how) == leaf_data(seal_episode(make_episode(1), **how))


@given(
    summary=st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=9),
    effects=st.dictionaries(
        names.filter(bool), st.integers(-(2**53) + 1, 2**53 - 1) | names | st.none(), max_size=4
    ),
)
def test_an_episode_of_the_model_gives_the_bytes_of_its_json(
    make_episode, summary: str, effects: dict[str, Any]
) -> None:
    value = make_episode(1)
    value["plan"]["summary"], value["outcome"]["effects"] = summary, effects
    episode = DecisionEpisode.from_json(canonical_json(value))
    members = episode.model_dump(mode="json", by_alias=True)
    plain = seal_episode(members, sealed_at=SEALED_AT, signer=KEY)
    assert seal_leaf(episode, sealed_at=SEALED_AT, signer=KEY) == leaf_data(plain)


def test_half_a_surrogate_pair_in_an_episode_that_no_model_checked_is_refused(make_episode) -> None:
    episode = DecisionEpisode.from_json(canonical_json(make_episode(1)))
    unchecked = episode.model_copy(update={"task_id": "\ud800"})
    with pytest.raises(SealError, match="no canonical JSON"):
        seal_leaf(unchecked, sealed_at=SEALED_AT, signer=KEY)


def test_an_episode_of_the_model_can_hold_no_fraction_and_no_unbounded_number() -> None:
    def numbers(schema: Any) -> Iterator[dict[str, Any]]:
        if isinstance(schema, dict):
            if schema.get("type") in ("number", "integer"):
                yield schema
            schema = list(schema.values())
        if isinstance(schema, list):
            for each in schema:
                yield from numbers(each)

    found = list(numbers(DecisionEpisode.model_json_schema()))
    assert len(found) > 10
    for schema in found:
        assert schema["type"] == "integer"
        assert schema["maximum"] <= 2**53 - 1
        assert schema["minimum"] >= -(2**53) + 1


def nested(depth: int) -> object:
    value: object = 0
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize(
    "value",
    [float("nan"), float("inf"), "\ud800", {1: "one"}, 2**53 + 1, b"bytes", nested(63)],
)
@pytest.mark.parametrize("name", ["early", "value"])
def test_what_has_no_canonical_json_is_refused_wherever_it_stands(name: str, value: object) -> None:
    with pytest.raises(SealError, match="no canonical JSON"):
        seal_leaf({name: value}, sealed_at=SEALED_AT, signer=KEY)
    assert seal_leaf({name: nested(62)}, sealed_at=SEALED_AT, signer=KEY)


def test_a_name_that_is_no_string_is_refused() -> None:
    wrong: dict[Any, object] = {1: "one"}
    with pytest.raises(SealError, match="not a string"):
        seal_leaf(wrong, sealed_at=SEALED_AT, signer=KEY)


def test_a_sealed_episode_is_not_sealed_again(make_episode) -> None:
    sealed = seal_episode(make_episode(1), sealed_at=SEALED_AT, signer=KEY)
    with pytest.raises(AlreadySealedError):
        seal_leaf(sealed, sealed_at=SEALED_AT, signer=KEY)
