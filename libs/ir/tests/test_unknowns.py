"""Values that a document declares unknown: how they are written, what is refused, and what may be concluded of them."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given
from ir_strategies import documents
from unknown_documents import document, without_inputs

from lictor_ir.document import Document, Unknown
from lictor_ir.errors import DocumentError, FormError
from lictor_ir.goals import goals
from lictor_ir.json.document import document_hash, from_json, to_json
from lictor_ir.owl import serialize
from lictor_ir.provenance import origin_formula
from lictor_ir.summary import summarize
from lictor_ir.terms import FALSE, TRUE, apply, column, const, ite, result
from lictor_ir.text.document_reader import read
from lictor_ir.text.document_writer import write
from lictor_ir.types import BOOL, INT, STR, ListOf, RowOf
from lictor_ir.validation.document import validate

WHOLE = document(
    """
input x: int

effect c1: users()
unknown u1: list<str> of "c1.email", "input:x" raises says "sorted is not modelled"
unknown u2: bool for i in result(u1) of "c1.email" says "str.isidentifier is not modelled"
effect c2: send(addr = result(u1)[i], msg = "hi") for i in result(u1) when result(u2, i)
unknown u3: int
"""
)


def test_a_document_with_unknowns_is_read_as_it_was_written() -> None:
    assert from_json(to_json(WHOLE)) == WHOLE
    assert read(write(WHOLE)) == WHOLE
    assert write(read(write(WHOLE))) == write(WHOLE)
    assert WHOLE.atoms[1].labels == {"addr": ("u1",)}


def test_a_document_without_unknowns_says_nothing_of_them() -> None:
    plain = document('\neffect c1: note(text = "a")\n')
    assert b"unknowns" not in to_json(plain)
    assert document_hash(replace(plain, unknowns=())) == document_hash(plain)
    told = json.loads(to_json(plain))
    with pytest.raises(FormError, match="not as the format writes it"):
        from_json(json.dumps({**told, "unknowns": []}).encode())


def test_what_an_unknown_is_belongs_to_the_name_of_a_document() -> None:
    first = WHOLE.unknowns[0]
    for other in (
        replace(first, type=ListOf(INT)),
        replace(first, text="another reason"),
        replace(first, labels=("c1",)),
        replace(first, may_raise=False),
    ):
        changed = replace(WHOLE, unknowns=(other, *WHOLE.unknowns[1:]))
        assert document_hash(changed) != document_hash(WHOLE)


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ('unknown c1: int\neffect c1: note(text = "a")', "c1 stands there twice"),
        ("unknown u1: int\nunknown u1: int", "u1 stands there twice"),
        ("unknown u1: row<Nobody>", "rows of Nobody, which is not declared"),
        ('unknown u1: int of "c7"', "c7 names no call and no input"),
        ('unknown u1: int of "u1"', "u1 names no call and no input"),
        ('unknown u1: int of "input:y"', "input:y names no call and no input"),
        (
            'effect c1: users()\nunknown u1: int of "c1.email", "c1.age"',
            "must be sorted, each once",
        ),
        (
            'unknown u1: int of "c2"\neffect c1: pay(cents = result(u1))\neffect c2: users()',
            "before what it is made of happened",
        ),
        (
            'unknown u1: int of "c2"\nunknown u2: int\neffect c1: pay(cents = result(u2))\neffect c2: users()',
            "before what it is made of happened",
        ),
        ("unknown u1: int\neffect c1: pay(cents = result(u1, 0))", "with 1 indices"),
        (
            "effect c1: words()\nunknown u1: int for i in result(c1)\n"
            "effect c2: pay(cents = result(u1, i + 1)) for i in result(c1)",
            "of another iteration of i",
        ),
        (
            "unknown u1: int\neffect c1: pay(cents = (result(u1) as str))",
            "must be int, not str|reads u1 as str",
        ),
        (
            "effect c1: words()\neffect c2: pay(cents = i) for i in result(c1)\nunknown u1: int for i in 3",
            "i is the index of another loop",
        ),
    ],
)
def test_an_unknown_that_breaks_a_rule_is_refused(body: str, told: str) -> None:
    with pytest.raises(DocumentError, match=told):
        document(f"\n{body}\n")


def test_an_unknown_reads_only_those_before_it() -> None:
    later = Unknown("u9", ListOf(STR), "x")
    first = replace(WHOLE.unknowns[1], id="u0")
    with pytest.raises(DocumentError, match="declared later"):
        validate(replace(WHOLE, atoms=WHOLE.atoms[:1], unknowns=(first, WHOLE.unknowns[0], later)))


# -- origin ----------------------------------------------------------------------------------------------

USER = RowOf("User")
ROW = result("u1", USER)
ROWS = result("u1", ListOf(USER))
EMAIL = column(ROW, "email", STR)


def _made_of(*labels: str) -> list[Unknown]:
    return [Unknown("u1", USER, "x", labels=labels)]


def test_a_column_of_an_unknown_row_is_from_no_call() -> None:
    item = column(apply("at", ROWS, const(0)), "email", STR)
    for value in (EMAIL, item):
        assert origin_formula("from", "User.email", (value,), _made_of("c1")) is FALSE
        assert origin_formula("from", "User.email", (value,), ()) is TRUE
    ages = (EMAIL, column(ROW, "age", INT))
    assert origin_formula("same_row", "User.email,User.age", ages, _made_of("c1")) is FALSE


@pytest.mark.parametrize(
    ("labels", "free"),
    [
        ((), True),
        (("input:x",), True),
        (("c1.age",), True),
        (("c1.email",), False),
        (("c1",), False),
        (("c1.age", "c2"), False),
    ],
)
def test_what_an_unknown_is_made_of_flows_into_it(labels: tuple[str, ...], free: bool) -> None:
    text = apply("concat", const("to "), result("u1", STR))
    chosen = ite(result("u1", BOOL), const("a"), const("b"))
    for value in (text, chosen):
        found = origin_formula("not_from", "User.email", (value,), _made_of(*labels))
        assert found is (TRUE if free else FALSE)


# -- goals, and what people read -------------------------------------------------------------------------


def test_goals_take_an_unknown_for_any_value() -> None:
    known = document(
        """
unknown u1: int says "x"
effect c1: pay(cents = result(u1))
guarantee "some" : forall e in pay : e.cents <= 5
guarantee "once" : (count e in pay) <= 1
"""
    )
    some, once = goals(known, {})
    assert some.refute is not FALSE
    assert once.refute is FALSE


def test_people_are_told_what_nobody_knows() -> None:
    text = summarize(WHOLE).text(None, lines=None)
    assert "NOBODY KNOWS these values:" in text
    assert "unknown u1, any list<str>" in text
    assert '"sorted is not modelled"' in text
    assert "computing it may raise" in text
    assert "if unknown u2 in round (index i) is true" in text
    assert "NOBODY KNOWS" not in summarize(document("\neffect c1: users()\n")).text()
    assert "unknown u2 in round" in serialize(WHOLE)


def _summary(known: Document) -> str:
    return summarize(known).text()


def test_documents_that_differ_in_an_unknown_are_told_apart() -> None:
    first = WHOLE.unknowns[0]
    others = [replace(first, labels=("c1",)), replace(first, may_raise=False)]
    texts = {
        _summary(replace(WHOLE, unknowns=(each, *WHOLE.unknowns[1:]))) for each in (first, *others)
    }
    assert len(texts) == 3


# -- laws ------------------------------------------------------------------------------------------------


@given(documents())
def test_any_document_with_unknowns_is_written_and_told(known: Document) -> None:
    unknown = without_inputs(known)
    validate(unknown)
    assert from_json(to_json(unknown)) == unknown
    assert read(write(unknown)) == unknown
    assert summarize(unknown).ir_hash == document_hash(unknown)


@given(documents())
def test_an_unknown_proves_no_more_and_no_less_than_an_input(known: Document) -> None:
    known = replace(known, assumptions=(), obligations=())
    for one, other in zip(goals(known, {}), goals(without_inputs(known), {}), strict=True):
        assert (one.id, one.refute is FALSE, one.strength) == (
            other.id,
            other.refute is FALSE,
            other.strength,
        )
        assert bool(one.undecided) == bool(other.undecided)
