"""CERPA as a fold: the claims about one subject, what happens to it, and the cycles that are open.

Every event is reviewed against every claim about its subject, and each review is a cycle. The first finding against a
claim asks for a patch and stays open until that is settled: by a patch of a pack that was applied, or by a new form
of the claim. Findings in between are recorded as mismatched, and ask for nothing more, unless they are worse: what is
red escalates, whatever is open already.
"""

import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime

from lictor_contracts import cerpa
from lictor_contracts.errors import ContractError
from lictor_schema import (
    CerpaApplyResult,
    CerpaClaim,
    CerpaCycle,
    CerpaDomain,
    CerpaEvent,
    CerpaReview,
    CycleStatus,
    DriftEvent,
    DriftSeverity,
    Measurement,
    PatchEntry,
    PatchState,
    Verdict,
)
from lictor_schema.canonical import canonical_json

MAX_CLAIMS = 64
"""How many claims one subject can have; every event is held against all of them."""

# Random once, fixed for ever: changing it makes every replay tell all results again.
_RESULT = uuid.UUID("9c14be07-52d8-4f6b-8e3a-c7701d5a9f26")


class LearningRefused(ContractError):
    """A claim or a step that can't be taken in; says why, and what to do."""


@dataclass(frozen=True, slots=True)
class Subject:
    """What is claimed about one subject, and what waits for a patch."""

    claims: Mapping[str, CerpaClaim] = field(default_factory=dict[str, CerpaClaim])
    open_cycles: Mapping[str, CerpaCycle] = field(default_factory=dict[str, CerpaCycle])
    """By their ids. Of a claim, each is worse than those that were open before it."""

    def open_for(self, claim_id: str) -> tuple[CerpaCycle, ...]:
        """The open cycles of a claim."""
        return tuple(each for each in self.open_cycles.values() if each.claim.id == claim_id)


@dataclass(frozen=True, slots=True)
class Learned:
    """What came of one input: the subject after it, and each cycle that began or moved."""

    subject: Subject
    cycles: tuple[CerpaCycle, ...] = ()


def drift_as_event(event: DriftEvent, told_at: datetime) -> CerpaEvent:
    """A drift event as something that happened to its decision type: counted, and a violation when it is red."""
    # Two clocks need not agree; what was told can't have happened later.
    at = min(event.detected_at, told_at)
    kind = event.drift_type.value
    metrics = (f"drift.{kind}", f"drift.{kind}.{event.severity.value}")
    return CerpaEvent(
        # Seen worse in the same episode, it is another event.
        id=f"{event.drift_id}:{event.severity.value}",
        domain=CerpaDomain.ACTIONOPS,
        timestamp=at,
        source=cerpa.SOURCE,
        provenance=(event.episode_id, event.drift_id),
        related_ids=(event.fingerprint.key,),
        text=f"{kind} drift: {event.cause}",
        subject=event.decision_type,
        measurements=tuple(Measurement(metric=name, value="1", measured_at=at) for name in metrics),
        violation=event.cause if event.severity is DriftSeverity.RED else None,
    )


def claimed(subject: Subject | None, claim: CerpaClaim, by: str, now: datetime) -> Learned:
    """A claim is registered; a new form of one settles the open cycle of the old."""
    known = subject or Subject()
    before = known.claims.get(claim.id)
    if before == claim:
        return Learned(known)
    if before is not None and claim.timestamp <= before.timestamp:
        raise LearningRefused(
            f"claim {claim.id} is of {claim.timestamp.isoformat()}, not later than the form it has"
            f" ({before.timestamp.isoformat()}); date it anew"
        )
    if before is None and len(known.claims) >= MAX_CLAIMS:
        raise LearningRefused(
            f"{claim.subject} has {MAX_CLAIMS} claims, no more are held against its events; give"
            " one of them a new form instead"
        )
    known = replace(known, claims={**known.claims, claim.id: claim})
    settled: list[CerpaCycle] = []
    for cycle in known.open_for(claim.id):
        taken = cerpa.patch(cycle.review, now, taken_by=by)
        if taken is None:
            raise LearningRefused(f"cycle {cycle.cycle_id} is open and asks for nothing")
        done = _result(taken.id, cycle, now, success=True, updated=(claim.id,))
        settled.append(cerpa.with_result(cerpa.with_patch(cycle, taken), done))
        known = _without(known, cycle)
    return Learned(known, tuple(settled))


def happened(
    subject: Subject | None,
    event: CerpaEvent,
    now: datetime,
    *,
    at_least: DriftSeverity = DriftSeverity.GREEN,
) -> Learned:
    """Something happened: hold every claim against it that can be."""
    known = subject or Subject()
    cycles: list[CerpaCycle] = []
    for claim in known.claims.values():
        found = cerpa.review(claim, event, now, at_least=at_least)
        if not isinstance(found, CerpaReview):
            continue
        cycle = cerpa.begun(claim, event, found)
        if _is_news(found, known.open_for(claim.id)):
            wanted = cerpa.patch(found, now)
            if wanted is not None:
                cycle = cerpa.with_patch(cycle, wanted)
                known = _with(known, cycle)
        cycles.append(cycle)
    return Learned(known, tuple(cycles))


def patch_moved(subject: Subject | None, entry: PatchEntry, now: datetime) -> Learned:
    """A patch that answers an open cycle was proposed, rejected, applied, or failed to apply."""
    known = subject or Subject()
    cycle = next(
        (
            each
            for each in known.open_cycles.values()
            if entry.cycle is not None and each.cycle_id == entry.cycle.cycle_id
        ),
        None,
    )
    if cycle is None:
        named = None if entry.cycle is None else entry.cycle.cycle_id
        raise LearningRefused(
            f"patch {entry.patch_id} answers cycle {named}, which is not open; nothing follows"
        )
    if entry.state is PatchState.APPROVED:
        return Learned(known)
    if entry.state is PatchState.PROPOSED:
        wanted = cerpa.patch(cycle.review, now, proposal=entry.proposal, taken_by=entry.by)
        if wanted is None:
            return Learned(known)
        moved = cerpa.with_patch(cycle, wanted)
    else:
        if cycle.patch is None:
            raise LearningRefused(f"cycle {cycle.cycle_id} has no patch that could be applied")
        success = entry.state is PatchState.APPLIED
        reason = None if success else f"{entry.state.value} by {entry.by}: {entry.reason}"
        result = _result(cycle.patch.id, cycle, now, success=success, reason=reason, entry=entry)
        moved = cerpa.with_result(cycle, result)
    if moved.status is CycleStatus.APPLIED:
        return Learned(_without(known, moved), (moved,))
    return Learned(_with(known, moved), (moved,))


def _is_news(found: CerpaReview, waiting: tuple[CerpaCycle, ...]) -> bool:
    """Whether nothing as bad waits for a patch of the claim already."""
    if found.verdict is Verdict.ALIGNED or found.severity is None:
        return False
    known = (each.review.severity for each in waiting)
    return all(each is not None and each.rank < found.severity.rank for each in known)


def _with(subject: Subject, cycle: CerpaCycle) -> Subject:
    return replace(subject, open_cycles={**subject.open_cycles, cycle.cycle_id: cycle})


def _without(subject: Subject, cycle: CerpaCycle) -> Subject:
    kept = {name: each for name, each in subject.open_cycles.items() if name != cycle.cycle_id}
    return replace(subject, open_cycles=kept)


def _result(
    patch_id: str,
    cycle: CerpaCycle,
    now: datetime,
    *,
    success: bool,
    reason: str | None = None,
    updated: tuple[str, ...] = (),
    entry: PatchEntry | None = None,
) -> CerpaApplyResult:
    state: dict[str, str | bool | int | None] = {}
    if entry is not None and entry.applied is not None:
        state = {"version": entry.applied.version, "content_hash": entry.applied.after}
    told = entry.entry_id if entry is not None else now.isoformat()
    return CerpaApplyResult(
        id=str(uuid.uuid5(_RESULT, canonical_json([patch_id, told]).decode())),
        domain=cycle.domain,
        timestamp=now,
        source=cerpa.SOURCE,
        provenance=(patch_id,) if entry is None else (patch_id, entry.entry_id),
        patch_id=patch_id,
        success=success,
        reason=reason,
        new_state=state,
        updated_claims=updated,
    )
