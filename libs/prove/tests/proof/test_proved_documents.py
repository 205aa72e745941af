"""No guarantee that is proved of a document is broken by a run of it: random documents, contracts and runs."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace

from libs.prove.tests.random_documents import SETTINGS, Writer, concrete
from libs.prove.tests.random_loops import LoopWriter, runs
from lictor_ir.document import (
    Document,
    Obligation,
    ObligationKind,
    Parameter,
)
from lictor_ir.errors import UnspecifiedError
from lictor_ir.evaluation import broken_assumptions, failed_obligations, holds, run
from lictor_ir.evaluation.following import ObservedCall, follows
from lictor_ir.terms import apply, const, eq, not_, var
from lictor_ir.types import INT
from lictor_prove.proof.prover import prove_document
from lictor_schema.proofs.proof import ProofVerdict


def check(seed: int, tally: Counter[str]) -> None:
    document = Writer(seed).document()
    proof = prove_document(document, SETTINGS)
    tally[str(proof.verdict)] += 1
    random_ = random.Random(seed + 1)
    proved = [
        (each, promised)
        for each, promised in zip(proof.guarantees, document.guarantees, strict=True)
        if each.verdict is ProofVerdict.PROVED
    ]
    tally.update(f"guarantee {each.verdict}" for each in proof.guarantees)
    for _ in range(40 if proved else 0):
        inputs, answer = concrete(random_)
        trace = run(document, inputs, answer)
        assert not failed_obligations(trace)
        broken = {each.stated.call for each in broken_assumptions(trace)}  # type: ignore[union-attr]
        # A call that can't keep its promise does not return: the run ends with it.
        end = next(
            (step.number + 1 for step in trace.steps if step.atom.id in broken), len(trace.steps)
        )
        for each, promised in proved:
            try:
                if not broken:
                    assert holds(promised.contract, trace), (seed, promised, trace.steps)
                if each.strength == "every_prefix":
                    for length in range(end + 1):
                        assert holds(promised.contract, trace.prefix(length)), (
                            seed,
                            promised,
                            trace.steps[:length],
                        )
            except UnspecifiedError:
                tally["open"] += 1


def test_no_run_breaks_what_is_proved() -> None:
    tally: Counter[str] = Counter()
    for seed in range(60):
        check(seed, tally)
    assert tally["guarantee proved"] > 50
    assert tally["guarantee refuted"] > 50


def _hold_to_runs(seed: int, tally: Counter[str]) -> None:
    """A proof about loops that carry numbers, against runs in which they carry what the facts say."""
    document = LoopWriter(seed).document()
    proof = prove_document(document, SETTINGS)
    bare = prove_document(replace(document, facts=()), SETTINGS)
    for each, without in zip(proof.guarantees, bare.guarantees, strict=True):
        tally[f"guarantee {each.verdict}"] += 1
        tally["by facts"] += each.verdict is not without.verdict
    for trace in runs(document, random.Random(seed), 30):
        broken = {each.stated.call for each in broken_assumptions(trace)}  # type: ignore[union-attr]
        end = next(
            (step.number + 1 for step in trace.steps if step.atom.id in broken), len(trace.steps)
        )
        for each, promised in zip(proof.guarantees, document.guarantees, strict=True):
            if each.verdict is not ProofVerdict.PROVED:
                continue
            assert broken or holds(promised.contract, trace), (seed, promised, trace.steps)
            for length in range(end + 1 if each.strength == "every_prefix" else 0):
                assert holds(promised.contract, trace.prefix(length)), (seed, promised, length)
        if not broken:
            calls = [
                ObservedCall(step.effect, step.arguments, step.result, step.atom.fails)
                for step in trace.steps
            ]
            difference = follows(document, trace.inputs, calls, ended=True)
            tally["followed" if difference is None else "not followed"] += 1
            assert difference is None or "nor does any of" in difference, (seed, difference)


def test_no_run_breaks_what_is_proved_by_what_loops_carry() -> None:
    tally: Counter[str] = Counter()
    for seed in range(30):
        _hold_to_runs(seed, tally)
    assert tally["by facts"] > 2
    assert tally["followed"] > 100
    assert tally["not followed"] < 5


def test_an_obligation_that_a_branch_excludes_holds() -> None:
    x = var("x", INT)
    document = Document(
        "division",
        None,
        None,
        inputs=(Parameter("x", INT),),
        obligations=(
            Obligation(
                ObligationKind.NO_ERROR,
                not_(eq(x, const(0))),
                "x is not zero",
                apply("lt", const(0), x),
            ),
        ),
    )
    assert prove_document(document).verdict is ProofVerdict.PROVED
