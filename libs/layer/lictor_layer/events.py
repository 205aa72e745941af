"""Events: what calls do to the world, whichever function does it.

    class FileEvent(Event):
        path: str

    class Read(FileEvent): ...
    class Write(FileEvent): ...

    @trusted
    @performs(lambda src, dest: [Read(src), Write(dest)])
    def copy(src: str, dest: str) -> None: ...

An event class is a relation over the events of that class and of its subclasses: `Write.empty()`.
"""

from __future__ import annotations

import dataclasses
from typing import Any, ClassVar, Final, cast, dataclass_transform

from lictor_layer.errors import DeclarationError
from lictor_layer.parameter_references import ParameterRef
from lictor_layer.specs import (
    Aggregate,
    AllSpec,
    BeforeSpec,
    DistinctSpec,
    EmptySpec,
    NeverAfterSpec,
    Predicate,
    Relation,
    SharesValueSpec,
)

_QUERIES: Final = frozenset(
    {"all", "where", "empty", "count", "sum", "distinct", "shares_value", "before", "never_after"}
)


@dataclass_transform(frozen_default=True)
class Event:
    """Base of event classes; a subclass is a frozen dataclass, and a relation."""

    __lictor_relation__: ClassVar[Relation]
    __dataclass_fields__: ClassVar[dict[str, dataclasses.Field[Any]]]

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        dataclasses.dataclass(frozen=True)(cls)
        for field in dataclasses.fields(cls):
            if field.name in _QUERIES:
                raise DeclarationError(
                    f"{cls.__name__}.{field.name}: the class needs that name as a relation"
                )
            if field.default is not dataclasses.MISSING:
                raise DeclarationError(
                    f"{cls.__name__}.{field.name} has a default; a field has none"
                )
        cls.__lictor_relation__ = Relation(events=(cls,))

    @classmethod
    def where(cls, predicate: Predicate) -> Relation:
        """Only those of which the predicate holds."""
        return cls.__lictor_relation__.where(predicate)

    @classmethod
    def all(cls, predicate: Predicate) -> AllSpec:
        """The predicate holds of each."""
        return cls.__lictor_relation__.all(predicate)

    @classmethod
    def empty(cls) -> EmptySpec:
        """There is none."""
        return cls.__lictor_relation__.empty()

    @classmethod
    def distinct(cls, key: Predicate) -> DistinctSpec:
        """No two have equal keys."""
        return cls.__lictor_relation__.distinct(key)

    @classmethod
    def count(cls) -> Aggregate:
        """How many there are."""
        return cls.__lictor_relation__.count()

    @classmethod
    def sum(cls, of: Predicate) -> Aggregate:
        """The sum of a number over them."""
        return cls.__lictor_relation__.sum(of)

    @classmethod
    def shares_value(cls, other: Relation, key: Predicate) -> SharesValueSpec:
        """Some event here and some there have equal keys."""
        return cls.__lictor_relation__.shares_value(other, key)

    @classmethod
    def before(
        cls, then: Relation | type, key: Predicate | None = None, then_key: Predicate | None = None
    ) -> BeforeSpec:
        """Each effect of `then` has one of these before it."""
        return cls.__lictor_relation__.before(then, key, then_key)

    @classmethod
    def never_after(cls, first: Relation | type) -> NeverAfterSpec:
        """None of these happens once an effect of `first` has happened."""
        return cls.__lictor_relation__.never_after(first)


def checked_events(made: object) -> tuple[Event, ...]:
    """What a builder gave, if it is events whose fields are parameters."""
    events = tuple(cast(list[object], made)) if isinstance(made, list | tuple) else (made,)
    if not events:
        raise DeclarationError("@performs names at least one event")
    for event in events:
        if not isinstance(event, Event):
            raise DeclarationError(f"@performs gives events, not {type(event).__name__}")
        for field in dataclasses.fields(event):
            if not isinstance(getattr(event, field.name), ParameterRef):
                raise DeclarationError(
                    f"@performs: {type(event).__name__}.{field.name} must be a parameter of the"
                    " function, as it is passed; known and computed values can't be proved about"
                )
    return cast(tuple[Event, ...], events)
