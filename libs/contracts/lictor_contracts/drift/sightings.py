"""The drift that one entry of a decision's log shows: a pure function of the entry, so a replay sees the same.

One event for each cause, with the severity of its own; a cause that several entries show has one id in its episode.
"""

from collections.abc import Iterator
from typing import Final

from lictor_contracts.decision.question_stamp import instant
from lictor_contracts.drift.causes import (
    Dispatch,
    FeatureUse,
    Measured,
    Retries,
    bypass_causes,
    contention_causes,
    fallback_causes,
    fanout_causes,
    freshness_causes,
    outcome_causes,
    refusal_causes,
    time_causes,
    verify_causes,
)
from lictor_contracts.drift.events import Cause, drift_events
from lictor_contracts.envelope.bounds import FEATURE
from lictor_schema.contracts.decision_log import (
    ActionDispatched,
    ActionFinished,
    ActionJudged,
    ActionVerified,
    AnyDecisionEntry,
    ContractViolation,
    DeadlinePassed,
    DecisionClosed,
    DecisionEnded,
    Degraded,
    RungTaken,
    SpreadCounted,
    StageBegun,
    StageEnded,
    StageOverrun,
    SwitchEngaged,
    SwitchReleased,
)
from lictor_schema.contracts.drift import DriftEvent, DriftSeverity, DriftType
from lictor_schema.contracts.verification import VerificationResult
from lictor_schema.seals.episode import OutcomeCode

_STAGE: Final = "stageBudgetsMs."
_LIMIT: Final = "limits."


def sightings(entry: AnyDecisionEntry) -> tuple[DriftEvent, ...]:
    """Every cause of drift that an entry shows."""
    if isinstance(entry, SwitchEngaged | SwitchReleased):
        return ()
    evidence = f"lictor:actions:{entry.entry_id}"
    causes = [
        Cause(each.drift_type, each.cause, each.severity, each.notes, (evidence,))
        for each in _causes(entry)
    ]
    return drift_events(entry.episode_id, entry.decision_type, causes, instant(entry.at_us))


def _causes(entry: AnyDecisionEntry) -> Iterator[Cause]:
    match entry:
        case StageBegun():
            yield from _short_of_time(entry.stage, entry.violations)
            yield from _rung(entry.rung)
        case Degraded():
            yield from _short_of_time(entry.stage, entry.violations)
            yield from _rung(entry.rung)
        case StageEnded() | StageOverrun():
            yield from _stage(entry.stage, entry.took_ms, entry.budget_ms)
            if isinstance(entry, StageOverrun):
                yield from _rung(entry.rung)
        case DeadlinePassed():
            yield from _deadline(entry.elapsed_ms, entry.deadline_ms)
            yield from _rung(entry.rung)
        case DecisionEnded():
            yield from _deadline(entry.elapsed_ms, entry.deadline_ms)
        case SpreadCounted():
            for each in entry.violations:
                yield from _violated(each, ())
        case ActionJudged():
            for each in entry.violations:
                yield from _violated(each, entry.fresh_at_plan)
            yield from _rung(entry.rung)
            yield from refusal_causes(
                entry.contract.action_type,
                [each.code for each in entry.reasons if each.decision == "refuse"],
            )
        case ActionDispatched():
            if entry.problem is not None:
                yield from bypass_causes(None, (Dispatch(entry.action_type, entry.problem),))
        case ActionFinished():
            yield from _finished(entry)
        case ActionVerified():
            found = entry.verification
            yield from verify_causes(
                method=found.method,
                result=found.result,
                required=found.required,
                timed_out=entry.timed_out,
            )
            yield from _rung(entry.rung)
        case DecisionClosed():
            yield from _closed(entry)
        case _:
            return


def _rung(rung: RungTaken | None) -> Iterator[Cause]:
    if rung is not None:
        yield from fallback_causes(rung.step, exhausted=rung.exhausted)
        yield from bypass_causes(rung.step)


def _deadline(elapsed_ms: Measured, deadline_ms: int) -> tuple[Cause, ...]:
    return time_causes(elapsed_ms=elapsed_ms, deadline_ms=deadline_ms, stage_ms={}, budgets_ms={})


def _stage(stage: str, took_ms: Measured, budget_ms: int) -> tuple[Cause, ...]:
    return time_causes(
        elapsed_ms=0, deadline_ms=1, stage_ms={stage: took_ms}, budgets_ms={stage: budget_ms}
    )


def _short_of_time(stage: str, violations: tuple[ContractViolation, ...]) -> Iterator[Cause]:
    for each in violations:
        if each.gate == "deadline":
            yield from _deadline(_measured(each), each.limit or 1)
        else:
            what = f"too little time left for stage {stage}"
            yield Cause(DriftType.TIME, what, DriftSeverity.YELLOW, each.message)


def _violated(violation: ContractViolation, fresh_at_plan: tuple[str, ...]) -> Iterator[Cause]:
    measured = _measured(violation)
    match violation.gate:
        case "deadline":
            yield from _deadline(measured, violation.limit or 1)
        case "stage_budget":
            stage = violation.field.removeprefix(_STAGE)
            yield from _stage(stage, measured, violation.limit or 0)
        case "feature_ttl":
            name = violation.field.removeprefix(FEATURE)
            use = FeatureUse(
                name,
                violation.limit or 0,
                measured,
                fresh_at_plan=name in fresh_at_plan,
                tolerated=violation.severity == "soft",
            )
            yield from freshness_causes((use,))
        case "limits":
            name = violation.field.removeprefix(_LIMIT)
            yield from fanout_causes({name: measured}, {name: violation.limit or 0})


def _measured(violation: ContractViolation) -> Measured:
    """What was measured, or nothing: a text in place of a number does not count."""
    actual = violation.actual
    return actual if isinstance(actual, int) and not isinstance(actual, bool) else None


def _finished(entry: ActionFinished) -> Iterator[Cause]:
    yield from outcome_causes(
        claimed=OutcomeCode(entry.outcome), expected=entry.expected, observed=entry.observed
    )
    yield from contention_causes(
        Retries(each.kind, each.resource, each.count, entry.retries_allowed, each.gave_up)
        for each in entry.retries
    )


def _closed(entry: DecisionClosed) -> Iterator[Cause]:
    yield from _deadline(entry.elapsed_ms, entry.deadline_ms)
    for each in entry.violations:
        yield from _violated(each, ())
    found = entry.verification
    if entry.unverified or found.method is None:
        # Other failures were reported when it was verified.
        missing = entry.unverified > 0 or found.required
        yield from verify_causes(method=None, result=VerificationResult.NA, required=missing)
    if entry.unapproved:
        yield Cause(
            DriftType.OUTCOME,
            "an action was never approved",
            DriftSeverity.YELLOW,
            f"{entry.unapproved} of them",
        )
    # That it abstained, was bypassed or degraded is reported by the rung, and that nobody verified it just above.
    if entry.claimed is OutcomeCode.SUCCESS and entry.outcome is OutcomeCode.FAIL:
        yield from outcome_causes(
            claimed=entry.claimed, expected={}, observed={}, expected_code=entry.outcome
        )
