"""The trusted layers of an installation: by name, never by what a submission brings."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from lictor_prove.errors import ProverConfigError
from lictor_prove.layers.files import discover_trusted_roots, read_files
from lictor_prove.workers.pool import Roots


@dataclass(frozen=True, slots=True)
class InstalledLayers:
    """The layers by their hashes; the first is the one a submission gets that names none."""

    layers: Mapping[str, Roots]

    def named(self, layer_hash: str | None) -> tuple[str, Roots] | None:
        """The layer of that name, or the first; None when it is not here."""
        if layer_hash is None:
            return next(iter(self.layers.items()), None)
        roots = self.layers.get(layer_hash)
        return None if roots is None else (layer_hash, roots)


def installed_layers(environment: Mapping[str, str] = os.environ) -> InstalledLayers:
    """``LICTOR_LAYERS``: directories with ``tools/<domain>/trusted`` below, each a layer of its own.

    Their code is not run here, only read: the hash of a layer is that of its files.
    """
    named = [part for part in environment.get("LICTOR_LAYERS", "").split(os.pathsep) if part]
    layers: dict[str, Roots] = {}
    for part in named:
        root = Path(part).absolute()
        if not root.is_dir():
            raise ProverConfigError(f"LICTOR_LAYERS names {part!r}, which is no directory.")
        try:
            trusted = discover_trusted_roots([root])
            if not trusted:
                raise ProverConfigError("it has no tools/*/trusted below")
            found = read_files(trusted, [root]).hash
        except ProverConfigError as error:
            raise ProverConfigError(
                f"LICTOR_LAYERS names {part!r}, which can't be used: {error}"
            ) from None
        layers.setdefault(found, Roots(tuple(map(str, trusted)), (str(root),)))
    return InstalledLayers(layers)
