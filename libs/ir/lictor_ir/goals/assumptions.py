"""What trusted calls promise about their results, at the indices where a goal reads them.

A promise about a result alone (`len(result) <= 10`) may be relied on anywhere. A promise that also speaks of arguments
or of other results counts only for what comes after the call: what was before it happened, whatever it promises. That
every call can keep its promises is shown by goals of their own (`lictor_ir.goals.promises`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final

from lictor_ir.document import Assumption, Atom, Binder, Document
from lictor_ir.errors import TermError, UnsupportedError
from lictor_ir.goals.known_facts import UnknownFacts
from lictor_ir.goals.occurrences import Point, at_or_before, before, in_bounds
from lictor_ir.scalars.expansion import Expander
from lictor_ir.terms import (
    TRUE,
    App,
    Result,
    Term,
    Var,
    and_,
    children,
    implies,
    or_,
    results,
    substitute,
)

MAX_INSTANCES: Final = 256
"""A promise is used at so many index tuples at most; leaving one out only proves less."""


@dataclass(frozen=True, slots=True)
class Instance:
    """A promise at chosen indices."""

    point: Point
    formula: Term
    """Expanded; it holds once the call returned."""
    own: bool
    """It speaks of the call's result alone."""


_ANYWHERE: Final = Point(0, (), ())


class Assumed:
    """The promises of one document."""

    def __init__(self, document: Document, expander: Expander) -> None:
        self._expander = expander
        self._atoms = {atom.id: (at, atom) for at, atom in enumerate(document.atoms)}
        self._by_call: dict[str, list[tuple[Assumption, bool]]] = {}
        self._unread: list[Assumption] = []
        self._about_items: set[str] = set()
        self._instances: dict[tuple[int, tuple[Term, ...]], Instance | None] = {}
        for assumption in document.assumptions:
            entry = self._atoms.get(assumption.call)
            if entry is None or assumption.binders[: len(entry[1].binders)] != entry[1].binders:
                continue  # nothing can be made of it: not relying on it is sound
            own = _speaks_of_result_alone(assumption, entry[1])
            self._by_call.setdefault(assumption.call, []).append((assumption, own))
            if len(assumption.binders) > len(entry[1].binders):
                self._about_items.add(assumption.call)
            if not own and not any(
                each.call == assumption.call for each in results(assumption.formula)
            ):
                self._unread.append(assumption)
        self._facts = UnknownFacts(document, expander)

    @property
    def calls(self) -> list[str]:
        """The calls that promise something, in order."""
        return sorted(self._by_call, key=lambda call: self._atoms[call][0])

    def point_of(self, result: Result) -> Point | None:
        """When the call of a result was made."""
        entry = self._atoms.get(result.call)
        if entry is None or len(entry[1].binders) != len(result.indices):
            return None
        return Point(entry[0], entry[1].binders, result.indices)

    def relevant(self, roots: Iterable[Term]) -> list[Instance]:
        """The promises about results that stand in the terms, and about those that stand in these promises."""
        if not self._by_call and not self._facts:
            return []
        reads = Reads()
        found: dict[tuple[int, tuple[Term, ...]], Instance] = {}
        fresh: Sequence[Term] = list(roots)
        while fresh:
            touched = reads.add(fresh) | (self._about_items if reads.new_items else set[str]())
            made: list[Term] = []
            for call in sorted(
                touched & self._by_call.keys(), key=lambda each: self._atoms[each][0]
            ):
                for assumption, own in self._by_call[call]:
                    for indices in self._choices(call, assumption, reads):
                        key = (id(assumption), indices)
                        if key in found:
                            continue
                        instance = self._instance(assumption, indices, own=own)
                        if instance is not None:
                            found[key] = instance
                            made.append(instance.formula)
            for key, formula in self._facts.about(touched, reads.results):
                if key not in found:
                    found[key] = Instance(_ANYWHERE, formula, own=True)
                    made.append(formula)
            fresh = made
        return list(found.values())

    def everywhere(self) -> list[Term]:
        """Every promise at the loops' own indices: what a whole run is made to keep, besides."""
        formulas: list[Term] = []
        for promises in self._by_call.values():
            for assumption, own in promises:
                indices = tuple(binder.index for binder in assumption.binders)
                instance = self._instance(assumption, indices, own=own)
                if instance is not None:
                    formulas.append(instance.formula)
        return formulas

    def of(self, call: str) -> list[Assumption]:
        """What a call promises."""
        return [assumption for assumption, _ in self._by_call[call]]

    def point(self, call: str) -> Point:
        """When a call is made, in the iteration of its loops' own indices."""
        at, atom = self._atoms[call]
        return Point(at, atom.binders, tuple(binder.index for binder in atom.binders))

    def without_result(self, before: int) -> list[Instance]:
        """Promises of earlier calls that read no result: nothing that is read would bring them in."""
        found: list[Instance] = []
        for assumption in self._unread:
            if self._atoms[assumption.call][0] < before:
                indices = tuple(binder.index for binder in assumption.binders)
                instance = self._instance(assumption, indices, own=False)
                if instance is not None:
                    found.append(instance)
        return found

    def _choices(
        self, call: str, assumption: Assumption, reads: Reads
    ) -> Iterator[tuple[Term, ...]]:
        count = len(self._atoms[call][1].binders)
        own, extra = assumption.binders[:count], assumption.binders[count:]
        for indices in list(reads.results.get(call, ()))[:MAX_INSTANCES]:
            if len(indices) != count:
                continue
            values: dict[Term, Term] = {
                binder.index: index for binder, index in zip(own, indices, strict=True)
            }
            for items in islice(_items(extra, values, reads), MAX_INSTANCES):
                yield (*indices, *items)

    def _instance(
        self, assumption: Assumption, indices: tuple[Term, ...], *, own: bool
    ) -> Instance | None:
        key = (id(assumption), indices)
        if key not in self._instances:
            self._instances[key] = self._made_instance(assumption, indices, own=own)
        return self._instances[key]

    def _made_instance(
        self, assumption: Assumption, indices: tuple[Term, ...], *, own: bool
    ) -> Instance | None:
        values: dict[Term, Term] = {
            binder.index: index
            for binder, index in zip(assumption.binders, indices, strict=True)
            if binder.index is not index
        }
        at, atom = self._atoms[assumption.call]
        condition = and_(
            in_bounds(assumption.binders, values), substitute(assumption.guard, values)
        )
        try:
            formula = self._expander.expand(
                implies(condition, substitute(assumption.formula, values))
            )
        except (UnsupportedError, TermError):
            return None
        return Instance(Point(at, atom.binders, indices[: len(atom.binders)]), formula, own)


def usable(instance: Instance, later: Sequence[Point], returned: Sequence[Point]) -> Term:
    """Whether the call returned, given that the later points are reached and the others have returned."""
    if instance.own:
        return TRUE
    return or_(
        *(before(instance.point, point) for point in later),
        *(at_or_before(instance.point, point) for point in returned),
    )


def _items(
    binders: Sequence[Binder], values: Mapping[Term, Term], reads: Reads
) -> Iterator[tuple[Term, ...]]:
    """The items that are read of the lists that the binders run over; those inside of others depend on them."""
    if not binders:
        yield ()
        return
    first, *rest = binders
    for index in list(reads.items.get(substitute(first.over, values), ())):
        for inner in _items(rest, {**values, first.index: index}, reads):
            yield (index, *inner)


class Reads:
    """Which results stand in terms, and at which indices lists are read."""

    def __init__(self) -> None:
        self.results: dict[str, dict[tuple[Term, ...], None]] = {}
        self.items: dict[Term, dict[Term, None]] = {}
        self.new_items = False
        """Whether the last terms read items of lists."""
        self._seen: set[Term] = set()

    def add(self, roots: Iterable[Term]) -> set[str]:
        """Look into more terms; the calls whose results stand in them and in none before."""
        self.new_items = False
        touched: set[str] = set()
        stack = list(roots)
        while stack:
            term = stack.pop()
            if term in self._seen:
                continue
            self._seen.add(term)
            if isinstance(term, Result):
                self.results.setdefault(term.call, {})[term.indices] = None
                touched.add(term.call)
            elif isinstance(term, App) and term.op == "at":
                self.items.setdefault(term.args[0], {})[term.args[1]] = None
                self.new_items = True
            stack.extend(children(term))
        return touched


def _speaks_of_result_alone(assumption: Assumption, atom: Atom) -> bool:
    own = tuple(binder.index for binder in atom.binders)
    rows = {binder.index for binder in assumption.binders[len(own) :]}
    stack: list[Term] = [assumption.formula]
    stack += [binder.over for binder in assumption.binders[len(own) :]]
    seen: set[Term] = set()
    while stack:
        term = stack.pop()
        if term in seen:
            continue
        seen.add(term)
        if isinstance(term, Result):
            if term.call != assumption.call or term.indices != own:
                return False
        elif isinstance(term, Var):
            if term not in rows:
                return False
        else:
            stack.extend(children(term))
    return True
