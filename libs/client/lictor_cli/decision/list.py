"""`lictor decision list`: the newest decisions, with the ids that other commands take."""

from argparse import ArgumentParser, Namespace
from collections.abc import AsyncGenerator, Collection
from contextlib import aclosing

from nats.aio.client import Client

from lictor.decision_marks import false_alarms
from lictor.history.id_prefixes import TASK, whole_or_given
from lictor.history.stored_decisions import AnyDecision, latest_decisions
from lictor.history.stream_contents import streams_at
from lictor_cli.decision.line import what
from lictor_cli.main import OK
from lictor_cli.output.terminal import common_arguments, quiet_logs, say, say_stored, say_table
from lictor_cli.selection import first_of, limit_argument, since_argument, warn_of_more
from lictor_schema.decisions.decision import Disposition

HELP = "List the newest decisions."


def arguments(parser: ArgumentParser) -> None:
    """The options of the command."""
    parser.add_argument("--task", metavar="TASK", help="only decisions on this task")
    parser.add_argument("--decision", choices=[each.value for each in Disposition])
    parser.add_argument("--rule", metavar="ID", help="only decisions by this rule or policy")
    since_argument(parser)
    limit_argument(parser)
    common_arguments(parser)


async def run(options: Namespace) -> int:
    """List the newest, on events and on calls and stops of guarded sessions."""
    quiet_logs()
    async with streams_at(options.url, "decision") as client:
        found, more = await first_of(_wanted(client, options), options.limit)
        alarms = await false_alarms(client)
    if options.json:
        for record in found:
            say_stored(record)
    elif found:
        say_table(
            ("decision", "decided", "what", "on", "task", "rule"),
            (_row(record, alarms) for record in found),
        )
    else:
        say("no decisions")
    warn_of_more(more, options.limit)
    return OK


async def _wanted(client: Client, options: Namespace) -> AsyncGenerator[AnyDecision, None]:
    task = None if options.task is None else await whole_or_given(client, TASK, options.task)
    records = latest_decisions(client, task, options.since)
    async with aclosing(records):
        async for record in records:
            decision = record.decision
            if options.decision in (None, decision.decision.value) and options.rule in (
                None,
                decision.policy_id,
            ):
                yield record


def _row(record: AnyDecision, alarms: Collection[str]) -> tuple[str, ...]:
    decision = record.decision
    marked = " (false alarm)" if record.record_id in alarms else ""
    return (
        record.record_id,
        record.recorded_at,
        decision.decision.value,
        what(record),
        record.task_id,
        f"{decision.policy_id}{marked}",
    )
