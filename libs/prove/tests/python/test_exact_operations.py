"""Operations that are easy to take for something else than Python does: each is exact, or refused."""

from __future__ import annotations

import pytest

from libs.prove.tests.python.test_differential import INPUTS, PARAMETERS
from libs.prove.tests.python_front_end import (
    code_of,
    concrete,
    fits,
    plain,
    predicate,
    predicted,
    program,
    read,
)
from lictor_ir.contracts import field
from lictor_ir.document import Document
from lictor_ir.terms import FALSE, TRUE, apply
from lictor_ir.types import ANY, STR, Type
from lictor_layer import Column
from lictor_prove.errors import ProveError, Rejected
from lictor_prove.python.machine.symbolic_values import known
from lictor_prove.python.predicates import Fields, condition, predicate_term

BODIES = {
    "an unhashable value is looked for in the keys of a dict": "note([a] in {1: 2}.keys())",
    "a list of a call is looked for in the keys of a dict": "note(names() not in {1: 2}.keys())",
    "a view is looked for in the keys of a dict": "note({1: 2}.items() in {}.keys())",
    "a pair with an unhashable key is looked for in items": "note(([a], 2) in {1: 2}.items())",
    "an empty string, too often for an index": "note('' * 10**30)",
    "an empty list, too often for an index": "note([] * 10**30)",
    "a tuple, less often than an index can say": "note((a,) * -(10**30))",
    "sorted in reverse by a float": "note(sorted([2, 1], reverse=1.0))",
    "sorted in reverse by a huge int": "note(sorted([2, 1], reverse=10**30))",
    "sorted with NaN": "note(sorted([2.0, math.nan, 1.0]))",
    "sorted sets": "note(sorted([{1, 2}, {3}, {1}]) == [{1}, {1, 2}, {3}])",
    "the length of a range up to a number": "note(len(range(a)))",
    "the length of a range between numbers": "note(len(range(b, a)))",
    "a list of a range up to a number": "xs = list(range(a))\nnote(len(xs))",
    "an item of a match": "note(re.match('a', 'a')[0])",
    "a slice of a dict": "note({1: 2}[1:2])",
    "a class with an argument": "list[int]\nnote(1)",
    "classes with `|`": "int | None\nnote(1)",
    "keys of a dict with `|`": "note({1: 2}.keys() | {3})",
    "a set changed by keys": "u = {1}\nv = u\nu |= {2: 3}.keys()\nnote(u)\nnote(v)",
    "a list of a call changed in place": "u = names()\nv = u\nu += 'a'\nnote(u)\nnote(v)",
    "a set in a set": "note({a} in {1.5})",
    "a row in a set": "note(len({UserRow(email='a', age=1, active=True)}))",
    "a range with a step, by an unknown index": "if 0 <= a < 3:\n    note(range(1, 9, 3)[a])",
    "a long range, by a known index": "note(range(10**12)[5])",
    "a range as a condition": "note(1 if range(a) else 2)",
    "one of two values taken out of a set": "u = {1, 'x'}\nu.remove(1 if p else 'x')\nnote(u)",
    "print with a separator that is one of two things": "print(1, sep=(s if p else a))\nnote(1)",
    "a union as a key": "note({(None if p else [1]): 1})",
}
"""Bodies that were understood wrongly, or told to raise where Python does not, and their siblings."""


def understood(body: str) -> Document | None:
    try:
        return read(program(body, PARAMETERS))
    except Rejected:
        return None


@pytest.mark.parametrize("name", BODIES)
def test_operation_is_exact_or_refused(name: str) -> None:
    body = BODIES[name]
    document = understood(body)
    for inputs in INPUTS:
        calls, error = concrete(program(body, PARAMETERS), inputs)
        if document is None:
            assert error is not None or certain(body) != "error.certain", (inputs, calls)
            continue
        if document.unknowns:
            assert fits(document, inputs, calls, error) is None, (inputs, calls, error)
            continue
        steps, failed = predicted(document, inputs)
        assert failed == (error is not None), (inputs, calls, error, steps)
        told = steps[: len(calls)] if error else steps
        assert plain([list(each) for each in calls]) == plain([list(each) for each in told])


def certain(body: str) -> str:
    return code_of(body, PARAMETERS)


# -- frozensets of a layer -------------------------------------------------------------------------

ALLOWED = frozenset({"ann"})
ABOUT_FROZENSETS = {
    "not isinstance(allowed, set)": True,
    "f'{allowed}' == \"frozenset({'ann'})\"": True,
    "allowed == {'ann'}": True,
    "'ann' in allowed": True,
    "'bob' in allowed": False,
    "len(allowed) == 1": True,
    "bool(allowed)": True,
}


@pytest.mark.parametrize("text", ABOUT_FROZENSETS)
def test_frozenset_of_a_layer_is_no_set(text: str) -> None:
    found = condition(predicate(f"lambda x: {text}", allowed=ALLOWED), {"x": known(1)})
    assert eval(text, {"allowed": ALLOWED}) is ABOUT_FROZENSETS[text]  # noqa: S307 -- our own texts
    assert found is (TRUE if ABOUT_FROZENSETS[text] else FALSE)


@pytest.mark.parametrize("text", ["not allowed.add('eve')", "(allowed | {'eve'}) == {'eve'}"])
def test_what_is_not_known_of_a_frozenset_is_refused(text: str) -> None:
    with pytest.raises(ProveError):
        condition(predicate(f"lambda x: {text}", allowed=ALLOWED), {"x": known(1)})


@pytest.mark.parametrize("type_", [ANY, STR], ids=str)
@pytest.mark.parametrize("text", ["e.x == column", "column == e.x"])
def test_column_is_compared_with_a_value_of_any_type_on_either_side(type_: Type, text: str) -> None:
    value = field("x", type_)
    asked = predicate(f"lambda e: {text}", column=Column("UserRow", "email"))
    found = predicate_term(asked, {"e": Fields({"x": value})})
    assert found is apply("from", value, param="UserRow.email")
