"""What a document says of its unknowns besides their types, by where a run beside a program comes to it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from lictor_ir.document import Atom, Binder, Document, Fact, FactKind
from lictor_ir.terms import Term, Var, results


class KnownFacts:
    """The facts of one document, by where they are held."""

    def __init__(self, document: Document) -> None:
        self._document = document
        self._binders = {each.id: each.binders for each in document.unknowns}

    @cached_property
    def _by_index(self) -> dict[Var, list[Fact]]:
        found: dict[Var, list[Fact]] = {}
        for fact in self._document.facts:
            if fact.kind is FactKind.NEXT:
                found.setdefault(self._binders[fact.about][-1].index, []).append(fact)
        return found

    @cached_property
    def _holding(self) -> dict[Var | None, list[Fact]]:
        found: dict[Var | None, list[Fact]] = {}
        for fact in self._document.facts:
            if fact.kind is FactKind.HOLDS:
                binders = self._binders[fact.about]
                found.setdefault(binders[-1].index if binders else None, []).append(fact)
        return found

    @cached_property
    def _by_atom(self) -> dict[str, list[tuple[int, Fact, tuple[Term, ...]]]]:
        facts: dict[str, list[tuple[int, Fact]]] = {}
        for number, fact in enumerate(self._document.facts):
            if fact.kind is not FactKind.NEXT and self._binders[fact.about]:
                facts.setdefault(fact.about, []).append((number, fact))
        return {
            atom.id: [
                (number, fact, read.indices)
                for read in results(*_terms(atom))
                for number, fact in facts.get(read.call, ())
            ]
            for atom in (self._document.atoms if facts else ())
        }

    def begun(self, index: Var) -> Sequence[Fact]:
        """What says what a round of this loop begins with."""
        return self._by_index.get(index, ())

    def holding(self, index: Var | None) -> Sequence[Fact]:
        """What holds in each round of this innermost loop, or outside of all."""
        return self._holding.get(index, ())

    def read_by(self, atom: Atom) -> Sequence[tuple[int, Fact, tuple[Term, ...]]]:
        """The facts about unknowns of loops that the call reads, with their numbers, and at which indices."""
        return self._by_atom.get(atom.id, ())

    def binders(self, fact: Fact) -> tuple[Binder, ...]:
        """The loops of the unknown that a fact is about."""
        return self._binders[fact.about]


def _terms(atom: Atom) -> list[Term]:
    return [
        atom.guard,
        *atom.arguments.values(),
        *(term for each in atom.events for term in each.fields.values()),
        *(term for each in atom.updates for term in (each.key, each.value)),
        *(binder.over for binder in atom.binders),
    ]
