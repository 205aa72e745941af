"""Proves programs in this process: source to document to goals to a verdict.

`rejected` comes from the front-end. Otherwise a program is `refuted` if a confirmed run breaks a guarantee or an
obligation, `proved` if everything holds and what trusted calls promise is possible, and `unknown` in every other case:
time that ran out, a solver that does not know, a candidate that evaluation does not confirm.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import TYPE_CHECKING

from lictor_ir.analysis import Budget, Signature, entails
from lictor_ir.certificate.format import Level
from lictor_ir.contracts import Contract
from lictor_ir.document import Document
from lictor_ir.errors import DocumentError, IrError
from lictor_ir.goals import goals, stated_goals
from lictor_ir.goals.builder import Builder
from lictor_ir.validation.document import validate
from lictor_prove.certificate.kept_proof import KeptCertificate, why_not_shown
from lictor_prove.errors import Reason, Rejected
from lictor_prove.layer_model import Layer
from lictor_prove.layers.signature import signature_of
from lictor_prove.proof.goal_decisions import GoalDecisions, promise_finding, shown_finding, since
from lictor_prove.proof.guarantee_analysis import analysis_of
from lictor_prove.proof.result import (
    CertificateFile,
    GuaranteeResult,
    Ir,
    OnProgress,
    Progress,
    Proof,
    Timings,
    rejected,
)
from lictor_prove.proof.runnability import why_not_run
from lictor_prove.proof.settings import DEFAULT, Executable, ProofSettings
from lictor_prove.proof.verdicts import overall, results_of, unread_reason
from lictor_prove.proof.witness_search import FoundPromise, found_promises, witnesses_of
from lictor_prove.this_python import this_python
from lictor_schema.proofs.proof import ProofVerdict

if TYPE_CHECKING:
    from lictor_prove.commands import Commands
    from lictor_prove.coverage.report import Stated, Use
    from lictor_prove.python import ParsedProgram
    from lictor_prove.python.machine.program_shape import ProgramShape, UnreadPromise
    from lictor_schema.proofs.coverage import CoverageReport

__all__ = [
    "Proof",
    "ProofSettings",
    "ReadProgram",
    "document_of",
    "prove",
    "prove_document",
    "read",
]


@dataclass(frozen=True, slots=True)
class ReadProgram:
    """A program that was read: what is proved about it, and what its source was parsed to."""

    document: Document
    """What it states, and what its layer adds."""
    parsed: ParsedProgram | Commands
    shape: ProgramShape
    """Where it calls trusted functions, and where it branches."""


def prove(
    source: str,
    *,
    name: str,
    layer: Layer,
    target: str = "main",
    language: Executable = "python",
    settings: ProofSettings = DEFAULT,
    progress: OnProgress | None = None,
    kept: KeptCertificate | None = None,
    seed: str = "",
) -> Proof:
    """The verdict about a program. ProverConfigError when the layer demands what it does not have.

    `kept`: a certificate of an earlier proof. Solvers are not asked what it shows; all else is found out as without it.
    `seed`: for the values of the runs that are planned, drawn anew for each proof: whoever knew it before could write a
    program whose runs miss what is wrong with it. Without one the proof is not rehearsed.
    """
    begun = time.perf_counter()
    _tell(progress, Progress("reading"))
    try:
        program = read(source, name=name, layer=layer, target=target, language=language)
    except Rejected as refused:
        reasons, fixed = refused.reasons, ""
        if language == "python":
            from lictor_prove.python.diagnosis import every_reason
            from lictor_prove.python.fixes import rewritten

            reasons = every_reason(reasons[0], source, target=target, layer=layer)
            fixed = rewritten(source, reasons, target=target, layer=layer)
        found = rejected(*reasons, read_ms=since(begun), layer_hash=layer.hash)
        return replace(found, rewritten=fixed)
    read_ms = since(begun)
    document = program.document
    signature = signature_of(layer, document)
    proof = prove_document(
        document,
        settings,
        progress=progress,
        signature=signature,
        kept=kept,
        unread=program.shape.unread,
        read_ms=read_ms,
    )
    told = time.perf_counter()
    coverage = _coverage(source, program, proof, layer, target, settings, signature)
    timings = replace(
        proof.timings, read_ms=read_ms, analysis_ms=proof.timings.analysis_ms + since(told)
    )
    whole = replace(
        proof,
        layer_hash=layer.hash,
        coverage=coverage,
        timings=timings,
        cannot_run=why_not_run(document),
        python=this_python(),
    )
    undecided = any(each.verdict is ProofVerdict.UNKNOWN for each in whole.guarantees)
    is_open = whole.verdict is ProofVerdict.UNKNOWN and undecided
    if whole.verdict is not ProofVerdict.PROVED and not is_open:
        return whole
    # Late, like the front-end: a document has no program that could be rehearsed.
    from lictor_prove.rehearsal.proof_plan import with_plan

    return with_plan(
        whole,
        program,
        source=source,
        name=name,
        target=target,
        language=language,
        layer=layer,
        settings=settings,
        seed=seed,
    )


def _coverage(
    source: str,
    program: ReadProgram,
    proof: Proof,
    layer: Layer,
    target: str,
    settings: ProofSettings,
    signature: Signature,
) -> CoverageReport | None:
    if not layer.policies:
        return None
    from lictor_prove.coverage.report import covered

    document = program.document
    program_hash = document.source_hash or f"sha256:{sha256(source.encode()).hexdigest()}"
    use, stated = _said(program.parsed, target, layer)
    budget = Budget(_spare_ms(settings, proof.ms), memory_mb=settings.memory_mb)
    # What the layer demands of its calls is not what the program says about them.
    said = signature.without_demands()

    def implied(proved: Sequence[Contract], wanted: Contract) -> bool:
        try:
            return entails(said, proved, wanted, budget).is_implied
        except (IrError, MemoryError, RecursionError):
            return False

    results = zip(document.guarantees, proof.guarantees, strict=True)
    proved = [(each, found.strength) for each, found in results if found.strength is not None]
    return covered(
        use.with_calls_of(document),
        stated,
        layer=layer,
        program_hash=program_hash,
        own=[each.contract for each in document.guarantees if not each.required_by],
        proved=proved,
        is_proved=proof.verdict is ProofVerdict.PROVED,
        entails=implied if settings.coverage == "entailment" else None,
    )


def _said(
    parsed: ParsedProgram | Commands, target: str, layer: Layer
) -> tuple[Use, Sequence[Stated]]:
    """What a program uses, and what it states."""
    from lictor_prove.coverage.report import Use, stated, uses
    from lictor_prove.python import ParsedProgram

    if isinstance(parsed, ParsedProgram):
        return uses(parsed.tree, target, layer), stated(parsed.tree, target, layer)
    return Use(parsed.called, anything=False), parsed.stated


def _broken_by(guarantees: Sequence[GuaranteeResult]) -> list[str]:
    """The calls of a run that breaks the first guarantee."""
    run = guarantees[0].counterexample if guarantees else None
    return [] if run is None else [str(each) for each in run.path]


def _spare_ms(settings: ProofSettings, taken_ms: float) -> int:
    """What analysis may take: a worker that is killed for it would lose the verdict."""
    return max(0, min(settings.analysis_ms, int((settings.wall_ms - taken_ms) / 4)))


def document_of(
    source: str,
    *,
    name: str,
    layer: Layer,
    target: str = "main",
    language: Executable = "python",
) -> Document:
    """All that is proved about a program: what it states, and what its layer adds. Raises Rejected."""
    return read(source, name=name, layer=layer, target=target, language=language).document


def read(
    source: str,
    *,
    name: str,
    layer: Layer,
    target: str = "main",
    language: Executable = "python",
) -> ReadProgram:
    """The program with its document; its source is parsed here, and nowhere after. Raises Rejected."""
    if language == "commands":
        return _read_commands(source, name, layer, target)
    # The front-end is large, and documents can be proved without it.
    from lictor_prove.coverage.report import uses
    from lictor_prove.coverage.required_contracts import with_required, with_row_identity
    from lictor_prove.python import parse_program, read_parsed

    try:
        parsed = parse_program(source)
        document, shape = read_parsed(parsed, name=name, target=target, layer=layer)
    except (RecursionError, MemoryError):
        raise Rejected(
            Reason(
                "source.too_deep",
                "the program is nested too deeply to be read",
                "split the expression or the blocks into several statements",
            )
        ) from None
    if layer.policies:
        use = uses(parsed.tree, target, layer).with_calls_of(document)
        document = with_required(document, layer, use.policies(layer))
    return ReadProgram(with_row_identity(document), parsed, shape)


def _read_commands(source: str, name: str, layer: Layer, target: str) -> ReadProgram:
    from lictor_prove.commands import lowered_with_shape, read_commands
    from lictor_prove.coverage.report import Use
    from lictor_prove.coverage.required_contracts import with_required, with_row_identity

    commands = read_commands(source, layer=layer)
    document, shape = lowered_with_shape(commands, name=name, target=target)
    used = Use(commands.called, anything=False).with_calls_of(document).policies(layer)
    whole = with_row_identity(with_required(document, layer, used) if used else document)
    return ReadProgram(whole, commands, shape)


def prove_document(
    document: Document,
    settings: ProofSettings = DEFAULT,
    *,
    progress: OnProgress | None = None,
    signature: Signature | None = None,
    kept: KeptCertificate | None = None,
    unread: Sequence[UnreadPromise] = (),
    read_ms: float = 0.0,
) -> Proof:
    """The verdict about a document. `signature`: what its calls do besides, where a layer says so; `kept`: as above;
    `unread`: what calls promise besides; `read_ms`: what reading its program took of the time.
    """
    begun = time.perf_counter()
    try:
        validate(document)
    except DocumentError as error:
        return rejected(
            Reason("ir.invalid", str(error), "correct the document at the path that is named")
        )
    distrusted = None if kept is None else why_not_shown(kept, document)
    certificate = (
        CertificateFile(kept.hash, Level.C, kept.data)
        if kept is not None and distrusted is None
        else None
    )
    unread_calls = {each.call for each in unread}
    deciding = GoalDecisions(document, settings, begun - read_ms / 1000, unread_calls)
    promises: list[FoundPromise] = []
    if certificate is None:
        builder = Builder(document)
        promises = found_promises(builder, deciding.decide)
        todo = (*(each.goal for each in promises), *stated_goals(builder))
    else:
        todo = goals(document, {})
    # What needs no solver comes first: it is done even if time runs out.
    found = {each.goal.id: promise_finding(each) for each in promises}
    waiting = sorted(
        (goal for goal in todo if goal.id not in found), key=lambda goal: not goal.folded
    )
    for at, goal in enumerate(waiting):
        if certificate is not None:
            found[goal.id] = shown_finding(goal)
            continue
        if not goal.folded:
            _tell(progress, Progress("solving", len(found), len(todo)))
        deciding.waiting = len(waiting) - at
        found[goal.id] = deciding.found(goal)
    guarantees, obligations, reasons = results_of(document, todo, found)
    verdict = overall(guarantees, obligations, reasons)
    if verdict is not ProofVerdict.PROVED:
        reasons += tuple(dict.fromkeys(map(unread_reason, unread)))
    solve_ms = since(begun)
    spare_ms = _spare_ms(settings, solve_ms)
    analysis = None
    if spare_ms and document.guarantees:
        budget = Budget(spare_ms, memory_mb=settings.memory_mb)
        analysis = analysis_of(
            document,
            signature or Signature.of(document),
            budget,
            is_proved=verdict is ProofVerdict.PROVED,
            broken_by=_broken_by(guarantees),
        )
    return Proof(
        verdict,
        reasons,
        guarantees,
        obligations,
        Ir(document),
        document.layer_hash,
        analysis=analysis,
        timings=Timings(solve_ms=solve_ms, analysis_ms=analysis.ms if analysis else 0.0),
        certificate=certificate,
        distrusted=distrusted or "",
        witnesses=witnesses_of(promises),
        decided_by={goal: each.how for goal, each in found.items() if each.how is not None},
    )


def _tell(progress: OnProgress | None, told: Progress) -> None:
    if progress is not None:
        progress(told)
