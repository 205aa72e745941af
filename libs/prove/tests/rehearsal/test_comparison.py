"""One difference between what a program does and what its document says, and nothing is proved."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from libs.prove.tests.python_front_end import LAYER, program
from libs.prove.tests.rehearsal.test_plan import (
    HELPER,
    PATIENT,
    SEED,
    plan_of,
    promising,
    proved,
)
from lictor_ir.types import STR
from lictor_prove.proof.prover import prove
from lictor_prove.proof.result import Proof
from lictor_prove.rehearsal import comparison
from lictor_prove.rehearsal.comparison import DIFFERS
from lictor_prove.rehearsal.orders import (
    Observation,
    ObservedCall,
    ObservedRun,
    PlannedRun,
    StageOrder,
)
from lictor_prove.rehearsal.plan import LEAST, Plan
from lictor_prove.rehearsal.rounds import rehearse
from lictor_prove.this_python import this_python
from lictor_prove.written_values import MAX_SHOWN, same, shortened

Call = Callable[..., Any]
BODY = "send('a', 'b')\nif ask('sure?'):\n    pay(1)\nrows_of(UserRow, 't')\npay_float(3)"


@pytest.fixture(scope="module")
def proof() -> Proof:
    return proved(BODY)


def as_predicted(plan: Plan) -> Observation:
    """What is observed when Python does what the proof says."""
    return Observation(
        tuple(
            ObservedRun(
                tuple(map(_with_row_class, said.calls)),
                "completed" if run.fails_at is None else "failed",
            )
            for run, said in zip(plan.order.runs, plan.predicted, strict=True)
        ),
        python=this_python(),
    )


def _with_row_class(call: ObservedCall) -> ObservedCall:
    if call.effect != "rows_of":
        return call
    rows = {"rows": "UserRow", "columns": {}}
    return replace(call, arguments={**call.arguments, "schema": rows})


def observed(proof: Proof) -> Observation:
    assert proof.plan is not None
    return as_predicted(proof.plan)


class Seen:
    """A stage that observes this of the first order, and nothing of those after it."""

    def __init__(self, first: Observation) -> None:
        self._left = [first]

    def perform(self, order: StageOrder) -> Observation:
        return self._left.pop() if self._left else Observation((), refused="nothing more is seen")


def rehearsed(proof: Proof, seen: Observation) -> Proof:
    return rehearse(proof, Seen(seen))


def with_run(seen: Observation, number: int, run: ObservedRun) -> Observation:
    return replace(seen, runs=(*seen.runs[:number], run, *seen.runs[number + 1 :]))


def test_runs_as_predicted_are_a_rehearsal_with_its_figures(proof: Proof) -> None:
    done = rehearsed(proof, observed(proof))
    assert done.verdict == "proved"
    assert done.plan is None
    found = done.rehearsal
    assert found is not None
    assert not found.refused
    assert (found.sites, found.sites_reached) == (5, 5)
    assert (found.outcomes, found.outcomes_reached) == (2, 2)
    assert found.seed == SEED
    assert found.python == done.python == this_python()
    assert done.timings.rehearse_ms > proof.timings.rehearse_ms
    assert rehearsed(done, Observation(())) is done


def _another_argument(run: ObservedRun) -> ObservedRun:
    first = replace(run.calls[0], arguments={**run.calls[0].arguments, "msg": "c"})
    return replace(run, calls=(first, *run.calls[1:]))


def _another_type(run: ObservedRun) -> ObservedRun:
    last = replace(run.calls[-1], arguments={"amount": True})
    return replace(run, calls=(*run.calls[:-1], last))


@pytest.mark.parametrize(
    "change",
    [
        _another_argument,
        _another_type,
        lambda run: replace(run, calls=run.calls[1:]),
        lambda run: replace(run, calls=run.calls[:-1]),
        lambda run: replace(run, calls=(*run.calls, ObservedCall("pay", {"amount": 1}))),
        lambda run: replace(run, calls=(ObservedCall("pay", {}), *run.calls[1:])),
        lambda run: replace(run, ended="raised", error="TypeError: no"),
        lambda run: replace(run, ended="unanswered"),
        lambda run: replace(run, ended="failed"),
        lambda run: replace(_another_argument(run), ended="limit"),
        lambda run: replace(
            run, calls=(replace(run.calls[0], arguments={"addr": "a"}), *run.calls[1:])
        ),
    ],
)
def test_any_difference_leaves_nothing_proved(
    proof: Proof, change: Callable[[ObservedRun], ObservedRun]
) -> None:
    seen = observed(proof)
    done = rehearsed(proof, with_run(seen, 0, change(seen.runs[0])))
    assert done.verdict == "unknown"
    (reason,) = done.reasons
    assert reason.code == DIFFERS
    assert "proof | Python" in reason.message
    assert "must not run" in reason.remedy
    assert done.rehearsal is None
    assert done.certificate is None
    assert {each.verdict for each in done.guarantees} <= {"unknown"}


def test_failing_call_that_python_survives_is_a_difference(proof: Proof) -> None:
    seen = observed(proof)
    assert proof.plan is not None
    failing = next(at for at, run in enumerate(proof.plan.order.runs) if run.fails_at is not None)
    done = rehearsed(proof, with_run(seen, failing, replace(seen.runs[failing], ended="completed")))
    assert done.verdict == "unknown"


def test_whole_number_is_the_float_that_is_declared(proof: Proof) -> None:
    seen = observed(proof)
    last = replace(seen.runs[0].calls[-1], arguments={"amount": 3})
    run = replace(seen.runs[0], calls=(*seen.runs[0].calls[:-1], last))
    assert rehearsed(proof, with_run(seen, 0, run)).verdict == "proved"


def test_long_argument_is_compared_by_its_hash() -> None:
    long = proved(f"tags(['{'x' * 500}', 'y'])")
    seen = observed(long)
    (call,) = seen.runs[0].calls
    hashed = replace(call, arguments={"values": shortened(call.arguments["values"])})
    assert set(hashed.arguments["values"]) == {"sha256", "bytes"}
    run = replace(seen.runs[0], calls=(hashed,))
    assert rehearsed(long, with_run(seen, 0, run)).verdict == "proved"
    other = replace(call, arguments={"values": shortened(["x" * 499, "yx"])})
    run = replace(seen.runs[0], calls=(other,))
    assert rehearsed(long, with_run(seen, 0, run)).verdict == "unknown"


def test_row_class_and_dict_keep_their_meaning_when_shortened() -> None:
    columns = {f"column_{number}": "str" for number in range(40)}
    row_class = {"rows": "Wide", "columns": columns}
    assert shortened(row_class) is row_class
    pairs = [[f"key {number}", "v" * 40] for number in range(9)]
    assert shortened({"map": pairs}) == shortened({"map": pairs[::-1]})
    assert shortened(pairs) != shortened(pairs[::-1])


@pytest.mark.parametrize("character", ["a", '"', "\\", "é", "\n", "\x7f", "\ud800"])
@pytest.mark.parametrize("length", [0, 26, 27, 39, 40, 78, 79, 80, 158, 159])
def test_a_text_is_shortened_where_its_bytes_are_many(character: str, length: int) -> None:
    text = character * length
    spelled = json.dumps(text, ensure_ascii=False).encode("utf-8", "surrogatepass")
    assert (shortened(text) == text) == (len(spelled) <= MAX_SHOWN)


@pytest.mark.parametrize(
    ("one", "other", "are_same"),
    [
        ("a", "a", True),
        ("a", "b", False),
        (1, 1, True),
        (1, True, False),
        (0, False, False),
        (0, None, False),
        ("1", 1, False),
        (1, {"float": "1.0"}, False),
        ({"map": [["a", 1], ["b", 2]]}, {"map": [["b", 2], ["a", 1]]}, True),
    ],
)
def test_values_are_the_same_when_they_are_written_in_the_same_way(
    one: object, other: object, are_same: bool
) -> None:
    assert same(one, other) is are_same


def test_call_for_other_rows_than_the_document_reads_differs() -> None:
    reading = proved("for each in rows_of(UserRow, 't'):\n    send(each.email, 'b')")
    seen = observed(reading)
    assert rehearsed(reading, seen).verdict == "proved"
    others = [
        replace(
            run,
            calls=tuple(
                replace(
                    call, arguments={**call.arguments, "schema": {"rows": "Row2", "columns": {}}}
                )
                if call.effect == "rows_of"
                else call
                for call in run.calls
            ),
        )
        for run in seen.runs
    ]
    assert rehearsed(reading, Observation(tuple(others), python=this_python())).verdict == "unknown"


def test_stage_that_refuses_leaves_a_proof_that_is_not_rehearsed(proof: Proof) -> None:
    done = rehearsed(proof, Observation((), refused="no seccomp here"))
    assert done.verdict == "proved"
    assert done.rehearsal is not None
    assert done.rehearsal.refused == "no seccomp here"


def test_fewer_runs_than_the_sites_need_is_no_rehearsal(proof: Proof) -> None:
    seen = observed(proof)
    cut = [replace(run, calls=run.calls[:1], ended="limit", error="time") for run in seen.runs[1:]]
    done = rehearsed(proof, replace(seen, runs=(seen.runs[0], *cut)))
    assert done.rehearsal is not None
    assert done.rehearsal.runs == 1
    assert done.rehearsal.refused.startswith("no run reached the call in line")
    none = rehearsed(proof, replace(seen, runs=tuple(cut)))
    assert none.rehearsal is not None
    assert none.rehearsal.refused == "no run came to its end: time"


def test_memory_that_runs_out_is_no_error_of_the_program(proof: Proof) -> None:
    seen = observed(proof)
    cut = ObservedRun(seen.runs[0].calls[:1], "raised", "RecursionError: too deep")
    done = rehearsed(proof, with_run(seen, 0, cut))
    assert done.verdict == "proved"
    assert done.rehearsal is not None
    assert done.rehearsal.refused


@pytest.mark.parametrize("error", ["its 5 s are over", ""])
def test_run_that_a_limit_ended_is_missing_whatever_the_others_reached(
    proof: Proof, error: str
) -> None:
    """A program could run out of time exactly where Python does something else than the proof says."""
    seen = observed(proof)
    last = len(seen.runs) - 1
    cut = with_run(seen, last, ObservedRun((), "limit", error))
    found = rehearsed(proof, cut).rehearsal
    assert found is not None
    assert (found.sites_reached, found.outcomes_reached) == (5, 2)
    told = f"only {last} of {last + 1} runs came to their end"
    assert found.refused == (f"{told}: {error}" if error else told)


def test_call_that_only_one_caller_of_a_helper_came_to_is_no_rehearsal() -> None:
    found = proved("h(123456789012345)\nh(number())", before=HELPER)
    assert found.plan is not None
    # As if no run had been found in which the second call of the helper sends anything.
    short = [replace(each, sites=each.sites - {1}) for each in found.plan.predicted]
    plan = replace(found.plan, predicted=tuple(short))
    done = rehearsed(replace(found, plan=plan), as_predicted(plan))
    assert not done.is_rehearsed
    assert done.rehearsal is not None
    assert done.rehearsal.refused == "no run reached the call in line 9 via 14"


def test_run_that_nobody_tells_about_is_missing(proof: Proof) -> None:
    seen = observed(proof)
    found = rehearsed(proof, replace(seen, runs=seen.runs[:-1])).rehearsal
    assert found is not None
    assert found.refused.startswith("only")


def test_prover_that_contradicts_itself_proves_nothing(proof: Proof) -> None:
    assert proof.plan is not None
    plan = replace(proof.plan, contradiction="pay: amount >= 0 does not hold")
    done = rehearsed(replace(proof, plan=plan), observed(proof))
    assert done.verdict == "unknown"
    assert done.reasons[0].code == DIFFERS


def test_difference_in_a_long_run_is_told_within_bounds() -> None:
    long = proved("\n".join(f"send('a', '{at}')" for at in range(200)))
    seen = observed(long)
    calls = seen.runs[0].calls
    other = replace(calls[150], arguments={"addr": "a", "msg": "x" * 100_000})
    run = replace(seen.runs[0], calls=(*calls[:150], other, *calls[151:]))
    (reason,) = rehearsed(long, with_run(seen, 0, run)).reasons
    assert "> 151:" in reason.message
    assert len(reason.message) < 8 * 1024 + 4_000


def test_rehearse_asks_the_stage_once_and_only_about_what_is_planned(proof: Proof) -> None:
    asked: list[StageOrder] = []

    class Recording:
        def perform(self, order: StageOrder) -> Observation:
            asked.append(order)
            return observed(proof)

    done = rehearse(proof, Recording())
    assert rehearse(done, Recording()) is done
    assert len(asked) == 1
    assert plan_of(BODY).order.runs == asked[0].runs


@pytest.mark.parametrize("python", ["cpython 3.9", "pypy 3.11", ""])
@pytest.mark.parametrize("agrees", [True, False])
def test_what_another_python_does_is_no_rehearsal_and_no_difference(
    proof: Proof, python: str, agrees: bool
) -> None:
    seen = replace(observed(proof), python=python)
    if not agrees:
        seen = with_run(seen, 0, ObservedRun((), "raised", "TypeError: no"))
    done = rehearsed(proof, seen)
    assert done.verdict == "proved"
    assert not done.is_rehearsed
    assert done.rehearsal is not None
    assert (done.rehearsal.runs, done.rehearsal.python) == (0, python)
    assert f"the stage is {python or 'a Python that it does not name'}" in done.rehearsal.refused
    assert f"was read by {this_python()}" in done.rehearsal.refused


def test_summary_of_what_was_not_rehearsed_says_so() -> None:
    stated = prove(
        program("pay(1)", guarantee="@lictor_layer.guarantee(c.at_most(1))"),
        name="t.py",
        layer=LAYER,
        seed=SEED,
    )
    refused = rehearsed(stated, Observation((), refused="no seccomp here")).summary()
    assert "GUARANTEES, proved, not rehearsed, however early" in str(refused)
    assert "GUARANTEES, proved, however early" in str(rehearsed(stated, observed(stated)).summary())


def test_a_program_too_long_for_enough_runs_is_not_rehearsed() -> None:
    """Padded with calls, it could else get by with the one run that shows nothing."""
    calls = (f"send(said, '{'x' * 120}{at}')" for at in range(3_000))
    found = proved("\n".join(("said = text()", *calls)))
    assert found.plan is not None
    assert len(found.plan.order.runs) < LEAST
    done = rehearsed(found, as_predicted(found.plan))
    assert done.verdict == "proved"
    assert done.rehearsal is not None
    assert "fit into an order" in done.rehearsal.refused


def test_runs_that_may_go_in_too_many_ways_are_not_compared(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A verdict does not wait for them, and nothing counts as rehearsed."""
    found = proved("for name in names():\n    if name.title() != 'A':\n        send('a', 'b')")
    assert rehearsed(found, observed(found)).is_rehearsed
    monkeypatch.setattr(comparison, "MAX_LOOKED_AT", 0)
    done = rehearsed(found, observed(found))
    assert done.verdict == "proved"
    assert not done.is_rehearsed


def as_python_does(proof: Proof, play: Callable[[Call], None]) -> Observation:
    """What is observed when this is what the program does with its planned answers."""
    assert proof.plan is not None
    seen: list[ObservedRun] = []
    for run in proof.plan.order.runs:
        calls: list[ObservedCall] = []

        def call(
            effect: str, run: PlannedRun = run, calls: list[ObservedCall] = calls, **given: Any
        ) -> Any:
            made = [each.effect for each in calls]
            calls.append(ObservedCall(effect, given))
            answer = run.answer(effect, made)
            if len(made) == run.fails_at or answer is None:
                raise _CallFails
            return answer.result

        try:
            play(call)
            seen.append(ObservedRun(tuple(calls), "completed"))
        except _CallFails:
            seen.append(ObservedRun(tuple(calls), "failed"))
    return Observation(tuple(seen), python=this_python())


class _CallFails(Exception):
    pass


AMBIGUOUS = """answer = ask('?')
for name in names():
    if name.title().startswith('zz'):
        send('a', 'b')
    else:
        send('a', 'b' if answer else 'c')
for name in names():
    if name.title().startswith('zz'):
        send('a', 'b')
    else:
        send('a', 'b' if answer else 'c')
"""


def _play_ambiguous(call: Call) -> None:
    answer = call("ask", question="?")
    for _ in range(2):
        for _name in call("names"):
            # No title begins with a small letter.
            call("send", addr="a", msg="b" if answer else "c")


def test_a_call_that_python_never_made_is_not_reached_where_ways_were_given_up() -> None:
    """Two calls are alike in some runs, in more ways than are followed: nobody knows which of them was made."""
    found = proved(AMBIGUOUS)
    done = rehearsed(found, as_python_does(found, _play_ambiguous))
    assert done.verdict == "proved"
    assert done.rehearsal is not None
    lines = [at for at, line in enumerate(AMBIGUOUS.splitlines()) if "send('a', 'b')" in line]
    assert found.plan is not None
    first = int(found.plan.sites[0])
    assert done.rehearsal.refused == (
        f"no run reached the call in line {', '.join(str(first + at) for at in lines)}"
    )


def test_an_outcome_that_no_call_shows_is_not_taken() -> None:
    """It was guessed what the text is: whether Python took the branch, nobody knows."""
    found = proved(
        "word = text().title()\nif word == 'zz':\n    word = 'z'\n"
        "if len(word) < 200:\n    send('a', 'b')"
    )

    def play(call: Call) -> None:
        if len(call("text").title()) < 200:
            call("send", addr="a", msg="b")

    done = rehearsed(found, as_python_does(found, play)).rehearsal
    assert done is not None
    assert done.outcomes == 4
    assert done.outcomes_reached == 1


def test_what_outcomes_a_run_shows_is_told_by_a_plan_that_has_travelled() -> None:
    found = proved("for name in names():\n    if name.title() != 'A':\n        send('a', name)")
    there = replace(found, plan=pickle.loads(pickle.dumps(found.plan)))
    seen = observed(found)
    figures = [rehearsed(each, seen).rehearsal for each in (found, there)]
    assert figures[0] == figures[1]
    assert figures[0] is not None
    assert figures[0].outcomes_reached > 0


def test_runs_in_which_calls_broke_their_promises_are_not_enough() -> None:
    """A title was guessed, and an answer that fits it was planned: to another title it breaks the promise."""
    source = program("ask(text().title())\nsend('a', 'b')")
    layer = promising("ask", "lambda question, result: result == question", result=STR)
    found = prove(source, name="t.py", layer=layer, settings=PATIENT, seed=SEED)
    assert found.plan is not None, found.reasons
    assert not found.plan.too_few

    def play(call: Call) -> None:
        call("ask", question=call("text").title())
        call("send", addr="a", msg="b")

    done = rehearsed(found, as_python_does(found, play))
    assert done.rehearsal is not None
    assert done.rehearsal.runs > 0
    assert done.rehearsal.sites_reached == done.rehearsal.sites
    assert "trusted calls kept their promises" in done.rehearsal.refused
