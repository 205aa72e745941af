"""`lictor session log`: everything that changed a guarded session."""

from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections import deque

from lictor.history.session_story import entries
from lictor_cli.main import OK
from lictor_cli.output.terminal import quiet_logs, say_stored
from lictor_cli.session.sources import say_entry, session_arguments, session_at
from lictor_schema.sessions.session_log import AnySessionEntry

HELP = "Show everything that changed a session."


def arguments(parser: ArgumentParser) -> None:
    """The options of the command."""
    parser.add_argument("--last", metavar="N", type=_count, help="only the last N entries")
    session_arguments(parser)


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise ArgumentTypeError(f"{text!r} is not a whole number from 1 on")
    return int(text)


async def run(options: Namespace) -> int:
    """Show it."""
    quiet_logs()
    kept: deque[AnySessionEntry] = deque(maxlen=options.last or 0)
    async with session_at(options) as (client, session):
        async for entry in entries(client, session.runtime, session.session_id):
            if options.last is None:
                _tell(entry, options.json)
            else:
                kept.append(entry)
    for entry in kept:
        _tell(entry, options.json)
    return OK


def _tell(entry: AnySessionEntry, as_json: bool) -> None:
    if as_json:
        say_stored(entry)
    else:
        say_entry(entry)
