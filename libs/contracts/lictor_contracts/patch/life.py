"""The life of a patch, folded from its entries: proposed, approved or rejected, applied or failed.

A new proposal takes the place of the one before, and what was said about that counts no more. A patch that failed can
be tried again; one that was applied or rejected is at its end.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from lictor_contracts.action.judgement import is_somebody, one_person
from lictor_contracts.errors import ContractError
from lictor_schema.contracts.drift import DriftSeverity, Fingerprint
from lictor_schema.contracts.patch import (
    AppliedPatch,
    ApprovalRule,
    CycleRef,
    PatchApproval,
    PatchEntry,
    PatchProposal,
    PatchRequest,
    PatchState,
    PatchStep,
)
from lictor_schema.core.canonical_json import content_hash


class PatchStepRefused(ContractError):
    """A step that this patch can't take now; says what can be done."""

    def __init__(self, reason: str, remedy: str) -> None:
        super().__init__(f"{reason}; {remedy}")
        self.reason = reason
        self.remedy = remedy


@dataclass(frozen=True, slots=True)
class Patch:
    """A patch as its entries leave it."""

    patch_id: str
    state: PatchState
    began_at: str
    changed_at: str
    cycle: CycleRef | None = None
    """The turn of CERPA it answers, if it answers one."""
    request: PatchRequest | None = None
    proposal: PatchProposal | None = None
    approvals: tuple[PatchApproval, ...] = ()
    """What was said about exactly this proposal."""
    applied: AppliedPatch | None = None
    reason: str | None = None
    """Why it was rejected, or failed the last time."""

    @property
    def proposal_hash(self) -> str | None:
        """The hash that approvals name."""
        return None if self.proposal is None else content_hash(self.proposal)

    @property
    def fingerprint(self) -> Fingerprint | None:
        """The cause of drift it answers, if it answers one."""
        return None if self.request is None else self.request.fingerprint

    @property
    def decision_type(self) -> str | None:
        """The decision type whose drift it answers, if it answers drift."""
        return None if self.request is None else self.request.decision_type

    @property
    def approvers(self) -> tuple[str, ...]:
        """The humans who approved the proposal and did not make it."""
        made_by = None if self.proposal is None else self.proposal.proposed_by
        return tuple(
            each.actor_id
            for each in self.approvals
            if each.decision == "approved"
            and each.actor_type == "human"
            and not (made_by is not None and one_person(each.actor_id, made_by))
        )

    @property
    def needs_human(self) -> bool:
        """Whether it waits for a human's approval, whatever the proposal says of itself."""
        proposal = self.proposal
        if proposal is None or self.approvers:
            return False
        return (
            proposal.approval is ApprovalRule.HUMAN
            or proposal.severity is DriftSeverity.RED
            # How far actions under a pack reach is not known.
            or proposal.target.kind == "policy_pack"
        )


def folded(entries: Iterable[PatchEntry]) -> Patch | None:
    """The patch after its entries; None without any."""
    patch: Patch | None = None
    for entry in entries:
        patch = _after(patch, entry)
    return patch


def _after(patch: Patch | None, entry: PatchEntry) -> Patch:
    known = patch or Patch(entry.patch_id, entry.state, entry.at, entry.at)
    known = replace(known, state=entry.state, changed_at=entry.at, reason=entry.reason)
    if entry.request is not None:
        known = replace(known, request=entry.request)
    if entry.cycle is not None:
        known = replace(known, cycle=entry.cycle)
    if entry.proposal is not None:
        known = replace(known, proposal=entry.proposal, approvals=())
    if entry.approval is not None:
        known = replace(known, approvals=(*known.approvals, entry.approval))
    return replace(known, applied=entry.applied)


def stepped(patch: Patch | None, step: PatchStep, *, entry_id: str, at: str) -> PatchEntry:
    """The entry that a step makes; PatchStepRefused when it may not be taken."""
    if patch is not None and patch.state.is_final:
        raise PatchStepRefused(
            f"patch {patch.patch_id} is {patch.state.value} already",
            "propose another patch, if one is needed",
        )
    if not is_somebody(step.by):
        raise PatchStepRefused("nobody is named", "say who takes this step")
    if step.step == "propose":
        return _proposed(patch, step, entry_id, at)
    if patch is None:
        raise PatchStepRefused(
            f"there is no patch {step.patch_id}", "`lictor patch list` shows what there is"
        )
    if step.step == "reject" and patch.proposal is None:
        # Nobody has written a change; that none will be is an answer too.
        return _entry(patch, step, entry_id, at, PatchState.REJECTED, reason=_reason(step))
    if patch.proposal is None:
        raise PatchStepRefused(
            f"patch {patch.patch_id} holds no change yet, only what asks for one",
            "write one with `lictor patch propose`, or reject it",
        )
    if step.proposal_hash != patch.proposal_hash:
        raise PatchStepRefused(
            f"{step.proposal_hash or 'no hash'} is not the proposal of patch {patch.patch_id}",
            f"look at it again with `lictor patch show`; it is {patch.proposal_hash} now",
        )
    if step.step in ("approve", "reject"):
        return _said(patch, patch.proposal, step, entry_id, at)
    if step.step == "failed":
        return _entry(patch, step, entry_id, at, PatchState.FAILED, reason=_reason(step))
    return _applied(patch, patch.proposal, step, entry_id, at)


def _proposed(patch: Patch | None, step: PatchStep, entry_id: str, at: str) -> PatchEntry:
    proposal = step.proposal
    if proposal is None:
        raise PatchStepRefused("no proposal is given", "give the change that is proposed")
    if proposal.proposed_by != step.by:
        raise PatchStepRefused(
            f"the proposal is of {proposal.proposed_by} and is brought by {step.by}",
            "propose in one's own name, so that somebody else can approve",
        )
    if patch is None and step.patch_id != proposal.proposal_id:
        raise PatchStepRefused(
            f"there is no patch {step.patch_id}",
            "name one of `lictor patch list`, or the proposal's own id",
        )
    asked = None if patch is None else patch.request
    if asked is not None and proposal.severity.rank < asked.severity.rank:
        raise PatchStepRefused(
            f"the proposal answers {proposal.severity.value} drift, and it is {asked.severity.value}",
            "propose it with that severity, which decides who must approve",
        )
    return PatchEntry(
        entry_id=entry_id,
        patch_id=step.patch_id,
        state=PatchState.PROPOSED,
        by=step.by,
        at=at,
        request_id=step.request_id,
        fingerprint=None if patch is None else patch.fingerprint,
        decision_type=None if patch is None else patch.decision_type,
        cycle=step.cycle or (None if patch is None else patch.cycle),
        proposal=proposal,
    )


def _said(
    patch: Patch, proposal: PatchProposal, step: PatchStep, entry_id: str, at: str
) -> PatchEntry:
    approves = step.step == "approve"
    if approves and one_person(step.by, proposal.proposed_by):
        raise PatchStepRefused(
            f"{step.by} proposed patch {patch.patch_id}", "have somebody else approve it"
        )
    reason = step.reason if approves else _reason(step)
    approval = PatchApproval(
        proposal_hash=content_hash(proposal),
        decision="approved" if approves else "rejected",
        actor_type="human",
        actor_id=step.by,
        decided_at=at,
        reason=reason,
    )
    state = PatchState.APPROVED if approves else PatchState.REJECTED
    return _entry(patch, step, entry_id, at, state, approval=approval, reason=reason)


def _applied(
    patch: Patch, proposal: PatchProposal, step: PatchStep, entry_id: str, at: str
) -> PatchEntry:
    made = step.applied
    if made is None:
        raise PatchStepRefused("what it made is missing", "give the hashes and the version")
    if patch.needs_human:
        raise PatchStepRefused(
            f"no human other than {proposal.proposed_by} has approved patch {patch.patch_id}",
            "have one approve it; what was changed already must be taken back",
        )
    if made.before != proposal.target.content_hash or made.version != proposal.new_version:
        raise PatchStepRefused(
            f"it was applied to {made.before} and made version {made.version}; the proposal is for"
            f" {proposal.target.content_hash} and makes {proposal.new_version}",
            "apply the proposal as it stands, or propose another",
        )
    return _entry(patch, step, entry_id, at, PatchState.APPLIED, applied=made, reason=step.reason)


def _reason(step: PatchStep) -> str:
    if step.reason is None:
        raise PatchStepRefused(f"`{step.step}` gives no reason", "say why")
    return step.reason


def _entry(
    patch: Patch,
    step: PatchStep,
    entry_id: str,
    at: str,
    state: PatchState,
    *,
    approval: PatchApproval | None = None,
    applied: AppliedPatch | None = None,
    reason: str | None = None,
) -> PatchEntry:
    return PatchEntry(
        entry_id=entry_id,
        patch_id=patch.patch_id,
        state=state,
        by=step.by,
        at=at,
        request_id=step.request_id,
        fingerprint=patch.fingerprint,
        decision_type=patch.decision_type,
        cycle=patch.cycle,
        approval=approval,
        applied=applied,
        reason=reason,
    )
