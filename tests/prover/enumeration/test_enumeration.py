"""The front-end refuses an operation, or says exactly what Python does: a sample of `./taskw enumerate`."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import pytest
from enumeration import comparison, run
from enumeration.combinations import SECTIONS
from enumeration.comparison import Combination, Difference, compared

from lictor_ir.document import Document
from lictor_prove.python import read_program

MOST = 2_000
"""Combinations of one section that are tried here."""
PARTS = 16
# Comparing with `is`, inverting a bool and the like is warned of; here it is tried on purpose.
pytestmark = pytest.mark.filterwarnings("ignore")


@cache
def sample() -> list[Combination]:
    """The same combinations each time, of every section."""
    chosen: list[Combination] = []
    for section, make in SECTIONS.items():
        bodies = list(make())
        drawn = random.Random(section).sample(bodies, min(MOST, len(bodies)))
        chosen += [Combination(section, tuple(body)) for body in drawn]
    return chosen


@pytest.mark.parametrize("part", range(PARTS))
def test_what_is_accepted_does_what_python_does(
    part: int, record_property: Callable[[str, object], None]
) -> None:
    outcomes = [compared(each) for each in sample()[part::PARTS]]
    differences = [each for each in outcomes if isinstance(each, Difference)]
    assert not differences, "\n".join(map(str, differences[:3]))
    tally = Counter(each for each in outcomes if isinstance(each, str))
    for outcome, count in tally.items():
        record_property(outcome, count)
    # Where next to all is refused, nothing is tried.
    assert tally["accepted"] >= len(outcomes) * 0.05, dict(tally)
    assert tally["rejected"] >= len(outcomes) * 0.05, dict(tally)


def test_a_sum_of_floats_that_begins_with_a_vast_int_may_raise() -> None:
    for items in ("[SHARE]", "floats()"):
        found = compared(Combination("here", ("y = an_int()", f"observe(sum({items}, y))")))
        assert not isinstance(found, Difference), found


# -- the check itself is checked -------------------------------------------------------------------


def first_difference(*body: str) -> str:
    found = compared(Combination("here", body))
    return found.what if isinstance(found, Difference) else ""


def test_an_error_that_nobody_tells_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    body = ("x = ints()", "observe(x[0])")
    assert first_difference(*body) == ""

    def without_obligations(*given: Any, **named: Any) -> Document:
        return replace(read_program(*given, **named), obligations=())

    monkeypatch.setattr(comparison, "read_program", without_obligations)
    assert "IndexError" in first_difference(*body)


def test_a_value_of_another_type_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    assert first_difference("observe(True)") == ""

    def one_for_true(source: str, **named: Any) -> Document:
        return read_program(source.replace("True", "1"), **named)

    monkeypatch.setattr(comparison, "read_program", one_for_true)
    assert "passes value=1; the program passed True" in first_difference("observe(True)")


def test_an_answer_that_flows_into_an_unknown_unlabelled_is_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    body = ("x = a_str()", "observe(x.upper())")
    assert first_difference(*body) == ""

    def of_nothing(*given: Any, **named: Any) -> Document:
        document = read_program(*given, **named)
        unknowns = tuple(replace(each, labels=()) for each in document.unknowns)
        return replace(document, unknowns=unknowns)

    monkeypatch.setattr(comparison, "read_program", of_nothing)
    assert "is no label of it" in first_difference(*body)


def test_a_reader_that_fails_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(*_given: Any, **_named: Any) -> Document:
        raise KeyError("x")

    monkeypatch.setattr(comparison, "read_program", failing)
    assert first_difference("observe(1)") == "reading raises KeyError('x')"


def test_the_table_tells_what_each_python_found_and_so_does_the_exit_code(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    counted = {"combinations": 9, "accepted": 4, "cautious": 1, "rejected": 3, "differences": 0}
    told = {
        "3.11": {"python": "3.11.9", **counted, "seconds": 0.1, "findings": []},
        "3.12": {"python": "3.12", "found": False},
    }
    monkeypatch.setattr(run, "VERSIONS", tuple(told))
    monkeypatch.setattr(run, "asked", lambda version, _options: told[version])
    assert run.main([]) == 0
    heading, row, missing = capsys.readouterr().out.splitlines()
    assert dict(zip(heading.split(), row.split(), strict=True))["combinations"] == "9"
    assert missing.split() == ["3.12", "not", "found"]

    told["3.11"] |= {"differences": 1, "findings": ["this"]}
    assert run.main([]) == 1
    assert "DIFFERENCE this" in capsys.readouterr().out


def test_a_python_that_is_not_here_is_not_found() -> None:
    assert run.python_of("3.99") is None
