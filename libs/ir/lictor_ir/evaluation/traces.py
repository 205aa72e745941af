"""What a document says happens in one concrete run, and whether contracts hold of it: the oracle without a solver.

`run` is given the inputs and what each trusted call returns, and says which effects happen, in order. Everything that
proves, refutes or executes documents is held against it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Any, Final

from lictor_ir.document import Assumption, Atom, Binder, Document, Obligation
from lictor_ir.errors import UnspecifiedError
from lictor_ir.evaluation.term_values import Environment, Evaluation
from lictor_ir.evaluation.value_types import check_value
from lictor_ir.terms import Term
from lictor_ir.validation.document import validate
from lictor_ir.values import Value

MAX_STEPS: Final = 1_000_000
"""Calls and iterations of one run."""

Results = Callable[[str, tuple[int, ...], str, Mapping[str, Value]], Value]
"""What a call returns, by its id, its iteration, its effect and its arguments."""


@dataclass(frozen=True, slots=True)
class Step:
    """One trusted call that happened."""

    number: int
    """From 0, in order."""
    atom: Atom
    indices: tuple[int, ...]
    """The iteration of each loop around it."""
    arguments: Mapping[str, Value]
    events: tuple[tuple[str, Mapping[str, Value]], ...]
    """The events that it performs, with their fields."""
    updates: tuple[tuple[str, Value, Value], ...]
    """Fluent, key and value of what it sets."""
    result: Value

    @property
    def effect(self) -> str:
        """The trusted function."""
        return self.atom.effect


@dataclass(frozen=True, slots=True)
class Trace:
    """The effects of one run, in order."""

    document: Document
    inputs: Mapping[str, Value]
    steps: tuple[Step, ...]
    returned: Mapping[tuple[str, tuple[int, ...]], Value] = field(repr=False)

    def prefix(self, length: int) -> Trace:
        """The run as it stands when it ends after so many effects."""
        return replace(self, steps=self.steps[:length])

    def environment(self, indices: Mapping[str, int] | None = None) -> Environment:
        """What terms read in this run, in the iteration that the indices name."""
        return Environment({**self.inputs, **(indices or {})}, self._result)

    def at(self, step: Step) -> Environment:
        """What the terms of a step's atom read."""
        names = (binder.index.name for binder in step.atom.binders)
        return self.environment(dict(zip(names, step.indices, strict=True)))

    def _result(self, call: str, indices: tuple[int, ...]) -> Value:
        if (call, indices) not in self.returned:
            raise UnspecifiedError(f"{call} did not happen{f' in {indices}' if indices else ''}")
        return self.returned[call, indices]


def run(document: Document, inputs: Mapping[str, Value], results: Results) -> Trace:
    """What happens for these inputs, when calls return these results.

    UnspecifiedError when what happens rests on a value that is left open. A run in which an obligation fails
    (`failed_obligations`) or an assumption is broken (`broken_assumptions`) is none that guarantees speak about.
    """
    validate(document)
    for parameter in document.inputs:
        if parameter.name not in inputs:
            raise UnspecifiedError(f"the input {parameter.name} is not given")
        check_value(inputs[parameter.name], parameter.type, document, f"the input {parameter.name}")
    machine = _Machine(document, inputs, results)
    machine.block(document.atoms, 0, Evaluation(machine.trace.environment()))
    return replace(machine.trace, steps=tuple(machine.steps))


class _Machine:
    """Runs the atoms in order."""

    def __init__(self, document: Document, inputs: Mapping[str, Value], results: Results) -> None:
        self.steps: list[Step] = []
        self._returned: dict[tuple[str, tuple[int, ...]], Value] = {}
        self.trace = Trace(document, inputs, (), self._returned)
        self._results = results
        self._signatures = {effect.name: effect for effect in document.effects}
        self._left = MAX_STEPS

    def block(self, atoms: Sequence[Atom], depth: int, evaluation: Evaluation) -> None:
        """Runs atoms that share their first so many loops; loops can't be deep, so this may recurse."""
        for binder, group in groupby(atoms, lambda atom: _binder_at(atom, depth)):
            body = list(group)
            if binder is None:
                for atom in body:
                    self._call(atom, evaluation)
                continue
            count = _iterations(binder, evaluation)
            if count is None:
                _refuse_open_loop(body, evaluation)
            for index in range(count or 0):
                self._spend(binder.index.name)
                environment = evaluation.environment.extended(binder.index.name, index)
                self.block(body, depth + 1, Evaluation(environment))

    def _call(self, atom: Atom, evaluation: Evaluation) -> None:
        if not evaluation.holds(atom.guard):
            return
        self._spend(atom.id)
        variables = evaluation.environment.variables
        indices: tuple[Any, ...] = tuple(variables[binder.index.name] for binder in atom.binders)
        arguments = _values(atom.arguments, evaluation)
        events = tuple((each.event, _values(each.fields, evaluation)) for each in atom.events)
        updates = tuple(
            (each.fluent, evaluation.value(each.key), evaluation.value(each.value))
            for each in atom.updates
        )
        result = self._results(atom.id, indices, atom.effect, arguments)
        declared = self._signatures[atom.effect].result
        check_value(result, declared, self.trace.document, f"what {atom.id} returned")
        self._returned[atom.id, indices] = result
        self.steps.append(Step(len(self.steps), atom, indices, arguments, events, updates, result))

    def _spend(self, what: str) -> None:
        self._left -= 1
        if self._left < 0:
            raise UnspecifiedError(f"the run is longer than {MAX_STEPS} steps, at {what}")


def _binder_at(atom: Atom, depth: int) -> Binder | None:
    return atom.binders[depth] if depth < len(atom.binders) else None


def _iterations(binder: Binder, evaluation: Evaluation) -> int | None:
    """How often the loop runs; None when that is left open."""
    try:
        over = evaluation.value(binder.over)
    except UnspecifiedError:
        return None
    return over if isinstance(over, int) else len(over)


def _refuse_open_loop(atoms: Sequence[Atom], evaluation: Evaluation) -> None:
    # A loop over the result of a call that did not happen: nothing in it happens either, as its guards must say.
    for atom in atoms:
        if not evaluation.is_false(atom.guard):
            raise UnspecifiedError(f"{atom.id} stands in a loop whose length is left open")


def _values(terms: Mapping[str, Term], evaluation: Evaluation) -> dict[str, Value]:
    return {name: evaluation.value(term) for name, term in terms.items()}


# -- what a run rests on ---------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Broken:
    """An assumption or obligation that does not hold in a run."""

    number: int
    """Its place among the document's."""
    stated: Assumption | Obligation
    indices: tuple[int, ...]


def broken_assumptions(trace: Trace) -> tuple[Broken, ...]:
    """What the results of this run break; trusted calls promise that there is none."""
    return tuple(_broken(trace, trace.document.assumptions))


def failed_obligations(trace: Trace) -> tuple[Broken, ...]:
    """What this run does not meet: there the program would raise, or a call would refuse."""
    return tuple(_broken(trace, trace.document.obligations))


def _broken(trace: Trace, stated: Sequence[Assumption | Obligation]) -> Iterator[Broken]:
    outside = Evaluation(trace.environment())
    for number, each in enumerate(stated):
        for evaluation, indices in _each_iteration(each.binders, outside, each.guard, ()):
            if evaluation.holds(each.guard) and not evaluation.holds(each.formula):
                yield Broken(number, each, indices)


def _each_iteration(
    binders: Sequence[Binder], evaluation: Evaluation, guard: Term, indices: tuple[int, ...]
) -> Iterator[tuple[Evaluation, tuple[int, ...]]]:
    if not binders:
        yield evaluation, indices
        return
    count = _iterations(binders[0], evaluation)
    if count is None and not evaluation.is_false(guard):
        raise UnspecifiedError(f"the range of {binders[0].index.name} is left open")
    for index in range(count or 0):
        inside = evaluation.environment.extended(binders[0].index.name, index)
        yield from _each_iteration(binders[1:], Evaluation(inside), guard, (*indices, index))
