"""Where a program calls trusted functions and where it branches: told beside its document, for whoever wants to see
every such place reached.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from lictor_ir.document import Binder, Span
from lictor_ir.records import record
from lictor_ir.terms import Term

Via = tuple[Span, ...]
"""The calls of helpers that lead to a place, the innermost first; none in the target itself."""

MAX_VIAS: Final = 64
"""So many ways through helpers to one place are told apart."""


@record()
class Spot:
    """A place in a program, as one way through its helpers comes to it."""

    span: Span
    via: Via = ()

    @property
    def lines(self) -> str:
        """Its line and those of the calls that lead there, such as `12 via 20`."""
        return " via ".join(str(each.line) for each in (self.span, *self.via))


@dataclass(frozen=True, slots=True)
class BranchPoint:
    """A branch as one path comes to it; helpers and unrolled loops come to the same place several times."""

    span: Span
    guard: Term
    condition: Term
    binders: tuple[Binder, ...] = ()
    must_hold: bool = False
    """It is an obligation too: where everything is proved, the other outcome is unreachable."""
    via: Via = ()

    @property
    def spot(self) -> Spot:
        """Where it stands."""
        return Spot(self.span, self.via)


@dataclass(frozen=True, slots=True)
class UnreadPromise:
    """What a trusted call promises and no document can say, or not all of it."""

    call: str
    """The id of its atom."""
    effect: str
    text: str
    why: str
    line: int | None = None
    column: int | None = None


@dataclass(frozen=True, slots=True)
class ProgramShape:
    """The places of one program."""

    sites: frozenset[Spot]
    """The calls of trusted functions that stand in it, whether or not a path leads there."""
    branches: tuple[BranchPoint, ...]
    via_of: Mapping[str, Via] = field(default_factory=dict[str, Via])
    """How the atoms of the document are come to, by their ids; those that are not named stand in the target."""
    raising: tuple[Span, ...] = ()
    """Where a value is computed that has no model, and may raise; and where an error may end the run."""
    unread: tuple[UnreadPromise, ...] = ()
    """What is promised to it and not said in its document."""
    handled: tuple[str, ...] = ()
    """The classes of errors that it handles."""


def told_apart(spots: Iterable[Spot]) -> dict[Spot, Spot]:
    """What each spot counts as: where more ways than `MAX_VIAS` lead to a place, only their innermost calls count.

    Helpers that call each other several times have a number of ways that no plan could reach.
    """
    vias: dict[Span, set[Via]] = {}
    for spot in spots:
        vias.setdefault(spot.span, set()).add(spot.via)
    told: dict[Spot, Spot] = {}
    for span, ways in vias.items():
        length = max(map(len, ways))
        while len({via[:length] for via in ways}) > MAX_VIAS:
            length -= 1
        told.update((Spot(span, via), Spot(span, via[:length])) for via in ways)
    return told
