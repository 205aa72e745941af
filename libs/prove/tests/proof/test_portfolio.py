"""Texts and their lengths are decided whatever one solver makes of them, within the time that was given."""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest

from lictor_ir.certificate.check import check
from lictor_ir.certificate.format import FrontEnd, Level
from lictor_ir.document import Document, Obligation, ObligationKind, Parameter
from lictor_ir.goals import Goal, GoalKind
from lictor_ir.solver.answers import Answer, Conclusion
from lictor_ir.solver.solver_child import SolverChild
from lictor_ir.terms import Term, apply, const, eq, not_, var
from lictor_ir.types import INT, STR
from lictor_prove.certificate.creation import certified
from lictor_prove.layer_model import Layer
from lictor_prove.layers import discover_trusted_roots, load_layer
from lictor_prove.proof import portfolio
from lictor_prove.proof.portfolio import answers
from lictor_prove.proof.prover import prove, prove_document
from lictor_prove.proof.settings import ProofSettings
from lictor_schema.proofs.proof import ProofVerdict

EXAMPLES = Path(__file__).parents[4] / "examples" / "layers"
S, N = var("s", STR), var("n", INT)
HALVES = apply(
    "concat",
    apply("substring", S, const(0), const(300)),
    apply("substring", S, const(300), apply("len", S)),
)
"""`s[:300] + s[300:]`, which is `s`: Z3 takes minutes where `s` is long, cvc5 milliseconds."""


def _goal(*formulas: Term) -> Goal:
    return Goal("t", GoalKind.GUARANTEE, 0, formulas[:-1], formulas[-1])


def _hard() -> Goal:
    return _goal(apply("le", const(600), apply("len", S)), not_(eq(S, HALVES)))


@pytest.fixture(scope="module")
def mail() -> Layer:
    return load_layer(discover_trusted_roots([EXAMPLES]), [EXAMPLES])


def _program(condition: str, text: str) -> str:
    return (
        "from tools.mail.trusted import contracts as mail\n"
        "from tools.mail.trusted.effects import list_contacts, send_mail\n"
        "from lictor_layer import guarantee\n"
        "@guarantee(mail.short_texts())\n"
        "def main() -> None:\n"
        "    for each in list_contacts('newsletter'):\n"
        f"        if '@' in each.email and {condition}:\n"
        f"            send_mail(each.email, each.name, {text})\n"
    )


@pytest.mark.parametrize(
    ("condition", "text", "length"),
    [
        ("each.name", "each.name", 501),
        ("True", "f'Dear {each.name}, the new issue is out.'", 501),
        (
            "len(each.name) <= 300 and len(each.mailing_list) <= 199",
            "f'{each.name}, {each.mailing_list}'",
            501,
        ),
        ("each.name.startswith('Dr ')", "'Dear ' + each.name", 501),
        ("len(each.name) >= 5000", "'Dear ' + each.name[:400] + each.name[-200:]", 605),
    ],
)
def test_a_text_that_may_be_too_long_is_refuted_with_one_that_is(
    mail: Layer, condition: str, text: str, length: int
) -> None:
    """Z3's strings alone gave up on all of these after five seconds."""
    proof = prove(_program(condition, text), name="p.py", layer=mail)
    (found,) = [each for each in proof.guarantees if each.name == "short_texts()"]
    assert found.verdict is ProofVerdict.REFUTED, found.reason
    assert found.counterexample is not None
    shown = dict(found.counterexample.path[-1].arguments)["text"]
    assert len(eval(shown)) == length  # noqa: S307 -- our own counterexample, written as Python has it


@pytest.mark.parametrize(
    ("condition", "text"),
    [
        ("len(each.name) <= 400", "f'Dear {each.name}, the new issue is out.'"),
        (
            "len(each.name) <= 200 and len(each.mailing_list) < 200",
            "each.name + ', ' + each.mailing_list + '.'",
        ),
        ("True", "'Dear ' + each.name[:400]"),
        ("len(each.name) <= 300", "'Dear ' + each.name.replace('a', 'b')"),
        ("len(f'{each.name}, {each.mailing_list}') <= 500", "f'{each.name}, {each.mailing_list}'"),
    ],
)
def test_a_text_that_is_never_too_long_is_proved_and_certified_without_belief(
    mail: Layer, condition: str, text: str
) -> None:
    """The abstraction is no evidence: a certificate carries cvc5's proof of the whole goal."""
    source = _program(condition, text)
    proof = certified(prove(source, name="p.py", layer=mail), FrontEnd.PYTHON)
    assert proof.verdict is ProofVerdict.PROVED, proof.reasons
    assert proof.certificate is not None
    assert check(proof.certificate.data).level is Level.C


def test_what_z3_does_not_decide_cvc5_may() -> None:
    *_, last = answers(_hard(), 60_000, 1_024)
    assert (last.conclusion, last.how) == (Conclusion.HOLDS, "cvc5")


def test_a_certificate_names_the_solver_that_decided() -> None:
    stated = Obligation(
        ObligationKind.ASSERTION,
        eq(S, HALVES),
        "both halves",
        apply("le", const(600), apply("len", S)),
    )
    document = Document("t", None, None, inputs=(Parameter("s", STR),), obligations=(stated,))
    proof = prove_document(document, ProofSettings(total_ms=60_000))
    assert proof.verdict is ProofVerdict.PROVED, proof.reasons
    assert dict(proof.decided_by) == {"assertion.0": "cvc5"}
    whole = certified(proof, FrontEnd.DOCUMENT)
    assert whole.certificate is not None
    report = check(whole.certificate.data)
    assert [each.solvers for each in report.certificate.goals] == [("cvc5",)]


def test_a_model_of_cvc5_is_a_run_that_is_confirmed() -> None:
    long = apply("lt", const(10**5_000), N)
    stated = Obligation(ObligationKind.ASSERTION, apply("le", apply("mul", N, N), N), "small", long)
    document = Document("t", None, None, inputs=(Parameter("n", INT),), obligations=(stated,))
    proof = prove_document(document, ProofSettings(total_ms=60_000))
    assert proof.verdict is ProofVerdict.REFUTED, proof.reasons
    assert proof.obligations[0].how == "cvc5"


def test_solvers_that_are_killed_leave_the_goal_undecided_and_in_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def stuck() -> Answer:
        while True:
            continue

    for name in ("Z3", "cvc5"):
        monkeypatch.setattr(
            portfolio,
            f"{name.lower()}_child",
            lambda _, left, memory, name=name: SolverChild(name, stuck, left, memory),
        )
    begun = time.monotonic()
    *_, last = answers(_hard(), 1_500, 256)
    assert last.conclusion is Conclusion.UNDECIDED
    # A machine so slow that Z3's head start takes all the time does not come to cvc5.
    one = r"{} did not decide it within \d+ ms"
    assert re.fullmatch(f"{one.format('Z3')}(; {one.format('cvc5')})?", last.reason)
    assert time.monotonic() - begun < 60


def test_one_hard_goal_takes_the_time_that_the_others_leave() -> None:
    """`goal_ms` is what a goal may take while others wait, not what it may take at all."""
    x, y, z = (var(name, INT) for name in "xyz")
    cubes = [apply("mul", each, each, each) for each in (x, y, z)]
    stated = Obligation(
        ObligationKind.ASSERTION,
        not_(eq(apply("add", cubes[0], cubes[1]), cubes[2])),
        "Fermat",
        apply("lt", const(0), apply("mul", *cubes)),
    )
    document = Document(
        "t", None, None, inputs=tuple(Parameter(name, INT) for name in "xyz"), obligations=(stated,)
    )
    proof = prove_document(document, ProofSettings(goal_ms=50, total_ms=4_000))
    assert proof.verdict is ProofVerdict.UNKNOWN
    waited = int(proof.obligations[0].reason.partition("within ")[2].partition(" ms")[0])
    assert waited > 500
