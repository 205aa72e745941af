"""What is kept of the handling of drift and patches, and what operators ask for it.

Entries are append-only: one subject for each drift event, and for each patch. The first field of an entry is its id,
which is also its message id: what others get into such a log does not look like one.
"""

from enum import StrEnum
from typing import Literal, Self

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from lictor_schema.coherence import CoherenceReport
from lictor_schema.drift import DriftEvent, Fingerprint, TriageState
from lictor_schema.episodes import OutcomeCode
from lictor_schema.model import (
    ContentHash,
    Count,
    Identifier,
    Label,
    Model,
    Positive,
    Text,
    Timestamp,
    UtcMillis,
    UuidText,
)
from lictor_schema.patches import PatchApproval, PatchProposal, PatchRequest


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


class TriageEntry(Model):
    """One step in the handling of a drift event."""

    entry_id: UuidText = Field(description="Unique id, also the message id")
    drift_id: Identifier = Field(description="The drift event")
    state: TriageState = Field(description="Where it stands from here on")
    by: Identifier = Field(description="Who moved it; the sealer for the first")
    at: Timestamp = Field(description="When")
    request_id: UuidText | None = Field(default=None, description="The request that asked for it")
    reason: Text | None = Field(default=None, description="Why")
    event: DriftEvent | None = Field(
        default=None, description="The drift event as published; exactly in state `new`"
    )

    @model_validator(mode="after")
    def _begins_with_the_event(self) -> Self:
        if (self.state is TriageState.NEW) != (self.event is not None):
            raise PydanticCustomError("triage_event", "event must be given exactly in state `new`")
        if self.event is not None and self.event.drift_id != self.drift_id:
            raise PydanticCustomError("triage_drift", "event must be the one that drift_id names")
        return self


class TriageMove(Model):
    """An operator moves a drift event one step forward."""

    request_id: UuidText = Field(description="Unique id; asking again with it changes nothing")
    drift_id: Identifier = Field(description="The drift event")
    to: TriageState = Field(description="Where it shall stand")
    by: Identifier = Field(description="Who moves it")
    reason: Text | None = Field(default=None, description="Why")


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


class DeskAnswer(Model):
    """What came of a request: it was done and kept, or nothing was."""

    request_id: Identifier = Field(description="The request")
    outcome: Literal["done", "refused"] = Field(description="Whether it was done")
    state: Label | None = Field(default=None, description="Where it stands now, if that is known")
    sequence: Count | None = Field(default=None, description="The place of the entry")
    reason: Text | None = Field(default=None, description="Why not")
    remedy: Text | None = Field(default=None, description="What to do")

    @model_validator(mode="after")
    def _a_refusal_says_why(self) -> Self:
        refused = self.outcome == "refused"
        if refused != (self.reason is not None and self.remedy is not None):
            raise PydanticCustomError(
                "desk_reason", "reason and remedy must be given exactly for a refusal"
            )
        return self

    @classmethod
    def refused(cls, request_id: str, reason: str, remedy: str, state: str | None = None) -> Self:
        """Nothing was changed."""
        return cls(
            request_id=request_id, outcome="refused", reason=reason, remedy=remedy, state=state
        )


class CorrectionOrder(Model):
    """An operator has a sealed episode corrected: sealed once more, as its next version."""

    request_id: UuidText = Field(description="Unique id; asking again with it changes nothing")
    episode_id: Identifier = Field(description="The episode")
    by: Identifier = Field(description="Who orders it; never the actor of the episode")
    reason: Text = Field(description="Why; it is sealed with the correction")
    outcome: OutcomeCode | None = Field(
        default=None, description="How it really ended; null leaves the outcome as it is"
    )
    archive: bool = Field(
        default=False,
        description="Whether this is the last version: an archived episode stays as it is",
    )
    dry_run: bool = Field(default=False, description="Whether to tell only what would be sealed")


class CorrectionAnswer(DeskAnswer):
    """What came of the order to correct an episode."""

    version: Positive | None = Field(default=None, description="The version that was sealed")
    hash: ContentHash | None = Field(default=None, description="The hash of its seal")
    late: Count | None = Field(
        default=None, description="How many messages it covers that the version before did not"
    )


class CoherenceQuestion(Model):
    """How do decisions keep to their contracts?"""

    request_id: Identifier = Field(description="Unique id")
    since: Timestamp | None = Field(
        default=None, description="From when on; null for everything there is"
    )


class CoherenceAnswer(Model):
    """The report, or why there is none."""

    request_id: Identifier = Field(description="The question")
    report: CoherenceReport | None = Field(default=None, description="The report")
    problem: Text | None = Field(default=None, description="Why there is none, and what to do")

    @model_validator(mode="after")
    def _says_one_of_both(self) -> Self:
        if (self.report is None) == (self.problem is None):
            raise PydanticCustomError(
                "coherence_answer", "exactly one of report and problem must be given"
            )
        return self
