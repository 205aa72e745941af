"""How requests were decided: what an operator wants to know of an inbox."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from statistics import median

from lictor_approval.request_life import RequestLife
from lictor_schema.approvals.approval import ApprovalState


@dataclass(frozen=True, slots=True)
class RequestCounts:
    """Counts over some requests; each of them counts once, as what it is now."""

    waiting: int
    """To be decided."""
    approved: int
    rejected: int
    """By people; an approval that was taken back counts as rejected."""
    automatic: int
    """By a policy, either way."""
    expired: int
    stale: int
    cancelled: int
    """By whoever asked."""
    lapsed: int
    """Those of the expired, stale and cancelled that were approved: nothing ran by it."""
    rate: float | None
    """Which part of what people decided, and what still stands, was approved; None before anything was."""
    median_s: float | None
    """From the request to a person's decision, by their clock."""


_LAPSED = (ApprovalState.EXPIRED, ApprovalState.STALE, ApprovalState.CANCELLED)


def counts(lives: Iterable[RequestLife]) -> RequestCounts:
    """The outcomes of these requests."""
    everything = list(lives)
    decided = [
        (life, life.decision)
        for life in everything
        # What still waits for others counts as waiting. A request that ended may have been endorsed or passed on only.
        if life.decision is not None
        and (life.approved_at is not None or life.decision.decision == "reject")
    ]
    by_people = [(life, decision) for life, decision in decided if decision.automatic is None]
    standing = [decision.decision for life, decision in by_people if life.state not in _LAPSED]
    waited = [
        max(0.0, _seconds(life.request.requested_at, decision.decided_at))
        for life, decision in by_people
    ]

    def in_state(state: ApprovalState) -> int:
        return sum(life.state is state for life in everything)

    return RequestCounts(
        waiting=sum(life.state.is_undecided for life in everything),
        approved=standing.count("approve"),
        rejected=standing.count("reject"),
        automatic=sum(
            decision.automatic is not None and life.state not in _LAPSED
            for life, decision in decided
        ),
        expired=in_state(ApprovalState.EXPIRED),
        stale=in_state(ApprovalState.STALE),
        cancelled=in_state(ApprovalState.CANCELLED),
        lapsed=sum(life.state in _LAPSED for life, _ in decided),
        rate=standing.count("approve") / len(standing) if standing else None,
        median_s=median(waited) if waited else None,
    )


def _seconds(start: str, end: str) -> float:
    return (datetime.fromisoformat(end) - datetime.fromisoformat(start)).total_seconds()
