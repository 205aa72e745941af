"""The trusted layers that this installation proves programs under, each tried once before any program is."""

from lictor_bus.errors import BusError
from lictor_prove.errors import ProverConfigError
from lictor_prove.pool import Job, Pool
from lictor_prove.shelf import Shelf
from lictor_prove.shelf import shelf as on_shelf

_NOTHING = "def main() -> None:\n    pass\n"


def shelf() -> Shelf:
    """The layers of ``LICTOR_LAYERS``; one that can't be used stops the service."""
    try:
        return on_shelf()
    except ProverConfigError as error:
        raise BusError(str(error)) from None


def check(pool: Pool, layers: Shelf) -> None:
    """Load every layer once, in a worker; one that does not load stops the service here."""
    for layer_hash, roots in layers.layers.items():
        try:
            pool.prove(Job(_NOTHING, "check.py", roots=roots, layer_hash=layer_hash))
        except ProverConfigError as error:
            raise BusError(f"the layer in {roots.imports[0]!r} can't be used: {error}") from None
