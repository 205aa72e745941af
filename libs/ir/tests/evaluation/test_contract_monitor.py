"""Guarantees are held with every call that is about to be made, and mean then what they mean of a whole run."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import example, given, reject, settings
from hypothesis import strategies as st
from ir_strategies import RESULTS, contracts, documents, input_values, values_of
from unknown_documents import document

from lictor_ir.contracts import (
    All,
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
    leaves,
)
from lictor_ir.document import Document, Guarantee
from lictor_ir.errors import UnspecifiedError
from lictor_ir.evaluation import Following, Step, Trace, holds, run
from lictor_ir.evaluation.contract_monitor import ContractMonitor, stays_broken
from lictor_ir.evaluation.relation_rows import RelationRows, Row
from lictor_ir.evaluation.seen_values import SeenValues
from lictor_ir.evaluation.term_values import Environment, Evaluation, same, value
from lictor_ir.terms import const
from lictor_ir.values import EnumValue, RowValue

# -- what contracts say, quantifier by quantifier --------------------------------------------------------


def _rows(relation: Relation, trace: Trace) -> list[tuple[Step, Row]]:
    rows = RelationRows(trace.document, relation)
    return [
        (step, row)
        for step in trace.steps
        for row in rows.covered(step, Evaluation(trace.at(step), trace.facts))
        if rows.has(row)
    ]


def _plainly(contract: Contract, trace: Trace) -> bool:
    """The table of docs/effect-ir.md, read out; UnspecifiedError where it comes to something open."""
    match contract:
        case All(relation, predicate):
            return all(row.holds(predicate) for _, row in _rows(relation, trace))
        case Empty(relation):
            return not _rows(relation, trace)
        case Distinct(relation, key):
            keys = [row.value(key) for _, row in _rows(relation, trace)]
            return not any(same(a, b) for at, a in enumerate(keys) for b in keys[:at])
        case Count(relation, comparison, bound):
            return _compared(len(_rows(relation, trace)), comparison, bound)
        case Sum(relation, of, comparison, bound):
            return _compared(
                sum(row.value(of) for _, row in _rows(relation, trace)), comparison, bound
            )
        case SharesValue(left, right, key):
            return any(
                same(one.value(key), other.value(key))
                for _, one in _rows(left, trace)
                for _, other in _rows(right, trace)
            )
        case Before(first, then, first_key, then_key):
            earlier = _rows(first, trace)
            return all(
                any(
                    one.number < two.number
                    and (
                        first_key is None
                        or then_key is None
                        or same(row.value(first_key), other.value(then_key))
                    )
                    for one, row in earlier
                )
                for two, other in _rows(then, trace)
            )
        case NeverAfter(first, then):
            return not any(
                one.number < two.number
                for one, _ in _rows(first, trace)
                for two, _ in _rows(then, trace)
            )
        case _:
            return holds(contract, trace)


def _compared(amount: Any, comparison: Comparison, bound: Any) -> bool:
    limit: Any = value(bound, Environment())
    return {
        "<=": amount <= limit,
        "<": amount < limit,
        ">=": amount >= limit,
        ">": amount > limit,
        "==": amount == limit,
    }[comparison.value]


# -- laws ------------------------------------------------------------------------------------------------


def _trace(known: Document, inputs: dict[str, Any], data: st.DataObject) -> Trace:
    def answer(_call: str, _at: tuple[int, ...], effect: str, _given: Mapping[str, Any]) -> Any:
        return data.draw(values_of(RESULTS[effect]), label=effect)

    try:
        return run(known, inputs, answer)
    except UnspecifiedError:
        reject()


def _truth(contract: Contract, trace: Trace) -> bool | str:
    try:
        return holds(contract, trace)
    except UnspecifiedError as error:
        return str(error)


def _monitored(contract: Contract, trace: Trace) -> Iterator[bool | str]:
    """What a monitor of this contract alone says with each call: kept, or why not."""
    known = replace(trace.document, guarantees=(Guarantee("g", contract),))
    monitor = ContractMonitor(known)
    for step in trace.steps:
        monitor.add(step, Evaluation(trace.at(step), trace.facts))
        unkept = monitor.unkept()
        yield True if unkept is None else unkept.open or False


@settings(deadline=None)
@given(documents(), input_values(), st.data(), contracts())
def test_a_monitor_says_of_each_call_what_holds_of_the_run_that_ends_with_it(
    known: Document, inputs: dict[str, Any], data: st.DataObject, contract: Contract
) -> None:
    trace = _trace(known, inputs, data)
    for leaf in leaves(contract):
        told = list(_monitored(leaf, trace))
        if stays_broken(leaf, known):
            prefixes = range(1, len(trace.steps) + 1)
            assert told == [_truth(leaf, trace.prefix(length)) for length in prefixes]
            assert False not in told or told[-1] is False
        elif isinstance(leaf, Count | Sum) and leaf.comparison is Comparison.EXACTLY:
            # Too much of it is never mended.
            assert False not in told or (told[-1] is False and _truth(leaf, trace) is False)
        else:
            assert all(each is True for each in told)


@settings(deadline=None)
@given(documents(), input_values(), st.data(), contracts())
def test_contracts_hold_of_the_runs_that_the_table_says(
    known: Document, inputs: dict[str, Any], data: st.DataObject, contract: Contract
) -> None:
    trace = _trace(known, inputs, data)
    for leaf in leaves(contract):
        for length in range(len(trace.steps) + 1):
            try:
                expected = _plainly(leaf, trace.prefix(length))
            except UnspecifiedError:
                continue  # where something is open, the rest may decide it all the same
            assert holds(leaf, trace.prefix(length)) is expected


@settings(deadline=None)
@given(documents(), input_values(), st.data(), st.lists(contracts(), max_size=3))
def test_a_run_is_stopped_with_the_call_that_breaks_a_guarantee(
    known: Document, inputs: dict[str, Any], data: st.DataObject, stated: list[Contract]
) -> None:
    """Call by call beside the program, and over the whole trace, it is the same call."""
    guarantees = tuple(Guarantee(f"g{at}", each) for at, each in enumerate(stated))
    known = replace(known, assumptions=(), guarantees=guarantees)
    trace = _trace(known, inputs, data)
    broken = ContractMonitor(known).broken_by(trace)
    following = Following(known, inputs, monitored=True)
    for step in trace.steps:
        following.called(step.effect, step.arguments)
        unkept = following.unkept()
        if unkept is not None and unkept.open is None:
            assert broken == (unkept.guarantee, step.number + 1)
            return
        following.returned(step.result)  # type: ignore[arg-type]
    following.ended()
    unkept = following.unkept()
    if unkept is not None and unkept.open is None:
        assert broken == (unkept.guarantee, len(trace.steps))
    else:
        assert broken is None


_SCALARS = st.sampled_from(
    [None, True, 0, 1, 1.0, -0.0, 0.0, math.nan, Fraction(1), Fraction(1, 2), 0.5, "", "1"]
) | st.builds(EnumValue, st.just("E"), st.sampled_from("ab"))
_VALUES = st.recursive(
    _SCALARS,
    lambda parts: (
        st.lists(parts, max_size=2)
        | st.lists(parts, max_size=2).map(tuple)
        | st.frozensets(_SCALARS, max_size=2)
        | st.dictionaries(_SCALARS, parts, max_size=2)
        | st.builds(RowValue, st.sampled_from("RS"), st.fixed_dictionaries({"c": parts}))
    ),
    max_leaves=4,
)


@given(st.lists(_VALUES, max_size=4), _VALUES)
@example([math.nan], [math.nan])
@example([[math.nan]], math.nan)
@example([math.nan], math.nan)
@example([[1.0]], [math.nan])
def test_a_value_was_seen_when_it_is_the_same_as_one_that_was(seen: list[Any], asked: Any) -> None:
    values = SeenValues()
    for each in seen:
        values.add(each)
    try:
        expected = any(same(each, asked) for each in seen)
    except UnspecifiedError:
        with pytest.raises(UnspecifiedError):
            values.have(asked)
        return
    assert values.copy().have(asked) is expected


def test_each_call_is_read_once_however_many_came_before(monkeypatch: pytest.MonkeyPatch) -> None:
    known = document(
        """
effect c1: ask(what = "n")
effect c2: pay(cents = i) for i in result(c1)
guarantee "each" : all {forall e in pay : e.cents < 999; (count e in pay) <= 999}
guarantee "once" : distinct e in pay : e.cents
"""
    )
    read: list[Step] = []
    covered = RelationRows.covered

    def counting(rows: RelationRows, step: Step, inside: Evaluation) -> Iterator[Row]:
        read.append(step)
        return covered(rows, step, inside)

    monkeypatch.setattr(RelationRows, "covered", counting)
    following = Following(known, {}, monitored=True)
    following.called("ask", {"what": "n"})
    following.returned(100)
    for cents in range(100):
        following.called("pay", {"cents": cents})
        assert following.unkept() is None
        following.returned(None)
    following.ended()
    assert following.unkept() is None
    assert len(read) == 3 * 101


# -- sums ------------------------------------------------------------------------------------------------

CAP = 'guarantee "cap" : (sum e in pay : e.cents) <= 10'


@pytest.mark.parametrize(
    ("body", "held"),
    [
        ("effect c1: pay(cents = 7)\neffect c2: pay(cents = 7)", True),
        ("effect c1: pay(cents = 7)\neffect c2: pay(cents = -7)", False),
        ('effect c1: ask(what = "n")\neffect c2: pay(cents = result(c1))', False),
        ('effect c1: ask(what = "n")\neffect c2: pay(cents = abs(result(c1)))', True),
        # Conditions of the call show it, too.
        (
            'effect c1: ask(what = "n")\neffect c2: pay(cents = result(c1)) when 0 < result(c1)',
            True,
        ),
        (
            'effect c1: ask(what = "n")\neffect c2: pay(cents = result(c1)) when -1 < result(c1)',
            False,
        ),
        (
            'effect c1: ask(what = "n")\neffect c2: pay(cents = result(c1)) when not result(c1) < 0',
            True,
        ),
        (
            'effect c1: ask(what = "n")\neffect c2: pay(cents = result(c1)) when not 0 < result(c1)',
            False,
        ),
        (
            "effect c1: users()\neffect c2: pay(cents = result(c1)[i].age) for i in result(c1)\n"
            'oblige precondition of c2 for i in result(c1) : 0 <= result(c1)[i].age says "paid"',
            True,
        ),
        (
            "effect c1: users()\neffect c2: pay(cents = result(c1)[i].age) for i in result(c1)\n"
            'oblige assertion for i in result(c1) : 0 <= result(c1)[i].age says "old"',
            False,
        ),
        # Conditions of another number, or of other calls, don't.
        (
            'effect c1: ask(what = "n")\neffect c2: ask(what = "m")\n'
            "effect c3: pay(cents = result(c1)) when 0 < result(c2)",
            False,
        ),
        (
            'effect c1: ask(what = "n")\neffect c2: pay(cents = result(c1))\n'
            'oblige precondition of c2 when 3 < result(c1) : 0 <= result(c1) says "paid"',
            False,
        ),
        (
            'effect c1: ask(what = "n")\neffect c2: pay(cents = result(c1))\n'
            'effect c3: note(text = "a")\n'
            'oblige precondition of c3 : 0 <= result(c1) says "noted"',
            False,
        ),
    ],
)
def test_a_sum_is_held_with_every_call_where_it_can_t_come_down(body: str, held: bool) -> None:
    known = document(f"{body}\n{CAP}")
    assert stays_broken(known.guarantees[0].contract, known) is held


def test_a_sum_that_comes_down_again_is_held_at_the_end() -> None:
    known = document(f"effect c1: pay(cents = 17)\neffect c2: pay(cents = -7)\n{CAP}")
    following = Following(known, {}, monitored=True)
    for cents in (17, -7):
        following.called("pay", {"cents": cents})
        assert following.unkept() is None
        following.returned(None)
    following.ended()
    assert following.unkept() is None


# -- what is open ----------------------------------------------------------------------------------------


ODD = "e.cents < 3 or [nan] == [nan]"
"""True of less than 3, open of anything else."""


def _unkept(known: Document, *calls: tuple[str, dict[str, Any]]) -> list[tuple[str, bool] | None]:
    """With each call: the guarantee that is not kept, and whether it is broken rather than open."""
    following = Following(known, {}, monitored=True)
    told: list[tuple[str, bool] | None] = []
    for effect, arguments in calls:
        following.called(effect, arguments)
        unkept = following.unkept()
        told.append(unkept and (unkept.guarantee.name, unkept.open is None))
        following.returned(None)
    return told


def test_an_unknown_is_held_once_it_is_seen() -> None:
    known = document(
        """
unknown u1: int says "nobody models it"
effect c1: pay(cents = result(u1))
effect c2: pay(cents = result(u1))
guarantee "cheap" : forall e in pay : e.cents <= 5
guarantee "once" : distinct e in pay : e.cents
"""
    )
    assert _unkept(known, ("pay", {"cents": 5}), ("pay", {"cents": 5})) == [None, ("once", True)]
    assert _unkept(known, ("pay", {"cents": 6})) == [("cheap", True)]


def test_a_run_goes_on_while_one_way_keeps_the_guarantee() -> None:
    """Which call is made is not seen, but whether its term is written out or taken from a row is not the same."""
    known = document(
        """
effect c1: users()
unknown u1: bool of "c1" says "nobody models it"
effect c2: note(text = result(c1)[0].email) when result(u1)
effect c3: note(text = "a") when not result(u1)
effect c4: pay(cents = 1) when result(u1)
effect c5: pay(cents = 2) when not result(u1)
guarantee "taken" : forall e in note : from(e.text: User.email)
"""
    )
    for cents, kept in ((1, True), (2, False)):
        following = Following(known, {}, monitored=True)
        following.called("users", {})
        following.returned([RowValue("User", {"email": "a", "age": 1})])
        following.called("note", {"text": "a"})
        assert following.unkept() is None
        following.returned(None)
        following.called("pay", {"cents": cents})
        assert (following.unkept() is None) is kept


def test_lower_bounds_are_met_in_spite_of_what_is_open() -> None:
    known = document("effect c1: pay(cents = 1)\neffect c2: pay(cents = 5)")
    trace = run(known, {}, lambda *_: None)
    (stated,) = document(
        f'effect c1: pay(cents = 1)\nguarantee "g" : (count e in pay where ({ODD})) > 0'
    ).guarantees
    assert holds(stated.contract, trace)
    assert isinstance(stated.contract, Count)
    for comparison in (Comparison.EXACTLY, Comparison.AT_MOST):
        with pytest.raises(UnspecifiedError):
            holds(replace(stated.contract, comparison=comparison, bound=const(1)), trace)


def test_what_is_broken_is_not_hidden_behind_what_is_open() -> None:
    known = document(
        """
effect c1: pay(cents = 1)
guarantee "odd" : forall e in pay : [nan] == [nan]
guarantee "none" : no e in pay
"""
    )
    assert _unkept(known, ("pay", {"cents": 1})) == [("none", True)]
    known = replace(known, guarantees=known.guarantees[:1])
    assert _unkept(known, ("pay", {"cents": 1})) == [("odd", False)]


def test_what_no_call_needs_to_know_may_be_open() -> None:
    """Whether something was first is open; it counts once something comes that needs it."""
    known = document(
        """
effect c1: pay(cents = 1)
effect c2: note(text = "a")
guarantee "order" : first e in pay where ([nan] == [nan]) before e in note
guarantee "end" : never e in note after e in pay where ([nan] == [nan])
"""
    )
    for guarantee in known.guarantees:
        told = _unkept(
            replace(known, guarantees=(guarantee,)), ("pay", {"cents": 1}), ("note", {"text": "a"})
        )
        assert told == [None, (guarantee.name, False)]


@pytest.mark.parametrize(
    ("stated", "told"),
    [
        (f"(count e in pay where ({ODD})) <= 1", [None, False, False]),
        (f"(count e in pay where ({ODD})) <= 0", [True, True, True]),
        (f"no e in pay where ({ODD})", [True, True, True]),
        (f"never e in note after e in pay where ({ODD})", [None, None, True]),
    ],
)
def test_calls_that_can_be_read_decide_in_spite_of_those_that_can_t(
    stated: str, told: list[bool | None]
) -> None:
    known = document(
        f"""
effect c1: pay(cents = 1)
effect c2: pay(cents = 5)
effect c3: note(text = "a")
guarantee "g" : {stated}
"""
    )
    calls = [("pay", {"cents": 1}), ("pay", {"cents": 5}), ("note", {"text": "a"})]
    # Each is kept (None), broken (True) or open (False).
    expected = [None if each is None else ("g", each) for each in told]
    assert _unkept(known, *calls) == expected


PERFORMED = """
event Write(path: str)
effect c1: users()
unknown u1: bool of "c1" says "nobody models it"
effect c2: note(text = "x") performs Write(path = (if result(u1) then result(c1)[0].email else "a"))
effect c3: pay(cents = 1) when result(u1)
effect c4: pay(cents = 2) when not result(u1)
"""


@pytest.mark.parametrize(("cents", "broken"), [(1, False), (2, True)])
def test_what_is_seen_later_of_an_unknown_counts_at_the_end(cents: int, broken: bool) -> None:
    known = document(
        f'{PERFORMED}guarantee "taken" : forall e in event Write : from(e.path: User.email)'
    )
    following = Following(known, {}, monitored=True)
    rows = [RowValue("User", {"email": "a", "age": 1})]
    for effect, arguments, result in (
        ("users", {}, rows),
        ("note", {"text": "x"}, None),
        ("pay", {"cents": cents}, None),
    ):
        following.called(effect, arguments)
        assert following.unkept() is None
        following.returned(result)
    following.ended()
    assert (following.unkept() is not None) is broken


@pytest.mark.parametrize(
    ("stated", "told"),
    [
        ("(count e in pay) == 1", [None, True]),
        ("(sum e in pay : e.cents) == 5", [None, True]),
        ("(count e in pay) == 3", [None, None]),
        ("(sum e in pay : e.cents) == 7", [None, None]),
    ],
)
def test_more_than_exactly_so_much_is_seen_with_the_call_that_is_too_much(
    stated: str, told: list[bool | None]
) -> None:
    known = document(
        f'effect c1: pay(cents = 1)\neffect c2: pay(cents = 5)\nguarantee "g" : {stated}\n'
    )
    expected = [None if each is None else ("g", each) for each in told]
    assert _unkept(known, ("pay", {"cents": 1}), ("pay", {"cents": 5})) == expected
    following = Following(known, {}, monitored=True)
    for cents in (1, 5):
        following.called("pay", {"cents": cents})
        following.returned(None)
    following.ended()
    assert following.unkept() is not None


@pytest.mark.parametrize("cents", [3, -3])
def test_a_sum_that_is_too_large_is_not_hidden_behind_a_number_that_nobody_has_seen(
    cents: int,
) -> None:
    """Unless what nobody has seen may bring it down again."""
    known = document(
        f"""
event Cost(cents: int)
unknown u1: bool says "nobody models it"
effect c1: note(text = "a") performs Cost(cents = (if result(u1) then {cents} else 2))
effect c2: note(text = "b") performs Cost(cents = 10)
guarantee "cap" : (sum e in event Cost : e.cents) <= 9
"""
    )
    told = _unkept(known, ("note", {"text": "a"}), ("note", {"text": "b"}))
    assert told == [None, ("cap", True) if cents > 0 else None]


def test_what_nobody_declared_is_not_taken_for_what_somebody_did() -> None:
    known = document(
        """
event Write(path: str)
unknown u1: str says "nobody models it"
effect c1: note(text = "a") performs Write(path = result(u1))
effect c2: note(text = "b") performs Write(path = "b")
guarantee "g" : forall e in event Write : (if e.path == "b" then [nan] == [nan] else e.path == "a")
"""
    )
    notes = [("note", {"text": "a"}), ("note", {"text": "b"})]
    assert _unkept(known, *notes) == [None, ("g", False)]
