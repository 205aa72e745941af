"""Z3 is asked so that it keeps its time, and what is killed has decided nothing."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from typing import NoReturn

import pytest

from lictor_ir.goals import Goal, GoalKind
from lictor_ir.solver.answers import HOLDS, Answer, Conclusion, undecided
from lictor_ir.solver.solver_child import SolverChild, first_to_answer
from lictor_ir.solver.z3_process import decide, keeps_time
from lictor_ir.terms import Term, and_, apply, const, eq, not_, var
from lictor_ir.types import FLOAT, INT, STR

X, Y, S, F = var("x", INT), var("y", INT), var("s", STR), var("f", FLOAT)


def _goal(*formulas: Term) -> Goal:
    return Goal("t", GoalKind.GUARANTEE, 0, formulas[:-1], formulas[-1])


def never_in_time() -> Goal:
    """The square of a number of 5 000 digits: Z3 does not look at its clock while it multiplies."""
    return _goal(
        apply("lt", const(10**5_000), X), not_(apply("le", apply("mul", X, X), const(10**5_000)))
    )


def test_a_goal_over_which_z3_forgets_the_time_is_undecided_in_time() -> None:
    begun = time.monotonic()
    found = decide(never_in_time(), 1_000, 1_024)
    assert found.conclusion is Conclusion.UNDECIDED
    assert found.reason == "Z3 did not decide it within 1000 ms"
    assert time.monotonic() - begun < 60


def test_a_child_keeps_z3s_own_time_limit_too() -> None:
    """Z3's timer is a thread, which a fork does not copy."""
    assert decide(_goal(eq(X, const(3))), 1_000, 512).conclusion is Conclusion.FAILS
    cubes = [apply("mul", each, each, each) for each in (X, Y, var("z", INT))]
    positive = [apply("lt", const(0), each) for each in (X, Y, var("z", INT))]
    goal = _goal(*positive, eq(apply("add", cubes[0], cubes[1]), cubes[2]))
    found = decide(goal, 300, 512)
    assert found.conclusion is Conclusion.UNDECIDED
    assert "within 300 ms" in found.reason


@pytest.mark.parametrize(
    ("formula", "is_kept"),
    [
        (eq(X, const(3)), True),
        (apply("lt", apply("mul", X, const(7)), Y), True),
        (apply("lt", apply("mod", X, const(7)), Y), True),
        (apply("lt", apply("mul", X, Y), const(7)), False),
        (apply("lt", apply("floordiv", X, Y), const(7)), False),
        (apply("lt", X, const(10**5_000)), False),
        (eq(S, const("a")), True),
        (eq(S, const("a" * 5_000)), False),
        (apply("lt", apply("len", S), const(3)), False),
        (apply("lt", S, const("a")), False),
        (eq(S, apply("concat", S, var("t", STR))), False),
        (apply("lt", F, const(1.5)), False),
    ],
)
def test_what_z3_is_asked_in_this_process(formula: Term, *, is_kept: bool) -> None:
    assert keeps_time(_goal(formula), texts=False) is is_kept


def test_answers_are_the_same_from_a_child() -> None:
    assert decide(_goal(eq(S, const("ab")), eq(apply("len", S), const(3))), 5_000, 512) == Answer(
        Conclusion.HOLDS, how="z3"
    )
    found = decide(_goal(and_(eq(S, const("ab")), eq(apply("len", S), X))), 5_000, 512)
    assert found.model is not None
    assert found.model.variables() == {"s": "ab", "x": 2}


def _killed() -> Answer:
    os.kill(os.getpid(), signal.SIGKILL)
    return HOLDS


def _grown() -> Answer:
    return undecided(str(len(bytearray(4 << 30))), "")


def _failed() -> NoReturn:
    raise ValueError("too many digits")


def _stuck() -> NoReturn:
    while True:
        continue


@pytest.mark.parametrize(
    ("ask", "reason"),
    [
        (_killed, "Z3's process ended without an answer"),
        (_grown, "Z3 needs more than 256 MB"),
        (_failed, "Z3 failed: ValueError: too many digits"),
        (_stuck, "Z3 did not decide it within 100 ms"),
    ],
)
def test_whatever_becomes_of_a_child_decides_nothing(
    ask: Callable[[], Answer], reason: str
) -> None:
    with SolverChild("Z3", ask, 100, 256) as child:
        found = child.answer(0.3 if ask is _stuck else 30)
    assert found.conclusion is Conclusion.UNDECIDED
    assert found.reason == reason


def test_the_first_of_several_children_is_heard() -> None:
    with (
        SolverChild("one", _stuck, 100, 256) as slow,
        SolverChild("two", lambda: HOLDS, 100, 256) as quick,
    ):
        assert first_to_answer([slow, quick], 30) is quick
        assert quick.answer(30) == HOLDS
        assert first_to_answer([slow], 0.1) is None
