"""Runs of documents: what happens, in which order, and which contracts hold of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from ir_strategies import (
    EFFECTS,
    ENUMS,
    EVENTS,
    FLUENTS,
    INPUTS,
    RESULTS,
    SCHEMAS,
    USER,
    contracts,
    documents,
    input_values,
    values_of,
)

from lictor_ir import terms
from lictor_ir.contracts import (
    KEY_NAME,
    VALUE_NAME,
    All,
    Anything,
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
    Obligation,
    ObligationKind,
    Performed,
    Update,
)
from lictor_ir.errors import TermError, UnspecifiedError
from lictor_ir.evaluation import Trace, broken_assumptions, failed_obligations, holds, run
from lictor_ir.provenance import argument_labels
from lictor_ir.terms import Term, const, eq, ite, not_, var
from lictor_ir.types import BOOL, INT, STR, ListOf
from lictor_ir.values import RowValue, Value

X, FLAG = var("x", INT), var("flag", BOOL)
OUTER, INNER = var("i", INT), var("j", INT)
ROWS = terms.result("c1", ListOf(USER))
TO, AMOUNT = field("to", STR), field("amount", INT)
SEND, PAY = Relation(("send",)), Relation(("pay",))


def col(index: Term, name: str, rows: Term = ROWS) -> Term:
    types = {column.name: column.type for column in SCHEMAS[0].columns}
    return terms.column(terms.apply("at", rows, index), name, types[name])


def atom(
    id_: str, effect: str, *, when: Term = terms.TRUE, over: tuple[Binder, ...] = (), **args: Term
) -> Atom:
    labels = argument_labels(args, [each.name for each in INPUTS])
    return Atom(id_, effect, args, guard=when, binders=over, labels=labels)


def document(*atoms: Atom, **rest: Any) -> Document:
    return Document(
        program="p",
        source_hash=None,
        layer_hash=None,
        effects=EFFECTS,
        events=EVENTS,
        schemas=SCHEMAS,
        enums=ENUMS,
        fluents=FLUENTS,
        inputs=(INPUTS[0], INPUTS[2]),
        atoms=atoms,
        **rest,
    )


PEOPLE = [
    RowValue("User", {"email": name, "age": age, "active": age > 1})
    for name, age in (("ann", 1), ("bob", 2), ("cyd", 2))
]


def returning(
    call: str, _indices: tuple[int, ...], effect: str, _args: Mapping[str, Value]
) -> Value:
    match effect:
        case "users":
            return PEOPLE
        case "names":
            return ["n1", "n2"]
        case "pay":
            return int(call[1:])
        case "rate":
            return 0.5
        case _:
            return None


def ran(*atoms: Atom, x: int = 3, flag: bool = True) -> Trace:
    return run(document(*atoms), {"x": x, "flag": flag}, returning)


def told(trace: Trace) -> list[tuple[Any, ...]]:
    return [(step.atom.id, *step.indices, *step.arguments.values()) for step in trace.steps]


# -- order -----------------------------------------------------------------------------------------


def test_atoms_happen_in_order_where_their_guards_hold() -> None:
    trace = ran(
        atom("c1", "note", what=X),
        atom("c2", "note", when=not_(FLAG), what=X),
        atom("c3", "note", when=FLAG, what=terms.apply("add", X, const(1))),
    )
    assert told(trace) == [("c1", 3), ("c3", 4)]


LOOP = (Binder(OUTER, ROWS),)


def test_atoms_of_one_loop_happen_iteration_by_iteration() -> None:
    trace = ran(
        atom("c1", "users"),
        atom("c2", "note", over=LOOP, what=col(OUTER, "email")),
        atom("c3", "note", over=LOOP, when=col(OUTER, "active"), what=OUTER),
        atom("c4", "note", what=const("end")),
    )
    assert told(trace) == [
        ("c1",),
        ("c2", 0, "ann"),
        ("c2", 1, "bob"),
        ("c3", 1, 1),
        ("c2", 2, "cyd"),
        ("c3", 2, 2),
        ("c4", "end"),
    ]


def test_inner_loops_run_within_each_iteration_and_read_its_results() -> None:
    names = terms.result("c2", ListOf(STR), [OUTER])
    inner = (*LOOP, Binder(INNER, names))
    trace = ran(
        atom("c1", "users"),
        atom("c2", "names", over=LOOP, limit=OUTER),
        atom("c3", "note", over=inner, what=terms.apply("at", names, INNER)),
    )
    assert told(trace)[1:5] == [("c2", 0, 0), ("c3", 0, 0, "n1"), ("c3", 0, 1, "n2"), ("c2", 1, 1)]


def test_a_loop_may_count() -> None:
    assert len(ran(atom("c1", "note", over=(Binder(OUTER, X),), what=OUTER)).steps) == 3
    assert ran(atom("c1", "note", over=(Binder(OUTER, X),), what=OUTER), x=-3).steps == ()


def test_a_loop_over_what_never_came_does_not_run() -> None:
    atoms = (
        atom("c1", "users", when=FLAG),
        atom("c2", "note", over=LOOP, when=FLAG, what=OUTER),
    )
    assert len(ran(*atoms).steps) == 4
    assert ran(*atoms, flag=False).steps == ()
    with pytest.raises(UnspecifiedError, match="c2 stands in a loop whose length is left open"):
        ran(atoms[0], replace(atoms[1], guard=terms.TRUE), flag=False)


def test_what_rests_on_an_open_value_is_not_guessed() -> None:
    beyond = terms.apply("at", ROWS, const(7))
    with pytest.raises(UnspecifiedError, match="index 7"):
        ran(atom("c1", "users"), atom("c2", "note", what=terms.column(beyond, "age", INT)))


def test_values_of_another_type_are_refused() -> None:
    with pytest.raises(TermError, match=r"what c1 returned\[0\] must be row<User>, not int"):
        run(document(atom("c1", "users")), {"x": 1, "flag": True}, lambda *_: [1])
    with pytest.raises(TermError, match="the input x must be int, not bool"):
        run(document(), {"x": True, "flag": True}, returning)
    with pytest.raises(UnspecifiedError, match="the input flag is not given"):
        run(document(), {"x": 1}, returning)


def test_assumptions_and_obligations_are_held_against_the_run() -> None:
    rests = document(
        atom("c1", "users"),
        assumptions=(Assumption("c1", terms.apply("le", terms.apply("len", ROWS), const(2))),),
        obligations=(
            Obligation(ObligationKind.ASSERTION, col(OUTER, "active"), "active", binders=LOOP),
            Obligation(ObligationKind.NO_ERROR, terms.FALSE, "unreached", not_(FLAG)),
        ),
    )
    trace = run(rests, {"x": 1, "flag": True}, returning)
    assert [broken.number for broken in broken_assumptions(trace)] == [0]
    assert [(broken.number, broken.indices) for broken in failed_obligations(trace)] == [(0, (0,))]


# -- contracts -------------------------------------------------------------------------------------

TWO_PAYMENTS = (
    atom("c1", "pay", to=const("ann"), amount=const(2)),
    atom("c2", "pay", to=const("bob"), amount=X),
)


@pytest.mark.parametrize(
    ("contract", "expected"),
    [
        (Anything(), True),
        (Both(()), True),
        (Both((Anything(), Empty(PAY))), False),
        (Empty(SEND), True),
        (Empty(Relation(("pay",), where=eq(TO, const("cyd")))), True),
        (Empty(Relation(("pay",), where=eq(TO, const("ann")))), False),
        (All(PAY, terms.apply("le", AMOUNT, const(3))), True),
        (All(PAY, terms.apply("lt", AMOUNT, const(3))), False),
        (All(SEND, terms.FALSE), True),
        (Distinct(PAY, TO), True),
        (Distinct(PAY, const(1)), False),
        (Count(PAY, Comparison.EXACTLY, const(2)), True),
        (Count(PAY, Comparison.LESS, const(2)), False),
        (Count(SEND, Comparison.AT_LEAST, const(0)), True),
        (Sum(PAY, AMOUNT, Comparison.AT_MOST, const(5)), True),
        (Sum(PAY, AMOUNT, Comparison.MORE, const(4.5)), True),
        (Sum(PAY, AMOUNT, Comparison.MORE, const(5)), False),
        (Sum(SEND, const(1), Comparison.EXACTLY, const(0)), True),
        (SharesValue(PAY, PAY, TO), True),
        (SharesValue(PAY, SEND, TO), False),
    ],
)
def test_contracts_mean_what_they_say(contract: Contract, expected: bool) -> None:
    assert holds(contract, ran(*TWO_PAYMENTS)) is expected


def test_order_is_strict() -> None:
    trace = ran(
        atom("c1", "pay", to=const("ann"), amount=X),
        atom("c2", "send", to=const("ann")),
        atom("c3", "send", to=const("bob")),
    )
    assert holds(Before(PAY, SEND), trace)
    assert not holds(Before(SEND, PAY), trace)
    assert not holds(Before(PAY, SEND, TO, TO), trace)
    assert holds(Before(PAY, Relation(("send",), where=eq(TO, const("ann"))), TO, TO), trace)
    assert holds(NeverAfter(SEND, PAY), trace)
    assert not holds(NeverAfter(PAY, SEND), trace)
    assert not holds(NeverAfter(SEND, SEND), trace)
    assert holds(NeverAfter(PAY, PAY), trace)


def test_a_call_counts_once_for_each_event_and_happens_at_once() -> None:
    performed = (
        Performed("Read", {"path": const("a")}),
        Performed("Write", {"path": const("b"), "size": X}),
    )
    trace = ran(replace(atom("c1", "send", to=const("ann")), events=performed))
    touch, read, write = (Relation(events=(name,)) for name in ("Touch", "Read", "Write"))
    assert holds(Count(touch, Comparison.EXACTLY, const(2)), trace)
    assert holds(Distinct(touch, field("path", STR)), trace)
    assert holds(Sum(write, field("size", INT), Comparison.EXACTLY, const(3)), trace)
    assert not holds(Before(read, write), trace)
    assert holds(NeverAfter(read, write), trace)
    assert not holds(Empty(read), trace)


def test_a_field_left_to_its_default_can_t_be_read() -> None:
    trace = ran(atom("c1", "pay", to=const("ann")))
    with pytest.raises(UnspecifiedError, match=r"e\.amount has no value"):
        holds(All(PAY, terms.apply("le", AMOUNT, const(3))), trace)
    assert holds(Count(PAY, Comparison.EXACTLY, const(1)), trace)


def test_origin_is_read_from_the_atom_iteration_by_iteration() -> None:
    stated = All(SEND, terms.apply("from", TO, param="User.email"))
    chosen = ite(eq(OUTER, const(1)), const("bob"), col(OUTER, "email"))
    taken = atom("c2", "send", over=LOOP, to=col(OUTER, "email"))
    assert holds(stated, ran(atom("c1", "users"), taken))
    # The value is the same, and yet it was written, not taken.
    mixed = ran(atom("c1", "users"), atom("c2", "send", over=LOOP, to=chosen))
    assert [step.arguments["to"] for step in mixed.steps[1:]] == ["ann", "bob", "cyd"]
    assert not holds(stated, mixed)


def test_two_columns_of_different_rows_are_told_apart() -> None:
    one_row = terms.apply("same_row", TO, AMOUNT, param="User.email,User.age")
    stated = All(PAY, one_row)
    same = atom("c2", "pay", over=LOOP, to=col(OUTER, "email"), amount=col(OUTER, "age"))
    mixed = atom("c2", "pay", over=LOOP, to=col(OUTER, "email"), amount=col(const(0), "age"))
    assert holds(stated, ran(atom("c1", "users"), same))
    assert not holds(stated, ran(atom("c1", "users"), mixed))


KEY, VALUE = var(KEY_NAME, STR), var(VALUE_NAME, BOOL)


def setting(*updates: tuple[str, bool]) -> Trace:
    return ran(
        *(
            replace(
                atom(f"c{number}", "pay", to=const(key)),
                updates=(Update("locked", const(key), const(value)),),
            )
            for number, (key, value) in enumerate(updates, 1)
        )
    )


def test_fluents_keep_what_was_set_last() -> None:
    assert holds(AtEnd("locked", VALUE), setting())
    assert holds(AtEnd("locked", VALUE), setting(("door", False), ("door", True)))
    assert not holds(AtEnd("locked", VALUE), setting(("door", True), ("door", False)))
    assert not holds(AtEnd("locked", VALUE, const("door")), setting(("door", False)))
    assert holds(AtEnd("locked", VALUE, const("gate")), setting(("door", False)))


def test_keys_that_nobody_set_have_the_initial_value() -> None:
    only_door = terms.or_(eq(KEY, const("door")), not_(VALUE))
    assert not holds(AtEnd("locked", only_door), setting(("door", True)))
    but_door = terms.or_(eq(KEY, const("door")), VALUE)
    assert holds(AtEnd("locked", but_door), setting(("door", False)))
    assert not holds(AtEnd("locked", but_door), setting(("gate", False)))
    long = terms.apply("le", terms.apply("len", KEY), const(5))
    with pytest.raises(UnspecifiedError, match="more with keys than comparing"):
        holds(AtEnd("locked", terms.or_(long, VALUE)), setting())
    with pytest.raises(UnspecifiedError, match="more with keys than comparing"):
        holds(
            AtEnd("locked", terms.or_(terms.apply("startswith", KEY, const("~")), VALUE)), setting()
        )


def test_a_prefix_is_the_run_cut_short() -> None:
    trace = ran(*TWO_PAYMENTS)
    counted = Count(PAY, Comparison.AT_LEAST, const(2))
    assert [holds(counted, trace.prefix(length)) for length in range(3)] == [False, False, True]


# -- laws ------------------------------------------------------------------------------------------


def run_with(drawn: Document, inputs: Mapping[str, Any], data: st.DataObject) -> Trace:
    def returned(_id: str, _at: tuple[int, ...], effect: str, _args: Mapping[str, Value]) -> Value:
        return data.draw(values_of(RESULTS[effect]))

    try:
        return run(drawn, inputs, returned)
    except UnspecifiedError:
        assume(condition=False)
        raise


@given(documents(), input_values(), st.data())
def test_a_run_never_goes_back(
    drawn: Document, inputs: dict[str, Any], data: st.DataObject
) -> None:
    trace = run_with(drawn, inputs, data)
    order = {atom.id: number for number, atom in enumerate(drawn.atoms)}
    outermost = {
        atom.id: atom.binders[0].index.name if atom.binders else atom.id for atom in drawn.atoms
    }
    steps = list(trace.steps)
    for earlier, later in pairwise(steps):
        if outermost[earlier.atom.id] != outermost[later.atom.id]:
            assert order[earlier.atom.id] < order[later.atom.id]
        else:
            assert earlier.indices[:1] <= later.indices[:1]
    assert [step.number for step in steps] == list(range(len(steps)))


@given(documents(), input_values(), st.data(), contracts(), contracts())
def test_conjunction_and_prefixes_obey_their_laws(
    drawn: Document, inputs: dict[str, Any], data: st.DataObject, one: Contract, other: Contract
) -> None:
    trace = run_with(drawn, inputs, data)
    try:
        both = holds(one, trace) and holds(other, trace)
        assert holds(Both((one, other)), trace) is both
        if isinstance(one, All | Empty | Distinct | NeverAfter | Before) and holds(one, trace):
            assert all(holds(one, trace.prefix(length)) for length in range(len(trace.steps)))
    except UnspecifiedError:
        return
