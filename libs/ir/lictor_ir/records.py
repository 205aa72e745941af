"""Small values that are made by the thousand while one program is read and proved."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar, dataclass_transform

_T = TypeVar("_T")


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def record(*, eq: bool = True) -> Callable[[type[_T]], type[_T]]:
    """A dataclass that the type checker keeps frozen, and Python does not: so it is made in a third of the time.

    For what never leaves the proof. Documents, their terms and their types are frozen by Python, too.
    """
    return dataclass(slots=True, eq=eq, unsafe_hash=eq)
