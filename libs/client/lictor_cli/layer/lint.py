"""`lictor layer lint`: what is wrong or unwise with a layer."""

from argparse import ArgumentParser, Namespace
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from lictor.errors import LayerUnusable
from lictor_cli.main import FAILED, OK
from lictor_cli.output.terminal import (
    common_arguments,
    counted,
    printable,
    quiet_logs,
    say,
    say_json,
)
from lictor_cli.prove.layer_source import layer_arguments, layer_roots

if TYPE_CHECKING:
    from lictor_prove.layers.load import LivingLayer

HELP = """\
Say what is unwise about a trusted layer: functions and contracts without a sentence that says what they are, values
that nothing can be said about, effects that no policy asks about. What is wrong with a layer keeps it from being used:
exit code 5. Exit code 1 if there is a warning; notes are only told.

The layer is Python code that is run to learn what it declares: name only a directory that you trust.
"""


def arguments(parser: ArgumentParser) -> None:
    """The options of the command."""
    directory_argument(parser)
    layer_arguments(parser)
    common_arguments(parser, connects=False)


def directory_argument(parser: ArgumentParser) -> None:
    """The layer, as it is named most often."""
    parser.add_argument(
        "directory",
        metavar="DIR",
        nargs="?",
        type=Path,
        help="the same as --import-root DIR: holds tools/<domain>/trusted",
    )


def run(options: Namespace) -> int:
    """Lint it."""
    quiet_logs()
    living = living_layer(options)
    from lictor_prove.layers.lint import linted

    found = linted(living)
    warnings = [each for each in found if each.severity == "warning"]
    if options.json:
        say_json({"hash": living.layer.hash, "findings": [asdict(each) for each in found]})
        return FAILED if warnings else OK
    for each in found:
        say(f"{each.severity:<7}  {printable(each.where)}  [{each.code}]")
        say(f"    {printable(each.message)}")
        say(f"    to do: {printable(each.remedy)}")
    told = f"{counted(len(warnings), 'warning')}, {counted(len(found) - len(warnings), 'note')}"
    say(f"{living.layer.hash}: {told}")
    return FAILED if warnings else OK


def living_layer(options: Namespace) -> "LivingLayer":
    """The layer that is named, with its modules; LayerUnusable when it can't be used."""
    if options.directory is not None:
        options.import_root = [options.directory, *(options.import_root or [])]
    trusted, imports = layer_roots(options)
    from lictor_prove.errors import ProverConfigError
    from lictor_prove.layers.files import read_files
    from lictor_prove.layers.load import load_living

    try:
        return load_living(read_files(trusted, imports))
    except ProverConfigError as error:
        raise LayerUnusable(str(error)) from None
