"""From what a machine found to a closed document: with every declaration of the layer that it speaks of."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace

from lictor_ir.contracts import AtEnd, leaves, relations
from lictor_ir.document import Document, Fact, Guarantee, Parameter, Schema, Unknown
from lictor_ir.terms import App, Term, postorder, results
from lictor_ir.types import ListOf, MapOf, OptionalOf, RowOf, Scalar, SetOf, TupleOf, Type
from lictor_prove.layer_model import Layer, TrustedFunction
from lictor_prove.python.interpreter.trusted_calls import declared_effect
from lictor_prove.python.machine.machine_state import Machine


def assembled(
    machine: Machine,
    layer: Layer,
    *,
    name: str,
    target: str,
    source: str,
    inputs: Sequence[Parameter],
    guarantees: Sequence[Guarantee],
    called: Mapping[str, TrustedFunction],
    schemas: Mapping[str, Schema],
) -> Document:
    """The document of what the machine executed; `called` are the trusted functions that it called."""
    functions = dict(called)
    events: dict[str, None] = {}
    fluents: dict[str, None] = {}
    for atom in machine.atoms:
        events.update((each.event, None) for each in atom.events)
        fluents.update((each.fluent, None) for each in atom.updates)
    for guarantee in guarantees:
        for relation in relations(guarantee.contract):
            functions.update(
                (each, layer.functions[each])
                for each in relation.effects
                if each in layer.functions
            )
            events.update((each, None) for each in relation.events)
        fluents.update(
            (leaf.fluent, None) for leaf in leaves(guarantee.contract) if isinstance(leaf, AtEnd)
        )
    if any(policy.required for policy in layer.policies):
        # What a policy demands is added to the document later, and may speak of any of them.
        functions.update(layer.functions)
        events.update(dict.fromkeys(layer.events))
        fluents.update(dict.fromkeys(layer.fluents))
    effects = tuple(declared_effect(functions[each]) for each in sorted(functions))
    declared_events = tuple(layer.events[each] for each in sorted(events) if each in layer.events)
    declared_fluents = tuple(
        layer.fluents[each] for each in sorted(fluents) if each in layer.fluents
    )
    document = Document(
        program=name,
        source_hash=f"sha256:{hashlib.sha256(source.encode()).hexdigest()}",
        layer_hash=layer.hash,
        target=target,
        effects=effects,
        events=declared_events,
        fluents=declared_fluents,
        inputs=tuple(inputs),
        atoms=tuple(machine.atoms),
        unknowns=tuple(machine.unknowns),
        facts=tuple(machine.facts),
        assumptions=tuple(machine.assumptions),
        obligations=tuple(machine.obligations),
        guarantees=tuple(guarantees),
    )
    shown = [term for each in machine.branches for term in (each.guard, each.condition)]
    shown += [binder.over for each in machine.branches for binder in each.binders]
    return _with_schemas(_without_unread(document, shown), schemas)


def _with_schemas(document: Document, known: Mapping[str, Schema]) -> Document:
    """The document with every row schema that it speaks of."""
    used: set[str] = set()
    for type_ in _types(document):
        used |= _schemas_of(type_)
    for part in postorder(*dict.fromkeys(_terms(document))):
        if not isinstance(part.type, Scalar):
            used |= _schemas_of(part.type)
        if isinstance(part, App) and part.op in ("from", "not_from", "same_row"):
            used |= {place.rpartition(".")[0] for place in part.param.split(",")}
    return replace(document, schemas=tuple(known[each] for each in sorted(used) if each in known))


def _without_unread(document: Document, shown: Sequence[Term]) -> Document:
    """The document without unknowns that nothing reads, nor what is told of branches.

    One that may raise stays: the run may end there.
    """
    if not document.unknowns:
        return document
    terms = (*_terms(replace(document, unknowns=(), facts=())), *shown)
    read = {each.call for each in results(*terms)}
    facts = list(document.facts)
    known: list[Fact] = []
    while new := [each for each in facts if each.about in read]:
        known += new
        facts = [each for each in facts if each.about not in read]
        read |= {each.call for fact in new for each in results(*fact.terms())}
    kept: list[Unknown] = []
    for unknown in reversed(document.unknowns):
        if unknown.may_raise or unknown.id in read:
            kept.append(unknown)
            read |= {each.call for each in results(*(b.over for b in unknown.binders))}
    told = tuple(each for each in document.facts if each in known)
    return replace(document, unknowns=tuple(reversed(kept)), facts=told)


def _schemas_of(type_: Type) -> set[str]:
    match type_:
        case RowOf(schema):
            return {schema}
        case ListOf(item) | SetOf(item) | OptionalOf(item):
            return _schemas_of(item)
        case TupleOf(items):
            return set[str]().union(*map(_schemas_of, items))
        case MapOf(key, value):
            return _schemas_of(key) | _schemas_of(value)
        case _:
            return set()


def _types(document: Document) -> list[Type]:
    return [
        *(p.type for effect in document.effects for p in effect.parameters),
        *(effect.result for effect in document.effects),
        *(field.type for event in document.events for field in event.fields),
        *(unknown.type for unknown in document.unknowns),
    ]


def _terms(document: Document) -> list[Term]:
    """Every term of the document that rows may stand in."""
    found: list[Term] = []
    for atom in document.atoms:
        found += [atom.guard, *atom.arguments.values(), *(b.over for b in atom.binders)]
    found += [binder.over for unknown in document.unknowns for binder in unknown.binders]
    found += [term for fact in document.facts for term in fact.terms()]
    for stated in (*document.assumptions, *document.obligations):
        found += [stated.guard, stated.formula, *(b.over for b in stated.binders)]
    for guarantee in document.guarantees:
        for leaf in leaves(guarantee.contract):
            for relation in relations(leaf):
                found += [relation.where] if relation.where is not None else []
            for part in ("holds", "key", "of", "bound", "first_key", "then_key"):
                term = getattr(leaf, part, None)
                found += [term] if isinstance(term, Term) else []
    return found
