"""A trusted layer as the signature that contracts are compared over.

A layer says what each call performs and sets, so that nothing else does. What a function demands of its arguments holds
of every call in a proved program; it is used where it reads only arguments that every call must pass.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Final

from lictor_ir.analysis.signature import Behaviour, Signature
from lictor_ir.contracts import field
from lictor_ir.document import Document, Effect, Event, Fluent, Schema
from lictor_ir.errors import IrError
from lictor_ir.terms import Term
from lictor_prove.errors import ProveError
from lictor_prove.layer_model import Layer, TrustedFunction
from lictor_prove.python.interpreter.trusted_calls import (
    declared_effect,
    parameter_names,
    performed,
    updated,
)
from lictor_prove.python.predicates import predicate_term
from lictor_prove.python.refusals import SubsetRefusal

KEPT_LAYERS: Final = 8


def signature_of(layer: Layer, document: Document) -> Signature:
    """All that a layer declares, with the tables and enums of a document that was made with it."""
    known = _Known.of(layer)
    own = {each.name: each for each in document.schemas if layer.schemas.get(each.name) != each}
    schemas = {**layer.schemas, **own}
    return Signature(
        known.effects,
        known.events,
        # The same tuple for every document, where it can be: what was found right is not looked at again.
        tuple(schemas[name] for name in sorted(schemas)) if own else known.schemas,
        document.enums,
        known.fluents,
        known.behaviours,
    )


class _Known:
    """What of a signature comes from the layer alone; made once for each."""

    def __init__(self, layer: Layer) -> None:
        functions = [layer.functions[name] for name in sorted(layer.functions)]
        self.effects: tuple[Effect, ...] = tuple(map(declared_effect, functions))
        self.events: tuple[Event, ...] = tuple(layer.events[name] for name in sorted(layer.events))
        self.fluents: tuple[Fluent, ...] = tuple(
            layer.fluents[name] for name in sorted(layer.fluents)
        )
        self.schemas: tuple[Schema, ...] = tuple(
            layer.schemas[name] for name in sorted(layer.schemas)
        )
        self.behaviours = {each.name: _behaviour(each) for each in functions}

    @staticmethod
    def of(layer: Layer) -> _Known:
        return _known(_ByHash(layer))


class _ByHash:
    """A layer as a key: layers are equal when their hashes are."""

    def __init__(self, layer: Layer) -> None:
        self.layer = layer

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _ByHash) and other.layer.hash == self.layer.hash

    def __hash__(self) -> int:
        return hash(self.layer.hash)


@lru_cache(maxsize=KEPT_LAYERS)
def _known(key: _ByHash) -> _Known:
    return _Known(key.layer)


def _behaviour(function: TrustedFunction) -> Behaviour:
    given: dict[str, Term] = {
        each.name: field(each.name, each.type) for each in function.parameters if not each.is_schema
    }
    return Behaviour(
        performed(function, given), updated(function, given), tuple(_demands(function, given))
    )


def _demands(function: TrustedFunction, given: dict[str, Term]) -> Iterator[Term]:
    passed = {each.name for each in function.parameters if not each.has_default}
    for predicate in function.requires:
        names = parameter_names(predicate)
        taken = predicate.node.args
        if taken.defaults or any(taken.kw_defaults) or not set(names) <= passed & set(given):
            continue
        try:
            yield predicate_term(predicate, {name: given[name] for name in names})
        except (IrError, ProveError, SubsetRefusal):
            continue  # not relying on it is sound
