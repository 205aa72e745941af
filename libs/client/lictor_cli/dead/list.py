"""`lictor dead list`: what services could not process."""

from argparse import ArgumentParser, Namespace

from lictor_bus.logs.dead_letters import list_dead
from lictor_cli.dead.sources import dead_as_json, dead_stream, number
from lictor_cli.main import OK
from lictor_cli.output.terminal import (
    common_arguments,
    printable,
    quiet_logs,
    say,
    say_json,
    say_table,
)
from lictor_schema.core.base_model import utc_millis

HELP = "List dead letters."


def arguments(parser: ArgumentParser) -> None:
    """The options of the command."""
    parser.add_argument("--service", metavar="NAME", help="only those of this service")
    parser.add_argument(
        "--limit", metavar="N", type=number, default=1000, help="at most N (default: 1000)"
    )
    common_arguments(parser)


async def run(options: Namespace) -> int:
    """List them."""
    quiet_logs()
    async with dead_stream(options.url) as client:
        letters = [
            stored_letter
            async for stored_letter in list_dead(
                client, service=options.service or "*", limit=options.limit
            )
        ]
    if options.json:
        for stored_letter in letters:
            say_json(dead_as_json(stored_letter))
    elif letters:
        say_table(
            ("N", "service", "stream", "received", "reason"),
            (
                (
                    str(stored_letter.sequence),
                    stored_letter.letter.service,
                    f"{stored_letter.letter.stream} {stored_letter.letter.sequence}",
                    utc_millis(stored_letter.letter.received_at),
                    printable(stored_letter.letter.reason, 120),
                )
                for stored_letter in letters
            ),
        )
    else:
        say("no dead letters")
    return OK
