"""`lictor runs show`: everything that a run did."""

import json
from argparse import ArgumentParser, Namespace
from collections.abc import Iterable, Sequence
from datetime import datetime

from lictor_cli.main import OK
from lictor_cli.output.terminal import (
    common_arguments,
    quiet_logs,
    say,
    say_json,
    say_table,
    spelled_out,
)
from lictor_cli.runs.sources import begun, ended, find_run, lines, runs_at
from lictor_schema.approvals.plain_values import shown
from lictor_schema.approvals.run import AnyRunEntry, RunTakenOver
from lictor_schema.proofs.inputs import shown_inputs

HELP = """\
Show a run: by whose decision, each effect with arguments, result and undoing, and what is left to look at.
One that was approved or began less than 30 seconds ago is waited for until it has ended.
"""


def arguments(parser: ArgumentParser) -> None:
    """The options of the command."""
    parser.add_argument(
        "run",
        metavar="REQUEST",
        help="the request by which it was approved, or its first characters",
    )
    common_arguments(parser)


async def run(options: Namespace) -> int:
    """Show it."""
    quiet_logs()
    async with runs_at(options.url) as client:
        entries = await find_run(client, options.run)
    if options.json:
        say_json(
            {
                "run_id": entries[0].run_id,
                "task_id": entries[0].task_id,
                "runtime": entries[0].runtime,
                "entries": [json.loads(entry.to_json()) for entry in entries],
            }
        )
        return OK
    for name, value in _fields(entries):
        say(f"{name:<11}  {spelled_out(value)}")
    effects = lines(entries)
    if effects:
        say()
        say_table(
            ("call", "effect", "became", "with"),
            ((str(each.call), each.effect, each.became, each.told) for each in effects),
            exact=("with",),
        )
    finished = ended(entries)
    if finished is not None and finished.result is not None and finished.result.kept:
        say()
        say(f"returned   {spelled_out(shown(finished.result.value))}")
    if finished is not None and finished.output:
        say()
        say("printed:")
        for line in finished.output.splitlines():
            say(f"  {spelled_out(line)}")
    return OK


def _fields(entries: Sequence[AnyRunEntry]) -> Iterable[tuple[str, str]]:
    yield "run", entries[0].run_id
    yield "task", entries[0].task_id
    if entries[0].runtime is not None:
        yield "runtime", entries[0].runtime
    started, finished = begun(entries), ended(entries)
    if started is not None:
        yield "approved by", started.approved_by
        yield "began", f"{started.at} on {started.runner}"
        yield "program", started.program_hash
        yield "layer", started.layer_hash
        yield "binding", started.binding_hash
        if started.inputs:
            yield "with", ", ".join(shown_inputs(started.inputs))
    for entry in entries:
        if isinstance(entry, RunTakenOver):
            yield "taken over", f"{entry.at} by {entry.runner}"
    if finished is None:
        yield "outcome", "it runs, or waits for another runner to take it over"
        return
    yield "ended", f"{finished.at} after {_elapsed_ms(entries[0], finished)} ms"
    yield "outcome", finished.outcome.value
    if finished.reason is not None:
        yield "because", f"{finished.reason.code}: {finished.reason.message}"
        if finished.reason.remedy:
            yield "remedy", finished.reason.remedy
    if finished.result is not None and finished.result.problem is not None:
        yield "no result", finished.result.problem.message
        yield "remedy", str(finished.result.problem.remedy)
    if finished.left:
        yield "look at", f"calls {', '.join(map(str, finished.left))}"


def _elapsed_ms(first: AnyRunEntry, last: AnyRunEntry) -> int:
    """By the times that are shown; earlier runners also counted the start of their process in `elapsed_ms`."""
    taken = datetime.fromisoformat(last.at) - datetime.fromisoformat(first.at)
    return max(0, round(taken.total_seconds() * 1000))
