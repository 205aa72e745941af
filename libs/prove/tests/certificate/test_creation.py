"""Making certificates: as strong as the time allows, honest about it, and never a reason to lose a verdict."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lictor_ir.certificate.check import check, established, script_of
from lictor_ir.certificate.format import By, Evidence, FrontEnd, Level
from lictor_ir.document import Document, Obligation, ObligationKind, Parameter
from lictor_ir.errors import CertificateError
from lictor_ir.forked_child import Forked
from lictor_ir.goals import GoalKind, goals
from lictor_ir.json.document import to_json
from lictor_ir.terms import Term, and_, apply, const, eq, not_, var
from lictor_ir.text import read
from lictor_ir.types import FLOAT, INT
from lictor_prove.certificate.creation import (
    CertificateLimits,
    NotCertified,
    SolversDisagree,
    certified,
    certify,
)
from lictor_prove.certificate.second_solver import ask
from lictor_prove.proof.prover import prove_document
from lictor_prove.proof.result import Ir, Proof
from lictor_prove.workers.pool import Job, Pool
from lictor_schema.core.canonical_json import hash_bytes
from lictor_schema.proofs.proof import ProofVerdict

PAY = read((Path(__file__).parents[3] / "ir/tests/certificate/pay.effect-ir").read_text("utf-8"))
X, Y, Z = (var(name, INT) for name in "xyz")
F = var("f", FLOAT)


def _claimed(*formulas: Term) -> Document:
    """A document whose only obligation is that the formulas can't hold together."""
    return Document(
        "formulas",
        None,
        None,
        inputs=tuple(Parameter(name, INT) for name in "xyz"),
        obligations=(Obligation(ObligationKind.ASSERTION, not_(and_(*formulas)), "it can't be"),),
    )


EASY = _claimed(apply("lt", X, const(0)), apply("lt", const(0), X))
FALSE_CLAIM = _claimed(apply("lt", X, const(0)), apply("lt", Y, const(0)))


def _hard() -> Document:
    """Something that is true, and that cvc5 does not find out in the time it has here."""
    cubes = [apply("mul", each, each, each) for each in (X, Y, Z)]
    positive = [apply("lt", const(0), each) for each in (X, Y, Z)]
    return _claimed(eq(apply("add", cubes[0], cubes[1]), cubes[2]), *positive)


def _as_if_proved(document: Document) -> Proof:
    return Proof(ProofVerdict.PROVED, ir=Ir(document))


def test_a_proof_gets_a_certificate_that_the_checker_takes() -> None:
    proof = certified(prove_document(PAY), FrontEnd.PYTHON)
    assert proof.verdict is ProofVerdict.PROVED
    assert proof.certificate is not None
    report = check(proof.certificate.data)
    assert (report.hash, report.level) == (proof.certificate.hash, proof.certificate.level)
    assert report.level is Level.C
    assert {each.by for each in report.goals} == {By.PROOF, By.EVALUATION}
    assert dict(report.certificate.solvers).keys() == {"cvc5", "z3"}
    assert proof.timings.certify_ms > 0


@pytest.mark.parametrize("first", ["z3", "cvc5"])
def test_the_level_does_not_depend_on_which_solver_answered_first(first: str) -> None:
    """Proofs about floats can't be checked step by step: there, what both solvers say is level b."""
    document = Document(
        "floats",
        None,
        None,
        inputs=(Parameter("f", FLOAT),),
        obligations=(
            Obligation(
                ObligationKind.ASSERTION,
                not_(and_(apply("lt", F, const(0.5)), apply("lt", const(0.5), F))),
                "it can't be",
            ),
        ),
    )
    proof = replace(_as_if_proved(document), decided_by={"assertion.0": first})
    report = check(certify(proof, FrontEnd.DOCUMENT).data)
    assert report.level is Level.B
    assert dict(report.certificate.solvers).keys() == {"cvc5", "z3"}


def test_only_what_is_proved_has_a_certificate() -> None:
    refuted = prove_document(FALSE_CLAIM)
    assert certified(refuted, FrontEnd.DOCUMENT) is refuted
    with pytest.raises(NotCertified, match="refuted"):
        certify(refuted, FrontEnd.DOCUMENT)


def test_solvers_that_contradict_each_other_leave_nothing_proved() -> None:
    wrong = _as_if_proved(FALSE_CLAIM)
    with pytest.raises(SolversDisagree, match=r"assertion\.0"):
        certify(wrong, FrontEnd.DOCUMENT)
    outcome = certified(wrong, FrontEnd.DOCUMENT)
    assert outcome.verdict is ProofVerdict.UNKNOWN
    assert outcome.reasons[0].code == "prover.disagreement"
    assert outcome.certificate is None


def test_time_that_runs_out_lowers_the_level() -> None:
    limits = CertificateLimits(goal_ms=200, total_ms=2_000)
    made = certify(_as_if_proved(_hard()), FrontEnd.DOCUMENT, limits=limits)
    (only,) = check(made.data).goals
    assert (made.level, only.level, only.by) == (Level.A, Level.A, By.SOLVER)
    none_at_all = CertificateLimits(goal_ms=1, total_ms=0)
    assert certify(prove_document(EASY), FrontEnd.DOCUMENT, limits=none_at_all).level is Level.A


def test_one_hard_goal_does_not_take_the_others_down() -> None:
    (easy,), (hard,) = EASY.obligations, _hard().obligations
    both = replace(EASY, obligations=(hard, easy))
    limits = CertificateLimits(goal_ms=200, total_ms=10_000)
    report = check(certify(_as_if_proved(both), FrontEnd.DOCUMENT, limits=limits).data)
    assert [each.level for each in report.goals] == [Level.A, Level.C]
    assert report.level is Level.A


def test_proofs_that_do_not_fit_are_left_out_and_the_level_says_so() -> None:
    proof = prove_document(PAY)
    whole = certify(proof, FrontEnd.PYTHON)
    smaller = certify(
        proof, FrontEnd.PYTHON, limits=CertificateLimits(max_bytes=len(whole.data) - 1)
    )
    assert len(smaller.data) < len(whole.data)
    assert smaller.level is check(smaller.data).level is Level.B
    with pytest.raises(NotCertified, match="more than are kept"):
        certify(proof, FrontEnd.PYTHON, limits=CertificateLimits(max_bytes=100))
    kept = certified(proof, FrontEnd.PYTHON, limits=CertificateLimits(max_bytes=100))
    assert (kept.verdict, kept.certificate) == (ProofVerdict.PROVED, None)
    assert "bytes" in kept.uncertified


def test_a_promise_of_a_call_that_is_never_made_is_certified_as_that() -> None:
    document = read(
        """\
effect-ir v1
program "p.py" target main
trusted look(at: int) -> int
input x: int
input y: int
effect c1: look(at = x) when x < y and y < x
assume c1 when x < y and y < x : x < 0 and 0 < x says "it can't be"
guarantee "anything" : anything
"""
    )
    proof = prove_document(document)
    assert proof.verdict is ProofVerdict.PROVED, proof.reasons
    report = check(certify(proof, FrontEnd.DOCUMENT).data)
    assert [each.kind for each in report.goals] == [GoalKind.PROMISE]
    assert report.level is Level.C


# -- the second solver -----------------------------------------------------------------------------


def test_the_second_solver_says_what_it_can_and_nothing_else() -> None:
    assert ask("(declare-const x Int)(assert (< x 0))(check-sat)", 1_000).answer == "sat"
    no = ask("(declare-const x Int)(assert (< x x))(check-sat)", 1_000)
    assert no.answer == "unsat"
    assert "(step" in (no.proof or "")
    for strange in ("", "(check-sat", "(assert (nonsense))(check-sat)", "(exit)", "(check-sat) x"):
        assert ask(strange, 1_000).answer in ("unknown", "sat"), strange


# -- in workers ------------------------------------------------------------------------------------


def test_a_worker_hands_the_certificate_over_with_the_proof() -> None:
    with Pool(1, certifies=True) as pool:
        job = Job(to_json(PAY), certify=CertificateLimits())
        proof = pool.prove(job)
        assert proof.certificate is not None
        report = check(proof.certificate.data)
        assert report.certificate.front_end is FrontEnd.DOCUMENT
        assert pool.prove(replace(job, certify=None)).certificate is None


def test_a_worker_that_is_killed_while_it_certifies_has_proved_what_it_proved() -> None:
    claims = [
        _claimed(apply("lt", X, const(at)), apply("lt", apply("add", Y, const(at)), X), eq(Y, Z))
        for at in range(40)
    ]
    guarded = [replace(each.obligations[0], guard=eq(Y, const(7))) for each in claims]
    document = replace(EASY, obligations=tuple(guarded))
    with Pool(1, certifies=True) as pool:
        ticket = pool.submit(Job(to_json(document), certify=CertificateLimits()))
        worker = _child(os.getpid(), "lictor_prove.workers.process")
        _child(
            worker, "lictor_prove.workers.process"
        )  # its own child: the certificate is being made
        os.kill(worker, signal.SIGKILL)
        proof = ticket.result(timeout=60)
    assert proof.verdict is ProofVerdict.PROVED
    assert proof.certificate is None
    assert "given up" in proof.uncertified


def _child(parent: int, named: str) -> int:
    """The child of a process, as soon as it has one."""
    end = time.monotonic() + 30
    while time.monotonic() < end:
        found = subprocess.run(
            ["ps", "-o", "pid=,args=", "--ppid", str(parent)],
            capture_output=True,
            text=True,
            check=False,
        )
        for line in found.stdout.splitlines():
            if named in line:
                return int(line.split()[0])
    raise AssertionError(f"{parent} has no child")


# -- children --------------------------------------------------------------------------------------


def test_what_a_child_told_before_it_hangs_is_not_lost() -> None:
    def work(tell) -> None:
        tell(b"one")
        tell(b"")
        time.sleep(60)

    with Forked(work, 256) as child:
        assert child.told(10) == b"one"
        assert child.told(10) == b""
        with pytest.raises(TimeoutError):
            child.told(0.05)


def test_a_child_that_ends_or_fails_tells_no_more() -> None:
    def work(tell) -> None:
        tell(b"x" * 200_000)
        raise RuntimeError("gone")

    with Forked(work, 256) as child:
        assert child.told(10) == b"x" * 200_000
        assert child.told(10) is None


def test_a_child_has_the_memory_that_it_is_given_and_never_more_than_its_parent_may_have() -> None:
    def work(tell) -> None:
        def inner(tell_inner) -> None:
            tell_inner(b"in")
            bytearray(512 * 1024 * 1024)
            tell_inner(b"too much")

        with Forked(inner, 4_096) as grandchild:
            tell(grandchild.told(10) or b"nothing")
            tell(grandchild.told(10) or b"nothing")
        bytearray(512 * 1024 * 1024)
        tell(b"too much")

    with Forked(work, 128) as child:
        assert [child.told(10) for _ in range(3)] == [b"in", b"nothing", None]


# -- laws ------------------------------------------------------------------------------------------


@settings(
    max_examples=15, derandomize=True, suppress_health_check=(HealthCheck.too_slow,), deadline=None
)
@given(
    *([st.lists(st.tuples(st.integers(-4, 4), st.integers(-4, 4)), min_size=2, max_size=3)] * 2),
    st.integers(-9, 9),
)
def test_whatever_is_claimed_of_numbers_is_certified_as_strongly_as_the_checker_says_or_not_at_all(
    lower: list[tuple[int, int]], upper: list[tuple[int, int]], bound: int
) -> None:
    def sum_of(parts: list[tuple[int, int]]) -> Term:
        return apply(
            "add",
            *(apply("mul", const(a), var("xyz"[at], INT)) for at, (a, _) in enumerate(parts)),
            const(sum(b for _, b in parts)),
        )

    document = _claimed(
        apply("lt", sum_of(lower), sum_of(upper)),
        apply("lt", sum_of(upper), const(bound)),
        eq(X, Y),
    )
    proof = certified(prove_document(document), FrontEnd.DOCUMENT)
    if proof.verdict is not ProofVerdict.PROVED:
        assert proof.certificate is None
        assert proof.reasons[0].code != "prover.disagreement"
        return
    assert proof.certificate is not None
    assert check(proof.certificate.data).level is proof.certificate.level is Level.C


def test_nothing_that_can_be_carried_shows_what_is_false() -> None:
    (goal,) = goals(FALSE_CLAIM, {})
    kept = check(certify(prove_document(PAY), FrontEnd.PYTHON).data).certificate
    text = script_of(goal)
    assert text is not None
    blank = Evidence(
        goal.id, goal.kind, By.SOLVER, Level.C, hash_bytes(text.encode()), ("cvc5", "z3")
    )
    assert established(goal, blank).level is Level.B
    forged = [
        replace(blank, by=By.EVALUATION),
        replace(blank, by=By.EVALUATION, script_hash=None),
        *(replace(blank, by=By.PROOF, proof=each.proof) for each in kept.goals if each.proof),
        *(replace(blank, by=By.PROOF, proof=text) for text in ("", "()", "(assume @p1 false)")),
    ]
    for evidence in forged:
        with pytest.raises(CertificateError):
            established(goal, evidence)
