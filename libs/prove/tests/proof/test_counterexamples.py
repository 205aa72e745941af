"""A run counts only when evaluation confirms it: it breaks what the goal is about, and keeps every promise."""

from __future__ import annotations

import ast

import pytest

from lictor_ir.goals import goals
from lictor_ir.solver.answers import Read, SolverModel
from lictor_ir.text import read
from lictor_prove.proof.counterexamples import Candidate

DOCUMENT = """\
effect-ir v1
program "p.py" target main

trusted words() -> list<str>
trusted note(word: str) -> none

effect c1: words()
{calls}
assume c1 for j in result(c1) : len(result(c1)[j]) == 1 says "letters"
oblige no_error for i in result(c1) : result(c1)[i] == "a" says "only a"
"""


def words(*items: str, at: int) -> SolverModel:
    """The call returns these; the obligation is looked at for one of them."""
    reads = [Read("c1", True, ("[]",), (number,), item) for number, item in enumerate(items)]
    return SolverModel((*reads, Read("i", False, (), (), at)))


MODELS = [
    (("b",), 0, True),
    (("a", "b"), 1, True),
    (("a",), 0, False),
    (("bc",), 0, False),
    (("b", "cd"), 0, False),
    (("b", "a", ""), 0, False),
]


@pytest.mark.parametrize(("items", "at", "counts"), MODELS)
def test_a_run_that_can_not_go_on_keeps_what_is_promised_of_every_item(
    items: tuple[str, ...], at: int, counts: bool
) -> None:
    document = read(DOCUMENT.format(calls="effect c2: note(word = result(c1)[9])"))
    (goal,) = [each for each in goals(document, {}) if each.kind == "no_error"]
    assert (Candidate(document, words(*items, at=at)).breaks(goal) is not None) == counts


@pytest.mark.parametrize(("items", "at"), [(items, at) for items, at, _ in MODELS])
def test_items_of_a_model_that_break_a_promise_are_mended(items: tuple[str, ...], at: int) -> None:
    document = read(DOCUMENT.format(calls=""))
    (goal,) = [each for each in goals(document, {}) if each.kind == "no_error"]
    found = Candidate(document, words(*items, at=at)).breaks(goal)
    assert found is not None or "b" not in items
    if found is not None:
        ((_, returned),) = found.results
        assert {len(word) for word in ast.literal_eval(returned)} == {1}


def test_a_run_that_makes_a_call_with_an_unread_promise_is_doubted() -> None:
    document = read(DOCUMENT.format(calls=""))
    (goal,) = [each for each in goals(document, {}) if each.kind == "no_error"]
    doubted = Candidate(document, words("b", at=0), {"c1"})
    assert doubted.breaks(goal) is None
    assert doubted.is_doubted
    other = Candidate(document, words("b", at=0), {"c7"})
    assert other.breaks(goal) is not None
    assert not other.is_doubted
