"""Which effects a relation covers, and what a predicate reads of each: one rule for goals, validation and evaluation.

An atom stands in a relation once for its own name, and once more for each event it performs that is of a named class.
What one call does happens at once: its rows are neither before nor after each other.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from lictor_ir.contracts import Relation, field
from lictor_ir.document import Atom, Document, Event, Parameter
from lictor_ir.terms import Term, Var


def covered_fields(
    atom: Atom, relation: Relation, events: Mapping[str, Event]
) -> Iterator[Mapping[str, Term]]:
    """The fields for each time that the atom stands in the relation, whatever the relation's condition says."""
    if atom.effect in relation.effects:
        yield atom.arguments
    for performed in atom.events:
        if is_covered(events[performed.event], relation):
            yield performed.fields


def is_covered(event: Event, relation: Relation) -> bool:
    """Whether the event is of a class that the relation names."""
    return not set(event.kinds).isdisjoint(relation.events)


def covered_signatures(document: Document, relation: Relation) -> Iterator[Sequence[Parameter]]:
    """The fields of everything that may stand in the relation."""
    for effect in document.effects:
        if effect.name in relation.effects:
            yield effect.parameters
    for event in document.events if relation.events else ():
        if is_covered(event, relation):
            yield event.fields


def shared_fields(document: Document, relation: Relation) -> dict[str, Var]:
    """The fields that predicates over the relation may read: those that all it covers have, with one type."""
    signatures = list(covered_signatures(document, relation))
    if not signatures:
        return {}
    first, *others = ({each.name: each.type for each in signature} for signature in signatures)
    return {
        name: field(name, type_)
        for name, type_ in first.items()
        if all(other.get(name) == type_ for other in others)
    }


def bindings(fields: Mapping[str, Term], shared: Mapping[str, Var]) -> dict[Term, Term]:
    """What stands for each field that a predicate may read. A field that the call leaves to its default is missing."""
    return {shared[name]: term for name, term in fields.items() if name in shared}
