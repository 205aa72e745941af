"""A run that ends early takes back what it did, the last effect first; what it can't is named."""

from __future__ import annotations

from pathlib import Path

import pytest
from runs_on_disk import RUN_ID, TASK_ID, Bank, MemoryJournal, execute, program

from lictor_run.approved_run import Run
from lictor_schema.approvals.run import RunOutcome, RunReason, UndoFailed
from lictor_schema.core.ids import idempotency_key

LOST = RunReason(code="runner.lost", message="the runner is gone")


@pytest.fixture
def bank(tmp_path: Path) -> Bank:
    return Bank.at(tmp_path)


async def test_a_failing_effect_has_those_before_it_taken_back_in_reverse_order(bank: Bank) -> None:
    source = program("pay('ada', 1)\nbook('room')\npay('bob', 2)\nsend('refuse')\npay('eve', 3)")
    ended, journal = await execute(bank, source)
    assert (ended.outcome, ended.effects, ended.undone) == (RunOutcome.COMPENSATED, 4, 3)
    assert ended.reason is not None
    assert ended.reason.code == "effect.not_done"
    assert bank.done() == [
        ["pay", "ada", 1],
        ["book", "room"],
        ["pay", "bob", 2],
        ["send", "refuse"],
        ["give_back", "bob", 2, "receipt-bob-2"],
        ["cancel", "room", 7],
        ["give_back", "ada", 1, "receipt-ada-1"],
    ]
    assert journal.kinds[-7:-1] == ["undo_started", "undo_done"] * 3
    # Each undo has a key of its own.
    keys = [line[-1] for line in bank.lines()]
    assert keys[4:] == [idempotency_key(RUN_ID, call, undo=True) for call in (2, 1, 0)]
    assert len(set(keys)) == 7


async def test_an_effect_that_raised_is_in_doubt_and_those_before_it_are_taken_back(
    bank: Bank,
) -> None:
    ended, _ = await execute(bank, program("pay('ada', 1)\nsend('fail')"))
    assert (ended.outcome, ended.left) == (RunOutcome.IN_DOUBT, (1,))
    assert bank.done()[-1] == ["give_back", "ada", 1, "receipt-ada-1"]


async def test_an_effect_in_doubt_is_taken_back_when_its_undo_is_made_for_that(bank: Bank) -> None:
    ended, _ = await execute(bank, program("book('lost')"))
    assert ended.outcome is RunOutcome.COMPENSATED
    assert bank.done() == [["book", "lost"], ["cancel", "lost", None]]


async def test_an_effect_that_can_not_be_taken_back_is_named_and_the_others_are(bank: Bank) -> None:
    source = program("pay('ada', 1)\nsend('hello')\npay('bob', 2)\nsend('refuse')")
    ended, _ = await execute(bank, source)
    assert (ended.outcome, ended.left, ended.undone) == (RunOutcome.PARTIAL, (1,), 2)


async def test_an_undo_that_fails_is_named_and_does_not_stop_the_others(bank: Bank) -> None:
    source = program("pay('ada', 1)\npay('stuck', 2)\nsend('refuse')")
    ended, journal = await execute(bank, source)
    assert (ended.outcome, ended.left, ended.undone) == (RunOutcome.IN_DOUBT, (1,), 1)
    failed = next(each for each in journal.entries if isinstance(each, UndoFailed))
    assert "the bank is closed" in failed.reason.message
    assert bank.done()[-1] == ["give_back", "ada", 1, "receipt-ada-1"]


async def test_a_run_that_did_nothing_that_lasts_has_simply_failed(bank: Bank) -> None:
    ended, _ = await execute(bank, program("accounts()\nsend('refuse')"))
    assert (ended.outcome, ended.left) == (RunOutcome.FAILED, ())


# -- a runner that was killed ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kept", "outcome", "undone"),
    [
        (1, RunOutcome.IN_DOUBT, []),
        (2, RunOutcome.COMPENSATED, [["give_back", "ada", 1, "receipt-ada-1"]]),
        (
            3,
            RunOutcome.COMPENSATED,
            [["cancel", "room", None], ["give_back", "ada", 1, "receipt-ada-1"]],
        ),
        (
            4,
            RunOutcome.COMPENSATED,
            [["cancel", "room", 7], ["give_back", "ada", 1, "receipt-ada-1"]],
        ),
    ],
    ids=["pay began", "pay was done", "book began", "book was done"],
)
async def test_another_runner_takes_back_what_the_journal_of_a_killed_one_tells(
    bank: Bank, kept: int, outcome: RunOutcome, undone: list[list[object]]
) -> None:
    source = program("pay('ada', 1)\nbook('room')")
    _, journal = await execute(bank, source)
    bank.ledger.unlink()
    torn = MemoryJournal(journal.entries[:kept])
    approved = bank.approved(source)
    ended = await Run(RUN_ID, TASK_ID, torn, writer="w").compensate(
        approved.layer_hash, bank.place(), LOST
    )
    assert ended.outcome is outcome
    assert bank.done() == undone


async def test_an_undo_that_was_under_way_is_repeated_only_where_it_may_be(bank: Bank) -> None:
    source = program("pay('ada', 1)\nbook('room')\nsend('refuse')")
    _, journal = await execute(bank, source)
    layer_hash = bank.approved(source).layer_hash
    undos = [at for at, kind in enumerate(journal.kinds) if kind == "undo_started"]
    for at, outcome, again in ((0, RunOutcome.COMPENSATED, 2), (1, RunOutcome.IN_DOUBT, 0)):
        bank.ledger.unlink()
        torn = MemoryJournal(journal.entries[: undos[at] + 1])
        ended = await Run(RUN_ID, TASK_ID, torn, writer="w").compensate(
            layer_hash, bank.place(), LOST
        )
        assert (ended.outcome, len(bank.done()) if bank.ledger.exists() else 0) == (outcome, again)
        bank.ledger.touch()


async def test_nothing_is_taken_back_with_another_layer_than_the_one_that_did_it(
    bank: Bank,
) -> None:
    source = program("pay('ada', 1)\nsend('refuse')")
    _, journal = await execute(bank, source)
    layer_hash = bank.approved(source).layer_hash
    torn = MemoryJournal(journal.entries[:2])
    bank.ledger.unlink()
    bank.module.write_text(bank.module.read_text() + "# changed\n")
    ended = await Run(RUN_ID, TASK_ID, torn, writer="w").compensate(layer_hash, bank.place(), LOST)
    assert (ended.outcome, ended.left) == (RunOutcome.PARTIAL, (0,))
    assert ended.reason is not None
    assert "can't be taken back" in ended.reason.message
    assert bank.done() == []
