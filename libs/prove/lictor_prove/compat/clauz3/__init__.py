"""clauz3's names, with our meaning."""

from __future__ import annotations

from typing import Final, NoReturn

from lictor_layer import Column as ColumnRef
from lictor_layer import DirectoryPath, FilePath, Row, effect, guarantee, mock
from lictor_layer import Spec as ContractSpec
from lictor_layer.errors import DeclarationError
from lictor_prove.compat.clauz3.conditions import ensures, requires
from lictor_prove.compat.clauz3.effects import trusted
from lictor_prove.compat.clauz3.spec import contract

__version__: Final = "0.2.1"
"""The version whose layers load here."""


def solver(name: str, **_: object) -> NoReturn:
    """Models written for one solver have no meaning here."""
    raise DeclarationError(
        f"clauz3.solver({name!r}): a hand-written solver model can't be loaded;"
        " make it a trusted function with postconditions"
    )


__all__ = [
    "ColumnRef",
    "ContractSpec",
    "DirectoryPath",
    "FilePath",
    "Row",
    "__version__",
    "contract",
    "effect",
    "ensures",
    "guarantee",
    "mock",
    "requires",
    "solver",
    "trusted",
]
