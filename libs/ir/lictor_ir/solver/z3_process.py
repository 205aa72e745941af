"""Asks Z3 so that it keeps its time: where its own limit may not hold, in a child process that is killed.

Z3 looks at its clock between steps, and a step over strings, floats, products or very long numbers may take minutes.
Linear arithmetic and equality keep their time, so they are decided here: a child costs some milliseconds.
"""

from __future__ import annotations

from fractions import Fraction
from importlib import import_module
from typing import Final

from lictor_ir.goals.goal import Goal
from lictor_ir.places import place, solver_order
from lictor_ir.solver import z3_lowering
from lictor_ir.solver.answers import HOLDS, Answer, Conclusion
from lictor_ir.solver.solver_child import SLACK_S, SolverChild
from lictor_ir.solver.z3_abstraction import Abstraction
from lictor_ir.terms import FALSE, App, Const, Matches
from lictor_ir.types import FLOAT, STR

LONG: Final = 1 << 256
"""Numbers from here on are long."""
LONG_TEXT: Final = 1_000


def decide(goal: Goal, timeout_ms: int, memory_mb: int) -> Answer:
    """What Z3 says about a goal within the time; a child that is killed has decided nothing."""
    if goal.refute is FALSE:
        return HOLDS
    if keeps_time(goal, texts=False):
        return z3_lowering.decide(goal, timeout_ms, memory_mb)
    with z3_child(goal, timeout_ms, memory_mb) as child:
        return child.answer(timeout_ms / 1000 + SLACK_S)


def z3_child(goal: Goal, timeout_ms: int, memory_mb: int) -> SolverChild:
    """A child in which Z3 is asked about a goal: the abstraction first, where nobody did that before."""
    import_module(z3_lowering.NAME)  # before the fork, so that it is loaded once

    def ask() -> Answer:
        if has_texts(goal) and not keeps_time(goal, texts=True):
            abstracted = z3_lowering.decide(goal, timeout_ms // 2, memory_mb, Abstraction)
            if abstracted.conclusion is Conclusion.HOLDS:
                return abstracted
        return z3_lowering.decide(goal, timeout_ms, memory_mb)

    return SolverChild("Z3", ask, timeout_ms, memory_mb)


def decide_abstraction(goal: Goal, timeout_ms: int, memory_mb: int) -> Answer | None:
    """What Z3 says about the goal's abstraction; None when that says nothing, or might not come in time."""
    if not has_texts(goal) or not keeps_time(goal, texts=True):
        return None
    return z3_lowering.decide(goal, timeout_ms, memory_mb, Abstraction)


def has_texts(goal: Goal) -> bool:
    """Whether there are strings in it."""
    return any(term.type == STR for term in solver_order(*goal.given, goal.refute))


def keeps_time(goal: Goal, *, texts: bool) -> bool:
    """Whether Z3 keeps its time limit; `texts`: strings do not count, as in an abstraction.

    Otherwise strings may only be compared for equality: nothing is built of them then.
    """
    for term in solver_order(*goal.given, goal.refute):
        if term.type == FLOAT or (isinstance(term, Const) and _is_long(term.value)):
            return False
        if isinstance(term, Matches) and not texts:
            return False
        if isinstance(term, App) and place(term) is None:
            if not _is_linear(term):
                return False
            if not texts and term.op not in ("eq", "ite") and _reads_texts(term):
                return False
    return True


def _reads_texts(term: App) -> bool:
    return term.type == STR or any(each.type == STR for each in term.args)


def _is_long(value: object) -> bool:
    match value:
        case int():
            return abs(value) >= LONG
        case str():
            return len(value) > LONG_TEXT
        case Fraction():
            return max(abs(value.numerator), value.denominator) >= LONG
        case _:
            return False


def _is_linear(term: App) -> bool:
    if term.op == "mul":
        return sum(not isinstance(each, Const) for each in term.args) <= 1
    return term.op not in ("floordiv", "mod", "rdiv") or isinstance(term.args[1], Const)
