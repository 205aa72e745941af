"""The trusted layer that a command reads programs under: from the roots that are named, or those beside the program."""

from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from lictor.errors import LayerUnusable, LictorError

if TYPE_CHECKING:
    from lictor_prove.layer_model import Layer


def layer_arguments(parser: ArgumentParser) -> None:
    """Where the layer is."""
    parser.add_argument(
        "--import-root",
        metavar="DIR",
        action="append",
        type=Path,
        help="where imports of the program start (default: the working directory and the file's own)",
    )
    parser.add_argument(
        "--trusted-root",
        metavar="DIR",
        action="append",
        type=Path,
        help="a trusted package (default: tools/*/trusted and tools/*/*/trusted below the import roots)",
    )


def names_layer(options: Namespace) -> bool:
    """Whether roots of a layer are named."""
    return bool(options.import_root or options.trusted_root)


def layer_roots(file: Path, options: Namespace) -> tuple[list[Path], list[Path]]:
    """The trusted roots and the import roots of a file."""
    try:
        from lictor_prove.layers import discover_trusted_roots
    except ModuleNotFoundError as error:
        raise LictorError(f"{error.name} is not installed here; install lictor-prove.") from None
    imports: list[Path] = options.import_root or [Path.cwd(), file.resolve().parent]
    return options.trusted_root or list(discover_trusted_roots(imports)), imports


def layer_of(file: Path, options: Namespace) -> "Layer":
    """The layer of a file; LayerUnusable when no program can be judged by it."""
    trusted, imports = layer_roots(file, options)
    from lictor_prove.errors import ProverConfigError
    from lictor_prove.layers import load_layer

    try:
        return load_layer(trusted, imports)
    except ProverConfigError as error:
        raise LayerUnusable(str(error)) from None
