"""What the front-end knows of a trusted layer: plain values, filled by `lictor_prove.layers`.

A layer is trusted code, and loading it runs it. What the prover needs of it afterwards is here: signatures, lambdas as
syntax trees, and for contracts a way to call their builders. Nothing here is reachable from a program except by the
names that its imports resolve to.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from lictor_ir.contracts import Contract
from lictor_ir.document import Event, Fluent, Schema
from lictor_ir.types import Type
from lictor_prove.layer_names import Constancy


@dataclass(frozen=True, slots=True)
class Predicate:
    """A lambda of the layer: a pure expression over its parameters."""

    node: ast.Lambda
    names: Mapping[str, object]
    """What its free names mean: captured values, globals, builtins."""
    text: str
    """What it demands, for people: the message it was given, or its source."""
    place: str
    """File and line, for messages."""
    texts: Mapping[str, str] = field(default_factory=dict[str, str])
    """The layer's modules as they were hashed, by file name: where the helpers it calls are read."""
    kin: Mapping[tuple[str, str], Sequence[str]] = field(
        default_factory=dict[tuple[str, str], Sequence[str]]
    )
    """For a column, by schema and name: the schemas that inherit it, and those that it is inherited from."""
    schemas: Mapping[str, Schema] = field(default_factory=dict[str, Schema])
    """The layer's rows, whose columns a condition may read."""


@dataclass(frozen=True, slots=True)
class LayerParameter:
    """A parameter of a trusted function."""

    name: str
    type: Type
    has_default: bool = False
    keyword_only: bool = False
    positional_only: bool = False
    is_schema: bool = False
    """It takes a Row class; a result of `list[T]` or an argument of type `T` then has rows of that class."""


@dataclass(frozen=True, slots=True)
class EventUse:
    """An event that a call performs: which parameter each field is."""

    event: str
    fields: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class FluentUse:
    """What a call sets: key and value are parameters, by name, or known scalars."""

    fluent: str
    key: str | bool | int
    key_is_parameter: bool
    value: str | bool | int
    value_is_parameter: bool


@dataclass(frozen=True, slots=True)
class TrustedFunction:
    """An effect boundary: a call of it becomes an atom; its body is never read."""

    name: str
    module: str
    parameters: tuple[LayerParameter, ...]
    result: Type | None
    """None when its annotation is missing or can't be modelled: the call is fine, reading its result is not."""
    result_of_schema: str | None = None
    """The parameter whose Row class the rows of the result have."""
    requires: tuple[Predicate, ...] = ()
    """Over the parameters."""
    ensures: tuple[Predicate, ...] = ()
    """Over `result`, or over the parameters and `result`."""
    markers: tuple[str, ...] = ()
    events: tuple[EventUse, ...] = ()
    updates: tuple[FluentUse, ...] = ()
    documentation: str = ""


class ContractBuilder(Protocol):
    """A contract of the layer's vocabulary."""

    @property
    def name(self) -> str: ...
    @property
    def module(self) -> str: ...
    @property
    def nullary(self) -> bool: ...

    def build(self, args: Sequence[object], kwargs: Mapping[str, object]) -> tuple[Contract, str]:
        """The contract for literal arguments, and its sentence for people; raises ProveError when they don't fit.

        A Row class is given as the Schema value that stands for it.
        """
        ...

    def build_stated(
        self, args: Sequence[object], kwargs: Mapping[str, object]
    ) -> tuple[Contract, str]:
        """The same for arguments that are stated in JSON: lists stand for what is asked for, names for row classes."""
        ...


@dataclass(frozen=True, slots=True)
class TrustedModule:
    """What a program may import from one module of the layer."""

    name: str
    names: Mapping[str, TrustedFunction | ContractBuilder | Schema | object]
    """Other objects are here too, so that importing them is told apart from importing what is not there."""


@dataclass(frozen=True, slots=True)
class LayerPolicy:
    """What should or must be said about a domain when it is used."""

    label: str
    package: str
    when_used: tuple[str, ...]
    recommended: tuple[str, ...] = ()
    required: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Layer:
    """A loaded trusted layer."""

    hash: str
    modules: Mapping[str, TrustedModule]
    functions: Mapping[str, TrustedFunction]
    """By bare name, which is unique within a layer."""
    events: Mapping[str, Event] = field(default_factory=dict[str, Event])
    fluents: Mapping[str, Fluent] = field(default_factory=dict[str, Fluent])
    schemas: Mapping[str, Schema] = field(default_factory=dict[str, Schema])
    policies: tuple[LayerPolicy, ...] = ()
    constancy: Constancy | None = None
    """What of its modules is constant; None where nothing can change."""
