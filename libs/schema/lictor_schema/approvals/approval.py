"""Approvals: what is asked for before a proved program runs, what somebody said, and what came of it.

An approval is about exactly one binding: the hashes of everything that was looked at. What is signed names that hash,
so its times are `UtcMillis` text. Each request has a log of its own on stream APPROVALS: an entry a change of state.
"""

from enum import StrEnum
from typing import Annotated, Literal, Self, cast

from pydantic import Discriminator, Field, StringConstraints, Tag, model_validator
from pydantic_core import PydanticCustomError

from lictor_schema.approvals.call_approval import CallApprovalRequest
from lictor_schema.core.base_model import (
    MAX_ITEMS,
    ContentHash,
    Count,
    Identifier,
    Label,
    Model,
    Positive,
    Text,
    UtcMillis,
    UuidText,
)
from lictor_schema.core.canonical_json import content_hash
from lictor_schema.core.ids import approval_request_id
from lictor_schema.core.time import DAY_S
from lictor_schema.proofs.coverage import CoverageReport
from lictor_schema.proofs.inputs import INPUTS, Inputs
from lictor_schema.proofs.program import PROGRAM_HASH_OF, ProgramHashOf
from lictor_schema.proofs.proof import (
    PYTHON,
    CertificateLevel,
    GuaranteeResult,
    ProofRehearsal,
    ProofVerdict,
)
from lictor_schema.sessions.session_questions import Params

SignedNote = Annotated[str, StringConstraints(min_length=1, max_length=256 * 1024)]
"""A C2SP signed note."""

MAX_VALID_S = 30 * DAY_S
"""The longest time in which a request may be decided on, or its program be started."""


class ApprovalState(StrEnum):
    """How far a request is; the last token but one of the subject its entry stands on."""

    REQUESTED = "requested"
    ENDORSED = "endorsed"
    """Somebody approved it, and others must too."""
    DELEGATED = "delegated"
    """Somebody named another who may decide in their place."""
    APPROVED = "approved"
    REJECTED = "rejected"
    EXPIRED = "expired"
    STALE = "stale"
    CANCELLED = "cancelled"
    """Whoever asked does not want it any more."""
    EXECUTING = "executing"
    EXECUTED = "executed"
    COMPENSATED = "compensated"
    """It failed after some effects, and all of them were taken back."""
    PARTIAL = "partial"
    """It failed after some effects, and not all of them could be taken back."""
    IN_DOUBT = "in_doubt"
    """Whether an effect happened is not known."""
    FAILED = "failed"
    """It failed before any effect."""
    # A call has states of its own, so that who may record the use of one can't record the run of a program.
    CALLING = "calling"
    """The call was let through by it, and has not ended."""
    CALLED = "called"
    CALL_FAILED = "call_failed"
    """The call was let through by it, and did not succeed."""

    @property
    def is_open(self) -> bool:
        """Whether it may still come to be used: it waits for a decision, or for whoever uses it."""
        return self.is_undecided or self is ApprovalState.APPROVED

    @property
    def is_undecided(self) -> bool:
        """Whether people may decide, or must go on deciding."""
        return self in _UNDECIDED

    @property
    def is_final(self) -> bool:
        """Whether nothing follows."""
        return not self.is_open and self not in _IN_USE


_UNDECIDED = (ApprovalState.REQUESTED, ApprovalState.ENDORSED, ApprovalState.DELEGATED)
_IN_USE = (ApprovalState.EXECUTING, ApprovalState.CALLING)


class ApprovalBinding(Model):
    """What an approval is about. If any of this is another, it is an approval of something else."""

    submission_id: Identifier = Field(description="The submission")
    task_id: Identifier = Field(description="The governed task")
    agent_id: Identifier = Field(description="The agent that submitted it; it never approves")
    program_hash: ContentHash = Field(description="The program's text")
    language: Label = Field(description="The front-end it is written for")
    source_name: Label = Field(description="The name it was submitted under")
    target: Label = Field(description="The function to run")
    ir_hash: ContentHash = Field(description="Its Effect IR")
    layer_hash: ContentHash = Field(description="The trusted layer it runs with")
    guarantees_hash: ContentHash = Field(
        description="What was proved: each guarantee's name, verdict, strength, and whether it was required"
    )
    coverage_hash: ContentHash = Field(description="What was left unsaid")
    certificate_hash: ContentHash | None = Field(
        default=None, description="The certificate that carries the proof"
    )
    certificate_level: CertificateLevel | None = Field(
        default=None, description="What the prover says that the certificate shows"
    )
    engine: Label = Field(description="The prover that decided it")
    # These are left out where they are null: so the hash of an older binding, which people signed, stays what it was.
    runtime: Label | None = Field(
        default=None,
        exclude_if=lambda value: value is None,
        description="The runtime that submitted it; null in what was stored before 0.2",
    )
    program_hash_of: ProgramHashOf | None = Field(
        default=None, exclude_if=lambda value: value is None, description=PROGRAM_HASH_OF
    )
    python: Label | None = Field(
        default=None, exclude_if=lambda value: value is None, description=PYTHON
    )
    inputs: Inputs | None = Field(
        default=None, exclude_if=lambda value: value is None, description=INPUTS
    )


class ApprovalRequest(Model):
    """A proved program waits for somebody to let it run."""

    request_id: UuidText = Field(
        description="Of the submission and the binding; the same in every replay"
    )
    binding: ApprovalBinding = Field(description="What an approval is about")
    binding_hash: ContentHash = Field(description="Its hash, which every decision names")
    correlation_id: Identifier = Field(description="The workflow it belongs to")
    named_layer: bool = Field(
        description="Whether the submission named its layer; otherwise it is about the current one"
    )
    program_sequence: Positive = Field(description="The place of the submission in stream PROGRAMS")
    proof_sequence: Positive = Field(description="The place of the proof in stream PROOFS")
    summary: Text | None = Field(
        default=None,
        description="What the program may do, in words; null when the prover told none",
    )
    guarantees: Annotated[tuple[GuaranteeResult, ...], Field(max_length=MAX_ITEMS)] = Field(
        description="What was proved, guarantee by guarantee"
    )
    coverage: CoverageReport | None = Field(
        description="What was left unsaid; null where the layer says nothing about what should be said"
    )
    rehearsal: ProofRehearsal | None = Field(
        default=None,
        description="How the proof was compared with Python; null in what was stored before 0.2",
    )
    requested_at: UtcMillis = Field(description="When it was asked for")
    expires_at: UtcMillis = Field(description="Until when somebody may decide")

    @model_validator(mode="after")
    def _shows_what_it_binds(self) -> Self:
        shown = (
            content_hash(self.binding),
            guarantees_hash(self.guarantees),
            content_hash(self.coverage),
        )
        bound = (self.binding_hash, self.binding.guarantees_hash, self.binding.coverage_hash)
        if shown != bound:
            raise PydanticCustomError(
                "approval_binding", "the hashes must be those of binding, guarantees and coverage"
            )
        if self.request_id != approval_request_id(self.binding.submission_id, self.binding_hash):
            raise PydanticCustomError(
                "approval_id", "request_id must be that of the submission and the binding"
            )
        if any(each.verdict is not ProofVerdict.PROVED for each in self.guarantees):
            raise PydanticCustomError("approval_proved", "every guarantee must be proved")
        return self


def _kind_of(value: object) -> str:
    """Requests about programs were stored before there were other kinds, and say none."""
    if isinstance(value, dict):
        return str(cast(dict[str, object], value).get("kind", "program"))
    return getattr(value, "kind", "program")


AnyApprovalRequest = Annotated[
    Annotated[ApprovalRequest, Tag("program")] | Annotated[CallApprovalRequest, Tag("call")],
    Discriminator(_kind_of),
]
"""What people may be asked about."""


class PolicyGround(Model):
    """The rule by which an approval policy decided."""

    policy_hash: ContentHash = Field(description="The policy")
    rule: Label = Field(description="The rule that decided")
    why: Text = Field(description="What it found")


class ApprovalDecision(Model):
    """What somebody says about exactly one request; it counts only when a trusted key signed it."""

    format: Literal["lictor-approval-decision/v1"] = Field(
        default="lictor-approval-decision/v1", description="The form of this document"
    )
    request_id: UuidText = Field(description="The request")
    binding_hash: ContentHash = Field(description="Hash of the binding that was looked at")
    decision: Literal["approve", "reject", "delegate"] = Field(description="What is said")
    by: Label = Field(description="Who says it: the name of the key that signs")
    decided_at: UtcMillis = Field(description="When, by the clock of whoever says it")
    expires_at: UtcMillis = Field(description="Until when the program may start by it")
    nonce: UuidText = Field(description="Unique: no two decisions are the same")
    reason: Text | None = Field(default=None, description="Why; always for `reject`")
    automatic: PolicyGround | None = Field(
        default=None, description="The rule, when a policy decided and nobody was asked"
    )
    # These are left out where they are null: decisions about programs keep the bytes that were signed.
    scope: Literal["session"] | None = Field(
        default=None,
        exclude_if=lambda value: value is None,
        description="`session`: the same call may be made again in this session; null for once",
    )
    params: Params | None = Field(
        default=None,
        exclude_if=lambda value: value is None,
        description="Other parameters: the call is approved with these and not as it was asked about",
    )
    may_ask_again: Literal[True] | None = Field(
        default=None,
        exclude_if=lambda value: value is None,
        description="With `reject`: whether the same call may be asked about again at once",
    )
    delegate: Label | None = Field(
        default=None,
        exclude_if=lambda value: value is None,
        description="Who may decide too; exactly with `delegate`",
    )

    @model_validator(mode="after")
    def _is_sound(self) -> Self:
        if self.expires_at <= self.decided_at:
            raise PydanticCustomError("approval_expiry", "expires_at must be after decided_at")
        if self.decision == "reject" and self.reason is None:
            raise PydanticCustomError("approval_reason", "reason must be given with `reject`")
        if (self.decision == "delegate") != (self.delegate is not None):
            raise PydanticCustomError(
                "approval_delegate", "delegate must be given exactly with `delegate`"
            )
        if self.decision != "approve" and (self.scope is not None or self.params is not None):
            raise PydanticCustomError(
                "approval_scope", "scope and params may be given with `approve` only"
            )
        if self.scope is not None and self.params is not None:
            raise PydanticCustomError(
                "approval_edit", "other parameters are approved once, not for the session"
            )
        if self.decision != "reject" and self.may_ask_again is not None:
            raise PydanticCustomError(
                "approval_again", "may_ask_again may be given with `reject` only"
            )
        return self


class ApprovalExecution(Model):
    """What the runner did with an approval, or the runtime that made the call."""

    execution_id: UuidText = Field(
        description="The idempotency key: one for each approval. Of a call: its entry in the session's log"
    )
    runner: Label = Field(description="The runner that did it; of a call, the runtime")
    binding_hash: ContentHash = Field(description="What it ran")
    effects: Count = Field(default=0, description="How many effects were made")
    effects_hash: ContentHash | None = Field(
        default=None, description="Hash of the effects in their order, as they were recorded"
    )
    compensated: Count = Field(default=0, description="How many of them were taken back")


class ApprovalEntry(Model):
    """One change of state of one request."""

    entry_id: UuidText = Field(description="Unique id, also the message id")
    request_id: UuidText = Field(description="The request")
    state: ApprovalState = Field(description="Where it stands from here on")
    by: Label = Field(description="Who wrote it: the approver, or a service")
    at: UtcMillis = Field(description="When")
    runtime: Label | None = Field(
        default=None,
        exclude_if=lambda value: value is None,
        description="The runtime whose program it is about; null in what was stored before 0.2",
    )
    request: AnyApprovalRequest | None = Field(
        default=None, description="What is asked for; exactly in state `requested`"
    )
    signed: SignedNote | None = Field(
        default=None,
        description="The signed decision; exactly in the states that a decision makes",
    )
    execution: ApprovalExecution | None = Field(
        default=None, description="How it was used; exactly in the states of a use"
    )
    reason: Text | None = Field(
        default=None,
        description="Why; always in states that end it without success",
    )

    @model_validator(mode="after")
    def _holds_what_its_state_says(self) -> Self:
        state = self.state
        if (state is ApprovalState.REQUESTED) != (self.request is not None):
            raise PydanticCustomError(
                "approval_request", "request must be given exactly in state `requested`"
            )
        if self.request is not None and self.request.request_id != self.request_id:
            raise PydanticCustomError("approval_names", "request must be the one it names")
        if self.request is not None and self.request.binding.runtime != self.runtime:
            raise PydanticCustomError("approval_runtime", "runtime must be that of the request")
        if (state in _OF_A_DECISION) != (self.signed is not None):
            raise PydanticCustomError(
                "approval_signed", "signed must be given exactly in the states of a decision"
            )
        if (state in _OF_A_USE) != (self.execution is not None):
            raise PydanticCustomError(
                "approval_execution", "execution must be given exactly in the states of a use"
            )
        if state not in _NEED_NO_REASON and self.reason is None:
            raise PydanticCustomError("approval_why", "reason must be given in this state")
        return self


_OF_A_DECISION = (
    ApprovalState.ENDORSED,
    ApprovalState.DELEGATED,
    ApprovalState.APPROVED,
    ApprovalState.REJECTED,
)
_OF_A_USE = (
    ApprovalState.EXECUTING,
    ApprovalState.EXECUTED,
    ApprovalState.COMPENSATED,
    ApprovalState.PARTIAL,
    ApprovalState.IN_DOUBT,
    ApprovalState.FAILED,
    ApprovalState.CALLING,
    ApprovalState.CALLED,
    ApprovalState.CALL_FAILED,
)
_NEED_NO_REASON = (
    ApprovalState.REQUESTED,
    ApprovalState.ENDORSED,
    ApprovalState.DELEGATED,
    ApprovalState.APPROVED,
    ApprovalState.EXECUTING,
    ApprovalState.EXECUTED,
    ApprovalState.CALLING,
    ApprovalState.CALLED,
)


class ApprovalOrder(Model):
    """An operator hands in a signed decision; handing in the same one again changes nothing."""

    request_id: UuidText = Field(description="The request it is about")
    signed: SignedNote = Field(description="The signed decision")


def guarantees_hash(guarantees: tuple[GuaranteeResult, ...]) -> str:
    """What was proved, without how: descriptions and who decided may differ from proof to proof."""
    return content_hash(
        [
            {
                "name": each.name,
                "verdict": each.verdict.value,
                "strength": None if each.strength is None else each.strength.value,
                "required": each.required,
            }
            for each in guarantees
        ]
    )
