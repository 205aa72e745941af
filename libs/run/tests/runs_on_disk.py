"""A layer that writes everything it does into a file, programs for it, and journals in memory: for tests of runs."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from textwrap import dedent
from typing import Any

from lictor_ir.json.document import document_hash
from lictor_prove.layer_model import Layer
from lictor_prove.layers import discover_trusted_roots, load_layer
from lictor_prove.proof.prover import document_of
from lictor_prove.this_python import this_python
from lictor_run.approved_run import Run
from lictor_run.child_orders import Approved, LayerPlace
from lictor_run.errors import NotStarted, RunStopped
from lictor_run.run_limits import RunLimits
from lictor_run.stale_approval import load_layer_again, read_again
from lictor_schema.approvals.run import AnyRunEntry, RunFinished
from lictor_schema.proofs.program import program_hash

RUN_ID = "00000000-0000-4000-8000-00000000000a"
TASK_ID = "task-1"

EFFECTS = """
    import json
    import os
    import time
    from pathlib import Path

    from lictor_layer import (
        NotDone, Row, compensated_by, current_call, ensures, nothing_to_undo, requires, trusted
    )

    LEDGER = Path({ledger!r})


    class Account(Row):
        name: str
        cents: int


    def note(*what):
        call = current_call()
        line = json.dumps([*what, None if call is None else call.idempotency_key])
        with LEDGER.open("a") as file:
            file.write(line + "\\n")


    def give_back(account: str, cents: int, result: str) -> None:
        note("give_back", account, cents, result)
        if account == "stuck":
            raise OSError("the bank is closed")


    @compensated_by(give_back)
    @trusted("net")
    def pay(account: str, cents: int) -> str:
        note("pay", account, cents)
        return f"receipt-{{account}}-{{cents}}"


    def cancel(name: str, result: object) -> None:
        note("cancel", name, result)


    @compensated_by(cancel, when_in_doubt=True)
    @trusted
    def book(name: str) -> int:
        note("book", name)
        if name == "lost":
            raise ConnectionError("no answer")
        return 7


    @nothing_to_undo
    @trusted("read")
    def accounts() -> list[Account]:
        return [Account(name="ada", cents=5), Account(name="bob", cents=7)]


    @trusted("net")
    def send(text: str) -> None:
        note("send", text)
        if text == "fail":
            raise ConnectionError("no route")
        if text == "refuse":
            raise NotDone("the address is unknown")


    @trusted
    def keep(items: list[int], more: dict[str, int]) -> None:
        items.append(99)
        more.clear()
        note("keep", items, more)


    @nothing_to_undo
    @trusted
    def shared() -> list[int]:
        return SHARED

    SHARED = [1, 2, 3]

    @nothing_to_undo
    @trusted
    def change_shared() -> None:
        SHARED.append(4)


    @trusted
    def wrong() -> int:
        return True

    @ensures(lambda result: result >= 0)
    @trusted
    def negative() -> int:
        return -1

    @requires(lambda cents: cents > 0, message="cents is positive")
    @trusted
    def charge(cents: int) -> None:
        note("charge", cents)

    @trusted
    def sleep_long() -> None:
        note("sleep")
        time.sleep(600)

    @trusted
    def sleep_a_little() -> None:
        time.sleep(0.5)
        note("slept")

    @trusted
    def spin() -> None:
        while True:
            pass

    @trusted
    def exit_now() -> None:
        os._exit(3)

    @trusted
    def flood() -> None:
        for _ in range(4000):
            print("x" * 1000)

    @trusted
    def grow() -> int:
        return len(bytearray(4 * 1024 * 1024 * 1024))

    @trusted
    def spawn() -> int:
        pid = os.fork()
        if pid == 0:
            time.sleep(600)
            os._exit(0)
        note("spawned", pid)
        return pid

    @nothing_to_undo
    @trusted
    def surroundings() -> list[str]:
        return [*sorted(os.environ), os.getcwd(), str(os.path.exists("/proc/self/fd/0"))]

    @trusted
    def some(value: object) -> None:
        note("some")

    @trusted
    def post(text: str, loud: bool = False) -> None:
        note("post", text, loud)

    @nothing_to_undo
    @trusted
    def rate(value: float) -> float:
        return value
"""

HEAD = """
from tools.bank.trusted.effects import (
    accounts, book, change_shared, charge, exit_now, flood, grow, keep, negative, pay, post, rate,
    send, shared, sleep_a_little, sleep_long, spawn, spin, surroundings, wrong,
)
"""


def program(body: str, more: str = "") -> str:
    """A program with this body."""
    lines = dedent(body).strip("\n").splitlines()
    inside = "\n".join(f"    {line}" for line in lines)
    return f"{HEAD}{dedent(more)}\n\ndef main() -> None:\n{inside}\n"


@dataclass
class Bank:
    """A layer on disk, and what it did."""

    root: Path
    ledger: Path

    @classmethod
    def at(cls, base: Path, effects: str = EFFECTS) -> Bank:
        ledger = base / "ledger.jsonl"
        module = base / "layer" / "tools" / "bank" / "trusted" / "effects.py"
        module.parent.mkdir(parents=True)
        module.write_text(dedent(effects).format(ledger=str(ledger)))
        return cls(base / "layer", ledger)

    @property
    def module(self) -> Path:
        return self.root / "tools" / "bank" / "trusted" / "effects.py"

    def done(self) -> list[list[Any]]:
        """What was done, without the keys."""
        return [line[:-1] for line in self.lines()]

    def lines(self) -> list[list[Any]]:
        if not self.ledger.exists():
            return []
        return [json.loads(line) for line in self.ledger.read_text().splitlines()]

    def layer(self) -> Layer:
        """As the prover loads it."""
        return load_layer(discover_trusted_roots([self.root]), [self.root])

    def approved(self, source: str, **other: Any) -> Approved:
        """What an approval of the program binds."""
        layer = self.layer()
        document = document_of(source, name="program.py", layer=layer)
        given = {
            "run_id": RUN_ID,
            "program": source,
            "language": "python",
            "source_name": "program.py",
            "target": "main",
            "program_hash": program_hash(source),
            "ir_hash": document_hash(document),
            "layer_hash": layer.hash,
            "guarantees": tuple(
                (each.name, bool(each.required_by)) for each in document.guarantees
            ),
            "python": this_python(),
        }
        return Approved(**{**given, **other})

    def place(self, **limits: Any) -> LayerPlace:
        return LayerPlace(str(self.root), RunLimits(**{"wall_s": 20.0, "cpu_s": 10, **limits}))


@dataclass
class MemoryJournal:
    """A journal that forgets everything with the test."""

    entries: list[AnyRunEntry] = field(default_factory=list)

    async def append(self, entry: AnyRunEntry) -> None:
        self.entries.append(entry)

    @property
    def kinds(self) -> list[str]:
        return [entry.kind for entry in self.entries]


async def execute(
    bank: Bank,
    source: str,
    *,
    journal: MemoryJournal | None = None,
    inputs: Mapping[str, Any] | None = None,
    **limits: Any,
) -> tuple[RunFinished, MemoryJournal]:
    """Run a program that is approved as it stands, with these values."""
    kept = journal or MemoryJournal()
    run = Run(RUN_ID, TASK_ID, kept, writer="w")
    return await run.execute(
        bank.approved(source, inputs=inputs), bank.place(**limits), at_once
    ), kept


async def at_once() -> None:
    """Nobody else wants to run it."""


async def never() -> None:
    """What differs from what was approved is not even claimed."""
    raise AssertionError("it is claimed")


def why_not(bank: Bank, approved: Approved) -> str:
    """The code of the reason why it does not begin, found in this process."""
    try:
        read_again(approved, load_layer_again(str(bank.root), approved.layer_hash))
    except RunStopped as stopped:
        return stopped.code
    raise AssertionError("it would run")


async def refused(bank: Bank, approved: Approved) -> str:
    """The code of the reason why it does not begin."""
    journal = MemoryJournal()
    run = Run(RUN_ID, TASK_ID, journal, writer="w")
    try:
        await run.execute(approved, bank.place(), never)
    except NotStarted as error:
        assert journal.entries == []
        assert bank.done() == []
        return error.reason.code
    raise AssertionError("it ran")


def kinds(entries: Sequence[AnyRunEntry]) -> list[str]:
    return [entry.kind for entry in entries]
