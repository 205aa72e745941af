"""What implies what: pairs of contracts with known answers, and answers held against traces made by hand."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from libs.ir.tests.contract_sets import FREE, KNOWN, contracts, steps_of, trace_of, traces
from lictor_ir.analysis import (
    Behaviour,
    Budget,
    Entailment,
    EntailmentVerdict,
    Signature,
    entails,
    told,
)
from lictor_ir.contracts import All, Before, Comparison, Contract, Count, Empty, Relation, field
from lictor_ir.document import Document, Effect, Event, Parameter, Performed
from lictor_ir.errors import DocumentError, IrError
from lictor_ir.evaluation import Trace, holds
from lictor_ir.goals.goal import Goal
from lictor_ir.solver.answers import Answer
from lictor_ir.solver.z3_lowering import decide
from lictor_ir.terms import apply, const, eq, not_
from lictor_ir.text import read
from lictor_ir.types import INT, NONE

DECLARED = """effect-ir v1
program "p" target main
schema User(email: str, age: int)
enum Level(low, high)
trusted users(limit: int) -> list<row<User>>
trusted send(addr: str, msg: str) -> none
trusted copy(addr: str, msg: str) -> none
trusted withdraw(amount: int) -> int
trusted pay(amount: float) -> none
trusted tag(names: list<str>, level: enum<Level>, data: any) -> none
event Write(path: str)
event Append(path: str) is Write
fluent locked[str]: bool = true
fluent count[int]: int = 0
"""


def document(*stated: str) -> Document:
    lines = [f'guarantee "{at}" : {each}\n' for at, each in enumerate(stated)]
    return read(DECLARED + "".join(lines))


def answer(premises: Sequence[str], wanted: str, *, ms: int = 20_000) -> Entailment:
    whole = document(*premises, wanted)
    *given_, asked = [each.contract for each in whole.guarantees]
    found = entails(Signature.of(whole), given_, asked, Budget(ms))
    if found.witness is not None:
        assert all(holds(each, found.witness) for each in given_), told(found.witness)
        assert not holds(asked, found.witness), told(found.witness)
    for goal in found.goals:
        # What `implied` rests on, asked of the solver itself.
        assert decide(goal, 20_000, 512).conclusion.value == "holds"
    return found


IMPLIED: list[tuple[list[str], str]] = [
    ([], "anything"),
    ([], "all {}"),
    ([], "forall e in send : true"),
    ([], 'forall e in send : e.addr == "a" or not (e.addr == "a")'),
    ([], "(count e in send) >= 0"),
    ([], "(count e in send) > -1"),
    ([], "never e in send where (false) after e in send"),
    (["no e in send"], 'forall e in send : e.addr == "x"'),
    (["no e in send"], "distinct e in send : e.addr"),
    (["no e in send"], "(count e in send) <= 0"),
    (["(count e in send) <= 0"], "no e in send"),
    (["(count e in send) < 1"], "no e in send"),
    (["no e in send | copy"], "no e in copy"),
    (["no e in send", "no e in copy"], "no e in send | copy"),
    (['no e in send where (e.addr == "a")'], 'forall e in send : not (e.addr == "a")'),
    (['forall e in send : not (e.addr == "a")'], 'no e in send where (e.addr == "a")'),
    (['forall e in send : e.addr in ["a"]'], 'forall e in send : e.addr in ["a", "b"]'),
    (['forall e in send | copy : e.addr == "a"'], 'forall e in copy : e.addr == "a"'),
    (['forall e in send : e.addr == "a"'], 'forall e in send where (e.msg == "m") : e.addr == "a"'),
    (['forall e in send : startswith(e.addr, "ab")'], 'forall e in send : startswith(e.addr, "a")'),
    (['forall e in send : e.addr == "a\\u{0}b"'], "forall e in send : len(e.addr) <= 3"),
    (["forall e in withdraw : e.amount <= 3"], "forall e in withdraw : e.amount < 4"),
    (["forall e in withdraw : 2 * e.amount <= 7"], "forall e in withdraw : e.amount <= 3"),
    (["forall e in pay : e.amount <= 1.0"], "forall e in pay : not is_nan(e.amount)"),
    (["forall e in pay : e.amount == e.amount"], "forall e in pay : not is_nan(e.amount)"),
    (["forall e in tag : e.level == Level::low"], "forall e in tag : not (e.level == Level::high)"),
    (["forall e in tag : not (e.level == Level::high)"], "forall e in tag : e.level == Level::low"),
    (['forall e in tag : e.names == ["a"]'], "forall e in tag : len(e.names) == 1"),
    (["(count e in send) <= 1"], "distinct e in send : e.addr"),
    (["(count e in send) <= 3"], "(count e in send) <= 5"),
    (["(count e in send) == 3"], "(count e in send) >= 2"),
    (["(count e in send) <= 400"], "(count e in send) <= 500"),
    (["(count e in send) <= 400"], '(count e in send where (e.addr == "a")) <= 500'),
    (["(count e in send | copy) <= 40"], "(count e in copy) <= 40"),
    (["(count e in send) <= 20", "(count e in copy) <= 20"], "(count e in send | copy) <= 40"),
    (["(count e in send) >= 400"], "(count e in send) >= 300"),
    (["(count e in send) >= 400"], "(count e in send | copy) >= 300"),
    (
        ["distinct e in send : e.addr", 'forall e in send : e.addr in ["a", "b"]'],
        "(count e in send) <= 2",
    ),
    (["(sum e in withdraw : e.amount) <= 5"], "(sum e in withdraw : e.amount) <= 6"),
    (["(sum e in withdraw : e.amount) <= 5"], "(sum e in withdraw : 2 * e.amount) <= 10"),
    (["(sum e in pay : e.amount) <= 5.0"], "(sum e in pay : e.amount) < 5.5"),
    (
        ["(count e in withdraw) <= 100", "forall e in withdraw : e.amount <= 2"],
        "(sum e in withdraw : e.amount) <= 200",
    ),
    (
        ["(count e in withdraw) <= 2", "forall e in withdraw : e.amount <= 2"],
        "(sum e in withdraw : e.amount) <= 4",
    ),
    (["forall e in withdraw : 0 <= e.amount"], "(sum e in withdraw : e.amount) >= 0"),
    (["forall e in withdraw : e.amount <= 0"], "(sum e in withdraw : e.amount) <= 7"),
    (
        ["(sum e in withdraw : e.amount) <= 5", "forall e in withdraw : 0 <= e.amount"],
        "forall e in withdraw : e.amount <= 5",
    ),
    (
        ["(sum e in pay : e.amount) <= 5.0", "forall e in pay : 0.0 <= e.amount"],
        "forall e in pay : e.amount <= 5.0",
    ),
    (
        ["(sum e in withdraw : e.amount) <= 5", "forall e in withdraw : 3 <= e.amount"],
        "(count e in withdraw) <= 1",
    ),
    (["shared e in send and e in copy : e.addr"], "(count e in send) >= 1"),
    (["shared e in send and e in copy : e.addr"], "shared e in copy and e in send : e.addr"),
    (
        ["shared e in send and e in copy : e.addr", 'forall e in copy : e.addr == "a"'],
        '(count e in send where (e.addr == "a")) >= 1',
    ),
    (["first e in users before e in send", "no e in users"], "no e in send"),
    (["first e in users before e in send", "never e in send after e in users"], "no e in send"),
    (
        ["first e in users before e in copy", "first e in copy before e in send"],
        "first e in users before e in send",
    ),
    (["first e in copy by e.addr before e in send by e.addr"], "first e in copy before e in send"),
    (["first e in copy before e in send", "no e in copy"], "never e in withdraw after e in send"),
    (["no e in send"], "never e in send after e in copy"),
    (["never e in send | copy after e in withdraw"], "never e in copy after e in withdraw"),
    (["no e in event Write"], "no e in event Append"),
    (['forall e in event Write : e.path == "a"'], 'forall e in event Append : e.path == "a"'),
    (["finally s in locked : s.value"], 'finally s in locked["door"] : s.value'),
    (["finally s in count : s.value <= 3"], "finally s in count : s.value <= 4"),
    (['finally s in locked["door"] : false'], "no e in send"),
    (
        ["forall e in send : from(e.addr: User.email)"],
        "forall e in send : from(e.addr: User.email) or false",
    ),
    (
        ["forall e in send : same_row(e.addr: User.email, e.msg: User.email)"],
        "forall e in send : from(e.msg: User.email)",
    ),
    (
        [
            "forall e in send : from(e.addr: User.email)",
            "forall e in send : not_from(e.addr: User.email)",
        ],
        "no e in send",
    ),
    (["no e in send", "(count e in send) >= 1"], "(count e in withdraw) <= 3"),
    (["all {no e in send; no e in copy}"], "all {no e in copy; no e in send}"),
]

NOT_IMPLIED: list[tuple[list[str], str]] = [
    ([], "no e in send"),
    ([], "(count e in send) <= 60"),
    ([], "(count e in send) >= 1"),
    ([], "shared e in send and e in copy : e.addr"),
    ([], 'finally s in locked["door"] : s.value'),
    (['forall e in send : e.addr in ["a", "b"]'], 'forall e in send : e.addr == "a"'),
    (['forall e in send where (e.msg == "m") : e.addr == "a"'], 'forall e in send : e.addr == "a"'),
    (['forall e in send : startswith(e.addr, "a")'], 'forall e in send : startswith(e.addr, "ab")'),
    (["forall e in pay : not (1.0 < e.amount)"], "forall e in pay : e.amount <= 1.0"),
    (["forall e in pay : e.amount <= 0.0"], "forall e in pay : not (e.amount == -0.0)"),
    (["distinct e in send : e.addr"], "distinct e in send : e.msg"),
    (["distinct e in send : e.addr"], "(count e in send) <= 1"),
    (["distinct e in pay : e.amount"], "(count e in pay where (is_nan(e.amount))) <= 1"),
    (
        ["distinct e in send : e.addr", 'forall e in send : e.addr in ["a", "b"]'],
        "(count e in send) <= 1",
    ),
    (["(count e in send) <= 3"], "(count e in send) <= 2"),
    (["(count e in send) <= 40"], "(count e in send) <= 30"),
    (["(count e in send) >= 2"], "(count e in send) >= 3"),
    (["(sum e in withdraw : e.amount) <= 5"], "forall e in withdraw : e.amount <= 5"),
    (["(sum e in withdraw : e.amount) <= 5"], "(sum e in withdraw : e.amount) <= 4"),
    (
        ["(sum e in withdraw : e.amount) <= 5"],
        "(sum e in withdraw where (0 < e.amount) : e.amount) <= 5",
    ),
    (["(sum e in pay : e.amount) <= 6.0"], "(sum e in pay : e.amount) <= 5.0"),
    (["shared e in send and e in copy : e.addr"], "shared e in send and e in copy : e.msg"),
    (["first e in copy before e in send"], "first e in copy by e.addr before e in send by e.addr"),
    (["first e in copy before e in send"], "no e in send"),
    (["never e in send after e in copy"], "never e in copy after e in send"),
    (["no e in event Append"], "no e in event Write"),
    (["never e in event Append after e in event Write"], "(count e in event Append) <= 1"),
    (['finally s in locked["door"] : s.value'], "finally s in locked : s.value"),
    (["forall e in send : from(e.addr: User.email)"], "no e in send"),
    (["forall e in send : from(e.addr: User.email)"], 'forall e in send : e.addr == "a"'),
    (
        [
            "forall e in send : from(e.addr: User.email)",
            "forall e in send : from(e.msg: User.email)",
        ],
        "forall e in send : same_row(e.addr: User.email, e.msg: User.email)",
    ),
    (
        ["forall e in send : not_from(e.addr: User.email)"],
        "forall e in send : from(e.addr: User.email)",
    ),
    (
        ["no e in users where (not (e.limit == 3))"],
        "forall e in send : not_from(e.addr: User.email)",
    ),
]


@pytest.mark.parametrize(("premises", "wanted"), IMPLIED)
def test_what_every_trace_keeps_is_implied(premises: list[str], wanted: str) -> None:
    found = answer(premises, wanted)
    assert found.verdict is EntailmentVerdict.IMPLIED, found.reason


@pytest.mark.parametrize(("premises", "wanted"), NOT_IMPLIED)
def test_what_is_not_implied_has_a_trace_that_shows_it(premises: list[str], wanted: str) -> None:
    found = answer(premises, wanted)
    assert found.verdict is EntailmentVerdict.NOT_IMPLIED, found.reason
    assert found.witness is not None


@pytest.mark.parametrize(
    ("premises", "wanted"),
    [
        # No number of rows is known within which the sum would be too large.
        (
            ["(count e in withdraw) <= 100", "forall e in withdraw : e.amount <= 2"],
            "(sum e in withdraw : e.amount) <= 199",
        ),
        # Nothing but equality is known of values of any type, and not even that of two of them.
        (['forall e in tag : e.data == "x"'], "no e in tag"),
    ],
)
def test_what_is_not_known_is_neither(premises: list[str], wanted: str) -> None:
    assert answer(premises, wanted).verdict is EntailmentVerdict.UNKNOWN


def test_time_that_ran_out_is_unknown_and_never_implied() -> None:
    premises = ['forall e in send : startswith(e.addr, "ab") and endswith(e.addr, "yz")']
    found = answer(premises, "forall e in send : len(e.addr) <= 3", ms=0)
    assert found.verdict is not EntailmentVerdict.IMPLIED
    wanted = 'forall e in send : contains(e.addr, "b")'
    assert answer(premises, wanted, ms=0).verdict is EntailmentVerdict.UNKNOWN
    assert answer(premises, wanted).verdict is EntailmentVerdict.IMPLIED


@pytest.mark.parametrize(
    ("premises", "wanted", "verdict"),
    [
        (
            ['forall e in send : startswith(e.addr, "/") and not (startswith(e.addr, "/etc"))'],
            "no e in send",
            EntailmentVerdict.NOT_IMPLIED,
        ),
        (
            ['forall e in send : contains(e.msg, "hello")', 'forall e in send : e.addr == "a"'],
            "forall e in send : len(e.msg) <= 20",
            EntailmentVerdict.NOT_IMPLIED,
        ),
        (
            ['forall e in send : contains(e.msg, "hello")'],
            'forall e in send : not (contains(e.msg, "secret"))',
            EntailmentVerdict.NOT_IMPLIED,
        ),
        ([], "(count e in send) <= 2", EntailmentVerdict.NOT_IMPLIED),
        (["(count e in send | copy) <= 1"], "distinct e in send | copy : e.addr", EntailmentVerdict.IMPLIED),
    ],
)  # fmt: skip
@pytest.mark.parametrize("behaviours", [None, {}])
def test_what_a_guess_or_its_premises_show_is_not_asked_of_a_solver(
    premises: list[str],
    wanted: str,
    verdict: EntailmentVerdict,
    behaviours: dict[str, Behaviour] | None,
) -> None:
    def no_solver(_goal: Goal, _ms: int, _mb: int) -> Answer:
        raise AssertionError("a solver is asked")

    whole = document(*premises, wanted)
    *given_, asked = [each.contract for each in whole.guarantees]
    signature = Signature.of(whole, behaviours)
    assert entails(signature, given_, asked, Budget(20_000, decide=no_solver)).verdict is verdict


def test_a_contract_that_does_not_fit_the_signature_is_refused() -> None:
    with pytest.raises(DocumentError, match="no_such is not declared"):
        entails(FREE, [], Empty(Relation(("no_such",))))


def test_what_a_layer_says_of_its_calls_is_relied_on() -> None:
    amount = field("amount", INT)
    positive = All(Relation(("withdraw",)), apply("lt", const(0), amount))
    effect = Effect("withdraw", (Parameter("amount", INT),), NONE)
    plain = Signature((effect,), behaviours={})
    demanding = Signature(
        (effect,), behaviours={"withdraw": Behaviour(demands=(apply("le", const(1), amount),))}
    )
    assert entails(demanding, [], positive).verdict is EntailmentVerdict.IMPLIED
    assert entails(plain, [], positive).verdict is EntailmentVerdict.NOT_IMPLIED
    assert (
        entails(demanding.without_demands(), [], positive).verdict is EntailmentVerdict.NOT_IMPLIED
    )


def test_an_event_comes_with_its_call_only_where_a_layer_says_so() -> None:
    no_calls, no_events = Empty(Relation(("take",))), Empty(Relation((), ("Move",)))
    assert entails(KNOWN, [no_calls], no_events).verdict is EntailmentVerdict.IMPLIED
    assert entails(KNOWN, [no_events], no_calls).verdict is EntailmentVerdict.IMPLIED
    assert entails(FREE, [no_calls], no_events).verdict is EntailmentVerdict.NOT_IMPLIED


def test_each_event_of_one_call_may_need_a_call_of_its_own_before_it() -> None:
    a, b, x = field("a", INT), field("b", INT), field("x", INT)
    touched = (Performed("Touch", {"x": a}), Performed("Touch", {"x": b}))
    signature = Signature(
        (
            Effect("grant", (Parameter("x", INT),), NONE),
            Effect("move", (Parameter("a", INT), Parameter("b", INT)), NONE),
        ),
        (Event("Touch", ("Touch",), (Parameter("x", INT),)),),
        behaviours={"move": Behaviour(events=touched)},
    )
    move = Relation(("move",))
    granted = Before(Relation(("grant",)), Relation((), ("Touch",)), x, x)
    premises = [granted, All(move, not_(eq(a, b)))]
    # Two grants and the move: a trace of two steps would not show it.
    assert entails(signature, premises, Empty(move)).verdict is EntailmentVerdict.NOT_IMPLIED


def test_names_that_run_together_are_kept_apart() -> None:
    effects = (
        Effect("a", (Parameter("b_c", INT),), NONE),
        Effect("a_b", (Parameter("c", INT),), NONE),
    )
    signature = Signature(effects)
    small = All(Relation(("a",)), apply("le", field("b_c", INT), const(1)))
    other = All(Relation(("a_b",)), apply("le", field("c", INT), const(1)))
    assert entails(signature, [small], other).verdict is EntailmentVerdict.NOT_IMPLIED


# -- against traces made by hand -----------------------------------------------------------------------


@cache
def some_traces(name: str) -> tuple[Signature, tuple[Trace, ...]]:
    signature = FREE if name == "free" else KNOWN
    chance = Random(3)
    steps = steps_of(signature)
    longer = [
        trace_of(signature, chance.choices(steps, k=chance.choice((2, 2, 3, 4))))
        for _ in range(400)
    ]
    return signature, (*traces(signature, 0), *traces(signature, 1), *longer)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.sampled_from(["free", "known"]), st.lists(contracts, max_size=3), contracts)
def test_no_trace_contradicts_an_answer(
    which: str, premises: list[Contract], wanted: Contract
) -> None:
    signature, some = some_traces(which)
    found = entails(signature, premises, wanted, Budget(1_500))
    if found.verdict is EntailmentVerdict.NOT_IMPLIED:
        assert found.witness is not None
        assert all(holds(each, found.witness) for each in premises)
        assert not holds(wanted, found.witness)
    elif found.verdict is EntailmentVerdict.IMPLIED:
        for trace in some:
            assert not _contradicts(trace, premises, wanted), told(trace)


def _contradicts(trace: Trace, premises: Sequence[Contract], wanted: Contract) -> bool:
    try:
        return all(holds(each, trace) for each in premises) and not holds(wanted, trace)
    except IrError:
        return False


@pytest.mark.parametrize("comparison", [Comparison.AT_MOST, Comparison.LESS])
def test_a_bound_without_end_promises_nothing(comparison: Comparison) -> None:
    taken = Relation(("take",))
    endless = Count(taken, comparison, const(float("inf")))
    assert entails(FREE, [endless], Empty(taken)).verdict is EntailmentVerdict.NOT_IMPLIED
    assert entails(FREE, [], endless).verdict is not EntailmentVerdict.NOT_IMPLIED
