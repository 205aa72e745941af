"""Equality, membership and length over terms are Python's own: checked against CPython on random values."""

from __future__ import annotations

import math
import operator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lictor_ir.document import Parameter, Schema
from lictor_ir.errors import UnsupportedError
from lictor_ir.scalars.expansion import Expander
from lictor_ir.scalars.rewriting import equal, interval, ordered
from lictor_ir.terms import (
    FALSE,
    TRUE,
    App,
    Const,
    Term,
    apply,
    column,
    const,
    eq,
    ite,
    postorder,
    result,
    substitute,
    var,
)
from lictor_ir.types import ANY, BOOL, FLOAT, INT, REAL, STR, ListOf, RowOf, SetOf, Type

POINT = Schema("Point", (Parameter("x", INT), Parameter("y", STR)))

SCALARS = st.one_of(
    st.booleans(),
    st.integers(-2, 2),
    st.sampled_from([0.0, -0.0, 1.0, 0.5, -1.0, math.inf, math.nan, 2.0**60]),
    st.sampled_from([Fraction(1), Fraction(1, 2), Fraction(0)]),
    st.sampled_from(["", "a", "b", "ab"]),
    st.none(),
    st.sampled_from([2**60, 2**60 + 1]),
)
TYPES: dict[type, Type] = {bool: BOOL, int: INT, float: FLOAT, Fraction: REAL, str: STR}


@dataclass
class Case:
    """A term, the value it has under the assignment, and the assignment of its variables."""

    term: Term
    value: Any
    assigned: dict[Term, Term]


def _hashable(value: Any) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True


@st.composite
def scalars(draw: st.DrawFn) -> Case:
    value = draw(SCALARS)
    if value is None or draw(st.booleans()):
        return Case(const(value), value, {})
    # One name has one value, and now and then one variable stands on both sides.
    name = f"v{draw(st.integers(0, 2))} {value!r}"
    variable = var(name, TYPES[type(value)])
    return Case(variable, value, {variable: const(value)})


def _together(op: str, parts: list[Case], value: Any) -> Case:
    assigned: dict[Term, Term] = {}
    for part in parts:
        assigned |= part.assigned
    return Case(apply(op, *(part.term for part in parts)), value, assigned)


@st.composite
def composites(draw: st.DrawFn, depth: int = 2) -> Case:
    kinds = ["scalar", "list", "tuple", "set", "dict", "ite"] if depth else ["scalar"]
    kind = draw(st.sampled_from(kinds))
    if kind == "scalar":
        return draw(scalars())
    if kind == "ite":
        then, otherwise = draw(composites(depth - 1)), draw(composites(depth - 1))
        truth = draw(st.booleans())
        condition = var(f"v{draw(st.integers(0, 2))} {truth!r}", BOOL)
        return Case(
            ite(condition, then.term, otherwise.term),
            then.value if truth else otherwise.value,
            then.assigned | otherwise.assigned | {condition: const(truth)},
        )
    parts = draw(st.lists(composites(depth - 1), max_size=3))
    if kind == "list":
        return _together("list", parts, [part.value for part in parts])
    if kind == "tuple":
        return _together("tuple", parts, tuple(part.value for part in parts))
    keys = [part for part in parts if _hashable(part.value)]
    if kind == "set":
        return _together("set", keys, frozenset(part.value for part in keys))
    pairs = [(key, draw(composites(depth - 1))) for key in keys]
    return _together(
        "dict",
        [part for pair in pairs for part in pair],
        {key.value: value.value for key, value in pairs},
    )


def _agrees(case: Case) -> None:
    """The formula says what Python says, or is refused because of floats inside containers."""
    try:
        decided = _decided(case.term, case)
    except UnsupportedError as why:
        if "float" not in str(why):
            raise
        return
    assert decided == case.value
    assert type(decided) is type(case.value)


def _decided(term: Term, case: Case) -> Any:
    """The value that the expanded formula has under the assignment."""
    expander = Expander([POINT])
    formula = expander.expand(term)
    # Only what an index outside of a list would give is left open.
    assert all(
        isinstance(each, App) and each.op == "at" for each in expander.approximations.values()
    )
    for part in postorder(formula):
        assert part.type in (BOOL, INT, REAL, FLOAT, STR) or isinstance(part, Const), part
    final = substitute(formula, case.assigned)
    assert isinstance(final, Const), final
    return final.value


SETTINGS = settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@SETTINGS
@given(composites(), composites())
def test_equality_is_pythons(left: Case, right: Case) -> None:
    both = Case(
        eq(left.term, right.term), left.value == right.value, left.assigned | right.assigned
    )
    _agrees(both)


@SETTINGS
@given(composites(depth=1), composites())
def test_equality_with_a_copy_of_other_types_is_pythons(seed: Case, other: Case) -> None:
    del other
    for value in _like(seed.value):
        try:
            copy = _written(value)
        except UnsupportedError:
            continue
        both = Case(eq(seed.term, copy), seed.value == value, seed.assigned)
        _agrees(both)


def _like(value: Any) -> list[Any]:
    """Values that Python calls equal, or nearly."""
    if isinstance(value, bool | int) and abs(value) < 2**53:
        return [value, float(value), Fraction(value), int(value)]
    if isinstance(value, list):
        return [value, tuple(value), list(reversed(value))]
    if isinstance(value, tuple):
        return [value, list(value)]
    if isinstance(value, dict):
        return [dict(reversed(list(value.items()))), value]
    return [value]


def _written(value: Any) -> Term:
    match value:
        case list():
            return apply("list", *map(_written, value))
        case tuple():
            return apply("tuple", *map(_written, value))
        case frozenset():
            return apply("set", *map(_written, value))
        case dict():
            return apply("dict", *(_written(part) for pair in value.items() for part in pair))
        case _:
            return const(value)


@SETTINGS
@given(
    scalars(), st.lists(scalars(), max_size=4), st.sampled_from(["list", "tuple", "set", "dict"])
)
def test_membership_is_pythons(item: Case, others: list[Case], kind: str) -> None:
    values = [other.value for other in others]
    if kind == "dict":
        container = _together("dict", [part for other in others for part in (other, other)], None)
        made: Any = dict.fromkeys(values)
    else:
        container = _together(kind, others, None)
        made = frozenset(values) if kind == "set" else values
    both = Case(
        apply("in", item.term, container.term),
        item.value in made,
        item.assigned | container.assigned,
    )
    _agrees(both)


@SETTINGS
@given(st.lists(scalars(), max_size=5))
def test_length_of_a_set_counts_equal_items_once(items: list[Case]) -> None:
    whole = _together("set", items, len(frozenset(item.value for item in items)))
    _agrees(Case(apply("len", whole.term), whole.value, whole.assigned))


@SETTINGS
@given(st.lists(st.integers(-3, 3), min_size=1, max_size=5), st.integers(0, 4))
def test_item_at_a_symbolic_index_is_pythons(values: list[int], at: int) -> None:
    at %= len(values)
    index = var("i", INT)
    term = apply("at", apply("list", *map(const, values)), index)
    assert _decided(term, Case(term, None, {index: const(at)})) == values[at]


@SETTINGS
@given(scalars(), scalars())
def test_scalar_rewriting_keeps_equality(left: Case, right: Case) -> None:
    formula = substitute(equal(left.term, right.term), left.assigned | right.assigned)
    assert formula is const(bool(left.value == right.value))


@SETTINGS
@given(
    st.sampled_from(["lt", "le"]),
    st.lists(st.sampled_from(["x", "y", 1, 2, -3]), min_size=1, max_size=4),
    st.lists(st.sampled_from(["x", "y", 1, 2, -3]), min_size=1, max_size=4),
    st.integers(-5, 5),
    st.integers(-5, 5),
)
def test_sums_keep_order_and_equality(
    op: str, left: list[str | int], right: list[str | int], x: int, y: int
) -> None:
    values = {"x": x, "y": y}
    assigned: dict[Term, Term] = {var(name, INT): const(value) for name, value in values.items()}

    def total(parts: list[str | int]) -> tuple[Term, int]:
        terms = [var(part, INT) if isinstance(part, str) else const(part) for part in parts]
        return apply("add", *terms), sum(
            values[part] if isinstance(part, str) else part for part in parts
        )

    (one, a), (other, b) = total(left), total(right)
    assert substitute(equal(one, other), assigned) is const(a == b)
    assert substitute(ordered(op, one, other), assigned) is const(a < b if op == "lt" else a <= b)


@SETTINGS
@given(
    st.lists(st.sampled_from(["s", "t", "", "a", "ab", "b"]), min_size=1, max_size=4),
    st.lists(st.sampled_from(["s", "t", "", "a", "ab", "b"]), min_size=1, max_size=4),
    st.text("ab", max_size=3),
    st.text("ab", max_size=3),
)
def test_pieces_of_strings_keep_equality(left: list[str], right: list[str], s: str, t: str) -> None:
    values = {"s": s, "t": t}
    assigned: dict[Term, Term] = {var(name, STR): const(value) for name, value in values.items()}

    def joined(parts: list[str]) -> tuple[Term, str]:
        terms = [var(part, STR) if part in values else const(part) for part in parts]
        return apply("concat", *terms), "".join(values.get(part, part) for part in parts)

    (one, a), (other, b) = joined(left), joined(right)
    assert substitute(equal(one, other), assigned) is const(a == b)


LIMITS = [0.0, -0.0, 0.5, -1.5, 2.0, 2.0**53, 2.0**53 - 1, 1e300, math.inf, -math.inf, math.nan]
INTS = [0, 1, -1, 2, 3, 2**53, 2**53 + 1, -(2**53) - 1, 10**400, -(10**400), 10**300]


@pytest.mark.parametrize("op", ["lt", "le", "eq"])
@pytest.mark.parametrize("known_is_left", [True, False])
def test_ints_and_floats_compare_as_numbers(op: str, *, known_is_left: bool) -> None:
    x, f = var("x", INT), var("f", FLOAT)
    compare = {"lt": operator.lt, "le": operator.le, "eq": operator.eq}[op]

    def formula(left: Term, right: Term) -> Term:
        return equal(left, right) if op == "eq" else ordered(op, left, right)

    for limit in LIMITS:
        for number in INTS:
            sides = (limit, number) if known_is_left else (number, limit)
            told = const(compare(*sides))
            of_int = (const(limit), x) if known_is_left else (x, const(limit))
            assert substitute(formula(*of_int), {x: const(number)}) is told
            of_float = (f, const(number)) if known_is_left else (const(number), f)
            assert substitute(formula(*of_float), {f: const(limit)}) is told
            nearest = apply("float_of_int", x)
            of_nearest = (const(limit), nearest) if known_is_left else (nearest, const(limit))
            rounded = substitute(nearest, {x: const(number)})
            assert isinstance(rounded, Const)
            told = const(
                compare(limit, rounded.value) if known_is_left else compare(rounded.value, limit)
            )
            assert substitute(formula(*of_nearest), {x: const(number)}) is told


def test_texts_of_ints_are_equal_when_the_ints_are() -> None:
    x, y = var("x", INT), var("y", INT)
    assert equal(apply("str_of_int", x), apply("str_of_int", y)) is eq(x, y)
    assert equal(apply("str_of_int", x), const("-7")) is eq(x, const(-7))
    assert equal(apply("str_of_int", x), const("07")) is FALSE
    assert equal(apply("str_of_int", x), const("-0")) is FALSE


def test_a_count_of_guards_is_bounded_without_a_solver() -> None:
    ones = [ite(var(f"g{i}", BOOL), const(1), const(0)) for i in range(1000)]
    assert interval(apply("add", *ones)).top == 1000
    assert ordered("le", apply("add", *ones), const(1000)) is TRUE


def test_rows_are_equal_by_their_columns() -> None:
    given_row = apply("at", result("c1", ListOf(RowOf("Point"))), const(0))
    made = apply("row", const(1), const("a"), param="Point:x,y")
    same = Expander([POINT]).equal(given_row, made)
    assert same is Expander().expand(
        apply(
            "and",
            eq(column(given_row, "x", INT), const(1)),
            eq(column(given_row, "y", STR), const("a")),
        )
    )


def test_a_returned_list_equals_a_written_one_item_by_item() -> None:
    given_list = result("c1", ListOf(STR))
    same = Expander().equal(given_list, apply("list", const("a")))
    assert same is apply(
        "and",
        eq(apply("len", given_list), const(1)),
        eq(apply("at", given_list, const(0)), const("a")),
    )


def test_membership_in_a_returned_list_is_a_stand_in() -> None:
    expander = Expander()
    held = apply("in", const("a"), result("c1", ListOf(STR)))
    first = expander.expand(held)
    assert expander.expand(apply("not", held)) is apply("not", first)
    assert list(expander.approximations) == [first]


def test_membership_in_a_returned_list_of_floats_is_refused() -> None:
    with pytest.raises(UnsupportedError):
        Expander().expand(apply("in", const(1.0), result("c1", ListOf(FLOAT))))


def test_a_returned_value_of_any_type_is_not_compared() -> None:
    with pytest.raises(UnsupportedError):
        Expander().equal(result("c1", ANY), const(1))


def test_deep_alternatives_do_not_overflow_the_stack() -> None:
    value: Term = const(None)
    for at in range(5_000):
        value = ite(var(f"c{at}", BOOL), const(f"s{at % 7}"), value)
    assert value.type == ANY
    assert Expander().equal(value, const("x")) is FALSE


def test_a_set_that_a_call_returned_has_no_parts() -> None:
    expander = Expander()
    same = expander.equal(result("c1", SetOf(INT)), apply("set", const(1)))
    assert same in expander.approximations
