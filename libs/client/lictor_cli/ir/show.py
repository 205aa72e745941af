"""`lictor ir show`: the Effect IR of a program, or of a document in either form."""

from argparse import ArgumentParser, Namespace
from pathlib import Path

from lictor_cli.ir.sources import document_of_file, source_arguments
from lictor_cli.main import FAILED, OK
from lictor_cli.output.terminal import common_arguments, quiet_logs, say

HELP = """\
Print the Effect IR of a program in Python or commands, or of a document in its JSON or text form. --json prints the
canonical JSON, whose SHA-256 is the document's name; --hash prints that name alone.
"""


def arguments(parser: ArgumentParser) -> None:
    """The options of the command."""
    parser.add_argument(
        "file", metavar="FILE", type=Path, help="a program (.py or .lictor), or a document"
    )
    source_arguments(parser)
    parser.add_argument("--hash", action="store_true", help="print the document's name alone")
    common_arguments(parser, connects=False)


def run(options: Namespace) -> int:
    """Read it, and print."""
    quiet_logs()
    document = document_of_file(options.file, options)
    if document is None:
        return FAILED
    from lictor_ir.json.document import document_hash, to_json
    from lictor_ir.text import write

    if options.hash:
        say(document_hash(document))
    elif options.json:
        say(to_json(document).decode())
    else:
        say(write(document).rstrip("\n"))
    return OK
