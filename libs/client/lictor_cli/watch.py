"""`lictor watch`: decisions as they are made."""

from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Callable
from contextlib import aclosing

from lictor.governor import Governor
from lictor.governor_connection import connect
from lictor.history.id_prefixes import TASK, id_at
from lictor.history.stored_decisions import AnyDecision
from lictor.installation.endpoints import nats_url
from lictor_cli.decision.line import line, say_decision, what
from lictor_cli.main import OK
from lictor_cli.output.interruption import ending_with_reader
from lictor_cli.output.terminal import (
    at_terminal,
    common_arguments,
    printable,
    quiet_logs,
    say,
    say_stored,
    warn,
)

HELP = """\
Show decisions as they are made, until Ctrl-C: on events, and on calls and stops of guarded
sessions. `lictor decision show` takes the ids. Goes on over restarts of NATS and of `lictor up`,
without losing or repeating one.
"""


def arguments(parser: ArgumentParser) -> None:
    """The options of the command."""
    parser.add_argument("--task", metavar="TASK", help="only decisions on this task")
    parser.add_argument(
        "--since-start", action="store_true", help="begin with the first decision that is stored"
    )
    count_argument(parser, "decisions")
    common_arguments(parser)


def count_argument(parser: ArgumentParser, what: str) -> None:
    """How many to show."""
    parser.add_argument("--count", metavar="N", type=_count, help=f"stop after N {what}")


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise ArgumentTypeError(f"{text!r} is not a whole number from 1 on")
    return int(text)


async def run(options: Namespace) -> int:
    """Show decisions until there are enough of them."""
    quiet_logs()
    where = nats_url(options.url)
    with ending_with_reader():
        async with connect(where, reads_all=True, timeout_s=3.0) as governor:
            await _watch(governor, options)
    return OK


async def _watch(governor: Governor, options: Namespace) -> None:
    show = _shower(options.json, with_task=options.task is None)
    if at_terminal():
        warn("watching decisions; Ctrl-C ends it")
    task = None if options.task is None else await id_at(options.url, TASK, options.task)
    records = governor.all_decisions(task, since_start=options.since_start)
    shown = 0
    async with aclosing(records):
        async for record in records:
            show(record)
            shown += 1
            if shown == options.count:
                break


def _shower(as_json: bool, *, with_task: bool) -> Callable[[AnyDecision], None]:
    def show_json(record: AnyDecision) -> None:
        say_stored(record)

    def show_line(record: AnyDecision) -> None:
        say(f"{record.record_id}  {line(record, with_task=with_task)}")

    if as_json:
        return show_json
    if not at_terminal():
        return show_line

    def show_at_terminal(record: AnyDecision) -> None:
        task = f"  task {printable(record.task_id, 36)}" if with_task else ""
        say_decision(record, f"{what(record)}{task}  decision {record.record_id}")

    return show_at_terminal
