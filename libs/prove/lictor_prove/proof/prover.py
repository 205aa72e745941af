"""Proves programs in this process: source to document to goals to a verdict.

`rejected` comes from the front-end. Otherwise a program is `refuted` if a confirmed run breaks a guarantee or an
obligation, `proved` if everything holds and what trusted calls promise is possible, and `unknown` in every other case:
time that ran out, a solver that does not know, a candidate that evaluation does not confirm.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import TYPE_CHECKING, Final

from lictor_ir.analysis import Budget, Signature, entails
from lictor_ir.certificate.format import Level
from lictor_ir.contracts import Contract
from lictor_ir.document import Document
from lictor_ir.errors import DocumentError, IrError
from lictor_ir.goals import Goal, GoalKind, Strength, completed, goals, stated_goals
from lictor_ir.goals.builder import Builder
from lictor_ir.solver.answers import HOLDS, Answer, Conclusion, SolverModel, undecided
from lictor_ir.terms import results
from lictor_ir.validation.document import validate
from lictor_prove.certificate.kept_proof import KeptCertificate, why_not_shown
from lictor_prove.errors import Reason, Rejected
from lictor_prove.layer_model import Layer
from lictor_prove.layers.signature import signature_of
from lictor_prove.proof.counterexamples import Candidate
from lictor_prove.proof.guarantee_analysis import analysis_of
from lictor_prove.proof.portfolio import answers
from lictor_prove.proof.result import (
    CertificateFile,
    Counterexample,
    GuaranteeResult,
    Ir,
    ObligationResult,
    OnProgress,
    Progress,
    Proof,
    Timings,
    rejected,
)
from lictor_prove.proof.runnability import why_not_run
from lictor_prove.proof.settings import DEFAULT, Executable, ProofSettings
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

MAX_GUESSED: Final = 2_000
"""Documents up to so many atoms are run once with plain values, in case that breaks something."""


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
        return rejected(*refused.reasons, read_ms=_since(begun), layer_hash=layer.hash)
    read_ms = _since(begun)
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
        proof.timings, read_ms=read_ms, analysis_ms=proof.timings.analysis_ms + _since(told)
    )
    whole = replace(
        proof,
        layer_hash=layer.hash,
        coverage=coverage,
        timings=timings,
        cannot_run=why_not_run(document),
        python=this_python(),
    )
    if whole.verdict is not ProofVerdict.PROVED:
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
    deciding = _Deciding(document, settings, begun - read_ms / 1000, unread_calls)
    promises: list[FoundPromise] = []
    if certificate is None:
        builder = Builder(document)
        promises = found_promises(builder, deciding.decide)
        todo = (*(each.goal for each in promises), *stated_goals(builder))
    else:
        todo = goals(document, {})
    # What needs no solver comes first: it is done even if time runs out.
    found = {each.goal.id: _found_promise(each) for each in promises}
    waiting = sorted(
        (goal for goal in todo if goal.id not in found), key=lambda goal: not goal.folded
    )
    for at, goal in enumerate(waiting):
        if certificate is not None:
            found[goal.id] = _found_shown(goal)
            continue
        if not goal.folded:
            _tell(progress, Progress("solving", len(found), len(todo)))
        deciding.waiting = len(waiting) - at
        found[goal.id] = deciding.found(goal)
    guarantees, obligations, reasons = _results(document, todo, found)
    verdict = _overall(guarantees, obligations, reasons)
    if verdict is not ProofVerdict.PROVED:
        reasons += tuple(dict.fromkeys(map(_unread_reason, unread)))
    solve_ms = _since(begun)
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


@dataclass(frozen=True, slots=True)
class _Found:
    verdict: ProofVerdict
    how: str | None
    reason: str
    counterexample: Counterexample | None
    ms: float
    needs_promises: bool = False
    """It was proved with what trusted calls promise."""


def _found_shown(goal: Goal) -> _Found:
    """What is known of a goal that a certificate shows."""
    return _Found(ProofVerdict.PROVED, "evaluation" if goal.folded else "proof", "", None, 0.0)


def _found_promise(each: FoundPromise) -> _Found:
    """What was found about the promises of a call: `proved` when it can always keep them."""
    if each.is_kept:
        return _Found(ProofVerdict.PROVED, each.answer.how, "", None, 0.0)
    reason = "; ".join(each.goal.undecided) or each.answer.reason
    return _Found(ProofVerdict.UNKNOWN, None, reason, None, 0.0)


class _Deciding:
    """Decides the goals of one document, one after the other, within its time."""

    def __init__(
        self, document: Document, settings: ProofSettings, begun: float, unread: Set[str]
    ) -> None:
        self._document = document
        self._unread = unread
        """The calls that promise more than the document says."""
        self._settings = settings
        self._end = begun + settings.total_ms / 1000
        self._guess: Candidate | None = None
        self._guessed = len(document.atoms) > MAX_GUESSED
        self.waiting = 0
        """Goals that share the time that is left, the one at hand among them; 0 while that is not known."""

    def found(self, goal: Goal) -> _Found:
        """The verdict on one goal."""
        begun = time.perf_counter()
        if goal.folded and not goal.undecided:
            return _Found(
                ProofVerdict.PROVED,
                "evaluation",
                "",
                None,
                _since(begun),
                needs_promises=goal.rests_on_promises,
            )
        tried = None if goal.folded else self._plain_run(goal)
        if tried is not None:
            return _Found(ProofVerdict.REFUTED, "evaluation", tried.summary, tried, _since(begun))
        answer, run, is_doubted = self._asked(goal, goal)
        if answer.conclusion is Conclusion.HOLDS:
            if goal.undecided:
                return _Found(
                    ProofVerdict.UNKNOWN, None, "; ".join(goal.undecided), None, _since(begun)
                )
            return _Found(
                ProofVerdict.PROVED, answer.how, "", None, _since(begun), needs_promises=True
            )
        if answer.conclusion is Conclusion.UNDECIDED:
            return _Found(ProofVerdict.UNKNOWN, None, answer.reason, None, _since(begun))
        if run is None and not is_doubted:
            # With every promise of every call, the model is more likely to be a run.
            answer, run, is_doubted = self._asked(completed(self._document, goal), goal)
        if run is None:
            reason = "; ".join(goal.undecided) or (
                "a run that may break it makes a call whose promise can't be read"
                if is_doubted
                else "a solver found values that may break it, and no run of the program does it with them"
            )
            return _Found(ProofVerdict.UNKNOWN, None, reason, None, _since(begun))
        return _Found(ProofVerdict.REFUTED, answer.how, run.summary, run, _since(begun))

    def _plain_run(self, goal: Goal) -> Counterexample | None:
        if not self._guessed:
            self._guessed = True
            self._guess = self._candidate(SolverModel())
        return self._guess.breaks(goal) if self._guess is not None else None

    def _asked(self, question: Goal, goal: Goal) -> tuple[Answer, Counterexample | None, bool]:
        """What solvers say of a question, and the run that breaks the goal, as soon as a model is one.

        And whether a model would be one, if a call did not promise more than the document says.
        """
        last, is_doubted = undecided("no solver was asked", ""), False
        for last in self._answers(question):
            if last.model is None:
                continue
            candidate = self._candidate(last.model)
            run = candidate.breaks(goal)
            if run is not None:
                return last, run, False
            is_doubted |= candidate.is_doubted
        return last, None, is_doubted

    def _candidate(self, model: SolverModel) -> Candidate:
        return Candidate(self._document, model, self._unread)

    def decide(self, goal: Goal) -> Answer:
        """What solvers say of a goal, in the time that is left."""
        return list(self._answers(goal))[-1]

    def _answers(self, goal: Goal) -> Iterator[Answer]:
        if goal.folded:
            return iter((HOLDS,))
        left = int((self._end - time.perf_counter()) * 1000)
        if left <= 0:
            return iter((undecided(f"the time of {self._settings.total_ms} ms is up", "z3"),))
        share = left // self.waiting if self.waiting else 0
        allowed = min(left, max(self._settings.goal_ms, share))
        return answers(goal, allowed, self._settings.memory_mb)


# -- verdicts --------------------------------------------------------------------------------------


def _results(
    document: Document, todo: Sequence[Goal], found: dict[str, _Found]
) -> tuple[tuple[GuaranteeResult, ...], tuple[ObligationResult, ...], tuple[Reason, ...]]:
    reasons: list[Reason] = []
    for goal in todo:
        if goal.kind is GoalKind.PROMISE and found[goal.id].verdict is not ProofVerdict.PROVED:
            reasons.append(_vacuous(document, goal, found[goal.id]))
    vacuous = bool(reasons)
    obligations: list[ObligationResult] = []
    parts: dict[int, list[Goal]] = {}
    for goal in todo:
        if goal.kind is GoalKind.GUARANTEE:
            parts.setdefault(goal.subject, []).append(goal)
        elif goal.kind is not GoalKind.PROMISE:
            result = _obligation(document, goal, _sound(found[goal.id], vacuous=vacuous))
            obligations.append(result)
            if result.verdict is not ProofVerdict.PROVED:
                reasons.append(_obligation_reason(document, goal, result))
    guarantees: list[GuaranteeResult] = []
    for at in range(len(document.guarantees)):
        mine = parts.get(at, [])
        result = _guarantee(
            document, at, mine, [_sound(found[goal.id], vacuous=vacuous) for goal in mine]
        )
        guarantees.append(result)
        if result.verdict is not ProofVerdict.PROVED:
            reasons.append(_guarantee_reason(document, at, result))
    return tuple(guarantees), tuple(obligations), tuple(reasons)


def _sound(found: _Found, *, vacuous: bool) -> _Found:
    """What was proved from promises that can't be kept is not proved."""
    if not vacuous or found.verdict is not ProofVerdict.PROVED or not found.needs_promises:
        return found
    return replace(
        found,
        verdict=ProofVerdict.UNKNOWN,
        how=None,
        reason="it rests on a promise of a trusted call that may be impossible to keep",
    )


def _overall(
    guarantees: Sequence[GuaranteeResult],
    obligations: Sequence[ObligationResult],
    reasons: Sequence[Reason],
) -> ProofVerdict:
    if any(each.verdict is ProofVerdict.REFUTED for each in (*guarantees, *obligations)):
        return ProofVerdict.REFUTED
    return ProofVerdict.UNKNOWN if reasons else ProofVerdict.PROVED


def _guarantee(
    document: Document, at: int, parts: Sequence[Goal], found: Sequence[_Found]
) -> GuaranteeResult:
    guarantee = document.guarantees[at]
    verdicts = [each.verdict for each in found]
    verdict = (
        ProofVerdict.REFUTED
        if ProofVerdict.REFUTED in verdicts
        else ProofVerdict.UNKNOWN
        if ProofVerdict.UNKNOWN in verdicts
        else ProofVerdict.PROVED
    )
    telling = next((each for each in found if each.verdict is verdict), None)
    proved = verdict is ProofVerdict.PROVED
    weakest = (
        Strength.ON_COMPLETION
        if any(goal.strength is Strength.ON_COMPLETION for goal in parts)
        else Strength.EVERY_PREFIX
    )
    how = telling.how if telling is not None else "evaluation"
    if proved:
        how = next((each.how for each in found if each.how != "evaluation"), "evaluation")
    return GuaranteeResult(
        guarantee.name,
        verdict,
        guarantee.description,
        guarantee.required_by,
        weakest if proved else None,
        how,
        telling.counterexample if telling is not None else None,
        "" if proved or telling is None else telling.reason,
        sum(each.ms for each in found),
        tuple(goal.strength for goal in parts) if proved else (),
    )


def _obligation(document: Document, goal: Goal, found: _Found) -> ObligationResult:
    obligation = document.obligations[goal.subject]
    return ObligationResult(
        str(obligation.kind),
        obligation.text,
        found.verdict,
        obligation.span.line if obligation.span is not None else None,
        found.how,
        found.counterexample,
        found.reason,
        found.ms,
    )


_REMEDIES: Final = {
    "precondition": "check the arguments before the call, or pass others",
    "no_error": "check for it before, so that the program can't fail there",
    "assertion": "correct the assertion or the program",
}


def _guarantee_reason(document: Document, at: int, result: GuaranteeResult) -> Reason:
    span = document.guarantees[at].span
    line, column = (span.line, span.column) if span is not None else (None, None)
    if result.verdict is ProofVerdict.REFUTED:
        remedy = "change the program so that the run shown can't happen, or state what it does"
        return Reason("guarantee.refuted", f"{result.name} does not hold", remedy, line, column)
    remedy = "make the program or the guarantee simpler, or give the proof more time"
    message = f"{result.name} can't be decided: {result.reason}"
    return Reason("guarantee.unknown", message, remedy, line, column)


def _obligation_reason(document: Document, goal: Goal, result: ObligationResult) -> Reason:
    span = document.obligations[goal.subject].span
    line, column = (span.line, span.column) if span is not None else (None, None)
    says = "does not always hold" if result.verdict is ProofVerdict.REFUTED else "can't be decided"
    detail = "" if result.verdict is ProofVerdict.REFUTED else f": {result.reason}"
    code = f"{result.kind}.{result.verdict}"
    return Reason(code, f"{result.text} {says}{detail}", _REMEDIES[result.kind], line, column)


def _unread_reason(promise: UnreadPromise) -> Reason:
    return Reason(
        "promise.unread",
        f"what {promise.effect} promises ({promise.text}) is not relied on: {promise.why}",
        "promise it in the trusted layer in words that can be read (docs/trusted-layers.md)",
        promise.line,
        promise.column,
    )


def _vacuous(document: Document, goal: Goal, found: _Found) -> Reason:
    call = document.assumptions[goal.subject].call
    spans = {atom.id: atom.span for atom in document.atoms}
    span = spans.get(call)
    earlier = [
        each for each in _calls_that_promise(document, goal) if each != call and each in spans
    ]
    before = "".join(f", or after {_promised(document, each)}" for each in earlier)
    why = f": {found.reason}" if found.reason else ""
    return Reason(
        "vacuous",
        f"{_promised(document, call)} is not shown to be possible in every run{before}{why}",
        "demand in the trusted layer what makes it possible (`requires`), or check for it before the call",
        span.line if span is not None else None,
        span.column if span is not None else None,
    )


def _calls_that_promise(document: Document, goal: Goal) -> list[str]:
    """The calls whose results stand in the goal and that promise something, in the order of the document."""
    read = {each.call for each in results(*goal.given, goal.refute)}
    return list(dict.fromkeys(each.call for each in document.assumptions if each.call in read))


def _promised(document: Document, call: str) -> str:
    """What a call promises, in words and with its line."""
    texts = [each.text or "a postcondition" for each in document.assumptions if each.call == call]
    atom = next(each for each in document.atoms if each.id == call)
    line = f", line {atom.span.line}" if atom.span is not None else ""
    return f"what {atom.effect} promises ({' and '.join(dict.fromkeys(texts))}{line})"


def _since(begun: float) -> float:
    return (time.perf_counter() - begun) * 1000


def _tell(progress: OnProgress | None, told: Progress) -> None:
    if progress is not None:
        progress(told)
