"""Worker processes: warm, killable, and never the reason for a `proved`."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from lictor_ir.contracts import Comparison, Count, Relation
from lictor_ir.document import (
    Atom,
    Document,
    Effect,
    Guarantee,
    Obligation,
    ObligationKind,
    Parameter,
)
from lictor_ir.json.document import to_json
from lictor_ir.terms import Term, and_, apply, const, eq, not_, var
from lictor_ir.types import INT, NONE, STR
from lictor_prove.certificate.creation import CertificateLimits
from lictor_prove.errors import ProverConfigError
from lictor_prove.proof.result import Progress
from lictor_prove.proof.settings import ProofSettings
from lictor_prove.workers.pool import Job, Pool, Roots
from lictor_schema.proofs.proof import ProofVerdict

EFFECTS = '''
import lictor_layer

print("layers may print")

@lictor_layer.trusted
def send(to: str) -> None:
    """Send."""
'''
CONTRACTS = """
from lictor_layer import contract, effect
from tools.mail.trusted.effects import send

Sent = effect(send)


@contract
def at_most(count: int):
    return Sent.count() <= count
"""
PROGRAM = """
import lictor_layer
from tools.mail.trusted import contracts as c
from tools.mail.trusted.effects import send


@lictor_layer.guarantee(c.at_most(1))
def main() -> None:
    send("a")
"""


@pytest.fixture
def roots(tmp_path: Path) -> Roots:
    """A small layer."""
    trusted = tmp_path / "tools" / "mail" / "trusted"
    trusted.mkdir(parents=True)
    (trusted / "effects.py").write_text(EFFECTS)
    (trusted / "contracts.py").write_text(CONTRACTS)
    return Roots((str(trusted),), (str(tmp_path),))


@pytest.fixture
def pool() -> Iterator[Pool]:
    """One worker."""
    with Pool(1) as pool:
        yield pool


def _documents(*formulas: Term) -> bytes:
    """A document whose only obligation is that the formulas can't hold together."""
    return to_json(
        Document(
            "formulas",
            None,
            None,
            inputs=tuple(Parameter(name, INT) for name in "xyz"),
            obligations=(
                Obligation(ObligationKind.ASSERTION, not_(and_(*formulas)), "it can't be"),
            ),
        )
    )


def _hard() -> bytes:
    x, y, z = (var(name, INT) for name in "xyz")
    cubes = [apply("mul", each, each, each) for each in (x, y, z)]
    positive = [apply("lt", const(0), each) for each in (x, y, z)]
    return _documents(eq(apply("add", cubes[0], cubes[1]), cubes[2]), *positive)


def _easy() -> bytes:
    return _documents(apply("lt", var("x", INT), const(0)), apply("lt", const(0), var("x", INT)))


PATIENT = ProofSettings(goal_ms=60_000, total_ms=60_000, wall_ms=1_200)


def test_a_program_is_proved_under_a_warm_layer(roots: Roots) -> None:
    with Pool(1, layers=[roots]) as pool:
        proof = pool.prove(Job(PROGRAM, roots=roots))
        assert proof.verdict is ProofVerdict.PROVED, proof.reasons
        assert proof.ir is not None
        assert proof.ir_hash is not None
        assert proof.ir.document.atoms[0].effect == "send"
        refuted = pool.prove(Job(PROGRAM.replace('send("a")', 'send("a"); send("b")'), roots=roots))
        assert refuted.verdict is ProofVerdict.REFUTED
        assert "send" in str(refuted.guarantees[0].counterexample)


def test_a_document_is_proved_without_a_layer(pool: Pool) -> None:
    assert pool.prove(Job(_easy())).verdict is ProofVerdict.PROVED
    assert pool.prove(Job(b"no json")).verdict is ProofVerdict.REJECTED


def test_a_proof_that_takes_too_long_is_unknown_and_the_next_is_not(pool: Pool) -> None:
    begun = time.monotonic()
    proof = pool.prove(Job(_hard(), settings=PATIENT))
    assert proof.verdict is ProofVerdict.UNKNOWN
    assert proof.reasons[0].code == "prover.timeout"
    assert time.monotonic() - begun < 50
    assert pool.prove(Job(_easy())).verdict is ProofVerdict.PROVED


def test_a_pathological_program_does_not_stall_others() -> None:
    slow = ProofSettings(goal_ms=60_000, total_ms=60_000, wall_ms=60_000)
    with Pool(2) as pool:
        stuck = pool.submit(Job(_hard(), settings=slow))
        for _ in range(5):
            assert pool.prove(Job(_easy())).verdict is ProofVerdict.PROVED
        assert not stuck.future.done()
        stuck.cancel()
        proof = stuck.result(timeout=60)
        assert proof.reasons[0].code == "prover.cancelled"


def test_a_worker_that_is_killed_gives_unknown_and_is_replaced(pool: Pool) -> None:
    assert pool.prove(Job(_easy())).verdict is ProofVerdict.PROVED
    slow = ProofSettings(goal_ms=60_000, total_ms=60_000, wall_ms=60_000)
    solving = threading.Event()

    def told(progress: Progress) -> None:
        if progress.phase == "solving":
            solving.set()

    ticket = pool.submit(Job(_hard(), settings=slow), told)
    assert solving.wait(20)
    found = subprocess.run(
        ["ps", "-o", "pid=,args=", "--ppid", str(os.getpid())],
        capture_output=True,
        text=True,
        check=True,
    )
    (worker,) = [
        line for line in found.stdout.splitlines() if "lictor_prove.workers.process" in line
    ]
    os.kill(int(worker.split()[0]), signal.SIGKILL)
    proof = ticket.result(timeout=60)
    assert proof.reasons[0].code == "prover.crashed"
    assert pool.prove(Job(_easy())).verdict is ProofVerdict.PROVED


def test_a_proof_that_needs_too_much_memory_is_unknown() -> None:
    names = [f"n{at}" for at in range(400_000)]
    atom = Atom("c1", "send", {"to": const("a")})
    document = Document(
        "big",
        None,
        None,
        effects=(Effect("send", (Parameter("to", STR),), NONE),),
        inputs=tuple(Parameter(name, INT) for name in names),
        atoms=(atom,),
        guarantees=(Guarantee("one", Count(Relation(("send",)), Comparison.AT_MOST, const(1))),),
    )
    with Pool(1, memory_mb=40) as pool:
        proof = pool.prove(Job(to_json(document)))
        assert proof.verdict is ProofVerdict.UNKNOWN
        assert proof.reasons[0].code in ("prover.memory", "prover.crashed")
        assert pool.prove(Job(_easy())).verdict is ProofVerdict.PROVED


def test_a_layer_that_can_not_be_used_is_a_configuration_error(pool: Pool, tmp_path: Path) -> None:
    trusted = tmp_path / "tools" / "bad" / "trusted"
    trusted.mkdir(parents=True)
    (trusted / "effects.py").write_text("raise RuntimeError('broken')\n")
    with pytest.raises(ProverConfigError):
        pool.prove(Job(PROGRAM, roots=Roots((str(trusted),), (str(tmp_path),))))
    assert pool.prove(Job(_easy())).verdict is ProofVerdict.PROVED


def test_a_layer_must_be_the_one_that_is_asked_for(pool: Pool, roots: Roots) -> None:
    with pytest.raises(ProverConfigError, match="not what the trusted roots hold"):
        pool.prove(Job(PROGRAM, roots=roots, layer_hash="0" * 64))


@pytest.mark.parametrize("fails", [True, False])
def test_whoever_gives_up_a_proof_leaves_the_worker_to_others(
    pool: Pool, roots: Roots, fails: bool
) -> None:
    before = pool.submit(Job(_hard(), settings=PATIENT))
    given_up = pool.submit(Job(PROGRAM, roots=roots, layer_hash="0" * 64 if fails else None))
    # It waits behind the first, so nobody has answered it yet.
    assert given_up.verdict.cancel()
    assert given_up.future.cancel()
    after = pool.submit(Job(_easy()))
    assert before.result(timeout=60).verdict is ProofVerdict.UNKNOWN
    assert after.result(timeout=60).verdict is ProofVerdict.PROVED


def test_workers_are_replaced_after_some_jobs() -> None:
    with Pool(1, jobs_per_worker=2) as pool:
        assert [pool.prove(Job(_easy())).verdict for _ in range(5)] == [ProofVerdict.PROVED] * 5


def test_a_closed_pool_gives_up_what_is_running() -> None:
    slow = ProofSettings(goal_ms=60_000, total_ms=60_000, wall_ms=60_000)
    pool = Pool(1)
    tickets = [pool.submit(Job(_hard(), settings=slow)) for _ in range(2)]
    pool.close()
    assert {ticket.result(timeout=60).verdict for ticket in tickets} == {ProofVerdict.UNKNOWN}


def test_verdict_comes_with_its_plan_before_the_certificate(roots: Roots) -> None:
    with Pool(1, layers=[roots], certifies=True) as pool:
        ticket = pool.submit(Job(PROGRAM, roots=roots, certify=CertificateLimits(), seed="5eed"))
        early = ticket.verdict.result(60)
        whole = ticket.result(60)
    assert early.verdict is whole.verdict is ProofVerdict.PROVED
    assert early.certificate is None
    assert whole.certificate is not None
    assert early.plan is not None
    assert early.plan == whole.plan
    assert [run.fails_at for run in early.plan.order.runs] == [None, 0]
