"""A decision in one line for people."""

from lictor.commands.output import printable, say_beside
from lictor_schema import DecisionRecord, Disposition

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


def cells(record: DecisionRecord) -> tuple[str, str, str, str, str]:
    """Time of day, disposition, event type, rule, reason; nothing in them can steer a terminal."""
    decision = record.decision
    return (
        record.recorded_at[11:23],
        decision.decision.value,
        record.event_type,
        printable(decision.policy_id),
        printable(decision.reason),
    )


def say_decision(record: DecisionRecord, about: str) -> None:
    """The decision at a terminal: when and what, and beside it about what, why, and by which rule."""
    from rich.text import Text

    time, disposition, _, rule, reason = cells(record)
    say_beside(
        Text.assemble(
            (f"{time[:8]}  ", "dim"), (f"{disposition:<20}  ", STYLES[record.decision.decision])
        ),
        Text.assemble(
            (about, "bold"),
            "\n",
            reason,
            (f"  {rule}", "dim"),
            ("  task closed", "bold") if record.task_closed else "",
        ),
    )


def line(record: DecisionRecord, *, with_task: bool = True) -> str:
    """The decision as plain text."""
    time, disposition, event, rule, reason = cells(record)
    task = f"  {printable(record.task_id, 36)}" if with_task else ""
    closed = "  [task closed]" if record.task_closed else ""
    return f"{time}  {disposition:<20}  {event:<22}{task}  {rule}: {reason}{closed}"
