"""Concrete values of terms: Python's own values, and rows.

Equality of values is Python's `==`, which is what the format means by `eq`: `True == 1 == 1.0`, `0.0 == -0.0`, NaN
equals nothing, a list is no tuple. `real` is a Fraction.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field
from fractions import Fraction


@dataclass(frozen=True, slots=True)
class RowValue:
    """A row. Two rows are equal when schema and columns are; `origin` is its identity, and is not compared."""

    schema: str
    columns: Mapping[str, Value]
    origin: tuple[str, ...] | None = field(default=None, compare=False)

    __hash__ = None  # pyright: ignore[reportAssignmentType] -- columns are a mapping


@dataclass(frozen=True, slots=True)
class EnumValue:
    """A member of an enum."""

    enum: str
    member: str


@dataclass(frozen=True, slots=True)
class Open:
    """Stands where a value is left open."""

    why: str
    declared: bool = False
    """It rests on nothing open but what the document declares unknown: any value of its type may stand there."""


Value = (
    bool
    | int
    | Fraction
    | float
    | str
    | None
    | Sequence["Value"]
    | Set["Value"]
    | Mapping["Value", "Value"]
    | RowValue
    | EnumValue
)
