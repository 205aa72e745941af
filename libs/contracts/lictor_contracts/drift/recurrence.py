"""How often a cause came back: the first time is logged, the second is at least yellow, the third asks for a patch.

A pure fold, one state for each fingerprint. Its order is that of delivery, and a drift event that is delivered again
changes nothing, unless it is worse than before. The last thousand are known by their ids, so that the state of a cause
stays small however often it comes back; one that is older than that would count again.
"""

import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime

from lictor_contracts.drift.events import worst
from lictor_contracts.errors import ContractError
from lictor_schema.contracts.drift import DriftEvent, DriftSeverity
from lictor_schema.contracts.patch import PatchRequest
from lictor_schema.core.base_model import MAX_ITEMS
from lictor_schema.core.canonical_json import canonical_json

REVIEWED_FROM = 2
PATCHED_FROM = 3

# Random once, fixed for ever: changing it makes every replay ask for all patches again.
_REQUEST = uuid.UUID("c8e1f6a3-2b7d-4a59-9e04-71d5b38f0a62")


class RecurrenceError(ContractError):
    """An event or an answer that does not belong to this cause."""


@dataclass(frozen=True, slots=True)
class Recurrence:
    """What is known of one cause; the severities are those that its events were given here."""

    fingerprint_key: str
    severities: Mapping[str, DriftSeverity] = field(default_factory=dict[str, DriftSeverity])
    """Severity by drift id, of the last ones, in the order they were seen."""
    attempts: int = 0
    """How many patches were asked for."""
    open_request: str | None = None
    """The request that waits for its patch to be applied or rejected."""
    settled_at: datetime | None = None
    """When the last request was settled; drift detected before can't speak against its patch."""
    before: int = 0
    """How many were seen before those that are known by their ids."""
    severity: DriftSeverity = DriftSeverity.GREEN
    """The worst it was given; it only rises."""

    @property
    def occurrences(self) -> int:
        """How often the cause was seen."""
        return self.before + len(self.severities)


@dataclass(frozen=True, slots=True)
class Counted:
    """The result of one event."""

    state: Recurrence
    event: DriftEvent
    """The event with the severity that its recurrence gives it: never less than it came with."""
    request: PatchRequest | None = None
    """Set once for each patch that is asked for."""


def counted(state: Recurrence | None, event: DriftEvent) -> Counted:
    """Count one event of a cause."""
    known = state or Recurrence(event.fingerprint.key)
    if known.fingerprint_key != event.fingerprint.key:
        raise RecurrenceError(
            f"drift {event.drift_id} has fingerprint {event.fingerprint.key}, not"
            f" {known.fingerprint_key}; count it with those of its own fingerprint"
        )
    before = known.severities.get(event.drift_id)
    if before is not None:
        severity = worst(before, event.severity)
        if severity is not before:
            # The cause was seen worse in the same episode; what comes later may not be milder for it.
            known = _with(known, event.drift_id, severity)
        return Counted(known, event.model_copy(update={"severity": severity}))
    number = known.occurrences + 1
    severity = worst(known.severity, event.severity, _least(number))
    known = _with(known, event.drift_id, severity)
    raised = event.model_copy(update={"severity": severity})
    if number < PATCHED_FROM or known.open_request is not None or _is_old(known, event):
        return Counted(known, raised)
    request = _request(known, raised)
    known = replace(known, attempts=request.attempt, open_request=request.request_id)
    return Counted(known, raised, request)


def _with(state: Recurrence, drift_id: str, severity: DriftSeverity) -> Recurrence:
    severities = {**state.severities, drift_id: severity}
    before = state.before
    if len(severities) > MAX_ITEMS:
        del severities[next(iter(severities))]
        before += 1
    return replace(
        state, severities=severities, before=before, severity=worst(state.severity, severity)
    )


def settled(state: Recurrence, request_id: str, at: datetime) -> Recurrence:
    """The patch that was asked for has been applied or rejected; drift after `at` asks for another."""
    if state.open_request is None:
        # Reported again, or after another delivery of the same answer: nothing is open any more.
        if request_id in (_request_id(state, attempt) for attempt in range(1, state.attempts + 1)):
            return state
        raise RecurrenceError(
            f"request {request_id} was never made for {state.fingerprint_key}; nothing is open"
        )
    if request_id != state.open_request:
        raise RecurrenceError(
            f"request {request_id} is not open for {state.fingerprint_key}; settle"
            f" {state.open_request}"
        )
    return replace(state, open_request=None, settled_at=at)


def _least(number: int) -> DriftSeverity:
    if number < REVIEWED_FROM:
        return DriftSeverity.GREEN
    return DriftSeverity.YELLOW if number < PATCHED_FROM else DriftSeverity.RED


def _is_old(state: Recurrence, event: DriftEvent) -> bool:
    return state.settled_at is not None and event.detected_at <= state.settled_at


def _request(state: Recurrence, event: DriftEvent) -> PatchRequest:
    attempt = state.attempts + 1
    return PatchRequest(
        request_id=_request_id(state, attempt),
        decision_type=event.decision_type,
        drift_type=event.drift_type,
        cause=event.cause,
        fingerprint=event.fingerprint,
        recommended_patch_type=event.recommended_patch_type,
        severity=event.severity,
        occurrences=state.occurrences,
        attempt=attempt,
        drift_ids=tuple(state.severities),
    )


def _request_id(state: Recurrence, attempt: int) -> str:
    return str(uuid.uuid5(_REQUEST, canonical_json([state.fingerprint_key, attempt]).decode()))
