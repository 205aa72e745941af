"""Forged witnesses: whatever stands where a witness should, a certificate shows no more than is so.

The goal is derived from the document and the witness. So a witness that is wrong leaves a goal that nothing shows, and
one that reads what is not there before the call is refused for that alone, whatever evidence comes with it.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Mapping
from dataclasses import replace

import pytest

from lictor_ir.certificate.check import check, script_of
from lictor_ir.certificate.format import By, Certificate, Evidence, FrontEnd, Level, write
from lictor_ir.document import Document
from lictor_ir.errors import CertificateError, DocumentError, FormError
from lictor_ir.goals import Goal, GoalKind, Witness, goals
from lictor_ir.goals.witness import read_witness, witness_json
from lictor_ir.json.document import to_json
from lictor_ir.solver.answers import Conclusion
from lictor_ir.solver.z3_lowering import decide
from lictor_ir.terms import Term, application, apply, column, const, ite, result, var
from lictor_ir.text import read
from lictor_ir.types import INT, NEVER, STR, ListOf, RowOf
from lictor_ir.values import EnumValue
from lictor_schema.core.canonical_json import hash_bytes

DOCUMENT = read(
    """\
effect-ir v1
program "p.py" target main
enum Mood(calm, cross)
schema User(name: str, n: int)
trusted number(n: int) -> int
trusted users() -> list<row<User>>
trusted act(n: int) -> none
trusted mood() -> enum<Mood>
input x: int
input y: str

effect c1: number(n = x) when 0 < x
effect c2: users()
effect c3: number(n = result(c2)[i].n) for i in result(c2)
effect c4: number(n = i) for i in result(c2)
effect c5: act(n = 1)
effect c6: number(n = 3)
effect c7: mood()

assume c1 when 0 < x : 0 <= result(c1) and result(c1) < x says "an index below x"
assume c2 : len(result(c2)) <= 9
assume c2 for j in result(c2) : 0 < result(c2)[j].n
assume c3 for i in result(c2) : result(c3, i) == result(c2)[i].n + 1
assume c4 for i in result(c2) : result(c4, i) == result(c3, i)
assume c6 : result(c6) == 3
assume c7 : result(c7) == Mood::cross
guarantee "anything" : anything
"""
)
X, Y, AT, J = var("x", INT), var("y", STR), var("i", INT), var("j", INT)
USERS = result("c2", ListOf(RowOf("User")))
N = column(apply("at", USERS, AT), "n", INT)
HONEST: dict[str, Witness] = {
    "c1": Witness(const(0)),
    "c2": Witness(apply("list")),
    "c3": Witness(apply("add", N, const(1))),
    "c4": Witness(result("c3", INT, [AT])),
    "c6": Witness(const(3)),
    "c7": Witness(const(EnumValue("Mood", "cross"))),
}


def evidence(goal: Goal) -> Evidence:
    """All that somebody without a proof can claim."""
    if goal.folded:
        return Evidence(goal.id, goal.kind, By.EVALUATION, Level.C)
    text = script_of(goal)
    name = None if text is None else hash_bytes(text.encode())
    return Evidence(goal.id, goal.kind, By.SOLVER, Level.B, name, ("cvc5", "z3"))


def certificate(
    witnesses: Mapping[str, Witness], derived: tuple[Goal, ...], document: Document = DOCUMENT
) -> Certificate:
    ir = to_json(document)
    carried = tuple(map(evidence, derived))
    level = min((each.level for each in carried), default=Level.C)
    return Certificate(
        ir=ir,
        ir_hash=hash_bytes(ir),
        layer_hash=None,
        program_hash=None,
        front_end=FrontEnd.DOCUMENT,
        level=level,
        witnesses=tuple(witnesses.items()),
        goals=carried,
        engine="forged",
        settings="",
        solvers=() if level is Level.C else (("cvc5", "1"), ("z3", "4")),
    )


def refused(witnesses: Mapping[str, Witness]) -> str:
    """What a certificate with these witnesses is refused with; with the goals of honest ones, if it has none."""
    try:
        derived = goals(DOCUMENT, witnesses)
    except DocumentError:
        derived = goals(DOCUMENT, HONEST)
    with pytest.raises(CertificateError) as caught:
        check(write(certificate(witnesses, derived)))
    return str(caught.value)


def test_honest_witnesses_are_shown_without_a_solver() -> None:
    derived = goals(DOCUMENT, HONEST)
    assert [each.kind for each in derived] == [GoalKind.PROMISE] * len(HONEST)
    open_ = {each.id for each in derived if not each.folded}
    # That 0 is below x where x is above 0 is said in two ways; the rest is plain.
    assert open_ <= {"promise.c1"}
    assert all(decide(each, 5_000, 512).conclusion is Conclusion.HOLDS for each in derived)
    assert check(write(certificate(HONEST, derived))).level >= Level.B


def test_witnesses_travel() -> None:
    for each in (*HONEST.values(), Witness(const("a"), X)):
        assert pickle.loads(pickle.dumps(each)) == each


@pytest.mark.parametrize("call", HONEST)
def test_a_witness_that_is_missing_is_missed(call: str) -> None:
    fewer = {name: each for name, each in HONEST.items() if name != call}
    assert "no result is known" in refused(fewer)


def beyond_their_time() -> Iterator[tuple[str, str, Term]]:
    """Terms that are no value before the call, or none at all."""
    yield "c1", "the result itself", result("c1", INT)
    yield "c1", "a part that reads the result itself", apply("add", result("c1", INT), const(1))
    yield "c1", "a later result", result("c6", INT)
    yield (
        "c1",
        "a later result in a condition",
        ite(apply("lt", result("c6", INT), const(1)), const(0), apply("sub", X, X)),
    )
    yield "c3", "the result of the same iteration", result("c3", INT, [AT])
    yield (
        "c3",
        "the result of an earlier iteration",
        result("c3", INT, [apply("sub", AT, const(1))]),
    )
    yield "c3", "what comes later in the iteration", result("c4", INT, [AT])
    yield "c4", "another iteration", result("c3", INT, [const(0)])
    yield "c4", "without an iteration", result("c3", INT)
    yield "c6", "the index of a loop that ended", AT
    yield "c1", "the index of a promise", J
    yield "c1", "a variable that nobody declares", var("z", INT)
    yield "c1", "an input as something else", var("y", INT)
    yield "c1", "a variable that stands in for something", var("?0", INT)
    yield "c1", "a call that is none", result("c9", INT)
    yield "c4", "a result as something else", result("c3", STR, [AT])


@pytest.mark.parametrize(
    ("call", "term"),
    [(call, term) for call, _, term in beyond_their_time()],
    ids=[f"{call}: {what}" for call, what, _ in beyond_their_time()],
)
def test_a_witness_reads_only_what_is_there_before_its_call(call: str, term: Term) -> None:
    assert f"witnesses.{call}" in refused({**HONEST, call: Witness(term)})


@pytest.mark.parametrize(
    "witness",
    [
        Witness(const("0")),
        Witness(const(0.0)),
        Witness(const(value=False)),
        Witness(const(None)),
        Witness(apply("list")),
        Witness(application("at", (apply("list"), const(0)), "", NEVER)),
        Witness(const(0), const(1)),
        Witness(apply("row", const("a"), const(1), param="User:name,n")),
    ],
    ids=str,
)
def test_a_witness_has_the_type_of_the_result(witness: Witness) -> None:
    assert "must be int" in refused({**HONEST, "c1": witness})


@pytest.mark.parametrize(
    "witness",
    [
        Witness(apply("list", const(1))),
        Witness(apply("tuple")),
        Witness(apply("row", const("a"), const(1), param="User:name,n"), const("9")),
        Witness(const(1), const(9)),
        Witness(apply("row", const("a"), const(1), param="User:name,n"), apply("len", USERS)),
    ],
    ids=str,
)
def test_a_list_has_a_length_and_items_of_their_types(witness: Witness) -> None:
    assert "witnesses.c2" in refused({**HONEST, "c2": witness})


def test_an_enum_has_its_members() -> None:
    assert "no member" in refused({**HONEST, "c7": Witness(const(EnumValue("Mood", "glad")))})
    assert "no member" in refused({**HONEST, "c7": Witness(const(EnumValue("Other", "cross")))})
    assert "must be enum<Mood>" in refused({**HONEST, "c7": Witness(const("cross"))})


def test_witnesses_stand_once_each_in_the_order_of_calls_and_of_no_other_call() -> None:
    derived = goals(DOCUMENT, HONEST)
    honest = certificate(HONEST, derived)
    first, *rest = honest.witnesses
    for other in (
        (*rest, first),
        (first, first, *rest),
        (*honest.witnesses, ("c5", Witness(const(None)))),
        (*honest.witnesses, ("c9", Witness(const(0)))),
    ):
        with pytest.raises(CertificateError, match="witnesses"):
            check(write(replace(honest, witnesses=other)))


def test_a_witness_where_no_promise_reads_the_result_is_of_no_use() -> None:
    unread = replace(DOCUMENT.assumptions[-2], formula=apply("lt", const(0), X))
    document = replace(DOCUMENT, assumptions=(unread,))
    with pytest.raises(DocumentError, match="of no use"):
        goals(document, {"c6": HONEST["c6"]})


# -- witnesses that are well made and wrong --------------------------------------------------------

WRONG = {
    "c1": [const(-1), X, const(1), apply("sub", X, const(2))],
    "c2": [apply("list", apply("row", const("a"), const(0), param="User:name,n"))],
    "c3": [N, const(1), apply("add", AT, const(1)), apply("add", X, const(1))],
    "c4": [N, AT, const(0)],
    "c6": [const(4), X],
    "c7": [const(EnumValue("Mood", "calm"))],
}


@pytest.mark.parametrize(
    ("call", "term"), [(call, term) for call, terms in WRONG.items() for term in terms], ids=str
)
def test_a_wrong_witness_leaves_a_goal_that_does_not_hold(call: str, term: Term) -> None:
    witnesses = {**HONEST, call: Witness(term)}
    derived = goals(DOCUMENT, witnesses)
    (goal,) = [each for each in derived if each.id == f"promise.{call}"]
    assert not goal.folded
    assert decide(goal, 5_000, 512).conclusion is Conclusion.FAILS
    forged = certificate(witnesses, derived)
    # At best it is what somebody says that solvers said; and the honest evidence is of another goal.
    assert check(write(forged)).level is Level.B
    honest = certificate(HONEST, goals(DOCUMENT, HONEST))
    with pytest.raises(CertificateError):
        check(write(replace(honest, witnesses=forged.witnesses)))
    claimed = [
        replace(each, by=By.EVALUATION, level=Level.C, script_hash=None, solvers=())
        if each.goal == goal.id
        else each
        for each in forged.goals
    ]
    with pytest.raises(CertificateError):
        check(write(replace(forged, goals=tuple(claimed))))


def test_a_list_of_negative_length_is_none() -> None:
    document = read(
        """\
effect-ir v1
program "p.py" target main
trusted take(n: int) -> list<str>
input x: int
effect c1: take(n = x)
assume c1 : len(result(c1)) == x
guarantee "anything" : anything
"""
    )
    (goal,) = goals(document, {"c1": Witness(const("a"), X)})
    assert decide(goal, 5_000, 512).conclusion is Conclusion.FAILS
    above = replace(document.assumptions[0], guard=apply("le", const(0), X))
    (goal,) = goals(replace(document, assumptions=(above,)), {"c1": Witness(const("a"), X)})
    assert decide(goal, 5_000, 512).conclusion is Conclusion.HOLDS


@pytest.mark.parametrize(
    "change",
    [
        {"terms": []},
        {"value": 1},
        {"value": -1},
        {"value": None},
        {"length": 0},
        {"terms": [{"const": "int", "value": "0"}] * 2},
        {"terms": [{"const": "int", "value": "00"}]},
        {"terms": [{"const": "int", "value": "1"}, {"const": "int", "value": "0"}], "value": 1},
        {"more": 1},
    ],
    ids=str,
)
def test_a_witness_is_written_in_one_way(change: dict[str, object]) -> None:
    written = witness_json(Witness(const(0)))
    assert read_witness(written, ()) == Witness(const(0))
    changed = {**written, **change}
    if change == {"length": 0}:
        # The same term may be both: a list of that length.
        assert read_witness(changed, ()) == Witness(const(0), const(0))
        return
    with pytest.raises(FormError):
        read_witness(changed, ())
