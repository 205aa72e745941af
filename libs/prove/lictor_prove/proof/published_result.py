"""From what the prover found to the result that everybody reads: the prover publishes it, `lictor prove` prints it.

Pure. A result is bounded: long texts are cut, and what can't be published whole is not `proved`.
"""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from lictor_ir.errors import IrError
from lictor_prove.errors import Reason
from lictor_prove.proof.given_inputs import parameters_of, why_not_with
from lictor_prove.proof.guarantee_analysis import AnalysedGuarantee, GuaranteeAnalysis
from lictor_prove.proof.result import GuaranteeResult as Found
from lictor_prove.proof.result import Proof, Rehearsal
from lictor_prove.proof.settings import ENGINE
from lictor_schema.core.base_model import MAX_ITEMS, MAX_TEXT_LENGTH
from lictor_schema.proofs.inputs import Inputs
from lictor_schema.proofs.program import Language, is_executable, program_hash
from lictor_schema.proofs.proof import (
    GuaranteePossibility,
    GuaranteeResult,
    GuaranteeStanding,
    ProofAnalysis,
    ProofReason,
    ProofRehearsal,
    ProofResult,
    ProofTimings,
    ProofVerdict,
    why_descriptive,
)

MAX_RUN = 8 * 1024
"""Characters of a counterexample that are published."""
MAX_SUMMARY = 16 * 1024
MAX_SUMMARY_LINES = 300
MAX_CALLS = 20
"""Calls of a witness that are published."""
MAX_RESULT = 512 * 1024
"""Bytes of a result; above that, counterexamples and analysis are left out."""
_MAX_CODE = 256


_TOO_LONG = ProofReason(
    code="result.too-long",
    message=f"there are more than {MAX_ITEMS} guarantees, or one that is too long to be told",
    remedy="split the program: what is proved must be told whole",
)


def proof_result(
    proof: Proof,
    *,
    submission_id: str,
    task_id: str,
    program: str,
    language: Language,
    source_name: str,
    decided_at: datetime,
    runtime: str | None = None,
    inputs: Inputs | None = None,
) -> ProofResult:
    """The result of a proof; what can't be published whole is not `proved`.

    `inputs`: the values of its submission; nothing that is proved depends on them, only whether it runs.
    """
    guarantees = tuple(map(_guarantee, proof.guarantees[:MAX_ITEMS]))
    reasons = tuple(map(_reason, proof.reasons[: MAX_ITEMS - 1]))
    verdict = proof.verdict
    whole = len(proof.guarantees) <= MAX_ITEMS and all(
        len(each.name) <= MAX_TEXT_LENGTH for each in proof.guarantees
    )
    if not whole:
        verdict = ProofVerdict.UNKNOWN if verdict is ProofVerdict.PROVED else verdict
        reasons = (_TOO_LONG, *reasons)
    timings = proof.timings
    document = proof.ir.document if proof.ir is not None and is_executable(language) else None
    cannot_run = proof.cannot_run or (document and why_not_with(document, inputs))
    never = why_descriptive(language, source_name) or (cannot_run and _reason(cannot_run))
    certificate = proof.certificate if verdict is ProofVerdict.PROVED else None
    result = ProofResult(
        submission_id=submission_id,
        task_id=task_id,
        runtime=runtime,
        program_hash=program_hash(program),
        program_hash_of="bytes",
        ir_hash=proof.ir_hash,
        layer_hash=proof.layer_hash,
        verdict=verdict,
        reasons=reasons,
        guarantees=guarantees,
        coverage=proof.coverage,
        summary=_summary(proof) if verdict is ProofVerdict.PROVED else None,
        analysis=None if proof.analysis is None or not whole else _analysis(proof.analysis),
        certificate_hash=None if certificate is None else certificate.hash,
        certificate_level=None if certificate is None else certificate.level.value,
        rehearsal=_rehearsal(proof, language) if verdict is ProofVerdict.PROVED else None,
        parameters=document and parameters_of(document),
        decided_at=decided_at,
        elapsed_ms=round(proof.ms),
        timings=ProofTimings(
            read_ms=round(timings.read_ms),
            solve_ms=round(timings.solve_ms),
            analysis_ms=round(timings.analysis_ms),
            waited_ms=round(timings.waited_ms),
            certify_ms=round(timings.certify_ms),
            rehearse_ms=round(timings.rehearse_ms),
        ),
        engine=ENGINE,
        python=proof.python or None,
        executable=never is None,
        cannot_run=never,
    )
    if len(result.to_json()) <= MAX_RESULT:
        return result
    short = [each.model_copy(update={"counterexample": None}) for each in guarantees]
    return result.model_copy(update={"guarantees": tuple(short), "analysis": None})


def _rehearsal(proof: Proof, language: Language) -> ProofRehearsal:
    found = proof.rehearsal
    if found is None:
        why = "nobody did it" if is_executable(language) else "it is a document, not a program"
        found = Rehearsal(refused=why)
    return ProofRehearsal(
        runs=found.runs,
        sites=found.sites,
        sites_reached=found.sites_reached,
        sites_unreachable=found.sites_unreachable,
        outcomes=found.outcomes,
        outcomes_reached=found.outcomes_reached,
        outcomes_unreachable=found.outcomes_unreachable,
        refused=_cut(found.refused, MAX_RUN) or None,
        seed=found.seed or None,
        python=found.python or None,
    )


def _summary(proof: Proof) -> str | None:
    """What the program may do, in words for the approver; without it, the approver must read the program."""
    try:
        told = proof.summary()
    except IrError:
        return None
    return None if told is None else told.text(MAX_SUMMARY, lines=MAX_SUMMARY_LINES)


def _guarantee(found: Found) -> GuaranteeResult:
    run = None if found.counterexample is None else str(found.counterexample)
    return GuaranteeResult(
        name=_cut(found.name, MAX_TEXT_LENGTH),
        verdict=found.verdict,
        description=_cut(found.description, MAX_TEXT_LENGTH) or None,
        counterexample=None if run is None else _cut(run, MAX_RUN),
        required=bool(found.required_by),
        strength=found.strength,
        decided_by=_decided_by(found.how),
    )


def _analysis(found: GuaranteeAnalysis) -> ProofAnalysis:
    return ProofAnalysis(
        standings=tuple(map(_standing, found.standings)), complete=found.is_complete
    )


def _standing(found: AnalysedGuarantee) -> GuaranteeStanding:
    return GuaranteeStanding(
        name=_cut(found.name, MAX_TEXT_LENGTH),
        possibility=GuaranteePossibility(found.possibility.value),
        vacuous=found.is_vacuous,
        redundant=found.is_redundant,
        implied_by=tuple(_cut(each, MAX_TEXT_LENGTH) for each in found.implied_by),
        reason=_cut(found.reason, MAX_RUN) or None,
        witness=tuple(_cut(each, MAX_RUN) for each in found.witness[:MAX_CALLS]),
    )


def _decided_by(how: str | None) -> Literal["evaluation", "solver"] | None:
    if how is None:
        return None
    return "evaluation" if how == "evaluation" else "solver"


def _reason(reason: Reason) -> ProofReason:
    return ProofReason(
        code=_cut(reason.code, _MAX_CODE),
        message=_cut(reason.message, MAX_RUN),
        remedy=_cut(reason.remedy, MAX_RUN),
        line=reason.line,
        column=reason.column,
    )


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "…"
