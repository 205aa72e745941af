"""deal's decorators, as layers of trusted functions use them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import lictor_layer
from lictor_layer.errors import DeclarationError
from lictor_prove.compat.clauz3.conditions import ensures, requires

__all__ = ["chain", "ensure", "has", "post", "pre"]

Decorator = Callable[[Any], Any]
Problem = type[Exception] | Exception | None


def has(*markers: str) -> Decorator:
    """With markers, the function is an effect that does these things; without, it is pure and stays what it is."""
    if not all(isinstance(marker, str) for marker in list[object](markers)):
        raise DeclarationError("@deal.has takes markers, which are strings")
    return lictor_layer.trusted(*markers) if markers else lambda function: function


def pre(
    validator: Callable[..., object], *, message: str | None = None, exception: Problem = None
) -> Decorator:
    """A precondition."""
    return requires(validator, message=message, exception=exception)


def post(
    validator: Callable[..., object], *, message: str | None = None, exception: Problem = None
) -> Decorator:
    """A postcondition over the result."""
    return lictor_layer.ensures(validator, message=message, exception=exception)


def ensure(
    validator: Callable[..., object], *, message: str | None = None, exception: Problem = None
) -> Decorator:
    """A postcondition over the parameters and `result`."""
    return ensures(validator, message=message, exception=exception)


def chain(*contracts: Decorator) -> Decorator:
    """Several decorators as one, the first outermost."""

    def decorate(function: Any) -> Any:
        for contract in reversed(contracts):
            function = contract(function)
        return function

    return decorate
