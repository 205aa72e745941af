"""CERPA as a fold: the claims about one subject, what happens to it, and the cycles that are open.

Every event is reviewed against every claim about its subject, and each review is a cycle. The first finding against a
claim asks for a patch and stays open until that is settled: by a patch that was applied, for the cycle or for the drift
that it began with, or by a new form of the claim. A red one takes a patch, or a new form by somebody who did not make
the claim. Findings in between are recorded as mismatched, and ask for nothing more, unless they are worse: what is red
escalates, whatever is open already of another cause.
"""

import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Literal

from lictor_contracts.action.judgement import one_person
from lictor_contracts.cerpa import cycle as cerpa
from lictor_contracts.drift.events import drift_metrics
from lictor_contracts.errors import ContractError
from lictor_schema.contracts.cerpa_cycle import (
    CerpaApplyResult,
    CerpaClaim,
    CerpaCycle,
    CerpaDomain,
    CerpaEvent,
    CerpaReview,
    CycleStatus,
    Measurement,
    Verdict,
)
from lictor_schema.contracts.drift import DriftEvent, DriftSeverity
from lictor_schema.contracts.patch import PatchEntry, PatchProposal, PatchState
from lictor_schema.core.canonical_json import canonical_json

MAX_CLAIMS = 64
"""How many claims one subject can have; every event is held against all of them."""

MAX_OPEN = 64
"""How many cycles of one claim can be open, and how many patches of one subject are remembered."""

# Random once, fixed for ever: changing it makes every replay publish all results again.
_RESULT = uuid.UUID("9c14be07-52d8-4f6b-8e3a-c7701d5a9f26")


class ClaimRefused(ContractError):
    """A claim or a step that can't be taken in; says why, and what to do."""


@dataclass(frozen=True, slots=True)
class KnownPatch:
    """A patch that answers a cycle, or drift of the subject: its steps are inputs of a cycle."""

    patch_id: str
    fingerprint: str | None = None
    """The cause of drift it answers, if it answers one."""
    proposed: PatchEntry | None = None
    taken_by: str | None = None
    """The human who proposed or approved it; what the sealer files by itself is taken on by nobody."""
    applied: PatchEntry | None = None

    @property
    def proposal(self) -> PatchProposal | None:
        """The change."""
        return None if self.proposed is None else self.proposed.proposal

    def answers(self, event: CerpaEvent) -> bool:
        """Whether it answers the drift of an event, which came before it was applied."""
        if self.fingerprint is None or self.fingerprint not in event.related_ids:
            return False
        return self.applied is None or event.timestamp <= datetime.fromisoformat(self.applied.at)


@dataclass(frozen=True, slots=True)
class SubjectClaims:
    """What is claimed about one subject, and what waits for a patch."""

    claims: Mapping[str, CerpaClaim] = field(default_factory=dict[str, CerpaClaim])
    made_by: Mapping[str, str] = field(default_factory=dict[str, str])
    """By claim, who gave it the form it has."""
    patches: Mapping[str, KnownPatch] = field(default_factory=dict[str, KnownPatch])
    """By their ids, the latest of those that may answer a cycle."""
    open_cycles: Mapping[str, CerpaCycle] = field(default_factory=dict[str, CerpaCycle])
    """By their ids. Of a claim, each is worse than those that were open before it, or red for another cause."""

    def open_for(self, claim_id: str) -> tuple[CerpaCycle, ...]:
        """The open cycles of a claim."""
        return tuple(each for each in self.open_cycles.values() if each.claim.id == claim_id)


@dataclass(frozen=True, slots=True)
class CyclesMoved:
    """The result of one input: the subject after it, and each cycle that began or moved."""

    subject: SubjectClaims
    cycles: tuple[CerpaCycle, ...] = ()


def drift_as_event(event: DriftEvent, told_at: datetime) -> CerpaEvent:
    """A drift event as something that happened to its decision type: counted, and a violation when it is red."""
    # Two clocks need not agree; a report can't precede what it reports.
    at = min(event.detected_at, told_at)
    kind, red = event.drift_type.value, event.severity is DriftSeverity.RED
    metrics = drift_metrics(event)
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
        violation=event.cause if red else None,
        violates=metrics,
    )


def claimed(
    subject: SubjectClaims | None,
    claim: CerpaClaim,
    by: str,
    now: datetime,
    *,
    red_needs_another: bool = True,
) -> CyclesMoved:
    """A claim is registered; a new form of one settles the open cycles of the old.

    Not the red ones, when it comes from who stands for the claim: those wait for a patch or for somebody else.
    """
    known = subject or SubjectClaims()
    before = known.claims.get(claim.id)
    if before == claim:
        return CyclesMoved(known)
    if before is not None and claim.timestamp <= before.timestamp:
        raise ClaimRefused(
            f"claim {claim.id} is of {claim.timestamp.isoformat()}, not later than the form it has"
            f" ({before.timestamp.isoformat()}); date it anew"
        )
    if before is None and len(known.claims) >= MAX_CLAIMS:
        raise ClaimRefused(
            f"{claim.subject} has {MAX_CLAIMS} claims, no more are held against its events; give"
            " one of them a new form instead"
        )
    maker = known.made_by.get(claim.id)
    known = replace(
        known,
        claims={**known.claims, claim.id: claim},
        made_by={**known.made_by, claim.id: by},
    )
    moved: list[CerpaCycle] = []
    for cycle in known.open_for(claim.id):
        red = cycle.review.severity is DriftSeverity.RED
        if red and red_needs_another and _is_own(cycle.claim, maker, by):
            left = _left_open(cycle, by, now)
            known = _with(known, left)
            moved.append(left)
            continue
        taken = cerpa.patch(cycle.review, now, taken_by=by)
        if taken is None:
            raise ClaimRefused(f"cycle {cycle.cycle_id} is open and asks for nothing")
        how = "second_person" if red and red_needs_another else None if red else "claim"
        done = _result(
            taken.id, cycle, now, success=True, updated=(claim.id,), settled_by=how, by=by
        )
        moved.append(cerpa.with_result(cerpa.with_patch(cycle, taken), done))
        known = _without(known, cycle)
    return CyclesMoved(known, tuple(moved))


def _is_own(claim: CerpaClaim, maker: str | None, by: str) -> bool:
    return any(name is None or one_person(name, by) for name in (maker, claim.authority or maker))


def _left_open(cycle: CerpaCycle, by: str, now: datetime) -> CerpaCycle:
    """A red cycle whose claim got a new form from who stands for it: nothing is settled, and it says so."""
    if cycle.patch is None:
        raise ClaimRefused(f"cycle {cycle.cycle_id} is open and asks for nothing")
    reason = f"{by} stands for the claim and gave it a new form; {cerpa.settles_red(by)}"
    told = _result(
        cycle.patch.id, cycle, now, success=False, reason=reason, updated=(cycle.claim.id,), by=by
    )
    return cerpa.with_result(cycle, told)


def happened(
    subject: SubjectClaims | None,
    event: CerpaEvent,
    now: datetime,
    *,
    at_least: DriftSeverity = DriftSeverity.GREEN,
) -> CyclesMoved:
    """Something happened: hold every claim against it that can be."""
    known = subject or SubjectClaims()
    cycles: list[CerpaCycle] = []
    for claim in known.claims.values():
        found = cerpa.review(claim, event, now, at_least=at_least)
        if not isinstance(found, CerpaReview):
            continue
        cycle = cerpa.begun(claim, event, found)
        if _is_news(found, event, known.open_for(claim.id)):
            maker = claim.authority or known.made_by.get(claim.id)
            wanted = cerpa.patch(found, now, stands_for_it=maker)
            if wanted is not None:
                cycle = cerpa.with_patch(cycle, wanted)
                for patch in known.patches.values():
                    if patch.answers(event) and not _belittles(patch, cycle):
                        cycle = _answered(cycle, patch, now)
                if cycle.status is not CycleStatus.APPLIED:
                    known = _with(known, cycle)
        cycles.append(cycle)
    return CyclesMoved(known, tuple(cycles))


def patch_moved(subject: SubjectClaims | None, entry: PatchEntry, now: datetime) -> CyclesMoved:
    """A step of a patch that answers an open cycle, or drift of the subject."""
    known = subject or SubjectClaims()
    patch = _stepped(known.patches.get(entry.patch_id) or KnownPatch(entry.patch_id), entry)
    named = None if entry.cycle is None else known.open_cycles.get(entry.cycle.cycle_id)
    if named is None and patch.fingerprint is None:
        cycle_id = None if entry.cycle is None else entry.cycle.cycle_id
        raise ClaimRefused(
            f"patch {entry.patch_id} answers cycle {cycle_id}, which is not open; nothing follows"
        )
    if patch.applied is not None and patch.proposed is None and patch.fingerprint is None:
        raise ClaimRefused(
            f"patch {entry.patch_id} was applied, and its proposal answers no cycle; nothing follows"
        )
    moved: list[CerpaCycle] = []
    for cycle in known.open_cycles.values():
        if cycle is named or patch.answers(cycle.event):
            after = _moved(cycle, patch, entry, now, named=cycle is named)
            if after is not cycle:
                moved.append(after)
    for cycle in moved:
        is_open = cycle.status is not CycleStatus.APPLIED
        known = _with(known, cycle) if is_open else _without(known, cycle)
    return CyclesMoved(_remembering(known, patch, entry.state), tuple(moved))


def _stepped(patch: KnownPatch, entry: PatchEntry) -> KnownPatch:
    key = patch.fingerprint if entry.fingerprint is None else entry.fingerprint.key
    # An earlier version did not report drift to cycles, and named no decision type.
    patch = replace(patch, fingerprint=None if entry.decision_type is None else key)
    match entry.state:
        case PatchState.PROPOSED:
            # What holds a request was filed by the sealer, in nobody's name.
            by = None if entry.request is not None else entry.by
            return replace(patch, proposed=entry, taken_by=by)
        case PatchState.APPROVED:
            return replace(patch, taken_by=patch.taken_by or entry.by)
        case PatchState.APPLIED:
            return replace(patch, applied=entry, taken_by=patch.taken_by or entry.by)
        case PatchState.REJECTED | PatchState.FAILED:
            return patch


def _moved(
    cycle: CerpaCycle, patch: KnownPatch, entry: PatchEntry, now: datetime, *, named: bool
) -> CerpaCycle:
    if entry.state not in (PatchState.REJECTED, PatchState.FAILED):
        if not named and _belittles(patch, cycle):
            return cycle
        return _answered(cycle, patch, now)
    if cycle.patch is None or cycle.patch.proposal not in (None, patch.proposal):
        # Another has taken its place.
        return cycle
    reason = f"{entry.state.value} by {entry.by}: {entry.reason}"
    result = _result(
        cycle.patch.id, cycle, now, success=False, reason=reason, entry=entry, by=entry.by
    )
    return cerpa.with_result(cycle, result)


def _answered(cycle: CerpaCycle, patch: KnownPatch, now: datetime) -> CerpaCycle:
    """The cycle with a patch: taken on once a human stands for it, and settled once it is applied."""
    if patch.taken_by is None and cycle.review.severity is DriftSeverity.RED:
        return cycle
    if patch.proposal is None and patch.applied is None:
        return cycle
    wanted = cerpa.patch(cycle.review, now, proposal=patch.proposal, taken_by=patch.taken_by)
    if wanted is None:
        return cycle
    if cycle.patch is None or cycle.patch.id != wanted.id:
        cycle = cerpa.with_patch(cycle, wanted)
    if patch.applied is None:
        return cycle
    entry = patch.applied
    result = _result(
        wanted.id, cycle, now, success=True, entry=entry, settled_by="patch", by=entry.by
    )
    return cerpa.with_result(cycle, result)


def _belittles(patch: KnownPatch, cycle: CerpaCycle) -> bool:
    severity = cycle.review.severity
    proposal = patch.proposal
    return proposal is not None and severity is not None and proposal.severity.rank < severity.rank


def _remembering(subject: SubjectClaims, patch: KnownPatch, state: PatchState) -> SubjectClaims:
    """The subject with what is known of a patch; one that is applied may still answer drift that is reported late."""
    kept = {name: each for name, each in subject.patches.items() if name != patch.patch_id}
    done = state is PatchState.APPLIED and patch.fingerprint is None
    if state is not PatchState.REJECTED and not done:
        kept[patch.patch_id] = patch
        if len(kept) > MAX_OPEN:
            del kept[next(iter(kept))]
    return replace(subject, patches=kept)


def _is_news(found: CerpaReview, event: CerpaEvent, waiting: tuple[CerpaCycle, ...]) -> bool:
    """Whether nothing as bad waits for a patch of the claim already; of what is red, nothing of the same cause."""
    if found.verdict is Verdict.ALIGNED or found.severity is None:
        return False
    as_bad = [
        each
        for each in waiting
        if each.review.severity is None or each.review.severity.rank >= found.severity.rank
    ]
    if found.severity is DriftSeverity.RED and len(waiting) < MAX_OPEN:
        as_bad = [each for each in as_bad if _cause(each.event) == _cause(event)]
    return not as_bad


def _cause(event: CerpaEvent) -> tuple[str, ...]:
    """What drift has in common with its recurrences; what is reported has no cause that could be compared."""
    # An event of an earlier version says of nothing what it is about.
    return () if event.violates is None else event.related_ids


def _with(subject: SubjectClaims, cycle: CerpaCycle) -> SubjectClaims:
    return replace(subject, open_cycles={**subject.open_cycles, cycle.cycle_id: cycle})


def _without(subject: SubjectClaims, cycle: CerpaCycle) -> SubjectClaims:
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
    settled_by: Literal["patch", "claim", "second_person"] | None = None,
    by: str | None = None,
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
        settled_by=settled_by,
        by=by,
    )
