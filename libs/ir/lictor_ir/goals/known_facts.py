"""What a document says of its unknowns besides their types, at the iterations in which a goal reads them.

Facts about an unknown may be relied on wherever it is read. Computing it made them true, and where it was not computed,
it may be taken for whatever would.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from itertools import combinations, islice
from typing import Final

from lictor_ir.document import Binder, Document, Fact, FactKind
from lictor_ir.errors import TermError, UnsupportedError
from lictor_ir.goals.occurrences import in_bounds
from lictor_ir.scalars.expansion import Expander
from lictor_ir.terms import TRUE, Term, and_, const, eq, implies, not_, result, substitute
from lictor_ir.types import BOOL, INT, STR

MAX_INSTANCES: Final = 256
"""A fact is used in so many iterations, or pairs of them, at most; leaving one out only proves less."""

Places = Mapping[str, Collection[tuple[Term, ...]]]
FactKey = tuple[int, tuple[Term, ...]]


class UnknownFacts:
    """The facts of one document that hold of single iterations, or of two."""

    def __init__(self, document: Document, expander: Expander) -> None:
        self._expander = expander
        self._binders = {each.id: each.binders for each in document.unknowns}
        self._facts: dict[str, list[Fact]] = {}
        for fact in document.facts:
            self._facts.setdefault(fact.about, []).append(fact)

    def __bool__(self) -> bool:
        return bool(self._facts)

    def about(self, read: Collection[str], places: Places) -> Iterator[tuple[FactKey, Term]]:
        """What is known of these unknowns, at the indices at which they are read."""
        for name in sorted(self._facts.keys() & set(read)):
            binders = self._binders[name]
            known = [each for each in places.get(name, ()) if len(each) == len(binders)]
            for fact in self._facts[name]:
                pairs = fact.kind is FactKind.DISTINCT
                chosen = combinations(known, 2) if pairs else ((each,) for each in known)
                for each in islice(chosen, MAX_INSTANCES):
                    try:
                        formula = self._expander.expand(_instance(fact, binders, each))
                    except (UnsupportedError, TermError):
                        continue
                    yield (id(fact), sum(each, ())), formula


def _instance(
    fact: Fact, binders: tuple[Binder, ...], places: tuple[tuple[Term, ...], ...]
) -> Term:
    """What the fact says in an iteration, or of two."""
    if fact.first is not None:
        # From round to round is for goals about rounds; elsewhere it is known what the first begins with.
        ((*around, index),) = places
        values = {each.index: at for each, at in zip(binders, around, strict=False)}
        if fact.term.type not in (INT, BOOL, STR):
            return TRUE  # NaN is what it is, and equals nothing
        read = result(fact.about, fact.term.type, places[0])
        return implies(eq(index, const(0)), eq(read, substitute(fact.first, values)))
    conditions: list[Term] = []
    said: list[Term] = []
    for indices in places:
        values: dict[Term, Term] = {
            binder.index: index
            for binder, index in zip(binders, indices, strict=True)
            if binder.index is not index
        }
        conditions += [in_bounds(binders, values), substitute(fact.guard, values)]
        said.append(substitute(fact.term, values))
    if len(places) == 1:
        return implies(and_(*conditions), said[0])
    (*around, one), (*others, other) = places
    same = [*map(eq, around, others), not_(eq(one, other))]
    return implies(and_(*conditions, *same), not_(eq(*said)))
