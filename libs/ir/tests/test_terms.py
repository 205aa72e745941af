"""Terms mean one thing: folding, rebuilding and evaluating agree, and matching agrees with Python's own."""

from __future__ import annotations

import copy
import enum
import math
import pickle
import re
from enum import IntEnum, StrEnum
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from ir_strategies import (
    COLOUR,
    CONSTANTS,
    STRINGS,
    input_terms,
    input_values,
    regexes,
)

from lictor_ir import operators, terms
from lictor_ir.errors import TermError, UnspecifiedError
from lictor_ir.evaluation import Environment, value
from lictor_ir.operators import OPERATORS
from lictor_ir.regexes import ReRepeat, ReText, full_match, python_pattern
from lictor_ir.terms import (
    FALSE,
    TRUE,
    App,
    Matches,
    Term,
    apply,
    const,
    postorder,
    result,
    results,
    var,
    variables,
)
from lictor_ir.types import BOOL, FLOAT, INT, REAL, SCALARS, STR, ListOf, RowOf, Scalar
from lictor_ir.values import RowValue


class Spelling(StrEnum):
    """Members equal strings, and are none."""

    BOB = "bob"


class Level(IntEnum):
    """Members equal ints, and are none."""

    ONE = 1


class Metres(float):
    """Equal to a float, and none."""


EQUAL_CONSTANTS: list[Any] = [True, 1, 1.0, Fraction(1), False, 0, 0.0, -0.0, Fraction(0)]


@pytest.mark.parametrize("backwards", [False, True])
def test_equal_constants_of_different_types_are_different_terms(*, backwards: bool) -> None:
    values = EQUAL_CONSTANTS[::-1] if backwards else EQUAL_CONSTANTS
    made = [const(each) for each in values]
    assert len(set(made)) == len(values)
    assert [repr(term.value) for term in made] == [repr(each) for each in values]


@pytest.mark.parametrize("value", [Spelling.BOB, Level.ONE, Metres(1.0)])
def test_a_value_of_a_subclass_is_no_constant(value: Any) -> None:
    plain = [const("bob"), const(1), const(1.0)]
    with pytest.raises(TermError):
        const(value)
    assert [type(term.value) for term in plain] == [str, int, float]


TYPES = st.sampled_from([BOOL, INT, FLOAT, REAL, STR, COLOUR, ListOf(STR)])
TERMS = TYPES.flatmap(input_terms)


def value_or_open(term: Term, environment: Environment) -> Any:
    """The value with its exact type, so that 1, True and 1.0 differ; or what says that it is open."""
    try:
        found = value(term, environment)
    except UnspecifiedError:
        return "open"
    return told(found)


def told(found: Any) -> Any:
    if isinstance(found, list | tuple):
        return (type(found).__name__, *map(told, found))
    return (type(found).__name__, found.hex() if isinstance(found, float) else found)


@given(TERMS, input_values())
def test_folding_a_term_keeps_its_value(term: Term, inputs: dict[str, Any]) -> None:
    environment = Environment(inputs)
    before = value_or_open(term, environment)
    assume(before != "open")  # what is open may become known: `0 if x else at([], 3)` by folding x
    assert value_or_open(folded(term), environment) == before


def folded(root: Term) -> Term:
    """The term made anew from the leaves up, folded wherever it can be."""
    done: dict[Term, Term] = {}
    for part in postorder(root):
        match part:
            case App():
                done[part] = terms.apply(
                    part.op, *(done[arg] for arg in part.args), param=part.param
                )
            case Matches():
                done[part] = terms.matches(done[part.text], part.regex)
            case _:
                done[part] = part
    return done[root]


@given(TERMS, input_values())
def test_replacing_inputs_by_their_values_keeps_the_value(
    term: Term, inputs: dict[str, Any]
) -> None:
    environment = Environment(inputs)
    before = value_or_open(term, environment)
    assume(before != "open")
    known: dict[Term, Term] = {
        part: const(inputs[part.name]) for part in postorder(term) if isinstance(part, terms.Var)
    }
    assert value_or_open(terms.substitute(term, known), Environment()) == before


@given(TERMS)
def test_every_part_of_a_term_has_the_type_that_its_operator_gives(term: Term) -> None:
    for part in postorder(term):
        if isinstance(part, App):
            types = tuple(arg.type for arg in part.args)
            assert operators.result_type(part.op, types, part.param) == part.type


@given(st.sampled_from(sorted(OPERATORS)), st.lists(CONSTANTS, min_size=1, max_size=3))
def test_an_operator_over_constants_folds_to_its_meaning(op: str, args: list[Term]) -> None:
    try:
        operators.result_type(op, tuple(arg.type for arg in args), "")
    except TermError:
        return
    assume(op not in ("from", "not_from", "same_row"))
    known = terms.apply(op, *args)
    assert value_or_open(known, Environment()) == value_or_open(
        terms.application(op, args, "", known.type), Environment()
    )


@given(regexes(), STRINGS)
def test_matching_agrees_with_python(regex: Any, text: str) -> None:
    expected = re.fullmatch(python_pattern(regex), text, re.DOTALL) is not None
    assert full_match(regex, text) == expected


def test_matching_does_not_backtrack() -> None:
    nested = ReRepeat(ReRepeat(ReText("a"), 0, None), 0, None)
    assert not full_match(nested, "a" * 2_000 + "b")
    assert full_match(ReRepeat(nested, 1_000_000, 1_000_000), "a" * 50)


def test_a_false_conjunct_decides_what_is_open() -> None:
    beyond = terms.apply("eq", terms.apply("at", var("xs", ListOf(INT)), const(5)), const(1))
    environment = Environment({"xs": [1, 2]})
    assert value(terms.application("and", (beyond, FALSE), "", BOOL), environment) is False
    assert value(terms.application("or", (beyond, TRUE), "", BOOL), environment) is True
    with pytest.raises(UnspecifiedError, match="index 5"):
        value(terms.application("and", (beyond, TRUE), "", BOOL), environment)


def test_only_the_chosen_alternative_is_evaluated() -> None:
    beyond = terms.apply("at", var("xs", ListOf(INT)), const(5))
    chosen = terms.ite(var("flag", BOOL), const(0), beyond)
    assert value(chosen, Environment({"flag": True, "xs": []})) == 0


NAN = const(math.nan)


@pytest.mark.parametrize(
    "term",
    [
        terms.apply("eq", terms.apply("list", NAN), terms.apply("list", NAN)),
        terms.apply("in", NAN, terms.apply("list", NAN)),
        terms.apply("len", terms.apply("set", NAN, NAN)),
    ],
)
def test_what_rests_on_the_identity_of_nan_is_open(term: Term) -> None:
    with pytest.raises(UnspecifiedError, match="identity"):
        value(term, Environment())


@pytest.mark.parametrize(
    ("one", "other", "equal"),
    [
        (True, 1, True),
        (1, 1.0, True),
        (0.0, -0.0, True),
        (math.nan, math.nan, False),
        (Fraction(1, 2), 0.5, True),
        ("1", 1, False),
        (None, False, False),
    ],
)
def test_equality_is_pythons(one: Any, other: Any, equal: bool) -> None:
    assert value(terms.eq(const(one), const(other)), Environment()) is equal


def test_a_list_is_no_tuple_and_numbers_in_them_compare_as_numbers() -> None:
    made = {op: terms.apply(op, const(value=True)) for op in ("list", "tuple")}
    assert value(terms.eq(made["list"], made["tuple"]), Environment()) is False
    assert value(terms.eq(made["list"], terms.apply("list", const(1.0))), Environment()) is True


def test_a_column_of_a_returned_row_is_read_by_name() -> None:
    rows = terms.result("c1", ListOf(RowOf("User")))
    email = terms.column(terms.apply("at", rows, const(0)), "email", STR)
    found = [RowValue("User", {"email": "a@b"})]
    assert value(email, Environment(results=lambda *_: found)) == "a@b"
    with pytest.raises(UnspecifiedError, match="c1 did not happen"):
        value(email, Environment())


def test_a_counter_over_ten_thousand_branches_is_evaluated() -> None:
    total: Term = const(0)
    for _ in range(10_000):
        total = terms.ite(var("flag", BOOL), terms.apply("add", total, const(1)), total)
    assert value(total, Environment({"flag": True})) == 10_000


def test_numbers_of_any_length_are_spelled_out() -> None:
    assert (
        value(terms.apply("str_of_int", const(-(10**9_000))), Environment()) == "-1" + "0" * 9_000
    )


def test_what_would_be_too_large_is_open() -> None:
    long: Term = var("s", STR)
    for _ in range(40):
        long = terms.application("concat", (long, long), "", STR)
    with pytest.raises(UnspecifiedError, match="too large"):
        value(long, Environment({"s": "ab"}))


def test_floats_are_added_one_by_one() -> None:
    assert operators.apply("add", "", [0.1, 0.2, 0.3]) == 0.1 + 0.2 + 0.3
    assert operators.apply("add", "", [1e16, 1.0, -1e16]) == 1e16 + 1.0 - 1e16
    assert const(0.5).type == FLOAT


def test_a_constant_is_of_a_builtin_type_itself_whichever_was_made_first() -> None:
    class Word(enum.StrEnum):
        MADE_FIRST = "a word that no other test makes"

    class Number(enum.IntEnum):
        MADE_FIRST = 918_273_645

    for member in (Word.MADE_FIRST, Number.MADE_FIRST):
        with pytest.raises(TermError, match="no scalar"):
            const(member)
        plain = member.value
        assert type(const(plain).value) is type(plain)


@pytest.mark.parametrize("scalar", SCALARS.values(), ids=str)
def test_a_scalar_type_from_another_process_is_the_same_object(scalar: Scalar) -> None:
    assert pickle.loads(pickle.dumps(scalar)) is scalar
    assert copy.deepcopy(ListOf(scalar)) == ListOf(scalar)


def test_results_and_variables_come_in_the_same_order_in_every_process() -> None:
    calls = [f"c{at}" for at in range(30)]
    names = [f"x{at}" for at in range(30)]
    read = apply("add", *(result(each, INT) for each in calls), *(var(each, INT) for each in names))
    assert [each.call for each in results(read)] == calls
    assert [each.name for each in variables(read)] == names
