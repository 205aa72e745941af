"""What is done instead when a decision can't go on as planned: one rung of its envelope's ladder, and why that one.

The choice is total and fails closed. In this order:

| the situation | the choice |
|---|---|
| a hard violation other than stale context, the deadline passed, a signal that is no measure | `abstain`; no approval \
changes that |
| the contract asks for more than the envelope lets any action request | the ladder in its order: `hitl`, so a person \
does it, or `abstain` |
| verification failed or was inconclusive | `hitl` |
| stale context | the ladder in its order: `hitl`, so a person approves the action on it, or `abstain` |
| time presses: a stage over budget or too long for what remains, p99 over the deadline, jitter over what remains | \
the first of `cache_bundle`, `small_model`, `rules_only` in the ladder's order that fits; on stale context not \
`small_model` |
| stale context that is safe (`allowStaleIfSafe`) | the ladder in its order: `cache_bundle`, `rules_only`, `hitl` or \
`abstain` |
| nothing | no rung: the decision goes on undegraded |

A rung fits when what it costs is within its own `maxExtraMs`, and for those that save time also within what remains.
What it costs is what was expected of it, or else all of `maxExtraMs`. Where no wanted rung can be taken, `hitl` is
next, under time pressure only if it says a time that fits; then `abstain`, which is always there, and the ladder
counts as exhausted. `bypass` is taken in place of any of these, but only where exactly the rung's approver has
approved it, and never for what the first two rows and stale context that is not safe are about.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import floor
from typing import Final

from lictor_contracts.envelope.bounds import (
    BoundViolation,
    Envelope,
    EnvelopeBound,
    is_measure,
    told,
)
from lictor_schema.contracts.envelope import DegradeRung, DegradeStep
from lictor_schema.contracts.verification import VerificationResult
from lictor_schema.core.base_model import Scalar
from lictor_schema.seals.episode import DegradeStamp

_SAVE_TIME: Final = (DegradeStep.CACHE_BUNDLE, DegradeStep.SMALL_MODEL, DegradeStep.RULES_ONLY)
_ON_STALE: Final = (DegradeStep.CACHE_BUNDLE, DegradeStep.RULES_ONLY)
"""What may be done on context that is too old and safe: rules can be written for it, a bundle is no fresher."""
_STRICTER: Final = (
    None,
    DegradeStep.CACHE_BUNDLE,
    DegradeStep.SMALL_MODEL,
    DegradeStep.RULES_ONLY,
    DegradeStep.HITL,
    DegradeStep.ABSTAIN,
)
_MAX_FIELDS: Final = 16


@dataclass(frozen=True, slots=True)
class LadderInput:
    """What a rung is chosen for."""

    violations: tuple[BoundViolation, ...]
    remaining_ms: float | None
    """What is left of the deadline; None when it was not measured."""
    verification: VerificationResult | None = None
    """What a verifier found; None when none has run yet."""
    p99_ms: float | None = None
    jitter_ms: float | None = None
    expected_extra_ms: Mapping[DegradeStep, float] = field(default_factory=dict[DegradeStep, float])
    """What each rung is expected to take, where that is known."""
    approved_by: str | None = None
    """Who has approved a bypass."""
    beyond: str | None = None
    """What the contract asks for that the envelope lets no action request; None when nothing."""


@dataclass(frozen=True, slots=True)
class Rejection:
    """A rung that was passed over."""

    step: DegradeStep
    why: str


@dataclass(frozen=True, slots=True)
class Choice:
    """The rung taken (None: undegraded), and everything that led to it."""

    step: DegradeStep | None
    rationale: Mapping[str, Scalar]
    rejected: tuple[Rejection, ...]
    ladder: tuple[DegradeStep, ...]
    exhausted: bool = False
    """Whether no rung that would have helped was left."""
    approved_by: str | None = None
    """Who answers for a bypass."""

    @property
    def stamp(self) -> DegradeStamp:
        """The choice as an episode holds it."""
        return DegradeStamp(step=self.step, rationale=dict(self.rationale), ladder=self.ladder)


@dataclass(frozen=True, slots=True)
class _Need:
    reason: str
    detail: str
    wanted: tuple[DegradeStep, ...]
    presses: bool = False
    in_order: bool = False
    """Whether `abstain` is taken where the ladder lists it, before what it lists later."""
    bypassable: bool = True
    others: str = ""
    """Why the rungs that are not wanted would not help."""


def choose(envelope: Envelope, situation: LadderInput) -> Choice:
    """The rung to take; never raises, and never takes `bypass` without its approval."""
    ladder = envelope.dte.degrade_ladder
    need = _need(envelope, situation)
    told_of = _told(envelope, situation)
    steps = tuple(rung.step for rung in ladder)
    if need is None:
        undegraded = {"reason": "within_envelope", **told_of}
        return Choice(None, undegraded, (), steps)
    told_of = {"reason": need.reason, "detail": need.detail, **told_of}
    rejected: list[Rejection] = []
    step, approver = _approved_bypass(ladder, need, situation, rejected), None
    if step is not None:
        approver = situation.approved_by
    else:
        step = _first_that_fits(ladder, need, situation, rejected)
    exhausted = step is None
    if step is None:
        step = DegradeStep.ABSTAIN
    for each in rejected:
        told_of[f"rejected.{each.step.value}"] = each.why
    if exhausted:
        told_of["exhausted"] = True
    if approver is not None:
        told_of["approved_by"] = approver
    return Choice(step, told_of, tuple(rejected), steps, exhausted, approver)


def stricter(held: DegradeStep | None, now: DegradeStep | None) -> bool:
    """Whether a rung that was taken before holds instead of the one that would be taken now.

    What was approved to be bypassed stays so, but for what a person must look at or what must not go on.
    """
    if held is DegradeStep.BYPASS:
        return now not in (DegradeStep.BYPASS, DegradeStep.HITL, DegradeStep.ABSTAIN)
    if now is DegradeStep.BYPASS:
        return False
    return _STRICTER.index(held) > _STRICTER.index(now)


def _need(envelope: Envelope, situation: LadderInput) -> _Need | None:
    """What has to be done about the situation, the strictest first."""
    return (
        _must_abstain(situation)
        or _asks_for_too_much(situation)
        or _must_be_looked_at(situation)
        or _is_too_stale(situation)
        or _time_presses(envelope, situation)
        or _is_stale(situation)
    )


def _must_abstain(situation: LadderInput) -> _Need | None:
    def abstain(reason: str, detail: str) -> _Need:
        return _Need(reason, detail, (DegradeStep.ABSTAIN,), bypassable=False)

    hard = [each for each in situation.violations if each.is_hard and not each.is_stale]
    for gate, reason in (
        (EnvelopeBound.DEADLINE, "deadline"),
        (EnvelopeBound.FEATURE_TTL, "stale_context"),
    ):
        for each in hard:
            if each.gate is gate:
                return abstain(reason, each.message)
    if hard:
        return abstain("hard_violation", hard[0].message)
    remaining = situation.remaining_ms
    if type(remaining) in (int, float) and remaining is not None and remaining < 0:
        return abstain("deadline", "the deadline has passed")
    if not is_measure(remaining):
        return abstain("missing_signal", f"remaining_ms is {told(remaining)}, which is no measure")
    for name, given in (("p99_ms", situation.p99_ms), ("jitter_ms", situation.jitter_ms)):
        if given is not None and not is_measure(given):
            return abstain("missing_signal", f"{name} is {told(given)}, which is no measure")
    return None


def _asks_for_too_much(situation: LadderInput) -> _Need | None:
    if situation.beyond is None:
        return None
    others = "the action would ask for too much on it as well"
    return _Need(
        "beyond_the_envelope",
        situation.beyond,
        (DegradeStep.HITL,),
        in_order=True,
        bypassable=False,
        others=others,
    )


def _is_too_stale(situation: LadderInput) -> _Need | None:
    """Context that was captured, and is too old for the action: only a person can answer for that."""
    stale = [each for each in situation.violations if each.is_stale and each.is_hard]
    if not stale:
        return None
    return _Need(
        "stale_context",
        stale[0].message,
        (DegradeStep.HITL,),
        presses=any(each.gate is EnvelopeBound.STAGE_BUDGET for each in situation.violations),
        in_order=True,
        bypassable=False,
        others="makes no context fresher, and on stale context this action is not safe",
    )


def _must_be_looked_at(situation: LadderInput) -> _Need | None:
    found = situation.verification
    if found in (None, VerificationResult.PASS, VerificationResult.NA):
        return None
    # Also a result that nobody knows: it is no pass.
    return _Need("verification", f"verification is {told(str(found))}", (DegradeStep.HITL,))


def _time_presses(envelope: Envelope, situation: LadderInput) -> _Need | None:
    stale = any(each.gate is EnvelopeBound.FEATURE_TTL for each in situation.violations)
    wanted = _ON_STALE if stale else _SAVE_TIME

    def pressed(detail: str) -> _Need:
        return _Need("time_pressure", detail, wanted, presses=True)

    for each in situation.violations:
        if each.gate in (EnvelopeBound.DEADLINE, EnvelopeBound.STAGE_BUDGET):
            return pressed(each.message)
    # What was not measured presses nobody; what remains was: see `_must_abstain`.
    if (situation.p99_ms or 0) > envelope.dte.deadline_ms:
        return pressed("the 99th percentile is over the deadline")
    if (situation.jitter_ms or 0) > (situation.remaining_ms or 0):
        return pressed("the jitter is more than what remains")
    return None


def _is_stale(situation: LadderInput) -> _Need | None:
    if not situation.violations:
        return None
    # Nothing else is left: the hard ones and those of time have been answered.
    return _Need(
        "stale_but_safe",
        situation.violations[0].message,
        (*_ON_STALE, DegradeStep.HITL),
        in_order=True,
        others="makes no context fresher",
    )


def _approved_bypass(
    ladder: tuple[DegradeRung, ...],
    need: _Need,
    situation: LadderInput,
    rejected: list[Rejection],
) -> DegradeStep | None:
    for rung in ladder:
        if rung.step is not DegradeStep.BYPASS:
            continue
        if not need.bypassable:
            rejected.append(Rejection(rung.step, "a hard violation can't be bypassed"))
        elif situation.approved_by is None:
            rejected.append(Rejection(rung.step, f"not approved by {rung.approver}"))
        elif rung.approver is None or situation.approved_by != rung.approver:
            why = f"approved by {told(situation.approved_by)}, not by {rung.approver}"
            rejected.append(Rejection(rung.step, why))
        else:
            return rung.step
    return None


def _first_that_fits(
    ladder: tuple[DegradeRung, ...],
    need: _Need,
    situation: LadderInput,
    rejected: list[Rejection],
) -> DegradeStep | None:
    """The first wanted rung that fits, else `hitl`; None when only abstaining is left."""
    if DegradeStep.ABSTAIN in need.wanted:
        return DegradeStep.ABSTAIN
    if need.in_order:
        return _first_in_order(ladder, need, situation, rejected)
    there = {rung.step: rung for rung in ladder}
    in_order = [rung for rung in ladder if rung.step in need.wanted]
    if DegradeStep.HITL in there and DegradeStep.HITL not in need.wanted:
        in_order.append(there[DegradeStep.HITL])
    for rung in in_order:
        why = _why_unfit(rung, need, situation)
        if why is None:
            return rung.step
        rejected.append(Rejection(rung.step, why))
    return None


def _first_in_order(
    ladder: tuple[DegradeRung, ...],
    need: _Need,
    situation: LadderInput,
    rejected: list[Rejection],
) -> DegradeStep | None:
    for rung in ladder:
        if rung.step is DegradeStep.BYPASS:
            continue  # answered before
        if rung.step is DegradeStep.ABSTAIN:
            return rung.step
        why = _why_unfit(rung, need, situation) if rung.step in need.wanted else need.others
        if why is None:
            return rung.step
        rejected.append(Rejection(rung.step, why))
    return None


def _why_unfit(rung: DegradeRung, need: _Need, situation: LadderInput) -> str | None:
    allowed = rung.max_extra_ms
    expected = situation.expected_extra_ms.get(rung.step)
    if expected is not None and not is_measure(expected):
        return f"its expected time is {told(expected)}, which is no measure"
    if expected is not None and allowed is not None and expected > allowed:
        return f"is expected to take {expected} ms, over its maxExtraMs {allowed}"
    human = rung.step is DegradeStep.HITL
    cost = allowed if expected is None else expected
    if human and need.presses and cost is None:
        return "says no maxExtraMs, and a person may need more than what remains"
    if human and not need.presses:
        return None  # the decision waits for the person, whose time is not its own
    remaining = situation.remaining_ms or 0
    if cost is not None and cost > remaining:
        return f"may take {cost} ms, and {remaining} ms remain"
    return None


def _told(envelope: Envelope, situation: LadderInput) -> dict[str, Scalar]:
    """The numbers behind the choice; whole ones, for a stamp hashes the same everywhere."""
    given: dict[str, Scalar] = {
        "ladder": ", ".join(rung.step.value for rung in envelope.dte.degrade_ladder),
        "deadline_ms": envelope.dte.deadline_ms,
    }
    measured = (
        ("remaining_ms", situation.remaining_ms),
        ("p99_ms", situation.p99_ms),
        ("jitter_ms", situation.jitter_ms),
    )
    for name, value in measured:
        if value is not None:
            given[name] = floor(value) if is_measure(value) else told(value)
    if situation.violations:
        fields = [each.field for each in situation.violations]
        given["violations"] = len(fields)
        given["fields"] = ", ".join(fields[:_MAX_FIELDS])
    if situation.verification is not None:
        given["verification"] = str(situation.verification)
    return given
