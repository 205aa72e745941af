"""What a coherence report is made from, gathered from sealed episodes, drift events and patches.

Only what was measured counts: a decision that no envelope governed says nothing about deadlines, rungs or freshness,
and is left out of them.
"""

from collections import Counter
from collections.abc import Iterable
from datetime import datetime

from lictor_contracts.report.coherence import Latency, Measured, MeasuredShare, report
from lictor_schema.contracts.coherence_report import CoherenceReport
from lictor_schema.contracts.drift import (
    DriftEvent,
    DriftSeverity,
    DriftType,
    TriageEntry,
    TriageState,
)
from lictor_schema.contracts.envelope import BlastRadius
from lictor_schema.contracts.patch import PatchEntry, PatchState
from lictor_schema.contracts.verification import VerificationResult
from lictor_schema.core.base_model import utc_millis
from lictor_schema.seals.seal import SealedEpisode

Moments = dict[str, list[datetime]]


class Measuring:
    """Counts between two moments; without the first, from the first thing that is counted."""

    def __init__(self, since: datetime | None, until: datetime) -> None:
        self._since = since
        self._until = until
        self._first: datetime | None = None
        self._seals = MeasuredShare()
        self._episodes: dict[str, SealedEpisode] = {}
        self._drift: dict[str, DriftEvent] = {}
        self._patched: Moments = {}
        """By drift event, when somebody said that it is patched."""
        self._applied: Moments = {}
        """By fingerprint, when a patch was applied."""
        self._why_ms: list[int] = []

    def covers(self, moment: datetime) -> bool:
        """Whether a moment lies in between."""
        return (self._since is None or moment >= self._since) and moment <= self._until

    def seal(self, *, intact: bool) -> None:
        """A seal was verified."""
        self._seals = MeasuredShare(self._seals.part + intact, self._seals.whole + 1)

    def episode(self, sealed: SealedEpisode) -> None:
        """An episode was sealed; of several versions the last one counts."""
        moment = datetime.fromisoformat(sealed.seal.sealed_at)
        known = self._episodes.get(sealed.episode_id)
        if self.covers(moment) and (known is None or known.seal.version < sealed.seal.version):
            self._noted(moment)
            self._episodes[sealed.episode_id] = sealed

    def drift(self, event: DriftEvent) -> None:
        """A drift event was published, with the severity that its recurrence gives it."""
        if self.covers(event.detected_at):
            self._noted(event.detected_at)
            self._drift[event.drift_id] = event

    def triage(self, entry: TriageEntry) -> None:
        """A drift event was moved forward."""
        if entry.state is TriageState.PATCHED:
            self._patched.setdefault(entry.drift_id, []).append(entry.at)

    def patch(self, entry: PatchEntry) -> None:
        """A patch was moved."""
        if entry.state is PatchState.APPLIED and entry.fingerprint is not None:
            at = datetime.fromisoformat(entry.at)
            self._applied.setdefault(entry.fingerprint.key, []).append(at)

    def why(self, took_ms: int) -> None:
        """Somebody asked why something was decided, and had the answer after so long."""
        self._why_ms.append(took_ms)

    @property
    def latest(self) -> list[SealedEpisode]:
        """The episodes that count, the latest first."""
        return sorted(self._episodes.values(), key=lambda each: each.seal.sealed_at, reverse=True)

    def report(self) -> CoherenceReport:
        """The report."""
        started = self._since or self._first or self._until
        return report(self.measured(), utc_millis(started), utc_millis(self._until))

    def measured(self) -> Measured:
        """Everything that was counted."""
        governed = [each for each in self._episodes.values() if each.dte_ref is not None]
        red = [each for each in self._drift.values() if each.severity is DriftSeverity.RED]
        waits = [(each, self._patched_at(each)) for each in red]
        return Measured(
            episodes=len(self._episodes),
            drift=_counted(self._drift.values()),
            rungs=Counter(each.degrade.step for each in governed),
            latencies=_latencies(governed),
            fresh=_tally(_is_fresh(each) for each in governed),
            within_deadline=_tally(_is_in_time(each) for each in governed),
            verified=_tally(_verified(governed)),
            intact_seals=self._seals,
            red_patched_ms=[
                _ms_between(each.detected_at, at) for each, at in waits if at is not None
            ],
            red_waiting_ms=[
                _ms_between(each.detected_at, self._until) for each, at in waits if at is None
            ],
            why_ms=tuple(self._why_ms),
        )

    def _patched_at(self, event: DriftEvent) -> datetime | None:
        """The first moment from which the drift was patched: by a patch of its cause, or as somebody said."""
        moments = [
            *self._patched.get(event.drift_id, ()),
            *self._applied.get(event.fingerprint.key, ()),
        ]
        return min((at for at in moments if event.detected_at <= at <= self._until), default=None)

    def _noted(self, moment: datetime) -> None:
        if self._first is None or moment < self._first:
            self._first = moment


def _counted(events: Iterable[DriftEvent]) -> dict[tuple[DriftType, DriftSeverity], int]:
    return dict(Counter((each.drift_type, each.severity) for each in events))


def _latencies(governed: Iterable[SealedEpisode]) -> tuple[Latency, ...]:
    found: dict[tuple[str, int], list[int]] = {}
    for each in governed:
        if each.decision_window_ms is not None:
            key = (each.decision_type, each.decision_window_ms)
            found.setdefault(key, []).append(each.telemetry.end_to_end_ms)
    return tuple(Latency(*key, tuple(took)) for key, took in sorted(found.items()))


def _is_fresh(episode: SealedEpisode) -> bool | None:
    context = episode.context
    if context.ttl_breaches_count:
        return False
    return None if context.max_feature_age_ms is None else True


def _is_in_time(episode: SealedEpisode) -> bool | None:
    window = episode.decision_window_ms
    return None if window is None else episode.telemetry.end_to_end_ms <= window


def _verified(governed: Iterable[SealedEpisode]) -> Iterable[bool]:
    for each in governed:
        passed = each.verification.result is VerificationResult.PASS
        for action in each.actions:
            if action.blast_radius_tier.rank >= BlastRadius.MEDIUM.rank:
                yield passed


def _tally(found: Iterable[bool | None]) -> MeasuredShare:
    measured = [each for each in found if each is not None]
    return MeasuredShare(sum(measured), len(measured))


def _ms_between(first: datetime, last: datetime) -> int:
    return max(0, round((last - first).total_seconds() * 1000))
