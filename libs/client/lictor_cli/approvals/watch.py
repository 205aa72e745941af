"""`lictor approvals watch`: requests and decisions as they come."""

from argparse import ArgumentParser, Namespace
from contextlib import aclosing

from lictor.history.stream_contents import streams_at
from lictor.history.stream_follower import follow
from lictor_bus.logs.entry_logs import read_entry
from lictor_bus.names.streams import APPROVALS
from lictor_cli.approvals.sources import EVERY_CHANGE
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
from lictor_cli.watch import count_argument
from lictor_schema.approvals.approval import ApprovalEntry, ApprovalRequest

HELP = "Show requests, decisions and what came of them as they come, until Ctrl-C."


def arguments(parser: ArgumentParser) -> None:
    """The options of the command."""
    parser.add_argument(
        "--since-start", action="store_true", help="begin with the first that is stored"
    )
    count_argument(parser, "changes")
    common_arguments(parser)


async def run(options: Namespace) -> int:
    """Show them until there are enough."""
    quiet_logs()
    if at_terminal():
        warn("watching approvals; Ctrl-C ends it")
    with ending_with_reader():
        async with streams_at(options.url, "approvals-watch") as client:
            stored = follow(client, APPROVALS, EVERY_CHANGE, from_start=options.since_start)
            shown = 0
            async with aclosing(stored):
                async for each in stored:
                    entry = read_entry(each, ApprovalEntry.from_json)
                    if entry is None:
                        continue
                    if options.json:
                        say_stored(entry)
                    else:
                        say(_line(entry))
                    shown += 1
                    if shown == options.count:
                        break
    return OK


def _line(entry: ApprovalEntry) -> str:
    why = f": {entry.reason}" if entry.reason else ""
    if entry.request is not None:
        request, binding = entry.request, entry.request.binding
        agent = f"{binding.agent_id} of runtime {binding.runtime or 'unknown'}"
        if isinstance(request, ApprovalRequest):
            why = f": {request.binding.source_name} ({request.binding.target}) of {agent}"
        else:
            why = f": {agent} wants to call {request.binding.tool}; until {request.expires_at}"
    return f"{entry.at}  {entry.state.value:<11}  {entry.request_id}  {printable(entry.by + why)}"
