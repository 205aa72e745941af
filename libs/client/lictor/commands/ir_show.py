"""`lictor ir show`: the Effect IR of a program, or of a document in either form."""

from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from lictor.cli import FAILED, OK
from lictor.commands.output import common_arguments, printable, quiet_logs, say, warn
from lictor.commands.prove import language_argument, language_of, read_source
from lictor.errors import LictorError

if TYPE_CHECKING:
    from lictor_ir.document import Document

HELP = """\
Print the Effect IR of a program in Python or commands, or of a document in its JSON or text form. --json prints the
canonical JSON, whose SHA-256 is the document's name; --hash prints that name alone.
"""


def arguments(parser: ArgumentParser) -> None:
    """The options of the command."""
    parser.add_argument(
        "file", metavar="FILE", type=Path, help="a program (.py or .lictor), or a document"
    )
    language_argument(parser)
    parser.add_argument("--import-root", metavar="DIR", action="append", type=Path)
    parser.add_argument("--trusted-root", metavar="DIR", action="append", type=Path)
    parser.add_argument("--target", metavar="NAME", default="main")
    parser.add_argument("--hash", action="store_true", help="print the document's name alone")
    common_arguments(parser, connects=False)


def run(options: Namespace) -> int:
    """Read it, and print."""
    quiet_logs()
    try:
        from lictor_ir.errors import IrError
        from lictor_ir.jsonform import document_hash, to_json
        from lictor_ir.text import write
        from lictor_prove.errors import ProveError, Rejected
    except ModuleNotFoundError as error:
        raise LictorError(f"{error.name} is not installed here; install lictor-prove.") from None
    try:
        document = _document(options)
    except Rejected as refused:
        for reason in refused.reasons:
            place = f"{reason.line}:{reason.column}: " if reason.line is not None else ""
            warn(f"{options.file}:{place} {printable(reason.message)}; {printable(reason.remedy)}")
        return FAILED
    except (IrError, ProveError) as error:
        raise LictorError(f"{options.file}: {printable(str(error))}") from None
    if options.hash:
        say(document_hash(document))
    elif options.json:
        say(to_json(document).decode())
    else:
        say(write(document).rstrip("\n"))
    return OK


def _document(options: Namespace) -> "Document":
    from lictor_prove.documents import read_document

    source = read_source(options.file)
    language = language_of(options.file, options)
    if language != "ir":
        from lictor_prove.layers import discover_trusted_roots, load_layer
        from lictor_prove.prover import document_of

        imports = options.import_root or [Path.cwd(), options.file.resolve().parent]
        trusted = options.trusted_root or discover_trusted_roots(imports)
        layer = load_layer(trusted, imports)
        return document_of(
            source,
            name=options.file.name,
            target=options.target,
            layer=layer,
            language=language,
        )
    return read_document(source.encode())
