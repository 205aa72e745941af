"""Patches: what a recurring cause asks for, the change somebody proposes, and who approved it.

A proposal is hashed and its approvals name that hash, so its times are `UtcMillis` text.
"""

from enum import StrEnum
from typing import Annotated, Literal, Self

from pydantic import Field, JsonValue, StringConstraints, model_validator
from pydantic_core import PydanticCustomError

from lictor_schema.contracts.drift import DriftSeverity, DriftType, Fingerprint, PatchType
from lictor_schema.core.base_model import (
    MAX_ITEMS,
    ContentHash,
    Identifier,
    Label,
    Model,
    Positive,
    Text,
    Timestamp,
    UtcMillis,
    UuidText,
)

JsonPointer = Annotated[
    str, StringConstraints(pattern=r"^(/([^~/]|~[01])*)+$", min_length=1, max_length=1024)
]
"""A place in a document as RFC 6901 spells it; never the whole document."""

Ids = Annotated[tuple[Identifier, ...], Field(max_length=MAX_ITEMS)]


class ApprovalRule(StrEnum):
    """What a patch needs before it is applied."""

    AUTO = "auto"
    AUTO_NOTIFY = "auto_notify"
    HUMAN = "human"


class PatchRequest(Model):
    """A cause of drift has come back so often that somebody must propose a patch."""

    request_id: UuidText = Field(description="Unique id, the same in every replay")
    decision_type: Label = Field(description="The decision type that drifts")
    drift_type: DriftType = Field(description="What drifted")
    cause: Label = Field(description="The cause, without measured values")
    fingerprint: Fingerprint = Field(description="What its recurrences have in common")
    recommended_patch_type: PatchType = Field(description="What would stop it")
    severity: DriftSeverity = Field(description="How soon somebody must look")
    occurrences: Positive = Field(description="How often it was seen")
    attempt: Positive = Field(description="1 for the first request about this cause, then one more")
    drift_ids: Ids = Field(description="The latest drift events that show it")


class PatchTarget(Model):
    """The document a patch was made for, exactly as it was then."""

    kind: Literal["dte", "policy_pack"] = Field(description="What kind of document it is")
    id: Identifier = Field(description="The decision type of an envelope, or the id of a pack")
    version: Label = Field(description="Its version then")
    content_hash: ContentHash = Field(description="Hash of its data then")


class PatchOperation(Model):
    """One change of one place; it says what it expects there."""

    op: Literal["set", "insert", "remove"] = Field(
        description="Change what is there, put in what isn't, or take out what is there"
    )
    path: JsonPointer = Field(description="The place; `-` for the end of an array")
    old: JsonValue = Field(
        default=None, description="What must stand there now; nothing for `insert`"
    )
    new: JsonValue = Field(default=None, description="What shall stand there; nothing for `remove`")

    @model_validator(mode="after")
    def _says_what_it_does(self) -> Self:
        if self.op == "insert" and self.old is not None:
            raise PydanticCustomError(
                "insert_old", "`insert` expects nothing in its place; leave out old, or use `set`"
            )
        if self.op == "remove" and self.new is not None:
            raise PydanticCustomError(
                "remove_new", "`remove` puts nothing in place; leave out new, or use `set`"
            )
        return self


class PatchProposal(Model):
    """A change of one document that somebody proposes; nothing is changed by it yet."""

    proposal_id: UuidText = Field(description="Unique id")
    target: PatchTarget = Field(description="The document it changes")
    operations: Annotated[tuple[PatchOperation, ...], Field(min_length=1, max_length=64)] = Field(
        description="The changes, in their order; all of them or none"
    )
    new_version: Label = Field(description="The version the changed document takes")
    reason: Text = Field(description="Why it should be changed")
    severity: DriftSeverity = Field(description="How bad the drift is that it answers")
    proposed_by: Identifier = Field(description="Who proposes it; never who approves it")
    proposed_at: UtcMillis = Field(description="When it was proposed")
    caused_by: Ids = Field(default=(), description="Patch requests, reviews or drift events")
    loosens: Annotated[tuple[Text, ...], Field(max_length=MAX_ITEMS)] = Field(
        default=(), description="What it loosens, or can't be shown to tighten; a human decides"
    )
    tightens: Annotated[tuple[Text, ...], Field(max_length=MAX_ITEMS)] = Field(
        default=(),
        # Approvals name the proposal's hash: one that was made before the field existed keeps it.
        exclude_if=lambda told: not told,
        description="What it tightens, by field",
    )
    approval: ApprovalRule = Field(description="What it needs before it is applied")
    diff: Text = Field(description="The change as a unified diff of the document's text")

    @model_validator(mode="after")
    def _loosening_needs_a_human(self) -> Self:
        if self.loosens and self.approval is not ApprovalRule.HUMAN:
            raise PydanticCustomError(
                "loosening_approval", "approval must be `human` when the patch loosens something"
            )
        return self


class PatchApproval(Model):
    """What somebody said about exactly one proposal."""

    proposal_hash: ContentHash = Field(description="Hash of the proposal that was looked at")
    decision: Literal["approved", "rejected"] = Field(description="What was said")
    actor_type: Literal["agent", "human", "system"] = Field(description="What kind of actor it is")
    actor_id: Identifier = Field(description="Who said it")
    decided_at: UtcMillis = Field(description="When")
    reason: Text | None = Field(default=None, description="Why")


class PatchState(StrEnum):
    """How far a patch is; the last token but one of the subject its entry stands on."""

    PROPOSED = "proposed"
    APPROVED = "approved"
    REJECTED = "rejected"
    APPLIED = "applied"
    FAILED = "failed"

    @property
    def is_final(self) -> bool:
        """Whether nothing follows."""
        return self in (PatchState.REJECTED, PatchState.APPLIED)


class AppliedPatch(Model):
    """What the application of a patch made."""

    before: ContentHash = Field(description="Hash of the document's data before")
    after: ContentHash = Field(description="Hash of it afterwards")
    version: Label = Field(description="Its version now")
    bundle_hash: ContentHash | None = Field(
        default=None, description="The bundle of packs it makes; null when none was built"
    )


class CycleRef(Model):
    """A turn of CERPA that a patch answers."""

    cycle_id: Identifier = Field(description="The cycle")
    subject: Identifier = Field(description="What its claim is about")


class PatchEntry(Model):
    """One step in the life of a patch."""

    entry_id: UuidText = Field(description="Unique id, also the message id")
    patch_id: UuidText = Field(description="The request it answers, or the proposal without one")
    state: PatchState = Field(description="What happened")
    by: Identifier = Field(description="Who did it")
    at: UtcMillis = Field(description="When")
    request_id: UuidText | None = Field(default=None, description="The request that asked for it")
    fingerprint: Fingerprint | None = Field(
        default=None, description="The cause of drift it answers, if it answers one"
    )
    cycle: CycleRef | None = Field(
        default=None, description="The turn of CERPA it answers, if it answers one"
    )
    decision_type: Identifier | None = Field(
        default=None, description="The decision type whose drift it answers, if it answers drift"
    )
    request: PatchRequest | None = Field(
        default=None, description="What asked for a patch; only in state `proposed`"
    )
    proposal: PatchProposal | None = Field(
        default=None,
        description="The change; only in state `proposed`, null while somebody has yet to write it",
    )
    approval: PatchApproval | None = Field(
        default=None, description="What somebody said about the proposal"
    )
    applied: AppliedPatch | None = Field(
        default=None, description="What it made; exactly in state `applied`"
    )
    reason: Text | None = Field(default=None, description="Why; always for `rejected` and `failed`")

    @model_validator(mode="after")
    def _holds_what_its_state_says(self) -> Self:
        proposed = self.state is PatchState.PROPOSED
        if proposed != (self.request is not None or self.proposal is not None):
            raise PydanticCustomError(
                "patch_proposed", "request or proposal must be given exactly in state `proposed`"
            )
        if (self.state is PatchState.APPLIED) != (self.applied is not None):
            raise PydanticCustomError(
                "patch_applied", "applied must be given exactly in state `applied`"
            )
        if self.state in (PatchState.REJECTED, PatchState.FAILED) and self.reason is None:
            raise PydanticCustomError("patch_reason", "reason must be given when it went wrong")
        said = None if self.approval is None else self.approval.decision
        if self.state is PatchState.APPROVED and said is None:
            raise PydanticCustomError("patch_approval", "`approved` needs the approval")
        if said is not None and said != self.state.value:
            raise PydanticCustomError("patch_said", "approval must say what the state says")
        return self


class PatchStep(Model):
    """An operator, or the command that applies patches, moves a patch."""

    request_id: UuidText = Field(description="Unique id; asking again with it changes nothing")
    patch_id: UuidText = Field(description="The patch")
    step: Literal["propose", "approve", "reject", "applied", "failed"] = Field(
        description="What is done with it"
    )
    by: Identifier = Field(description="Who does it")
    proposal: PatchProposal | None = Field(default=None, description="With `propose`: the change")
    cycle: CycleRef | None = Field(
        default=None, description="With `propose`: the turn of CERPA that it answers"
    )
    proposal_hash: ContentHash | None = Field(
        default=None, description="Otherwise: the hash of the proposal that was looked at"
    )
    applied: AppliedPatch | None = Field(default=None, description="With `applied`: what it made")
    reason: Text | None = Field(default=None, description="Why; always for `reject` and `failed`")


class PatchSettled(Model):
    """The patch that a cause of drift asked for was applied or rejected; drift from then on asks for another."""

    request_id: UuidText = Field(description="The request")
    fingerprint: Fingerprint = Field(description="The cause")
    state: PatchState = Field(description="What became of it")
    at: Timestamp = Field(description="When")
