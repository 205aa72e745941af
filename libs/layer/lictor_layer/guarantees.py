"""What agent programs are written with, besides the functions and contracts of their layers."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from lictor_layer.specs import Spec

F = TypeVar("F", bound=Callable[..., object])


def guarantee(spec: object, /) -> Callable[[F], F]:
    """States what the program promises. The prover reads it; at run time it changes nothing."""
    if not isinstance(spec, Spec):
        raise TypeError("guarantee takes a call of a contract: @guarantee(mail.only([...]))")
    return lambda function: function
