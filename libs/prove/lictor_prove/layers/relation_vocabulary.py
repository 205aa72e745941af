"""What the relations of a layer may name: its effects, events and fluents, and the fields that predicates may read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import lictor_layer
from lictor_ir import document
from lictor_ir.types import Type, join
from lictor_layer.fluents import Fluent
from lictor_prove.errors import ProverConfigError
from lictor_prove.layer_model import TrustedFunction


@dataclass(frozen=True)
class Vocabulary:
    """The words of one layer."""

    functions: Mapping[str, TrustedFunction]
    objects: Mapping[int, str]
    """The effect that each trusted function object is, by its id."""
    events: Mapping[type, document.Event]
    performed: frozenset[str]
    """The names of events that some effect performs."""
    fluents: Mapping[str, Fluent]

    def effects(self, relation: lictor_layer.Relation, place: str) -> tuple[str, ...]:
        """The effects that a relation covers."""
        given = {function.__name__: function for function in relation.functions}
        for name in relation.effects:
            function = given.get(name)
            known = name in self.functions if function is None else id(function) in self.objects
            if not known:
                raise ProverConfigError(
                    f"{place}: effect({name!r}) names no effect of this layer; it has"
                    f" {', '.join(sorted(self.functions)) or 'none'}"
                )
        names = self.functions if relation.every else relation.effects
        return tuple(sorted(set(names)))

    def event_names(self, relation: lictor_layer.Relation, place: str) -> tuple[str, ...]:
        """The events that a relation covers, with their kinds below them."""
        names: set[str] = set()
        for event in relation.events:
            known = self.events.get(event)
            covered = {
                other.name for other in self.events.values() if known and known.name in other.kinds
            }
            if not covered & self.performed:
                raise ProverConfigError(
                    f"{place}: no effect of this layer performs {event.__name__}; a contract about it"
                    " would hold of every program. Say who does with @performs"
                )
            names |= covered
        return tuple(sorted(names))

    def fields(self, relation: lictor_layer.Relation, place: str) -> Mapping[str, Type]:
        """The fields that every effect of the relation has."""
        if relation.events:
            shapes = [
                {field.name: field.type for field in self.events[event].fields}
                for event in relation.events
            ]
        else:
            shapes = [
                {
                    parameter.name: parameter.type
                    for parameter in self.functions[name].parameters
                    if not parameter.is_schema
                }
                for name in self.effects(relation, place)
            ]
        return shared(shapes)


def shared(shapes: Sequence[Mapping[str, Type]]) -> Mapping[str, Type]:
    """The fields of all shapes."""
    if not shapes:
        return {}
    found = dict(shapes[0])
    for shape in shapes[1:]:
        found = {name: join(type_, shape[name]) for name, type_ in found.items() if name in shape}
    return found
