"""From an approved request to what is run: all is bound anew, and must be what was approved; pure."""

from collections.abc import Mapping, Sequence

from lictor_approval.errors import NotApprovable
from lictor_approval.request_binding import bound, is_of
from lictor_approval.request_life import RequestLife
from lictor_approval.stale_requests import layer_changed, shown_otherwise, superseded
from lictor_run.child_orders import Approved
from lictor_run.transaction import effects_of
from lictor_schema.approvals.approval import ApprovalExecution, ApprovalRequest, ApprovalState
from lictor_schema.approvals.run import (
    AnyRunEntry,
    EffectDone,
    EffectStarted,
    RunFinished,
    RunOutcome,
)
from lictor_schema.core.canonical_json import content_hash
from lictor_schema.proofs.program import ProgramSubmission, program_hash
from lictor_schema.proofs.proof import ProofResult

STATES: Mapping[RunOutcome, ApprovalState] = {
    RunOutcome.EXECUTED: ApprovalState.EXECUTED,
    RunOutcome.FAILED: ApprovalState.FAILED,
    RunOutcome.COMPENSATED: ApprovalState.COMPENSATED,
    RunOutcome.PARTIAL: ApprovalState.PARTIAL,
    RunOutcome.IN_DOUBT: ApprovalState.IN_DOUBT,
}

Submissions = Sequence[tuple[int, ProgramSubmission]]


class StaleApproval(Exception):
    """The approval is out of date; the message says what differs."""


def approved_of(
    request: ApprovalRequest,
    submissions: Submissions,
    proof: ProofResult | None,
    layers: Sequence[str],
) -> Approved:
    """What may run by an approval of this request; Stale when anything that it binds is another."""
    submission = dict(submissions).get(request.program_sequence)
    if submission is None or not is_of(request, submission):
        raise StaleApproval("the submission is not the one that was approved")
    if proof is None:
        raise StaleApproval("the proof is not there any more")
    try:
        binding = bound(submission, proof)
    except NotApprovable as error:
        raise StaleApproval(error.reason) from None
    if content_hash(binding) != request.binding_hash:
        raise StaleApproval("what was submitted and proved is not what was approved")
    why = (
        shown_otherwise(request, proof)
        or superseded(request, submissions)
        or layer_changed(request, layers)
    )
    if why is not None:
        raise StaleApproval(why)
    return Approved(
        run_id=request.request_id,
        program=submission.program,
        language=submission.language,
        source_name=submission.source_name,
        target=submission.target,
        # Of the bytes, also where an older binding, which was checked above, has it of the quotation.
        program_hash=program_hash(submission.program),
        ir_hash=binding.ir_hash,
        layer_hash=binding.layer_hash,
        guarantees=tuple((each.name, each.required) for each in proof.guarantees),
        python=binding.python,
        # Bound anew and held against the hash that was signed above: no other place is asked for them.
        inputs=binding.inputs,
    )


def execution_of(
    life: RequestLife, runner: str, execution_id: str, entries: Sequence[AnyRunEntry]
) -> ApprovalExecution:
    """The outcome of a journal, in the form of the request's log."""
    effects = effects_of(entries)
    told = [
        entry.model_dump(mode="json")
        for entry in entries
        if isinstance(entry, EffectStarted | EffectDone)
    ]
    ended = next((entry for entry in entries if isinstance(entry, RunFinished)), None)
    return ApprovalExecution(
        execution_id=execution_id,
        runner=runner,
        binding_hash=life.request.binding_hash,
        effects=len(effects),
        effects_hash=content_hash(told) if told else None,
        compensated=0 if ended is None else ended.undone,
    )
