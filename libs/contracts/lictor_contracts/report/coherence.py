"""The coherence report: drift, patches, degrading, verification, seals and deadlines, from counts that were measured.

Every share is compared exactly, in whole numbers. An objective about which nothing was measured is `not_measured`; no
number stands for all of them together.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from lictor_contracts.envelope.bounds import is_count, told
from lictor_contracts.errors import ContractError
from lictor_schema.contracts.coherence_report import (
    CoherenceReport,
    DriftCount,
    PatchTimes,
    RungCount,
    Share,
    SloName,
    SloResult,
    SloVerdict,
)
from lictor_schema.contracts.drift import DriftSeverity, DriftType
from lictor_schema.contracts.envelope import DegradeStep

RED_PATCHED_WITHIN_MS = 4 * 60 * 60 * 1000
WHY_WITHIN_MS = 60 * 1000
UNDEGRADED = "none"

_PERCENT: Mapping[SloName, int] = MappingProxyType(
    {
        SloName.FRESHNESS: 99,
        SloName.DEADLINE: 99,
        SloName.VERIFICATION: 100,
        SloName.SEAL_INTEGRITY: 100,
        SloName.UNDEGRADED: 80,
    }
)
_TARGETS: Mapping[SloName, str] = MappingProxyType(
    {
        SloName.P99_WITHIN_WINDOW: "p99 of every decision type within its window",
        SloName.FRESHNESS: "at least 99 % of decisions on fresh context only",
        SloName.DEADLINE: "at least 99 % of decisions within their deadline",
        SloName.VERIFICATION: "100 % of actions of tier medium and above verified",
        SloName.SEAL_INTEGRITY: "100 % of seals checked are intact",
        SloName.RED_DRIFT_PATCHED: "red drift patched in less than 4 h",
        SloName.UNDEGRADED: "at least 80 % of decisions on the undegraded path",
        SloName.WHY_RETRIEVAL: "every question why answered within 60 s",
    }
)


class ReportRefused(ContractError):
    """Counts that can't have been measured."""


@dataclass(frozen=True, slots=True)
class MeasuredShare:
    """So many of so many; of none, nothing was measured.

    One that should have been measured and was not belongs to the whole and not to the part.
    """

    part: int = 0
    whole: int = 0


@dataclass(frozen=True, slots=True)
class Latency:
    """How long decisions of one type took."""

    decision_type: str
    window_ms: int
    durations_ms: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Measured:
    """What was counted between two moments; whatever nobody counted stays empty."""

    episodes: int = 0
    drift: Mapping[tuple[DriftType, DriftSeverity], int] = field(
        default_factory=dict[tuple[DriftType, DriftSeverity], int]
    )
    rungs: Mapping[DegradeStep | None, int] = field(default_factory=dict[DegradeStep | None, int])
    """Decisions by the rung they took; None for the undegraded path."""
    latencies: Sequence[Latency] = ()
    fresh: MeasuredShare = MeasuredShare()
    """Decisions on fresh context only, of those whose context had a measured age."""
    within_deadline: MeasuredShare = MeasuredShare()
    verified: MeasuredShare = MeasuredShare()
    """Actions of tier medium and above with a verification that passed, of all of them."""
    intact_seals: MeasuredShare = MeasuredShare()
    """Seals that verified, of those that were checked."""
    red_patched_ms: Sequence[int] = ()
    """For each red drift event that was patched: from its detection to its patch."""
    red_waiting_ms: Sequence[int] = ()
    """For each red drift event without a patch: its age."""
    why_ms: Sequence[int] = ()
    """How long each question took, why something was decided."""


def report(measured: Measured, measured_from: str, measured_to: str) -> CoherenceReport:
    """The report about a stretch of time; its ends are UTC times with milliseconds."""
    _refuse_impossible(measured)
    return CoherenceReport(
        measured_from=measured_from,
        measured_to=measured_to,
        episodes=measured.episodes,
        drift=tuple(
            DriftCount(drift_type=kind, severity=severity, count=count)
            for kind in DriftType
            for severity in DriftSeverity
            if (count := measured.drift.get((kind, severity), 0))
        ),
        patch_times=_patch_times(measured),
        rungs=tuple(
            RungCount(step=UNDEGRADED if step is None else step.value, count=count)
            for step in (None, *DegradeStep)
            if (count := measured.rungs.get(step, 0))
        ),
        slos=tuple(_result(name, measured) for name in SloName),
    )


def percentile(values: Iterable[int], percent: int) -> int:
    """The nearest-rank percentile: the smallest value that `percent` of them do not exceed."""
    ordered = sorted(values)
    if not ordered or not 1 <= percent <= 100:
        raise ReportRefused(
            f"there is no percentile {percent} of {len(ordered)} values; ask for 1 to 100 of some"
        )
    rank = -(-len(ordered) * percent // 100)
    return ordered[rank - 1]


def _result(name: SloName, measured: Measured) -> SloResult:
    if name is SloName.P99_WITHIN_WINDOW:
        return _latency(measured.latencies)
    if name is SloName.RED_DRIFT_PATCHED:
        return _red_patched(measured)
    if name is SloName.WHY_RETRIEVAL:
        return _why(measured.why_ms)
    shares = {
        SloName.FRESHNESS: measured.fresh,
        SloName.DEADLINE: measured.within_deadline,
        SloName.VERIFICATION: measured.verified,
        SloName.SEAL_INTEGRITY: measured.intact_seals,
        SloName.UNDEGRADED: MeasuredShare(
            measured.rungs.get(None, 0), sum(measured.rungs.values())
        ),
    }
    tally = shares[name]
    if tally.whole == 0:
        return _unmeasured(name)
    reached = tally.part * 100 >= tally.whole * _PERCENT[name]
    return SloResult(
        slo=name,
        target=_TARGETS[name],
        verdict=SloVerdict.PASS if reached else SloVerdict.FAIL,
        share=Share(part=tally.part, whole=tally.whole),
        explanation=f"{tally.part} of {tally.whole}",
    )


def _latency(latencies: Sequence[Latency]) -> SloResult:
    found = [(each, percentile(each.durations_ms, 99)) for each in latencies if each.durations_ms]
    missed = [
        f"{each.decision_type} ({p99} ms of {each.window_ms})"
        for each, p99 in found
        if p99 > each.window_ms
    ]
    # A type that nobody measured keeps no window; it hides none that was missed.
    if not missed and (not found or len(found) < len(latencies)):
        return _unmeasured(SloName.P99_WITHIN_WINDOW)
    return SloResult(
        slo=SloName.P99_WITHIN_WINDOW,
        target=_TARGETS[SloName.P99_WITHIN_WINDOW],
        verdict=SloVerdict.FAIL if missed else SloVerdict.PASS,
        share=Share(part=len(found) - len(missed), whole=len(found)),
        worst_ms=max(p99 for _, p99 in found),
        explanation=f"over its window: {', '.join(missed)}" if missed else f"{len(found)} types",
    )


def _red_patched(measured: Measured) -> SloResult:
    limit = RED_PATCHED_WITHIN_MS
    late = sum(took >= limit for took in measured.red_patched_ms)
    overdue = sum(age >= limit for age in measured.red_waiting_ms)
    # One that waits and still has time has neither kept the objective nor missed it.
    counted = len(measured.red_patched_ms) + overdue
    if counted == 0:
        return _unmeasured(SloName.RED_DRIFT_PATCHED)
    open_ages = [age for age in measured.red_waiting_ms if age >= limit]
    return SloResult(
        slo=SloName.RED_DRIFT_PATCHED,
        target=_TARGETS[SloName.RED_DRIFT_PATCHED],
        verdict=SloVerdict.FAIL if late or overdue else SloVerdict.PASS,
        share=Share(part=counted - late - overdue, whole=counted),
        worst_ms=max((*measured.red_patched_ms, *open_ages)),
        explanation=f"{counted - late - overdue} of {counted} in time; {late} patched late,"
        f" {overdue} overdue, {len(measured.red_waiting_ms) - overdue} still in time",
    )


def _why(times: Sequence[int]) -> SloResult:
    if not times:
        return _unmeasured(SloName.WHY_RETRIEVAL)
    in_time = sum(took <= WHY_WITHIN_MS for took in times)
    return SloResult(
        slo=SloName.WHY_RETRIEVAL,
        target=_TARGETS[SloName.WHY_RETRIEVAL],
        verdict=SloVerdict.PASS if in_time == len(times) else SloVerdict.FAIL,
        share=Share(part=in_time, whole=len(times)),
        worst_ms=max(times),
        explanation=f"{in_time} of {len(times)} in time",
    )


def _unmeasured(name: SloName) -> SloResult:
    return SloResult(
        slo=name,
        target=_TARGETS[name],
        verdict=SloVerdict.NOT_MEASURED,
        explanation="nothing was measured",
    )


def _patch_times(measured: Measured) -> PatchTimes:
    patched, waiting = sorted(measured.red_patched_ms), measured.red_waiting_ms
    return PatchTimes(
        patched=len(patched),
        waiting=len(waiting),
        median_ms=patched[(len(patched) - 1) // 2] if patched else None,
        slowest_ms=patched[-1] if patched else None,
        longest_wait_ms=max(waiting, default=None),
    )


def _refuse_impossible(measured: Measured) -> None:
    counts: dict[str, Iterable[int]] = {
        "episodes": (measured.episodes,),
        "drift": measured.drift.values(),
        "rungs": measured.rungs.values(),
        "red_patched_ms": measured.red_patched_ms,
        "red_waiting_ms": measured.red_waiting_ms,
        "why_ms": measured.why_ms,
    }
    for each in measured.latencies:
        counts[f"latencies of {each.decision_type}"] = (each.window_ms, *each.durations_ms)
    tallies = {
        "fresh": measured.fresh,
        "within_deadline": measured.within_deadline,
        "verified": measured.verified,
        "intact_seals": measured.intact_seals,
    }
    for name, tally in tallies.items():
        counts[name] = (tally.part, tally.whole)
    for name, values in counts.items():
        # A fraction or NaN would pass comparisons that it should not.
        wrong = [value for value in values if not is_count(value)]
        if wrong:
            raise ReportRefused(
                f"{name} holds {told(wrong[0])}, which nobody can have counted; give whole numbers from 0 on"
            )
    for name, tally in tallies.items():
        if tally.part > tally.whole:
            raise ReportRefused(f"{name} counts {tally.part} of {tally.whole}; count them again")
    red = sum(n for (_, severity), n in measured.drift.items() if severity is DriftSeverity.RED)
    known = len(measured.red_patched_ms) + len(measured.red_waiting_ms)
    if red > known:
        raise ReportRefused(
            f"drift counts {red} red events, and {known} are patched or waiting; say which each is"
        )
