"""Drift events: one for each cause that a decision did not go as its contract says.

A cause is named without measured values, so that it has the same fingerprint in every episode; the numbers go into
the notes. The functions that find causes are in `causes`.
"""

import hashlib
import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType

from lictor_schema.contracts.drift import (
    DriftEvent,
    DriftSeverity,
    DriftType,
    Fingerprint,
    PatchType,
)
from lictor_schema.core.base_model import MAX_ITEMS, MAX_TEXT_LENGTH
from lictor_schema.core.canonical_json import canonical_json

# Random once, fixed for ever: changing it makes every replay publish all drift again.
_DRIFT = uuid.UUID("5d7b0c2e-93a4-4f6e-8c11-e2a9d4f70b36")
_MAX_LABEL = 256
_DIGEST_LENGTH = 16

PATCH_FOR: Mapping[DriftType, PatchType] = MappingProxyType(
    {
        DriftType.TIME: PatchType.DTE_CHANGE,
        DriftType.FRESHNESS: PatchType.TTL_CHANGE,
        DriftType.FALLBACK: PatchType.CACHE_BUNDLE_CHANGE,
        DriftType.BYPASS: PatchType.ACTION_SCOPE_TIGHTEN,
        DriftType.VERIFY: PatchType.VERIFICATION_CHANGE,
        DriftType.OUTCOME: PatchType.MANUAL_REVIEW,
        DriftType.FANOUT: PatchType.ROUTING_CHANGE,
        DriftType.CONTENTION: PatchType.ROUTING_CHANGE,
    }
)
"""Where the cure of each type of drift is to be looked for; `remedies` has the changes that never loosen."""


@dataclass(frozen=True, slots=True)
class Cause:
    """One reason why a decision did not go as agreed."""

    drift_type: DriftType
    cause: str
    """What happened, without measured values and without ids of episodes."""
    severity: DriftSeverity
    notes: str = ""
    """The measured values."""
    evidence_refs: tuple[str, ...] = ()


def worst(*severities: DriftSeverity) -> DriftSeverity:
    """The highest of some severities."""
    return max(severities, key=lambda each: each.rank)


def drift_id(episode_id: str, fingerprint: Fingerprint) -> str:
    """The id of a cause in an episode: the same however often it is found there."""
    return str(uuid.uuid5(_DRIFT, canonical_json([episode_id, fingerprint.key]).decode()))


def drift_events(
    episode_id: str, decision_type: str, causes: Iterable[Cause], detected_at: datetime
) -> tuple[DriftEvent, ...]:
    """One event for each cause, in the order they were found.

    A cause found twice in an episode is one event: with the worst severity, and with the notes and the evidence of
    both. No cause touches the severity of another.
    """
    found: dict[str, tuple[Fingerprint, list[Cause]]] = {}
    for each in causes:
        fingerprint = Fingerprint.of(decision_type, each.drift_type, label(each.cause))
        found.setdefault(fingerprint.key, (fingerprint, []))[1].append(each)
    return tuple(
        _event(episode_id, decision_type, fingerprint, alike, detected_at)
        for fingerprint, alike in found.values()
    )


def _event(
    episode_id: str,
    decision_type: str,
    fingerprint: Fingerprint,
    alike: list[Cause],
    detected_at: datetime,
) -> DriftEvent:
    notes = "; ".join(dict.fromkeys(each.notes for each in alike if each.notes))
    evidence = dict.fromkeys(ref for each in alike for ref in each.evidence_refs)
    return DriftEvent(
        drift_id=drift_id(episode_id, fingerprint),
        episode_id=episode_id,
        decision_type=decision_type,
        drift_type=alike[0].drift_type,
        cause=label(alike[0].cause),
        severity=worst(*(each.severity for each in alike)),
        detected_at=detected_at,
        evidence_refs=tuple(evidence)[:MAX_ITEMS],
        recommended_patch_type=PATCH_FOR[alike[0].drift_type],
        fingerprint=fingerprint,
        notes=notes[:MAX_TEXT_LENGTH] or None,
    )


def drift_metrics(event: DriftEvent) -> tuple[str, ...]:
    """The metrics that a drift event counts: its type, its type and severity, its type and cause."""
    kind = event.drift_type.value
    return (
        f"drift.{kind}",
        f"drift.{kind}.{event.severity.value}",
        label(f"drift.{kind}:{event.cause}"),
    )


def label(cause: str) -> str:
    """A cause as it fits into an event; a long one ends in a digest, so that two stay two."""
    if len(cause) <= _MAX_LABEL:
        return cause
    digest = hashlib.sha256(cause.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGEST_LENGTH]
    return f"{cause[: _MAX_LABEL - _DIGEST_LENGTH - 1]}#{digest}"
