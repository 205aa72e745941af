"""CERPA: a claim held against an event, and what follows from it: review, patch, apply.

A review says what contradicts the claim. A metric that the claim rests on and that nothing measured in its window
contradicts nothing, so it makes no mismatch: an event that merely says something else about the subject is aligned. It
shows nothing either: such metrics are listed in `unmeasured`, and `shows` is false for their review. Who needs the
claim proved asks `shows`, not for the verdict.
"""

import uuid
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from types import MappingProxyType
from typing import Any

from lictor_contracts.action.judgement import is_somebody
from lictor_contracts.drift.events import worst
from lictor_contracts.errors import ContractError
from lictor_contracts.patch.document import PolicyDocument
from lictor_contracts.patch.proposal import Applied, apply
from lictor_schema.contracts.cerpa_cycle import (
    Assumption,
    CerpaApplyResult,
    CerpaClaim,
    CerpaCycle,
    CerpaEvent,
    CerpaPatch,
    CerpaReview,
    CycleStatus,
    Measurement,
    PatchAction,
    Verdict,
)
from lictor_schema.contracts.drift import DriftSeverity
from lictor_schema.contracts.patch import PatchApproval, PatchProposal
from lictor_schema.core.base_model import MAX_TEXT_LENGTH
from lictor_schema.core.canonical_json import canonical_json

SOURCE = "lictor"

ACTION_FOR: Mapping[Verdict, PatchAction | None] = MappingProxyType(
    {
        Verdict.ALIGNED: None,
        Verdict.MISMATCH: PatchAction.ADJUST,
        Verdict.EXPIRED: PatchAction.EXPIRE,
        Verdict.VIOLATION: PatchAction.STRENGTHEN,
    }
)
"""What brings claim and world together again; red goes to a human first, who then does this."""

# Random once, fixed for ever: changing one makes every replay review everything again.
_REVIEW = uuid.UUID("1c6d9b04-e87f-4a35-b2c0-5f3e8d71a496")
_PATCH = uuid.UUID("7be2450f-316c-4d98-8f7a-c90d14a6e25b")
_RESULT = uuid.UUID("e3f81a67-0d5b-4c29-95e6-2b7c4f90d813")
_CYCLE = uuid.UUID("a05c7e92-4b1f-46d3-8a8e-9d60f2e7c351")

_SEVERITY: Mapping[Verdict, DriftSeverity] = MappingProxyType(
    {
        Verdict.MISMATCH: DriftSeverity.YELLOW,
        Verdict.EXPIRED: DriftSeverity.YELLOW,
        Verdict.VIOLATION: DriftSeverity.RED,
    }
)
_HOLDS: Mapping[str, Callable[[Decimal, Decimal], bool]] = MappingProxyType(
    {
        "lt": lambda value, bound: value < bound,
        "le": lambda value, bound: value <= bound,
        "eq": lambda value, bound: value == bound,
        "ne": lambda value, bound: value != bound,
        "ge": lambda value, bound: value >= bound,
        "gt": lambda value, bound: value > bound,
    }
)


class CycleRefused(ContractError):
    """A step that does not belong to the cycle, or that comes too early or too late."""


@dataclass(frozen=True, slots=True)
class NotReviewable:
    """The event can't be held against the claim; that is no verdict, least of all `aligned`."""

    reason: str
    remedy: str


@dataclass(frozen=True, slots=True)
class _Finding:
    verdict: Verdict
    text: str


def review(
    claim: CerpaClaim,
    event: CerpaEvent,
    now: datetime,
    *,
    at_least: DriftSeverity = DriftSeverity.GREEN,
) -> CerpaReview | NotReviewable:
    """Hold a claim against an event; `at_least` is what recurrence makes of a finding's severity."""
    problem = _not_reviewable(claim, event, now)
    if problem is not None:
        return problem
    found, unmeasured = _assumptions(claim, event)
    about = concerns(claim, event)
    if event.violation is not None and about:
        found.insert(0, _Finding(Verdict.VIOLATION, f"violation: {event.violation}"))
    if claim.expires_at is not None and now >= claim.expires_at:
        text = f"expired: the claim held until {claim.expires_at.isoformat()}"
        found.append(_Finding(Verdict.EXPIRED, text))
    # Sorting is stable: within a verdict, findings stay in the order of the claim.
    found.sort(key=lambda each: -each.verdict.precedence)
    verdict = found[0].verdict if found else Verdict.ALIGNED
    least = at_least if about else DriftSeverity.GREEN
    severity = worst(least, *(_SEVERITY[each.verdict] for each in found)) if found else None
    said = [each.text for each in found] or ["nothing contradicts the claim"]
    if event.violation is not None and not about:
        said.append(f"not about this claim: {event.violation}")
    said += [f"not shown: nothing measured {metric} in its window" for metric in unmeasured]
    return CerpaReview(
        id=_id(_REVIEW, claim.id, event.id),
        domain=claim.domain,
        timestamp=now,
        source=SOURCE,
        provenance=(claim.id, event.id),
        claim_id=claim.id,
        event_id=event.id,
        verdict=verdict,
        rationale="; ".join(said)[:MAX_TEXT_LENGTH],
        drift_detected=bool(found),
        severity=severity,
        unmeasured=unmeasured,
    )


def concerns(claim: CerpaClaim, event: CerpaEvent) -> bool:
    """Whether what an event broke is what the claim is about.

    A claim is about the metrics it rests on; one that rests on none is about all of its subject.
    """
    if event.violates is None or not claim.assumptions:
        return True
    about = {claim.id, *(each.metric for each in claim.assumptions)}
    return not about.isdisjoint(event.violates)


def shows(reviewed: CerpaReview, claim: CerpaClaim) -> bool:
    """Whether a review shows the claim to hold: everything it rests on was measured, and nothing contradicts it."""
    return (
        reviewed.claim_id == claim.id
        and reviewed.verdict is Verdict.ALIGNED
        and bool(claim.assumptions)
        and not reviewed.unmeasured
    )


def patch(
    reviewed: CerpaReview,
    now: datetime,
    *,
    proposal: PatchProposal | None = None,
    taken_by: str | None = None,
    stands_for_it: str | None = None,
) -> CerpaPatch | None:
    """What a review asks for; None when it is aligned.

    A red one escalates, and says what settles it. Once a human has taken it on (`taken_by`), it asks for what its
    verdict asks for. A proposal that says of itself to be less severe than what it answers is refused.
    """
    action = ACTION_FOR[reviewed.verdict]
    if action is None:
        return None
    if proposal is not None and _is_belittled(proposal, reviewed):
        raise CycleRefused(_belittles(proposal, reviewed))
    words = action.value
    if reviewed.severity is DriftSeverity.RED and not (taken_by and is_somebody(taken_by)):
        action = PatchAction.ESCALATE
        words = f"escalate, so that a human takes it on to {words}; {settles_red(stands_for_it)}"
    return CerpaPatch(
        id=_id(_PATCH, reviewed.id, action.value, proposal.proposal_id if proposal else ""),
        domain=reviewed.domain,
        timestamp=now,
        source=SOURCE,
        provenance=(reviewed.id, *((proposal.proposal_id,) if proposal else ())),
        related_ids=(taken_by,) if taken_by else (),
        review_id=reviewed.id,
        action=action,
        target=proposal.target.id if proposal else reviewed.claim_id,
        description=f"{words}: {reviewed.rationale}"[:MAX_TEXT_LENGTH],
        diff=proposal.diff if proposal else None,
        loosens_safety=bool(proposal.loosens) if proposal else False,
        proposal=proposal,
    )


def settles_red(stands_for_it: str | None) -> str:
    """What settles a red cycle, in words."""
    other = "who made the claim" if stands_for_it is None else stands_for_it
    return f"settled by an applied patch, or by a new form of the claim from another than {other}"


def applied(
    wanted: CerpaPatch,
    document: PolicyDocument | None,
    approvals: Iterable[PatchApproval],
    now: datetime,
) -> tuple[CerpaApplyResult, Applied | None]:
    """Apply a patch to the document it names: the result, and the new document when it worked."""
    if wanted.action is PatchAction.ESCALATE:
        return _failed(wanted, now, "it is escalated; a human must take it on first"), None
    if wanted.proposal is None:
        return _failed(wanted, now, "no change was written for it; propose one"), None
    if document is None:
        target = wanted.proposal.target
        return _failed(wanted, now, f"there is no {target.kind} {target.id} to change"), None
    result = apply(document, wanted.proposal, approvals)
    if not isinstance(result, Applied):
        return _failed(wanted, now, f"{result.reason}; {result.remedy}"), None
    state: dict[str, str | bool | int | None] = {
        "kind": document.kind,
        "id": wanted.proposal.target.id,
        "version": result.version,
        "content_hash": result.document.content_hash,
    }
    return _result(wanted, now, success=True, new_state=state), result


def begun(claim: CerpaClaim, event: CerpaEvent, reviewed: CerpaReview) -> CerpaCycle:
    """A cycle with its review."""
    if (reviewed.claim_id, reviewed.event_id) != (claim.id, event.id):
        raise CycleRefused(
            f"review {reviewed.id} is about claim {reviewed.claim_id} and event"
            f" {reviewed.event_id}, not {claim.id} and {event.id}; begin the cycle with those"
        )
    aligned = reviewed.verdict is Verdict.ALIGNED
    return CerpaCycle(
        cycle_id=_id(_CYCLE, claim.id, event.id),
        domain=claim.domain,
        claim=claim,
        event=event,
        review=reviewed,
        status=CycleStatus.ALIGNED if aligned else CycleStatus.MISMATCHED,
        started_at=reviewed.timestamp,
        completed_at=reviewed.timestamp if aligned else None,
    )


def with_patch(cycle: CerpaCycle, wanted: CerpaPatch) -> CerpaCycle:
    """The cycle has its patch; another one may take its place until one is applied."""
    if wanted.review_id != cycle.review.id:
        raise CycleRefused(
            f"patch {wanted.id} answers review {wanted.review_id}, not {cycle.review.id}"
        )
    if cycle.patch == wanted:
        return cycle
    if wanted.proposal is not None and _is_belittled(wanted.proposal, cycle.review):
        raise CycleRefused(_belittles(wanted.proposal, cycle.review))
    escalates = wanted.action is PatchAction.ESCALATE
    taken = any(map(is_somebody, wanted.related_ids))
    if cycle.review.severity is DriftSeverity.RED and not escalates and not taken:
        raise CycleRefused(
            f"cycle {cycle.cycle_id} is red, and nobody is named in patch {wanted.id} who took it on;"
            " escalate it first"
        )
    if cycle.status in (CycleStatus.ALIGNED, CycleStatus.APPLIED):
        raise CycleRefused(
            f"cycle {cycle.cycle_id} is {cycle.status.value}; it takes no patch any more"
        )
    status = CycleStatus.ESCALATED if escalates else CycleStatus.PATCHED
    return _but(cycle, patch=wanted, apply_result=None, status=status)


def with_result(cycle: CerpaCycle, result: CerpaApplyResult) -> CerpaCycle:
    """The patch was tried: only a success makes the cycle `applied`, and only once."""
    if cycle.patch is None or result.patch_id != cycle.patch.id:
        patch_id = None if cycle.patch is None else cycle.patch.id
        raise CycleRefused(
            f"result {result.id} is about patch {result.patch_id}, and the patch of cycle"
            f" {cycle.cycle_id} is {patch_id}"
        )
    if cycle.status is CycleStatus.APPLIED:
        if cycle.apply_result == result:
            return cycle
        raise CycleRefused(f"cycle {cycle.cycle_id} is applied; nothing can be tried again")
    if not result.success:
        return _but(cycle, apply_result=result)
    if cycle.status is CycleStatus.ESCALATED:
        raise CycleRefused(
            f"cycle {cycle.cycle_id} is escalated; give it the patch of the human who took it on"
        )
    return _but(
        cycle,
        apply_result=result,
        status=CycleStatus.APPLIED,
        completed_at=result.timestamp,
    )


def _but(cycle: CerpaCycle, **changes: Any) -> CerpaCycle:
    # Not model_copy: the rules between the fields must hold again.
    kept: dict[str, Any] = {name: getattr(cycle, name) for name in type(cycle).model_fields}
    return CerpaCycle(**{**kept, **changes})


def _not_reviewable(claim: CerpaClaim, event: CerpaEvent, now: datetime) -> NotReviewable | None:
    if event.subject != claim.subject:
        return NotReviewable(
            f"the event is about {event.subject} and the claim about {claim.subject}",
            "review it against a claim about its own subject",
        )
    if event.domain is not claim.domain:
        return NotReviewable(
            f"the event belongs to {event.domain.value} and the claim to {claim.domain.value}",
            "review it against a claim of its own domain",
        )
    if event.timestamp < claim.timestamp:
        return NotReviewable(
            f"the event is of {event.timestamp.isoformat()}, before the claim was made"
            f" ({claim.timestamp.isoformat()})",
            "review events that came after the claim",
        )
    if event.timestamp > now:
        return NotReviewable(
            f"the event is of {event.timestamp.isoformat()}, which lies in the future",
            "correct the clock that dated it",
        )
    late = [each for each in event.measurements if each.measured_at > event.timestamp]
    if late:
        return NotReviewable(
            f"{late[0].metric} was measured at {late[0].measured_at.isoformat()}, after the event"
            f" that tells of it ({event.timestamp.isoformat()})",
            "correct the clock that dated it",
        )
    return None


def _assumptions(claim: CerpaClaim, event: CerpaEvent) -> tuple[list[_Finding], tuple[str, ...]]:
    found: list[_Finding] = []
    unmeasured: dict[str, None] = {}
    for each in claim.assumptions:
        counting = _counting(each, claim, event)
        if not counting:
            unmeasured[each.metric] = None
            continue
        bound = Decimal(each.bound)
        against = [one for one in counting if not _HOLDS[each.operator](Decimal(one.value), bound)]
        if against:
            more = f" ({len(against)} of {len(counting)} do)" if len(counting) > 1 else ""
            text = (
                f"mismatch: {each.metric} is {against[0].value}, not {each.operator}"
                f" {each.bound}{more}"
            )
            found.append(_Finding(Verdict.MISMATCH, text))
    return found, tuple(unmeasured)


def _counting(each: Assumption, claim: CerpaClaim, event: CerpaEvent) -> list[Measurement]:
    """The measurements that an assumption is held against: since the claim was made, in the window."""
    since = claim.timestamp
    if each.window_ms is not None:
        # A window longer than the calendar reaches back to the claim, as every long one does.
        with suppress(OverflowError):
            since = max(since, event.timestamp - timedelta(milliseconds=each.window_ms))
    measured = [
        one for one in event.measurements if one.metric == each.metric and one.measured_at >= since
    ]
    if each.window_ms is None and measured:
        # Several of the same moment are all the latest: none of them may be overlooked.
        latest = max(one.measured_at for one in measured)
        measured = [one for one in measured if one.measured_at == latest]
    return measured


def _is_belittled(proposal: PatchProposal, reviewed: CerpaReview) -> bool:
    # The severity decides who must approve.
    return reviewed.severity is not None and proposal.severity.rank < reviewed.severity.rank


def _belittles(proposal: PatchProposal, reviewed: CerpaReview) -> str:
    return (
        f"proposal {proposal.proposal_id} answers {proposal.severity.value} drift, and review"
        f" {reviewed.id} found {reviewed.severity}; propose it with that severity"
    )


def _failed(wanted: CerpaPatch, now: datetime, reason: str) -> CerpaApplyResult:
    return _result(wanted, now, success=False, reason=reason[:MAX_TEXT_LENGTH])


def _result(
    wanted: CerpaPatch,
    now: datetime,
    *,
    success: bool,
    reason: str | None = None,
    new_state: dict[str, str | bool | int | None] | None = None,
) -> CerpaApplyResult:
    return CerpaApplyResult(
        id=_id(_RESULT, wanted.id, now.isoformat()),
        domain=wanted.domain,
        timestamp=now,
        source=SOURCE,
        provenance=(wanted.id,),
        patch_id=wanted.id,
        success=success,
        reason=reason,
        new_state=new_state or {},
        settled_by="patch" if success else None,
    )


def _id(namespace: uuid.UUID, *parts: str) -> str:
    return str(uuid.uuid5(namespace, canonical_json(list(parts)).decode()))
