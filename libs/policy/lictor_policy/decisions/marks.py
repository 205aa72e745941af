"""Whether a decision can be marked, and what its marks come to: the last one counts."""

from collections.abc import Iterable, Sequence
from datetime import datetime

from lictor_policy.errors import UnacceptableEvent
from lictor_schema.decisions.decision import DecisionRecord
from lictor_schema.decisions.mark import DecisionMark, MarkOrder


def false_alarm(marks: Iterable[DecisionMark]) -> DecisionMark | None:
    """The mark by which a decision is a false alarm; None when it has none, or it was taken back."""
    last: DecisionMark | None = None
    for each in marks:
        last = each
    return last if last is not None and last.mark == "false_alarm" else None


def marked(
    record: DecisionRecord,
    before: Sequence[DecisionMark],
    order: MarkOrder,
    *,
    entry_id: str,
    at: datetime,
) -> DecisionMark | None:
    """The mark that an order makes; None when it stands already; raises UnacceptableEvent when it can't be made."""
    if not record.matched_rules:
        raise UnacceptableEvent(
            "record_id", "no rule decided it, so there was no alarm", "mark a decision of a rule"
        )
    standing = false_alarm(before)
    if order.mark == "withdrawn" and standing is None:
        raise UnacceptableEvent(
            "mark", "the decision is not marked", "`lictor decision show` shows the marks"
        )
    if (
        standing is not None
        and order.mark == "false_alarm"
        and (standing.by, standing.reason) == (order.by, order.reason)
    ):
        return None
    # The strongest comes first: it decided.
    rule = record.matched_rules[0]
    return DecisionMark(
        entry_id=entry_id,
        request_id=order.request_id,
        record_id=record.record_id,
        task_id=record.task_id,
        decision=record.decision.decision,
        pack_id=rule.pack_id,
        pack_version=rule.pack_version,
        rule_id=rule.rule_id,
        mark=order.mark,
        by=order.by,
        reason=order.reason,
        marked_at=at,
    )
