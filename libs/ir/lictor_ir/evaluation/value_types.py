"""Whether a concrete value is of a type, and whether two are the same value."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence, Set
from fractions import Fraction
from typing import Any, Final, cast

from lictor_ir.document import Document
from lictor_ir.errors import TermError
from lictor_ir.types import EnumOf, ListOf, MapOf, OptionalOf, RowOf, Scalar, SetOf, TupleOf, Type
from lictor_ir.values import EnumValue, RowValue

_SCALARS: Final[Mapping[str, Callable[[Any], bool]]] = {
    "bool": lambda value: type(value) is bool,
    "int": lambda value: type(value) is int,
    "real": lambda value: type(value) is Fraction,
    "float": lambda value: type(value) is float,
    "str": lambda value: type(value) is str,
    "none": lambda value: value is None,
    "any": lambda _: True,
    "never": lambda _: False,
}


def check_value(value: Any, type_: Type, document: Document, what: str) -> None:
    """Raise a TermError that says what of the value is not of the type. Types are shallow, so this may recurse."""
    kind = type(value).__name__
    match type_:
        case Scalar(name):
            fits = _SCALARS[name](value)
        case ListOf(item):
            fits = isinstance(value, list)
            for at, each in enumerate(value if fits else ()):
                check_value(each, item, document, f"{what}[{at}]")
        case OptionalOf(item):
            fits = True
            if value is not None:
                check_value(value, item, document, what)
        case SetOf(item):
            fits = isinstance(value, Set)
            for each in value if fits else ():
                check_value(each, item, document, f"an item of {what}")
        case TupleOf(items):
            parts = cast(tuple[Any, ...], value) if isinstance(value, tuple) else None
            fits = parts is not None and len(parts) == len(items)
            for at, (each, item) in enumerate(zip(parts or (), items, strict=False)):
                check_value(each, item, document, f"{what}[{at}]")
        case MapOf(key, member):
            fits = isinstance(value, Mapping)
            for each in value if fits else ():
                check_value(each, key, document, f"a key of {what}")
                check_value(value[each], member, document, f"{what}[{each!r}]")
        case RowOf(schema):
            fits = isinstance(value, RowValue) and value.schema == schema
            if fits:
                _check_row(value, document, what)
        case EnumOf(name):
            members = {enum.name: enum.members for enum in document.enums}.get(name, ())
            fits = isinstance(value, EnumValue) and value.enum == name and value.member in members
    if not fits:
        raise TermError(f"{what} must be {type_}, not {kind}")


def is_same(one: Any, other: Any) -> bool:
    """Whether two values are one and the same: `1` is no `True`, `0.0` no `-0.0`, and NaN is NaN.

    The order of sets and dicts is nothing that a document says.
    """
    return _identity(one) == _identity(other)


def _identity(value: Any) -> Hashable:
    match value:
        case RowValue(schema, columns):
            return "row", schema, _identity(dict(columns))
        case list() | tuple():
            items = cast(Sequence[Any], value)
            return type(items), tuple(map(_identity, items))
        case Set():
            return "set", frozenset(Counter(map(_identity, cast(Set[Any], value))).items())
        case Mapping():
            pairs = cast(Mapping[Any, Any], value).items()
            return "map", frozenset(Counter((_identity(k), _identity(v)) for k, v in pairs).items())
        case float():
            return type(value), value.hex()
        case _:
            return cast(Hashable, (type(value), value))


def _check_row(row: RowValue, document: Document, what: str) -> None:
    columns = {schema.name: schema.columns for schema in document.schemas}.get(row.schema)
    if columns is None or {column.name for column in columns} != set(row.columns):
        raise TermError(f"{what} must have the columns of {row.schema}")
    for column in columns:
        check_value(row.columns[column.name], column.type, document, f"{what}.{column.name}")
