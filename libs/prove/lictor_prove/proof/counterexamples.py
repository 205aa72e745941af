"""Confirms what a solver says by running the document, and describes such a run so that a person can follow it.

A solver's model is a candidate. Only a run that evaluation confirms, in which every promise of trusted calls is kept
and the thing in question is broken, refutes anything.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from itertools import groupby
from typing import Any, Final

from lictor_ir.contracts import Anything, Contract, leaves
from lictor_ir.document import Document, Obligation
from lictor_ir.errors import IrError
from lictor_ir.evaluation import (
    Environment,
    Step,
    Trace,
    broken_assumptions,
    failed_obligations,
    holds,
    run,
)
from lictor_ir.evaluation.steps import each_iteration
from lictor_ir.evaluation.term_values import Evaluation
from lictor_ir.goals import Goal, GoalKind, Strength
from lictor_ir.goals.contract_strength import strength
from lictor_ir.solver.answers import Filled, SolverModel
from lictor_ir.spelling.readable_values import value_text
from lictor_ir.terms import TRUE, App, Const, Matches, Result, Term, Var
from lictor_ir.values import Value
from lictor_prove.proof.kept_answers import kept_results
from lictor_prove.proof.result import Counterexample, Happening

MAX_TOLD: Final = 40
"""Calls, inputs and results that a counterexample shows."""
MAX_TEXT: Final = 120
MAX_STEPS: Final = 100_000
"""Calls and iterations of a run that is tried; one that is longer is not tried to its end."""


_FAILS: Final = "nothing: the call fails"


class Candidate:
    """A run that may break something.

    `unread`: calls that promise more than the document says. What they return may be what they promise not to, so
    nothing is confirmed by a run that makes one.
    """

    def __init__(
        self, document: Document, model: SolverModel, unread: Collection[str] = ()
    ) -> None:
        self._document = document
        self._unread = unread
        self.is_doubted = False
        """Whether it would break something, if calls did not promise more than the document says."""
        self._model = model
        self._filled = Filled(document, model)
        self._trace: Trace | None = None
        try:
            results = kept_results(document, self._filled)
            trace = run(document, self._filled.inputs, results, most=MAX_STEPS)
            if not broken_assumptions(trace):
                self._trace = trace
                self._failed = {broken.number for broken in failed_obligations(trace)}
        except (IrError, ArithmeticError, TypeError):
            self._trace = None

    def breaks(self, goal: Goal) -> Counterexample | None:
        """The run as a counterexample, if it breaks what the goal is about."""
        try:
            guarantees = goal.kind is GoalKind.GUARANTEE
            run = self._breaks_guarantee(goal) if guarantees else self._breaks_obligation(goal)
        except (IrError, ArithmeticError, TypeError):
            return None
        if run is None or not self._makes_unread_calls():
            return run
        self.is_doubted = True
        return None

    def _makes_unread_calls(self) -> bool:
        if self._trace is None:
            return bool(self._unread)
        return any(step.atom.id in self._unread for step in self._trace.steps)

    def _breaks_guarantee(self, goal: Goal) -> Counterexample | None:
        # Guarantees are not about a run that fails elsewhere; its own goal says so.
        if self._trace is None or self._failed:
            return None
        guarantee = self._document.guarantees[goal.subject]
        part = _part(guarantee.contract, goal.id)
        if holds(part, self._trace):
            return None
        offending = _offending(part, self._trace, goal)
        return self._told(f"{guarantee.name} is broken", self._trace.steps, offending)

    def _breaks_obligation(self, goal: Goal) -> Counterexample | None:
        obligation = self._document.obligations[goal.subject]
        where = f" in line {obligation.span.line}" if obligation.span is not None else ""
        if self._trace is not None and goal.subject in self._failed:
            return self._told(f"{obligation.text}{where} does not hold", self._trace.steps, set())
        if self._trace is None and self._fails_directly(obligation):
            return self._told(f"{obligation.text}{where} does not hold", (), set())
        return None

    def _fails_directly(self, obligation: Obligation) -> bool:
        """For runs that can't go on: the path to the obligation is taken, it fails, and no promise is broken."""
        variables: Mapping[str, Any] = {**self._model.variables(), **self._filled.inputs}
        evaluation = Evaluation(Environment(variables, self._filled.read))
        around = {binder.index for binder in obligation.binders}
        for assumption in self._document.assumptions:
            # In the loops around the obligation the model says which iteration; of other indices, all count.
            others = [each for each in assumption.binders if each.index not in around]
            for inside, _ in each_iteration(others, evaluation, assumption.guard):
                if inside.is_false(assumption.formula) and not inside.is_false(assumption.guard):
                    return False
        for binder in obligation.binders:
            count = evaluation.value(binder.over)
            size = count if isinstance(count, int) else len(count)
            if not 0 <= evaluation.value(binder.index) < size:
                return False
        return evaluation.holds(obligation.guard) and evaluation.is_false(obligation.formula)

    def _told(self, summary: str, steps: tuple[Step, ...], offending: set[int]) -> Counterexample:
        return _counterexample(summary, self._filled.inputs, steps, offending)


def told_run(summary: str, part: Contract, trace: Trace) -> Counterexample:
    """A run that breaks a part of a contract, as a counterexample."""
    about = {step.number for step in trace.steps}
    at_end = strength(part) is Strength.ON_COMPLETION
    offending = set[int]() if at_end else _first_offending(part, trace, about)
    return _counterexample(summary, trace.inputs, trace.steps, offending)


def _counterexample(
    summary: str, inputs: Mapping[str, Value], steps: tuple[Step, ...], offending: set[int]
) -> Counterexample:
    chosen = [step for step in steps if not offending or step.number <= max(offending)]
    path = _in_rows(_happening(step, offending) for step in chosen)
    told = path
    if len(path) > MAX_TOLD:
        ends = {*range(MAX_TOLD // 2), *range(len(path) - MAX_TOLD // 2, len(path))}
        told = [each for at, each in enumerate(path) if at in ends or each.offending]
    results = [
        (f"{step.effect} ({step.atom.id})", _FAILS if step.atom.fails else value_text(step.result))
        for step in chosen
        if step.result is not None
    ]
    return Counterexample(
        summary,
        tuple((name, value_text(value)) for name, value in sorted(inputs.items()))[:MAX_TOLD],
        tuple(results[:MAX_TOLD]),
        tuple(told),
        sum(each.times for each in path) - sum(each.times for each in told),
    )


def _happening(step: Step, offending: set[int]) -> Happening:
    return Happening(
        step.effect,
        tuple((name, value_text(value)) for name, value in step.arguments.items()),
        step.atom.span.line if step.atom.span is not None else None,
        "" if step.atom.guard is TRUE else said(step.atom.guard),
        step.number in offending,
    )


def _in_rows(path: Iterable[Happening]) -> list[Happening]:
    """Equal calls in a row are shown once, with how often."""
    return [replace(each, times=sum(1 for _ in group)) for each, group in groupby(path)]


def _part(contract: Contract, goal_id: str) -> Contract:
    parts = [part for part in leaves(contract) if not isinstance(part, Anything)]
    return parts[int(goal_id.rpartition(".")[2])]


def _offending(contract: Contract, trace: Trace, goal: Goal) -> set[int]:
    """The call with which it breaks; for what only counts at the end, the calls that it is about."""
    about = {step.number for step in trace.steps if step.atom.id in goal.atoms}
    if goal.strength is Strength.ON_COMPLETION:
        return set(sorted(about)[:MAX_TOLD])
    return _first_offending(contract, trace, about)


def _first_offending(contract: Contract, trace: Trace, about: set[int]) -> set[int]:
    if len(trace.steps) > 5 * MAX_TOLD:
        return set(sorted(about)[:MAX_TOLD])
    for length in range(1, len(trace.steps) + 1):
        try:
            if not holds(contract, trace.prefix(length)):
                return {length - 1}
        except IrError:
            continue
    return about


# -- for people ------------------------------------------------------------------------------------


_INFIX: Final = {
    "eq": "==",
    "lt": "<",
    "le": "<=",
    "add": "+",
    "sub": "-",
    "mul": "*",
    "floordiv": "//",
    "mod": "%",
    "and": "and",
    "or": "or",
    "in": "in",
    "concat": "+",
    "fdiv": "/",
    "rdiv": "/",
}


def said(term: Term, depth: int = 4) -> str:
    """A formula as a person would write it, cut where it gets long."""
    text = _said(term, depth)
    return text if len(text) <= MAX_TEXT else text[:MAX_TEXT] + "…"


def _said(term: Term, depth: int) -> str:
    if depth == 0:
        return "…"
    match term:
        case Const():
            return value_text(term.value)
        case Var():
            return term.name
        case Result():
            return term.call
        case Matches():
            return f"{_said(term.text, depth - 1)} matches"
        case App(op="not"):
            return f"not {_said(term.args[0], depth - 1)}"
        case App(op="column"):
            return f"{_said(term.args[0], depth)}.{term.param.partition(':')[0]}"
        case App(op="at"):
            return f"{_said(term.args[0], depth)}[{_said(term.args[1], depth - 1)}]"
        case App(op=op) if op in _INFIX:
            parts = [_said(arg, depth - 1) for arg in term.args[:4]]
            more = [] if len(term.args) <= 4 else ["…"]
            whole = f" {_INFIX[op]} ".join([*parts, *more])
            return whole if depth == 4 or op in ("eq", "lt", "le") else f"({whole})"
        case App(op=op):
            return f"{op}({', '.join(_said(arg, depth - 1) for arg in term.args[:4])})"
        case _:
            return "…"
