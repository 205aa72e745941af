"""From a submission and what the prover found to what it publishes. Pure."""

from datetime import datetime

from lictor_prove.proof.published_result import proof_result
from lictor_prove.proof.result import Proof
from lictor_prove.proof.settings import ENGINE
from lictor_schema.core.canonical_json import content_hash
from lictor_schema.core.ids import proof_id
from lictor_schema.proofs.inputs import INPUT_CODES
from lictor_schema.proofs.program import ProgramSubmission, is_executable
from lictor_schema.proofs.proof import ProofResult, refuse_inputs


def result_id(submission: ProgramSubmission) -> str:
    """The id of the result: one for each submission, program, values and engine."""
    program = content_hash(submission.program)
    if submission.inputs is not None:
        program = content_hash([program, submission.inputs])
    whose = (submission.runtime, submission.task_id)
    return proof_id(*whose, submission.submission_id, program, ENGINE)


def answer(submission: ProgramSubmission, proof: Proof, decided_at: datetime) -> ProofResult:
    """The result to publish; what can't be published whole is not `proved`."""
    return proof_result(
        proof,
        submission_id=submission.submission_id,
        task_id=submission.task_id,
        runtime=submission.runtime,
        program=submission.program,
        language=submission.language,
        source_name=submission.source_name,
        decided_at=decided_at,
        inputs=submission.inputs,
    )


def answered_before(
    submission: ProgramSubmission, stored: ProofResult, decided_at: datetime
) -> ProofResult:
    """The same answer for another submission of the same question, which may come with other values."""
    never = stored.cannot_run
    if never is None or never.code in INPUT_CODES:
        never = refuse_inputs(submission, stored)
    return stored.model_copy(
        update={
            "cannot_run": never,
            "executable": is_executable(submission.language) and never is None,
            "submission_id": submission.submission_id,
            "task_id": submission.task_id,
            "runtime": submission.runtime,
            "decided_at": decided_at,
            "elapsed_ms": 0,
            "timings": None,
            "cached": True,
        }
    )
