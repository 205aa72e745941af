"""What a function of a layer is declared to be; the decorators write it, the prover and the runner read it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from lictor_layer.events import Event
    from lictor_layer.fluents import FluentUpdate

ATTRIBUTE: Final = "__lictor_effect__"


@dataclass(frozen=True, slots=True)
class Condition:
    """A precondition or postcondition."""

    predicate: Callable[..., object]
    message: str | None
    of_result_alone: bool = False


@dataclass(frozen=True, slots=True)
class Compensation:
    """How an effect is taken back."""

    undo: Callable[..., object] | None
    """None when there is nothing to take back."""
    when_in_doubt: bool
    """Whether the undo may be called, and called again, when nobody knows whether the effect happened."""


@dataclass(frozen=True, slots=True)
class Declaration:
    """All that the decorators of one function say."""

    trusted: bool = False
    mock: bool = False
    markers: tuple[str, ...] = ()
    requires: tuple[Condition, ...] = ()
    ensures: tuple[Condition, ...] = ()
    performs: tuple[Event, ...] = ()
    """Events whose fields are references to parameters."""
    sets: tuple[FluentUpdate, ...] = ()
    compensation: Compensation | None = None
    """None when nothing is said: then the effect can't be taken back."""


def declaration(function: object) -> Declaration | None:
    """What the function is declared to be, if anything."""
    found: Any = getattr(function, ATTRIBUTE, None)
    return found if isinstance(found, Declaration) else None
