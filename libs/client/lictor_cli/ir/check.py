"""`lictor ir check`: certificates of proofs, checked without a solver; and that they are about a program at hand."""

from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from lictor.errors import LayerUnusable, LictorError
from lictor_cli.main import FAILED, OK
from lictor_cli.output.terminal import common_arguments, printable, quiet_logs, say, say_json
from lictor_cli.prove.layer_source import layer_arguments, layer_of

if TYPE_CHECKING:
    from lictor_ir.document import Document

HELP = """\
Check certificates of proofs: every goal is derived again from the Effect IR that the certificate carries, and its
evidence is gone through, step by step. No solver is asked. `python -m lictor_ir check` does the same with nothing but
lictor-ir installed.

A certificate can't show that a program's text means its Effect IR. With --program, the program is read again under its
trusted layer (whose code is run to learn what it declares), and the outcome compared.

Exit code 0: valid, at the level demanded or above; 1: refused, it shows less, or it could not be checked within the
limits; 2: can't be read.
"""


def arguments(parser: ArgumentParser) -> None:
    """The options of the command."""
    from lictor_ir.certificate.command import add_arguments

    add_arguments(parser)
    parser.add_argument(
        "--program",
        metavar="FILE",
        type=Path,
        help="the program that the certificate must be about",
    )
    parser.add_argument(
        "--target",
        metavar="NAME",
        default="main",
        help="with --program: the function that is called (default: main)",
    )
    layer_arguments(parser)
    common_arguments(parser, connects=False)


def run(options: Namespace) -> int:
    """Check, and compare."""
    from lictor_ir.certificate.command import checked

    quiet_logs()
    if options.program is not None and len(options.files) != 1:
        raise LictorError("--program compares one certificate; name one file.")
    outcomes = [checked(path, options) for path in options.files]
    outcome = max(code for code, _ in outcomes)
    if outcome != OK or options.program is None:
        return outcome
    return _compare(outcomes[0][1], options)


def _compare(data: bytes, options: Namespace) -> int:
    """Whether a certificate that was found to be valid is about the program."""
    from lictor_ir.certificate.format import read
    from lictor_ir.json.document import document_hash, from_json

    certificate = read(data)
    carried, front_end = from_json(certificate.ir), certificate.front_end
    why = ""
    try:
        if document_hash(_derived(options, carried, front_end.value)) != document_hash(carried):
            why = "under this layer, it has another Effect IR than the certificate carries"
    except LayerUnusable:
        raise
    except LictorError as error:
        why = str(error)
    if options.json:
        say_json({"program": str(options.program), "same": not why, "reason": why or None})
    else:
        says, more = ("different", f": {printable(why)}") if why else ("same", "")
        say(f"{says:<10}{printable(str(options.program))}{more}")
    return FAILED if why else OK


def _derived(options: Namespace, carried: "Document", language: str) -> "Document":
    """The Effect IR of the program, read again as it was read for the certificate."""
    try:
        from lictor_prove.errors import ProveError
        from lictor_prove.proof.prover import document_of
    except ModuleNotFoundError as error:
        raise LictorError(f"{error.name} is not installed here; install lictor-prove.") from None
    from lictor_cli.prove.submission import read_source

    if language == "document":
        raise LictorError(
            "the certificate is about a document that was handed in, not about a program."
        )
    if carried.target != options.target:
        # Another function of the same program may be as harmless as you like.
        raise LictorError(
            f"the certificate is about its function {carried.target}, not {options.target};"
            " name the one that is called with --target."
        )
    source = read_source(options.program)
    layer = layer_of(options)
    try:
        return document_of(
            source,
            name=carried.program,
            target=carried.target,
            layer=layer,
            language="commands" if language == "commands" else "python",
        )
    except ProveError as error:
        raise LictorError(f"it can't be read under this layer: {error}") from None
