"""When an open request is about something that is not so any more. Each function says why, or None.

1. A later submission of the same agent and task, under the same name and target, takes the place of the one before;
   not so the very same program with other values, which is another call of it.
2. The submission was proved anew, and the new result binds anything else, is not `proved`, or was rehearsed less.
3. The request shows another summary or rehearsal than the proof that it names: no hash binds these.
4. The trusted layer is no longer installed; or the submission named none, and another layer is now the first.
"""

from collections.abc import Iterable, Sequence

from lictor_approval.errors import NotApprovable
from lictor_approval.request_binding import bound
from lictor_schema.approvals.approval import ApprovalBinding, ApprovalRequest
from lictor_schema.proofs.inputs import are_same
from lictor_schema.proofs.program import ProgramSubmission, program_hash
from lictor_schema.proofs.proof import ProofRehearsal, ProofResult


def superseded(
    request: ApprovalRequest, submissions: Iterable[tuple[int, ProgramSubmission]]
) -> str | None:
    """Whether a later submission, by its place in the stream, takes its place."""
    mine = request.binding
    for sequence, each in submissions:
        if sequence > request.program_sequence and (
            each.submission_id != mine.submission_id
            and (each.task_id, each.agent_id, each.source_name, each.target)
            == (mine.task_id, mine.agent_id, mine.source_name, mine.target)
            and not _calls_with_others(mine, each)
        ):
            return (
                f"{mine.source_name} ({mine.target}) was submitted anew as {each.submission_id};"
                " decide on that"
            )
    return None


def _calls_with_others(mine: ApprovalBinding, later: ProgramSubmission) -> bool:
    """Whether the later submission is the very same program, with other values."""
    return (
        later.language == mine.language
        and program_hash(later.program, mine.program_hash_of) == mine.program_hash
        and not are_same(mine.inputs, later.inputs)
    )


def proved_anew(
    request: ApprovalRequest, submission: ProgramSubmission, result: ProofResult, sequence: int
) -> str | None:
    """Whether a later result about the same submission binds anything else."""
    mine = request.binding
    if sequence <= request.proof_sequence or (
        (submission.task_id, submission.submission_id) != (mine.task_id, mine.submission_id)
    ):
        return None
    try:
        now = bound(submission, result)
    except NotApprovable as error:
        return f"it was proved anew, and can't be approved any more: {error.reason}"
    changed = [
        name for name in ApprovalBinding.model_fields if getattr(now, name) != getattr(mine, name)
    ]
    if _is_less(result.rehearsal, request.rehearsal):
        changed.append("rehearsal")
    return f"it was proved anew with another {', '.join(changed)}" if changed else None


def _is_less(now: ProofRehearsal | None, then: ProofRehearsal | None) -> bool:
    """Whether a rehearsal shows less than the one before; each has runs of its own, from a seed of its own."""
    if then is None or not then.is_done:
        return False
    return now is None or not now.is_done or now.covered_percent < then.covered_percent


def shown_otherwise(request: ApprovalRequest, result: ProofResult) -> str | None:
    """Whether what was shown of a proof, and is bound by no hash, is another than the proof says."""
    shown = {
        "summary": request.summary == result.summary,
        "rehearsal": request.rehearsal == result.rehearsal,
    }
    others = [name for name, is_same in shown.items() if not is_same]
    return f"the request shows another {' and '.join(others)} than its proof" if others else None


def layer_changed(request: ApprovalRequest, installed: Sequence[str]) -> str | None:
    """Whether the layer is another than that of the request; ``installed`` holds the hashes in their order."""
    mine = request.binding.layer_hash
    if mine not in installed:
        return f"the trusted layer {mine} is no longer installed"
    if not request.named_layer and installed[0] != mine:
        return f"the current trusted layer is {installed[0]} now, and it was proved with {mine}"
    return None
