"""A program that does something else than its document says is stopped before it does; so is one that is lost sight of,
and one that is about to break a guarantee.

Each runs in the runner's own child process. Where a defect of the prover is played, the child is given the document of
another program.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from diverging_child import give_document
from runs_on_disk import Bank, MemoryJournal, execute, program

from lictor_ir.document import Document
from lictor_ir.evaluation.possible_run import MAX_STEPS
from lictor_ir.evaluation.term_values import MAX_CHARACTERS
from lictor_ir.text.document_reader import read
from lictor_layer.rows import row_class
from lictor_prove.proof.prover import document_of
from lictor_prove.proof.runnability import MAX_ARGUMENTS, MAX_PARTS
from lictor_run.errors import RunStopped
from lictor_run.lockstep import Lockstep, ir_value
from lictor_run.trusted_calls import MAX_RESULT
from lictor_schema.approvals.run import RunFinished, RunOutcome

HEAD = """effect-ir v1
program "program.py" target main

schema Account(name: str, cents: int)
trusted accounts() -> list<row<Account>>
trusted pay(account: str, cents: int) -> str
trusted book(name: str) -> int
trusted send(text: str) -> none
trusted post(text: str, loud: bool) -> none
trusted shared() -> list<int>
trusted rate(value: float) -> float
fluent seen[str]: bool = false
"""


@pytest.fixture
def bank(tmp_path: Path) -> Bank:
    return Bank.at(tmp_path)


def _document(body: str) -> Document:
    return read(f"{HEAD}\n{body}\n")


async def _run(
    bank: Bank,
    source: str,
    followed: Document | str,
    monkeypatch: pytest.MonkeyPatch,
    inputs: Mapping[str, Any] | None = None,
) -> tuple[RunFinished, MemoryJournal]:
    """Runs a program beside the document, or beside that of another program."""
    if isinstance(followed, str):
        followed = document_of(followed, name="program.py", layer=bank.layer())
    with monkeypatch.context() as patched:
        give_document(followed, bank.root.parent, patched)
        return await execute(bank, source, inputs=inputs)


def _code(ended: RunFinished) -> str:
    assert ended.reason is not None
    return ended.reason.code


# -- what once switched the comparison off ---------------------------------------------------------------

REPLACED = """
receipt = pay("x" * 20_000, 1)
text = receipt.replace("-", receipt[:5]).replace("\\n", receipt)
send(text)
book("{}")
"""


async def test_a_replace_whose_size_was_over_estimated_is_followed(bank: Bank) -> None:
    ended, _ = await execute(bank, program(REPLACED.format("table")))
    assert ended.outcome is RunOutcome.EXECUTED, ended
    assert bank.done()[-1] == ["book", "table"]


async def test_and_what_comes_after_it_is_compared(
    bank: Bank, monkeypatch: pytest.MonkeyPatch
) -> None:
    proved = program(REPLACED.format("table"))
    ended, journal = await _run(bank, program(REPLACED.format("flight")), proved, monkeypatch)
    assert _code(ended) == "run.diverged"
    assert journal.kinds.count("effect_started") == 2
    assert not any(each[0] == "book" for each in bank.done())


async def test_a_program_of_ordinary_size_is_not_stopped_by_limits_of_ours(bank: Bank) -> None:
    assert min(MAX_RESULT, MAX_ARGUMENTS) * 16 < MAX_CHARACTERS
    assert MAX_PARTS < MAX_STEPS
    source = program(
        """
        receipt = pay("x" * 70_000, 1)
        text = receipt.replace("x", "yy") + receipt.replace("-", "+")
        send(text)
        send(text[:10] + text.replace("y", ""))
        """
    )
    ended, _ = await execute(bank, source)
    assert ended.outcome is RunOutcome.EXECUTED, ended


OPEN = {
    "an item outside a list": 'effect c1: shared()\neffect c2: send(text = "x") when 3 < result(c1)[7]',
    "a call that did not happen": (
        'effect c1: shared()\neffect c2: book(name = "n") when len(result(c1)) == 9\n'
        'effect c3: send(text = "x") when 0 < result(c2)'
    ),
    "identity": (
        'effect c1: shared()\neffect c2: send(text = "x")'
        " when [(if len(result(c1)) == 3 then nan else 0.0)] == [nan]"
    ),
    "a loop without end": (
        'effect c1: shared()\neffect c2: book(name = "n") when len(result(c1)) == 9\n'
        'effect c3: send(text = "x") for i in result(c2)'
    ),
}


@pytest.mark.parametrize("body", OPEN.values(), ids=OPEN)
async def test_what_the_document_leaves_open_stops_the_run(
    bank: Bank, monkeypatch: pytest.MonkeyPatch, body: str
) -> None:
    for rest in ("send('x')", "send('y')", ""):
        source = program(f"shared()\n{rest}")
        ended, journal = await _run(bank, source, _document(body), monkeypatch)
        assert _code(ended) == "run.diverged"
        assert ended.reason is not None
        assert "left open" in ended.reason.message
        assert journal.kinds.count("effect_started") == 1
    assert bank.done() == []


async def test_an_answer_that_the_document_has_no_type_for_stops_the_run(
    bank: Bank, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = read(
        HEAD.replace("shared() -> list<int>", "shared() -> list<str>")
        + '\neffect c1: shared()\neffect c2: send(text = "x")\n'
    )
    ended, _ = await _run(bank, program("shared()\nsend('x')"), other, monkeypatch)
    assert _code(ended) == "run.diverged"
    assert bank.done() == []


async def test_a_result_that_breaks_what_the_proof_relied_on_stops_the_run(
    bank: Bank, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Conditions of the layer may mean something else by now; the document says what they meant."""
    for most, done in ((2, []), (3, [["send", "x"]])):
        promised = _document(
            f'effect c1: shared()\neffect c2: send(text = "x")\nassume c1 : len(result(c1)) <= {most} says "few"'
        )
        ended, _ = await _run(bank, program("shared()\nsend('x')"), promised, monkeypatch)
        assert bank.done() == done
    assert ended.outcome is RunOutcome.EXECUTED


# -- arguments -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("source", "proved"),
    [
        ("post('a', loud=True)", "post('a')"),
        ("post('a', False)", "post('a')"),
        ("post('a')", "post('a', False)"),
        ("post('a', True)", "post('a', False)"),
        ("rate(-0.0)", "rate(0.0)"),
        ("rate(float('nan'))", "rate(0.0)"),
        ("send('a ')", "send('a')"),
        ("send('\u00e9')", "send('e\u0301')"),
    ],
)
async def test_another_argument_is_not_passed(
    bank: Bank, monkeypatch: pytest.MonkeyPatch, source: str, proved: str
) -> None:
    ended, journal = await _run(bank, program(source), program(proved), monkeypatch)
    assert _code(ended) == "run.diverged"
    assert journal.kinds == ["run_finished"]
    assert bank.done() == []


async def test_an_argument_that_is_left_to_its_default_may_be(bank: Bank) -> None:
    ended, _ = await execute(bank, program("post('a')\npost('b', loud=True)"))
    assert ended.outcome is RunOutcome.EXECUTED, ended
    assert bank.done() == [["post", "a", False], ["post", "b", True]]


# -- what a document declares unknown --------------------------------------------------------------------

UNKNOWN = """
effect c1: shared()
unknown u1: str of "c1" says "nobody models it"
unknown u2: bool of "c1" says "nobody models it"
effect c2: send(text = result(u1))
effect c3: book(name = "yes") when result(u2)
effect c4: book(name = "no") when not result(u2)
"""


@pytest.mark.parametrize("name", ["yes", "no"])
async def test_what_is_declared_unknown_is_admitted(
    bank: Bank, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    source = program(f"shared()\nsend('whatever')\nbook('{name}')")
    ended, _ = await _run(bank, source, _document(UNKNOWN), monkeypatch)
    assert ended.outcome is RunOutcome.EXECUTED, ended
    assert bank.done() == [["send", "whatever"], ["book", name]]


@pytest.mark.parametrize(
    ("rest", "done"),
    [
        ("book('yes')", []),
        ("send('a')\nsend('a')", [["send", "a"]]),
        ("send('a')\nbook('maybe')", [["send", "a"]]),
        ("send('a')", [["send", "a"]]),
    ],
)
async def test_and_nothing_besides(
    bank: Bank, monkeypatch: pytest.MonkeyPatch, rest: str, done: list[list[str]]
) -> None:
    source = program(f"shared()\n{rest}")
    ended, _ = await _run(bank, source, _document(UNKNOWN), monkeypatch)
    assert _code(ended) == "run.diverged"
    assert bank.done() == done


async def test_a_branch_that_was_taken_is_not_taken_back(
    bank: Bank, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = program("shared()\nsend('a')\nbook('yes')\nbook('no')")
    ended, _ = await _run(bank, source, _document(UNKNOWN), monkeypatch)
    assert _code(ended) == "run.diverged"
    assert ["book", "no"] not in bank.done()


# -- guarantees ------------------------------------------------------------------------------------------
#
# What a false proof looks like: the document says exactly what the program does, and that breaks the guarantee.

SENT = 'unknown u1: str says "x"\neffect c1: pay(account = result(u1), cents = 1)'
FALSE_GUARANTEE = 'guarantee "only" : forall e in pay : e.account == "ann"'
OPEN_GUARANTEE = 'guarantee "odd" : forall e in pay : [nan] == [nan]'


@pytest.mark.parametrize(
    ("stated", "code"),
    [
        (FALSE_GUARANTEE, "guarantee.broken"),
        (OPEN_GUARANTEE, "guarantee.open"),
        # What is false is not hidden behind what is open, or behind what no run shows.
        ('guarantee "g" : all {forall e in pay : [nan] == [nan]; no e in pay}', "guarantee.broken"),
        (
            'guarantee "g" : all {finally s in seen : not s.value or s.key < "x"; no e in pay}',
            "guarantee.broken",
        ),
    ],
)
async def test_a_call_with_which_a_guarantee_is_not_seen_to_hold_is_not_made(
    bank: Bank, monkeypatch: pytest.MonkeyPatch, stated: str, code: str
) -> None:
    document = _document(f"{SENT}\n{stated}")
    ended, journal = await _run(bank, program("pay('bob', 1)"), document, monkeypatch)
    assert _code(ended) == code
    assert ended.reason is not None
    assert "pay is not called" in ended.reason.message
    assert journal.kinds == ["run_finished"]
    assert ended.outcome is RunOutcome.FAILED
    assert bank.done() == []


TRANSFERS = program(
    """
    for account in accounts():
        pay(account.name, account.cents)
    pay("ada", 1)
    """
)


@pytest.mark.parametrize(
    ("stated", "made"),
    [
        ("forall e in pay : e.cents <= 5", 1),
        ("no e in pay where (e.cents == 1)", 2),
        ("distinct e in pay : e.account", 2),
        ("(count e in pay) <= 1", 1),
        ("first e in pay where (e.cents == 7) before e in pay", 0),
        ("never e in pay after e in pay where (6 < e.cents)", 2),
        ("all {(count e in pay) <= 3; forall e in pay : from(e.account: Account.name)}", 2),
    ],
)
async def test_a_false_proof_is_stopped_before_the_call_that_shows_it(
    bank: Bank, monkeypatch: pytest.MonkeyPatch, stated: str, made: int
) -> None:
    proved = document_of(TRANSFERS, name="program.py", layer=bank.layer())
    guarantees = _document(f'effect c1: pay(account = "x", cents = 1)\nguarantee "g" : {stated}')
    forged = replace(proved, guarantees=guarantees.guarantees)
    ended, journal = await _run(bank, TRANSFERS, forged, monkeypatch)
    assert _code(ended) == "guarantee.broken"
    # Accounts are read, then so many are paid, and those are given back.
    assert journal.kinds.count("effect_started") == 1 + made
    assert [each[0] for each in bank.done()] == ["pay"] * made + ["give_back"] * made


async def test_a_sum_is_held_before_each_call_if_calls_can_only_add_to_it(
    bank: Bank, monkeypatch: pytest.MonkeyPatch
) -> None:
    stated = _document(
        'effect c1: pay(account = "x", cents = 1)\nguarantee "cap" : (sum e in pay : e.cents) <= 9'
    )
    body = "for account in accounts():\n    pay(account.name, {})"
    for cents, made in (("account.cents", 2), ("abs(account.cents)", 1)):
        source = program(body.format(cents))
        proved = document_of(source, name="program.py", layer=bank.layer())
        forged = replace(proved, guarantees=stated.guarantees)
        already = len(bank.done())
        ended, _ = await _run(bank, source, forged, monkeypatch)
        assert _code(ended) == "guarantee.broken"
        assert ended.outcome is RunOutcome.COMPENSATED
        assert [each[0] for each in bank.done()[already:]] == ["pay"] * made + ["give_back"] * made


@pytest.mark.parametrize("stated", ["(count e in pay) > 1", "finally s in seen : s.value"])
async def test_what_counts_at_the_end_takes_the_run_back(
    bank: Bank, monkeypatch: pytest.MonkeyPatch, stated: str
) -> None:
    document = _document(f'{SENT}\nguarantee "g" : {stated}')
    ended, _ = await _run(bank, program("pay('bob', 1)"), document, monkeypatch)
    assert _code(ended) == "guarantee.broken"
    assert ended.outcome is RunOutcome.COMPENSATED
    assert [each[0] for each in bank.done()] == ["pay", "give_back"]


async def test_keys_that_no_call_set_are_left_to_the_proof(
    bank: Bank, monkeypatch: pytest.MonkeyPatch
) -> None:
    stated = 'guarantee "g" : finally s in seen : not s.value or s.key < "x"'
    ended, _ = await _run(
        bank, program("pay('bob', 1)"), _document(f"{SENT}\n{stated}"), monkeypatch
    )
    assert ended.outcome is RunOutcome.EXECUTED, ended


def test_rows_are_known_to_documents_wherever_they_stand() -> None:
    row = row_class("Account", {"name": str, "cents": int})(name="a", cents=1)
    plain = ir_value(row)
    assert ir_value([row]) == [plain]
    assert ir_value((row, 1)) == (plain, 1)
    assert ir_value({"a": row}) == {"a": plain}


# -- values ----------------------------------------------------------------------------------------------

PAYING = program("if cents <= 100:\n    pay(name, cents)").replace(
    "def main()", "def main(name: str, cents: int)"
)
FIVE = {"name": "ada", "cents": 5}


async def test_a_run_follows_its_document_with_the_values_that_it_is_given(
    bank: Bank, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended, _ = await _run(bank, PAYING, PAYING, monkeypatch, FIVE)
    assert ended.outcome is RunOutcome.EXECUTED, ended
    assert bank.done() == [["pay", "ada", 5]]


@pytest.mark.parametrize(
    ("now", "before"),
    [("pay(name, cents)", "pay(name, cents + 1)"), ("<= 100", "<= 4"), ("pay(name", "pay('bob'")],
    ids=["another amount", "no call", "another account"],
)
async def test_a_run_that_does_something_else_with_these_values_is_stopped_before(
    bank: Bank, monkeypatch: pytest.MonkeyPatch, now: str, before: str
) -> None:
    ended, _ = await _run(bank, PAYING, PAYING.replace(now, before), monkeypatch, FIVE)
    assert (ended.outcome, _code(ended)) == (RunOutcome.FAILED, "run.diverged")
    assert bank.done() == []


@pytest.mark.parametrize("inputs", [{}, {"name": "ada"}, {"name": "ada", "cents": "5"}])
def test_a_document_is_not_followed_without_its_values(bank: Bank, inputs: dict[str, Any]) -> None:
    document = document_of(PAYING, name="program.py", layer=bank.layer())
    with pytest.raises(RunStopped, match=r"is not given|must be int"):
        Lockstep(document, inputs)
