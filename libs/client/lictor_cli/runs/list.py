"""`lictor runs list`: every run, and what became of it."""

import json
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence

from lictor_cli.main import OK
from lictor_cli.output.terminal import common_arguments, quiet_logs, say, say_json, say_table
from lictor_cli.runs.sources import all_runs, begun, ended, runs_at
from lictor_schema.approvals.run import AnyRunEntry, RunOutcome

HELP = "List runs in the order they began, and what became of them. `partial` and `in_doubt` need somebody to look."


def arguments(parser: ArgumentParser) -> None:
    """The options of the command."""
    parser.add_argument("--outcome", choices=[each.value for each in RunOutcome])
    common_arguments(parser)


async def run(options: Namespace) -> int:
    """List them."""
    quiet_logs()
    async with runs_at(options.url) as client:
        journals = await all_runs(client)
    shown = [
        entries for entries in journals.values() if options.outcome in (None, _outcome(entries))
    ]
    if options.json:
        for entries in shown:
            started, finished = begun(entries), ended(entries)
            say_json(
                {
                    "run_id": entries[0].run_id,
                    "task_id": entries[0].task_id,
                    "runtime": entries[0].runtime,
                    "begun": None if started is None else json.loads(started.to_json()),
                    "ended": None if finished is None else json.loads(finished.to_json()),
                }
            )
        return OK
    if not shown:
        say("no runs")
        return OK
    say_table(
        ("run", "began", "outcome", "effects", "approved by", "task", "runtime"),
        (_row(each) for each in shown),
    )
    return OK


def _outcome(entries: Sequence[AnyRunEntry]) -> str:
    finished = ended(entries)
    return "running" if finished is None else finished.outcome.value


def _row(entries: Sequence[AnyRunEntry]) -> tuple[str, ...]:
    started, finished = begun(entries), ended(entries)
    effects = "-" if finished is None else str(finished.effects)
    if finished is not None and finished.undone:
        effects += f", {finished.undone} undone"
    by = "-" if started is None else started.approved_by
    first = entries[0]
    return (
        first.run_id,
        first.at,
        _outcome(entries),
        effects,
        by,
        first.task_id,
        first.runtime or "-",
    )
