"""`lictor ir summary`: what a program may do and what is guaranteed, in plain words."""

from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lictor.errors import LictorError
from lictor_cli.ir.sources import document_of_file, source_arguments
from lictor_cli.main import FAILED, OK
from lictor_cli.output.terminal import common_arguments, quiet_logs, say, say_json

if TYPE_CHECKING:
    from lictor_ir.document import Document

HELP = """\
Tell in plain words what programs may do and what is guaranteed about it, from their Effect IR alone; what no guarantee
limits comes first. The same document gives the same text. Nothing is proved here: `lictor prove` does that.
"""


def arguments(parser: ArgumentParser) -> None:
    """The options of the command."""
    parser.add_argument(
        "files",
        metavar="FILE",
        nargs="+",
        type=Path,
        help="programs (.py or .lictor), or documents",
    )
    source_arguments(parser)
    parser.add_argument(
        "--limit",
        metavar="N",
        type=int,
        help="characters of each text, on any number of lines (default: 2000 on 30 lines); 0 for all",
    )
    common_arguments(parser, connects=False)


def run(options: Namespace) -> int:
    """Tell each file, in order."""
    quiet_logs()
    told_all = True
    for number, file in enumerate(options.files):
        document = document_of_file(file, options)
        if document is None:
            told_all = False
            continue
        told = summary_json(document, options.limit)
        if options.json:
            say_json({"file": str(file), **told})
        else:
            if number:
                say()
            say(told["text"].rstrip())
    return OK if told_all else FAILED


def summary_json(document: "Document", limit: int | None) -> dict[str, Any]:
    """The summary of a document, part by part and as text; LictorError for a limit that is too small."""
    from lictor_ir.summary import summarize

    summary = summarize(document)
    try:
        text = summary.text() if limit is None else summary.text(limit or None, lines=None)
    except ValueError as error:
        raise LictorError(f"--limit: {error}.") from None
    return {
        "ir_hash": summary.ir_hash,
        "unconstrained": list(summary.unconstrained),
        "may_do": [each.text for each in summary.may_do],
        "how_often": [each.text for each in summary.how_often],
        "guaranteed": [
            {"text": each.text, "strength": each.strength.value} for each in summary.guaranteed
        ],
        "unknown": [each.text for each in summary.unknown],
        "relies_on": [each.text for each in summary.relies_on],
        "stops_unless": [each.text for each in summary.stops_unless],
        "text": text,
    }
