"""Witnesses keep their promises in runs, without any solver: wherever a run comes to a call, returning them goes on."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping
from itertools import product
from typing import Any

import pytest

from libs.prove.tests.random_documents import SETTINGS, Writer, concrete
from lictor_ir.document import Assumption, Atom, Document
from lictor_ir.errors import UnspecifiedError
from lictor_ir.evaluation import Environment, run
from lictor_ir.evaluation.term_values import Evaluation
from lictor_ir.goals import Witness
from lictor_ir.text import read
from lictor_ir.values import Value
from lictor_prove.proof.prover import prove_document
from lictor_schema.proofs.proof import ProofVerdict


class _StuckError(Exception):
    """A call has nothing to return that keeps its promises, and no witness was found for it either."""


class _Run:
    """A run whose calls return something random, and their witness where that would break a promise."""

    def __init__(
        self, document: Document, witnesses: Mapping[str, Witness], chance: random.Random
    ) -> None:
        self._atoms = {atom.id: atom for atom in document.atoms}
        self._promises: dict[str, list[Assumption]] = {}
        for each in document.assumptions:
            self._promises.setdefault(each.call, []).append(each)
        self._document = document
        self._witnesses = witnesses
        self.inputs, self._random = concrete(chance)
        self._known: dict[tuple[str, tuple[int, ...]], Value] = {}
        self.tally = Counter[str]()

    def answer(
        self, call: str, indices: tuple[int, ...], effect: str, arguments: Mapping[str, Value]
    ) -> Value:
        if (call, indices) in self._known:
            return self._known[call, indices]
        self._known[call, indices] = self._random(call, indices, effect, arguments)
        if not self._kept(call, indices):
            witness = self._witnesses.get(call)
            if witness is None:
                raise _StuckError
            del self._known[call, indices]
            self._known[call, indices] = _returned(witness, self._at(self._atoms[call], indices))
            assert self._kept(call, indices), (self._document, call, indices, witness)
            self.tally["by the witness"] += 1
        return self._known[call, indices]

    def _at(self, atom: Atom, indices: tuple[int, ...]) -> Evaluation:
        names = [binder.index.name for binder in atom.binders]
        return Evaluation(
            Environment({**self.inputs, **dict(zip(names, indices, strict=True))}, self._result)
        )

    def _result(self, call: str, indices: tuple[int, ...]) -> Value:
        if (call, indices) not in self._known:
            raise UnspecifiedError(f"{call} did not happen")
        return self._known[call, indices]

    def _kept(self, call: str, indices: tuple[int, ...]) -> bool:
        atom = self._atoms[call]
        here = self._at(atom, indices).environment
        for promise in self._promises.get(call, []):
            extra = promise.binders[len(atom.binders) :]
            sizes = [range(len(Evaluation(here).value(binder.over))) for binder in extra]
            for chosen in product(*sizes):
                there = here
                for binder, at in zip(extra, chosen, strict=True):
                    there = there.extended(binder.index.name, at)
                evaluation = Evaluation(there)
                if evaluation.holds(promise.guard) and not evaluation.holds(promise.formula):
                    return False
        return True


def _returned(witness: Witness, here: Evaluation) -> Any:
    value = here.value(witness.value)
    return value if witness.length is None else [value] * here.value(witness.length)


def test_a_call_that_returns_its_witness_keeps_its_promises_in_every_run() -> None:
    tally = Counter[str]()
    for seed in range(60):
        document = Writer(seed).document()
        witnesses = prove_document(document, SETTINGS).witnesses
        chance = random.Random(seed)
        for _ in range(20):
            going = _Run(document, witnesses, chance)
            try:
                run(document, going.inputs, going.answer)
                tally["to the end"] += 1
            except _StuckError:
                tally["stuck"] += 1
            except UnspecifiedError:
                tally["open"] += 1
            tally += going.tally
    assert tally["by the witness"] > 100, tally
    assert tally["to the end"] > 100, tally


DOCUMENT = """\
effect-ir v1
program "p.py" target main
enum Mood(calm, cross)
schema User(name: str, n: int, mood: enum<Mood>)
trusted user(name: str) -> row<User>
trusted users(n: int) -> list<row<User>>
trusted mood() -> enum<Mood>
trusted whatever(n: int) -> any
trusted numbers() -> list<int>
trusted one(n: int) -> int
trusted act(name: str) -> none
input x: int
input t: str
{}
guarantee "none" : anything
"""

KEPT = {
    "a row": """
effect c1: user(name = t)
assume c1 : result(c1).name == t and result(c1).n == 7
""",
    "rows of a length, each as promised": """
effect c1: users(n = x) when 0 <= x
assume c1 when 0 <= x : len(result(c1)) == x
assume c1 for i in result(c1) when 0 <= x : x < result(c1)[i].n and result(c1)[i].name == t
""",
    "an enum": """
effect c1: mood()
assume c1 : not result(c1) == Mood::calm
""",
    "a value of any type": """
effect c1: whatever(n = x)
assume c1 : result(c1) == 5
""",
    "a list with certain items": """
effect c1: numbers()
assume c1 : result(c1) == [3, 4]
""",
    "what is next to another result, in loops": """
effect c1: numbers()
effect c2: one(n = result(c1)[i]) for i in result(c1)
effect c3: one(n = result(c2, i)) for i in result(c1)
assume c2 for i in result(c1) : result(c1)[i] < result(c2, i)
assume c3 for i in result(c1) : result(c2, i) - result(c3, i) == 2 * x
""",
    "a call that is made where nothing is promised": """
effect c1: one(n = x)
assume c1 when x < 0 : result(c1) < x and 0 < 1
""",
}
NOT_KEPT = {
    "rows of a length that may be negative": """
effect c1: users(n = x)
assume c1 : len(result(c1)) == x
""",
    "no item can be right": """
effect c1: users(n = x)
assume c1 : len(result(c1)) == 2
assume c1 for i in result(c1) : x < result(c1)[i].n and result(c1)[i].n < x
""",
    "promises that need two results at once": """
effect c1: one(n = x)
assume c1 : result(c1) < 3
assume c1 : 0 < x and 2 < result(c1) or x < 1
""",
    "each call alone could, the second can't after the first": """
effect c1: one(n = x)
effect c2: one(n = x)
assume c1 : result(c1) < x
assume c2 : result(c2) == x and result(c2) == result(c1)
""",
    "a guard that the promise does not have": """
effect c1: one(n = x) when x < 0
assume c1 : result(c1) < x and 0 < x
""",
    "an iteration in which it is not possible": """
effect c1: numbers()
effect c2: one(n = i) for i in result(c1)
assume c2 for i in result(c1) : result(c2, i) < i and 0 <= result(c2, i)
""",
    "a promise that reads no result": """
effect c1: one(n = x)
assume c1 : 0 < x
""",
}


@pytest.mark.parametrize("body", KEPT.values(), ids=KEPT)
def test_a_witness_is_found(body: str) -> None:
    proof = prove_document(read(DOCUMENT.format(body.strip())), SETTINGS)
    assert proof.verdict is ProofVerdict.PROVED, proof.reasons


@pytest.mark.parametrize("body", NOT_KEPT.values(), ids=NOT_KEPT)
def test_nothing_is_proved_where_there_is_none(body: str) -> None:
    proof = prove_document(read(DOCUMENT.format(body.strip())), SETTINGS)
    assert proof.verdict is ProofVerdict.UNKNOWN
    assert {reason.code for reason in proof.reasons} == {"vacuous"}
