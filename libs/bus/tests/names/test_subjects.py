"""Ids are RFC 9562 UUIDv5 and depend on every part; tokens are safe, stable and distinct."""

import re
import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lictor_bus.names import subjects
from lictor_schema.core import ids

TEXT = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=500)
SAFE = re.compile(r"[A-Za-z0-9_~-]{1,64}\Z")


@given(st.tuples(TEXT, TEXT, TEXT, TEXT, TEXT))
def test_decision_ids_are_uuid5_of_their_parts(parts: tuple[str, str, str, str, str]):
    escaped = (p.replace("\\", "\\\\").replace("\x1f", "\\s") for p in parts)
    expected = uuid.uuid5(ids._DECISION, "\x1f".join(escaped))
    assert ids.decision_id(*parts) == str(expected)
    assert uuid.UUID(ids.decision_id(*parts)).version == 5


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (("a", "bc"), ("ab", "c")),
        (("a\x1fb", "c"), ("a", "b\x1fc")),
        (("a\\s", "b"), ("a\x1f", "b")),
        (("a\\", "b"), ("a", "\\b")),
    ],
)
def test_parts_never_run_into_each_other(one: tuple[str, str], other: tuple[str, str]):
    assert ids.episode_id(*one) != ids.episode_id(*other)


@given(TEXT)
def test_any_id_becomes_a_safe_token(raw: str):
    assert SAFE.match(subjects.token(raw))


@given(TEXT, TEXT)
def test_different_ids_have_different_tokens(one: str, other: str):
    assert (subjects.token(one) == subjects.token(other)) == (one == other)


@pytest.mark.parametrize("raw", ["task-1", "A_b-9", "x" * 64])
def test_safe_ids_stay_readable(raw: str):
    assert subjects.token(raw) == raw


@pytest.mark.parametrize(
    "raw", ["a.b", "a b", "*", ">", "~x", "x" * 65, "日本語", "a\nb", "x" * 500]
)
def test_other_ids_are_hashed_behind_a_tilde(raw: str):
    assert subjects.token(raw).startswith("~")
    assert subjects.event("r.t", raw).count(".") == 3


@given(TEXT, st.integers(1, 256))
def test_the_partition_is_one_of_those_there_are(task: str, partitions: int):
    assert 0 <= subjects.partition_of(subjects.token(task), partitions) < partitions
