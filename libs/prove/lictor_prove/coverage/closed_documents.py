"""Keeps a document closed: what an added contract speaks of is declared in it."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Sequence

from lictor_ir.contracts import AtEnd, Contract, leaves, relations, terms_of
from lictor_ir.document import Document, Effect
from lictor_ir.terms import App, postorder
from lictor_ir.types import ListOf, MapOf, OptionalOf, RowOf, SetOf, TupleOf, Type
from lictor_prove.layer_model import Layer
from lictor_prove.python.interpreter.trusted_calls import declared_effect


def closed(document: Document, contracts: Sequence[Contract], layer: Layer) -> Document:
    """The document with the effects, events, fluents and tables of the layer that the contracts name."""
    over = [relation for contract in contracts for relation in relations(contract)]
    named = [name for relation in over for name in relation.effects]
    effects = {name: declared_effect(layer.functions[name]) for name in named}
    effects.update((effect.name, effect) for effect in document.effects)
    events = {name: layer.events[name] for relation in over for name in relation.events}
    events.update((event.name, event) for event in document.events)
    ends = [leaf for contract in contracts for leaf in leaves(contract) if isinstance(leaf, AtEnd)]
    fluents = {end.fluent: layer.fluents[end.fluent] for end in ends}
    fluents.update((fluent.name, fluent) for fluent in document.fluents)
    tables = {*_tables_of_effects(effects.values()), *_tables_of_contracts(contracts)}
    schemas = {name: layer.schemas[name] for name in tables if name in layer.schemas}
    schemas.update((schema.name, schema) for schema in document.schemas)
    return dataclasses.replace(
        document,
        effects=tuple(effects[name] for name in sorted(effects)),
        events=tuple(events[name] for name in sorted(events)),
        fluents=tuple(fluents[name] for name in sorted(fluents)),
        schemas=tuple(schemas[name] for name in sorted(schemas)),
    )


def _tables_of_effects(effects: Iterable[Effect]) -> Iterator[str]:
    for effect in effects:
        for type_ in (effect.result, *(parameter.type for parameter in effect.parameters)):
            yield from _tables_of(type_)


def _tables_of(type_: Type) -> Iterator[str]:
    match type_:
        case RowOf(schema):
            yield schema
        case ListOf(item) | SetOf(item) | OptionalOf(item):
            yield from _tables_of(item)
        case MapOf(key, value):
            yield from _tables_of(key)
            yield from _tables_of(value)
        case TupleOf(items):
            for item in items:
                yield from _tables_of(item)
        case _:
            pass


def _tables_of_contracts(contracts: Iterable[Contract]) -> Iterator[str]:
    for contract in contracts:
        for term in postorder(*terms_of(contract)):
            yield from _tables_of(term.type)
            if isinstance(term, App) and term.op in ("from", "not_from", "same_row"):
                yield from (place.rpartition(".")[0] for place in term.param.split(","))
