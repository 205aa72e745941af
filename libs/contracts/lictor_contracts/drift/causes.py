"""What makes each of the eight types of drift, from plain values.

A value that is missing, negative, not a number or from the future is a red cause of its own: what can't be measured
can't be shown to have been kept.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from lictor_contracts.drift.events import Cause
from lictor_contracts.envelope.bounds import is_measure, told
from lictor_schema.contracts.drift import DriftSeverity, DriftType
from lictor_schema.contracts.envelope import DegradeStep
from lictor_schema.contracts.verification import VerificationResult
from lictor_schema.seals.episode import OutcomeCode

Measured = int | float | None
"""What somebody says he measured; None when nobody did."""

Value = str | bool | int | None

_GREEN, _YELLOW, _RED = DriftSeverity.GREEN, DriftSeverity.YELLOW, DriftSeverity.RED


@dataclass(frozen=True, slots=True)
class FeatureUse:
    """A feature of the context at the moment it was used."""

    name: str
    ttl_ms: int
    age_ms: Measured
    """Its age at use; negative when it was captured in the future."""
    fresh_at_plan: bool = False
    """Whether it was still fresh when the plan was made."""
    tolerated: bool = False
    """Whether the envelope lets this action go on with stale context."""


@dataclass(frozen=True, slots=True)
class Dispatch:
    """An action that was sent although its contract did not allow it, or although it had none."""

    action_type: str
    problem: str
    """What was wrong, without measured values, such as `no contract`."""
    evidence_refs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Retries:
    """How often something had to be tried again because it was taken."""

    kind: Literal["lock", "rate_limit"]
    resource: str
    count: Measured
    allowed: int | None
    """How many the action's contract allows; None when it says nothing, which allows none."""
    gave_up: bool = False


def time_causes(
    *,
    elapsed_ms: Measured,
    deadline_ms: int,
    stage_ms: Mapping[str, Measured],
    budgets_ms: Mapping[str, int],
) -> tuple[Cause, ...]:
    """A missed deadline is red, a stage over its budget yellow; equal to the limit is within it."""
    found: list[Cause] = []
    if not is_measure(elapsed_ms):
        found.append(_unmeasured(DriftType.TIME, "elapsed time", elapsed_ms))
    elif elapsed_ms > deadline_ms:
        found.append(
            _over(DriftType.TIME, "deadline exceeded", _RED, elapsed_ms, deadline_ms, "ms")
        )
    for stage, budget in budgets_ms.items():
        took = stage_ms.get(stage)
        if not is_measure(took):
            found.append(_unmeasured(DriftType.TIME, f"time of stage {stage}", took))
        elif took > budget:
            what = f"stage {stage} over its budget"
            found.append(_over(DriftType.TIME, what, _YELLOW, took, budget, "ms"))
    unbounded = (stage for stage in stage_ms if stage not in budgets_ms)
    found += [Cause(DriftType.TIME, f"stage {stage} has no budget", _RED) for stage in unbounded]
    return tuple(found)


def freshness_causes(features: Iterable[FeatureUse]) -> tuple[Cause, ...]:
    """Context too old at the moment of use: yellow where the envelope tolerates it, else red."""
    found: list[Cause] = []
    for each in features:
        if not is_measure(each.age_ms):
            found.append(_unmeasured(DriftType.FRESHNESS, f"age of {each.name}", each.age_ms))
        elif each.age_ms > each.ttl_ms:
            when = "fresh at plan, stale at use" if each.fresh_at_plan else "stale at use"
            severity = _YELLOW if each.tolerated else _RED
            what = f"{each.name} {when}"
            found.append(_over(DriftType.FRESHNESS, what, severity, each.age_ms, each.ttl_ms, "ms"))
    return tuple(found)


def fallback_causes(step: DegradeStep | None, *, exhausted: bool = False) -> tuple[Cause, ...]:
    """A rung used is green, a ladder without a usable rung yellow. `bypass_causes` reports `bypass`."""
    found: list[Cause] = []
    if step is not None and step is not DegradeStep.BYPASS:
        found.append(Cause(DriftType.FALLBACK, f"rung {step.value} used", _GREEN))
    if exhausted:
        found.append(Cause(DriftType.FALLBACK, "ladder exhausted", _YELLOW))
    return tuple(found)


def bypass_causes(
    step: DegradeStep | None = None, dispatches: Iterable[Dispatch] = ()
) -> tuple[Cause, ...]:
    """A `bypass` rung taken, or an action sent without a valid contract: always red, approved or not."""
    found = [
        Cause(
            DriftType.BYPASS,
            f"{each.action_type} dispatched: {each.problem}",
            _RED,
            evidence_refs=each.evidence_refs,
        )
        for each in dispatches
    ]
    if step is DegradeStep.BYPASS:
        found.append(Cause(DriftType.BYPASS, "rung bypass used", _RED))
    return tuple(found)


def verify_causes(
    *,
    method: str | None,
    result: VerificationResult,
    required: bool,
    timed_out: bool = False,
    evidence_refs: tuple[str, ...] = (),
) -> tuple[Cause, ...]:
    """Everything but a pass: a failure is yellow; no answer in time, or none where one is required, is red."""
    if timed_out:
        what, severity = "timed out", _RED
    elif result is VerificationResult.PASS:
        return ()
    elif result is VerificationResult.FAIL:
        what, severity = "failed", _YELLOW
    elif result is VerificationResult.INCONCLUSIVE:
        what, severity = "inconclusive", _RED if required else _YELLOW
    elif required:
        what, severity = "required and not run", _RED
    else:
        return ()
    cause = f"verification {method or 'without a method'} {what}"
    return (Cause(DriftType.VERIFY, cause, severity, evidence_refs=evidence_refs),)


def outcome_causes(
    *,
    claimed: OutcomeCode,
    expected: Mapping[str, Value],
    observed: Mapping[str, Value],
    expected_code: OutcomeCode | None = None,
) -> tuple[Cause, ...]:
    """A result that differs from what was expected: red where the decision claimed success, else yellow."""
    severity = _RED if claimed is OutcomeCode.SUCCESS else _YELLOW
    found: list[Cause] = []
    if expected_code is not None and expected_code is not claimed:
        what = f"outcome {claimed.value} instead of {expected_code.value}"
        found.append(Cause(DriftType.OUTCOME, what, severity))
    for name, value in expected.items():
        if name not in observed:
            found.append(Cause(DriftType.OUTCOME, f"effect {name} not observed", severity))
        elif not _same(observed[name], value):
            notes = f"expected {value!r}, observed {observed[name]!r}"
            found.append(Cause(DriftType.OUTCOME, f"effect {name} differs", severity, notes))
    return tuple(found)


_OF_THE_CONTRACT = (
    "blast_radius",
    "blocked",
    "action_type",
    "rollback_missing",
    "precondition",
    "idempotency_key",
    "idempotency_conflict",
    "own_approver",
)
"""Reasons that lie in what was asked for; a frozen decision, its envelope and its ladder have causes of their own."""


def refusal_causes(action_type: str, codes: Iterable[str]) -> tuple[Cause, ...]:
    """An action that its contract forbids was asked for and refused, so the decision did not do what it meant to."""
    refused = [code for code in _OF_THE_CONTRACT if code in set(codes)]
    return tuple(
        Cause(DriftType.OUTCOME, f"{action_type} refused: {code.replace('_', ' ')}", _YELLOW)
        for code in refused
    )


def fanout_causes(counts: Mapping[str, Measured], limits: Mapping[str, int]) -> tuple[Cause, ...]:
    """A decision that spread further than its envelope allows; counts and limits by the limit's name."""
    found: list[Cause] = []
    for name, limit in limits.items():
        count = counts.get(name)
        if not is_measure(count):
            found.append(_unmeasured(DriftType.FANOUT, f"count for {name}", count))
        elif count > limit:
            found.append(_over(DriftType.FANOUT, f"{name} exceeded", _YELLOW, count, limit, ""))
    unbounded = (name for name in counts if name not in limits)
    found += [Cause(DriftType.FANOUT, f"{name} has no limit", _RED) for name in unbounded]
    return tuple(found)


def contention_causes(retries: Iterable[Retries]) -> tuple[Cause, ...]:
    """More tries than the contract allows are yellow; giving up in the end is red."""
    found: list[Cause] = []
    for each in retries:
        held = f"{each.kind} of {each.resource}"
        if not is_measure(each.count):
            found.append(_unmeasured(DriftType.CONTENTION, f"retries for {held}", each.count))
            continue
        allowed = each.allowed or 0
        notes = f"{each.count} retries, {allowed} allowed"
        if each.gave_up:
            found.append(Cause(DriftType.CONTENTION, f"{held}: gave up", _RED, notes))
        elif each.count > allowed:
            found.append(Cause(DriftType.CONTENTION, f"{held}: too many retries", _YELLOW, notes))
    return tuple(found)


def _unmeasured(drift_type: DriftType, what: str, value: Measured) -> Cause:
    notes = "nothing was given" if value is None else f"given: {told(value)}"
    return Cause(drift_type, f"{what} not measured", _RED, notes)


def _over(
    drift_type: DriftType,
    what: str,
    severity: DriftSeverity,
    actual: int | float,
    limit: int,
    unit: str,
) -> Cause:
    return Cause(drift_type, what, severity, f"{actual} {unit}".rstrip() + f", allowed {limit}")


def _same(one: Value, other: Value) -> bool:
    return type(one) is type(other) and one == other
