"""Where values come from: columns through alternatives, one row or two, and what flows where."""

from __future__ import annotations

import pytest
from ir_strategies import USER

from lictor_ir import terms
from lictor_ir.errors import UnsupportedError
from lictor_ir.provenance import argument_labels, labels, origin_formula, resolve_origins
from lictor_ir.regexes import ReAny
from lictor_ir.terms import FALSE, TRUE, Term, and_, const, eq, ite, not_, var
from lictor_ir.types import ANY, BOOL, INT, STR, ListOf, RowOf

FLAG, INDEX, J = var("flag", BOOL), var("i", INT), var("j", INT)
ROWS, OTHERS = terms.result("c1", ListOf(USER)), terms.result("c2", ListOf(USER))


def at(rows: Term, index: Term) -> Term:
    return terms.apply("at", rows, index)


def col(row: Term, name: str = "email") -> Term:
    return terms.column(row, name, INT if name == "age" else STR)


EMAIL, AGE = col(at(ROWS, INDEX)), col(at(ROWS, INDEX), "age")


def is_from(*values: Term, columns: str = "User.email") -> Term:
    return origin_formula("from", columns, values, ())


def is_free(*values: Term, columns: str = "User.email") -> Term:
    return origin_formula("not_from", columns, values, ())


def same_row(*values: Term) -> Term:
    return origin_formula("same_row", "User.email,User.age", values, ())


def test_a_column_of_a_returned_row_is_from_it() -> None:
    assert is_from(EMAIL) is TRUE
    assert is_from(col(at(ROWS, const(0)))) is TRUE
    assert is_from(col(terms.result("c3", USER))) is TRUE
    assert is_from(EMAIL, AGE, columns="User.email,User.age") is TRUE


def test_what_was_made_of_a_column_is_not_from_it() -> None:
    for value in (
        const("a@b"),
        terms.apply("concat", EMAIL, const("!")),
        col(var("row", USER)),
        col(at(terms.apply("list", at(ROWS, INDEX)), J)),
        AGE,
    ):
        assert is_from(value) is FALSE
    assert is_from(EMAIL, columns="Staff.email") is FALSE


def test_each_alternative_must_match_where_it_is_taken() -> None:
    assert is_from(ite(FLAG, EMAIL, col(at(OTHERS, J)))) is TRUE
    assert is_from(ite(FLAG, EMAIL, const("x"))) is FLAG
    assert is_from(ite(FLAG, const("x"), EMAIL)) is not_(FLAG)
    assert is_from(col(ite(FLAG, at(ROWS, INDEX), at(OTHERS, INDEX)))) is TRUE
    assert is_from(col(at(ite(FLAG, ROWS, OTHERS), INDEX))) is TRUE


def test_columns_of_one_row_are_of_the_same_row() -> None:
    assert same_row(EMAIL, AGE) is TRUE
    assert same_row(EMAIL, col(at(ROWS, J), "age")) is eq(INDEX, J)
    assert same_row(EMAIL, col(at(OTHERS, INDEX), "age")) is FALSE
    assert same_row(EMAIL, const(7)) is FALSE


def test_rows_of_a_call_in_a_loop_are_told_apart_by_iteration() -> None:
    inside, elsewhere = (terms.result("c3", ListOf(USER), [index]) for index in (INDEX, J))
    one, other = col(at(inside, const(0))), col(at(elsewhere, const(0)), "age")
    assert same_row(one, other) is eq(INDEX, J)


def test_same_row_follows_alternatives() -> None:
    email = ite(FLAG, EMAIL, col(at(OTHERS, J)))
    age = ite(FLAG, AGE, col(at(OTHERS, J), "age"))
    swapped = ite(FLAG, col(at(OTHERS, J), "age"), AGE)
    formula = same_row(email, age)
    assert terms.substitute(formula, {FLAG: TRUE}) is TRUE
    assert terms.substitute(formula, {FLAG: FALSE}) is TRUE
    formula = same_row(email, swapped)
    assert terms.substitute(formula, {FLAG: TRUE}) is FALSE


def test_too_many_alternatives_are_not_compared() -> None:
    email: Term = EMAIL
    age: Term = AGE
    for number in range(110):
        email = ite(var(f"a{number}", BOOL), email, col(at(ROWS, const(number))))
        age = ite(var(f"b{number}", BOOL), age, col(at(ROWS, const(number)), "age"))
    with pytest.raises(UnsupportedError, match="too many alternatives"):
        same_row(email, age)


def test_ten_thousand_alternatives_are_followed_without_recursion() -> None:
    email: Term = EMAIL
    for number in range(10_000):
        email = ite(var(f"a{number}", BOOL), email, col(at(ROWS, const(number))))
    assert is_from(email) is TRUE
    assert is_free(email) is FALSE


def test_a_column_flows_into_whatever_it_stands_in() -> None:
    for value in (
        EMAIL,
        terms.apply("concat", EMAIL, const("")),
        terms.apply("concat", const("to "), EMAIL),
        terms.apply("str_of_int", terms.apply("len", EMAIL)),
        terms.apply("list", at(ROWS, INDEX)),
        terms.apply("len", ROWS),
        ite(terms.apply("contains", EMAIL, const("x")), const("a"), const("b")),
        terms.result("c3", ANY),
        col(at(OTHERS, terms.apply("len", EMAIL)), "name"),
        terms.matches(EMAIL, ReAny()),
    ):
        assert is_free(value) is FALSE, value


def test_another_column_lets_nothing_else_of_its_row_flow() -> None:
    assert is_free(AGE) is TRUE
    assert is_free(terms.apply("str_of_int", AGE)) is TRUE
    assert is_free(col(ite(FLAG, at(ROWS, INDEX), at(OTHERS, J)), "age")) is TRUE
    assert is_free(const("a@b")) is TRUE
    assert is_free(terms.result("c3", ListOf(RowOf("Staff")))) is TRUE


def test_flow_is_decided_alternative_by_alternative() -> None:
    assert is_free(ite(FLAG, EMAIL, const("x"))) is not_(FLAG)
    made = terms.application("row", (EMAIL, const(1)), "User:email,age", USER)
    assert is_free(terms.application("column", (made,), "age:int", INT)) is TRUE
    assert is_free(terms.application("column", (made,), "email:str", STR)) is FALSE


def test_origins_inside_a_predicate_are_decided_in_place() -> None:
    origin = terms.apply("from", ite(FLAG, EMAIL, const("x")), param="User.email")
    assert resolve_origins(and_(origin, eq(INDEX, J)), ()) is and_(FLAG, eq(INDEX, J))


def test_labels_say_whence_an_argument_comes() -> None:
    x = var("x", STR)
    mixed = terms.apply("concat", EMAIL, x, const("!"))
    assert labels(mixed, ["x"]) == ("c1.email", "input:x")
    assert labels(terms.apply("len", ROWS), []) == ("c1",)
    assert labels(at(ROWS, INDEX), []) == ("c1",)
    assert labels(col(ite(FLAG, at(ROWS, INDEX), at(OTHERS, INDEX))), ["flag"]) == (
        "c1.email",
        "c2.email",
        "input:flag",
    )
    assert argument_labels({"to": EMAIL, "msg": const("hi")}, []) == {"to": ("c1.email",)}
