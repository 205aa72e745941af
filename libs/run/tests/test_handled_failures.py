"""Calls that fail, and a program that handles that: the journal has the failure, and the run goes on."""

from __future__ import annotations

from pathlib import Path

import pytest
from diverging_child import give_document
from runs_on_disk import Bank, execute, program

from lictor_layer import NotDone
from lictor_layer.errors import PreconditionError
from lictor_prove.proof.prover import document_of
from lictor_run.trusted_calls import as_builtin
from lictor_schema.approvals.run import RunOutcome


@pytest.fixture
def bank(tmp_path: Path) -> Bank:
    return Bank.at(tmp_path)


async def test_a_run_goes_on_after_a_failure_that_its_program_handles(bank: Bank) -> None:
    source = program(
        """
        try:
            send("fail")
        except ConnectionError as error:
            send(f"handled {error}")
        book("table")
        """
    )
    ended, journal = await execute(bank, source)
    assert ended.outcome is RunOutcome.EXECUTED, ended
    assert [each[:2] for each in bank.done()] == [
        ["send", "fail"],
        ["send", "handled no route"],
        ["book", "table"],
    ]
    assert journal.kinds.count("effect_failed") == 1
    assert ended.effects == 3


async def test_what_failed_is_in_doubt_when_the_run_fails_later(bank: Bank) -> None:
    source = program(
        """
        try:
            send("fail")
        except Exception:
            pass
        pay("ada", 3)
        send("fail")
        """
    )
    ended, _ = await execute(bank, source)
    assert ended.outcome is RunOutcome.IN_DOUBT
    assert ended.left == (0, 2)
    assert [each[0] for each in bank.done()] == ["send", "pay", "send", "give_back"]


async def test_what_was_not_done_can_be_handled(bank: Bank) -> None:
    source = program(
        """
        try:
            send("refuse")
        except Exception:
            send("other")
        """
    )
    ended, _ = await execute(bank, source)
    assert ended.outcome is RunOutcome.EXECUTED, ended


async def test_a_class_that_no_handler_takes_ends_the_run(bank: Bank) -> None:
    source = program(
        """
        try:
            send("fail")
        except KeyError:
            pass
        send("other")
        """
    )
    ended, _ = await execute(bank, source)
    assert ended.outcome is RunOutcome.IN_DOUBT
    assert [each[1] for each in bank.done()] == ["fail"]


SWALLOWS = {
    "except": "try:\n    send('b')\nexcept:\n    pass\nsend('c')",
    "except BaseException": "try:\n    send('b')\nexcept BaseException:\n    pass\nsend('c')",
    "finally": "try:\n    send('b')\nfinally:\n    send('c')",
    "to the end": "try:\n    send('b')\nexcept:\n    pass",
    "again and again": (
        "for i in range(3):\n    try:\n        send('b')\n    except:\n        continue\n"
    ),
}


@pytest.mark.parametrize("name", SWALLOWS)
async def test_no_program_swallows_a_stop(
    name: str, bank: Bank, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The document is that of a program that sends something else: the run is stopped before its first call."""
    followed = document_of(
        program(SWALLOWS[name].replace("'b'", "'a'")), name="program.py", layer=bank.layer()
    )
    with monkeypatch.context() as patched:
        give_document(followed, bank.root.parent, patched)
        ended, journal = await execute(bank, program(SWALLOWS[name]))
    assert ended.outcome is RunOutcome.FAILED
    assert ended.reason is not None
    assert ended.reason.code == "run.diverged"
    assert not bank.done()
    assert "effect_started" not in journal.kinds


class _OfALayer(KeyError):
    def __str__(self) -> str:
        return "its own text"


def test_errors_of_a_layer_stay_on_their_side() -> None:
    found = as_builtin(_OfALayer(object()))
    assert type(found) is KeyError
    assert found.args == ("its own text",)
    assert type(as_builtin(StopIteration())) is Exception
    assert type(as_builtin(NotDone("x"))) is Exception
    assert str(as_builtin(OSError(2, "no file"))) == "[Errno 2] no file"
    for ends in (MemoryError(), RecursionError(), KeyboardInterrupt(), SystemExit()):
        assert as_builtin(ends) is None
    assert as_builtin(PreconditionError("x")) is None
