"""A run does exactly what was approved, and everything it does is written down before it is done."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest
from runs_on_disk import (
    RUN_ID,
    TASK_ID,
    Bank,
    MemoryJournal,
    at_once,
    execute,
    program,
    refused,
    why_not,
)

from lictor_ir.json.document import document_hash
from lictor_prove.proof.prover import document_of, prove
from lictor_prove.proof.runnability import MAX_ARGUMENTS, MAX_DEPTH
from lictor_prove.this_python import this_python
from lictor_run.approved_run import Run
from lictor_run.errors import EntryTooLarge, Fenced, RunStopped
from lictor_run.program_interpreter import ENVIRONMENT
from lictor_run.run_result import heard_result
from lictor_run.stale_approval import check_python
from lictor_run.trusted_calls import MAX_RESULT
from lictor_schema.approvals.run import (
    EffectDone,
    EffectFailed,
    EffectStarted,
    RunOutcome,
    RunResult,
)
from lictor_schema.core.canonical_json import content_hash
from lictor_schema.core.ids import idempotency_key
from lictor_schema.proofs.inputs import written_inputs
from lictor_schema.proofs.program import program_hash
from lictor_schema.proofs.proof import ProofVerdict


@pytest.fixture
def bank(tmp_path: Path) -> Bank:
    return Bank.at(tmp_path)


async def test_effects_happen_in_order_and_are_written_down_with_what_they_returned(
    bank: Bank,
) -> None:
    source = program(
        """
        for account in accounts():
            receipt = pay(account.name, account.cents)
            send(receipt)
        """
    )
    ended, journal = await execute(bank, source)
    assert ended.outcome is RunOutcome.EXECUTED, ended
    assert bank.done() == [
        ["pay", "ada", 5],
        ["send", "receipt-ada-5"],
        ["pay", "bob", 7],
        ["send", "receipt-bob-7"],
    ]
    started = [each for each in journal.entries if isinstance(each, EffectStarted)]
    assert [each.effect for each in started] == ["accounts", "pay", "send", "pay", "send"]
    assert started[1].arguments == {"account": "ada", "cents": 5}
    keys = [line[-1] for line in bank.lines()]
    assert keys == [idempotency_key(RUN_ID, call) for call in (1, 2, 3, 4)]
    rows = next(each for each in journal.entries if isinstance(each, EffectDone))
    assert isinstance(rows.result, list)
    assert rows.result[0] == {"row": "Account", "columns": {"name": "ada", "cents": 5}}
    assert (ended.effects, ended.undone, ended.left) == (5, 0, ())


async def test_no_effect_is_made_before_it_is_written_down(bank: Bank) -> None:
    seen: list[tuple[str, int]] = []

    class Watching(MemoryJournal):
        async def append(self, entry: Any) -> None:
            seen.append((entry.kind, len(bank.lines())))
            await super().append(entry)

    await execute(bank, program("pay('ada', 1)\nsend('x')"), journal=Watching())
    assert seen == [
        ("effect_started", 0),
        ("effect_done", 1),
        ("effect_started", 1),
        ("effect_done", 2),
        ("run_finished", 2),
    ]


async def test_what_a_trusted_function_does_to_its_arguments_is_not_seen_by_the_program(
    bank: Bank,
) -> None:
    source = program(
        """
        items = [1, 2]
        more = {"a": 1}
        keep(items, more)
        keep(items, more)
        """
    )
    ended, journal = await execute(bank, source)
    assert ended.outcome is RunOutcome.EXECUTED, ended
    assert bank.done() == [["keep", [1, 2, 99], {}]] * 2
    started = [each for each in journal.entries if isinstance(each, EffectStarted)]
    assert started[1].arguments == {"items": [1, 2], "more": {"map": [["a", 1]]}}


async def test_what_happens_to_a_result_later_is_not_seen_by_the_program(bank: Bank) -> None:
    source = program(
        """
        found = shared()
        change_shared()
        for each in found:
            charge(abs(each) + 1)
        """
    )
    ended, _ = await execute(bank, source)
    assert ended.outcome is RunOutcome.EXECUTED, ended
    assert bank.done() == [["charge", 2], ["charge", 3], ["charge", 4]]


async def test_a_small_whole_number_is_passed_as_the_float_that_is_declared(bank: Bank) -> None:
    ended, journal = await execute(bank, program("rate(2)"))
    assert ended.outcome is RunOutcome.EXECUTED, ended
    done = next(each for each in journal.entries if isinstance(each, EffectDone))
    assert done.result == {"float": "2.0"}


@pytest.mark.parametrize(
    ("body", "code"),
    [("wrong()", "result.type"), ("negative()", "promise.broken")],
    ids=["a bool is no int", "the layer promised a result of at least 0"],
)
async def test_a_result_that_the_proof_could_not_rely_on_stops_the_run(
    bank: Bank, body: str, code: str
) -> None:
    ended, journal = await execute(bank, program(f"{body}\nsend('after')"))
    assert (ended.outcome, ended.left) == (RunOutcome.PARTIAL, (0,))
    assert ended.reason is not None
    assert ended.reason.code == code
    failed = next(each for each in journal.entries if isinstance(each, EffectFailed))
    assert failed.happened == "yes"
    assert bank.done() == []


async def test_the_layer_sees_nothing_but_its_own_environment_and_directory(bank: Bank) -> None:
    ended, journal = await execute(bank, program("surroundings()"))
    assert ended.outcome is RunOutcome.EXECUTED, ended
    done = next(each for each in journal.entries if isinstance(each, EffectDone))
    result: Any = done.result
    *names, directory, _stdin = result
    assert names == sorted(ENVIRONMENT)
    assert "lictor-run-" in directory
    assert not _exists(directory)


# -- limits ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "limits", "code"),
    [
        ("sleep_long()", {"wall_s": 3.0}, "run.timeout"),
        ("spin()", {"cpu_s": 2}, "run.cpu"),
        ("exit_now()", {}, "run.crashed"),
        ("grow()", {}, "effect.raised"),
    ],
    ids=["sleeps", "computes", "exits", "grows"],
)
async def test_an_effect_that_does_not_come_back_is_in_doubt(
    bank: Bank, body: str, limits: dict[str, Any], code: str
) -> None:
    ended, _ = await execute(bank, program(f"{body}\nsend('after')"), **limits)
    assert ended.outcome is RunOutcome.IN_DOUBT
    assert ended.reason is not None
    assert (ended.reason.code, ended.left) == (code, (0,))
    assert ["send", "after"] not in bank.done()


async def test_a_flood_of_output_is_cut_and_the_run_goes_on(bank: Bank) -> None:
    ended, _ = await execute(bank, program("flood()\nsend('after')"))
    assert ended.outcome is RunOutcome.EXECUTED, ended
    assert len(ended.output) == 16 * 1024
    assert bank.done() == [["send", "after"]]


async def test_what_a_trusted_function_started_ends_with_the_run(bank: Bank) -> None:
    await execute(bank, program("spawn()"))
    ((_, pid),) = bank.done()
    # It was killed; nothing tells when the kernel is done with it.
    async with asyncio.timeout(60):
        while _runs(pid):
            await asyncio.sleep(0.01)


def _exists(path: str) -> bool:
    return os.path.lexists(path)


def _runs(pid: int) -> bool:
    status = Path(f"/proc/{pid}/stat")
    # Whoever inherits it may not have fetched its status yet.
    return status.exists() and status.read_text().rpartition(")")[2].split()[0] != "Z"


# -- what is not what was approved -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("changed", "code"),
    [
        ({"program": program("send('other')")}, "stale.program"),
        ({"program_hash": "sha256:" + "0" * 64}, "stale.program"),
        ({"ir_hash": "sha256:" + "0" * 64}, "stale.ir"),
        ({"layer_hash": "sha256:" + "0" * 64}, "stale.layer"),
        ({"guarantees": (("only()", False),)}, "stale.guarantees"),
        ({"source_name": "other.py"}, "stale.ir"),
        ({"target": "other"}, "stale.rejected"),
        ({"language": "ir"}, "language.not_run"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else None,
)
def test_anything_that_differs_from_what_was_approved_does_not_run(
    bank: Bank, changed: dict[str, Any], code: str
) -> None:
    assert why_not(bank, bank.approved(program("send('x')"), **changed)) == code


async def test_what_does_not_run_is_not_even_claimed(bank: Bank) -> None:
    approved = bank.approved(program("send('x')"), ir_hash="sha256:" + "0" * 64)
    assert await refused(bank, approved) == "stale.ir"


@pytest.mark.parametrize("python", ["cpython 3.9", "pypy 3.11", None])
async def test_a_program_that_was_proved_for_another_python_does_not_run(
    bank: Bank, python: str | None
) -> None:
    approved = bank.approved(program("send('x')"), python=python)
    assert await refused(bank, approved) == "stale.python"
    with pytest.raises(RunStopped) as stopped:
        check_python(approved)
    assert this_python() in stopped.value.message
    assert stopped.value.remedy.startswith("prove it again")


@pytest.mark.parametrize("how", ["changed", "added", "removed", "broken"])
def test_a_layer_that_changed_after_the_approval_does_not_run(bank: Bank, how: str) -> None:
    approved = bank.approved(program("send('x')"))
    match how:
        case "changed":
            bank.module.write_text(bank.module.read_text() + "# changed\n")
        case "added":
            (bank.module.parent / "notes.txt").write_text("new")
        case "removed":
            bank.module.unlink()
        case _:
            bank.module.write_text("def (")
    assert why_not(bank, approved) == "stale.layer"


PAYING = program(
    """
    if cents <= 100:
        pay(name, cents)
    """
).replace("def main()", "def main(name: str, cents: int)")


@pytest.mark.parametrize(
    ("values", "done"),
    [
        ({"name": "ada", "cents": 5}, [["pay", "ada", 5]]),
        ({"name": "  ada\n", "cents": -(2**70)}, [["pay", "  ada\n", -(2**70)]]),
        ({"name": "ada", "cents": 101}, []),
    ],
)
async def test_a_program_runs_with_exactly_the_values_that_were_approved(
    bank: Bank, values: dict[str, Any], done: list[Any]
) -> None:
    approved = bank.approved(PAYING, inputs=written_inputs(values))
    ended = await Run(RUN_ID, TASK_ID, MemoryJournal(), writer="w").execute(
        approved, bank.place(), at_once
    )
    assert ended.outcome is RunOutcome.EXECUTED, ended
    assert bank.done() == done


async def test_parameters_of_every_kind_are_passed(bank: Bank) -> None:
    source = program(
        """
        rate(ratio)
        if is_loud:
            post(f"{text} {number}", loud=is_loud)
        """
    ).replace("def main()", "def main(number: int, /, text: str, *, ratio: float, is_loud: bool)")
    values = {"number": 2**60, "text": "ä", "ratio": -0.0, "is_loud": True}
    approved = bank.approved(source, inputs=written_inputs(values))
    journal = MemoryJournal()
    run = Run(RUN_ID, TASK_ID, journal, writer="w")
    ended = await run.execute(approved, bank.place(), at_once)
    assert ended.outcome is RunOutcome.EXECUTED, ended
    assert bank.done() == [["post", f"ä {2**60}", True]]
    first = next(each for each in journal.entries if isinstance(each, EffectStarted))
    assert first.arguments == {"value": {"float": "-0.0"}}


@pytest.mark.parametrize(
    ("inputs", "code"),
    [
        (None, "inputs.not_run"),
        ({"name": "ada"}, "inputs.not_run"),
        ({"name": "ada", "cents": 5, "more": 1}, "inputs.unknown"),
        ({"name": "ada", "cents": True}, "inputs.type"),
        ({"name": "ada", "cents": {"float": "5.0"}}, "inputs.type"),
        ({"name": "ada", "cents": {"int": "5"}}, "inputs.type"),
        ({"name": ["ada"], "cents": 5}, "inputs.type"),
    ],
)
async def test_values_that_are_not_those_of_the_program_do_not_run(
    bank: Bank, inputs: Any, code: str
) -> None:
    assert why_not(bank, bank.approved(PAYING, inputs=inputs)) == code


async def test_a_program_that_is_given_what_it_does_not_take_does_not_run(bank: Bank) -> None:
    approved = bank.approved(program("send('x')"), inputs={"x": 1})
    assert await refused(bank, approved) == "inputs.unknown"


@pytest.mark.parametrize(
    ("body", "value"),
    [
        ("send('x')", None),
        ("return [account.name for account in accounts()]", ["ada", "bob"]),
        ("return pay('ada', 5)", "receipt-ada-5"),
        ("return (1, 2.5, {'a': True})", {"tuple": [1, {"float": "2.5"}, {"map": [["a", True]]}]}),
        (f"return {2**60}", {"int": str(2**60)}),
        ("return accounts()[0]", {"row": "Account", "columns": {"name": "ada", "cents": 5}}),
    ],
)
async def test_what_the_target_returned_ends_the_journal(bank: Bank, body: str, value: Any) -> None:
    source = program(body).replace("-> None", "-> object")
    ended, journal = await execute(bank, source)
    assert ended.outcome is RunOutcome.EXECUTED, ended
    assert ended.result == RunResult(value=value, hash=content_hash(value))
    assert journal.entries[-1] == ended


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ("return Order(1)", "result.unwritable"),
        ("return ['a' * 9_000] * 30", "result.too_large"),
        ("return [[0] * 1_000] * 101", "result.unwritable"),
    ],
)
async def test_a_result_that_is_not_kept_is_said_to_be_so_and_the_run_is_done(
    bank: Bank, body: str, code: str
) -> None:
    more = """
    from dataclasses import dataclass

    @dataclass
    class Order:
        number: int
    """
    source = program(f"send('x')\n{body}", more).replace("-> None", "-> object")
    ended, _ = await execute(bank, source)
    assert ended.outcome is RunOutcome.EXECUTED, ended
    assert ended.result is not None
    assert not ended.result.kept
    assert (ended.result.value, ended.result.hash) == (None, None)
    assert ended.result.problem is not None
    assert ended.result.problem.code == code
    assert bank.done() == [["send", "x"]]


async def test_a_result_that_the_broker_does_not_take_undoes_nothing(bank: Bank) -> None:
    class Small(MemoryJournal):
        async def append(self, entry: Any) -> None:
            if len(entry.to_json()) > 10_000:
                raise EntryTooLarge("more than the broker takes")
            await super().append(entry)

    source = program("send('x')\nreturn 'a' * 20_000").replace("-> None", "-> str")
    ended, journal = await execute(bank, source, journal=Small())
    assert ended.outcome is RunOutcome.EXECUTED
    assert ended.result is not None
    assert ended.result.problem is not None
    assert ended.result.problem.code == "result.too_large"
    assert journal.kinds == ["effect_started", "effect_done", "run_finished"]


async def test_a_run_that_ended_early_returned_nothing(bank: Bank) -> None:
    ended, _ = await execute(bank, program("send('refuse')\nreturn None"))
    assert (ended.outcome, ended.result) == (RunOutcome.FAILED, None)
    assert b'"result"' not in ended.to_json()


@pytest.mark.parametrize(
    "told",
    [
        None,
        {},
        5,
        {"value": 1, "size": 2},
        {"value": "a" * (MAX_RESULT + 1)},
        {"value": float("nan")},
        {"size": "big"},
        {"unwritable": None},
    ],
)
def test_a_child_that_tells_its_result_in_no_known_way_is_not_believed(told: Any) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        heard_result(told)


async def test_commands_run_with_the_values_that_were_approved(bank: Bank) -> None:
    source = "lictor-commands v1\ninput name: str\ncall send(text = name)\n"
    document = document_of(source, name="p.lictor", layer=bank.layer(), language="commands")
    approved = bank.approved(
        program("send('x')"),
        program=source,
        program_hash=program_hash(source),
        language="commands",
        source_name="p.lictor",
        ir_hash=document_hash(document),
        inputs={"name": "ada"},
    )
    run = Run(RUN_ID, TASK_ID, MemoryJournal(), writer="w")
    ended = await run.execute(approved, bank.place(), at_once)
    assert ended.outcome is RunOutcome.EXECUTED, ended
    assert bank.done() == [["send", "ada"]]


NEVER_RUN = {
    "an argument of more bytes than a call takes": program(f"send('{'a' * (MAX_ARGUMENTS + 1)}')"),
    "an argument that is nested too deep": program(
        f"some({'[' * (MAX_DEPTH + 2)}{']' * (MAX_DEPTH + 2)})",
        "from tools.bank.trusted.effects import some",
    ),
}
MAY_RUN = {
    "an argument that is nested deep": program(
        f"some({'[' * (MAX_DEPTH + 1)}{']' * (MAX_DEPTH + 1)})",
        "from tools.bank.trusted.effects import some",
    ),
    "a large argument": program(f"send('{'a' * (MAX_ARGUMENTS // 2)}')"),
    "rows, a list and a map": program(
        "keep([1, 2], {'a': 1})\nfor each in accounts():\n    send(each.name)"
    ),
    "a helper that nobody calls": program("send('x')", "def other(x):\n    return x\n"),
    "modules of the subset": program(
        "send(str(math.floor(1.5)))", "import math\nimport re\nimport typing\n"
    ),
}


@pytest.mark.parametrize("source", NEVER_RUN.values(), ids=NEVER_RUN)
def test_what_the_runner_refuses_each_time_is_told_with_the_proof(bank: Bank, source: str) -> None:
    proof = prove(source, name="program.py", layer=bank.layer())
    assert proof.verdict is ProofVerdict.PROVED
    assert proof.cannot_run is not None
    assert why_not(bank, bank.approved(source)) == proof.cannot_run.code


@pytest.mark.parametrize("source", MAY_RUN.values(), ids=MAY_RUN)
async def test_what_is_told_to_be_runnable_runs(bank: Bank, source: str) -> None:
    proof = prove(source, name="program.py", layer=bank.layer())
    assert (proof.verdict, proof.cannot_run) == (ProofVerdict.PROVED, None)
    ended, _ = await execute(bank, source)
    assert ended.outcome is RunOutcome.EXECUTED, ended


async def test_a_run_that_somebody_else_claimed_does_nothing(bank: Bank) -> None:
    async def too_late() -> None:
        raise Fenced("it runs elsewhere")

    run = Run(RUN_ID, TASK_ID, MemoryJournal(), writer="w")
    with pytest.raises(Fenced):
        await run.execute(bank.approved(program("send('x')")), bank.place(), too_late)
    assert bank.done() == []


async def test_a_run_whose_journal_somebody_else_took_makes_no_further_effect(bank: Bank) -> None:
    class Taken(MemoryJournal):
        async def append(self, entry: Any) -> None:
            if len(self.entries) == 2:
                raise Fenced("another runner writes here")
            await super().append(entry)

    with pytest.raises(Fenced):
        await execute(bank, program("send('x')\nsend('y')"), journal=Taken())
    assert bank.done() == [["send", "x"]]
