"""Every rule of the format, broken once: the message begins with the path of what breaks it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from ir_strategies import EFFECTS, ENUMS, EVENTS, FLUENTS, INPUTS, SCHEMAS, USER, documents

from lictor_ir import terms
from lictor_ir.contracts import (
    All,
    AtEnd,
    Before,
    Both,
    Comparison,
    Contract,
    Count,
    Distinct,
    Empty,
    NeverAfter,
    Relation,
    SharesValue,
    Sum,
    field,
)
from lictor_ir.document import (
    Assumption,
    Atom,
    Binder,
    Document,
    Effect,
    Enumeration,
    Event,
    Fluent,
    Guarantee,
    Obligation,
    ObligationKind,
    Parameter,
    Performed,
    Schema,
    Span,
    Update,
)
from lictor_ir.errors import DocumentError
from lictor_ir.provenance import argument_labels
from lictor_ir.regexes import ReConcat, Regex, ReText
from lictor_ir.terms import FALSE, TRUE, Term, const, var
from lictor_ir.text.document_reader import read
from lictor_ir.types import BOOL, FLOAT, INT, STR, EnumOf, ListOf, RowOf, Type
from lictor_ir.validation import document as validation
from lictor_ir.validation.document import validate
from lictor_ir.values import EnumValue

X, S, FLAG = var("x", INT), var("s", STR), var("flag", BOOL)
INDEX, J = var("i", INT), var("j", INT)
USERS = terms.result("c1", ListOf(USER))
EMAIL = terms.column(terms.apply("at", USERS, INDEX), "email", STR)
TO, AMOUNT = field("to", STR), field("amount", INT)
IN_USERS = (Binder(INDEX, USERS),)


def atom(id_: str, effect: str, binders: tuple[Binder, ...] = (), **arguments: Term) -> Atom:
    labels = argument_labels(arguments, [each.name for each in INPUTS])
    return Atom(id_, effect, arguments, binders=binders, labels=labels)


ATOMS = (
    atom("c1", "users"),
    atom("c2", "send", IN_USERS, to=EMAIL, msg=S),
    atom("c3", "pay", IN_USERS, to=EMAIL, amount=X),
    atom("c4", "note", what=X),
)
GOOD = Document(
    program="p",
    source_hash=None,
    layer_hash=None,
    effects=EFFECTS,
    events=EVENTS,
    schemas=SCHEMAS,
    enums=ENUMS,
    fluents=FLUENTS,
    inputs=INPUTS,
    atoms=ATOMS,
)


def with_atom(number: int, **changes: Any) -> Document:
    atoms = list(ATOMS)
    atoms[number] = replace(atoms[number], **changes)
    return replace(GOOD, atoms=tuple(atoms))


def noting(what: Term) -> Document:
    return replace(GOOD, atoms=(*ATOMS[:3], atom("c4", "note", what=what)))


def promising(contract: Contract) -> Document:
    return replace(GOOD, guarantees=(Guarantee("g", contract),))


@given(documents())
def test_what_the_strategies_make_is_valid(document: Document) -> None:
    validate(document)


def test_the_document_that_is_spoiled_below_is_valid() -> None:
    validate(GOOD)


def result(call: str, type_: Type, *indices: Term) -> Term:
    return terms.result(call, type_, indices)


def deep_regex() -> Regex:
    regex: Regex = ReText("a")
    for _ in range(60):
        regex = ReConcat((regex,))
    return regex


@pytest.mark.parametrize(
    ("document", "message"),
    [
        (replace(GOOD, source_hash="md5:0"), "source_hash: must be sha256:"),
        (replace(GOOD, target="a b"), "target: 'a b' is no name"),
        (replace(GOOD, effects=(*EFFECTS, EFFECTS[0])), "effects: users stands there twice"),
        (replace(GOOD, inputs=(*INPUTS, INPUTS[0])), "inputs: x stands there twice"),
        (
            replace(GOOD, effects=(*EFFECTS, Effect("f", (Parameter("a.b", INT),), INT))),
            "effects[7].parameters[0].name: 'a.b' is no name",
        ),
        (
            replace(GOOD, effects=(*EFFECTS, Effect("f", (), RowOf("Lost")))),
            "effects[7].result: speaks of rows of Lost",
        ),
        (
            replace(GOOD, inputs=(*INPUTS, Parameter("y", ListOf(EnumOf("Lost"))))),
            "inputs[6].type: speaks of the enum Lost",
        ),
        (
            replace(GOOD, events=(*EVENTS, Event("Move", ("Touch",), ()))),
            "events[2].kinds: must begin with the event itself",
        ),
        (
            replace(GOOD, schemas=(*SCHEMAS, Schema("Tä", ()))),
            "schemas[1].name: 'Tä' is no name of a type",
        ),
        (
            replace(GOOD, enums=(*ENUMS, Enumeration("E", ("A", "A")))),
            "enums[1].members: A stands there twice",
        ),
        (
            replace(GOOD, enums=(*ENUMS, Enumeration("E", ()))),
            "enums[1].members: must not be empty",
        ),
        (
            replace(GOOD, fluents=(Fluent("locked", STR, BOOL, const(1)),)),
            "fluents[0].initial: must be bool, not int",
        ),
        (
            replace(GOOD, fluents=(Fluent("locked", STR, BOOL, FLAG),)),
            "fluents[0].initial: reads flag; it may read nothing",
        ),
        # atoms
        (replace(GOOD, atoms=(*ATOMS, ATOMS[3])), "atoms: c4 stands there twice"),
        (with_atom(3, id="4"), "atoms[3].id: '4' is no name"),
        (with_atom(3, effect="lost"), "atoms[3].effect: lost is not declared"),
        (with_atom(3, arguments={"what": X, "how": X}), "atoms[3].arguments.how: note has no how"),
        (
            replace(GOOD, atoms=(atom("c1", "pay", to=X),)),
            "atoms[0].arguments.to: must be str, not int",
        ),
        (with_atom(3, guard=X), "atoms[3].guard: must be bool, not int"),
        (with_atom(3, guard=var("y", BOOL)), "atoms[3].guard: reads y, which is no input"),
        (with_atom(3, guard=var("x", BOOL)), "atoms[3].guard: reads x as bool; it is int"),
        (with_atom(3, guard=terms.eq(INDEX, X)), "atoms[3].guard: reads i, which is no input"),
        (
            with_atom(3, guard=terms.eq(field("what", INT), X)),
            "atoms[3].guard: reads e.what, which is no input",
        ),
        (
            with_atom(3, guard=terms.apply("from", S, param="User.email")),
            "atoms[3].guard: from may stand only in a guarantee",
        ),
        (
            with_atom(3, labels={"what": ("input:y",)}),
            "atoms[3].labels.what: must be what the argument shows: input:x",
        ),
        (with_atom(3, labels={}), "atoms[3].labels.what: must be"),
        (with_atom(3, span=Span(3, 1, 2, 1)), "atoms[3].span: must count from 1"),
        (
            with_atom(3, events=(Performed("Move", {}),)),
            "atoms[3].events[0].event: Move is not declared",
        ),
        (
            with_atom(3, events=(Performed("Read", {"size": X}),)),
            "atoms[3].events[0].fields.size: Read has no size",
        ),
        (
            with_atom(3, updates=(Update("lost", S, FLAG),)),
            "atoms[3].updates[0].fluent: lost is not declared",
        ),
        (
            with_atom(3, updates=(Update("locked", S, X),)),
            "atoms[3].updates[0].value: must be bool, not int",
        ),
        # loops
        (
            replace(GOOD, atoms=(ATOMS[0], ATOMS[1], ATOMS[3], ATOMS[2])),
            "atoms[3].binders[0].index: i is the index of another loop",
        ),
        (
            with_atom(2, binders=(Binder(INDEX, X),)),
            "atoms[2].binders[0].index: i is the index of another loop",
        ),
        (
            with_atom(3, binders=(Binder(X, USERS),)),
            "atoms[3].binders[0].index: x is an input",
        ),
        (
            with_atom(3, binders=(Binder(J, S),)),
            "atoms[3].binders[0].over: must be a list or a count, not str",
        ),
        (
            with_atom(3, binders=(Binder(J, J),)),
            "atoms[3].binders[0].over: reads j, which is no input",
        ),
        (
            with_atom(3, binders=tuple(Binder(var(f"k{n}", INT), X) for n in range(17))),
            "atoms[3].binders: must not be more than 16",
        ),
        # results
        (noting(result("c9", INT)), "atoms[3].arguments.what: reads the result of c9, which is no"),
        (
            replace(GOOD, atoms=(atom("c0", "note", what=USERS), *ATOMS)),
            "atoms[0].arguments.what: reads the result of c1 before that call happened",
        ),
        (
            noting(result("c3", INT)),
            "atoms[3].arguments.what: reads the result of c3 with 0 indices; it stands in 1",
        ),
        (
            noting(result("c1", INT)),
            "atoms[3].arguments.what: reads the result of c1 as int; it is",
        ),
        (
            with_atom(
                2,
                guard=terms.eq(
                    result("c2", terms.const(None).type, terms.apply("add", INDEX, X)), X
                ),
            ),
            "atoms[2].guard: reads the result of c2 of another iteration of i",
        ),
        # how terms are made
        (
            noting(terms.column(terms.apply("at", USERS, X), "name", STR)),
            "atoms[3].arguments.what: User has no column name:str",
        ),
        (
            noting(terms.column(terms.apply("at", USERS, X), "age", STR)),
            "atoms[3].arguments.what: User has no column age:str",
        ),
        (
            noting(terms.apply("row", S, param="User:email")),
            "atoms[3].arguments.what: a row of User must be given its columns",
        ),
        (
            noting(terms.apply("row", X, X, FLAG, param="User:email,age,active")),
            "atoms[3].arguments.what: User.email must be str, not int",
        ),
        (
            noting(const(EnumValue("Colour", "BLUE"))),
            "atoms[3].arguments.what: Colour has no member BLUE",
        ),
        (
            noting(terms.application("add", (X, X), "", STR)),
            "atoms[3].arguments.what: an application of add has not the type",
        ),
        (
            noting(terms.matches(S, deep_regex())),
            "atoms[3].arguments.what: a regular expression is nested deeper",
        ),
        # assumptions and obligations
        (
            replace(GOOD, assumptions=(Assumption("c9", TRUE),)),
            "assumptions[0].call: c9 is no atom",
        ),
        (
            replace(GOOD, assumptions=(Assumption("c2", TRUE),)),
            "assumptions[0].binders: must begin with those of c2",
        ),
        (
            replace(GOOD, assumptions=(Assumption("c1", terms.eq(result("c3", INT, X), X)),)),
            "assumptions[0].formula: reads the result of c3 before that call happened",
        ),
        (
            replace(GOOD, assumptions=(Assumption("c1", TRUE, binders=(Binder(INDEX, X),)),)),
            "assumptions[0].binders[0].index: i is the index of another loop",
        ),
        (
            replace(GOOD, obligations=(Obligation(ObligationKind.PRECONDITION, TRUE, "t"),)),
            "obligations[0].call: must name the call",
        ),
        (
            replace(GOOD, obligations=(Obligation(ObligationKind.ASSERTION, X, "t"),)),
            "obligations[0].formula: must be bool, not int",
        ),
        (
            replace(
                GOOD,
                obligations=(Obligation(ObligationKind.NO_ERROR, terms.eq(var("y", INT), X), "t"),),
            ),
            "obligations[0].formula: reads y, which is no input",
        ),
        # contracts
        (promising(Empty(Relation())), "guarantees[0].contract.relation: covers nothing"),
        (
            promising(Empty(Relation(("sned",)))),
            "guarantees[0].contract.relation.effects[0]: sned is not declared",
        ),
        (
            promising(Empty(Relation(events=("Move",)))),
            "guarantees[0].contract.relation.events[0]: Move is not declared",
        ),
        (
            promising(Empty(Relation(("send", "send")))),
            "guarantees[0].contract.relation.effects: names something twice",
        ),
        (
            promising(All(Relation(("send", "pay")), terms.eq(AMOUNT, const(1)))),
            "guarantees[0].contract.holds: reads e.amount; it may read e.to",
        ),
        (
            promising(All(Relation(("pay",)), terms.eq(field("amount", STR), S))),
            "guarantees[0].contract.holds: reads",
        ),
        (
            promising(All(Relation(("send",)), terms.eq(S, TO))),
            "guarantees[0].contract.holds: reads s; it may read",
        ),
        (
            promising(All(Relation(("send",)), terms.eq(TO, EMAIL))),
            "guarantees[0].contract.holds: reads",
        ),
        (promising(All(Relation(("send",)), TO)), "guarantees[0].contract.holds: must be a bool"),
        (
            promising(Empty(Relation(("send",), where=TO))),
            "guarantees[0].contract.relation.where: must be a bool",
        ),
        (
            promising(
                All(Relation(("send",)), terms.not_(terms.apply("from", TO, param="User.email")))
            ),
            "guarantees[0].contract.holds: from may only be stated",
        ),
        (
            promising(
                Empty(Relation(("send",), where=terms.apply("not_from", TO, param="User.email")))
            ),
            "guarantees[0].contract.relation.where: not_from may only be stated",
        ),
        (
            promising(All(Relation(("send",)), terms.apply("from", TO, param="User.name"))),
            "guarantees[0].contract.holds: User.name is not declared",
        ),
        (
            promising(Sum(Relation(("pay",)), TO, Comparison.AT_MOST, const(1))),
            "guarantees[0].contract.of: must be a number, not str",
        ),
        (
            promising(Count(Relation(("pay",)), Comparison.AT_MOST, const("1"))),
            "guarantees[0].contract.bound: is str, which does not bound int",
        ),
        (
            promising(Count(Relation(("pay",)), Comparison.AT_MOST, X)),
            "guarantees[0].contract.bound: reads x; it may read nothing",
        ),
        (
            promising(Distinct(Relation(("pay",)), X)),
            "guarantees[0].contract.key: reads x; it may read e.to, e.amount",
        ),
        (
            promising(SharesValue(Relation(("pay",)), Relation(("send",)), AMOUNT)),
            "guarantees[0].contract.key: reads e.amount; it may read e.to",
        ),
        (
            promising(Before(Relation(("pay",)), Relation(("send",)), first_key=TO)),
            "guarantees[0].contract: must have a key for both relations",
        ),
        (
            promising(Before(Relation(("pay",)), Relation(("send",)), TO, AMOUNT)),
            "guarantees[0].contract.then_key: reads e.amount",
        ),
        (
            promising(NeverAfter(Relation(("pay",)), Relation(("lost",)))),
            "guarantees[0].contract.then.effects[0]: lost is not declared",
        ),
        (promising(AtEnd("lost", TRUE)), "guarantees[0].contract.fluent: lost is not declared"),
        (
            promising(AtEnd("locked", var("value", INT))),
            "guarantees[0].contract.holds: reads value as int; it is bool",
        ),
        (
            promising(AtEnd("locked", FALSE, const(1))),
            "guarantees[0].contract.key: must be str, not int",
        ),
        (
            promising(Both((Empty(Relation(("send",))), Empty(Relation(("lost",)))))),
            "guarantees[0].contract.parts[1].relation.effects[0]: lost is not declared",
        ),
    ],
)
def test_a_broken_rule_is_told_with_its_path(document: Document, message: str) -> None:
    with pytest.raises(DocumentError) as caught:
        validate(document)
    assert str(caught.value).startswith(message), str(caught.value)


def test_a_result_declared_any_may_be_read_as_rows_and_as_nothing_else() -> None:
    query = atom("c1", "query", schema=const("User"))
    rows = terms.result("c1", ListOf(USER))
    validate(replace(GOOD, atoms=(query, atom("c2", "note", what=terms.apply("len", rows)))))
    numbers = terms.result("c1", ListOf(FLOAT))
    with pytest.raises(DocumentError, match="as list<float>; it is list<any>"):
        validate(replace(GOOD, atoms=(query, atom("c2", "note", what=terms.apply("len", numbers)))))


def test_a_finished_loop_may_be_read_at_any_index() -> None:
    over = terms.result("c3", INT, [J])
    later = atom("c4", "note", (Binder(J, USERS),), what=over)
    validate(replace(GOOD, atoms=(*ATOMS[:3], later)))


def test_ten_thousand_atoms_over_one_growing_guard_are_checked_at_once() -> None:
    guard: Term = FLAG
    atoms: list[Atom] = []
    for number in range(10_000):
        guard = terms.application("and", (guard, terms.eq(X, const(number))), "", BOOL)
        atoms.append(replace(ATOMS[3], id=f"c{number}", guard=guard))
    validate(replace(GOOD, atoms=tuple(atoms)))


def test_declarations_that_were_found_right_are_few_whoever_validates_meanwhile(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Two threads may each have added one, where there was room for one."""
    more = validation.MOST_DECLARED + 1
    held: dict[tuple[int, ...], tuple[object, ...]] = {(at,): () for at in range(more)}
    monkeypatch.setattr(validation, "_DECLARED", held)
    validate(
        read(
            'effect-ir v1\nprogram "p.py" target main\ntrusted users() -> int\neffect c1: users()\n'
        )
    )
    assert len(held) == validation.MOST_DECLARED
