"""How requests were decided: what an operator wants to know of an inbox."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from statistics import median

from lictor_approval.life import Life
from lictor_schema import ApprovalState


@dataclass(frozen=True, slots=True)
class Counts:
    """Counts over some requests."""

    waiting: int
    """To be decided."""
    approved: int
    rejected: int
    """By people; an approval that was taken back counts as rejected."""
    automatic: int
    """By a policy, either way."""
    expired: int
    stale: int
    rate: float | None
    """Which part of what people decided was approved; None before anything was."""
    median_s: float | None
    """From the request to a person's decision, by their clock."""


def counts(lives: Iterable[Life]) -> Counts:
    """What came of these requests."""
    everything = list(lives)
    by_people = [
        (life, life.decision)
        for life in everything
        if life.decision is not None and life.decision.automatic is None
    ]
    approved = sum(decision.decision == "approve" for _, decision in by_people)
    waited = [
        max(0.0, _seconds(life.request.requested_at, decision.decided_at))
        for life, decision in by_people
    ]

    def in_state(state: ApprovalState) -> int:
        return sum(life.state is state for life in everything)

    return Counts(
        waiting=in_state(ApprovalState.REQUESTED),
        approved=approved,
        rejected=len(by_people) - approved,
        automatic=sum(
            life.decision is not None and life.decision.automatic is not None for life in everything
        ),
        expired=in_state(ApprovalState.EXPIRED),
        stale=in_state(ApprovalState.STALE),
        rate=approved / len(by_people) if by_people else None,
        median_s=median(waited) if waited else None,
    )


def _seconds(start: str, end: str) -> float:
    return (datetime.fromisoformat(end) - datetime.fromisoformat(start)).total_seconds()
