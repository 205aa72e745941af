"""Programs submitted for proof, and what the prover answers."""

from enum import StrEnum
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from lictor_schema.core.base_model import (
    MAX_ITEMS,
    ContentHash,
    Count,
    Identifier,
    Label,
    Model,
    Positive,
    Text,
    Timestamp,
)
from lictor_schema.proofs.coverage import CoverageReport
from lictor_schema.proofs.program import (
    PROGRAM_HASH_OF,
    Language,
    ProgramHashOf,
    ProgramSubmission,
    is_executable,
)
from lictor_schema.proofs.proof_strength import ProofStrength

CertificateLevel = Literal["a", "b", "c"]
"""What a certificate shows, the least first: `c` needs no solver to be believed, `b` two, `a` one."""


class ProofVerdict(StrEnum):
    """What the prover found. Only `proved` lets a program go on."""

    PROVED = "proved"
    REFUTED = "refuted"
    UNKNOWN = "unknown"
    REJECTED = "rejected"


class ProofReason(Model):
    """Why a program was not proved, or must not run."""

    code: Label = Field(description="Stable name of the reason")
    message: Text = Field(description="What is wrong")
    remedy: Text = Field(description="What to do about it")
    line: Positive | None = Field(default=None, description="Where in the program")
    column: Positive | None = Field(default=None, description="Where in the line")


def refuse_descriptive(submission: ProgramSubmission) -> ProofReason | None:
    """Why the submission can't be approved or run, whatever was proved about it; None when it is a program."""
    return why_descriptive(submission.language, submission.source_name)


def why_descriptive(language: Language, source_name: str) -> ProofReason | None:
    """Why what is written in the language can't be approved or run; None when it is a program."""
    if is_executable(language):
        return None
    return ProofReason(
        code="program.descriptive",
        message=f"{source_name} is an Effect IR document: it tells what happens, and nothing executes it",
        remedy="write the program in Python or in commands, and have that proved",
    )


class GuaranteeResult(Model):
    """What was found about one guarantee."""

    name: Text = Field(description="The guarantee as stated")
    verdict: ProofVerdict = Field(description="What was found")
    description: Text | None = Field(default=None, description="What it means, for an approver")
    counterexample: Text | None = Field(default=None, description="A run that breaks it")
    required: bool = Field(default=False, description="Whether the layer demanded it")
    strength: ProofStrength | None = Field(
        default=None, description="For which runs it holds; null unless it was proved"
    )
    decided_by: Literal["evaluation", "solver"] | None = Field(
        default=None, description="Whether a solver was needed; null when it is undecided"
    )


class GuaranteePossibility(StrEnum):
    """Whether a guarantee can be kept at all, by whatever program."""

    SATISFIABLE = "satisfiable"
    """By a run in which something happens that it speaks of; by none, if all it does is to forbid."""
    ONLY_TRIVIAL = "only_trivial"
    """Only by runs in which nothing happens that it speaks of."""
    IMPOSSIBLE = "impossible"
    """By no run."""
    UNKNOWN = "unknown"


class GuaranteeStanding(Model):
    """How one guarantee stands among the others, and in this program."""

    name: Text = Field(description="The guarantee as stated")
    possibility: GuaranteePossibility = Field(description="Whether it can be kept at all")
    vacuous: bool = Field(description="The program never does what it speaks of")
    redundant: bool | None = Field(
        default=None, description="The other guarantees imply it; null when that is not known"
    )
    implied_by: Annotated[tuple[Text, ...], Field(max_length=MAX_ITEMS)] = Field(
        default=(), description="Which of them; none when it holds of every run"
    )
    reason: Text | None = Field(default=None, description="The argument, or what is not known")
    witness: Annotated[tuple[Text, ...], Field(max_length=MAX_ITEMS)] = Field(
        default=(), description="Calls that keep the others and break it, when it is not redundant"
    )


class ProofAnalysis(Model):
    """How the guarantees of a program stand; says nothing about the verdict."""

    standings: Annotated[tuple[GuaranteeStanding, ...], Field(max_length=MAX_ITEMS)] = Field(
        description="Guarantee by guarantee"
    )
    complete: bool = Field(description="Whether everything could be told in its time")


class ProofTimings(Model):
    """Where the time of a proof went."""

    read_ms: Count = Field(description="Reading the program into Effect IR")
    solve_ms: Count = Field(description="Deciding its guarantees and obligations")
    analysis_ms: Count = Field(default=0, description="Comparing guarantees, and coverage")
    waited_ms: Count = Field(default=0, description="Waiting for a free worker")
    certify_ms: Count = Field(default=0, description="Making the certificate, after the verdict")


class ProofProgress(Model):
    """How far a proof is that is not done yet; told on the bus and not kept."""

    submission_id: Identifier = Field(description="The submission")
    task_id: Identifier = Field(description="The governed task")
    runtime: Label | None = Field(
        default=None,
        description="The runtime that submitted it; null in what was stored before 0.2",
    )
    phase: Literal["waiting", "reading", "solving"] = Field(description="What is being done")
    done: Count = Field(default=0, description="Goals decided")
    total: Count = Field(default=0, description="Goals there are, as far as is known")
    elapsed_ms: Count = Field(description="How long it has taken so far")


class ProofResult(Model):
    """The prover's answer to one submission."""

    submission_id: Identifier = Field(description="The submission")
    task_id: Identifier = Field(description="The governed task")
    runtime: Label | None = Field(
        default=None,
        description="The runtime that submitted it; null in what was stored before 0.2",
    )
    program_hash: ContentHash = Field(description="The program")
    program_hash_of: ProgramHashOf | None = Field(default=None, description=PROGRAM_HASH_OF)
    ir_hash: ContentHash | None = Field(default=None, description="Its Effect IR")
    layer_hash: ContentHash | None = Field(default=None, description="The trusted layer")
    verdict: ProofVerdict = Field(description="What was found as a whole")
    reasons: Annotated[tuple[ProofReason, ...], Field(max_length=MAX_ITEMS)] = Field(
        default=(), description="Why it was not proved; empty exactly when it was"
    )
    guarantees: Annotated[tuple[GuaranteeResult, ...], Field(max_length=MAX_ITEMS)] = Field(
        default=(), description="What was found, guarantee by guarantee"
    )
    coverage: CoverageReport | None = Field(default=None, description="What was left unsaid")
    summary: Text | None = Field(
        default=None, description="What the program may do, in words for an approver"
    )
    analysis: ProofAnalysis | None = Field(
        default=None, description="How the guarantees stand among each other"
    )
    certificate_hash: ContentHash | None = Field(
        default=None, description="The certificate that carries the proof"
    )
    certificate_level: CertificateLevel | None = Field(
        default=None,
        description="What the certificate shows: `c` needs no solver to be believed, `b` two, `a` one",
    )
    decided_at: Timestamp = Field(description="When it was decided")
    elapsed_ms: Count = Field(description="How long it took")
    timings: ProofTimings | None = Field(default=None, description="Where that time went")
    cached: bool = Field(
        default=False, description="Whether the same question had been answered before"
    )
    engine: Label | None = Field(default=None, description="The prover that decided it")
    executable: bool = Field(
        default=False,
        description="Whether it is about a program that can run, and not about a description of one",
    )
    cannot_run: ProofReason | None = Field(
        default=None,
        description="Why nobody can approve or run it, whatever was proved; null when it can run",
    )

    @model_validator(mode="after")
    def _verdict_follows_from_the_parts(self) -> Self:
        proved = self.verdict is ProofVerdict.PROVED
        if proved == bool(self.reasons):
            raise PydanticCustomError(
                "proof_reasons", "reasons must be given exactly when the verdict is not `proved`"
            )
        if proved and any(g.verdict is not ProofVerdict.PROVED for g in self.guarantees):
            raise PydanticCustomError(
                "proof_guarantees", "verdict can't be `proved` while a guarantee is not"
            )
        if (self.certificate_hash is None) != (self.certificate_level is None):
            raise PydanticCustomError(
                "proof_certificate", "a certificate is named together with its level"
            )
        if self.executable and self.cannot_run is not None:
            raise PydanticCustomError(
                "proof_executable", "what can't run is not executable: give one of them"
            )
        if self.certificate_hash is not None and not proved:
            raise PydanticCustomError(
                "proof_certificate", "only what is `proved` has a certificate"
            )
        return self
