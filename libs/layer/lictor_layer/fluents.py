"""Fluents: state that trusted calls set, key by key, and that contracts read at the end of a run.

DoorLocked = fluent("door_locked", key=str, value=bool, initial=True)

@trusted
@sets(lambda door: DoorLocked.set(door, False))
def unlock_door(door: str) -> None: ...

DoorLocked.final.all(lambda d: d.value)       # every door is locked at the end
DoorLocked.final["front"] == True             # this one is
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from lictor_layer.errors import DeclarationError
from lictor_layer.parameter_references import ParameterRef
from lictor_layer.specs import FinalSpec, FinalValueSpec

TYPES: Final = (str, int, bool)


@dataclass(frozen=True, slots=True, eq=False)
class Fluent:
    """Keyed state; a key that no call set has the initial value."""

    name: str
    key: type
    value: type
    initial: str | int | bool

    def set(self, key: Any, value: Any) -> FluentUpdate:
        """What a call does to it; key and value are parameters of the call, or known values."""
        for part, given, wanted in (("key", key, self.key), ("value", value, self.value)):
            if not isinstance(given, ParameterRef) and type(given) is not wanted:
                raise DeclarationError(
                    f"the {part} of {self.name} is a {wanted.__name__}: give a parameter or a"
                    f" known {wanted.__name__}, not {given!r}"
                )
        return FluentUpdate(self, key, value)

    @property
    def final(self) -> FluentFinal:
        """Its values when the run is complete."""
        return FluentFinal(self)


@dataclass(frozen=True, slots=True)
class FluentUpdate:
    """One key of a fluent gets a value."""

    fluent: Fluent
    key: ParameterRef | str | int | bool
    value: ParameterRef | str | int | bool


@dataclass(frozen=True, slots=True)
class FluentFinal:
    """The values of a fluent at the end."""

    fluent: Fluent

    def all(self, predicate: Callable[[Any], object]) -> FinalSpec:
        """The predicate, over `d.key` and `d.value`, holds for every key."""
        return FinalSpec(self.fluent, predicate)

    def __getitem__(self, key: str | int | bool) -> FluentFinalValue:
        return FluentFinalValue(self.fluent, key)


@dataclass(frozen=True, slots=True, eq=False)
class FluentFinalValue:
    """The value of one key at the end; comparing it gives a contract."""

    fluent: Fluent
    key: str | int | bool

    def __eq__(self, other: object) -> FinalValueSpec:  # type: ignore[override]
        return FinalValueSpec(self.fluent, self.key, other, equal=True)

    def __ne__(self, other: object) -> FinalValueSpec:  # type: ignore[override]
        return FinalValueSpec(self.fluent, self.key, other, equal=False)

    __hash__ = None  # type: ignore[assignment]


def fluent(name: str, *, key: type = str, value: type = bool, initial: str | int | bool) -> Fluent:
    """Declares a fluent."""
    if not name.isidentifier():
        raise DeclarationError(f"{name!r} is no name for a fluent; use letters, digits and _")
    for what, type_ in (("keys", key), ("values", value)):
        if type_ not in TYPES:
            raise DeclarationError(f"the {what} of the fluent {name} are str, int or bool")
    if type(initial) is not value:
        raise DeclarationError(
            f"the fluent {name} holds {value.__name__}, and begins with {initial!r}"
        )
    return Fluent(name, key, value, initial)
