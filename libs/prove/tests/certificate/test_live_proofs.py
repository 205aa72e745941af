"""Proofs that cvc5 writes now are accepted: of scripts whose proofs are kept, and of goals as programs have them."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from lictor_ir.certificate.cpc import UnknownRule, check
from lictor_ir.goals import Goal, GoalKind
from lictor_ir.regexes import ReConcat, ReRange, ReRepeat, ReText
from lictor_ir.solver.smtlib_lowering import script
from lictor_ir.terms import Term, and_, apply, const, eq, ite, matches, not_, var
from lictor_ir.types import FLOAT, INT, REAL, STR

# It has no types.
cvc5: Any = import_module("cvc5")

ROOT = Path(__file__).parents[4]
SCRIPTS = sorted((ROOT / "libs/ir/tests/certificate/proofs").glob("*.smt2"))


def proof_of(text: str) -> str:
    """cvc5's refutation of a script."""
    solver = cvc5.Solver(cvc5.TermManager())
    for option, setting in (
        ("produce-proofs", "true"),
        ("proof-granularity", "dsl-rewrite"),
        ("strings-exp", "true"),
        ("tlimit-per", "10000"),
    ):
        solver.setOption(option, setting)
    parser = cvc5.InputParser(solver)
    parser.setStringInput(cvc5.InputLanguage.SMT_LIB_2_6, text, "script")
    symbols, said = parser.getSymbolManager(), ""
    while not (command := parser.nextCommand()).isNull():
        said = command.invoke(solver, symbols).strip() or said
    assert said == "unsat"
    (proof,) = solver.getProof()
    written = solver.proofToString(proof, cvc5.ProofFormat.CPC)
    return written.decode("ascii") if isinstance(written, bytes) else written


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_proof_made_now_is_accepted(path: Path) -> None:
    text = path.read_text("ascii")
    assert check(text, proof_of(text)).steps > 0


X, Y = var("x", INT), var("y", INT)
REALLY, TEXT = var("r", REAL), var("s", STR)
PATH = ReConcat((ReText("/home/"), ReRepeat(ReRange("a", "z"), 1, None)))


def refuted(*formulas: Term) -> Goal:
    return Goal("guarantee.0.0", GoalKind.GUARANTEE, 0, formulas[:-1], formulas[-1])


GOALS = {
    "python's floor division": refuted(
        apply("lt", const(0), X), apply("lt", X, apply("floordiv", X, const(3)))
    ),
    "python's remainder": refuted(not_(apply("lt", apply("mod", X, const(7)), const(7)))),
    "magnitudes": refuted(apply("lt", apply("abs", REALLY), apply("abs", apply("neg", REALLY)))),
    "clamped": refuted(apply("lt", const(100), ite(apply("lt", X, const(100)), X, const(100)))),
    "prefixes": refuted(
        apply("startswith", TEXT, const("/home/bob/")),
        not_(apply("startswith", TEXT, const("/home/"))),
    ),
    "parts": refuted(not_(apply("contains", apply("concat", const("a@"), TEXT), const("@")))),
    "regular expressions": refuted(eq(TEXT, const("/etc/x")), matches(TEXT, PATH)),
    "allowed": refuted(
        apply("or", eq(TEXT, const("/home/ann")), eq(TEXT, const("/home/bob"))),
        not_(matches(TEXT, PATH)),
    ),
    "lengths": refuted(
        apply("le", apply("len", TEXT), const(3)),
        apply("lt", const(6), apply("len", apply("concat", TEXT, TEXT))),
    ),
    "sums": refuted(
        and_(apply("le", X, const(5)), apply("le", Y, const(5))),
        apply("lt", const(10), apply("add", X, Y)),
    ),
}


@pytest.mark.parametrize("name", GOALS)
def test_proof_of_a_goal_is_accepted(name: str) -> None:
    text = script(GOALS[name])
    assert check(text, proof_of(text)).steps > 0


def test_floats_are_left_to_others() -> None:
    number = var("f", FLOAT)
    text = script(refuted(apply("lt", number, const(1.0)), apply("lt", const(2.0), number)))
    with pytest.raises(UnknownRule):
        check(text, proof_of(text))
