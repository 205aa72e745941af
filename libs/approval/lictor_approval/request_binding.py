"""From a proof to a request: everything an approval is about, by its hashes."""

from collections.abc import Iterable
from datetime import datetime, timedelta

from lictor_approval.errors import NotApprovable
from lictor_schema.approvals.approval import (
    AnyApprovalRequest,
    ApprovalBinding,
    ApprovalRequest,
    guarantees_hash,
)
from lictor_schema.approvals.run import AnyRunEntry, RunStarted
from lictor_schema.core.base_model import utc_millis
from lictor_schema.core.canonical_json import content_hash
from lictor_schema.core.ids import approval_request_id
from lictor_schema.proofs.inputs import are_same
from lictor_schema.proofs.program import ProgramSubmission, program_hash
from lictor_schema.proofs.proof import ProofResult, ProofVerdict, refuse_descriptive, refuse_inputs


def bound(submission: ProgramSubmission, result: ProofResult) -> ApprovalBinding:
    """What an approval of a proved submission is about; NotApprovable when nobody can be asked about it."""
    never = refuse_descriptive(submission) or result.cannot_run or refuse_inputs(submission, result)
    if never is not None:
        raise NotApprovable(never.message, never.remedy)
    if result.verdict is not ProofVerdict.PROVED:
        raise NotApprovable(
            f"the verdict is `{result.verdict.value}`", "only what is proved can be approved"
        )
    told = (
        (result.submission_id, submission.submission_id, "submission"),
        (result.task_id, submission.task_id, "task"),
        (
            result.program_hash,
            program_hash(submission.program, result.program_hash_of),
            "program",
        ),
    )
    for proved, submitted, what in told:
        if proved != submitted:
            raise NotApprovable(
                f"the proof is about {what} {proved}, the submission about {submitted}",
                "submit the program again",
            )
    if submission.layer_hash not in (None, result.layer_hash):
        raise NotApprovable(
            f"the submission names layer {submission.layer_hash}, the proof {result.layer_hash}",
            "submit the program again",
        )
    if result.ir_hash is None or result.layer_hash is None or result.engine is None:
        raise NotApprovable(
            "the proof does not name its IR, layer and engine",
            "prove the program with a prover of this version",
        )
    if result.coverage is not None and result.coverage.layer_hash != result.layer_hash:
        raise NotApprovable(
            "the coverage is under another layer than the proof", "submit the program again"
        )
    return ApprovalBinding(
        submission_id=submission.submission_id,
        task_id=submission.task_id,
        agent_id=submission.agent_id,
        program_hash=result.program_hash,
        language=submission.language,
        source_name=submission.source_name,
        target=submission.target,
        ir_hash=result.ir_hash,
        layer_hash=result.layer_hash,
        guarantees_hash=guarantees_hash(result.guarantees),
        coverage_hash=content_hash(result.coverage),
        certificate_hash=result.certificate_hash,
        certificate_level=result.certificate_level,
        engine=result.engine,
        runtime=submission.runtime,
        program_hash_of=result.program_hash_of,
        python=result.python,
        inputs=submission.inputs,
    )


def asked(
    submission: ProgramSubmission,
    program_sequence: int,
    result: ProofResult,
    proof_sequence: int,
    *,
    at: datetime,
    within: timedelta,
) -> ApprovalRequest:
    """The request for a proved submission; its id is the same however often it is made."""
    binding = bound(submission, result)
    binding_hash = content_hash(binding)
    return ApprovalRequest(
        request_id=approval_request_id(binding.submission_id, binding_hash),
        binding=binding,
        binding_hash=binding_hash,
        correlation_id=submission.correlation_id,
        named_layer=submission.layer_hash is not None,
        program_sequence=program_sequence,
        proof_sequence=proof_sequence,
        summary=result.summary,
        guarantees=result.guarantees,
        coverage=result.coverage,
        rehearsal=result.rehearsal,
        requested_at=utc_millis(at),
        expires_at=utc_millis(at + within),
    )


def why_not_journal_of(request: AnyApprovalRequest, entries: Iterable[AnyRunEntry]) -> str | None:
    """Why a journal is not that of a run by this request: it begins with something else than what was approved."""
    if not isinstance(request, ApprovalRequest):
        return "the request is about a tool call, and nothing runs by it"
    started = next((each for each in entries if isinstance(each, RunStarted)), None)
    if started is None:
        return None
    if started.run_id != request.request_id or started.binding_hash != request.binding_hash:
        return "its journal is about another approval"
    if not are_same(started.inputs, request.binding.inputs):
        return "its journal says other values than were approved"
    return None


def is_of(request: ApprovalRequest, submission: ProgramSubmission) -> bool:
    """Whether a submission is, byte for byte, the one that a request is about."""
    binding = request.binding
    return (
        binding.submission_id,
        binding.task_id,
        binding.agent_id,
        binding.program_hash,
        binding.language,
        binding.source_name,
        binding.target,
    ) == (
        submission.submission_id,
        submission.task_id,
        submission.agent_id,
        program_hash(submission.program, binding.program_hash_of),
        submission.language,
        submission.source_name,
        submission.target,
    ) and are_same(binding.inputs, submission.inputs)
