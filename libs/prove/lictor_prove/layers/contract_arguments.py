"""Whether the arguments that a program wrote for a contract are what the contract asks for.

`only("bob@example.com")` where a list is asked for would be a test of substrings: it is refused.
"""

from __future__ import annotations

import collections.abc
import re
import types
from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal, TypeVar, Union, cast, get_args, get_origin

from lictor_layer import Row
from lictor_layer.contracts import spelled

_SEQUENCES: Final[tuple[Any, ...]] = (collections.abc.Sequence,)
_COLLECTIONS: Final[tuple[Any, ...]] = (
    collections.abc.Collection,
    collections.abc.Iterable,
    collections.abc.Container,
)
_MAPPINGS: Final[tuple[Any, ...]] = (dict, collections.abc.Mapping)
_FRACTION: Final = re.compile(r"-?[0-9]{1,300}\.[0-9]{1,300}")
_LARGE: Final = re.compile(r"-?[1-9][0-9]{15,300}")
_SETS: Final[tuple[Any, ...]] = (set, frozenset, collections.abc.Set)


def problem(name: str, value: object, annotation: object) -> str | None:
    """What is wrong with an argument, or None."""
    if fits(value, annotation):
        return None
    asked = (
        annotation.__name__
        if isinstance(annotation, type) and not get_args(annotation)
        else annotation
    )
    return f"{name} takes {asked}, not {spelled(value)}"


def fits(value: object, annotation: object) -> bool:
    """Whether a value of literals is of the annotated type; what can't be checked is not."""
    origin, args = get_origin(annotation), get_args(annotation)
    if annotation is Any or annotation is object:
        return True
    if annotation is None:
        return value is None
    match origin:
        case None:
            return _fits_plain(value, annotation)
        case form if form is Annotated:
            return fits(value, args[0])
        case form if form in (Union, types.UnionType):
            return any(fits(value, choice) for choice in args)
        case form if form is Literal:
            return any(type(value) is type(choice) and value == choice for choice in args)
        case form if form is type:
            return _fits_class(value, args)
        case form if form in _MAPPINGS:
            return isinstance(value, dict) and all(
                fits(key, args[0]) and fits(item, args[1])
                for key, item in cast(Mapping[object, object], value).items()
            )
        case form if form is tuple:
            return _fits_tuple(value, args)
        case _:
            return _fits_container(value, origin) and all(
                fits(item, args[0]) for item in cast(collections.abc.Iterable[object], value)
            )


def meant(value: object, annotation: object, rows: Mapping[str, type[Row]]) -> object:
    """What a value of JSON means where such a type is asked for; one that can't mean it comes back as it is.

    JSON has one kind of list: it stands for the list, tuple or set that is asked for. A string stands for a row class
    of that name, for a path, and for a number that a policy has no other way to write: `1.5`, or one beyond 2**53.
    """
    if fits(value, annotation):
        return value
    origin, args = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return meant(value, args[0], rows)
    if origin in (Union, types.UnionType):
        choices = (meant(value, choice, rows) for choice in args)
        return next((each for each in choices if fits(each, annotation)), value)
    kind = origin or annotation
    if isinstance(value, str):
        return _named(value, kind, rows)
    if isinstance(value, dict) and kind in _MAPPINGS and args:
        told = cast(dict[str, object], value)
        return {key: meant(item, args[1], rows) for key, item in told.items()}
    if isinstance(value, list) and kind in (list, tuple, *_SETS, *_SEQUENCES, *_COLLECTIONS):
        return _listed(cast(list[object], value), kind, args, rows)
    return cast(object, value)


def _named(value: str, kind: object, rows: Mapping[str, type[Row]]) -> object:
    if kind is float and _FRACTION.fullmatch(value):
        return float(value)
    if kind is int and _LARGE.fullmatch(value):
        return int(value)
    if kind is type:
        return rows.get(value, value)
    if isinstance(kind, type) and getattr(kind, "__lictor_literal__", False):
        try:
            return kind(value)
        except (TypeError, ValueError):
            return value
    return value


def _listed(
    value: list[object], kind: object, args: tuple[Any, ...], rows: Mapping[str, type[Row]]
) -> object:
    each: collections.abc.Sequence[Any] = [args[0] if args else Any] * len(value)
    if kind is tuple and args and args[-1] is not Ellipsis:
        each = args
    if len(each) != len(value):
        return value
    items = [meant(item, wanted, rows) for item, wanted in zip(value, each, strict=True)]
    if kind is tuple:
        return tuple(items)
    try:
        return set(items) if kind in _SETS else items
    except TypeError:
        return value


def _fits_plain(value: object, annotation: object) -> bool:
    if annotation is float:
        return type(value) in (int, float)
    if annotation is type:
        return isinstance(value, type)
    if annotation in (list, tuple, *_MAPPINGS, *_SETS, *_SEQUENCES, *_COLLECTIONS):
        return _fits_container(value, annotation) or (
            annotation in _MAPPINGS and type(value) is dict
        )
    # `True` is no number of things, and `Row` classes are no values: the type itself, or a class of its own.
    return isinstance(annotation, type) and (
        type(value) is annotation
        if annotation in (bool, int, str, bytes)
        else isinstance(value, annotation)
    )


def _fits_container(value: object, kind: object) -> bool:
    if kind is list:
        return type(value) is list
    if kind is tuple:
        return type(value) is tuple
    if kind in _SETS:
        return isinstance(value, set | frozenset)
    if kind in _SEQUENCES:
        return type(value) in (list, tuple)
    return kind in _COLLECTIONS and isinstance(value, list | tuple | set | frozenset)


def _fits_tuple(value: object, args: tuple[Any, ...]) -> bool:
    if type(value) is not tuple:
        return False
    items = cast(tuple[object, ...], value)
    if len(args) == 2 and args[1] is Ellipsis:
        return all(fits(item, args[0]) for item in items)
    return len(items) == len(args) and all(map(fits, items, args))


def _fits_class(value: object, args: tuple[Any, ...]) -> bool:
    if not isinstance(value, type) or not issubclass(value, Row):
        return False
    wanted: object = args[0] if args else Row
    if isinstance(wanted, TypeVar):
        wanted = wanted.__bound__ or Row
    return wanted is Any or (isinstance(wanted, type) and issubclass(value, wanted))
