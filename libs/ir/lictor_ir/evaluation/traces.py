"""What a document says happens in one concrete run, and whether contracts hold of it: the oracle without a solver.

`run` is given the inputs and what each trusted call returns, and says which effects happen, in order. Everything that
proves, refutes or executes documents is held against it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from lictor_ir.document import Assumption, Document, Obligation
from lictor_ir.errors import UnknownError
from lictor_ir.evaluation.possible_run import Chosen, PossibleRun
from lictor_ir.evaluation.steps import Trace, each_iteration
from lictor_ir.evaluation.term_values import Evaluation
from lictor_ir.values import Value

Results = Callable[[str, tuple[int, ...], str, Mapping[str, Value]], Value]
"""What a call returns, by its id, its iteration, its effect and its arguments."""


def run(
    document: Document,
    inputs: Mapping[str, Value],
    results: Results,
    *,
    most: int | None = None,
    chosen: Chosen | None = None,
) -> Trace:
    """What happens for these inputs, when calls return these results, and declared unknowns are what is chosen.

    UnspecifiedError when what happens rests on a value that is left open, or takes more steps than `most`. A run in
    which an obligation fails (`failed_obligations`) or an assumption is broken (`broken_assumptions`) is none that
    guarantees speak about.
    """
    way = PossibleRun.of(document, inputs, most=most, chosen=chosen)
    while True:
        if way.advance() is not None:
            raise UnknownError("a declared unknown decides which calls are made")
        if way.pending is None:
            return way.trace
        call = way.pending
        if way.fails:
            way.failed()
            continue
        way.returned(results(call.atom.id, call.indices, call.atom.effect, call.arguments))


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
    outside = Evaluation(trace.environment(), trace.facts)
    for number, each in enumerate(stated):
        for evaluation, indices in each_iteration(each.binders, outside, each.guard):
            if evaluation.holds(each.guard) and not evaluation.holds(each.formula):
                yield Broken(number, each, indices)
