"""How a governed decision ended: the verification that counts, the outcome that may be told, the rung it stood on."""

from lictor_contracts.deciding_state import Deciding
from lictor_contracts.envelope import Gate, Severity, Violation
from lictor_contracts.ladder import Choice, Situation, choose, outcome_for
from lictor_contracts.verifying import not_verified, required, settle
from lictor_schema import (
    DegradeStamp,
    DegradeStep,
    OutcomeCode,
    RungTaken,
    Verification,
    VerificationResult,
)


def rung_of(choice: Choice) -> RungTaken:
    """A choice of the ladder as a log holds it."""
    return RungTaken(
        step=choice.step,
        rationale=dict(choice.rationale),
        ladder=choice.ladder,
        exhausted=choice.exhausted,
        approved_by=choice.approved_by,
    )


def deadline_rung(state: Deciding, elapsed_ms: int) -> RungTaken:
    """What the ladder says once the deadline has passed."""
    deadline = state.envelope.dte.deadline_ms
    message = f"{elapsed_ms} ms have passed and the deadline is {deadline} ms; abstain"
    late = Violation(Gate.DEADLINE, "deadlineMs", deadline, elapsed_ms, Severity.HARD, message)
    return rung_of(choose(state.envelope, Situation((late,), deadline - elapsed_ms)))


def final_rung(state: Deciding, now_us: int) -> RungTaken:
    """The rung that the decision ended on; one that ended late has abstained, whatever it did."""
    if state.abstained is not None:
        return state.abstained
    elapsed = state.elapsed_ms(now_us)
    if elapsed > state.envelope.dte.deadline_ms:
        return deadline_rung(state, elapsed)
    if state.rung is not None:
        return state.rung
    ladder = tuple(rung.step for rung in state.envelope.dte.degrade_ladder)
    return RungTaken(step=None, rationale={"reason": "within_envelope"}, ladder=ladder)


def stamp_of(rung: RungTaken) -> DegradeStamp:
    """A rung as an episode holds it."""
    return DegradeStamp(step=rung.step, rationale=rung.rationale, ladder=rung.ladder)


def unverified(state: Deciding) -> int:
    """How many actions were sent, had to be verified, and were not."""
    return sum(
        bool(each.dispatches)
        and each.verification is None
        and required(state.envelope, each.contract.blast_radius_tier)
        for each in state.actions.values()
    )


def settled_verification(state: Deciding) -> Verification:
    """One verification for all actions that were sent: the worst of them, and what is missing before what passed."""
    sent = [each for each in state.actions.values() if each.dispatches]
    found: list[Verification] = []
    for each in sent:
        tier = each.contract.blast_radius_tier
        if each.verification is not None:
            found.append(each.verification)
        elif required(state.envelope, tier):
            found.append(not_verified(state.envelope, tier))
    if not found:
        return Verification(required=False, result=VerificationResult.NA)
    worst = max(found, key=_how_bad)
    return worst.model_copy(update={"required": any(each.required for each in found)})


def settled_outcome(
    state: Deciding, rung: RungTaken, verification: Verification, claimed: OutcomeCode
) -> OutcomeCode:
    """The outcome that may be told of what was claimed; never better than that."""
    told = outcome_for(Choice(rung.step, rung.rationale, (), rung.ladder), verification)
    if told is OutcomeCode.ABSTAIN:
        return told
    if told is OutcomeCode.BYPASSED or state.bypasses:
        return OutcomeCode.BYPASSED
    sent = [each for each in state.actions.values() if each.dispatches]
    if claimed is OutcomeCode.FAIL or any(each.outcome == "fail" for each in sent):
        return OutcomeCode.FAIL
    if told is OutcomeCode.SUCCESS and any(each.outcome != "success" for each in sent):
        return OutcomeCode.PARTIAL
    return told if claimed is OutcomeCode.SUCCESS else settle(False, verification, claimed)


def why(state: Deciding, rung: RungTaken, verification: Verification, outcome: OutcomeCode) -> str:
    """The outcome in words."""
    sent = sum(each.dispatches for each in state.actions.values())
    parts = [f"{sent} dispatched"]
    if state.bypasses:
        parts.append(f"{state.bypasses} without a valid contract")
    if rung.step is not None:
        detail = rung.rationale.get("detail") or rung.rationale.get("reason")
        parts.append(f"rung {rung.step.value} ({detail})")
    if verification.required or verification.result is not VerificationResult.NA:
        parts.append(f"verification {verification.result.value}")
    if rung.step is DegradeStep.ABSTAIN and sent:
        parts.append("it abstained after something had been dispatched")
    return f"{outcome.value}: {'; '.join(parts)}"


def _how_bad(verification: Verification) -> int:
    if verification.result is VerificationResult.NA:
        return 2  # required and not run: worse than a pass, and it may still be a failure
    order = (VerificationResult.PASS, VerificationResult.INCONCLUSIVE, VerificationResult.FAIL)
    return (1, 3, 4)[order.index(verification.result)]
