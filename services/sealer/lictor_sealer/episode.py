"""From the decision records of a closed task, and the log of its decision if one governed it, to its episode; pure.

Everything in an episode is read off the records and the log, or measured from their times. What nothing measured (the
envelope, context ages and stage times of a task that no envelope governed) is null, never a guess.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from lictor_contracts.deciding_state import Deciding
from lictor_contracts.outcomes import Sign, badness, in_words, worst
from lictor_schema import (
    Actor,
    DecisionEpisode,
    DecisionRecord,
    DegradeStamp,
    EpisodeContext,
    EpisodeSources,
    Outcome,
    OutcomeCode,
    Plan,
    PolicyPackStamp,
    PolicyProfileStamp,
    PolicyStamp,
    RecordDigest,
    Telemetry,
    Verification,
    VerificationResult,
    content_hash,
)
from lictor_schema.episodes import MAX_RECORDS
from lictor_schema.ids import episode_id
from lictor_sealer.episode_signs import MAX_REASON, record_signs, source_signs
from lictor_sealer.governed_episode import under_envelope

_MAX_EVIDENCE = 1000


class EpisodeError(Exception):
    """The records of a task don't make an episode; the message says why."""


@dataclass(frozen=True, slots=True)
class StoredRecord:
    """A decision record, its content hash, and when the broker stored it."""

    record: DecisionRecord
    record_hash: str
    stored_us: int = 0

    @classmethod
    def of(cls, record: DecisionRecord, stored_us: int = 0) -> "StoredRecord":
        """Hash a record as read from the stream."""
        return cls(record, content_hash(record), stored_us)

    @property
    def digest(self) -> RecordDigest:
        """How an episode names it."""
        return RecordDigest(record_id=self.record.record_id, record_hash=self.record_hash)


def covered(stored: Sequence[StoredRecord]) -> Sequence[StoredRecord]:
    """Of all records of a task in stream order, those of the episode that the last one closes."""
    if not stored:
        raise EpisodeError("there are no decision records for the task")
    if len(stored) > MAX_RECORDS:
        raise EpisodeError(
            f"the task has {len(stored)} decision records, more than the {MAX_RECORDS} an episode can cover"
        )
    stored = _since_the_last_closing(stored)
    records = [item.record for item in stored]
    first, last = records[0], records[-1]
    if not last.task_closed or last.episode is None:
        raise EpisodeError("the last record does not close the task")
    if any(record.task_id != first.task_id for record in records):
        raise EpisodeError("the records belong to different tasks")
    return stored


def assemble(
    stored: Sequence[StoredRecord],
    governed: Deciding | None = None,
    sources: EpisodeSources | None = None,
) -> DecisionEpisode:
    """The episode of one task, from all its records in stream order, its decision as it was closed, and all else."""
    stored = covered(stored)
    records = [item.record for item in stored]
    first, last = records[0], records[-1]
    if last.episode is None:
        raise EpisodeError("the last record does not close the task")
    started, ended = _instant(first.recorded_at), _instant(last.recorded_at)
    episode = DecisionEpisode(
        episode_id=episode_id(first.task_id, first.event_id),
        decision_type=last.decision_type,
        task_id=first.task_id,
        runtime=first.runtime,
        correlation_id=first.correlation_id,
        started_at=first.recorded_at,
        ended_at=last.recorded_at,
        decision_window_ms=None,
        actor=Actor(type="agent", id=last.agent_id),
        dte_ref=None,
        context=EpisodeContext(
            snapshot_id=last.event_sha256,
            captured_at=last.recorded_at,
            ttl_ms=None,
            max_feature_age_ms=None,
            ttl_breaches_count=0,
            evidence_refs=_evidence(records),
        ),
        plan=Plan(planner="rules", summary=last.episode.title),
        actions=(),
        verification=Verification(required=False, result=VerificationResult.NA),
        outcome=ungoverned_outcome(
            [*record_signs(records), *source_signs(sources, governed=governed is not None)]
        ),
        telemetry=Telemetry(
            end_to_end_ms=max(0, round((ended - started).total_seconds() * 1000)),
            hop_count=sum(record.event_type == "subagent_spawned" for record in records),
            fanout=_most_children_at_once(records),
            fallback_used=False,
        ),
        policy=PolicyStamp(
            config_hash=last.config_hash,
            packs=tuple(
                PolicyPackStamp(
                    policy_pack_id=pack.pack_id,
                    policy_pack_version=pack.pack_version,
                    policy_pack_hash=pack.pack_hash,
                )
                for pack in last.episode.packs
            ),
            profiles=tuple(
                PolicyProfileStamp(profile_id=each.profile_id, profile_hash=each.profile_hash)
                for each in last.episode.profiles
            ),
        ),
        degrade=DegradeStamp(step=None, rationale={}, ladder=()),
        records=tuple(item.digest for item in stored),
        sources=sources,
    )
    if governed is None:
        return episode
    return under_envelope(episode, governed)


def _since_the_last_closing(stored: Sequence[StoredRecord]) -> Sequence[StoredRecord]:
    """A task that was opened again has an episode for each time it was closed."""
    closings = [n for n, item in enumerate(stored[:-1]) if item.record.task_closed]
    return stored[closings[-1] + 1 :] if closings else stored


def _instant(utc_millis: str) -> datetime:
    return datetime.fromisoformat(utc_millis)


def _evidence(records: Sequence[DecisionRecord]) -> tuple[str, ...]:
    """Every evidence item that a decision looked at, in the order they first appeared."""
    seen = dict.fromkeys(
        item.evidence_id for record in records for item in record.evidence.attached
    )
    return tuple(seen)[:_MAX_EVIDENCE]


def claimed_outcome(stored: Sequence[StoredRecord]) -> OutcomeCode:
    """The outcome by the records alone."""
    return worst(record_signs([item.record for item in stored]))


def ungoverned_outcome(signs: Sequence[Sign]) -> Outcome:
    """The worst that was seen, and all of it in words."""
    return Outcome(code=worst(signs), reason=in_words(signs)[:MAX_REASON])


def lowered(before: Outcome, signs: Sequence[Sign]) -> Outcome:
    """An outcome that was told, or the worse one that was seen since."""
    seen = worst(signs)
    if badness(seen) <= badness(before.code):
        return before
    reason = "; ".join(part for part in (in_words(signs), before.reason) if part)
    return Outcome(code=seen, reason=reason[:MAX_REASON], effects=before.effects)


def _most_children_at_once(records: Sequence[DecisionRecord]) -> int:
    running = most = 0
    for record in records:
        if record.event_type == "subagent_spawned":
            running += 1
            most = max(most, running)
        elif record.event_type == "subagent_completed":
            running = max(0, running - 1)
    return most
