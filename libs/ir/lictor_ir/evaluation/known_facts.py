"""What a document says of its unknowns besides their types, held while it is run beside a program."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from lictor_ir.document import Atom, Document, Fact, FactKind
from lictor_ir.evaluation.steps import iterations
from lictor_ir.evaluation.term_values import Evaluation
from lictor_ir.terms import TRUE, Term, Var, results
from lictor_ir.values import Open

FactKey = tuple[int, tuple[int, ...], str]
"""A fact, the iteration of the loops around its innermost one, and a value as text."""


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
    def _holding(self) -> dict[Var, list[Term]]:
        found: dict[Var, list[Term]] = {}
        for fact in self._document.facts:
            if fact.kind is FactKind.HOLDS and fact.guard is TRUE and self._binders[fact.about]:
                found.setdefault(self._binders[fact.about][-1].index, []).append(fact.term)
        return found

    @cached_property
    def _by_atom(self) -> dict[str, list[tuple[int, Fact, tuple[Term, ...]]]]:
        """For each atom the other facts about what it reads, with the indices that it is read at."""
        facts: dict[str, list[tuple[int, Fact]]] = {}
        for number, fact in enumerate(self._document.facts):
            if fact.kind is not FactKind.NEXT:
                facts.setdefault(fact.about, []).append((number, fact))
        return {
            atom.id: [
                (number, fact, read.indices)
                for read in results(atom.guard, *atom.arguments.values())
                for number, fact in facts.get(read.call, ())
            ]
            for atom in (self._document.atoms if facts else ())
        }

    def begun(self, index: Var) -> list[Fact]:
        """What says what a round of this loop begins with."""
        return self._by_index.get(index, [])

    def is_round(self, index: Var, evaluation: Evaluation) -> bool:
        """Whether nothing that holds in each round of this loop is seen to be false in one that begins."""
        return not any(evaluation.is_false(each) for each in self._holding.get(index, ()))

    def is_kept(self, atom: Atom, evaluation: Evaluation, seen: dict[FactKey, int]) -> bool:
        """Whether no fact about what the call reads is seen to be false; `seen`: where which value was, so far."""
        return all(
            self._holds(number, fact, indices, atom, evaluation, seen)
            for number, fact, indices in self._by_atom.get(atom.id, ())
        )

    def _holds(
        self,
        number: int,
        fact: Fact,
        indices: tuple[Term, ...],
        atom: Atom,
        evaluation: Evaluation,
        seen: dict[FactKey, int],
    ) -> bool:
        places = [evaluation.found(each) for each in indices]
        if any(type(each) is not int for each in places):
            return True
        inside = evaluation
        for binder, place in zip(self._binders[fact.about], places, strict=True):
            count = iterations(binder, inside)
            running = {each.over: each.index for each in atom.binders}
            if isinstance(count, Open) and binder.over in running:
                # Nobody knows how many rounds there are; the one that the run is in is one of them.
                count = evaluation.found(running[binder.over]) + 1
            if isinstance(count, Open) or not 0 <= place < count:
                return True
            inside = inside.inside(binder.index.name, place)
        if inside.found(fact.guard) is not True:
            return True
        found = inside.found(fact.term)
        if isinstance(found, Open):
            return True
        if fact.kind is FactKind.HOLDS:
            return found is True
        key = (number, tuple(places[:-1]), _spelled(found))
        return seen.setdefault(key, places[-1]) == places[-1]


def _spelled(value: Any) -> str:
    """Equal for equal values, as far as that matters: True is 1."""
    if isinstance(value, bool | int | float) and value == value and value in (0, 1):
        value = int(value)
    return repr(value)
