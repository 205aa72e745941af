"""What happened in one run: its trusted calls in order, and what terms read in it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace
from typing import Final

from lictor_ir.document import Atom, Binder, Document
from lictor_ir.errors import UnknownError, UnspecifiedError
from lictor_ir.evaluation.term_values import Environment, Evaluation, Facts
from lictor_ir.records import record
from lictor_ir.terms import Term, apply, const
from lictor_ir.types import INT
from lictor_ir.values import Open, Value

NOT_RETURNED: Final = Open("the call did not return")


@record()
class Step:
    """One trusted call that happened, or is about to."""

    number: int
    """From 0, in order."""
    atom: Atom
    indices: tuple[int, ...]
    """The iteration of each loop around it."""
    arguments: Mapping[str, Value]
    """Open where a declared unknown stands that nobody has seen; so with fields and values below."""
    events: tuple[tuple[str, Mapping[str, Value]], ...]
    """The events that it performs, with their fields."""
    updates: tuple[tuple[str, Value, Value], ...]
    """Fluent, key and value of what it sets."""
    result: Value | Open = NOT_RETURNED

    @property
    def is_certain(self) -> bool:
        """Whether it had its effect; a call that fails may have, or not."""
        return not self.atom.fails

    @property
    def effect(self) -> str:
        """The trusted function."""
        return self.atom.effect


@record()
class Trace:
    """The effects of one run, in order."""

    document: Document
    inputs: Mapping[str, Value]
    steps: tuple[Step, ...]
    returned: Mapping[tuple[str, tuple[int, ...]], Value] = field(repr=False)
    facts: Facts | None = field(default=None, repr=False)
    """What the run showed of declared unknowns."""

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

    def _result(self, call: str, indices: tuple[int, ...]) -> Value | Open:
        return result_of(self.document, self.returned, call, indices)


def result_of(
    document: Document,
    returned: Mapping[tuple[str, tuple[int, ...]], Value],
    call: str,
    indices: tuple[int, ...],
) -> Value | Open:
    """What a call returned; UnspecifiedError when it did not happen, Open for a declared unknown."""
    if (call, indices) in returned:
        return returned[call, indices]
    for unknown in document.unknowns:
        if unknown.id == call:
            return Open(f"{call} is unknown: {unknown.text}", declared=True)
    raise UnspecifiedError(f"{call} did not happen{f' in {indices}' if indices else ''}")


def iterations(binder: Binder, evaluation: Evaluation) -> int | Open:
    """How often the loop runs."""
    over = evaluation.found(binder.over)
    if isinstance(over, Open) and over.declared:
        over = _learned_length(binder, evaluation, over)
    return over if isinstance(over, int | Open) else len(over)


def each_iteration(
    binders: Sequence[Binder], evaluation: Evaluation, guard: Term, indices: tuple[int, ...] = ()
) -> Iterator[tuple[Evaluation, tuple[int, ...]]]:
    """Every choice of the loops' indices; UnspecifiedError when their number is left open where the guard may hold."""
    if not binders:
        yield evaluation, indices
        return
    count = iterations(binders[0], evaluation)
    if isinstance(count, Open) and not evaluation.is_false(guard):
        error = UnknownError if count.declared else UnspecifiedError
        raise error(f"the range of {binders[0].index.name} is left open")
    for index in range(0 if isinstance(count, Open) else count):
        inside = evaluation.inside(binders[0].index.name, index)
        yield from each_iteration(binders[1:], inside, guard, (*indices, index))


def _learned_length(binder: Binder, evaluation: Evaluation, over: Open) -> int | Open:
    """The length that the run has shown, of what is not known itself."""
    if binder.over.type != INT:
        return evaluation.found(apply("len", binder.over))
    return 0 if evaluation.found(apply("le", binder.over, const(0))) is True else over
