"""`lictor dead replay`: what could not be processed, handed to the services again."""

from argparse import ArgumentParser, Namespace

from nats.aio.client import Client

from lictor_bus.errors import BusError
from lictor_bus.logs.dead_letters import find_dead, list_dead, replay_dead
from lictor_cli.dead.sources import dead_stream, number
from lictor_cli.main import FAILED, OK, USAGE
from lictor_cli.output.terminal import common_arguments, printable, quiet_logs, say, say_json, warn

HELP = """\
Publish the original messages again, where they were first published. The letters stay as a record.
"""


def arguments(parser: ArgumentParser) -> None:
    """The options of the command."""
    parser.add_argument("numbers", metavar="N", type=number, nargs="*", help="their numbers")
    parser.add_argument("--all", action="store_true", help="all of them")
    parser.add_argument("--service", metavar="NAME", help="with --all: only those of this service")
    common_arguments(parser)


async def run(options: Namespace) -> int:
    """Replay them."""
    quiet_logs()
    if bool(options.numbers) == options.all or (options.service and not options.all):
        warn("name the letters to replay, or use --all (with --service for those of one service).")
        return USAGE
    failed = 0
    async with dead_stream(options.url) as client:
        if options.all:
            # Taken first: what dies again on its replay is a new letter, for the next time.
            found = list_dead(client, service=options.service or "*", limit=2**31)
            numbers = [stored_letter.sequence async for stored_letter in found]
        else:
            numbers = list(dict.fromkeys(options.numbers))
        for each in numbers:
            failed += not await _replay_one(client, each, options.json)
    if not numbers and not options.json:
        say("no dead letters")
    return FAILED if failed else OK


async def _replay_one(client: Client, number: int, as_json: bool) -> bool:
    try:
        stored_letter = await find_dead(client, number)
        await replay_dead(client, stored_letter)
    except BusError as error:
        if as_json:
            say_json({"number": number, "outcome": "failed", "reason": str(error)})
        else:
            say(f"failed    {number}: {printable(str(error))}")
        return False
    if as_json:
        say_json({"number": number, "outcome": "replayed", "stream": stored_letter.letter.stream})
    else:
        say(f"replayed  {number}: to {stored_letter.letter.stream}")
    return True
