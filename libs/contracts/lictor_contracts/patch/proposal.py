"""Patches as proposals: a change of an envelope or a pack, what it loosens, who must approve, and its application.

Applying trusts nothing that a proposal says of itself: the change, what it loosens, the approval it needs and its diff
are worked out again from the document. It gives the whole new document, or a reason; never half of a change.
"""

import re
import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from lictor_contracts.action.judgement import one_person
from lictor_contracts.errors import ContractError
from lictor_contracts.patch.document import PatchDocumentError, PolicyDocument, edited, unified_diff
from lictor_contracts.patch.envelope_loosening import Direction, FieldChange, changes
from lictor_contracts.patch.operations import PatchConflict
from lictor_contracts.patch.pack_loosening import pack_changes
from lictor_schema.contracts.drift import DriftSeverity
from lictor_schema.contracts.envelope import DTE, BlastRadius
from lictor_schema.contracts.patch import (
    ApprovalRule,
    PatchApproval,
    PatchOperation,
    PatchProposal,
    PatchTarget,
)
from lictor_schema.core.base_model import MAX_ITEMS, MAX_TEXT_LENGTH
from lictor_schema.core.canonical_json import CanonicalError, canonical_json, content_hash
from lictor_schema.errors import describe_validation_error
from lictor_schema.packs.pack import PolicyPack

# Random once, fixed for ever: changing it makes every replay propose all patches again.
_PROPOSAL = uuid.UUID("94a0e7d1-5c38-4be2-a6f9-0d82c71b5e43")
_HUNK = re.compile(r"@@ -[0-9]+(,[0-9]+)? \+[0-9]+(,[0-9]+)? @@")
_AS_TOLD_EARLIER = ", which is not provably tighter"
_VERSION_AT = {"dte": "/version", "policy_pack": "/metadata/version"}


class PatchRefused(ContractError):
    """A patch that can't be proposed; says why, and what to do."""


@dataclass(frozen=True, slots=True)
class Applied:
    """The document as the patch made it."""

    document: PolicyDocument
    version: str
    approval: ApprovalRule
    approved_by: tuple[str, ...]
    """Who approved it; empty where nobody had to."""

    @property
    def notify(self) -> bool:
        """Whether somebody must be notified because nobody was asked."""
        return self.approval is ApprovalRule.AUTO_NOTIFY


@dataclass(frozen=True, slots=True)
class NotApplied:
    """Nothing was changed."""

    reason: str
    remedy: str


@dataclass(frozen=True, slots=True)
class _Change:
    after: PolicyDocument
    fields: tuple[FieldChange, ...]
    tier: BlastRadius | None
    diff: str

    @property
    def loosened(self) -> tuple[FieldChange, ...]:
        return tuple(each for each in self.fields if each.direction.loosens)

    @property
    def loosens(self) -> tuple[str, ...]:
        return tuple(map(str, self.loosened))

    @property
    def tightens(self) -> tuple[str, ...]:
        return tuple(str(each) for each in self.fields if each.direction is Direction.TIGHTER)


def approval_needed(
    severity: DriftSeverity, *, loosens: bool, tier: BlastRadius | None
) -> ApprovalRule:
    """Green applies automatically, yellow too with a notice; red, loosening, and a tier large or unknown ask."""
    if loosens or severity is DriftSeverity.RED or tier in (None, BlastRadius.LARGE):
        return ApprovalRule.HUMAN
    return ApprovalRule.AUTO if severity is DriftSeverity.GREEN else ApprovalRule.AUTO_NOTIFY


def next_version(version: str) -> str:
    """The version after this one: its last number plus one, or `.1` behind what ends in none."""
    head, dot, last = version.rpartition(".")
    if last.isascii() and last.isdigit() and len(last) <= 15:
        return f"{head}{dot}{int(last) + 1}"
    return f"{version}.1"


def propose(
    document: PolicyDocument,
    operations: Sequence[PatchOperation],
    *,
    reason: str,
    severity: DriftSeverity,
    proposed_by: str,
    proposed_at: str,
    caused_by: Sequence[str] = (),
) -> PatchProposal:
    """A proposal to change the document; refused when the change does not fit or what it makes can't hold."""
    target = _target(document)
    version = next_version(target.version)
    change = _change(document, operations, target.version, version)
    return PatchProposal(
        proposal_id=_proposal_id(target, operations, caused_by),
        target=target,
        operations=tuple(operations),
        new_version=version,
        reason=reason,
        severity=severity,
        proposed_by=proposed_by,
        proposed_at=proposed_at,
        caused_by=tuple(caused_by),
        loosens=change.loosens,
        tightens=change.tightens,
        approval=approval_needed(severity, loosens=bool(change.loosens), tier=change.tier),
        diff=change.diff,
    )


def apply(
    document: PolicyDocument, proposal: PatchProposal, approvals: Iterable[PatchApproval]
) -> Applied | NotApplied:
    """The new version of the document, or why there is none."""
    try:
        target = _target(document)
        moved = _moved_on(target, proposal.target)
        if moved is not None:
            return NotApplied(moved, "propose the patch again for the document as it is now")
        version = next_version(target.version)
        if proposal.new_version != version:
            return NotApplied(
                f"it would become version {proposal.new_version}, and {version} comes next",
                "propose the patch again; a version that was used before would stand for two documents",
            )
        change = _change(document, proposal.operations, target.version, version)
    except PatchRefused as error:
        return NotApplied(str(error), "propose the patch again for the document as it is now")
    if not _shows(proposal.diff, change.diff, document.text):
        return NotApplied(
            "the diff of the proposal is not what its operations do",
            "propose the patch again, and have the new proposal approved",
        )
    rule = approval_needed(proposal.severity, loosens=bool(change.loosens), tier=change.tier)
    given = [each for each in approvals if each.proposal_hash == content_hash(proposal)]
    rejected = [each.actor_id for each in given if each.decision == "rejected"]
    if rejected:
        return NotApplied(f"rejected by {', '.join(rejected)}", "propose another patch")
    approvers = tuple(each.actor_id for each in given if _counts(each, proposal))
    if rule is ApprovalRule.HUMAN and not approvers:
        return NotApplied(
            f"no human who did not propose it has approved it; {_why_human(proposal, change)}",
            f"have a human other than {proposal.proposed_by} approve proposal"
            f" {content_hash(proposal)}",
        )
    if not _tells_what_it_loosens(proposal, change):
        # Who approved it was shown something else.
        told = "; ".join(change.loosens) or "nothing"
        return NotApplied(
            f"the proposal does not say what it loosens: {told}",
            "propose the patch again, and have the new proposal approved",
        )
    if not set(proposal.tightens) <= set(change.tightens):
        return NotApplied(
            "the proposal says that it tightens what it does not",
            "propose the patch again, and have the new proposal approved",
        )
    return Applied(change.after, proposal.new_version, rule, approvers)


def _tells_what_it_loosens(proposal: PatchProposal, change: _Change) -> bool:
    """Whether it says exactly that; a proposal of an earlier version named only the place that a field is in."""
    told = proposal.loosens
    earlier = [each.partition(": ")[0] for each in told if each.endswith(_AS_TOLD_EARLIER)]
    return all(
        str(each) in told or any(f"{each.field}.".startswith(f"{place}.") for place in earlier)
        for each in change.loosened
    ) and all(each in change.loosens or each.endswith(_AS_TOLD_EARLIER) for each in told)


def _counts(approval: PatchApproval, proposal: PatchProposal) -> bool:
    return (
        approval.decision == "approved"
        and approval.actor_type == "human"
        and not one_person(approval.actor_id, proposal.proposed_by)
    )


def _why_human(proposal: PatchProposal, change: _Change) -> str:
    if change.loosens:
        return "it loosens " + "; ".join(change.loosens)
    if proposal.severity is DriftSeverity.RED:
        return "it answers red drift"
    return f"it reaches actions of tier {change.tier.value if change.tier else 'unknown'}"


def _target(document: PolicyDocument) -> PatchTarget:
    model = _model(document)
    name, version = (
        (model.decision_type, model.version)
        if isinstance(model, DTE)
        else (model.metadata.id, model.metadata.version)
    )
    return PatchTarget(
        kind=document.kind, id=name, version=version, content_hash=document.content_hash
    )


def _moved_on(now: PatchTarget, then: PatchTarget) -> str | None:
    if (now.kind, now.id) != (then.kind, then.id):
        return f"the patch is for {then.kind} {then.id}, and this is {now.kind} {now.id}"
    if now.content_hash != then.content_hash:
        return (
            f"{now.kind} {now.id} has moved on: the patch was made for version {then.version},"
            f" {then.content_hash}, and it is at version {now.version}, {now.content_hash}"
        )
    return None


def _change(
    document: PolicyDocument, operations: Sequence[PatchOperation], old: str, new: str
) -> _Change:
    at = _VERSION_AT[document.kind]
    for each in operations:
        if at == each.path or at.startswith(each.path + "/"):
            raise PatchRefused(f"{each.op} {each.path}: a patch can't set the version itself")
    try:
        content = edited(document, operations)
        if content.content_hash == document.content_hash:
            raise PatchRefused("the operations change nothing; propose some that do")
        after = edited(content, [PatchOperation(op="set", path=at, old=old, new=new)])
        before_model, after_model = _model(document), _model(after)
        diff = unified_diff(document, after)
    except (PatchConflict, PatchDocumentError, CanonicalError) as error:
        raise PatchRefused(str(error)) from error
    if len(diff) > MAX_TEXT_LENGTH:
        raise PatchRefused(
            f"the diff has {len(diff)} characters, more than {MAX_TEXT_LENGTH}; split the patch"
        )
    fields = _fields(before_model, after_model)
    if len(fields) > MAX_ITEMS:
        raise PatchRefused(f"{len(fields)} fields differ, more than {MAX_ITEMS}; split the patch")
    return _Change(after, fields, _tier(before_model, after_model), diff)


def _fields(before: DTE | PolicyPack, after: DTE | PolicyPack) -> tuple[FieldChange, ...]:
    if isinstance(before, DTE) and isinstance(after, DTE):
        return changes(before, after)
    if isinstance(before, PolicyPack) and isinstance(after, PolicyPack):
        return pack_changes(before, after)
    return (FieldChange("kind", Direction.UNPROVEN, "the kind of the document changed"),)


def _tier(before: DTE | PolicyPack, after: DTE | PolicyPack) -> BlastRadius | None:
    """How far actions under the document can reach; None for a pack, which does not say."""
    if isinstance(before, DTE) and isinstance(after, DTE):
        tiers = (before.safe_action.blast_radius_max, after.safe_action.blast_radius_max)
        return max(tiers, key=lambda tier: tier.rank)
    return None


def _model(document: PolicyDocument) -> DTE | PolicyPack:
    model: type[DTE | PolicyPack] = DTE if document.kind == "dte" else PolicyPack
    try:
        return model.from_json(canonical_json(document.data))
    except ValidationError as error:
        found = "; ".join(
            f"{each.path} {each.problem}" for each in describe_validation_error(error)
        )
        raise PatchRefused(f"{document.name} can't hold: {found}") from error
    except CanonicalError as error:
        raise PatchRefused(f"{document.name}: {error}") from error


def _proposal_id(
    target: PatchTarget, operations: Sequence[PatchOperation], caused_by: Sequence[str]
) -> str:
    about: list[Any] = [
        target.model_dump(mode="json"),
        [each.model_dump(mode="json") for each in operations],
        list(caused_by),
    ]
    return str(uuid.uuid5(_PROPOSAL, canonical_json(about).decode()))


def _shows(diff: str, wanted: str, text: str) -> bool:
    """Whether a diff shows exactly the change that is wanted, and beside it only what the document holds.

    Comments and layout around a change may move without moving the document on, so the rest may differ in its place.
    """
    lines, there = _diff_lines(diff), {f" {line}" for line in text.split("\n")}
    changed = [line for line in lines if line[:1] in ("+", "-")]
    beside = [line for line in lines if line[:1] not in ("+", "-")]
    return changed == [line for line in _diff_lines(wanted) if line[:1] in ("+", "-")] and all(
        line in there or _HUNK.fullmatch(line) for line in beside
    )


def _diff_lines(diff: str) -> list[str]:
    """The lines below the names: at a line feed, for at another sign a terminal may begin the same line anew."""
    return diff.removesuffix("\n").split("\n")[2:]
