"""`lictor decision mark`: whether a decision was a false alarm."""

from argparse import ArgumentParser, Namespace

from lictor.decision_marks import mark_decision, marks_of
from lictor.history.stream_contents import streams_at
from lictor_cli.decision.sources import named_decision, record_argument, task_argument
from lictor_cli.desk_order import by_option, problems_in_words, reason_option, told, user_name
from lictor_cli.main import FAILED
from lictor_cli.output.terminal import common_arguments, printable, quiet_logs, warn
from lictor_policy.decisions.marks import false_alarm
from lictor_schema.core.base_model import utc_millis
from lictor_schema.decisions.guard_decision import GuardDecision
from lictor_schema.decisions.mark import DecisionMark

HELP = "Mark a decision as a false alarm, or take that back."


def arguments(parser: ArgumentParser) -> None:
    """The options of the command."""
    record_argument(parser)
    said = parser.add_mutually_exclusive_group(required=True)
    said.add_argument("--false-alarm", action="store_true", help="the rule should not have fired")
    said.add_argument("--withdraw", action="store_true", help="take the mark back")
    reason_option(parser, "why, for the record")
    by_option(parser, "who says so (default: the user's name)", required=False)
    task_argument(parser)
    common_arguments(parser)


async def run(options: Namespace) -> int:
    """Mark it."""
    quiet_logs()
    async with streams_at(options.url, "decision") as client:
        record = await named_decision(client, options)
        if isinstance(record, GuardDecision):
            warn(
                "only decisions on events can be marked; change the agent definition's policy instead"
            )
            return FAILED
        kind = "withdrawn" if options.withdraw else "false_alarm"
        by = user_name(options.by)
        before = false_alarm(await marks_of(client, record))
        with problems_in_words():
            answer = await mark_decision(client, record, kind, by, options.reason)
    rule = record.matched_rules[0].rule_id
    return told(options, answer, _line(record.record_id, printable(rule), before, by, options))


def _line(
    record_id: str, rule: str, before: DecisionMark | None, by: str, options: Namespace
) -> str:
    if options.withdraw:
        return f"the mark on {record_id} ({rule}) is taken back"
    if before is None:
        return f"{record_id} is marked as a false alarm of {rule}"
    # The same again is kept once; another person or reason is a further mark.
    new = (before.by, before.reason) != (by, options.reason)
    kept = "this mark is kept too" if new else "nothing has changed"
    already = f"was marked already by {before.by} at {utc_millis(before.marked_at)}; {kept}"
    return f"{record_id} {printable(already)}"
