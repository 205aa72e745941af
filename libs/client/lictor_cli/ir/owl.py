"""`lictor ir owl`: the Effect IR as an OWL ontology, for explanation."""

from argparse import ArgumentParser, Namespace
from pathlib import Path

from lictor.errors import LictorError
from lictor_cli.ir.sources import document_of_file, source_arguments
from lictor_cli.main import FAILED, OK
from lictor_cli.output.terminal import common_arguments, quiet_logs, say, say_json

HELP = """\
Print the Effect IR of a program as an OWL 2 ontology: effects as classes, guarantees as axioms where description logic
can say them, the rest in words. It explains and proves nothing: OWL is open-world, the Effect IR is not.
"""


def arguments(parser: ArgumentParser) -> None:
    """The options of the command."""
    parser.add_argument(
        "file", metavar="FILE", type=Path, help="a program (.py or .lictor), or a document"
    )
    source_arguments(parser)
    parser.add_argument(
        "--format", choices=("turtle", "nt", "xml"), default="turtle", help="default: turtle"
    )
    common_arguments(parser, connects=False)


def run(options: Namespace) -> int:
    """Read it, and print."""
    quiet_logs()
    document = document_of_file(options.file, options)
    if document is None:
        return FAILED
    try:
        from lictor_ir.owl import serialize
    except ModuleNotFoundError as error:
        raise LictorError(f"{error.name} is not installed here; install lictor-ir[owl].") from None
    text = serialize(document, options.format)
    if options.json:
        say_json({"file": str(options.file), "format": options.format, "owl": text})
    else:
        say(text.rstrip("\n"))
    return OK
