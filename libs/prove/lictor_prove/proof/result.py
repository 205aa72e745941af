"""What the prover answers: plain values that can be sent between processes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

from lictor_ir.certificate.format import Level
from lictor_ir.document import Document
from lictor_ir.goals import Strength, Witness, Witnesses
from lictor_ir.json.document import document_hash, from_json, to_json
from lictor_prove.errors import Reason
from lictor_schema.proofs.proof import ProofVerdict

if TYPE_CHECKING:
    from lictor_ir.summary import Summary
    from lictor_prove.proof.guarantee_analysis import GuaranteeAnalysis
    from lictor_prove.rehearsal.plan import Plan
    from lictor_schema.proofs.coverage import CoverageReport


class Ir:
    """An Effect IR document that travels as its canonical JSON."""

    def __init__(self, document: Document | None = None, json: bytes | None = None) -> None:
        self._document = document
        self._json = json
        self._hash: str | None = None

    @property
    def document(self) -> Document:
        """The document."""
        if self._document is None:
            self._document = from_json(self._json or b"")
        return self._document

    @property
    def json(self) -> bytes:
        """Its canonical JSON."""
        if self._json is None:
            self._json = to_json(self.document)
        return self._json

    @property
    def hash(self) -> str:
        """Its name."""
        if self._hash is None:
            self._hash = document_hash(self.document)
        return self._hash

    def __reduce__(self) -> tuple[object, ...]:
        return (Ir, (None, self.json))


@dataclass(frozen=True, slots=True)
class Happening:
    """A trusted call of a counterexample, or several in a row that are alike."""

    effect: str
    arguments: tuple[tuple[str, str], ...]
    """Names and values, as Python would write them."""
    line: int | None
    when: str
    """Why it happens; empty when it always does."""
    offending: bool
    """The guarantee is broken here."""
    times: int = 1

    def __str__(self) -> str:
        return f"{self.effect}({', '.join(f'{name}={value}' for name, value in self.arguments)})"


@dataclass(frozen=True, slots=True)
class Counterexample:
    """A run that breaks something; found by a solver or tried, and always confirmed by evaluating the document."""

    summary: str
    inputs: tuple[tuple[str, str], ...]
    results: tuple[tuple[str, str], ...]
    """What trusted calls return in it, where that matters."""
    path: tuple[Happening, ...]
    left_out: int = 0
    """Calls that are left out, because there are too many."""

    def __str__(self) -> str:
        lines = [self.summary]
        lines += [f"  input {name} = {value}" for name, value in self.inputs]
        lines += [f"  {call} returns {value}" for call, value in self.results]
        for each in self.path:
            at = f"line {each.line}: " if each.line is not None else ""
            mark = ">" if each.offending else " "
            when = f"   when {each.when}" if each.when else ""
            again = f"   {each.times} times" if each.times > 1 else ""
            lines.append(f"{mark} {at}{each}{when}{again}")
        if self.left_out:
            lines.append(f"  and {self.left_out} more calls in between")
        return "\n".join(lines)


@dataclass(frozen=True, slots=True)
class GuaranteeResult:
    """What was found about one guarantee."""

    name: str
    verdict: ProofVerdict
    description: str = ""
    required_by: str = ""
    strength: Strength | None = None
    """For which runs it holds; None unless it is proved."""
    how: str | None = None
    """`evaluation` or the solver; None when it is undecided."""
    counterexample: Counterexample | None = None
    reason: str = ""
    """Why it is not proved."""
    ms: float = 0.0
    parts: tuple[Strength, ...] = ()
    """For which runs each part of it holds, in the order of its goals; nothing unless it is proved."""


@dataclass(frozen=True, slots=True)
class ObligationResult:
    """What was found about a precondition, a possible error or an assertion."""

    kind: str
    text: str
    verdict: ProofVerdict
    line: int | None = None
    how: str | None = None
    counterexample: Counterexample | None = None
    reason: str = ""
    ms: float = 0.0


@dataclass(frozen=True, slots=True)
class Timings:
    """Where the time went, in milliseconds."""

    read_ms: float = 0.0
    solve_ms: float = 0.0
    analysis_ms: float = 0.0
    """Of what guarantees imply, and coverage."""
    waited_ms: float = 0.0
    certify_ms: float = 0.0
    rehearse_ms: float = 0.0
    """Of planning, running and comparing."""


@dataclass(frozen=True, slots=True)
class CertificateFile:
    """A certificate as it is kept: its name, what it shows, and its bytes."""

    hash: str
    level: Level
    data: bytes


@dataclass(frozen=True, slots=True)
class Rehearsal:
    """How far a proof was compared with what Python does."""

    runs: int = 0
    sites: int = 0
    sites_reached: int = 0
    sites_unreachable: int = 0
    outcomes: int = 0
    outcomes_reached: int = 0
    outcomes_unreachable: int = 0
    refused: str = ""
    """Why it does not count as rehearsed."""
    seed: str = ""
    """Where random values of its runs come from; empty when none were planned."""
    python: str = ""
    """The Python of the stage; empty when none answered."""


@dataclass(frozen=True, slots=True)
class Proof:
    """The prover's answer about one program."""

    verdict: ProofVerdict
    reasons: tuple[Reason, ...] = ()
    """Why it is not proved; empty exactly when it is."""
    guarantees: tuple[GuaranteeResult, ...] = ()
    obligations: tuple[ObligationResult, ...] = ()
    ir: Ir | None = None
    layer_hash: str | None = None
    coverage: CoverageReport | None = None
    analysis: GuaranteeAnalysis | None = None
    """How the guarantees stand among each other; says nothing about the verdict."""
    timings: Timings = field(default_factory=Timings)
    certificate: CertificateFile | None = None
    uncertified: str = ""
    """Why there is no certificate, where one was asked for."""
    distrusted: str = ""
    """Why a certificate that was kept from an earlier proof was not relied on."""
    witnesses: Witnesses = field(default_factory=dict[str, Witness])
    """With which results the trusted calls keep their promises; of a proof that was found out here."""
    decided_by: Mapping[str, str] = field(default_factory=dict[str, str])
    """Who decided each goal, by its id: `evaluation`, or the solver's name."""
    cannot_run: Reason | None = None
    """Why no runner will run the program, whatever was proved and whatever values it is given."""
    plan: Plan | None = None
    """What has to be rehearsed of what is proved; None when it was, or can't be. Of what is undecided, the runs in
    which a counterexample is looked for."""
    rehearsal: Rehearsal | None = None
    """How it was rehearsed; None unless it is proved."""
    python: str = ""
    """The Python whose front-end read the program; empty of a document."""
    rewritten: str = ""
    """Of a program that is rejected: the program after mechanical rewriting; empty where there is none. It says nothing
    about the verdict."""

    @property
    def ir_hash(self) -> str | None:
        """The name of its Effect IR."""
        return self.ir.hash if self.ir is not None else None

    def summary(self) -> Summary | None:
        """What the program may do, in words, and whether it is proved; None without a document."""
        # Late: not everybody who proves wants to read about it.
        from lictor_ir.summary import summarize

        if self.ir is None:
            return None
        is_proved = self.verdict is ProofVerdict.PROVED
        told = summarize(
            self.ir.document, [each.parts for each in self.guarantees] if is_proved else None
        )
        return replace(told, is_rehearsed=self.is_rehearsed)

    @property
    def is_rehearsed(self) -> bool:
        """Whether what is proved was compared with Python, as far as runs reach."""
        found = self.rehearsal
        return found is not None and found.runs > 0 and not found.refused

    @property
    def ms(self) -> float:
        """How long it took, without waiting."""
        times = self.timings
        return times.read_ms + times.solve_ms + times.analysis_ms + times.rehearse_ms


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a proof is."""

    phase: Literal["waiting", "reading", "solving"]
    done: int = 0
    total: int = 0


OnProgress = Callable[[Progress], None]


def rejected(*reasons: Reason, read_ms: float = 0.0, layer_hash: str | None = None) -> Proof:
    """A program that can't be read as one whose effects are known."""
    return Proof(
        ProofVerdict.REJECTED, reasons, layer_hash=layer_hash, timings=Timings(read_ms=read_ms)
    )


def unknown(code: str, message: str, remedy: str) -> Proof:
    """Nothing was found out about a program."""
    return Proof(ProofVerdict.UNKNOWN, (Reason(code, message, remedy),))
