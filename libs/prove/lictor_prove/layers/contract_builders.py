"""Contracts of a layer, ready to be called with the literals that a program wrote.

The builder is called outside the program, with values: nothing that a program defines can change what a contract means.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cached_property
from typing import Final, cast

from lictor_ir.contracts import Contract, terms_of
from lictor_ir.document import Schema
from lictor_ir.terms import App, postorder
from lictor_ir.types import BOOL, FLOAT, INT, STR, Type
from lictor_layer import Row, Spec
from lictor_layer.contracts import contract_declaration, sentence
from lictor_layer.rows import row_class
from lictor_prove.errors import ProveError
from lictor_prove.layers import annotation_types, contract_arguments
from lictor_prove.layers.function_sources import Sources
from lictor_prove.layers.isolated_modules import Runtime
from lictor_prove.layers.relation_vocabulary import Vocabulary

_COLUMNS: Mapping[Type, type] = {STR: str, INT: int, BOOL: bool, FLOAT: float}

_OF_ORIGIN: Final = (
    "(This is about where a value comes from, not which value it is: it may equal one of the column,"
    " or be what a trusted call made of one.)"
)
"""What a description is likely to leave open, for whoever approves it."""


@dataclass(frozen=True, eq=False)
class LayerContract:
    """A contract of a layer's vocabulary."""

    name: str
    module: str
    function: Callable[..., object]
    place: str
    runtime: Runtime
    sources: Sources
    words: Vocabulary
    rows: Mapping[str, type[Row]]
    """The row classes of the layer, by the names of their schemas."""
    schemas: Mapping[str, Schema]

    @cached_property
    def signature(self) -> inspect.Signature:
        """What it takes."""
        return inspect.signature(self.function)

    @cached_property
    def _hints(self) -> Mapping[str, object]:
        """The types of what it takes; asked for while the layer is active."""
        return annotation_types.resolved(self.function)

    @property
    def nullary(self) -> bool:
        """Whether it takes no arguments."""
        return not self.signature.parameters

    @property
    def documentation(self) -> str:
        """What the layer says about it."""
        return inspect.getdoc(self.function) or ""

    def build(self, args: Sequence[object], kwargs: Mapping[str, object]) -> tuple[Contract, str]:
        """The contract for literal arguments, and its sentence for people."""
        # Late, so that a layer can be looked at without the front-end.
        from lictor_prove.layers.spec_conversion import Converter

        try:
            bound = self.signature.bind(
                *(self._value(value) for value in args),
                **{name: self._value(value) for name, value in kwargs.items()},
            )
        except TypeError as error:
            raise ProveError(f"{self.name}{self.signature} can't be called so: {error}") from None
        with self.runtime.active():
            self._check(bound.arguments)
            bound.apply_defaults()
            said = self._sentence(bound.arguments)
            spec = self._call(bound)
            contract = Converter(self.words, self.sources, self.place).contract(spec)
        return contract, f"{said} {_OF_ORIGIN}" if said and _denies_origin(contract) else said

    def build_stated(
        self, args: Sequence[object], kwargs: Mapping[str, object]
    ) -> tuple[Contract, str]:
        """The contract for arguments that are stated in JSON, as an approval policy does."""
        try:
            bound = self.signature.bind(*args, **kwargs)
        except TypeError as error:
            raise ProveError(f"{self.name} can't be called so: {error}") from None
        with self.runtime.active():
            hints = self._hints
        for name, value in bound.arguments.items():
            bound.arguments[name] = contract_arguments.meant(
                value, hints.get(name, object), self.rows
            )
        return self.build(bound.args, bound.kwargs)

    def _call(self, bound: inspect.BoundArguments) -> Spec:
        try:
            spec = self.function(*bound.args, **bound.kwargs)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # trusted code may raise anything, SystemExit too
            place = self.runtime.where(error, self.place)
            raise ProveError(
                f"{place}: the contract {self.name} refuses its arguments:"
                f" {type(error).__name__}: {error}"
            ) from error
        if not isinstance(spec, Spec):
            raise ProveError(
                f"{self.place}: the contract {self.name} returned {type(spec).__name__}, not a spec"
            )
        return spec

    def _check(self, given: Mapping[str, object]) -> None:
        hints = self._hints
        declared = self.signature.parameters
        for name, value in given.items():
            if declared[name].kind in (
                inspect.Parameter.VAR_POSITIONAL,
                inspect.Parameter.VAR_KEYWORD,
            ):
                raise ProveError(f"{self.place}: a contract names its parameters one by one")
            if declared[name].annotation is inspect.Parameter.empty:
                continue
            if name not in hints:
                raise ProveError(f"{self.place}: the annotation of {name} can't be evaluated")
            wrong = contract_arguments.problem(name, value, hints[name])
            if wrong is not None:
                raise ProveError(f"{self.name}: {wrong}")

    def _sentence(self, given: Mapping[str, object]) -> str:
        declared = contract_declaration(self.function)
        if declared is not None and declared.description is not None:
            return sentence(declared.description, given)
        return self.documentation.partition("\n\n")[0].replace("\n", " ")

    def _value(self, value: object) -> object:
        """A literal as the builder sees it; schemas are row classes there."""
        match value:
            case Schema():
                known = self.rows.get(value.name)
                if known is not None and self.schemas[value.name] == value:
                    return known
                return _row_class(value)
            case list():
                return [self._value(item) for item in cast(list[object], value)]
            case tuple():
                return tuple(self._value(item) for item in cast(tuple[object, ...], value))
            case Set():
                return {self._value(item) for item in cast(Set[object], value)}
            case Mapping():
                return {
                    self._value(key): self._value(item)
                    for key, item in cast(Mapping[object, object], value).items()
                }
            case _:
                return value


def _denies_origin(contract: Contract) -> bool:
    return any(
        isinstance(part, App) and part.op == "not_from" for part in postorder(*terms_of(contract))
    )


def _row_class(schema: Schema) -> type[Row]:
    """The class of a table that the program declared itself."""
    columns = {column.name: _COLUMNS[column.type] for column in schema.columns}
    return row_class(schema.name, columns)
