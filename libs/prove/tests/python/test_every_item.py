"""What a promise says of every item of a list, held against Python: over all short lists of small rows."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from itertools import product
from random import Random
from types import SimpleNamespace
from typing import Any

import pytest

from lictor_ir.document import Parameter, Schema
from lictor_ir.errors import TermError
from lictor_ir.evaluation.steps import each_iteration
from lictor_ir.evaluation.term_values import Environment, Evaluation
from lictor_ir.terms import TRUE, result, var
from lictor_ir.types import INT, STR, ListOf, RowOf, Type
from lictor_ir.values import RowValue
from lictor_prove.errors import ProveError
from lictor_prove.layer_model import Predicate
from lictor_prove.python.machine.symbolic_values import Sym
from lictor_prove.python.predicates import Promised, promised

SCHEMA = Schema("P", (Parameter("name", STR), Parameter("stock", INT)))
ROWS = ListOf(RowOf("P"))
TABLE = ListOf(ListOf(INT))


def read(text: str, type_: Type = ROWS) -> Promised:
    """What of a lambda over `low` and `result` can be relied on."""
    node = ast.parse(text, mode="eval").body
    assert isinstance(node, ast.Lambda)
    predicate = Predicate(node, {}, text, "layer.py:1", schemas={"P": SCHEMA})
    return promised(predicate, {"low": Sym(var("low", INT)), "result": Sym(result("c1", type_))})


def clauses_hold(found: Promised, low: int, returned: Sequence[Any]) -> bool:
    outside = Evaluation(Environment({"low": low}, lambda _, __: returned))
    return all(
        inside.holds(clause.formula)
        for clause in found.clauses
        for inside, _ in each_iteration(clause.binders, outside, TRUE)
    )


def is_kept(text: str, low: int, returned: Sequence[Any]) -> bool:
    """Whether Python finds the promise kept: one that raises is not."""
    try:
        return bool(eval(text)(low=low, result=returned))  # noqa: S307 -- our own lambdas
    except ArithmeticError:
        return False


ITEMS = [(name, stock) for name in ("", "a") for stock in (-1, 0, 2)]
LISTS = [list(each) for size in range(3) for each in product(ITEMS, repeat=size)]


def check(text: str) -> Promised:
    """No clause says more than the promise; together they say all of it, unless something is left out."""
    found = read(text)
    for low, items in product((-1, 0, 1), LISTS):
        rows = [SimpleNamespace(name=name, stock=stock) for name, stock in items]
        values = [RowValue("P", {"name": name, "stock": stock}) for name, stock in items]
        kept = is_kept(text, low, rows)
        try:
            holds = clauses_hold(found, low, values)
        except TermError:
            holds = False  # dividing by zero: then Python raised, too
        assert holds or not kept, (text, low, items)
        assert found.unused or kept or not holds, (text, low, items)
    return found


EXACT = [
    "all(p.stock > low for p in result)",
    "all(p.stock > 0 and p.name for p in result)",
    "all(p.stock > 0 for p in result if p.name)",
    "all(p.stock for p in result if p.name if p.stock < 2)",
    "len(result) == 1 and all(p.stock > 0 for p in result)",
    "all(p.stock > 0 for p in result) and all(p.name != '' for p in result)",
    "low > 0 or all(p.stock > low for p in result)",
    "all(p.stock > 0 for p in result) or all(p.name for p in result)",
    "all(p.stock > 0 for p in result) if low else all(p.name for p in result)",
    "not any(p.stock < low for p in result)",
    "not any(p.stock < 0 and not p.name for p in result) and len(result) < 2",
    "not (low > 0 and any(p.name for p in result))",
    "all(p.stock <= q.stock for p in result for q in result)",
    "all(p.stock <= q.stock for p in result if p.name for q in result if not q.name)",
    "all(all(p.stock == q.stock for q in result) for p in result)",
    "all(not any(p.stock < q.stock for q in result) or p.name == 'a' for p in result)",
    "all(2 // p.stock > 0 for p in result)",
    "all(p.stock != 0 for p in result) and all(2 // p.stock > 0 for p in result)",
    "all(p.stock > 0 or low // p.stock > 0 for p in result)",
    "all(p.stock > 0 for p in result) and 2 // low > 0",
    "low != 0 and all(p.stock > 2 // low for p in result)",
]


@pytest.mark.parametrize("body", EXACT)
def test_what_holds_of_every_item_is_said_exactly(body: str) -> None:
    found = check(f"lambda low, result: {body}")
    assert not found.unused
    assert any(clause.binders for clause in found.clauses)


WEAKER = [
    "any(p.stock > low for p in result)",
    "all(p.stock > 0 for p in result) and any(p.name for p in result)",
    "all(p.stock > 0 for p in result) or any(p.name for p in result)",
    "not all(p.stock > 0 for p in result)",
    "all(any(p.stock < q.stock for q in result) for p in result)",
    "all(p.stock > 0 for p in result) == (low > 0)",
    "all(p.stock > 0 for p in result) + low > 0",
]


@pytest.mark.parametrize("body", WEAKER)
def test_what_is_no_statement_about_every_item_is_left_out_and_named(body: str) -> None:
    assert check(f"lambda low, result: {body}").unused


def test_a_part_that_is_left_out_costs_no_other_part() -> None:
    found = read("lambda low, result: low > 0 and any(p.name for p in result) and len(result) < 3")
    (clause,) = found.clauses
    assert not clause.binders
    assert str(clause.formula).count("App(lt") == 2


def test_a_list_of_lists_has_an_index_for_each() -> None:
    text = "lambda low, result: all(x > low for row in result for x in row) and len(result) < 9"
    found = read(text, TABLE)
    assert sorted(len(each.binders) for each in found.clauses) == [0, 2]
    for table in ([], [[]], [[1], [2, 3]], [[1], [2, 0]]):
        assert clauses_hold(found, 0, table) == is_kept(text, 0, table)


@pytest.mark.parametrize(
    "body",
    [
        "(x := 1) > 0 and all((x := p.stock) > 0 for p in result) and x == 1",
        "all([p.stock for p in result])",
        "all(p.stock > 0 for p in sorted(result))",
        "all(p.price > 0 for p in result)",
        "all(p.stock > 0 for p in result for q in (1, 2))",
        "all(p.stock <= q.stock for p, q in zip(result, result[1:]))",
    ],
)
def test_what_can_not_be_read_is_refused_as_a_whole(body: str) -> None:
    with pytest.raises(ProveError):
        read(f"lambda low, result: {body}")


class _Bodies:
    """Random promises about rows."""

    def __init__(self, random: Random) -> None:
        self._random = random
        self._names = iter("pqrstuvwxyz")

    def body(self, depth: int, rows: tuple[str, ...] = ()) -> str:
        random = self._random
        form = random.choice(("test", "and", "or", "not", "if", "all", "all", "any"))
        if depth == 0 or form == "test":
            return self._test(rows)
        one, other = (lambda: self.body(depth - 1, rows)), (lambda: self.body(depth - 1, rows))
        match form:
            case "and" | "or":
                return f"({one()} {form} {other()})"
            case "not":
                return f"(not {one()})"
            case "if":
                return f"({one()} if {self._test(rows)} else {other()})"
            case _:
                name = next(self._names)
                inside = (*rows, name)
                only = f" if {self._test(inside)}" if random.random() < 0.3 else ""
                return f"{form}({self.body(depth - 1, inside)} for {name} in result{only})"

    def _test(self, rows: tuple[str, ...]) -> str:
        numbers = ["low", "len(result)", *(f"{row}.stock" for row in rows)]
        left, right = self._random.choice(numbers), self._random.choice([*numbers, "0", "1"])
        forms = [f"{left} < {right}", f"{left} == {right}", f"{left} // {right} > 0"]
        return self._random.choice([*forms, *(f"{row}.name" for row in rows)])


@pytest.mark.parametrize("seed", range(60))
def test_random_promises_are_never_said_to_promise_more_than_they_do(seed: int) -> None:
    body = _Bodies(Random(seed)).body(3)
    try:
        check(f"lambda low, result: {body}")
    except ProveError as error:
        assert "ZeroDivisionError" in str(error)  # noqa: PT017 -- what certainly raises is refused
