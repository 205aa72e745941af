"""Goals as SMT-LIB text: the same text each time, and the same answer as asking Z3 directly."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import pytest
import z3

from lictor_ir.goals import Goal, GoalKind
from lictor_ir.regexes import ReAny, ReConcat, ReNotIn, ReRange, ReRepeat, ReText, ReUnion
from lictor_ir.solver.answers import Conclusion
from lictor_ir.solver.smtlib_lowering import script
from lictor_ir.solver.z3_lowering import decide
from lictor_ir.terms import Term, and_, apply, column, const, eq, ite, matches, not_, result, var
from lictor_ir.types import BOOL, FLOAT, INT, REAL, STR, EnumOf, ListOf, RowOf
from lictor_ir.values import EnumValue

B, X, Y, R, F, S = (
    var("b", BOOL),
    var("x", INT),
    var("odd |name\\", INT),
    var("r", REAL),
    var("f", FLOAT),
    var("s", STR),
)
ROWS = result("c1", ListOf(RowOf("User")), [X])
EMAIL = column(apply("at", ROWS, Y), "email", STR)
WORD = ReConcat((ReRange("a", "z"), ReRepeat(ReNotIn((ReRange("@", "@"),)), 1, None), ReAny()))

FORMULAS: dict[str, tuple[Term, ...]] = {
    "contradiction": (B, not_(B)),
    "division": (eq(apply("floordiv", X, const(-2)), const(-4)), eq(X, const(7))),
    "no division": (eq(apply("floordiv", X, const(-2)), const(-3)), eq(X, const(7))),
    "modulus": (eq(apply("mod", X, const(-3)), const(1)), apply("lt", X, const(9))),
    "sum": (eq(apply("add", X, Y), const(3)), apply("lt", const(3), X), apply("le", const(0), Y)),
    "product": (eq(apply("mul", X, const(3)), const(10)),),
    "reals": (eq(apply("rdiv", R, const(Fraction(1, 3))), const(Fraction(-3, 2))),),
    "floats": (eq(apply("add", F, const(0.1)), const(0.3)), apply("lt", F, const(0.2))),
    "nan": (apply("is_nan", F), eq(F, F)),
    "zeros": (eq(F, const(-0.0)), eq(apply("fdiv", const(1.0), F), const(math.inf))),
    "int and float": (apply("lt", X, const(2.5)), apply("lt", const(1.5), X)),
    "int and big float": (eq(X, const(2.0**60)), not_(eq(X, const(2**60)))),
    "nearest float": (apply("is_nan", apply("float_of_int", X)),),
    "escapes": (eq(S, const('\\u{61} "é\U0001f600\n')), eq(S, const("a"))),
    "concat": (eq(apply("concat", const("a"), S), const("ab")),),
    "parts": (
        apply("startswith", S, const("ab")),
        apply("endswith", S, const("ba")),
        eq(apply("len", S), const(3)),
    ),
    "find": (eq(apply("find", S, const("b"), const(0)), const(2)), apply("lt", S, const("b"))),
    "substring": (eq(apply("substring", S, const(1), const(1)), const("b")),),
    "text of int": (eq(apply("str_of_int", X), const("-7")), apply("lt", const(0), X)),
    "count": (eq(apply("count", S, const("a")), const(0)), apply("contains", S, const("a"))),
    "replace": (
        apply("contains", apply("replace", S, const("a"), const("b")), const("a")),
        eq(S, const("xax")),
    ),
    "regex": (matches(S, WORD), eq(S, const("ab@"))),
    "no match": (
        matches(S, ReUnion((ReText("a"), ReRepeat(ReText("b"), 0, 0)))),
        eq(S, const("b")),
    ),
    "rows": (eq(EMAIL, const("x")), apply("lt", apply("len", ROWS), const(1))),
    "other rows": (
        not_(eq(EMAIL, column(apply("at", ROWS, const(1)), "email", STR))),
        eq(Y, const(1)),
    ),
    "choice": (eq(ite(B, X, Y), const(1)), not_(eq(X, const(1))), B),
    "enums": (
        eq(var("e", EnumOf("Side")), const(EnumValue("Side", "buy"))),
        eq(var("e", EnumOf("Side")), const(EnumValue("Side", "sell"))),
    ),
}


def _goal(name: str) -> Goal:
    *given, refute = FORMULAS[name]
    return Goal(name, GoalKind.GUARANTEE, 0, tuple(given), refute)


@pytest.mark.parametrize("name", FORMULAS)
def test_z3_answers_the_text_as_it_answers_the_goal(name: str) -> None:
    parsed: Any = z3.Solver(ctx=z3.Context())
    parsed.set("timeout", 60_000)
    parsed.from_string(script(_goal(name)))
    direct = decide(_goal(name), 60_000, 1_024)
    outcomes = {"unsat": Conclusion.HOLDS, "sat": Conclusion.FAILS}
    assert direct.conclusion is not Conclusion.UNDECIDED
    assert outcomes[str(parsed.check())] is direct.conclusion


def test_the_text_is_the_same_each_time_and_declares_in_order() -> None:
    goal = Goal("both", GoalKind.GUARANTEE, 0, FORMULAS["rows"], and_(*FORMULAS["choice"]))
    assert script(goal) == script(goal)
    declared = [line for line in script(goal).splitlines() if line.startswith("(declare-fun")]
    assert declared == sorted(declared)
    assert len(declared) == 5


def test_a_deep_term_is_written_without_deep_brackets() -> None:
    counter: Term = const(0)
    for at in range(2_000):
        counter = ite(var(f"b{at}", BOOL), apply("add", counter, const(1)), counter)
    text = script(Goal("deep", GoalKind.GUARANTEE, 0, (), apply("lt", counter, const(0))))
    assert max(line.count("(") for line in text.splitlines()) < 10
