"""Facts about unknowns: how they are written, what they may read, and that runs are held against them."""

from __future__ import annotations

import pytest

from lictor_ir import DocumentError
from lictor_ir.evaluation import learned_facts
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


TWO = """effect-ir v1
program "facts.py" target main

event Told(cents: int)
trusted pay(cents: int) -> none
trusted mail(cents: int) -> none
trusted price() -> int

"""
LOOP = """unknown u1: int says "how many"
let $1 = (if result(u1) < 0 then 0 else result(u1))
unknown u2: int for i in $1 says "left"
unknown u3: int for i in $1 says "price"
effect c1: pay(cents = result(u2, i)) for i in $1
effect c2: mail(cents = result(u3, j)) for j in $1
"""
BEFORE = """unknown u1: int says "one"
unknown u2: int says "other"
"""


@pytest.mark.parametrize(
    ("document", "fits", "differs"),
    [
        pytest.param(
            f"{BEFORE}effect c1: pay(cents = result(u1))\neffect c2: mail(cents = result(u2))\n"
            "fact u1 holds result(u1) < result(u2)\n",
            [("pay", 3), ("mail", 5)],
            [("pay", 5), ("mail", 3)],
            id="another unknown is seen later",
        ),
        pytest.param(
            f"{BEFORE}effect c1: pay(cents = result(u1))\neffect c2: price()\n"
            "effect c3: pay(cents = result(c2))\nfact u1 holds result(u1) < result(c2)\n",
            [("pay", 3), ("price", 7), ("pay", 7)],
            [("pay", 8), ("price", 7), ("pay", 7)],
            id="a call returns later",
        ),
        pytest.param(
            f"{BEFORE}effect c1: pay(cents = 1) when result(u1) < 5\n"
            "effect c2: mail(cents = 1) when result(u1) < 4\nfact u1 holds result(u1) < 4\n",
            [("pay", 1), ("mail", 1)],
            [("pay", 1)],
            id="only guards show it",
        ),
        pytest.param(
            f"{LOOP}fact u2 first 10 next result(u2, i) - result(u3, i)\n",
            [("pay", 10), ("pay", 7), ("mail", 3), ("mail", 5)],
            [("pay", 10), ("pay", 7), ("mail", 5), ("mail", 5)],
            id="what it is made of is seen after the loop",
        ),
        pytest.param(
            f"{LOOP}fact u2 distinct result(u3, i)\n",
            [("pay", 1), ("pay", 1), ("mail", 3), ("mail", 5)],
            [("pay", 1), ("pay", 1), ("mail", 5), ("mail", 5)],
            id="what differs is seen after the loop",
        ),
        pytest.param(
            f"{LOOP}fact u3 first 4 next 4\nfact u2 distinct result(u2, i) - result(u3, i)\n",
            [("pay", 1), ("pay", 2), ("mail", 4), ("mail", 4)],
            [("pay", 1), ("pay", 1), ("mail", 4), ("mail", 4)],
            id="what differs is made of two",
        ),
        pytest.param(
            f"{BEFORE}effect c1: pay(cents = 1)\n    performs Told(cents = result(u1))\n"
            "effect c2: mail(cents = result(u1))\nfact u1 holds result(u1) < 4\n",
            [("pay", 1), ("mail", 3)],
            [("pay", 1), ("mail", 4)],
            id="an event reads it",
        ),
    ],
)
def test_what_is_seen_later_is_held_against_them_too(
    document: str, fits: list[tuple[str, int]], differs: list[tuple[str, int]]
) -> None:
    known = read(TWO + document)
    for calls, is_run in ((fits, True), (differs, False)):
        observed = [
            ObservedCall(effect, {} if effect == "price" else {"cents": cents}, result)
            for effect, cents in calls
            for result in [cents if effect == "price" else None]
        ]
        assert (follows(known, {}, observed, ended=True) is None) is is_run


def test_a_long_run_is_followed_when_there_is_more_to_hold_than_is_kept(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(learned_facts, "MAX_UNSETTLED", 5)
    known = read(f"{TWO}{LOOP}fact u2 first 0 next result(u2, i) - result(u3, i)\n")
    for late, is_run in ((-1, True), (2, False)):
        calls = [("pay", each) for each in range(20)] + [("mail", -1)] * 19 + [("mail", late)]
        calls[-2], calls[-1] = calls[-1], calls[-2]
        observed = [ObservedCall(effect, {"cents": cents}, None) for effect, cents in calls]
        assert (follows(known, {}, observed, ended=True) is None) is is_run


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
