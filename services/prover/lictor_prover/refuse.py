"""The core of this version: it has no front-end yet, so it rejects every program and says so. Pure."""

from datetime import datetime

from lictor_schema import ProgramSubmission, ProofReason, ProofResult, ProofVerdict, content_hash

ENGINE = "lictor-prover/0"
"""Part of every result's id: a later engine decides anew."""


def judge(submission: ProgramSubmission, decided_at: datetime) -> ProofResult:
    """Only `proved` lets a program go on, and nothing was proved: rejected."""
    return ProofResult(
        submission_id=submission.submission_id,
        task_id=submission.task_id,
        program_hash=content_hash(submission.program),
        verdict=ProofVerdict.REJECTED,
        reasons=(
            ProofReason(
                code="prover.not-available",
                message=f"this version of the prover can't read {submission.language} programs yet",
                remedy="use a version with the front-end; until then the program must not run",
            ),
        ),
        decided_at=decided_at,
        elapsed_ms=0,
    )
