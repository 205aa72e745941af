"""Where commands about the Effect IR get documents: from programs, with their trusted layer, or as they are."""

from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from lictor.errors import LictorError
from lictor_cli.output.terminal import printable, warn
from lictor_cli.prove.layer_source import layer_arguments, layer_of
from lictor_cli.prove.submission import language_argument, language_of, read_source

if TYPE_CHECKING:
    from lictor_ir.document import Document


def source_arguments(parser: ArgumentParser) -> None:
    """What programs are read with."""
    language_argument(parser)
    layer_arguments(parser)
    parser.add_argument("--target", metavar="NAME", default="main")


def document_of_file(file: Path, options: Namespace) -> "Document | None":
    """The document of a program or in either form; None when a program was refused, and that is told."""
    try:
        from lictor_ir.errors import IrError
        from lictor_prove.errors import ProveError, Rejected
    except ModuleNotFoundError as error:
        raise LictorError(f"{error.name} is not installed here; install lictor-prove.") from None
    try:
        return _read(file, options)
    except Rejected as refused:
        for reason in refused.reasons:
            place = f"{reason.line}:{reason.column}: " if reason.line is not None else ""
            warn(f"{file}:{place} {printable(reason.message)}; {printable(reason.remedy)}")
        return None
    except (IrError, ProveError) as error:
        raise LictorError(f"{file}: {printable(str(error))}") from None


def _read(file: Path, options: Namespace) -> "Document":
    from lictor_prove.proof.submitted_documents import read_document

    source = read_source(file)
    language = language_of(file, options)
    if language != "ir":
        from lictor_prove.proof.prover import document_of

        layer = layer_of(options)
        return document_of(
            source, name=file.name, target=options.target, layer=layer, language=language
        )
    return read_document(source.encode())
