"""A decision in one line for people."""

from lictor.history.stored_decisions import AnyDecision
from lictor_cli.output.terminal import printable, say_beside
from lictor_schema.decisions.decision import Disposition
from lictor_schema.decisions.guard_decision import GuardDecision

STYLES = {
    Disposition.ALLOW: "green",
    Disposition.ANNOTATE_PLACEHOLDER: "cyan",
    Disposition.REWRITE: "cyan",
    Disposition.REQUIRE_REVIEW: "yellow",
    Disposition.DOWNGRADE_STATUS: "yellow",
    Disposition.FORCE_CHECKPOINT: "magenta",
    Disposition.BLOCK: "red",
    Disposition.ESCALATE: "bold red",
}
"""How each disposition is shown at a terminal."""


def what(record: AnyDecision) -> str:
    """What was decided on: an event by its type, a call by its tool, or a stop."""
    if not isinstance(record, GuardDecision):
        return record.event_type
    return "stop" if record.tool is None else f"call of {printable(record.tool, 40)}"


def _ended(record: AnyDecision) -> str | None:
    if isinstance(record, GuardDecision):
        return None
    return "task closed" if record.task_closed else None


def cells(record: AnyDecision) -> tuple[str, str, str, str, str]:
    """Time of day, disposition, what it is on, rule, reason; nothing in them can steer a terminal."""
    decision = record.decision
    return (
        record.recorded_at[11:23],
        decision.decision.value,
        what(record),
        printable(decision.policy_id),
        printable(decision.reason),
    )


def say_decision(record: AnyDecision, about: str) -> None:
    """The decision at a terminal: when and what, and beside it about what, why, and by which rule."""
    from rich.text import Text

    time, disposition, _, rule, reason = cells(record)
    ended = _ended(record)
    say_beside(
        Text.assemble(
            (f"{time[:8]}  ", "dim"), (f"{disposition:<20}  ", STYLES[record.decision.decision])
        ),
        Text.assemble(
            (about, "bold"),
            "\n",
            reason,
            (f"  {rule}", "dim"),
            (f"  {ended}", "bold") if ended else "",
        ),
    )


def line(record: AnyDecision, *, with_task: bool = True) -> str:
    """The decision as plain text."""
    time, disposition, event, rule, reason = cells(record)
    task = f"  {printable(record.task_id, 36)}" if with_task else ""
    ended = _ended(record)
    closed = f"  [{ended}]" if ended else ""
    return f"{time}  {disposition:<20}  {event:<22}{task}  {rule}: {reason}{closed}"
