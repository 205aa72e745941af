"""Goals: what each contract comes to, in loops, under promises, and where it can't be told."""

from __future__ import annotations

import math
import time
from dataclasses import replace

import pytest

from lictor_ir.contracts import (
    All,
    AtEnd,
    Before,
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
    Event,
    Fluent,
    Guarantee,
    Obligation,
    ObligationKind,
    Parameter,
    Performed,
    Schema,
    Update,
)
from lictor_ir.goals import Goal, GoalKind, Strength, goals
from lictor_ir.solver.answers import Conclusion
from lictor_ir.solver.z3_lowering import decide
from lictor_ir.terms import (
    TRUE,
    Term,
    and_,
    apply,
    column,
    const,
    eq,
    not_,
    result,
    var,
)
from lictor_ir.types import BOOL, FLOAT, INT, NONE, STR, ListOf, RowOf

ROWS = ListOf(RowOf("User"))
USERS = result("c1", ROWS)
AT, J = var("i", INT), var("j", INT)
EACH = Binder(AT, USERS)
ROW = apply("at", USERS, AT)
EMAIL, AGE = column(ROW, "email", STR), column(ROW, "age", INT)
KEY, AMOUNT = field("key", STR), field("amount", INT)
ACT, NOTE = Relation(("act",)), Relation(("note",))
QUERY = Atom("c1", "query", {})


def act(at: int, key: object, amount: object = 1, guard: Term = TRUE, *loops: Binder) -> Atom:
    return Atom(f"c{at}", "act", {"key": _term(key), "amount": _term(amount)}, guard, tuple(loops))


def note(at: int, key: object, guard: Term = TRUE, *loops: Binder) -> Atom:
    return replace(act(at, key, 0, guard, *loops), effect="note")


def _term(value: object) -> Term:
    return value if isinstance(value, Term) else const(value)  # type: ignore[arg-type]


def document(*atoms: Atom, promises: tuple[Assumption, ...] = ()) -> Document:
    return Document(
        "t",
        None,
        None,
        effects=(
            Effect("query", (), ROWS),
            Effect("number", (Parameter("x", INT),), INT),
            Effect("act", (Parameter("key", STR), Parameter("amount", INT)), NONE),
            Effect("note", (Parameter("key", STR), Parameter("amount", INT)), NONE),
        ),
        schemas=(Schema("User", (Parameter("email", STR), Parameter("age", INT))),),
        fluents=(Fluent("door", STR, BOOL, const(True)),),
        events=(Event("Write", ("Write", "Io"), (Parameter("path", STR),)),),
        inputs=(Parameter("b", BOOL), Parameter("x", INT), Parameter("s", STR)),
        atoms=atoms,
        assumptions=promises,
    )


def goal(contract: Contract, *atoms: Atom, promises: tuple[Assumption, ...] = ()) -> Goal:
    stated = replace(document(*atoms, promises=promises), guarantees=(Guarantee("g", contract),))
    (found,) = [each for each in goals(stated, {}) if each.kind is GoalKind.GUARANTEE]
    return found


def holds(contract: Contract, *atoms: Atom, promises: tuple[Assumption, ...] = ()) -> bool:
    made = goal(contract, *atoms, promises=promises)
    assert not made.undecided
    found = decide(made, 5_000, 512)
    assert found.conclusion is not Conclusion.UNDECIDED, found.reason
    return found.conclusion is Conclusion.HOLDS


def at_most(most: int) -> Assumption:
    return Assumption("c1", apply("le", apply("len", USERS), const(most)), text=f"at most {most}")


B, X, S = var("b", BOOL), var("x", INT), var("s", STR)


# -- known programs need no solver -----------------------------------------------------------------


@pytest.mark.parametrize(
    "contract",
    [
        All(ACT, apply("in", KEY, apply("list", const("k0"), const("k1"), const("k2")))),
        Empty(NOTE),
        Distinct(ACT, KEY),
        Count(ACT, Comparison.AT_MOST, const(3)),
        Count(ACT, Comparison.EXACTLY, const(3)),
        Sum(ACT, AMOUNT, Comparison.AT_MOST, const(3)),
        SharesValue(ACT, Relation(("act",), (), eq(AMOUNT, const(1))), KEY),
        NeverAfter(ACT, NOTE),
        Before(NOTE, NOTE),
        AtEnd("door", var("value", BOOL)),
    ],
)
def test_known_programs_fold_away(contract: Contract) -> None:
    assert goal(contract, *(act(at, f"k{at}") for at in range(3))).folded


def test_a_thousand_known_keys_are_compared_in_groups() -> None:
    begun = time.process_time()
    assert goal(Distinct(ACT, KEY), *(act(at, f"k{at}") for at in range(1_000))).folded
    assert goal(SharesValue(ACT, ACT, KEY), *(act(at, f"k{at}") for at in range(1_000))).folded
    before = [note(0, "k"), *(act(at, f"k{at}") for at in range(1_000))]
    assert goal(Before(NOTE, ACT), *before).folded
    assert time.process_time() - begun < 4


def test_many_keys_that_are_not_known_stay_linear() -> None:
    atoms = [act(at, apply("concat", S, const(f"-{at}"))) for at in range(400)]
    assert goal(Distinct(ACT, KEY), *atoms).folded
    atoms = [act(at, var("s" if at % 2 else "t", STR), at, eq(X, const(at))) for at in range(300)]
    assert holds(Distinct(ACT, KEY), *atoms)


# -- loops -----------------------------------------------------------------------------------------


def test_what_a_loop_does_is_known_for_every_row() -> None:
    adult = apply("le", const(18), AGE)
    atoms = (QUERY, act(2, EMAIL, AGE, adult, EACH))
    assert holds(All(ACT, apply("lt", const(10), AMOUNT)), *atoms)
    assert not holds(All(ACT, apply("lt", const(20), AMOUNT)), *atoms)
    assert not holds(Empty(ACT), *atoms)


def test_keys_of_different_iterations_are_compared() -> None:
    assert not holds(Distinct(ACT, KEY), QUERY, act(2, EMAIL, 1, TRUE, EACH))
    assert not holds(Distinct(ACT, KEY), QUERY, act(2, "k", 1, TRUE, EACH))
    assert holds(Distinct(ACT, KEY), QUERY, act(2, "k", 1, TRUE, EACH), promises=(at_most(1),))


def test_two_effects_of_one_loop_are_compared_across_iterations() -> None:
    young = apply("lt", AGE, const(18))
    atoms = (QUERY, act(2, "k", 1, young, EACH), act(3, "k", 1, not_(young), EACH))
    assert not holds(Distinct(ACT, KEY), *atoms)
    assert holds(Distinct(ACT, KEY), *atoms, promises=(at_most(1),))


def test_counts_in_loops_follow_the_length() -> None:
    atoms = (QUERY, act(2, EMAIL, 1, TRUE, EACH), act(3, "k"))
    for most, kept in ((4, True), (3, False)):
        bound = Count(ACT, Comparison.AT_MOST, const(most))
        assert holds(bound, *atoms, promises=(at_most(3),)) is kept
    assert holds(Count(ACT, Comparison.AT_LEAST, const(1)), *atoms)
    assert not holds(Count(ACT, Comparison.AT_LEAST, const(2)), *atoms)


def test_either_branch_of_a_loop_counts_once_for_each_row() -> None:
    young = apply("lt", AGE, const(18))
    atoms = (QUERY, act(2, "a", 1, young, EACH), act(3, "b", 1, not_(young), EACH))
    bound = Count(ACT, Comparison.AT_MOST, const(3))
    assert holds(bound, *atoms, promises=(at_most(3),))


def test_sums_of_columns_follow_length_and_bound() -> None:
    few = apply("le", AGE, const(10))
    atoms = (QUERY, act(2, EMAIL, AGE, few, EACH))
    for most, kept in ((30, True), (29, False)):
        bound = Sum(ACT, AMOUNT, Comparison.AT_MOST, const(most))
        assert holds(bound, *atoms, promises=(at_most(3),)) is kept
    assert not holds(Sum(ACT, AMOUNT, Comparison.AT_MOST, const(10**9)), *atoms)
    assert goal(Sum(ACT, AMOUNT, Comparison.AT_MOST, const(30)), *atoms).strength == (
        Strength.ON_COMPLETION
    )


def test_nested_loops_multiply() -> None:
    inner = Binder(J, result("c2", ROWS, [AT]))
    query = Atom("c2", "query", {}, TRUE, (EACH,))
    atoms = (QUERY, query, act(3, "k", 1, TRUE, EACH, inner))
    short = Assumption(
        "c2", apply("le", apply("len", inner.over), const(2)), TRUE, (EACH,), "at most 2"
    )
    for most, kept in ((6, True), (5, False)):
        bound = Count(ACT, Comparison.AT_MOST, const(most))
        assert holds(bound, *atoms, promises=(at_most(3), short)) is kept


def test_order_within_and_across_iterations() -> None:
    loop = (QUERY, note(2, EMAIL, TRUE, EACH), act(3, EMAIL, 1, TRUE, EACH))
    assert holds(Before(NOTE, ACT, KEY, KEY), *loop)
    assert not holds(NeverAfter(NOTE, ACT), *loop)
    assert not holds(NeverAfter(ACT, NOTE), *loop)
    assert holds(NeverAfter(ACT, NOTE), *loop, promises=(at_most(1),))
    turned = (QUERY, act(2, EMAIL, 1, TRUE, EACH), note(3, EMAIL, TRUE, EACH))
    assert not holds(Before(NOTE, ACT, KEY, KEY), *turned)


def test_a_second_loop_over_the_same_rows_finds_the_first() -> None:
    again = Binder(J, USERS)
    email = column(apply("at", USERS, J), "email", STR)
    atoms = (QUERY, note(2, EMAIL, TRUE, EACH), act(3, email, 1, TRUE, again))
    assert holds(Before(NOTE, ACT, KEY, KEY), *atoms)


def test_a_value_is_shared_by_the_first_iteration() -> None:
    atoms = (QUERY, note(2, EMAIL, TRUE, EACH), act(3, EMAIL, 1, TRUE, EACH))
    some = Assumption("c1", apply("lt", const(0), apply("len", USERS)), text="not empty")
    assert holds(SharesValue(ACT, NOTE, KEY), *atoms, promises=(some,))
    assert not holds(SharesValue(ACT, NOTE, KEY), *atoms)


# -- fluents ---------------------------------------------------------------------------------------


def sets(atom: Atom, value: object) -> Atom:
    return replace(atom, updates=(Update("door", atom.arguments["key"], _term(value)),))


LOCKED = AtEnd("door", var("value", BOOL))


def test_the_last_update_of_a_key_counts() -> None:
    assert holds(LOCKED, sets(act(1, "a"), False), sets(act(2, "a"), True))
    assert not holds(LOCKED, sets(act(1, S), False), sets(act(2, "a"), True))
    assert holds(replace(LOCKED, key=const("a")), sets(act(1, S), False), sets(act(2, "a"), True))
    assert not holds(LOCKED, sets(act(1, "a", 1, B), False))


def test_a_loop_that_unlocks_must_lock_again() -> None:
    unlock, lock = act(2, EMAIL, 1, TRUE, EACH), note(3, EMAIL, TRUE, EACH)
    assert holds(LOCKED, QUERY, sets(unlock, False), sets(lock, True))
    assert not holds(LOCKED, QUERY, sets(unlock, False))
    assert not holds(LOCKED, QUERY, sets(replace(lock, id="c2"), True), sets(unlock, False))


# -- promises --------------------------------------------------------------------------------------


def impossible_above(limit: int) -> tuple[Atom, Assumption]:
    """A call whose promise can't be kept for great arguments: it does not return then."""
    value = result("c2", INT)
    between = and_(apply("lt", X, value), apply("lt", value, const(limit)))
    return Atom("c2", "number", {"x": X}), Assumption("c2", between, text="between")


def test_a_promise_does_not_hide_what_happened_before_the_call() -> None:
    call, promise = impossible_above(10)
    great = apply("le", const(10), X)
    empty = Empty(ACT)
    assert not holds(empty, act(1, "k", 1, great), call, promises=(promise,))
    after = act(3, "k", result("c2", INT), great)
    assert holds(All(ACT, apply("lt", AMOUNT, const(0))), call, after, promises=(promise,))
    count = Count(ACT, Comparison.AT_MOST, const(0))
    assert not holds(count, act(1, "k", 1, great), call, promises=(promise,))
    known = apply("lt", result("c2", INT), const(20))
    assert holds(count, call, act(3, "k", 1, and_(great, known)), promises=(promise,))
    late = act(4, "k", 1, eq(result("c2", INT), const(-1)))
    assert not holds(count, act(1, "k", 1, great), call, late, promises=(promise,))


def test_a_promise_counts_for_an_error_that_reads_the_result() -> None:
    call, promise = impossible_above(10)
    stated = replace(
        document(call, promises=(promise,)),
        obligations=(
            Obligation(ObligationKind.NO_ERROR, apply("lt", result("c2", INT), const(10)), "small"),
            Obligation(ObligationKind.NO_ERROR, apply("lt", X, const(9)), "small argument"),
        ),
    )
    small, argument = (each for each in goals(stated, {}) if each.kind is GoalKind.NO_ERROR)
    assert decide(small, 5_000, 512).conclusion is Conclusion.HOLDS
    # It reads no result, so the call may be yet to come.
    assert decide(argument, 5_000, 512).conclusion is Conclusion.FAILS


def test_promises_about_every_row_are_used_where_rows_are_read() -> None:
    grown = Assumption("c1", apply("le", const(18), AGE), TRUE, (EACH,), "every user is grown up")
    other = Binder(J, USERS)
    age = column(apply("at", USERS, J), "age", INT)
    assert holds(
        All(ACT, apply("lt", const(10), AMOUNT)),
        QUERY,
        act(2, "k", age, TRUE, other),
        promises=(grown,),
    )
    first = column(apply("at", USERS, const(0)), "age", INT)
    some = apply("lt", const(0), apply("len", USERS))
    assert holds(
        All(ACT, apply("lt", const(10), AMOUNT)), QUERY, act(2, "k", first, some), promises=(grown,)
    )


# -- what can't be told ----------------------------------------------------------------------------


def test_an_argument_left_to_its_default_is_undecided() -> None:
    atom = Atom("c1", "act", {"key": const("k")})
    assert goal(All(ACT, apply("lt", AMOUNT, const(3))), atom).undecided
    assert goal(Sum(ACT, AMOUNT, Comparison.AT_MOST, const(3)), atom).undecided
    assert not goal(All(ACT, eq(KEY, const("k"))), atom).undecided


def test_a_relation_of_nothing_is_undecided() -> None:
    assert goal(Empty(Relation()), act(1, "k")).undecided


def test_an_unknown_fluent_is_undecided() -> None:
    assert goal(AtEnd("window", var("value", BOOL))).undecided


def test_events_are_effects_of_their_own() -> None:
    writes = Relation((), ("Io",))
    atom = replace(act(1, "k"), events=(Performed("Write", {"path": const("/tmp/x")}),) * 2)
    path = field("path", STR)
    assert holds(Count(writes, Comparison.EXACTLY, const(2)), atom)
    assert holds(All(writes, apply("startswith", path, const("/tmp/"))), atom)
    assert not holds(Distinct(writes, path), atom)
    assert holds(NeverAfter(writes, writes), atom)


# -- floats ----------------------------------------------------------------------------------------


def pays(at: int, amount: float, guard: Term = TRUE) -> Atom:
    return Atom(f"c{at}", "act", {"key": const("k"), "amount": const(amount)}, guard)


def test_floats_are_added_as_a_run_adds_them() -> None:
    cents = [pays(at, 0.1) for at in range(3)]
    amount = field("amount", FLOAT)
    assert not holds(Sum(ACT, amount, Comparison.AT_MOST, const(0.3)), *cents)
    assert holds(Sum(ACT, amount, Comparison.AT_MOST, const(0.1 + 0.1 + 0.1)), *cents)
    assert holds(Sum(ACT, amount, Comparison.AT_MOST, const(1)), *cents, pays(4, 0.5, B))
    assert not holds(Sum(ACT, amount, Comparison.AT_MOST, const(1)), pays(1, math.nan))


def test_a_guarded_float_is_left_to_the_solver() -> None:
    amount = field("amount", FLOAT)
    atoms = (pays(1, 0.5, B), pays(2, 0.75, not_(B)))
    assert holds(Sum(ACT, amount, Comparison.AT_MOST, const(0.75)), *atoms)
    assert not holds(Sum(ACT, amount, Comparison.AT_MOST, const(0.7)), *atoms)
