"""Lambdas of the layer become terms; what they can't say is an error, never a guess."""

from __future__ import annotations

import re

import pytest

from libs.prove.tests.python_front_end import predicate
from lictor_ir.contracts import field
from lictor_ir.terms import TRUE, Term, and_, apply, const, eq, not_, or_
from lictor_ir.types import ANY, BOOL, INT, STR, MapOf
from lictor_layer import Row, comes_from, same_row
from lictor_prove.errors import ProveError
from lictor_prove.python.machine.symbolic_values import Sym
from lictor_prove.python.predicates import Fields, condition, predicate_term

ADDR, MSG, N, FLAG = field("addr", STR), field("msg", STR), field("n", INT), field("flag", BOOL)
WHERE = field("where", MapOf(STR, ANY))
FIELDS = Fields({"addr": ADDR, "msg": MSG, "n": N, "flag": FLAG, "where": WHERE})


class UserRow(Row):
    email: str
    age: int


def plain(path: str) -> bool:
    """A helper of a layer, with a docstring."""
    if ".." in path:
        return False
    return _absolute(path) and "\\" not in path


def _absolute(path: str) -> bool:
    return path.startswith(ROOT)


ROOT = "/"


def endless(x: int) -> bool:
    return endless(x)


def term(text: str, **names: object) -> Term:
    return predicate_term(predicate(text, **names), {"e": FIELDS})


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("lambda e: e.addr == 'x'", eq(ADDR, const("x"))),
        ("lambda e: e.addr != 'x'", not_(eq(ADDR, const("x")))),
        ("lambda e: 0 < e.n <= 5", and_(apply("lt", const(0), N), apply("le", N, const(5)))),
        ("lambda e: '@' in e.addr", apply("contains", ADDR, const("@"))),
        ("lambda e: e.addr.startswith('/')", apply("startswith", ADDR, const("/"))),
        ("lambda e: not e.flag", not_(FLAG)),
        ("lambda e: e.flag == True", FLAG),
        ("lambda e: e.n + 1", apply("add", N, const(1))),
        ("lambda e: len(e.msg) <= 3", apply("le", apply("len", MSG), const(3))),
        ("lambda e: True", TRUE),
        ("lambda e: e.flag or e.n == 1", or_(FLAG, eq(N, const(1)))),
        ("lambda e: e.msg", MSG),
    ],
)
def test_expression_becomes_a_term(text: str, expected: Term) -> None:
    assert term(text) is expected


def test_captured_values_are_constants() -> None:
    assert term("lambda e: e.n <= limit", limit=5) is apply("le", N, const(5))
    assert term("lambda e: e.addr in names", names=["a", "b"]) is or_(
        eq(ADDR, const("a")), eq(ADDR, const("b"))
    )
    asked = apply("dict", const("x"), TRUE)
    assert term("lambda e: e.where == filter_", filter_={"x": True}) is eq(WHERE, asked)


def test_helpers_are_executed_in_place() -> None:
    found = term("lambda e: plain(e.addr)", plain=plain)
    assert found is and_(
        not_(apply("contains", ADDR, const(".."))),
        apply("startswith", ADDR, const("/")),
        not_(apply("contains", ADDR, const("\\"))),
    )


def test_regular_expressions_of_the_layer() -> None:
    assert term("lambda e: bool(re.fullmatch('[a-z]+', e.addr))", re=re).type == BOOL
    shape = re.compile("[a-z]+")
    assert term("lambda e: shape.fullmatch(e.addr) is not None", shape=shape).type == BOOL


def test_column_speaks_about_origin() -> None:
    there = apply("from", ADDR, param="UserRow.email")
    gone = apply("not_from", ADDR, param="UserRow.email")
    column = UserRow.email
    assert term("lambda e: e.addr == column", column=column) is there
    assert term("lambda e: column == e.addr", column=column) is there
    assert term("lambda e: e.addr == UserRow.email", UserRow=UserRow) is there
    assert term("lambda e: e.addr != column", column=column) is gone
    assert term("lambda e: not (e.addr == column)", column=column) is gone
    assert term("lambda e: not (e.addr == column and e.flag)", column=column) is or_(
        gone, not_(FLAG)
    )
    assert term("lambda e: not (e.addr != column or e.flag)", column=column) is and_(
        there, not_(FLAG)
    )


def test_origin_functions() -> None:
    found = term("lambda e: comes_from(e.addr, c)", comes_from=comes_from, c=UserRow.email)
    assert found is apply("from", ADDR, param="UserRow.email")
    found = term(
        "lambda e: same_row((e.addr, a), (e.n, b))",
        same_row=same_row,
        a=UserRow.email,
        b=UserRow.age,
    )
    assert found is apply("same_row", ADDR, N, param="UserRow.email,UserRow.age")


@pytest.mark.parametrize(
    "text",
    [
        "lambda e: e.nobody == 1",
        "lambda e: open('x')",
        "lambda e: unknown(e.n)",
        "lambda e: e.n // e.n == 1",
        "lambda e: e.addr[0] == 'x'",
        "lambda e: e.addr < 3",
        "lambda e: (lambda: e.n)",
        "lambda e: e.addr.upper() == 'X'",
        "lambda e: endless(e.n)",
        "lambda e: (e.addr == column) == e.flag",
        "lambda e: e.n if e.addr == column else 0",
        "lambda e: e.addr in [column]",
        "lambda e: e.addr < column",
        "lambda e: not same_row((e.addr, column))",
        "lambda e: Thing().x",
        "lambda e: e",
    ],
)
def test_what_cannot_be_said_is_an_error(text: str) -> None:
    with pytest.raises(ProveError, match=r"layer\.py:1"):
        term(text, endless=endless, column=UserRow.email, same_row=same_row, Thing=object)


def test_division_that_is_tested_for_is_fine() -> None:
    assert term("lambda e: e.n != 0 and 6 // e.n == 2").type == BOOL


def test_condition_that_may_raise_demands_that_it_does_not() -> None:
    found = condition(predicate("lambda x: 6 // x == 2"), {"x": Sym(N)})
    assert found is and_(not_(eq(N, const(0))), eq(apply("floordiv", const(6), N), const(2)))


def test_condition_takes_what_is_true() -> None:
    assert condition(predicate("lambda x: x"), {"x": Sym(MSG)}) is not_(eq(MSG, const("")))


def test_condition_about_an_omitted_argument_is_an_error() -> None:
    with pytest.raises(ProveError, match="leaves to its default"):
        condition(predicate("lambda x, y: y"), {"x": Sym(N)})


# -- attributes ------------------------------------------------------------------------------------


def test_attributes_of_what_a_layer_holds_are_those_of_python() -> None:
    few, pattern = frozenset({"x"}), re.compile("a+")
    assert term("lambda e: p.pattern == 'a+'", p=pattern) is TRUE
    assert term("lambda e: str(few) == \"frozenset({'x'})\"", few=few) is TRUE
    assert term("lambda e: 'y' in few.union(['y']) and few.isdisjoint(['y'])", few=few) is TRUE


@pytest.mark.parametrize(
    "text", ["few.add", "p.flags", "p.nothing", "few.copy().add", "e.addr.add"]
)
def test_an_attribute_that_is_not_there_or_not_modelled_makes_no_predicate(text: str) -> None:
    with pytest.raises(ProveError):
        term(f"lambda e: {text} is not None", few=frozenset({"x"}), p=re.compile("a+"))
