"""Runs are planned so that every call site and every branch outcome is reached, and each with what it must do."""

from __future__ import annotations

import json
import pickle
from dataclasses import replace
from typing import Any

import pytest

from libs.prove.tests.python_front_end import LAYER, predicate, program
from lictor_ir.contracts import Comparison, Count, Empty, Relation
from lictor_ir.document import Guarantee
from lictor_ir.terms import const
from lictor_prove.layer_model import Layer
from lictor_prove.proof.prover import document_of, prove
from lictor_prove.proof.result import Proof
from lictor_prove.proof.settings import ProofSettings
from lictor_prove.python.machine.program_shape import ProgramShape
from lictor_prove.rehearsal.plan import (
    LEAST,
    MAX_BYTES,
    MAX_OBSERVED,
    MAX_RUNS,
    Plan,
    planned,
)

PATIENT = ProofSettings(analysis_ms=0, rehearsal_ms=60_000)
"""However busy the machine is."""
SEED = "5eed" * 8


def proved(
    body: str,
    parameters: str = "",
    before: str = "",
    settings: ProofSettings = PATIENT,
    seed: str = SEED,
) -> Proof:
    source = program(body, parameters, before)
    found = prove(source, name="t.py", layer=LAYER, settings=settings, seed=seed)
    assert found.verdict == "proved", found.reasons
    return found


def plan_of(body: str, parameters: str = "", before: str = "", seed: str = SEED) -> Plan:
    plan = proved(body, parameters, before, seed=seed).plan
    assert plan is not None
    return plan


def reached(plan: Plan) -> tuple[int, int]:
    """How many sites and outcomes the runs reach."""
    sites = frozenset[int]().union(*(each.sites for each in plan.predicted))
    outcomes = frozenset[int]().union(*(each.outcomes for each in plan.predicted))
    return len(sites), len(outcomes)


@pytest.mark.parametrize(
    "condition",
    [
        "x == 123456789012345",
        "x > 2**80",
        "x * 7 == 7000007",
        "s == 'open sesame'",
        "s.startswith('abc') and len(s) == 11",
        "x % 97 == 13 and x > 1000",
        "f > 0.25 and f < 0.26",
        "s in ('one', 'two') or x == -5",
    ],
)
def test_both_outcomes_of_a_condition_are_reached(condition: str) -> None:
    body = f"if {condition}:\n    send('a', 'b')\nelse:\n    pay(1)"
    plan = plan_of(body, "x: int, s: str, f: float")
    assert reached(plan) == (2, plan.outcomes)


def test_answers_keep_what_their_calls_promise() -> None:
    plan = plan_of("for user in users():\n    if user.age > 17:\n        send(user.email, 'hi')")
    assert reached(plan) == (2, 4)
    lengths = {len(run.answers[0].result) for run in plan.order.runs if run.answers}
    assert lengths >= {0, 1}
    assert max(lengths) <= 3


def test_each_site_has_a_run_in_which_its_call_fails() -> None:
    plan = plan_of("send('a', 'b')\nif ask('sure?'):\n    pay(1)")
    failing = [
        (each.fails_at, len(said.calls))
        for each, said in zip(plan.order.runs, plan.predicted, strict=True)
        if each.fails_at is not None
    ]
    assert sorted(failing) == [(0, 1), (1, 2), (2, 3)]


HELPER = "def h(n: int) -> None:\n    if n == 123456789012345:\n        send('a', 'b')\n"


def test_call_in_a_helper_is_reached_through_each_of_its_callers() -> None:
    """It is enough for neither that the other one comes there."""
    plan = plan_of("h(123456789012345)\nh(number())", before=HELPER)
    assert plan.sites == ("9 via 13", "9 via 14", "14")
    assert (plan.outcomes, plan.outcomes_unreachable) == (4, 1)
    assert reached(plan) == (3, 3)
    both = [run for run in plan.predicted if len(run.calls) == 3]
    assert both


def test_helpers_that_call_each_other_twice_have_a_plan_in_its_time() -> None:
    levels = ["def h0() -> None:\n    if ask('sure?'):\n        pay(1)\n"]
    levels += [f"def h{n}() -> None:\n    h{n - 1}()\n    h{n - 1}()\n" for n in range(1, 8)]
    plan = proved("h7()", before="\n".join(levels), settings=ProofSettings()).plan
    assert plan is not None
    # 128 ways to both calls, of which 64 are told apart.
    assert len(plan.sites) == 128
    assert reached(plan)[0] == 128
    assert plan.ms < 30_000


def test_what_no_run_can_reach_is_told_apart() -> None:
    plan = plan_of("n = number()\nif n > 3:\n    if n < 2:\n        send('a', 'b')\n    pay(n)")
    assert len(plan.sites) == 3
    assert len(plan.sites_unreachable) == 1
    assert (plan.outcomes, plan.outcomes_unreachable) == (4, 1)
    assert reached(plan) == (2, 3)


def test_straight_line_without_answers_is_one_run_and_its_early_ends() -> None:
    plan = plan_of("send('a', 'b')\npay(1)")
    assert [each.fails_at for each in plan.order.runs] == [None, 0, 1]


def test_an_auditor_plans_the_same_runs_with_the_seed_of_a_result() -> None:
    body = "if text() == 'x' and number() > 5:\n    send('a', 'b')"
    assert plan_of(body).order.runs == plan_of(body).order.runs
    assert plan_of(body).seed == SEED


def test_an_author_can_not_search_for_a_text_with_harmless_runs() -> None:
    """What a program is given depends on a seed that nobody knows when it is written, and not on its text."""
    body = "n = number()\nif n > 7:\n    pay(n)"
    seeds = [f"{number:032x}" for number in range(8)]
    plans = [plan_of(body, seed=seed).order.runs for seed in seeds]
    assert len({str(runs) for runs in plans}) > 4
    remarked = plan_of(f"{body}\n# another text, which has another hash")
    assert remarked.order.runs == plan_of(body).order.runs


def test_without_a_seed_nothing_counts_as_rehearsed() -> None:
    """Whoever forgets to draw one must not get runs that anybody can foretell."""
    found = proved("pay(1)", seed="")
    assert found.plan is None
    assert found.rehearsal is not None
    assert found.rehearsal.refused == "no seed was drawn for its runs"


def test_loop_over_a_number_stays_short() -> None:
    plan = plan_of("for i in range(number()):\n    pay(i)")
    assert reached(plan) == (2, 2)
    assert max(len(each.calls) for each in plan.predicted) < 100


def test_plan_is_bounded_in_runs_and_bytes() -> None:
    wide = "\n".join(f"if text() == '{'x' * 900}{at}':\n    pay({at})" for at in range(60))
    plan = proved(wide, settings=ProofSettings()).plan
    assert plan is not None
    assert 1 <= len(plan.order.runs) <= MAX_RUNS
    assert len(pickle.dumps(plan.order.runs)) < MAX_BYTES


def test_rows_of_a_class_that_is_given_are_planned() -> None:
    plan = plan_of("for u in rows_of(UserRow, 't'):\n    if u.active:\n        send(u.email, 'x')")
    assert reached(plan) == (2, 4)


def test_proof_that_is_not_to_be_rehearsed_says_so() -> None:
    source = program("pay(1)")
    found = prove(
        source, name="t.py", layer=LAYER, settings=ProofSettings(rehearsal_ms=0), seed=SEED
    )
    assert found.plan is None
    assert found.rehearsal is not None
    assert found.rehearsal.refused == "it was not asked for"


def test_only_what_is_proved_is_planned() -> None:
    found = prove(program("pay(number(), False)"), name="t.py", layer=LAYER, seed=SEED)
    assert found.verdict == "refuted"
    assert found.plan is None


def test_values_of_the_program_are_tried_where_a_branch_folded_away() -> None:
    """Nothing in the document leads there; if the front-end is wrong about it, these values do."""
    folded = plan_of("said = text()\nsecret = 'sesame'\nif 1 > 2:\n    pay(1)")
    assert folded.sites_unreachable
    answers = {run.answers[0].result for run in folded.order.runs if run.answers}
    assert "sesame" in answers
    plain = plan_of("said = text()\npay(1)")
    assert len(plain.order.runs) < len(folded.order.runs)


def test_plan_orders_no_more_than_may_be_reported_of_it() -> None:
    """A run that is cut for its size would leave the proof without a rehearsal."""
    calls = (f"send(said, '{'x' * 120}{at}')" for at in range(900))
    body = "\n".join(("said = text()", *calls))
    plan = plan_of(body)
    told = sum(
        len(json.dumps([c.effect, c.arguments])) for run in plan.predicted for c in run.calls
    )
    assert told <= MAX_OBSERVED
    assert 1 < len(plan.order.runs) < MAX_RUNS


def test_a_guarantee_that_a_planned_run_breaks_contradicts_the_proof() -> None:
    """Found with the call that breaks it, as the runner does; at the end for what counts there."""
    body = "send('a', 'b')\nfor user in users():\n    pay(user.age)"
    document = document_of(program(body), name="t.py", layer=LAYER)
    order = plan_of(body).order
    pay = Relation(("pay",))
    for contract, told in (
        (Empty(pay), "g is broken after 3 calls"),
        (Count(pay, Comparison.MORE, const(9)), "g is broken after"),
        (Count(pay, Comparison.AT_MOST, const(9)), ""),
    ):
        stated = replace(document, guarantees=(Guarantee("g", contract),))
        plan = planned(stated, ProgramShape(frozenset(), ()), order, PATIENT, seed="00")
        assert plan.contradiction.startswith(told)
        assert bool(plan.contradiction) is bool(told)


def promising(name: str, promise: str, **more: Any) -> Layer:
    """The layer with a promise of one of its functions; `more`: what else is declared of it otherwise."""
    module = LAYER.modules["tools.desk.trusted.effects"]
    changed = {name: replace(LAYER.functions[name], ensures=(predicate(promise),), **more)}
    names = replace(module, names={**module.names, **changed})
    return replace(
        LAYER,
        modules={**LAYER.modules, module.name: names},
        functions={**LAYER.functions, **changed},
    )


@pytest.mark.parametrize(
    ("name", "promise", "answers"),
    [
        # Of all values that are tried, one keeps it: the constant that stands there.
        ("number", "lambda result: result % 9973 == 17", LEAST),
        ("text", "lambda result: len(result) == 17 and result.endswith('.example')", LEAST),
        # There are no others.
        ("number", "lambda result: result == 123456789", 1),
        ("number", "lambda result: 7 * result in (1400007, 2100007)", 2),
    ],
)
def test_runs_that_keep_a_narrow_promise_are_looked_for(
    name: str, promise: str, answers: int
) -> None:
    source = program(f"note({name}())")
    found = prove(source, name="t.py", layer=promising(name, promise), settings=PATIENT, seed=SEED)
    assert found.verdict == "proved", found.reasons
    assert found.plan is not None
    ended = [run for run in found.plan.order.runs if run.fails_at is None]
    assert len({run.answers[0].result for run in ended}) == answers
    assert not found.plan.too_few


def test_one_run_is_too_few_where_others_may_keep_the_promise() -> None:
    """A program could else be rehearsed with the one value that shows nothing."""
    promise = "lambda result: result == 'one' or result.replace('ab', 'c').count('c') == 1234"
    source = program("note(text())")
    found = prove(
        source, name="t.py", layer=promising("text", promise), settings=PATIENT, seed=SEED
    )
    assert found.verdict == "proved", found.reasons
    assert found.plan is not None
    assert f"1 of at least {LEAST} runs" in found.plan.too_few


def test_where_unknowns_decide_texts_are_made_of_lines_and_lists_of_items_that_are_alike() -> None:
    """No condition says what must be there: `split` and `count` of a text have no exact model."""
    source = program("for line in text().splitlines():\n    note(line.split(','))")
    found = prove(source, name="t.py", layer=LAYER, settings=PATIENT, seed=SEED)
    assert found.plan is not None, found.reasons
    texts = [run.answers[0].result for run in found.plan.order.runs]
    assert any("\n" in text and "," in text for text in texts)
    plan = plan_of(
        "for name in names():\n    if name.title() == 'A b' and 11 < 12:\n        pay(1)"
    )
    lists = [run.answers[0].result for run in plan.order.runs]
    assert any(len(each) > 11 and len(set(each)) == 1 for each in lists)
