"""The types of Effect IR v1.

Scalars have a sort in every solver. Containers, rows and `any` exist so that arguments keep the shape that the
program gave them; lowering takes them apart into scalars (`lictor_ir.scalars.expansion`), and what can't be taken
apart is `unknown`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True, eq=False)
class Scalar:
    """A type without parts: `bool`, `int`, `real`, `float`, `str`, `none`; or `any`, which may be each of them.

    There is one object for each, made below: they are compared and hashed more often than anything else.
    """

    name: str

    def __reduce__(self) -> tuple[Callable[[str], Scalar], tuple[str]]:
        """From another process, or copied, it is the same object."""
        return _scalar, (self.name,)

    def __str__(self) -> str:
        return self.name


def _scalar(name: str) -> Scalar:
    return SCALARS[name]


BOOL: Final = Scalar("bool")
INT: Final = Scalar("int")
"""Integers without bound, as Python's."""
REAL: Final = Scalar("real")
"""Exact rational numbers. Python's floats are not reals: they are `float`."""
FLOAT: Final = Scalar("float")
"""IEEE 754 binary64, with its infinities, its NaN and its two zeros."""
STR: Final = Scalar("str")
"""Sequences of Unicode code points."""
NONE: Final = Scalar("none")
ANY: Final = Scalar("any")
"""What may be of different types on different paths, or inside a container. Only equality reads it."""

NEVER: Final = Scalar("never")
"""What is not there: the items of an empty container. It may stand where any type is asked for."""

SCALARS: Final = {scalar.name: scalar for scalar in (BOOL, INT, REAL, FLOAT, STR, NONE, ANY, NEVER)}


@dataclass(frozen=True, slots=True)
class ListOf:
    """A list: either written out, or the result of a trusted call, with a length and an item at each index."""

    item: Type

    def __str__(self) -> str:
        return f"list<{self.item}>"


@dataclass(frozen=True, slots=True)
class OptionalOf:
    """None, or a value of the item's type. No operator looks into it."""

    item: Type

    def __str__(self) -> str:
        return f"optional<{self.item}>"


@dataclass(frozen=True, slots=True)
class TupleOf:
    """A tuple of known length."""

    items: tuple[Type, ...]

    def __str__(self) -> str:
        return f"tuple<{', '.join(map(str, self.items))}>"


@dataclass(frozen=True, slots=True)
class SetOf:
    """A set, written out."""

    item: Type

    def __str__(self) -> str:
        return f"set<{self.item}>"


@dataclass(frozen=True, slots=True)
class MapOf:
    """A dict, written out."""

    key: Type
    value: Type

    def __str__(self) -> str:
        return f"map<{self.key}, {self.value}>"


@dataclass(frozen=True, slots=True)
class RowOf:
    """A row of a table. A row of a call's result has an identity: the call and the index."""

    schema: str

    def __str__(self) -> str:
        return f"row<{self.schema}>"


@dataclass(frozen=True, slots=True)
class EnumOf:
    """One of the members that the document declares for this name."""

    name: str

    def __str__(self) -> str:
        return f"enum<{self.name}>"


Type = Scalar | ListOf | OptionalOf | TupleOf | SetOf | MapOf | RowOf | EnumOf

NUMBERS: Final = (INT, REAL, FLOAT)


def join(left: Type, right: Type) -> Type:
    """The type of something that is one or the other."""
    if left == right or right == NEVER:
        return left
    if left == NEVER:
        return right
    match left, right:
        case ListOf(one), ListOf(other):
            return ListOf(join(one, other))
        case SetOf(one), SetOf(other):
            return SetOf(join(one, other))
        case MapOf(key, value), MapOf(other_key, other_value):
            return MapOf(join(key, other_key), join(value, other_value))
        case _:
            return ANY


def accepts(declared: Type, given: Type) -> bool:
    """Whether a value of the given type may stand where the declared one is asked for."""
    if declared in (ANY, given) or given == NEVER:
        return True
    match declared, given:
        case OptionalOf(one), OptionalOf(other):
            return accepts(one, other)
        case OptionalOf(one), _:
            return given == NONE or accepts(one, given)
        case (ListOf(one), ListOf(other)) | (SetOf(one), SetOf(other)):
            return accepts(one, other)
        case MapOf(key, value), MapOf(other_key, other_value):
            return accepts(key, other_key) and accepts(value, other_value)
        case TupleOf(items), TupleOf(others):
            return len(items) == len(others) and all(map(accepts, items, others))
        case _:
            return False
