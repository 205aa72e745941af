"""What a stage observes of a program: its calls, with what they were given, and how each run ended."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import psutil
import pytest
from staged_programs import ROWS_OF_ANY_CLASS, ordered, planned, program, shop, told

from lictor_prove.commands import read_commands, without_guarantees
from lictor_prove.layer_model import Layer
from lictor_prove.proof.prover import prove
from lictor_prove.rehearsal.order_json import (
    MalformedMessage,
    observation_bytes,
    observation_of,
    order_bytes,
    order_of,
)
from lictor_prove.rehearsal.orders import Observation
from lictor_prove.rehearsal.outline import outline_of
from lictor_prove.rehearsal.rounds import rehearse
from lictor_prove.this_python import this_python
from lictor_prove.written_values import shortened
from lictor_run.rehearsal.confinement import StageLimits
from lictor_run.rehearsal.exercise import EXERCISE
from lictor_run.rehearsal.local_stage import LocalStage
from lictor_run.rehearsal.performance import performed
from lictor_run.sandbox import rows_of


@pytest.fixture(scope="module")
def layer(tmp_path_factory: pytest.TempPathFactory) -> Layer:
    return shop(tmp_path_factory.mktemp("shop"))


@pytest.fixture(scope="module")
def stage() -> Iterator[LocalStage]:
    with LocalStage() as made:
        yield made


def test_calls_are_observed_with_their_arguments_by_name(stage: LocalStage, layer: Layer) -> None:
    source = program("n = balance('ada')\nif n > 5:\n    pay('ada', n - 1, urgent=True)")
    seen = stage.perform(
        ordered(
            layer,
            source,
            planned(("balance", 9), ("pay", None)),
            planned(("balance", 5)),
            planned(("balance", 2**70), ("pay", None)),
        )
    )
    assert seen.refused == ""
    assert [run.ended for run in seen.runs] == ["completed"] * 3
    assert told(seen.runs[0]) == [
        ("balance", {"name": "ada"}),
        ("pay", {"name": "ada", "cents": 8, "urgent": True}),
    ]
    assert told(seen.runs[1]) == [("balance", {"name": "ada"})]
    assert told(seen.runs[2])[1][1]["cents"] == {"int": str(2**70 - 1)}


def test_inputs_rows_constants_and_enum_members_are_what_they_are(
    stage: LocalStage, layer: Layer
) -> None:
    body = """
    for each in accounts():
        pay(each.name, each.cents + effects.LIMIT)
    pay(f"{effects.LARGE}", len(effects.LARGE), note=effects.NAME)
    pay("mine", int(effects.RATE * count))
    """
    rows = [layer_row(layer)(name="ada", cents=3)]
    run = planned(
        ("accounts", rows), ("pay", None), ("pay", None), ("pay", None), inputs={"count": 4}
    )
    source = program(body, parameters="count: int")
    (seen,) = stage.perform(ordered(layer, source, run)).runs
    assert (seen.ended, seen.error) == ("completed", "")
    assert told(seen)[1:] == [
        ("pay", {"name": "ada", "cents": 103}),
        ("pay", {"name": "large", "cents": 5, "note": "shop"}),
        ("pay", {"name": "mine", "cents": 2}),
    ]


def layer_row(layer: Layer) -> type:
    return rows_of(outline_of(layer))["Account"]


def test_long_argument_is_reported_by_its_hash(stage: LocalStage, layer: Layer) -> None:
    order = ordered(layer, program("pay('x' * 10 ** 6, 1)"), planned(("pay", None)))
    (seen,) = stage.perform(order).runs
    assert seen.ended == "completed", seen
    assert seen.calls[0].arguments == {"name": shortened("x" * 10**6), "cents": 1}


def test_rows_that_a_document_never_reads_are_rows_all_the_same(
    stage: LocalStage, tmp_path: Path
) -> None:
    """A document says the class of rows only where it reads them; Python reads them wherever the program does."""
    source = (
        "from tools.shop.trusted.effects import Account, pay, rows\n"
        "def main() -> None:\n"
        "    names = [each.name for each in rows(Account)]\n"
        "    pay('ada', 1)\n"
    )
    layer = shop(tmp_path, ROWS_OF_ANY_CLASS)
    proof = prove(source, name="program.py", layer=layer, seed="5eed")
    assert proof.verdict == "proved"
    assert proof.plan is not None
    assert any(run.answers[0].result for run in proof.plan.order.runs)
    found = rehearse(proof, stage)
    assert found.verdict == "proved", found.reasons
    assert found.rehearsal is not None
    assert not found.rehearsal.refused


@pytest.mark.parametrize(
    "source",
    [
        "import tools.shop.trusted.effects\ndef main():\n    tools.shop.trusted.effects.balance('a')",
        "import tools.shop.trusted.effects as e\ndef main():\n    e.balance('a')",
        "from tools.shop.trusted import effects\ndef main():\n    effects.balance('a')",
        "from tools.shop.trusted.effects import balance as b\ndef main():\n    b('a')",
    ],
)
def test_a_module_is_found_by_every_spelling_of_its_import(
    stage: LocalStage, layer: Layer, source: str
) -> None:
    order = ordered(layer, source, planned(("balance", 1)))
    # As those who plan have it: of the layer, only what the program names.
    modules = {
        name: held for name, held in order.outline["modules"].items() if name.endswith("effects")
    }
    for outline in (order.outline, {**order.outline, "modules": modules}):
        (seen,) = stage.perform(replace(order, outline=outline)).runs
        assert (seen.ended, seen.error) == ("completed", "")


@pytest.mark.parametrize("name", ["LOUD", "ONE", "NOTES", "Kind", "Loud", "enum"])
def test_what_would_need_code_of_the_layer_can_not_be_had(
    stage: LocalStage, layer: Layer, name: str
) -> None:
    (seen,) = stage.perform(ordered(layer, program(f"x = effects.{name}"))).runs
    assert seen.ended == "raised"
    assert seen.error.startswith("AttributeError")


@pytest.mark.parametrize(
    "call",
    [
        "pay('a', 1, 'n', urgent=True, by='x')",
        "pay('a', note='n', cents=1)",
        "pay(name='a', cents=1)",
        "pay('a')",
        "pay('a', 1, 'n', True)",
        "pay('a', 1, cents=2)",
        "pay('a', 1, unknown=2)",
        "only_keywords(call=1)",
        "only_keywords(call_absent=3, call=1)",
        "only_keywords(1)",
        "only_keywords()",
        "only_positions(1)",
        "only_positions(1, 3)",
        "only_positions(1, b=3)",
        "only_positions()",
    ],
)
def test_arguments_are_bound_as_python_binds_them(
    stage: LocalStage, layer: Layer, call: str
) -> None:
    def pay(name, /, cents, note="none", *, urgent=False, by=""):
        return {"name": name, "cents": cents, "note": note, "urgent": urgent, "by": by}

    def only_keywords(*, call, call_absent=1):
        return {"call": call, "call_absent": call_absent}

    def only_positions(a, b=2, /):
        return {"a": a, "b": b}

    real = {"pay": pay, "only_keywords": only_keywords, "only_positions": only_positions}
    names = {name: (lambda *args, f=f, **named: [f(*args, **named)]) for name, f in real.items()}
    effect = call.partition("(")[0]
    (seen,) = stage.perform(ordered(layer, program(call), planned((effect, None)))).runs
    try:
        bound = eval(call, {}, names)[0]  # noqa: S307 -- a literal of this test
    except TypeError as error:
        own = str(error).replace(
            f"{test_arguments_are_bound_as_python_binds_them.__name__}.<locals>.", ""
        )
        assert (seen.ended, seen.error) == ("raised", f"TypeError: {own}")
        return
    assert seen.ended == "completed"
    ((_, given),) = told(seen)
    assert given.items() <= bound.items()
    # What is left out is what the call left to its default.
    assert all(f"{name}=" not in call for name in bound.keys() - given.keys())


def test_a_run_ends_at_the_call_that_fails_or_has_no_answer(
    stage: LocalStage, layer: Layer
) -> None:
    source = program("balance('a')\npay('b', 1)\nbalance('c')")
    seen = stage.perform(
        ordered(
            layer,
            source,
            planned(("balance", 1), ("pay", None), fails_at=1),
            planned(("balance", 1)),
            planned(("balance", 1), ("balance", 2)),
            planned(fails_at=0),
        )
    )
    assert [run.ended for run in seen.runs] == ["failed", "unanswered", "unanswered", "failed"]
    assert [len(run.calls) for run in seen.runs] == [2, 2, 2, 1]


def test_a_program_that_goes_on_after_its_end_is_not_heard(stage: LocalStage, layer: Layer) -> None:
    body = "try:\n    balance('a')\nexcept:\n    pass\npay('b', 1)\nraise ValueError('late')"
    (seen,) = stage.perform(ordered(layer, program(body), planned(fails_at=0))).runs
    assert (seen.ended, len(seen.calls)) == ("failed", 1)


def test_a_value_is_observed_as_it_was_at_the_call(stage: LocalStage, layer: Layer) -> None:
    source = program("x = [1]\nsave(x)\nx.append(2)\nsave(x)")
    (seen,) = stage.perform(ordered(layer, source, planned(("save", None), ("save", None)))).runs
    assert [given["items"] for _, given in told(seen)] == [[1], [1, 2]]


def test_what_no_runner_would_let_cross_is_observed_as_such(
    stage: LocalStage, layer: Layer
) -> None:
    source = program("save(range(3))\nsave(effects.LARGE)\nsave([save])")
    (seen,) = stage.perform(ordered(layer, source, planned(*[("save", None)] * 3))).runs
    kinds = [given["items"]["unwritable"] for _, given in told(seen)]
    assert kinds == ["range", "Kind", "list"]


@pytest.mark.parametrize(
    ("body", "ended", "error"),
    [
        ("1 / 0", "raised", "ZeroDivisionError: division by zero"),
        ("assert False, 'no'", "raised", "AssertionError: no"),
        ("raise PermissionError('x')", "raised", "PermissionError: x"),
        ("str(10 ** 5000)", "limit", "ValueError: Exceeds the limit"),
        ("x = [0] * 10 ** 9", "limit", "MemoryError"),
        ("def f():\n    return f()\nf()", "limit", "RecursionError"),
        ("print('x' * 10 ** 6)", "completed", ""),
        ("print('\\N{BULLET}')", "completed", ""),
        ("x = 1 is 1", "completed", ""),
    ],
)
def test_what_a_program_raises_is_told_and_running_out_is_a_limit(
    stage: LocalStage, layer: Layer, body: str, ended: str, error: str
) -> None:
    first, second = stage.perform(ordered(layer, program(body), planned(), planned())).runs
    assert (first.ended, first.error[: len(error)]) == (ended, error)
    assert second == first


def test_a_program_without_its_target_or_that_can_not_be_compiled_is_told(
    stage: LocalStage, layer: Layer
) -> None:
    (seen,) = stage.perform(ordered(layer, "x = 1")).runs
    assert seen.error == "KeyError: 'main'"
    # Python opens the file of a syntax error to show its line, and that is not allowed.
    broken = stage.perform(ordered(layer, "def main(:", planned(), planned()))
    assert [run.ended for run in broken.runs] == ["limit"] * 2


COMMANDS = """lictor-commands v1
guarantee nothing()
input limit: int
n = call balance(name = "ada")
when n < limit { call pay(name = "ada", cents = n) } else { stop }
assert n < 5
"""


def test_commands_are_executed_with_the_same_stand_ins(stage: LocalStage, layer: Layer) -> None:
    source = without_guarantees(read_commands(COMMANDS, layer=layer))
    assert source.splitlines()[1].strip() == ""
    assert len(source) == len(COMMANDS)
    seen = stage.perform(
        ordered(
            layer,
            source,
            planned(("balance", 4), ("pay", None), inputs={"limit": 9}),
            planned(("balance", 9), inputs={"limit": 9}),
            planned(("balance", 7), ("pay", None), inputs={"limit": 9}),
            planned(("balance", 4), ("pay", None), inputs={"limit": 9}, fails_at=1),
            language="commands",
        )
    )
    assert [run.ended for run in seen.runs] == ["completed", "completed", "raised", "failed"]
    assert told(seen.runs[0])[1] == ("pay", {"name": "ada", "cents": 4})


def test_orders_and_observations_cross_as_json(stage: LocalStage, layer: Layer) -> None:
    order = ordered(layer, program("balance('a')"), planned(("balance", 1), fails_at=0), planned())
    assert order_of(order_bytes(order)) == order
    seen = stage.perform(order)
    assert seen.python == this_python()
    assert observation_of(observation_bytes(seen)) == seen
    for data in (
        b"",
        b"[]",
        b"{}",
        b'{"runs":[{}],"refused":""}',
        b'{"runs":[{"calls":[],"ended":"proved","error":""}],"refused":""}',
        b'{"runs":[{"calls":[{"effect":1,"arguments":{}}],"ended":"raised","error":""}],"refused":""}',
        b'{"runs":' + b"[" * 200 + b"]" * 200 + b',"refused":""}',
        b"[" * 100_000,
    ):
        with pytest.raises(MalformedMessage):
            observation_of(data)
        with pytest.raises(MalformedMessage):
            order_of(data)


def test_runs_that_are_done_when_time_is_over_are_kept(layer: Layer) -> None:
    source = program("n = balance('a')\nif n == 2:\n    while True:\n        pass")
    runs = [planned(("balance", n)) for n in (1, 2, 3)]
    with LocalStage(StageLimits(wall_s=3.0)) as stage:
        seen = stage.perform(ordered(layer, source, *runs))
        assert [run.ended for run in seen.runs] == ["completed", "limit", "limit"]
        assert "3 s are over" in seen.runs[1].error
        assert stage.perform(ordered(layer, source, runs[0])).runs[0].ended == "completed"


def test_a_stage_that_was_killed_is_started_again(layer: Layer) -> None:
    order = ordered(layer, program("balance('a')"), planned(("balance", 1)))
    with LocalStage() as stage:
        assert stage.why_refused() == ""
        first = stage.pid
        assert first is not None
        os.kill(first, signal.SIGKILL)
        psutil.wait_procs([psutil.Process(first)] if psutil.pid_exists(first) else [], timeout=30)
        seen = stage.perform(order)
        # Killed just before it was asked: then that order is refused, and the next is not.
        if seen.refused:
            seen = stage.perform(order)
        assert seen.runs[0].ended == "completed"
        assert stage.pid != first


def test_a_stage_that_dies_at_work_refuses_that_order_alone(layer: Layer) -> None:
    endless = ordered(layer, program("while True:\n    pass"))
    with LocalStage(StageLimits(wall_s=60.0)) as stage:
        assert stage.why_refused() == ""
        seen: list[Observation] = []
        thread = threading.Thread(target=lambda: seen.append(stage.perform(endless)))
        thread.start()
        parent = psutil.Process(stage.pid or 0)
        # One waits for the order; it works long after it was exercised.
        while not ((children := parent.children()) and children[0].cpu_times().user > 0.5):
            pass
        parent.kill()
        thread.join()
        assert seen[0].runs == ()
        assert "does not answer" in seen[0].refused
        # The child dies with its parent.
        psutil.wait_procs(children, timeout=30)
        assert not any(child.is_running() for child in children)
        order = ordered(layer, program("balance('a')"), planned(("balance", 1)))
        assert stage.perform(order).runs[0].ended == "completed"


def test_whoever_was_interrupted_gets_no_answer_to_another_order(
    layer: Layer, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object) -> bytes:
        raise KeyboardInterrupt

    with LocalStage() as own:
        one, other = (
            ordered(layer, program(f"pay({name!r}, 1)"), planned(("pay", None)))
            for name in ("ada", "bob")
        )
        assert own.why_refused() == ""
        with monkeypatch.context() as patched:
            patched.setattr(own, "_receive", interrupted)
            with pytest.raises(KeyboardInterrupt):
                own.perform(one)
        (run,) = own.perform(other).runs
        assert run.calls[0].arguments["name"] == "bob"


def test_threads_share_a_stage(stage: LocalStage, layer: Layer) -> None:
    results: dict[int, Observation] = {}

    def ask(number: int) -> None:
        order = ordered(layer, program(f"balance('{number}')"), planned(("balance", 1)))
        results[number] = stage.perform(order)

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {number: told(seen.runs[0]) for number, seen in results.items()} == {
        number: [("balance", {"name": str(number)})] for number in range(6)
    }


def test_an_order_without_runs_or_too_large_starts_nothing(layer: Layer) -> None:
    with LocalStage() as stage:
        nothing = replace(ordered(layer, program("pass")), runs=())
        assert stage.perform(nothing) == Observation(())
        huge = ordered(layer, "#" * (9 * 1024 * 1024))
        assert "bytes" in stage.perform(huge).refused
        assert stage.pid is None


def test_the_warm_parent_loads_no_solver_no_models_and_no_client() -> None:
    code = (
        "import sys, lictor_run.rehearsal.stage;"
        "print([name for name in ('z3', 'cvc5', 'pydantic', 'nats', 'redis', 'asyncio', 'orjson')"
        " if name in sys.modules])"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"


def test_the_layer_is_not_needed_where_a_program_is_rehearsed(
    stage: LocalStage, tmp_path: Path
) -> None:
    layer = shop(tmp_path)
    order = ordered(layer, program("balance('a')"), planned(("balance", 1)))
    shutil.rmtree(tmp_path / "tools")
    assert stage.perform(order).runs[0].ended == "completed"


def test_the_exercise_of_a_stage_comes_to_the_ends_that_are_planned() -> None:
    """One that fails in its first line would warm nothing, and nobody would see it."""
    seen = list(performed(order_of(EXERCISE), StageLimits()))
    assert [(run.ended, run.error, len(run.calls)) for run in seen] == [
        ("completed", "", 4),
        ("failed", "", 2),
    ]
