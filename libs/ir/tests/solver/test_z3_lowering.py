"""Z3 computes what the operators mean: random terms over known values, decided both ways."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lictor_ir.forked_child import Forked, Tell
from lictor_ir.goals import Goal, GoalKind
from lictor_ir.regexes import (
    ReAny,
    ReConcat,
    Regex,
    ReNothing,
    ReNotIn,
    ReRange,
    ReRepeat,
    ReText,
    ReUnion,
    full_match,
)
from lictor_ir.scalars.expansion import Expander
from lictor_ir.solver.answers import Conclusion
from lictor_ir.solver.z3_lowering import decide
from lictor_ir.terms import (
    Const,
    Term,
    and_,
    apply,
    column,
    const,
    eq,
    ite,
    matches,
    not_,
    result,
    substitute,
    var,
    variables,
)
from lictor_ir.types import BOOL, FLOAT, INT, REAL, STR, ListOf, RowOf, Type

TEXTS = ["", "a", "ab", "aab", "\\u{61}", 'say "hi"\n', "é\\", "\U0001f600", "\\x41"]
VALUES: dict[Type, st.SearchStrategy[Any]] = {
    BOOL: st.booleans(),
    INT: st.sampled_from([-7, -2, -1, 0, 1, 2, 3, 10, 2**53 + 1]),
    REAL: st.sampled_from([Fraction(0), Fraction(-3, 2), Fraction(1, 3), Fraction(2)]),
    FLOAT: st.sampled_from(
        [0.0, -0.0, 1.0, -2.5, 0.1, 3.0, math.inf, -math.inf, math.nan, 2.0**53, 5e-324, 1e308]
    ),
    STR: st.sampled_from(TEXTS),
}
OPS: dict[Type, list[tuple[str, tuple[Type, ...]]]] = {
    BOOL: [
        ("not", (BOOL,)),
        ("and", (BOOL, BOOL)),
        ("or", (BOOL, BOOL)),
        *(("eq", (one, other)) for one in VALUES for other in VALUES),
        *(
            (op, pair)
            for op in ("lt", "le")
            for pair in [
                (INT, INT),
                (REAL, REAL),
                (FLOAT, FLOAT),
                (STR, STR),
                (INT, FLOAT),
                (FLOAT, INT),
                (INT, REAL),
                (REAL, INT),
            ]
        ),
        ("is_nan", (FLOAT,)),
        ("is_inf", (FLOAT,)),
        ("contains", (STR, STR)),
        ("startswith", (STR, STR)),
        ("endswith", (STR, STR)),
    ],
    INT: [
        ("add", (INT, INT)),
        ("sub", (INT, INT)),
        ("mul", (INT, INT)),
        ("neg", (INT,)),
        ("abs", (INT,)),
        ("floordiv", (INT, INT)),
        ("mod", (INT, INT)),
        ("int_of_bool", (BOOL,)),
        ("len", (STR,)),
        ("find", (STR, STR, INT)),
    ],
    REAL: [
        ("add", (REAL, REAL)),
        ("sub", (REAL, REAL)),
        ("mul", (REAL, REAL)),
        ("neg", (REAL,)),
        ("abs", (REAL,)),
        ("rdiv", (REAL, REAL)),
        ("real_of_int", (INT,)),
    ],
    FLOAT: [
        ("add", (FLOAT, FLOAT)),
        ("sub", (FLOAT, FLOAT)),
        ("mul", (FLOAT, FLOAT)),
        ("neg", (FLOAT,)),
        ("abs", (FLOAT,)),
        ("fdiv", (FLOAT, FLOAT)),
    ],
    STR: [
        ("concat", (STR, STR)),
        ("substring", (STR, INT, INT)),
        ("str_of_int", (INT,)),
    ],
}


def _goal(*formulas: Term) -> Goal:
    return Goal("t", GoalKind.GUARANTEE, 0, formulas[:-1], formulas[-1])


@st.composite
def terms(draw: st.DrawFn, type_: Type, depth: int) -> tuple[Term, dict[Term, Term]]:
    """A term of the type, and values of its variables."""
    if depth == 0 or draw(st.integers(0, 5)) == 0:
        value = draw(VALUES[type_])
        if draw(st.booleans()):
            return const(value), {}
        variable = var(f"x {value!r}", type_)
        return variable, {variable: const(value)}
    op, wanted = draw(st.sampled_from(OPS[type_]))
    args: list[Term] = []
    values: dict[Term, Term] = {}
    for each in wanted:
        arg, assigned = draw(terms(each, depth - 1))
        args.append(arg)
        values |= assigned
    return apply(op, *args), values


def _same(variable: Term, value: Term) -> Term:
    """Equality that tells zeros apart and takes NaN as itself: for fixing variables."""
    assert isinstance(value, Const)
    if isinstance(value.value, float):
        if math.isnan(value.value):
            return apply("is_nan", variable)
        if value.value == 0:
            one = const(math.copysign(1.0, value.value))
            return and_(
                eq(variable, value),
                eq(apply("fdiv", one, variable), const(math.inf)),
            )
    return eq(variable, value)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.sampled_from([BOOL, INT, REAL, FLOAT, STR]).flatmap(lambda type_: terms(type_, 2)))
def test_z3_computes_what_operators_mean(case: tuple[Term, dict[Term, Term]]) -> None:
    term, values = case
    expected = substitute(term, values)
    assert isinstance(expected, Const)
    agrees = Expander().expand(_same(term, expected)) if term.type == FLOAT else eq(term, expected)
    if term.type == BOOL:
        agrees = term if expected.value else not_(term)
    given_values = [_same(name, value) for name, value in values.items()]
    found = decide(_goal(*given_values, not_(Expander().expand(agrees))), 700, 512)
    assert found.conclusion is not Conclusion.FAILS, (term, values, expected)
    found = decide(_goal(*given_values, Expander().expand(agrees)), 700, 512)
    assert found.conclusion is Conclusion.UNDECIDED or (
        found.conclusion is Conclusion.FAILS or not variables(term)
    ), (term, values, expected)


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(["count", "replace"]),
    st.text("ab", max_size=4),
    st.text("ab", max_size=2),
    st.text("ab", max_size=2),
)
def test_what_z3_is_told_of_count_and_replace_is_true(
    op: str, text: str, part: str, new: str
) -> None:
    s = var("s", STR)
    args = (s, const(part)) if op == "count" else (s, const(part), const(new))
    known = (const(text), *args[1:])
    agrees = eq(apply(op, *args), apply(op, *known))
    found = decide(_goal(eq(s, const(text)), agrees), 700, 512)
    assert found.conclusion is not Conclusion.HOLDS


@settings(max_examples=40, deadline=None)
@given(st.integers(-5, 5) | st.sampled_from([2**53, 2**53 + 1, -(2**60), 10**400]))
def test_what_z3_is_told_of_the_nearest_float_is_true(number: int) -> None:
    x = var("x", INT)
    agrees = eq(apply("float_of_int", x), apply("float_of_int", const(number)))
    found = decide(_goal(eq(x, const(number)), agrees), 5_000, 512)
    assert found.conclusion is not Conclusion.HOLDS


REGEXES: st.SearchStrategy[Regex] = st.recursive(
    st.one_of(
        st.sampled_from(["", "a", "ab", "\\u{61}", "é"]).map(ReText),
        st.just(ReRange("a", "b")),
        st.just(ReAny()),
        st.just(ReNothing()),
        st.just(ReNotIn((ReRange("a", "a"),))),
        st.just(ReNotIn(())),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(lambda parts: ReConcat(tuple(parts))),
        st.lists(inner, max_size=3).map(lambda parts: ReUnion(tuple(parts))),
        st.tuples(inner, st.integers(0, 2), st.sampled_from([None, 0, 1, 2, 3])).map(
            lambda made: ReRepeat(
                made[0], made[1], made[2] if made[2] is None else max(made[1], made[2])
            )
        ),
    ),
    max_leaves=5,
)


@settings(max_examples=100, deadline=None)
@given(REGEXES, st.text("abé\\u{61}", max_size=4))
def test_z3_matches_what_python_matches(regex: Regex, text: str) -> None:
    s = var("s", STR)
    wanted = matches(s, regex)
    wrong = not_(wanted) if full_match(regex, text) else wanted
    assert decide(_goal(eq(s, const(text)), wrong), 700, 512).conclusion is Conclusion.HOLDS


@pytest.mark.parametrize("text", TEXTS)
def test_a_model_gives_strings_back_as_they_are(text: str) -> None:
    s = var("s", STR)
    found = decide(_goal(eq(s, const(text))), 700, 512)
    assert found.model is not None
    assert found.model.variables() == {"s": text}


def test_a_model_names_rows_by_their_indices() -> None:
    rows = result("c1", ListOf(RowOf("User")))
    i = var("i", INT)
    email = column(apply("at", rows, i), "email", STR)
    bounds = and_(apply("le", const(0), i), apply("lt", i, apply("len", rows)))
    found = decide(_goal(bounds, eq(i, const(1)), eq(email, const("x"))), 700, 512)
    assert found.model is not None
    reads = {(read.steps, read.indices): read.value for read in found.model.reads}
    assert reads[("[]", "email"), (1,)] == "x"
    assert reads[("len()",), ()] in (2, 3)


def test_a_deep_term_is_lowered_without_recursion() -> None:
    counter: Term = const(0)
    for at in range(3_000):
        counter = ite(var(f"b{at}", BOOL), apply("add", counter, const(1)), counter)
    found = decide(_goal(apply("lt", counter, const(0))), 200, 512)
    assert found.conclusion in (Conclusion.UNDECIDED, Conclusion.HOLDS)


def test_a_hard_goal_ends_in_time() -> None:
    x, y, z = (var(name, INT) for name in "xyz")

    def cube(term: Term) -> Term:
        return apply("mul", term, term, term)

    fermat = and_(
        eq(apply("add", cube(x), cube(y)), cube(z)),
        *(apply("lt", const(0), each) for each in (x, y, z)),
    )
    assert decide(_goal(fermat), 300, 512).conclusion is Conclusion.UNDECIDED


def test_a_shorter_model_of_long_texts_is_looked_for_within_its_time() -> None:
    """There is none, and Z3 once worked on that for minutes, whatever its time limit: in a child, that can be ended."""
    s = var("s", STR)
    goal = _goal(apply("contains", s, const("ab" * 200)), apply("endswith", s, const("cd" * 200)))

    def work(tell: Tell) -> None:
        found = decide(goal, 5_000, 512).model
        tell(str(found and found.variables()["s"]).encode())

    with Forked(work, 1_024) as child:
        text = child.told(30.0)
    assert text is not None
    assert text.endswith(b"cd" * 200)
    assert b"ab" * 200 in text
