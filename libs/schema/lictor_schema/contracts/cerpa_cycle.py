"""CERPA: Claim, Event, Review, Patch, Apply, the loop that learns from outcomes."""

from enum import StrEnum
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from lictor_schema.contracts.drift import DriftSeverity
from lictor_schema.contracts.patch import Ids, PatchProposal
from lictor_schema.core.base_model import (
    MAX_ITEMS,
    DecimalText,
    Details,
    Identifier,
    Label,
    Model,
    OptionalText,
    Positive,
    Text,
    Timestamp,
)


class CerpaDomain(StrEnum):
    """The field of work a claim belongs to."""

    INTELOPS = "intelops"
    REOPS = "reops"
    FRANOPS = "franops"
    AUTHORITYOPS = "authorityops"
    ACTIONOPS = "actionops"


class Verdict(StrEnum):
    """What a review found. `precedence` orders them: the highest wins."""

    precedence: int

    def __new__(cls, value: str) -> "Verdict":
        member = str.__new__(cls, value)
        member._value_ = value
        member.precedence = len(cls.__members__)
        return member

    ALIGNED = "aligned"
    MISMATCH = "mismatch"
    EXPIRED = "expired"
    VIOLATION = "violation"


class PatchAction(StrEnum):
    """What a patch does to its target."""

    ADJUST = "adjust"
    ESCALATE = "escalate"
    REDEFINE = "redefine"
    STRENGTHEN = "strengthen"
    EXPIRE = "expire"


class CycleStatus(StrEnum):
    """How far a cycle came."""

    ALIGNED = "aligned"
    MISMATCHED = "mismatched"
    PATCHED = "patched"
    APPLIED = "applied"
    ESCALATED = "escalated"


class Assumption(Model):
    """A measurable condition a claim rests on."""

    metric: Label = Field(description="What is measured")
    operator: Literal["lt", "le", "eq", "ne", "ge", "gt"] = Field(
        description="How the measured value must relate to the bound"
    )
    bound: DecimalText = Field(description="The bound, as decimal text")
    window_ms: Positive | None = Field(
        default=None, description="How far back measurements count; null for the latest only"
    )


class Measurement(Model):
    """One measured value."""

    metric: Label = Field(description="What was measured")
    value: DecimalText = Field(description="The value, as decimal text")
    measured_at: Timestamp = Field(description="When it was measured")


class _Primitive(Model):
    id: Identifier = Field(description="Unique id")
    domain: CerpaDomain = Field(description="The field of work")
    timestamp: Timestamp = Field(description="When it was made")
    source: Label = Field(description="What made it")
    provenance: Ids = Field(default=(), description="What it was derived from")
    related_ids: Ids = Field(default=(), description="What else belongs to it")
    metadata: Details = Field(
        default_factory=dict[str, str | bool | int | None], description="Anything else"
    )


class CerpaClaim(_Primitive):
    """A statement the organisation relies on."""

    text: Text = Field(description="The statement")
    subject: Identifier = Field(description="What it is about; events must match it")
    assumptions: Annotated[tuple[Assumption, ...], Field(max_length=64)] = Field(
        default=(), description="What it rests on"
    )
    authority: Identifier | None = Field(default=None, description="Who stands for it")
    expires_at: Timestamp | None = Field(default=None, description="When it stops to hold")


class CerpaEvent(_Primitive):
    """Something that happened and bears on a claim."""

    text: Text = Field(description="What happened")
    subject: Identifier = Field(description="What it happened to")
    measurements: Annotated[tuple[Measurement, ...], Field(max_length=MAX_ITEMS)] = Field(
        default=(), description="What was measured"
    )
    violation: Text | None = Field(default=None, description="The rule it broke, if it broke one")
    violates: Annotated[tuple[Label, ...], Field(max_length=64)] | None = Field(
        default=None,
        description="The metrics or claims that the violation is about; null for every claim about"
        " the subject",
    )


class CerpaReview(_Primitive):
    """A claim held against an event."""

    claim_id: Identifier = Field(description="The claim")
    event_id: Identifier = Field(description="The event")
    verdict: Verdict = Field(description="What was found")
    rationale: Text = Field(description="Why")
    drift_detected: bool = Field(description="Whether this is drift")
    severity: DriftSeverity | None = Field(default=None, description="How bad; null when aligned")
    unmeasured: Annotated[tuple[Label, ...], Field(max_length=64)] = Field(
        default=(),
        description="Metrics the claim rests on that nothing measured: not contradicted, and not"
        " shown either",
    )

    @model_validator(mode="after")
    def _drift_has_a_severity(self) -> Self:
        aligned = self.verdict is Verdict.ALIGNED
        if aligned == self.drift_detected or aligned != (self.severity is None):
            raise PydanticCustomError(
                "review_severity",
                "drift_detected and severity must be set exactly when verdict is not `aligned`",
            )
        return self


class CerpaPatch(_Primitive):
    """A proposed change that would bring claim and world together again."""

    review_id: Identifier = Field(description="The review that asked for it")
    action: PatchAction = Field(description="What it does")
    target: Identifier = Field(description="The claim, pack or envelope it changes")
    description: Text = Field(description="The change in words")
    diff: OptionalText | None = Field(default=None, description="The change as a unified diff")
    loosens_safety: bool = Field(
        default=False, description="Whether it loosens a limit, so that a human must approve"
    )
    proposal: PatchProposal | None = Field(
        default=None, description="The change itself; null while a human has yet to write it"
    )

    @model_validator(mode="after")
    def _agrees_with_its_proposal(self) -> Self:
        proposed = self.proposal
        if proposed is not None and (
            self.diff != proposed.diff or self.loosens_safety != bool(proposed.loosens)
        ):
            raise PydanticCustomError(
                "patch_proposal", "diff and loosens_safety must be those of the proposal"
            )
        return self


class CerpaApplyResult(_Primitive):
    """What came of applying a patch."""

    patch_id: Identifier = Field(description="The patch")
    success: bool = Field(description="Whether it was really applied")
    reason: Text | None = Field(default=None, description="Why not, when it was not")
    new_state: Details = Field(
        default_factory=dict[str, str | bool | int | None], description="What holds now"
    )
    updated_claims: Ids = Field(default=(), description="Claims that changed")
    settled_by: Literal["patch", "claim", "second_person"] | None = Field(
        default=None,
        description="What settled the cycle: an applied patch, a new form of the claim, or one that"
        " somebody gave who did not stand for the claim; null when nothing did",
    )
    by: Identifier | None = Field(default=None, description="Who applied it, or gave the new form")

    @model_validator(mode="after")
    def _failure_has_a_reason(self) -> Self:
        if not self.success and self.reason is None:
            raise PydanticCustomError("apply_reason", "a failed apply must give its reason")
        return self


class CerpaCycle(Model):
    """One turn of the loop."""

    cycle_id: Identifier = Field(description="Unique id")
    domain: CerpaDomain = Field(description="The field of work")
    claim: CerpaClaim = Field(description="The claim")
    event: CerpaEvent = Field(description="The event")
    review: CerpaReview = Field(description="The review")
    patch: CerpaPatch | None = Field(default=None, description="The patch, if one was needed")
    apply_result: CerpaApplyResult | None = Field(
        default=None, description="What came of it, once tried"
    )
    status: CycleStatus = Field(description="How far it came")
    started_at: Timestamp = Field(description="When it began")
    completed_at: Timestamp | None = Field(default=None, description="When it ended")

    @model_validator(mode="after")
    def _status_tells_the_truth(self) -> Self:
        applied = self.apply_result is not None and self.apply_result.success
        if (self.status is CycleStatus.APPLIED) != applied:
            raise PydanticCustomError(
                "cycle_applied", "status is `applied` exactly when apply_result succeeded"
            )
        if self.status is CycleStatus.PATCHED and self.patch is None:
            raise PydanticCustomError("cycle_patch", "status `patched` needs a patch")
        aligned = self.review.verdict is Verdict.ALIGNED
        if (self.status is CycleStatus.ALIGNED) != aligned:
            raise PydanticCustomError(
                "cycle_aligned", "status is `aligned` exactly when the review found that"
            )
        if self.status is CycleStatus.ESCALATED and (
            self.patch is None or self.patch.action is not PatchAction.ESCALATE
        ):
            raise PydanticCustomError(
                "cycle_escalated", "status `escalated` needs a patch that escalates"
            )
        if (
            self.review.severity is DriftSeverity.RED
            and self.apply_result is not None
            and self.apply_result.settled_by == "claim"
        ):
            raise PydanticCustomError(
                "cycle_settled", "a red cycle is settled by a patch or by a second person"
            )
        if self.apply_result is not None and self.patch is None:
            raise PydanticCustomError("cycle_result", "an apply_result needs the patch it is about")
        return self
