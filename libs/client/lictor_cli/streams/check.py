"""`lictor streams check`: whether every stream is there and as services need it."""

from argparse import ArgumentParser, Namespace

from lictor.history.stream_contents import streams_at
from lictor_bus.names.stream_check import examine
from lictor_bus.names.streams import STREAMS
from lictor_cli.main import FAILED, OK
from lictor_cli.output.terminal import common_arguments, counted, quiet_logs, say, say_json
from lictor_cli.streams.settings import partitions_argument, partitions_of

HELP = """\
Tell whether every stream is there and as services need it; exit code 1 when one is not.

It changes nothing, and any user that may look at streams can run it.
"""


def arguments(parser: ArgumentParser) -> None:
    """The options of the command."""
    partitions_argument(parser)
    common_arguments(parser)


async def run(options: Namespace) -> int:
    """Look at each."""
    quiet_logs()
    async with streams_at(options.url, "streams") as client:
        found = await examine(client, tuple(STREAMS), partitions=partitions_of(options))
    for each in found:
        if options.json:
            say_json({"stream": each.stream, "what": each.what, "detail": each.detail})
        else:
            say(str(each))
    if options.json:
        say_json({"what": "checked", "streams": len(STREAMS), "troubles": len(found)})
    elif not found:
        say(f"{counted(len(STREAMS), 'stream')}: all there, and as they should be")
    return FAILED if found else OK
