r"""The life of a request, folded from its entries.

    requested -> approved -> executing -> executed, compensated, partial, in_doubt, failed
        |  \         |
        |   rejected, expired, stale

A request is decided once; an approval may be taken back until the program starts. What has started can't be stopped
from here, and what has ended stays as it ended.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from lictor_approval.errors import BrokenLog, StepRefused
from lictor_approval.signed_decisions import claimed
from lictor_schema.approvals.approval import (
    ApprovalDecision,
    ApprovalEntry,
    ApprovalExecution,
    ApprovalRequest,
    ApprovalState,
)

_ENDED_OPEN = frozenset({ApprovalState.REJECTED, ApprovalState.EXPIRED, ApprovalState.STALE})
_FOLLOWS = {
    ApprovalState.REQUESTED: _ENDED_OPEN | {ApprovalState.APPROVED},
    ApprovalState.APPROVED: _ENDED_OPEN | {ApprovalState.EXECUTING},
    ApprovalState.EXECUTING: frozenset(
        {
            ApprovalState.EXECUTED,
            ApprovalState.COMPENSATED,
            ApprovalState.PARTIAL,
            ApprovalState.IN_DOUBT,
            ApprovalState.FAILED,
        }
    ),
}


@dataclass(frozen=True, slots=True)
class RequestLife:
    """A request as its entries leave it."""

    request: ApprovalRequest
    state: ApprovalState
    changed_at: str
    by: str
    signed: str | None = None
    """The last decision, as it was signed."""
    decision: ApprovalDecision | None = None
    """What the last decision says. Nobody has checked its signature here."""
    execution: ApprovalExecution | None = None
    reason: str | None = None

    @property
    def due(self) -> str:
        """Until when it is open: to be decided, or, once approved, to be started."""
        if self.state is ApprovalState.APPROVED and self.decision is not None:
            return self.decision.expires_at
        return self.request.expires_at

    def may_become(self, state: ApprovalState) -> bool:
        """Whether that state can follow."""
        return state in _FOLLOWS.get(self.state, ())


def folded(entries: Iterable[ApprovalEntry]) -> RequestLife | None:
    """The request after its entries; None without any; BrokenLog when they don't follow from each other."""
    life: RequestLife | None = None
    for entry in entries:
        life = after(life, entry)
    return life


def after(life: RequestLife | None, entry: ApprovalEntry) -> RequestLife:
    """The request after one more entry."""
    if life is None:
        if entry.request is None:
            raise _broken(entry, "nothing was asked for before it")
        return RequestLife(entry.request, entry.state, entry.at, entry.by)
    if entry.request_id != life.request.request_id:
        raise _broken(entry, f"the log is that of request {life.request.request_id}")
    if not life.may_become(entry.state):
        raise _broken(entry, f"it follows `{life.state}`")
    life = replace(life, state=entry.state, changed_at=entry.at, by=entry.by, reason=entry.reason)
    if entry.signed is not None:
        try:
            decision = claimed(entry.signed)
        except StepRefused as error:
            raise _broken(entry, error.reason) from None
        if (decision.decision == "approve") != (entry.state is ApprovalState.APPROVED):
            raise _broken(entry, f"the decision in it is to {decision.decision}")
        life = replace(life, signed=entry.signed, decision=decision)
    if entry.execution is not None:
        life = replace(life, execution=entry.execution)
    return life


def _broken(entry: ApprovalEntry, why: str) -> BrokenLog:
    return BrokenLog(
        f"entry {entry.entry_id} of request {entry.request_id} says `{entry.state}`, but {why}",
        "submit the program again, and find out who wrote to stream APPROVALS",
    )
