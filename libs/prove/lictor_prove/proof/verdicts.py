"""What the findings about goals mean for guarantees, obligations and the whole program, with reasons for people."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from lictor_ir.document import Document
from lictor_ir.goals import Goal, GoalKind, Strength
from lictor_ir.terms import results
from lictor_prove.errors import Reason
from lictor_prove.proof.goal_decisions import GoalFinding
from lictor_prove.proof.result import GuaranteeResult, ObligationResult
from lictor_schema.proofs.proof import ProofVerdict

if TYPE_CHECKING:
    from lictor_prove.python.machine.program_shape import UnreadPromise


def results_of(
    document: Document, todo: Sequence[Goal], found: dict[str, GoalFinding]
) -> tuple[tuple[GuaranteeResult, ...], tuple[ObligationResult, ...], tuple[Reason, ...]]:
    """The results of all guarantees and obligations, and why the program is not proved."""
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
            reasons.append(guarantee_reason(document, at, result))
    return tuple(guarantees), tuple(obligations), tuple(reasons)


def _sound(found: GoalFinding, *, vacuous: bool) -> GoalFinding:
    """What was proved from promises that can't be kept is not proved."""
    if not vacuous or found.verdict is not ProofVerdict.PROVED or not found.needs_promises:
        return found
    return replace(
        found,
        verdict=ProofVerdict.UNKNOWN,
        how=None,
        reason="it rests on a promise of a trusted call that may be impossible to keep",
    )


def overall(
    guarantees: Sequence[GuaranteeResult],
    obligations: Sequence[ObligationResult],
    reasons: Sequence[Reason],
) -> ProofVerdict:
    """The verdict about the whole program."""
    if any(each.verdict is ProofVerdict.REFUTED for each in (*guarantees, *obligations)):
        return ProofVerdict.REFUTED
    return ProofVerdict.UNKNOWN if reasons else ProofVerdict.PROVED


def _guarantee(
    document: Document, at: int, parts: Sequence[Goal], found: Sequence[GoalFinding]
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


def _obligation(document: Document, goal: Goal, found: GoalFinding) -> ObligationResult:
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


def guarantee_reason(document: Document, at: int, result: GuaranteeResult) -> Reason:
    """Why a program with this guarantee, which is not proved, is not proved."""
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


def unread_reason(promise: UnreadPromise) -> Reason:
    return Reason(
        "promise.unread",
        f"what {promise.effect} promises ({promise.text}) is not relied on: {promise.why}",
        "promise it in the trusted layer in words that can be read (docs/trusted-layers.md)",
        promise.line,
        promise.column,
    )


def _vacuous(document: Document, goal: Goal, found: GoalFinding) -> Reason:
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
