"""The mark of a trusted function, which takes no arguments here."""

from __future__ import annotations

from typing import Any

import lictor_layer
from lictor_layer import mock
from lictor_layer.errors import DeclarationError

__all__ = ["mock", "trusted"]


def trusted(function: Any = None) -> Any:
    """Marks a function as an effect."""
    if function is None:
        return trusted
    if not callable(function):
        raise DeclarationError("@clauz3.trusted takes no arguments; markers belong to @deal.has")
    return lictor_layer.trusted(function)
