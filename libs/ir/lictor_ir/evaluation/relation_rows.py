"""The rows of a relation, call by call: one for each time that a call stands in it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeGuard

from lictor_ir.contracts import Relation
from lictor_ir.covered_effects import bindings, is_covered, shared_fields
from lictor_ir.document import Document
from lictor_ir.evaluation.steps import Step
from lictor_ir.evaluation.term_values import Environment, Evaluation
from lictor_ir.provenance import ORIGIN_OPERATORS, origin_formula
from lictor_ir.records import record
from lictor_ir.terms import App, Term, const, postorder, rebuild, substitute
from lictor_ir.values import Value


class RelationRows:
    """Finds the rows of one relation."""

    def __init__(self, document: Document, relation: Relation) -> None:
        self._effects = frozenset(relation.effects)
        self._events = {each.name for each in document.events if is_covered(each, relation)}
        self._shared = shared_fields(document, relation)
        self._unknowns = document.unknowns
        self._where = relation.where
        self._speaks_of_origin: dict[Term, bool] = {}

    def covered(self, step: Step, inside: Evaluation) -> Iterator[Row]:
        """The rows of a call, before the relation's `where`; `inside`: the values of its atom's terms."""
        for passed, values in self._standing(step):
            known = {
                self._shared[name].name: value
                for name, value in values.items()
                if name in self._shared
            }
            yield Row(self, passed, inside, Evaluation(Environment(known)), step.is_certain)

    def has(self, row: Row) -> bool:
        """Whether a covered row satisfies `where`."""
        return self._where is None or row.holds(self._where)

    def with_origins_decided(
        self, term: Term, passed: Mapping[str, Term], inside: Evaluation
    ) -> Term:
        """A predicate without origin operators: about the terms that an atom passes, in one iteration."""
        if term not in self._speaks_of_origin:
            self._speaks_of_origin[term] = any(map(_is_origin, postorder(term)))
        if not self._speaks_of_origin[term]:
            return term
        terms = bindings(passed, self._shared)

        def decided(part: Term) -> Term | None:
            if not _is_origin(part):
                return None
            args = tuple(substitute(arg, terms) for arg in part.args)
            return const(inside.holds(origin_formula(part.op, part.param, args, self._unknowns)))

        return rebuild(term, decided)

    def _standing(self, step: Step) -> Iterator[tuple[Mapping[str, Term], Mapping[str, Value]]]:
        """The fields, as terms and as values, for each time that a step stands in the relation."""
        if step.effect in self._effects:
            yield step.atom.arguments, step.arguments
        for performed, (name, values) in zip(step.atom.events, step.events, strict=True):
            if name in self._events:
                yield performed.fields, values


@record()
class Row:
    """One time that a call stands in a relation. Its methods raise UnspecifiedError for what is open."""

    relation: RelationRows
    passed: Mapping[str, Term]
    """What the atom passes for each field."""
    inside: Evaluation
    """Values of the atom's terms."""
    fields: Evaluation
    """Values of predicates."""
    is_certain: bool = True
    """Whether it is there. The rows of a call that failed may be, or not: a contract holds if it does of either."""

    def value(self, term: Term) -> Any:
        """The value of a key or number."""
        return self.fields.value(self._decided(term))

    def holds(self, term: Term) -> bool:
        """Whether the predicate holds of it."""
        return self.fields.holds(self._decided(term))

    def _decided(self, term: Term) -> Term:
        return self.relation.with_origins_decided(term, self.passed, self.inside)


def _is_origin(term: Term) -> TypeGuard[App]:
    return isinstance(term, App) and term.op in ORIGIN_OPERATORS
