"""A run of the real program that breaks a guarantee nobody could decide: its counterexample.

It counts only if nothing about it is in doubt: it came to its end, it is a run of the document, and it keeps every
promise of a trusted call and every obligation. Where it may be several runs of the document, all of them make the
calls that Python made, with the values that Python passed. So a guarantee about values fails in all of them or in none.
One about origins is never refuted here: Python does not show where a value comes from.
"""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass, replace

from lictor_ir.contracts import Contract, leaves, terms_of
from lictor_ir.errors import IrError
from lictor_ir.evaluation import Trace, broken_assumptions, failed_obligations, holds
from lictor_ir.provenance import ORIGIN_OPERATORS
from lictor_ir.terms import App, postorder
from lictor_prove.proof.counterexamples import told_run
from lictor_prove.proof.result import Counterexample, Proof
from lictor_prove.proof.verdicts import guarantee_reason
from lictor_prove.rehearsal.followed_runs import FollowedRun
from lictor_schema.proofs.proof import ProofVerdict


@dataclass(frozen=True, slots=True)
class BrokenGuarantee:
    """A guarantee, by its number, and the run that breaks it."""

    number: int
    run: Counterexample


def broken_by(proof: Proof, unread: Set[str], run: FollowedRun) -> BrokenGuarantee | None:
    """The first undecided guarantee that a run breaks without any doubt.

    `unread`: the calls that promise more than the document says: nobody knows whether their answers keep it.
    """
    if run.difference or run.is_outside or not run.is_certain or not run.ways:
        return None
    first = run.ways[0]
    if any(step.atom.id in unread for step in first.steps):
        return None
    undecided = (
        at for at, each in enumerate(proof.guarantees) if each.verdict is ProofVerdict.UNKNOWN
    )
    for number in undecided:
        guarantee = first.document.guarantees[number]
        for part in leaves(guarantee.contract):
            if not _speaks_of_origin(part) and all(_is_broken(part, each) for each in run.ways):
                told = told_run(f"{guarantee.name} is broken", part, first)
                return BrokenGuarantee(number, told)
    return None


def _is_broken(part: Contract, trace: Trace) -> bool:
    """Whether the run breaks it, and nothing else; not where that is not known."""
    try:
        return (
            not holds(part, trace)
            and not broken_assumptions(trace)
            and not failed_obligations(trace)
        )
    except (IrError, ArithmeticError, TypeError):
        return False


def _speaks_of_origin(part: Contract) -> bool:
    terms = postorder(*terms_of(part))
    return any(isinstance(term, App) and term.op in ORIGIN_OPERATORS for term in terms)


def refuted(proof: Proof, broken: BrokenGuarantee) -> Proof:
    """The proof with the guarantee refuted."""
    assert proof.ir is not None, "what is run has a document"
    document, at = proof.ir.document, broken.number
    before = proof.guarantees[at]
    after = replace(
        before,
        verdict=ProofVerdict.REFUTED,
        how="evaluation",
        counterexample=broken.run,
        reason="",
    )
    undecided, reason = (
        guarantee_reason(document, at, before),
        guarantee_reason(document, at, after),
    )
    return replace(
        proof,
        verdict=ProofVerdict.REFUTED,
        guarantees=(*proof.guarantees[:at], after, *proof.guarantees[at + 1 :]),
        reasons=tuple(reason if each == undecided else each for each in proof.reasons),
    )
