"""`lictor log checkpoint`: the log's signed head."""

import sys
from argparse import ArgumentParser, Namespace
from base64 import b64encode
from pathlib import Path

from lictor.errors import LictorError
from lictor_cli.log.sources import episodes_stream, exported_note, streamed_head, trust_argument
from lictor_cli.main import OK
from lictor_cli.output.terminal import common_arguments, quiet_logs, say_json
from lictor_seal import TrustStore, checkpoint_in, read_known_head

HELP = """\
Print the log's signed head, a C2SP checkpoint. Keep it: with it you can tell later whether the log was rewritten.
"""


def arguments(parser: ArgumentParser) -> None:
    """The options of the command."""
    parser.add_argument(
        "directory", metavar="DIR", nargs="?", help="an exported log (default: the stream)"
    )
    trust_argument(parser, required=False)
    common_arguments(parser)


async def run(options: Namespace) -> int:
    """Print it; with a trust file only when it holds."""
    quiet_logs()
    if options.directory is not None:
        note = exported_note(Path(options.directory))
    else:
        async with episodes_stream(options.url) as client:
            head = await streamed_head(client)
        if head is None:
            raise LictorError("the log is empty: nothing was sealed yet.")
        note = head.note
    if options.trust is not None:
        read_known_head(note, TrustStore.load(Path(options.trust)))
    if options.json:
        stated = checkpoint_in(note)
        root = b64encode(stated.root).decode()
        say_json({"origin": stated.origin, "size": stated.size, "root": root, "checkpoint": note})
    else:
        # As it is: a checkpoint is a file for others, and a line more would spoil it.
        sys.stdout.write(note)
    return OK
