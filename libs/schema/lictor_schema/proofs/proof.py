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
from lictor_schema.proofs.inputs import InputParameters, why_not_of
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


PYTHON = (
    "The Python whose front-end read the program, such as `cpython 3.11`: it runs with no other; null of a"
    " document, and in what was stored before 0.2"
)


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


def refuse_inputs(submission: ProgramSubmission, result: "ProofResult") -> ProofReason | None:
    """Why what was submitted can't be called with the values it was submitted with; None when it can."""
    if result.parameters is None:
        # A prover of before 0.2 refuses every program with parameters by itself.
        return (
            None
            if submission.inputs is None
            else ProofReason(
                code="inputs.unknown",
                message="values are given, and the proof does not say which parameters the program has",
                remedy="prove the program with a prover of this version",
            )
        )
    found = why_not_of(submission.target, result.parameters, submission.inputs)
    return found and ProofReason(code=found.code, message=found.message, remedy=found.remedy)


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


class ProofRehearsal(Model):
    """How a proof was compared with Python: the program was run with stand-ins for trusted calls."""

    runs: Count = Field(
        description="Runs whose calls were compared with what the proof says of them"
    )
    sites: Count = Field(
        description="Places in the program that call a trusted function; in a helper, one for each way that leads there"
    )
    sites_reached: Count = Field(description="How many of them a run reached")
    sites_unreachable: Count = Field(description="How many no run can reach, as the solver shows")
    outcomes: Count = Field(description="Outcomes of the program's branches, two for each branch")
    outcomes_reached: Count = Field(description="How many of them a run took")
    outcomes_unreachable: Count = Field(description="How many no run can take, as the solver shows")
    refused: Text | None = Field(
        default=None,
        description="Why it does not count as rehearsed: then the proof rests on the model alone",
    )
    seed: Label | None = Field(
        default=None,
        description="Where random values of its runs come from, drawn for this proof: it plans the same runs again",
    )
    python: Label | None = Field(
        default=None,
        description="The Python of the stage that ran it, such as `cpython 3.11`; null when none did",
    )

    @property
    def is_done(self) -> bool:
        """Whether every call that a run can reach was made by one, and compared."""
        return self.refused is None and self.runs > 0

    @property
    def covered_percent(self) -> int:
        """How many of a hundred call sites and branch outcomes that a run can reach were reached, rounded down."""
        reachable = self.sites + self.outcomes - self.sites_unreachable - self.outcomes_unreachable
        reached = self.sites_reached + self.outcomes_reached
        return 100 if reachable <= 0 else min(100, reached * 100 // reachable)

    @property
    def words(self) -> str:
        """What was rehearsed, or why it was not, in one line."""
        if self.refused is not None and not self.runs:
            return f"not rehearsed: {self.refused}"
        parts = [f"{self.runs} run{'' if self.runs == 1 else 's'}"]
        for reached, count, unreachable, what in (
            (self.sites_reached, self.sites, self.sites_unreachable, "call sites"),
            (self.outcomes_reached, self.outcomes, self.outcomes_unreachable, "branch outcomes"),
        ):
            never = f" ({unreachable} unreachable)" if unreachable else ""
            parts.append(f"{reached} of {count} {what}{never}")
        told = ", ".join(parts)
        return (
            f"rehearsed: {told}"
            if self.refused is None
            else f"not rehearsed: {self.refused}; {told}"
        )


class ProofTimings(Model):
    """Where the time of a proof went."""

    read_ms: Count = Field(description="Reading the program into Effect IR")
    solve_ms: Count = Field(description="Deciding its guarantees and obligations")
    analysis_ms: Count = Field(default=0, description="Comparing guarantees, and coverage")
    waited_ms: Count = Field(default=0, description="Waiting for a free worker")
    certify_ms: Count = Field(default=0, description="Making the certificate, after the verdict")
    rehearse_ms: Count = Field(default=0, description="Rehearsing it, before the verdict")


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
        default=(),
        description="Why it was not proved; empty exactly when it was. Of a program that is rejected: the reason "
        "that it was rejected for, then all others that were found, by line; `reasons.more` counts what is left out",
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
    rehearsal: ProofRehearsal | None = Field(
        default=None,
        description="How it was compared with Python; null unless it is proved, and in what was stored before 0.2",
    )
    parameters: InputParameters | None = Field(
        default=None,
        description="The parameters of the target, for all values of which it is proved; null of what could not be"
        " read, and in what was stored before 0.2",
    )
    decided_at: Timestamp = Field(description="When it was decided")
    elapsed_ms: Count = Field(description="How long it took")
    timings: ProofTimings | None = Field(default=None, description="Where that time went")
    cached: bool = Field(
        default=False, description="Whether the same question had been answered before"
    )
    engine: Label | None = Field(default=None, description="The prover that decided it")
    python: Label | None = Field(default=None, description=PYTHON)
    executable: bool = Field(
        default=False,
        description="Whether it is about a program that can run, and not about a description of one",
    )
    cannot_run: ProofReason | None = Field(
        default=None,
        description="Why nobody can approve or run it, whatever was proved; null when it can run",
    )

    @property
    def is_rehearsed(self) -> bool:
        """Whether what is proved was compared with Python."""
        return self.rehearsal is not None and self.rehearsal.is_done

    @property
    def verdict_words(self) -> str:
        """The verdict as people are told it."""
        if self.verdict is ProofVerdict.PROVED and not self.is_rehearsed:
            return "proved, not rehearsed"
        return self.verdict.value

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
        if self.rehearsal is not None and not proved:
            raise PydanticCustomError(
                "proof_rehearsal",
                "only what is `proved` was rehearsed: the reasons name a difference",
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
