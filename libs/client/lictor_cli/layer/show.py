"""`lictor layer show`: what a layer offers to programs, as text that an agent can be given."""

from argparse import ArgumentParser, Namespace
from pathlib import Path

from lictor_cli.main import OK
from lictor_cli.output.terminal import common_arguments, printable, quiet_logs, say, say_json
from lictor_cli.prove.layer_source import layer_arguments, layer_of

HELP = """\
Show what programs may call under a trusted layer, with what each call demands and promises, the contracts that they can
state, and what they may be written with. An agent that is given this text can write programs that are proved.

The layer is Python code that is run to learn what it declares: name only a directory that you trust.
"""


def arguments(parser: ArgumentParser) -> None:
    """The options of the command."""
    parser.add_argument(
        "directory",
        metavar="DIR",
        nargs="?",
        type=Path,
        help="the same as --import-root DIR: holds tools/<domain>/trusted",
    )
    layer_arguments(parser)
    common_arguments(parser, connects=False)


def run(options: Namespace) -> int:
    """Show it."""
    quiet_logs()
    if options.directory is not None:
        options.import_root = [options.directory, *(options.import_root or [])]
    layer = layer_of(options)
    from lictor_prove.layers.offer import offer_text, offered

    offer = offered(layer)
    if options.json:
        say_json(offer)
    else:
        for line in offer_text(offer).splitlines():
            indent = " " * (len(line) - len(line.lstrip()))
            say(indent + printable(line, 2_000))
    return OK
