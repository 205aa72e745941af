"""The effects over which contracts are compared: what may be called, and what each call does besides.

A document declares which effects and events there are, and says of its own atoms what they perform. It does not say
that every call of an effect performs the same: by itself, a call may perform any events and set anything. A trusted
layer says more (`behaviours`), and then a call does exactly that.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Protocol, TypeVar

from lictor_ir.contracts import Contract
from lictor_ir.document import (
    Atom,
    Document,
    Effect,
    Enumeration,
    Event,
    Fluent,
    Guarantee,
    Parameter,
    Performed,
    Schema,
    Update,
)
from lictor_ir.errors import DocumentError
from lictor_ir.terms import Term
from lictor_ir.validation.document import validate


@dataclass(frozen=True, slots=True)
class Behaviour:
    """What every call of an effect does; terms are over the call's own arguments, `field("addr", STR)`."""

    events: tuple[Performed, ...] = ()
    updates: tuple[Update, ...] = ()
    demands: tuple[Term, ...] = ()
    """What holds of every call in a proved program, because the trusted function demands it."""


_NOTHING: Final = Behaviour()


@dataclass(frozen=True, slots=True)
class Signature:
    """What traces are made of."""

    effects: tuple[Effect, ...]
    events: tuple[Event, ...] = ()
    schemas: tuple[Schema, ...] = ()
    enums: tuple[Enumeration, ...] = ()
    fluents: tuple[Fluent, ...] = ()
    behaviours: Mapping[str, Behaviour] | None = None
    """By effect; an effect that is missing does nothing besides. None: any call may perform and set anything."""

    @classmethod
    def of(cls, document: Document, behaviours: Mapping[str, Behaviour] | None = None) -> Signature:
        """What a document declares."""
        return cls(
            document.effects,
            document.events,
            document.schemas,
            document.enums,
            document.fluents,
            behaviours,
        )

    def joined(self, other: Signature) -> Signature:
        """What both declare; DocumentError where they declare a name otherwise."""
        known = None
        if self.behaviours is not None and other.behaviours is not None:
            known = {**self.behaviours, **other.behaviours}
        return Signature(
            _joined("effect", self.effects, other.effects),
            _joined("event", self.events, other.events),
            _joined("schema", self.schemas, other.schemas),
            _joined("enum", self.enums, other.enums),
            _joined("fluent", self.fluents, other.fluents),
            known,
        )

    def document(self, inputs: Sequence[Parameter] = (), atoms: Sequence[Atom] = ()) -> Document:
        """A document with these declarations."""
        return Document(
            "trace",
            None,
            None,
            effects=self.effects,
            events=self.events,
            schemas=self.schemas,
            enums=self.enums,
            fluents=self.fluents,
            inputs=tuple(inputs),
            atoms=tuple(atoms),
        )

    def check(self, contracts: Sequence[Contract]) -> None:
        """Raise a DocumentError when a contract does not fit the signature."""
        guarantees = tuple(Guarantee(f"{at}", each) for at, each in enumerate(contracts))
        validate(replace(self.document(), guarantees=guarantees))

    def behaviour(self, effect: str) -> Behaviour:
        """What a call of the effect does, where that is known."""
        return (self.behaviours or {}).get(effect, _NOTHING)

    def without_demands(self) -> Signature:
        """The same of all calls, whatever trusted functions demand."""
        if self.behaviours is None:
            return self
        plain = {
            name: replace(each, demands=()) if each.demands else each
            for name, each in self.behaviours.items()
        }
        return replace(self, behaviours=plain)

    @property
    def is_free(self) -> bool:
        """Whether calls may perform and set anything."""
        return self.behaviours is None


class _Named(Protocol):
    @property
    def name(self) -> str: ...


_NamedT = TypeVar("_NamedT", bound=_Named)


def _joined(what: str, ours: Sequence[_NamedT], theirs: Sequence[_NamedT]) -> tuple[_NamedT, ...]:
    known = {each.name: each for each in ours}
    for each in theirs:
        if known.setdefault(each.name, each) != each:
            raise DocumentError(
                f"the {what} {each.name} is declared in two ways; compare under one layer"
            )
    return tuple(known[name] for name in sorted(known))
