"""Which call sites and branch outcomes of a program runs of its document reach, and what a run breaks.

A site that no atom of the document stands at, and an outcome whose condition folds to false on every path, are
unreachable as the front-end sees it: if Python comes there all the same, its calls differ from what is predicted.
What stands in a helper counts once for each way through calls of helpers that leads there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Final

from lictor_ir.document import Assumption, Atom, Binder, Document, Obligation
from lictor_ir.errors import UnspecifiedError
from lictor_ir.evaluation.steps import Trace
from lictor_ir.evaluation.term_values import Evaluation
from lictor_ir.terms import FALSE, Term, and_, not_
from lictor_prove.python.machine.program_shape import (
    BranchPoint,
    ProgramShape,
    Spot,
    told_apart,
)
from lictor_prove.rehearsal.outcome_points import MAX_ROUNDS, OutcomePoint, is_taken, rounds

Site = Spot
Outcome = tuple[Spot, bool]
"""A branch, and whether its condition holds."""
Place = Site | Outcome

MAX_POINTS: Final = 4_000
"""Branch points that are looked at; unrolled loops have many for one branch."""


class Places:
    """The sites and outcomes of one program, and which are reached or can't be."""

    def __init__(self, document: Document, shape: ProgramShape) -> None:
        stands = {
            atom.id: Spot(atom.span, shape.via_of.get(atom.id, ()))
            for atom in document.atoms
            if atom.span is not None
        }
        sites = told_apart((*shape.sites, *stands.values()))
        self.site_of = {call: sites[spot] for call, spot in stands.items()}
        self.atoms: dict[Site, list[Atom]] = {
            site: [] for site in sorted(set(sites.values()), key=_order)
        }
        for atom in document.atoms:
            if atom.id in stands:
                self.atoms[self.site_of[atom.id]].append(atom)
        branches = told_apart(point.spot for point in shape.branches)
        self.points: dict[Spot, list[BranchPoint]] = {}
        for point in shape.branches:
            self.points.setdefault(branches[point.spot], []).append(point)
        self._few = len(shape.branches) <= MAX_POINTS
        self.reached: set[Place] = set()
        self.unreachable: set[Place] = {site for site, atoms in self.atoms.items() if not atoms}
        self.unreachable |= {
            (spot, outcome)
            for spot, points in self.points.items()
            for outcome in (True, False)
            if all(_is_impossible(point, outcome) for point in points)
        }
        obligations = {spot for spot, points in self.points.items() if points[0].must_hold}
        self.has_folded = any(
            isinstance(place, Spot) or place[0] not in obligations for place in self.unreachable
        )
        """Whether the front-end alone says of a place that no run comes there."""

    @property
    def sites(self) -> Sequence[Site]:
        """Every call site."""
        return tuple(self.atoms)

    @property
    def outcomes(self) -> Sequence[Outcome]:
        """Both outcomes of every branch."""
        return tuple((spot, outcome) for spot in self.points for outcome in (True, False))

    def open(self) -> list[Place]:
        """What is not reached and may be reachable: sites first."""
        known = self.reached | self.unreachable
        return [place for place in (*self.sites, *self.outcomes) if place not in known]

    def ways_to(self, place: Place) -> Iterator[tuple[Term, tuple[Binder, ...], str | None]]:
        """The conditions under which a place is reached, one for each path: with its loops, and the call there."""
        if isinstance(place, Spot):
            for atom in self.atoms[place]:
                yield atom.guard, atom.binders, atom.id
            return
        spot, outcome = place
        for point in self.points[spot]:
            if not _is_impossible(point, outcome):
                yield _condition(point, outcome), point.binders, None

    def outcome_points(self) -> Iterator[OutcomePoint]:
        """How each outcome is taken that may be reachable, by the numbers of `outcomes`."""
        for number, place in enumerate(self.outcomes):
            if place not in self.unreachable:
                ways = self.ways_to(place)
                for condition, binders, _ in ways if self._few else islice(ways, 1):
                    yield OutcomePoint(number, condition, binders)

    def of(self, trace: Trace) -> set[Place]:
        """The places that a run reaches and none before it did; its sites in any case."""
        found: set[Place] = {
            self.site_of[step.atom.id] for step in trace.steps if step.atom.id in self.site_of
        }
        missing = {place for place in self.open() if not isinstance(place, Spot)}
        outside = Evaluation(trace.environment())
        for spot in dict.fromkeys(place[0] for place in missing):
            for point in self.points[spot] if self._few else self.points[spot][:1]:
                for outcome in (True, False):
                    condition = _condition(point, outcome)
                    if (spot, outcome) in missing and is_taken(condition, point.binders, outside):
                        found.add((spot, outcome))
                        missing.discard((spot, outcome))
        return found


def _order(spot: Spot) -> list[tuple[int, int]]:
    return [(each.line, each.column) for each in (spot.span, *spot.via)]


def _condition(point: BranchPoint, outcome: bool) -> Term:
    return and_(point.guard, point.condition if outcome else not_(point.condition))


def _is_impossible(point: BranchPoint, outcome: bool) -> bool:
    return (point.must_hold and not outcome) or _condition(point, outcome) is FALSE


def first_broken(
    trace: Trace, stated: Sequence[Assumption] | Sequence[Obligation]
) -> Assumption | Obligation | None:
    """The first of these that a run does not keep. UnspecifiedError when it is not known, or takes long to find out."""
    outside = Evaluation(trace.environment())
    left = MAX_ROUNDS
    for each in stated:
        for inside in rounds(each.binders, outside):
            left -= bool(each.binders)
            if left < 0:
                raise UnspecifiedError("it takes too many rounds to find out what the run breaks")
            if inside.holds(each.guard) and not inside.holds(each.formula):
                return each
    return None
