"""Values on their way to a trusted function and back: the layer's own on one side, those of the Effect IR on the other.

Both ways make copies, and both are strict: proofs rest on the types that the layer declares, so a subclass of `int`, a
half-made row or a float where an int is declared never becomes a value of a program.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, cast

from lictor_ir.types import (
    ANY,
    EnumOf,
    ListOf,
    MapOf,
    OptionalOf,
    RowOf,
    Scalar,
    SetOf,
    TupleOf,
    Type,
)
from lictor_ir.values import RowValue
from lictor_layer import Row
from lictor_prove.errors import ProveError

_SCALARS: Final[Mapping[str, type]] = {
    "bool": bool,
    "int": int,
    "float": float,
    "str": str,
    "none": type(None),
}
Rows = Mapping[str, type[Row]]


class BoundaryError(ProveError):
    """A value can't pass between a program and the trusted layer."""


def given(value: Any, rows: Rows) -> Any:
    """A value of a program as a trusted function takes it. Types are shallow, so this may recurse."""
    match value:
        case RowValue(schema, columns):
            if schema not in rows:
                raise BoundaryError(f"the row class {schema} of the layer is not known here")
            return rows[schema](**columns)
        case list():
            return [given(item, rows) for item in cast(list[Any], value)]
        case tuple():
            return tuple(given(item, rows) for item in cast(tuple[Any, ...], value))
        case frozenset():
            return {given(item, rows) for item in cast(frozenset[Any], value)}
        case dict():
            held = cast(dict[Any, Any], value)
            return {given(key, rows): given(item, rows) for key, item in held.items()}
        case _:
            if type(value) not in _SCALARS.values():
                raise BoundaryError(f"{type(value).__name__} can't be passed to a trusted function")
            return value


def taken(value: Any, type_: Type, rows: Rows, what: str) -> Any:
    """A value of the layer as a program has it; BoundaryError unless it is of the declared type, exactly."""
    found = _taken(value, type_, rows)
    if found is _WRONG:
        raise BoundaryError(
            f"{what} must be {type_}; it is {type(value).__name__}, or holds others"
        )
    return found


_WRONG: Final = object()


def _taken(value: Any, type_: Type, rows: Rows) -> Any:
    match type_:
        case Scalar(name):
            fits = (
                type(value) in _SCALARS.values()
                if type_ == ANY
                else type(value) is _SCALARS.get(name)
            )
            return value if fits else _WRONG
        case ListOf(item):
            if type(value) is not list:
                return _WRONG
            return _all(value, list, [item] * len(cast(list[Any], value)), rows)
        case OptionalOf(item):
            return None if value is None else _taken(value, item, rows)
        case TupleOf(items):
            fits = type(value) is tuple and len(cast(tuple[Any, ...], value)) == len(items)
            return _all(value, tuple, list(items), rows) if fits else _WRONG
        case SetOf(item):
            fits = type(value) in (set, frozenset)
            return _all(value, frozenset, [item] * len(value), rows) if fits else _WRONG
        case MapOf(key, member):
            if type(value) is not dict:
                return _WRONG
            held = cast(dict[Any, Any], value)
            keys = _all(held.keys(), list, [key] * len(held), rows)
            members = _all(held.values(), list, [member] * len(held), rows)
            wrong = keys is _WRONG or members is _WRONG
            return _WRONG if wrong else dict(zip(keys, members, strict=True))
        case RowOf(schema):
            known = rows.get(schema)
            if known is None or type(value) is not known:
                return _WRONG
            return RowValue(schema, dict(value))
        case EnumOf():
            return _WRONG


def _all(values: Any, make: Any, types: list[Type], rows: Rows) -> Any:
    found = [_taken(value, type_, rows) for value, type_ in zip(values, types, strict=True)]
    return _WRONG if any(each is _WRONG for each in found) else make(found)
