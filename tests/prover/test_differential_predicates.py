"""Predicates of generated layers say what their lambdas say, and nothing that was proved with them is broken.

150 layers here, always the same; 20 000 new ones with `./taskw properties`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from generated_predicates import Case, cases
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from predicate_runs import FalseProof, Misread, Predicates

from lictor_ir.contracts import Relation
from lictor_ir.document import Document
from lictor_ir.goals import guarantees
from lictor_ir.goals.occurrences import facts
from lictor_ir.terms import Term, apply
from lictor_prove.python import predicates
from lictor_prove.python.interpreter import every_item, trusted_calls
from lictor_prove.python.operations import arithmetic

CASES = 150


def check_many(checked: Predicates, count: int, *, fixed: bool, smallest: bool = True) -> None:
    """Generates and checks layers; raises for one that fails, made as small as it can be."""

    @settings(
        max_examples=count,
        deadline=None,
        derandomize=fixed,
        database=None,
        phases=(Phase.generate, Phase.shrink) if smallest else (Phase.generate,),
        suppress_health_check=(HealthCheck.too_slow, HealthCheck.data_too_large),
    )
    @given(cases(), st.integers(0, 10_000))
    def check(case: Case, seed: int) -> None:
        checked.check(case, seed)

    check()


@pytest.mark.hypothesis
@pytest.mark.timeout(0)
def test_predicates_are_read_as_python_runs_them(tmp_path: Path) -> None:
    count = max(CASES, settings.default.max_examples if settings.default else 0)
    checked = Predicates(tmp_path)
    check_many(checked, count, fixed=count == CASES)
    tally = checked.tally
    # A test in which most is refused, or nothing is proved, says nothing.
    assert tally["layers refused"] <= tally["cases"] * 0.1, tally
    assert tally["predicates read"] >= tally["predicates refused"], tally
    assert tally["about items"] >= tally["cases"] * 0.5, tally
    assert tally["proved"] >= tally["cases"] * 0.02, tally
    assert tally["guarantees held"] >= tally["cases"], tally


# -- the check itself is checked: a slip put in on purpose is found ---------------------------------


def found_by_checking(folder: Path) -> str:
    """What the check says about the prover as it is now; empty when it finds nothing."""
    try:
        check_many(Predicates(folder), CASES, fixed=True, smallest=False)
    except (Misread, FalseProof) as slip:
        return type(slip).__name__
    return ""


def test_a_global_taken_for_a_name_of_the_lambda_is_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(predicates, "local_names", lambda _: frozenset[str]())
    assert found_by_checking(tmp_path) == "Misread"


def test_a_difference_that_is_turned_round_is_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def turned(op: str, *args: Term, **param: str) -> Term:
        return apply(op, *(reversed(args) if op == "sub" else args), **param)

    monkeypatch.setattr(arithmetic, "apply", turned)
    assert found_by_checking(tmp_path) == "Misread"


def test_a_demand_that_is_forgotten_is_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def nothing(*_: Any) -> None:
        return None

    monkeypatch.setattr(trusted_calls.TrustedCalls, "_demand", nothing)
    assert found_by_checking(tmp_path) == "FalseProof"


def test_a_promise_of_one_item_taken_for_one_of_all_is_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = every_item.EveryItem.read

    def of_all(self: every_item.EveryItem, *args: Any, stop: bool) -> Term:
        del stop
        return read(self, *args, stop=False)

    monkeypatch.setattr(every_item.EveryItem, "read", of_all)
    assert found_by_checking(tmp_path) == "Misread"


def test_a_goal_that_forgets_an_effect_is_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def but_the_last(document: Document, relation: Relation) -> tuple[list[Any], list[str]]:
        found, undecided = facts(document, relation)
        return found[:-1], undecided

    monkeypatch.setattr(guarantees, "facts", but_the_last)
    assert found_by_checking(tmp_path) == "FalseProof"
