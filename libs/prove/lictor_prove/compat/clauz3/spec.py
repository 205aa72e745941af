"""Relations, specs and contracts."""

from __future__ import annotations

from typing import Any

from lictor_layer import Relation, effect, no_guarantees
from lictor_layer import Spec as ContractSpec
from lictor_layer.contracts import contract_of
from lictor_layer.errors import DeclarationError as RelationError
from lictor_layer.specs import ConjunctionSpec

__all__ = [
    "ConjunctionSpec",
    "ContractSpec",
    "Relation",
    "RelationError",
    "contract",
    "effect",
    "no_guarantees",
]


def contract(func: Any = None, *, description: str | None = None) -> Any:
    """Makes a function a contract."""
    if func is None:
        if description is None:
            raise RelationError("@contract() gives a description, or is written @contract")
        return lambda function: contract_of(function, description)  # pyright: ignore[reportUnknownLambdaType, reportUnknownVariableType, reportUnknownArgumentType] -- decorates anything
    return contract_of(func, description)
