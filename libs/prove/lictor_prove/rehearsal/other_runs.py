"""A goal whose counterexample is a run unlike those that are known, for where chosen values seldom make one.

A run is decided by its inputs and by what its calls return. A run that differs from a known one has another input, or
another result of a call that the known one makes too. So if the goal holds, there is no other run.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from lictor_ir.document import Document, Obligation, ObligationKind
from lictor_ir.errors import UnsupportedError
from lictor_ir.evaluation.steps import Trace
from lictor_ir.solver.answers import result_types
from lictor_ir.terms import FALSE, Term, and_, const, eq, not_, result, var
from lictor_ir.types import NONE
from lictor_ir.values import Open, Value
from lictor_prove.proof.witness_candidates import value_term


def without_others(document: Document, known: Sequence[Trace]) -> Document:
    """The document with one obligation: its runs are the known ones. UnsupportedError when a value can't be said."""
    other = and_(*(not_(and_(*_values(document, trace))) for trace in known))
    none = Obligation(ObligationKind.ASSERTION, FALSE, "", other)
    return replace(document, obligations=(none,), guarantees=())


def _values(document: Document, trace: Trace) -> Iterator[Term]:
    """That inputs and results are those of the run."""
    for each in document.inputs:
        yield eq(var(each.name, each.type), _said(trace.inputs[each.name]))
    types = result_types(document)
    for step in trace.steps:
        if step.atom.fails:
            continue
        type_ = types[step.atom.id]
        if type_ != NONE:
            returned = result(step.atom.id, type_, [const(index) for index in step.indices])
            yield eq(returned, _said(step.result))


def _said(value: Value | Open) -> Term:
    term = None if isinstance(value, Open) else value_term(value)
    if term is None:
        raise UnsupportedError("a value of a run can't be said in a term")
    return term
