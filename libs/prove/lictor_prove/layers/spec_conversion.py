"""Specs of a layer as contracts of the Effect IR: closed, typed, with no way back to Python."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import lictor_layer
from lictor_ir import contracts as ir
from lictor_ir.errors import IrError
from lictor_ir.terms import Term, and_, apply, const, eq, not_, var
from lictor_ir.types import BOOL, FLOAT, INT, REAL, STR, Type
from lictor_layer import specs
from lictor_layer.fluents import Fluent
from lictor_prove.errors import ProveError, ProverConfigError
from lictor_prove.layers.function_sources import Sources
from lictor_prove.layers.relation_vocabulary import Vocabulary, shared
from lictor_prove.python.predicates import Fields, predicate_term

_SPECS: Final = frozenset(
    {
        specs.NothingSpec,
        specs.ConjunctionSpec,
        specs.AllSpec,
        specs.EmptySpec,
        specs.DistinctSpec,
        specs.BoundSpec,
        specs.SharesValueSpec,
        specs.BeforeSpec,
        specs.NeverAfterSpec,
        specs.FinalSpec,
        specs.FinalValueSpec,
    }
)
TYPES: Mapping[type, Type] = {bool: BOOL, int: INT, str: STR, float: FLOAT}


@dataclass(frozen=True)
class Converter:
    """Reads the specs that one contract's builder gave."""

    words: Vocabulary
    sources: Sources
    place: str

    def contract(self, spec: object) -> ir.Contract:
        """The contract that a spec means. A class below one of these may mean anything."""
        if type(spec) not in _SPECS:
            raise ProveError(
                f"{self.place}: a contract returned {type(spec).__name__}, which is no spec that can"
                " be proved; build it from relations"
            )
        match spec:
            case specs.NothingSpec():
                return ir.Anything()
            case specs.ConjunctionSpec():
                return ir.Both(tuple(self.contract(part) for part in spec.parts))
            case specs.AllSpec():
                return ir.All(
                    self.relation(spec.relation), self._holds(spec.predicate, spec.relation)
                )
            case specs.EmptySpec():
                return ir.Empty(self.relation(spec.relation))
            case specs.DistinctSpec():
                return ir.Distinct(
                    self.relation(spec.relation), self._term(spec.key, spec.relation)
                )
            case specs.BoundSpec():
                return self._bound(spec)
            case specs.SharesValueSpec():
                left, right = self.relation(spec.left), self.relation(spec.right)
                return ir.SharesValue(left, right, self._term(spec.key, spec.left, spec.right))
            case specs.BeforeSpec():
                return self._before(spec)
            case specs.NeverAfterSpec():
                return ir.NeverAfter(self.relation(spec.first), self.relation(spec.then))
            case specs.FinalSpec():
                return self._final(spec)
            case specs.FinalValueSpec():
                return self._final_value(spec)
            case _:
                raise AssertionError(f"{type(spec).__name__} is not converted")

    def relation(self, given: lictor_layer.Relation) -> ir.Relation:
        """The relation over this layer's effects."""
        conditions = [self._holds(condition, given) for condition in given.conditions]
        return ir.Relation(
            effects=() if given.events else self.words.effects(given, self.place),
            events=self.words.event_names(given, self.place),
            where=and_(*conditions) if conditions else None,
        )

    def _bound(self, spec: specs.BoundSpec) -> ir.Contract:
        if spec.bound != spec.bound:
            raise ProveError(f"{self.place}: a count or sum is compared with NaN")
        comparison = ir.Comparison(spec.comparison)
        relation, bound = self.relation(spec.relation), const(spec.bound)
        if spec.of is None:
            return ir.Count(relation, comparison, bound)
        of = self._term(spec.of, spec.relation)
        if of.type == BOOL:
            of = apply("int_of_bool", of)
        if of.type not in (INT, FLOAT, REAL):
            raise ProverConfigError(f"{self.place}: a sum is over numbers, not over {of.type}")
        return ir.Sum(relation, of, comparison, bound)

    def _before(self, spec: specs.BeforeSpec) -> ir.Contract:
        first_key = then_key = None
        if spec.key is not None and spec.then_key is not None:
            first_key = self._term(spec.key, spec.first)
            then_key = self._term(spec.then_key, spec.then)
        return ir.Before(self.relation(spec.first), self.relation(spec.then), first_key, then_key)

    def _final(self, spec: specs.FinalSpec) -> ir.Contract:
        fluent = self._fluent(spec.fluent)
        record = {
            ir.KEY_NAME: var(ir.KEY_NAME, TYPES[fluent.key]),
            ir.VALUE_NAME: var(ir.VALUE_NAME, TYPES[fluent.value]),
        }
        return ir.AtEnd(fluent.name, self._bool(self._read(spec.predicate, record)))

    def _final_value(self, spec: specs.FinalValueSpec) -> ir.Contract:
        fluent = self._fluent(spec.fluent)
        for what, given, wanted in (
            ("key", spec.key, fluent.key),
            ("value", spec.value, fluent.value),
        ):
            if type(given) is not wanted:
                raise ProveError(
                    f"{self.place}: the {what} of {fluent.name} is a {wanted.__name__}, not {given!r}"
                )
        value = spec.value
        assert isinstance(value, bool | int | str)
        same = eq(var(ir.VALUE_NAME, TYPES[fluent.value]), const(value))
        return ir.AtEnd(fluent.name, same if spec.equal else not_(same), const(spec.key))

    def _fluent(self, given: Fluent) -> Fluent:
        if self.words.fluents.get(given.name) is not given:
            raise ProverConfigError(
                f"{self.place}: the fluent {given.name} is set by no effect of this layer; a contract"
                " about it would say nothing"
            )
        return given

    def _holds(self, predicate: Callable[..., object], over: lictor_layer.Relation) -> Term:
        return self._bool(self._term(predicate, over))

    def _bool(self, term: Term) -> Term:
        if term.type != BOOL:
            raise ProverConfigError(
                f"{self.place}: a predicate is true or false; this one gives {term.type}"
            )
        return term

    def _term(self, predicate: Callable[..., object], *over: lictor_layer.Relation) -> Term:
        shapes: Sequence[Mapping[str, Type]] = [
            self.words.fields(relation, self.place) for relation in over
        ]
        record = {name: ir.field(name, type_) for name, type_ in shared(shapes).items()}
        return self._read(predicate, record)

    def _read(self, predicate: Callable[..., object], record: Mapping[str, Term]) -> Term:
        read = self.sources.predicate(predicate, lasts=False)
        arguments = read.node.args
        if len(arguments.args) != 1 or arguments.defaults or arguments.posonlyargs:
            raise ProverConfigError(
                f"{read.place}: a predicate of a relation takes one effect: lambda e: …"
            )
        try:
            return predicate_term(read, {arguments.args[0].arg: Fields(record)})
        except IrError as error:
            raise ProveError(f"{read.place}: {read.text}: {error}") from error
