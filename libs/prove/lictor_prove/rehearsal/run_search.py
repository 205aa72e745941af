"""A search among runs of the real program: what it was answered in one of them is changed a little, and tried again.

Where declared unknowns decide, no evaluation and no solver says which answers lead to a call or break a guarantee. So
the program is run, and what it did is read from the run of the document that it fits. A run that made other calls than
those before it, or ended elsewhere, is kept, and the next ones are made of it. Answers keep what calls promise as far
as that is known beforehand; a run that breaks a promise all the same is dropped when it was made.
"""

from __future__ import annotations

import json
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise
from random import Random
from typing import Any, Final, cast

from lictor_ir.document import Atom, Document
from lictor_ir.errors import IrError
from lictor_ir.evaluation.steps import Step, Trace
from lictor_ir.terms import Const, Term, postorder
from lictor_ir.types import NONE
from lictor_ir.values import Open, RowValue, Value
from lictor_prove.errors import ValueRefused
from lictor_prove.rehearsal.changed_values import ChangedValues
from lictor_prove.rehearsal.chosen_values import CORNERS, MAX_CONSTANTS, Aims, ChosenRun, ValuePool
from lictor_prove.rehearsal.followed_runs import FollowedRun
from lictor_prove.rehearsal.orders import Answer, ObservedRun, PlannedRun
from lictor_prove.rehearsal.sample_texts import SampleText
from lictor_prove.written_values import written

MAX_PARENTS: Final = 64
MAX_ANSWERS: Final = 150
"""Of one function in one run."""
MAX_BYTES: Final = 64 * 1024
"""Of what one run is given."""
MAX_SEEN: Final = 200
NEUTRAL: Final = 0.2
"""How often a run that did nothing new is kept all the same: some places take several changes of which each shows
nothing."""
FAILS: Final = 0.3
"""How often a call fails instead of returning something else, where a program handles that."""
ALL_FAIL: Final = 0.1
"""How often every call of such a function fails."""
LAST: Final = 8
"""Parents that are taken most often: those that were kept last came furthest."""


@dataclass(frozen=True, slots=True)
class _Parent:
    """A run that others are made of."""

    trace: Trace
    run: PlannedRun


class RunSearch:
    """Makes runs of runs; `errors`: the classes that the program handles."""

    def __init__(
        self,
        document: Document,
        literals: Sequence[object],
        errors: Sequence[str],
        random: Random,
    ) -> None:
        guards = (atom.guard for atom in document.atoms)
        self._document = document
        self._pool = ValuePool(document, guards, literals)
        self._aims = self._aimed(literals[:MAX_CONSTANTS])
        self._near = self._aims
        self._errors = errors or ("RuntimeError",)
        self._random = random
        self._more = ChosenRun(
            self._pool, len(CORNERS), random, literals[:MAX_CONSTANTS]
        ).more_answers()
        """For functions that the runs before did not call."""
        self._failing = {atom.effect for atom in document.atoms if atom.fails}
        self._returning: Mapping[str, Atom] = {
            atom.effect: atom for atom in document.atoms if not atom.fails
        }
        self._parents: list[_Parent] = []
        self._reached: set[Hashable] = set()
        self._seen: set[Hashable] = set()
        self._numbers = sorted({each for each in literals if type(each) is int})
        self._made: set[str] = set()

    def aim_at(self, terms: Iterable[Term]) -> None:
        """Try the values more often that these name: conditions before a call, or what a guarantee says."""
        named = (term.value for term in postorder(*terms) if isinstance(term, Const))
        self._near = self._aimed(list(islice(named, MAX_CONSTANTS)))

    def _aimed(self, constants: Sequence[object]) -> Aims:
        return {**self._pool.aimed(constants), SampleText: self._pool.samples}

    def new_first(
        self, made: Iterable[tuple[PlannedRun, ObservedRun]], *, most_others: int
    ) -> list[tuple[PlannedRun, ObservedRun]]:
        """Runs that did what none did before them, the shortest first, then some others.

        Following a run takes longer than making it, and the longer, the more calls it makes.
        """
        new: list[tuple[PlannedRun, ObservedRun]] = []
        others: list[tuple[PlannedRun, ObservedRun]] = []
        for run, observed in sorted(made, key=lambda each: len(each[1].calls)):
            done = set(self._done(observed))
            (others if done <= self._seen else new).append((run, observed))
            self._seen |= done
        return [*new, *self._random.sample(others, min(most_others, len(others)))]

    def learn(self, run: PlannedRun, observed: ObservedRun, found: FollowedRun) -> None:
        """Keep a run that was made, mostly if it did what none did before it."""
        if found.difference or found.is_outside or not found.ways:
            return
        trace = found.ways[0]
        made = Counter(step.atom.id for step in trace.steps)
        reached = {
            *self._done(observed),
            *((call, times.bit_length()) for call, times in made.items()),
        }
        if reached <= self._reached and self._random.random() > NEUTRAL:
            return
        self._reached |= reached
        self._parents = [*self._parents, _Parent(trace, run)][-MAX_PARENTS:]

    def _done(self, observed: ObservedRun) -> Iterator[Hashable]:
        """What a run did: which calls, roughly how often, one after which, with which numbers, and where it ended.

        A number is told by where it stands among those of the program.
        """
        yield observed.ended, observed.line
        for effect, times in Counter(call.effect for call in observed.calls).items():
            yield effect, times.bit_length()
        for one, other in pairwise(observed.calls):
            yield "after", one.effect, other.effect
        for call in observed.calls:
            for name, value in call.arguments.items():
                if type(value) is int:
                    place = bisect_left(self._numbers, value), bisect_right(self._numbers, value)
                    yield call.effect, name, place

    def runs(self, count: int) -> tuple[PlannedRun, ...]:
        """The next runs, so many at most."""
        made: list[PlannedRun] = []
        for _ in range(3 * count if self._parents else 0):
            last = self._random.random() < 0.5
            parent = self._random.choice(self._parents[-LAST:] if last else self._parents)
            try:
                run = self._made_of(parent)
            except (ValueRefused, IrError, ArithmeticError):
                continue
            told = json.dumps([run.inputs, [[each.result, each.error] for each in run.answers]])
            if told in self._made or len(told) > MAX_BYTES:
                continue
            self._made.add(told)
            made.append(run)
            if len(made) == count:
                break
        return tuple(made)

    def _made_of(self, parent: _Parent) -> PlannedRun:
        """Another run, with some of what its calls return changed."""
        random, trace = self._random, parent.trace
        aims = random.choice((self._near, self._aims))
        change = ChangedValues(self._pool, random, list(_scalars(trace)), aims)
        inputs = dict(trace.inputs)
        open_steps = [step.number for step in trace.steps if self._is_open(step)]
        places: list[int | str] = [*open_steps, *inputs]
        chosen = (
            {random.choice(places) for _ in range(random.choice((1, 1, 2, 3)))} if places else ()
        )
        types = {each.name: each.type for each in self._document.inputs}
        for name in inputs:
            if name in chosen:
                inputs[name] = change.changed(types[name], inputs[name])
        answers: dict[str, list[Answer]] = {}
        returned: dict[tuple[str, tuple[int, ...]], Value] = {}
        for step in trace.steps:
            given = answers.setdefault(step.effect, [])
            if len(given) >= MAX_ANSWERS:
                continue
            # A failure seldom stays: what a call returns leads to more places than that it fails.
            fails = step.effect in self._failing and random.random() < (
                0.5 if step.atom.fails else FAILS * (step.number in chosen)
            )
            if fails:
                given.append(self._failure(step.effect))
                continue
            value = self._answer(step, change, is_changed=step.number in chosen)
            promised = self._pool.promised.get(step.atom.id)
            if promised is not None:
                value = promised.kept(value, step.indices, inputs, returned, change.drawn, random)
            returned[step.atom.id, step.indices] = value
            given.append(Answer(step.effect, written(value)))
        if self._failing and random.random() < ALL_FAIL:
            effect = random.choice(sorted(self._failing))
            answers[effect] = [self._failure(effect)]
        for effect, given in answers.items():
            # Those that were not asked for: the next run may ask for them.
            left = [each for each in parent.run.answers if each.effect == effect][len(given) :]
            given += left[: MAX_ANSWERS - len(given)]
        others = [each for each in (*parent.run.answers, *self._more) if each.effect not in answers]
        told = {name: written(value) for name, value in inputs.items()}
        every = [each for given in answers.values() for each in given]
        return PlannedRun(told, (*every, *others), in_order=False)

    def _is_open(self, step: Step) -> bool:
        """Whether what the call does may be another thing."""
        return step.effect in self._failing or self._pool.types[step.atom.id] != NONE

    def _answer(self, step: Step, change: ChangedValues, *, is_changed: bool) -> Value:
        if not step.atom.fails and not isinstance(step.result, Open):
            type_ = self._pool.types[step.atom.id]
            return change.changed(type_, step.result) if is_changed else step.result
        returning = self._returning.get(step.effect)
        return None if returning is None else change.drawn(self._pool.types[returning.id])

    def _failure(self, effect: str) -> Answer:
        return Answer(effect, None, self._random.choice(self._errors))


def _scalars(trace: Trace) -> Iterator[Any]:
    """The numbers and texts in a run, as far as there are not too many."""
    todo: list[Any] = [*trace.inputs.values(), *(step.result for step in trace.steps)]
    left = MAX_SEEN
    while todo and left:
        left -= 1
        match todo.pop():
            case RowValue(_, columns):
                todo.extend(columns.values())
            case list() | tuple() as items:  # pyright: ignore[reportUnknownVariableType]
                todo.extend(cast(Sequence[Any], items))
            case bool():
                pass
            case (int() | float() | str()) as value:
                yield value
            case _:
                pass
