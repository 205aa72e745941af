"""The trusted layer that a command reads programs under: from roots that somebody named, never found beside a program.

Reading a layer runs it. Whoever writes a program may write a folder next to it, too.
"""

import os
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
        help="where imports from the trusted layer start (default: the first directory of LICTOR_LAYERS)",
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
    return bool(options.import_root or options.trusted_root or _installed())


def layer_roots(options: Namespace) -> tuple[list[Path], list[Path]]:
    """The trusted roots and the import roots that are named; LayerUnusable when none are."""
    try:
        from lictor_prove.layers import discover_trusted_roots
    except ModuleNotFoundError as error:
        raise LictorError(f"{error.name} is not installed here; install lictor-prove.") from None
    if options.trusted_root:
        # Named themselves: an import root only says what their modules are called.
        return options.trusted_root, options.import_root or [Path.cwd()]
    imports: list[Path] = options.import_root or _installed()
    if not imports:
        raise LayerUnusable(
            "no trusted layer is named, and none is looked for beside a program: give the directory that"
            " holds tools/<domain>/trusted with --import-root DIR, or set LICTOR_LAYERS"
        )
    trusted = list(discover_trusted_roots(imports))
    if not trusted:
        raise LayerUnusable(
            f"there is no tools/<domain>/trusted below {', '.join(map(str, imports))}; check --import-root or"
            " LICTOR_LAYERS, or name the package with --trusted-root"
        )
    return trusted, imports


def _installed() -> list[Path]:
    """The first layer of LICTOR_LAYERS, as the prover takes it for a submission that names none."""
    named = [part for part in os.environ.get("LICTOR_LAYERS", "").split(os.pathsep) if part]
    return [Path(named[0])] if named else []


def layer_of(options: Namespace) -> "Layer":
    """The layer that is named; LayerUnusable when no program can be judged by it."""
    trusted, imports = layer_roots(options)
    from lictor_prove.errors import ProverConfigError
    from lictor_prove.layers import load_layer

    try:
        return load_layer(trusted, imports)
    except ProverConfigError as error:
        raise LayerUnusable(str(error)) from None
