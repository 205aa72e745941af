"""From the decision records of a closed task, and the log of its decision if one governed it, to its episode; pure.

Everything in an episode is read off the records and the log, or measured from their times. What nothing measured (the
envelope, context ages and stage times of a task that no envelope governed) is null, never a guess.
"""

from collections.abc import Sequence
from datetime import datetime

from lictor_contracts.decision.outcome import did_something
from lictor_contracts.decision.outcome_signs import Sign, badness, in_words, worst
from lictor_contracts.decision.state import Deciding
from lictor_schema.contracts.verification import Verification, VerificationResult
from lictor_schema.core.ids import episode_id
from lictor_schema.seals.episode import (
    Actor,
    DecisionEpisode,
    DegradeStamp,
    EpisodeContext,
    Outcome,
    OutcomeCode,
    Plan,
    PolicyPackStamp,
    PolicyProfileStamp,
    PolicyStamp,
    RecordDigest,
    Telemetry,
)
from lictor_schema.seals.episode_sources import EpisodeSources
from lictor_sealer.episode.governed import under_envelope
from lictor_sealer.episode.signs import MAX_REASON, record_signs, source_signs
from lictor_sealer.episode.task_records import EpisodeError, RecordsSeen


def assemble(
    seen: RecordsSeen,
    named: Sequence[RecordDigest],
    governed: Deciding | None = None,
    sources: EpisodeSources | None = None,
) -> DecisionEpisode:
    """The episode of a task, from its records, of which some are named, its decision as it was closed, and the rest."""
    first, last = seen.first, seen.last
    if last.episode is None:
        raise EpisodeError("the last record does not close the task")
    started, ended = _instant(first.recorded_at), _instant(last.recorded_at)
    episode = DecisionEpisode(
        episode_id=episode_id(first.task_id, first.event_id),
        decision_type=last.decision_type,
        task_id=first.task_id,
        runtime=seen.runtime,
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
            evidence_refs=tuple(seen.evidence),
        ),
        plan=Plan(planner="rules", summary=last.episode.title),
        actions=(),
        verification=Verification(required=False, result=VerificationResult.NA),
        outcome=ungoverned_outcome(
            [
                *record_signs(seen),
                *source_signs(
                    sources,
                    governed=governed is not None,
                    did_something=governed is not None and did_something(governed),
                ),
            ]
        ),
        telemetry=Telemetry(
            end_to_end_ms=max(0, round((ended - started).total_seconds() * 1000)),
            hop_count=seen.spawned,
            fanout=seen.fanout,
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
        records=tuple(named),
        sources=sources,
    )
    if governed is None:
        return episode
    return under_envelope(episode, governed)


def _instant(utc_millis: str) -> datetime:
    return datetime.fromisoformat(utc_millis)


def claimed_outcome(seen: RecordsSeen) -> OutcomeCode:
    """The outcome by the records alone."""
    return worst(record_signs(seen))


def ungoverned_outcome(signs: Sequence[Sign]) -> Outcome:
    """The worst that was seen, and all of it in words."""
    return Outcome(code=worst(signs), reason=in_words(signs)[:MAX_REASON])


def lowered(before: Outcome, signs: Sequence[Sign]) -> Outcome:
    """An outcome that was reported, or the worse one that was seen since."""
    seen = worst(signs)
    if badness(seen) <= badness(before.code):
        return before
    reason = "; ".join(part for part in (in_words(signs), before.reason) if part)
    return Outcome(code=seen, reason=reason[:MAX_REASON], effects=before.effects)
