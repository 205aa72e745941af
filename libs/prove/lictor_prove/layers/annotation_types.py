"""Annotations of a layer as types of the Effect IR.

Of a parameter, what has no type here is `any`: an argument keeps its own. Of a result, what has none is None: nothing
can be known about such a value, so a program can't read it.
"""

from __future__ import annotations

import types
import typing
from collections.abc import Callable, Mapping
from typing import Any, Literal, TypeVar, Union, get_args, get_origin

from lictor_ir.types import (
    ANY,
    BOOL,
    FLOAT,
    INT,
    NEVER,
    NONE,
    STR,
    ListOf,
    MapOf,
    OptionalOf,
    RowOf,
    Scalar,
    SetOf,
    TupleOf,
    Type,
    join,
)
from lictor_layer import Row

_SCALARS: tuple[tuple[object, Type], ...] = (
    (bool, BOOL),
    (int, INT),
    (float, FLOAT),
    (str, STR),
    (None, NONE),
    (type(None), NONE),
)
_KEYS = (BOOL, INT, STR)
"""What keys of dicts and items of sets may be that a call returns."""
_ROW_VARIABLE = "*"
"""The schema of rows whose class an argument gives."""

SchemaName = Callable[[type[Row]], str]


class Annotations:
    """Reads annotations; `schema_name` says what a row class is called in documents."""

    def __init__(self, schema_name: SchemaName) -> None:
        self._schema_name = schema_name

    def parameter(self, annotation: object) -> Type:
        """The type of a parameter, a field or a key."""
        scalar = _scalar(annotation)
        if scalar is not None:
            return scalar
        row = row_class_of(annotation)
        return RowOf(self._schema_name(row)) if row is not None else self._generic(annotation)

    def _generic(self, annotation: object) -> Type:
        origin, args = get_origin(annotation), get_args(annotation)
        match origin or annotation:
            case typing.Annotated:
                return self.parameter(args[0])
            case builtin if builtin is list:
                return ListOf(self.parameter(args[0]) if args else ANY)
            case builtin if builtin in (set, frozenset):
                return SetOf(self.parameter(args[0]) if args else ANY)
            case builtin if builtin is dict:
                key, value = args or (Any, Any)
                return MapOf(self.parameter(key), self.parameter(value))
            case builtin if builtin is tuple and args and Ellipsis not in args:
                return TupleOf(tuple(self.parameter(item) for item in args))
            case form if form is Literal:
                return _literal(args)
            case _:
                return ANY

    def result(self, annotation: object) -> Type | None:
        """The type of a result, if a value of it can be known."""
        origin, args = get_origin(annotation), get_args(annotation)
        if origin is list and args:
            item = self.result(args[0])
            shaped = isinstance(item, OptionalOf | TupleOf | MapOf | SetOf)
            return None if item is None or item == NONE or shaped else ListOf(item)
        if is_union(annotation) or origin in (tuple, dict, set):
            return self._shaped(annotation)
        if is_row_variable(annotation):
            return RowOf(_ROW_VARIABLE)
        type_ = self.parameter(annotation)
        known = isinstance(type_, RowOf) or (isinstance(type_, Scalar) and type_ != ANY)
        return type_ if known else None

    def _shaped(self, annotation: object) -> Type | None:
        """`T | None`, `tuple[T, U]`, `dict[K, T]`, `set[K]`."""
        args = get_args(annotation)
        if row_variable_of(annotation) is not None:
            return None
        parts = [self.result(each) for each in args if each is not Ellipsis]
        match get_origin(annotation), [each for each in parts if each is not None]:
            case _, several if len(several) < len(args):
                return None
            case origin, several if origin is tuple and several:
                return TupleOf(tuple(several))
            case origin, [key, value] if origin is dict and key in _KEYS and value != NONE:
                return MapOf(key, value)
            case origin, [item] if origin is set and item in _KEYS:
                return SetOf(item)
            case _, [one, other] if is_union(annotation) and NONE in (one, other):
                return OptionalOf(one if other == NONE else other)
            case _:
                return None


def _scalar(annotation: object) -> Type | None:
    return next((type_ for known, type_ in _SCALARS if annotation is known), None)


def row_class_of(annotation: object) -> type[Row] | None:
    """The annotation, if it is a row class."""
    return annotation if isinstance(annotation, type) and issubclass(annotation, Row) else None


def _literal(values: tuple[object, ...]) -> Type:
    whole: Type = NEVER
    for value in values:
        whole = join(whole, _scalar(type(value)) or ANY)
    return whole


def is_row_variable(annotation: object) -> bool:
    """Whether it is a type variable for row classes: `RowT = TypeVar("RowT", bound=Row)`."""
    if not isinstance(annotation, TypeVar):
        return False
    bound = annotation.__bound__
    return isinstance(bound, type) and issubclass(bound, Row)


def takes_row_class(annotation: object) -> bool:
    """Whether an argument of it is a row class: `type[RowT]`, `type[Row]`."""
    if get_origin(annotation) is not type:
        return False
    (inner,) = get_args(annotation) or (None,)
    return is_row_variable(inner) or (isinstance(inner, type) and issubclass(inner, Row))


def row_variable_of(annotation: object) -> object:
    """The type variable in `type[T]`, `list[T]` or `T`."""
    if is_row_variable(annotation):
        return annotation
    for inner in get_args(annotation):
        found = row_variable_of(inner)
        if found is not None:
            return found
    return None


def resolved(function: Callable[..., object]) -> Mapping[str, object]:
    """The annotations of a function as objects; one that can't be evaluated is left out."""
    try:
        return typing.get_type_hints(function)
    except Exception:  # noqa: BLE001 -- evaluating annotations runs any code there is
        pass
    found: dict[str, object] = {}
    for name, annotation in getattr(function, "__annotations__", {}).items():
        if not isinstance(annotation, str):
            found[name] = annotation
            continue
        alone = types.SimpleNamespace(
            __annotations__={name: annotation}, __globals__=getattr(function, "__globals__", {})
        )
        try:
            found[name] = typing.get_type_hints(alone)[name]
        except Exception:  # noqa: BLE001 -- as above
            continue
    return found


def is_union(annotation: object) -> bool:
    """Whether it is `A | B` or `Optional[A]`."""
    return get_origin(annotation) in (Union, types.UnionType)
