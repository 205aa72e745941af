"""Preconditions and postconditions whose lambdas take what their functions take."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import ParamSpec, TypeVar

import lictor_layer
from lictor_layer.errors import DeclarationError

P = ParamSpec("P")
R = TypeVar("R")
Problem = type[Exception] | Exception | None


def requires(
    predicate: Callable[..., object], *, message: str | None = None, exception: Problem = None
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """A precondition; its lambda has exactly the parameters of the function."""

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        _same_parameters(predicate, function, result=False)
        return lictor_layer.requires(predicate, message=message, exception=exception)(function)

    return decorate


def ensures(
    predicate: Callable[..., object], *, message: str | None = None, exception: Problem = None
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """A postcondition; its lambda takes the result, or the function's parameters and `result`."""

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        if len(inspect.signature(predicate).parameters) > 1:
            _same_parameters(predicate, function, result=True)
        return lictor_layer.ensures(predicate, message=message, exception=exception)(function)

    return decorate


def _same_parameters(
    predicate: Callable[..., object], function: Callable[..., object], *, result: bool
) -> None:
    """A lambda with other parameters than its function would fail on calls that the function takes."""

    def shape(signature: inspect.Signature, but: str | None) -> list[tuple[object, ...]]:
        return [
            (parameter.name, parameter.kind, type(parameter.default), repr(parameter.default))
            for parameter in signature.parameters.values()
            if parameter.name != but
        ]

    given = shape(inspect.signature(predicate), "result" if result else None)
    wanted = shape(inspect.signature(function), None)
    if given != wanted:
        raise DeclarationError(
            f"the condition of {function.__name__} takes"
            f" ({', '.join(str(part[0]) for part in given)}); it must take exactly the function's"
            f" parameters, with their kinds and defaults: {inspect.signature(function)}"
        )
