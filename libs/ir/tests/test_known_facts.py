"""Facts about unknowns: how they are written, what they may read, and that runs are held against them."""

from __future__ import annotations

import pytest

from lictor_ir import DocumentError
from lictor_ir.evaluation.following import ObservedCall, follows
from lictor_ir.json.document import from_json, to_json
from lictor_ir.text.document_reader import read
from lictor_ir.text.document_writer import write

HEAD = """effect-ir v1
program "facts.py" target main

trusted price(n: int) -> int
trusted pay(cents: int) -> none
trusted mail(to: str) -> none

effect c1: price(n = 3)
unknown u1: int for i in result(c1) of "c1" says "left"
unknown u2: str for j in result(c1) of "c1" says "a key"
effect c2: pay(cents = result(u1, i)) for i in result(c1)
effect c3: mail(to = result(u2, j)) for j in result(c1)

"""
FACTS = """fact u1 first 10 next result(u1, i) - 3
fact u2 distinct result(u2, j)
fact u2 holds contains(result(u2, j), "@")
"""


def run_of(cents: list[int], people: list[str]) -> list[ObservedCall]:
    return [
        ObservedCall("price", {"n": 3}, len(cents)),
        *(ObservedCall("pay", {"cents": each}, None) for each in cents),
        *(ObservedCall("mail", {"to": each}, None) for each in people),
    ]


def test_they_are_written_and_read_back() -> None:
    document = read(HEAD + FACTS)
    assert len(document.facts) == 3
    assert from_json(to_json(document)) == document
    assert read(write(document)) == document


@pytest.mark.parametrize(
    ("cents", "people", "fits"),
    [
        ([10, 7], ["a@", "b@"], True),
        ([10, 8], ["a@", "b@"], False),
        ([9, 6], ["a@", "b@"], False),
        ([10, 7], ["a@", "a@"], False),
        ([10, 7], ["a@", "b"], False),
        ([], [], True),
    ],
)
def test_a_run_is_held_against_them(cents: list[int], people: list[str], fits: bool) -> None:
    document = read(HEAD + FACTS)
    assert (follows(document, {}, run_of(cents, people), ended=True) is None) is fits
    assert follows(read(HEAD), {}, run_of(cents, people), ended=True) is None


@pytest.mark.parametrize(
    ("fact", "why"),
    [
        ("fact u3 holds true", "is no unknown"),
        ("fact c1 holds true", "is no unknown"),
        ("fact u1 next result(u1, i)", "first"),
        ("fact u1 first 1 holds true", "first"),
        ("fact u1 first 1 when 0 < result(u1, i) next 2", "must be true"),
        ('fact u1 first "a" next result(u1, i)', "must be int"),
        ("fact u1 first 1 next result(u1, i)\nfact u1 first 2 next result(u1, i)", "twice"),
        ("fact u1 first result(u1, 0) next result(u1, i)", "declared later"),
        ("fact u1 holds result(u1, i)", "must be bool"),
    ],
)
def test_what_they_may_not_say(fact: str, why: str) -> None:
    with pytest.raises(DocumentError, match=why):
        read(HEAD + fact + "\n")
