"""Generated programs do what their documents say, and nothing that was proved about them is broken.

500 programs here, always the same; 20 000 new ones with `./taskw properties`.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest
from differential import Differential, FalseProof, Missed, desk
from generated_programs import computing_programs, programs
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from predicted_traces import Mismatch

from lictor_ir.contracts import Relation
from lictor_ir.document import Atom, Document, Obligation, ObligationKind, Span
from lictor_ir.goals import guarantees
from lictor_ir.goals.occurrences import facts
from lictor_ir.solver import z3_lowering
from lictor_ir.terms import FALSE, TRUE, Term, apply
from lictor_ir.types import INT
from lictor_prove.layer_model import Layer
from lictor_prove.python.interpreter import trusted_calls
from lictor_prove.python.operations import arithmetic

PROGRAMS = 500
MOST_REJECTED = 0.35
LEAST_PROVED = 0.02


@pytest.fixture(scope="module")
def layer() -> Layer:
    return desk()


def check_many(
    differential: Differential,
    count: int,
    *,
    fixed: bool,
    smallest: bool = True,
    written: st.SearchStrategy[str] | None = None,
) -> Counter[str]:
    """Generates and checks programs; raises for one that fails, made as small as it can be."""

    @settings(
        max_examples=count,
        deadline=None,
        derandomize=fixed,
        database=None,
        phases=(Phase.generate, Phase.shrink) if smallest else (Phase.generate,),
        suppress_health_check=(HealthCheck.too_slow, HealthCheck.data_too_large),
    )
    @given(
        programs() if written is None else written,
        st.integers(0, 20),
        st.sampled_from((1, 2, 4, 5, 8)),
        st.sampled_from((0, 0, 0, 1, -1)),
        st.integers(0, 10_000),
    )
    def check(program: str, first: int, step: int, slack: int, seed: int) -> None:
        differential.check(program, first, step, slack, seed)

    check()
    return differential.tally


@pytest.mark.hypothesis
@pytest.mark.timeout(0)
def test_documents_predict_runs_and_proofs_hold(layer: Layer) -> None:
    count = max(PROGRAMS, settings.default.max_examples if settings.default else 0)
    differential = Differential(layer)
    tally = check_many(differential, count, fixed=count == PROGRAMS)
    told = f"{dict(tally)}; rejected for {differential.reasons.most_common()}"
    assert tally["programs"] >= PROGRAMS * 0.9, told
    # A test in which most programs are refused, or nothing is proved, says nothing.
    assert tally["rejected"] <= tally["programs"] * MOST_REJECTED, told
    assert tally["proved"] >= tally["programs"] * LEAST_PROVED, told
    assert tally["refuted"] >= tally["programs"] * LEAST_PROVED, told


# -- the check itself is checked: a slip put in on purpose is found ---------------------------------


def found_by_checking(layer: Layer, count: int = 200) -> str:
    """What the check says about the prover as it is now; empty when it finds nothing."""
    try:
        check_many(
            Differential(layer), count, fixed=True, smallest=False, written=computing_programs()
        )
    except (Mismatch, FalseProof, Missed) as slip:
        return type(slip).__name__
    return ""


def test_division_that_rounds_up_is_noticed(layer: Layer, monkeypatch: pytest.MonkeyPatch) -> None:
    def rounding_up(op: str, *args: Term, **param: str) -> Term:
        if op != "floordiv":
            return apply(op, *args, **param)
        return apply("neg", apply("floordiv", apply("neg", args[0]), args[1]))

    monkeypatch.setattr(arithmetic, "apply", rounding_up)
    assert found_by_checking(layer) == "Mismatch"


def test_effect_without_its_path_condition_is_noticed(
    layer: Layer, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unguarded(*given: Any) -> Atom:
        return replace(Atom(*given), guard=TRUE)

    monkeypatch.setattr(trusted_calls, "Atom", unguarded)
    assert found_by_checking(layer) == "Mismatch"


def test_error_that_is_not_told_is_noticed(layer: Layer, monkeypatch: pytest.MonkeyPatch) -> None:
    read = Differential.read

    def without_errors(differential: Differential, source: str) -> Document:
        document = read(differential, source)
        return replace(
            document,
            obligations=tuple(
                each for each in document.obligations if each.kind is not ObligationKind.NO_ERROR
            ),
        )

    monkeypatch.setattr(Differential, "read", without_errors)
    # Behind an error that is not told, everything may be proved.
    assert found_by_checking(layer) in ("Missed", "FalseProof")


def test_obligation_that_python_does_without_is_noticed(
    layer: Layer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a document gets wrong behind it would not be seen."""
    read = Differential.read

    def demanding(differential: Differential, source: str) -> Document:
        document = read(differential, source)
        wrong = Obligation(ObligationKind.NO_ERROR, FALSE, "nothing", span=Span(1, 1, 1, 2))
        return replace(document, obligations=(wrong, *document.obligations))

    monkeypatch.setattr(Differential, "read", demanding)
    assert found_by_checking(layer) == "Mismatch"


def test_goal_that_forgets_an_effect_is_noticed(
    layer: Layer, monkeypatch: pytest.MonkeyPatch
) -> None:
    def but_the_last(document: Document, relation: Relation) -> tuple[list[Any], list[str]]:
        found, undecided = facts(document, relation)
        return found[:-1], undecided

    monkeypatch.setattr(guarantees, "facts", but_the_last)
    assert found_by_checking(layer) == "FalseProof"


def test_solver_that_is_told_a_wrong_order_is_noticed(
    layer: Layer, monkeypatch: pytest.MonkeyPatch
) -> None:
    ordered = z3_lowering.Lowering._ordered

    def off_by_one(lowering: Any, op: str, types: Any, below: list[Any]) -> Any:
        left, right = below
        whole = tuple(types) == (INT, INT)
        return ordered(lowering, op, types, [left + 1, right] if whole else below)

    monkeypatch.setattr(z3_lowering.Lowering, "_ordered", off_by_one)
    assert found_by_checking(layer) == "FalseProof"
