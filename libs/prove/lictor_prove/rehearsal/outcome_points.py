"""How the outcomes of a program's branches are taken: what holds of a run that took one.

Where unknowns decide, nobody can say beforehand which outcomes a run takes. What it has shown is looked at when it is
over. A table of terms travels with the plan for that.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from lictor_ir.document import Binder
from lictor_ir.errors import UnspecifiedError
from lictor_ir.evaluation.steps import Trace, iterations
from lictor_ir.evaluation.term_values import Evaluation
from lictor_ir.json.terms import TermWriter, read_terms
from lictor_ir.terms import Term
from lictor_ir.values import Open

MAX_ROUNDS: Final = 2_000
"""Rounds of a loop in which something is looked for."""


class OutcomePoint(NamedTuple):
    """One way in which an outcome is taken: a condition holds in some round of these loops."""

    outcome: int
    """Its number."""
    condition: Term
    binders: tuple[Binder, ...]


@dataclass(frozen=True, slots=True)
class OutcomePoints:
    """All ways in which the outcomes of one program are taken."""

    points: tuple[OutcomePoint, ...] = ()

    def taken(self, traces: Sequence[Trace], known: Collection[int]) -> frozenset[int]:
        """The outcomes, besides the known ones, that are taken in all of these: a run went one of these ways."""
        left = {each.outcome for each in self.points}.difference(known) if traces else set[int]()
        for trace in traces:
            outside = Evaluation(trace.environment(), trace.facts)
            left = {
                each.outcome
                for each in self.points
                if each.outcome in left and is_taken(each.condition, each.binders, outside)
            }
        return frozenset(left)

    def __reduce__(self) -> tuple[object, ...]:
        terms = [
            term
            for each in self.points
            for term in (
                each.condition,
                *(part for binder in each.binders for part in _parts(binder)),
            )
        ]
        writer = TermWriter(terms)
        rows = [
            [
                each.outcome,
                writer.ref(each.condition),
                [[writer.ref(part) for part in _parts(binder)] for binder in each.binders],
            ]
            for each in self.points
        ]
        return _read, (writer.rows, rows)


def _read(table: Any, rows: Sequence[Any]) -> OutcomePoints:
    terms: list[Any] = list(read_terms(table, ("outcomes",)))
    return OutcomePoints(
        tuple(
            OutcomePoint(
                outcome,
                terms[condition],
                tuple(Binder(terms[index], terms[over]) for index, over in binders),
            )
            for outcome, condition, binders in rows
        )
    )


def _parts(binder: Binder) -> tuple[Term, Term]:
    return binder.index, binder.over


def is_taken(condition: Term, binders: Sequence[Binder], outside: Evaluation) -> bool:
    """Whether the condition holds in some round of the loops, as far as is known."""
    return any(_holds(condition, inside) for inside in rounds(binders, outside))


def _holds(term: Term, evaluation: Evaluation) -> bool:
    try:
        return evaluation.holds(term)
    except UnspecifiedError:
        return False


def rounds(binders: Sequence[Binder], evaluation: Evaluation) -> Iterator[Evaluation]:
    """Each round of the loops; of those of which nobody knows how many there are, none."""
    if not binders:
        yield evaluation
        return
    count = iterations(binders[0], evaluation)
    for index in range(0 if isinstance(count, Open) else min(count, MAX_ROUNDS)):
        yield from rounds(binders[1:], evaluation.inside(binders[0].index.name, index))
