"""The abstraction of a goal says only what is true of strings, and its models become strings of their lengths."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lictor_ir.goals import Goal, GoalKind
from lictor_ir.regexes import ReAny, ReConcat, ReRepeat, ReText
from lictor_ir.solver import z3_lowering
from lictor_ir.solver.answers import Answer, Conclusion
from lictor_ir.solver.z3_abstraction import Abstraction
from lictor_ir.solver.z3_process import decide_abstraction
from lictor_ir.terms import Const, Term, and_, apply, const, eq, matches, not_, substitute, var
from lictor_ir.types import BOOL, INT, STR, Type

S, T, N = var("s", STR), var("t", STR), var("n", INT)
OPERATORS: dict[Type, list[tuple[str, tuple[Type, ...]]]] = {
    STR: [
        ("concat", (STR, STR)),
        ("concat", (STR, STR, STR)),
        ("substring", (STR, INT, INT)),
        ("replace", (STR, STR, STR)),
        ("str_of_int", (INT,)),
    ],
    INT: [
        ("len", (STR,)),
        ("find", (STR, STR, INT)),
        ("count", (STR, STR)),
        ("add", (INT, INT)),
        ("sub", (INT, INT)),
    ],
    BOOL: [
        ("contains", (STR, STR)),
        ("startswith", (STR, STR)),
        ("endswith", (STR, STR)),
        ("eq", (STR, STR)),
        ("lt", (STR, STR)),
        ("le", (STR, STR)),
        ("lt", (INT, INT)),
    ],
}
VALUES: dict[Type, st.SearchStrategy[Any]] = {
    STR: st.text("ab", max_size=4),
    INT: st.integers(-3, 6) | st.sampled_from([99, 100, -100, 10**20, -(10**15)]),
    BOOL: st.booleans(),
}


def _goal(*formulas: Term) -> Goal:
    return Goal("t", GoalKind.GUARANTEE, 0, formulas[:-1], formulas[-1])


def _abstracted(*formulas: Term) -> Answer:
    return z3_lowering.decide(_goal(*formulas), 5_000, 512, Abstraction)


@st.composite
def terms(draw: st.DrawFn, type_: Type, depth: int) -> tuple[Term, dict[Term, Term]]:
    """A term of the type, and values of its variables."""
    if depth == 0:
        value = draw(VALUES[type_])
        variable = var(f"x {value!r}", type_)
        return variable, {variable: const(value)}
    op, wanted = draw(st.sampled_from(OPERATORS[type_]))
    made = [
        draw(terms(each, draw(st.integers(0, depth - 1)) if each != BOOL else 0)) for each in wanted
    ]
    return apply(op, *(term for term, _ in made)), {
        k: v for _, each in made for k, v in each.items()
    }


@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.lists(
        st.sampled_from([STR, INT, BOOL]).flatmap(lambda type_: terms(type_, 2)),
        min_size=1,
        max_size=3,
    )
)
def test_what_is_so_is_never_held_to_be_impossible(
    cases: list[tuple[Term, dict[Term, Term]]],
) -> None:
    """Variables have their values, and each term the value that it has then: the abstraction must have a model."""
    formulas: list[Term] = []
    for term, values in cases:
        expected = substitute(term, values)
        assert isinstance(expected, Const)
        formulas += [eq(name, value) for name, value in values.items()]
        formulas.append(
            eq(term, expected) if term.type != BOOL else term if expected.value else not_(term)
        )
        if term.type == STR:
            formulas.append(eq(apply("len", term), apply("len", expected)))
    assert _abstracted(*formulas).conclusion is not Conclusion.HOLDS, cases


@pytest.mark.parametrize("text", ["", "a", "ab", "aXb"])
def test_a_match_is_never_held_to_be_impossible(text: str) -> None:
    regex = ReConcat((ReText("a"), ReRepeat(ReAny(), 0, 2)))
    for wanted in (matches(S, regex), not_(matches(S, regex))):
        assert _abstracted(eq(S, const(text)), wanted).conclusion is Conclusion.FAILS


def test_lengths_of_what_is_joined_add_up() -> None:
    whole = apply("concat", const("Dear "), S, const(", "), T)
    short = [apply("le", apply("len", each), const(200)) for each in (S, T)]
    assert (
        _abstracted(*short, apply("lt", const(407), apply("len", whole))).conclusion
        is Conclusion.HOLDS
    )
    assert (
        _abstracted(*short, apply("lt", const(406), apply("len", whole))).conclusion
        is Conclusion.FAILS
    )


@pytest.mark.parametrize("length", [10, 500, 5_000, 50_000])
def test_a_model_is_strings_of_the_lengths_that_it_names(length: int) -> None:
    whole = apply("concat", S, const(", "), T)
    formulas = (
        apply("lt", const(length), apply("len", whole)),
        apply("startswith", S, const("Dr ")),
        apply("endswith", T, const("!")),
        apply("contains", T, const("@")),
        not_(eq(S, T)),
    )
    found = decide_abstraction(_goal(*formulas), 5_000, 512)
    assert found is not None
    assert found.conclusion is Conclusion.FAILS
    assert found.candidate
    assert found.model is not None
    values: dict[Term, Term] = {}
    for each in (S, T):
        made = found.model.variables()[each.name]
        assert isinstance(made, str)
        values[each] = const(made)
    assert substitute(and_(*formulas), values) == const(True)


def test_only_what_keeps_its_time_is_decided_by_abstraction_here() -> None:
    cube = apply("mul", N, N, N)
    assert decide_abstraction(_goal(eq(cube, apply("len", S))), 1_000, 512) is None
    assert decide_abstraction(_goal(eq(N, const(3))), 1_000, 512) is None


@pytest.mark.parametrize(("start", "count"), list(product([-1, 0, 1, 3, 4], [-1, 0, 1, 3, 9])))
def test_a_part_of_a_string_is_as_long_as_it_is(start: int, count: int) -> None:
    part = apply("substring", S, const(start), const(count))
    size = apply("len", part)
    known = len("abc"[start : start + max(0, count)]) if start >= 0 else 0
    three = eq(apply("len", S), const(3))
    assert _abstracted(three, not_(eq(size, const(known)))).conclusion is Conclusion.HOLDS
