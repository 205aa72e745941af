"""How a governed decision ended: the verification that counts, the outcome that its log leaves, its rung."""

from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

from lictor_contracts.action.idempotency import key_of
from lictor_contracts.action.verification import not_verified, required
from lictor_contracts.decision.outcome_signs import Sign, in_words, worst
from lictor_contracts.decision.state import COUNTED, ActionState, Deciding
from lictor_contracts.envelope.bounds import BoundSeverity, BoundViolation, EnvelopeBound
from lictor_contracts.envelope.ladder import Choice, LadderInput, choose, stricter
from lictor_schema.contracts.decision_log import ContractReason, RungTaken
from lictor_schema.contracts.envelope import DegradeStep
from lictor_schema.contracts.verification import Verification, VerificationResult
from lictor_schema.seals.episode import DegradeStamp, OutcomeCode

_MAX_NAMED = 8
_LONGEST = 400
_LONGEST_NAME = 64
_LADDER = ("abstain", "hitl")


class OmittedAction(NamedTuple):
    """An action that was asked for and not done."""

    action: ActionState
    status: Literal["refused", "never_approved", "never_sent"]

    @property
    def reason(self) -> str:
        """Why it was denied."""
        if self.status == "never_sent":
            return "it was allowed, and nobody told that it was sent"
        decision = "refuse" if self.status == "refused" else "wait"
        found = [each for each in self.action.reasons if each.decision == decision]
        # What the ladder said to it follows from the others, and is reported with the rung.
        own = [each for each in found if each.code not in _LADDER] or found
        told = dict.fromkeys(self._told(each) for each in own)
        return "; ".join(told) or "no reason is noted"

    def _told(self, reason: ContractReason) -> str:
        """A reason without the values of facts: a sealed episode is read by many, and can't be erased."""
        if reason.code != "precondition":
            return reason.message
        names = {
            f"preconditions[{number}]": each.fact
            for number, each in enumerate(self.action.contract.preconditions)
        }
        return f"its precondition on {names.get(reason.field, reason.field)} does not hold"

    def __str__(self) -> str:
        what = self.status.replace("_", " ")
        return f"{_name(self.action)} was {what}: {self.reason[:_LONGEST]}"


def rung_of(choice: Choice) -> RungTaken:
    """A choice of the ladder as a log holds it."""
    return RungTaken(
        step=choice.step,
        rationale=dict(choice.rationale),
        ladder=choice.ladder,
        exhausted=choice.exhausted,
        approved_by=choice.approved_by,
    )


def rung_now(state: Deciding, situation: LadderInput) -> RungTaken:
    """The rung of an action at this moment: never a more lenient one than that of a stage before."""
    now, held = choose(state.envelope, situation), state.stage_rung
    return held if held is not None and stricter(held.step, now.step) else rung_of(now)


def deadline_rung(state: Deciding, elapsed_ms: int) -> RungTaken:
    """What the ladder says once the deadline has passed."""
    deadline = state.envelope.dte.deadline_ms
    message = f"{elapsed_ms} ms have passed and the deadline is {deadline} ms; abstain"
    late = BoundViolation(
        EnvelopeBound.DEADLINE, "deadlineMs", deadline, elapsed_ms, BoundSeverity.HARD, message
    )
    return rung_of(choose(state.envelope, LadderInput((late,), deadline - elapsed_ms)))


def final_rung(state: Deciding, now_us: int) -> RungTaken:
    """The rung that the decision ended on; one that ended late has abstained, whatever it did."""
    if state.abstained is not None:
        return state.abstained
    elapsed = state.elapsed_ms(now_us)
    if elapsed > state.envelope.dte.deadline_ms:
        return deadline_rung(state, elapsed)
    if state.rung is not None:
        return state.rung
    # Nothing went on from it, and yet it is what was to be done instead of what was refused.
    for each in reversed(not_done(state)):
        rung = each.action.rung
        if rung is not None and rung.step is not None:
            return rung
    ladder = tuple(rung.step for rung in state.envelope.dte.degrade_ladder)
    return RungTaken(step=None, rationale={"reason": "within_envelope"}, ladder=ladder)


def stamp_of(rung: RungTaken) -> DegradeStamp:
    """A rung as an episode holds it."""
    return DegradeStamp(step=rung.step, rationale=rung.rationale, ladder=rung.ladder)


def sent(state: Deciding) -> list[ActionState]:
    """The actions that were sent, of those that were asked for."""
    return [each for each in state.actions.values() if each.dispatches]


def did_something(state: Deciding) -> bool:
    """Whether anything was sent, asked for or not."""
    return bool(sent(state) or state.unasked)


def not_done(state: Deciding) -> tuple[OmittedAction, ...]:
    """Every action that was asked for and not sent, in the order of the questions.

    Not one that was sent under another id: same key and body, same action.
    """
    done = {key_of(each.contract) for each in sent(state)}
    found: list[OmittedAction] = [
        OmittedAction(each, "refused") for each in state.conflicts.values()
    ]
    for each in state.actions.values():
        if each.dispatches or key_of(each.contract) in done:
            continue
        if each.decision == "allow":
            found.append(OmittedAction(each, "never_sent"))
        else:
            found.append(
                OmittedAction(each, "refused" if each.decision == "refuse" else "never_approved")
            )
    return tuple(sorted(found, key=lambda each: each.action.asked_us))


def unverified(state: Deciding) -> int:
    """How many actions were sent, had to be verified, and were not."""
    return sum(
        each.verification is None and required(state.envelope, each.contract.blast_radius_tier)
        for each in sent(state)
    )


def settled_verification(state: Deciding) -> Verification:
    """One verification for all actions that were sent: the worst of them, and what is missing before what passed."""
    found: list[Verification] = []
    for each in sent(state):
        tier = each.contract.blast_radius_tier
        if each.verification is not None:
            found.append(each.verification)
        elif required(state.envelope, tier):
            found.append(not_verified(state.envelope, tier))
    if not found:
        return Verification(required=False, result=VerificationResult.NA)
    worst_found = max(found, key=_how_bad)
    return worst_found.model_copy(update={"required": any(each.required for each in found)})


def settled_outcome(
    state: Deciding,
    rung: RungTaken,
    verification: Verification,
    claimed: OutcomeCode,
    at_us: int,
) -> OutcomeCode:
    """The outcome that the log leaves of what was claimed, when it is closed at a moment."""
    seen = signs(state, rung, verification, at_us)
    return worst([*seen, Sign(_claimed(state, rung, claimed), "")])


def why(state: Deciding, rung: RungTaken, verification: Verification, at_us: int) -> str:
    """What the log shows, in words."""
    names = [*map(_name, sent(state)), *_unasked(state)]
    what = f"{len(names)} sent: {_listed(names)}" if names else "nothing was done"
    return "; ".join(
        part for part in (what, in_words(signs(state, rung, verification, at_us))) if part
    )


def signs(
    state: Deciding, rung: RungTaken, verification: Verification, at_us: int
) -> Iterator[Sign]:
    """Everything that the log shows of how the decision ended."""
    done, missing = sent(state), not_done(state)
    abstained = rung.step is DegradeStep.ABSTAIN
    yield of_rung(rung)
    if abstained and did_something(state):
        yield Sign(OutcomeCode.ABSTAIN, "it abstained after something had been dispatched")
    if state.bypasses:
        yield Sign(OutcomeCode.BYPASSED, f"{state.bypasses} dispatched without a valid contract")
    for each in done:
        yield from _of_action(each)
    yield from _of_envelope(state, at_us)
    yield of_verification(verification)
    left = OutcomeCode.ABSTAIN if abstained else OutcomeCode.FAIL
    if len(missing) > _MAX_NAMED:
        more = f"{len(missing)} in all were asked for and not done"
        yield Sign(OutcomeCode.PARTIAL if done else left, more)
    for each in missing[:_MAX_NAMED]:
        yield Sign(OutcomeCode.PARTIAL if done else left, str(each))


def _of_envelope(state: Deciding, at_us: int) -> Iterator[Sign]:
    """Bounds that were exceeded whether or not a timer or a gate saw it."""
    exceeded = state.envelope.violations(state.signals(at_us))
    stages = [each for each in exceeded if each.gate is EnvelopeBound.STAGE_BUDGET]
    for each in (*stages, *over_limits(state, at_us)):
        yield Sign(OutcomeCode.PARTIAL, each.message.rpartition("; ")[0])


def over_limits(state: Deciding, at_us: int) -> tuple[BoundViolation, ...]:
    """The limits that are exceeded by what was counted; what nobody counted exceeds none."""
    signals = state.signals(at_us)
    if signals.counts is None:
        counts = {**dict.fromkeys(COUNTED, 0), "tool_calls": state.calls_seen}
        signals = signals._replace(counts=counts)
    found = state.envelope.violations(signals)
    return tuple(each for each in found if each.gate is EnvelopeBound.LIMITS)


def of_rung(rung: RungTaken) -> Sign:
    """What a rung leaves: an abstention is final, and a bypass is reported as one."""
    if rung.step is None:
        return Sign(OutcomeCode.SUCCESS, "")
    detail = rung.rationale.get("detail") or rung.rationale.get("reason")
    special = {
        DegradeStep.ABSTAIN: OutcomeCode.ABSTAIN,
        DegradeStep.BYPASS: OutcomeCode.BYPASSED,
    }
    left = special.get(rung.step, OutcomeCode.PARTIAL)
    return Sign(left, f"the ladder said {rung.step.value} ({detail})")


def of_verification(verification: Verification) -> Sign:
    """What a verification leaves: what failed is no success, nor is what had to pass and did not."""
    match verification.result:
        case VerificationResult.FAIL:
            return Sign(OutcomeCode.FAIL, "verification fail")
        case VerificationResult.INCONCLUSIVE:
            return Sign(OutcomeCode.PARTIAL, "verification inconclusive")
        case VerificationResult.PASS:
            return Sign(OutcomeCode.SUCCESS, "verification pass")
        case VerificationResult.NA if verification.required:
            return Sign(OutcomeCode.PARTIAL, "a verification was required, and none was made")
        case VerificationResult.NA:
            return Sign(OutcomeCode.SUCCESS, "")


def _of_action(action: ActionState) -> Iterator[Sign]:
    name = _name(action)
    if action.outcome is None:
        yield Sign(OutcomeCode.PARTIAL, f"{name} was sent, and nobody told what came of it")
    elif action.outcome != "success":
        yield Sign(OutcomeCode(action.outcome), f"{name} ended as {action.outcome}")
    if action.differs:
        what = ", ".join(action.differs[:_MAX_NAMED])
        yield Sign(OutcomeCode.FAIL, f"{name}: observed is not what was expected of {what}")
    if action.unseen:
        what = ", ".join(action.unseen[:_MAX_NAMED])
        yield Sign(OutcomeCode.PARTIAL, f"{name}: expected and not observed: {what}")


def _name(action: ActionState) -> str:
    return _titled(action.contract.action_type, action.contract.action_id)


def _titled(action_type: str, action_id: str) -> str:
    return f"{action_type[:_LONGEST_NAME]} ({action_id[:_LONGEST_NAME]})"


def _unasked(state: Deciding) -> list[str]:
    return [f"{_titled(kind, name)} without asking" for name, kind in state.unasked.items()]


def _claimed(state: Deciding, rung: RungTaken, claimed: OutcomeCode) -> OutcomeCode:
    """What the records claim; that a task failed whose decision abstained, and did nothing, is that it abstained."""
    abstained = rung.step is DegradeStep.ABSTAIN and not did_something(state)
    return OutcomeCode.ABSTAIN if abstained and claimed is OutcomeCode.FAIL else claimed


def _listed(names: Sequence[str]) -> str:
    more = ", …" if len(names) > _MAX_NAMED else ""
    return ", ".join(names[:_MAX_NAMED]) + more


def _how_bad(verification: Verification) -> int:
    if verification.result is VerificationResult.NA:
        return 2  # required and not run: worse than a pass, and it may still be a failure
    order = (VerificationResult.PASS, VerificationResult.INCONCLUSIVE, VerificationResult.FAIL)
    return (1, 3, 4)[order.index(verification.result)]
