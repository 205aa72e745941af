"""The layers that the commands are about: directories that somebody named, or those of LICTOR_LAYERS."""

import os
from argparse import Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from lictor.errors import LayerUnusable
from lictor_cli.prove.layer_source import layer_of

if TYPE_CHECKING:
    from lictor_prove.layer_model import Layer


def named_layers(directories: list[Path]) -> list[Path]:
    """The import roots of the layers; LayerUnusable when none are named."""
    installed = os.environ.get("LICTOR_LAYERS", "").split(os.pathsep)
    found = directories or [Path(each) for each in installed if each]
    if not found:
        raise LayerUnusable(
            "no layer is named: give the directory that holds tools/<domain>/trusted, or set LICTOR_LAYERS"
        )
    return found


def layer_at(directory: Path) -> "Layer":
    """The layer below an import root; LayerUnusable when it can't be used."""
    return layer_of(Namespace(import_root=[directory], trusted_root=None))
