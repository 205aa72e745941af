"""Promises of trusted calls that no result can keep prove nothing: alone, in turn, in loops, through values.

Each program charges a victim behind promises that exclude each other, and states that it charges nobody. Beside each
stands an honest one with the same calls, whose promises can be kept in every run: that one is proved, at level c.
"""

from __future__ import annotations

import pytest

from lictor_ir.certificate.check import check
from lictor_ir.certificate.format import FrontEnd, Level
from lictor_ir.goals import GoalKind
from lictor_prove.certificate.creation import certified
from lictor_prove.layer_model import Layer
from lictor_prove.layers import load_layer
from lictor_prove.proof.prover import prove
from lictor_prove.proof.result import Proof
from lictor_schema.proofs.proof import ProofVerdict

EFFECTS = """\
import re
from lictor_layer import Row, ensures, fluent, requires, sets, trusted


class Account(Row):
    owner: str
    n: int


Locked = fluent("locked", key=str, value=bool, initial=True)


@trusted
def balance(owner: str) -> int: ...


@ensures(lambda result: len(result) <= 9)
@trusted
def accounts() -> list[Account]: ...


@ensures(lambda n, result: 0 <= result and result < n, message="an index below n")
@trusted
def pick(n: int) -> int: ...


@trusted
def charge(who: str, amount: int) -> None: ...


@sets(lambda door: Locked.set(door, False))
@trusted
def unlock(door: str) -> None: ...


@ensures(lambda n, result: len(result) == n)
@trusted
def code(n: int) -> str: ...


@requires(lambda n: n >= 0)
@ensures(lambda n, result: len(result) == n)
@trusted
def take(n: int) -> list[str]: ...


@requires(lambda low, high: low <= high)
@ensures(lambda low, high, result: low <= result and result <= high)
@trusted
def between(low: int, high: int) -> int: ...


@ensures(lambda low, high, result: low < result and result < high)
@trusted
def inside(low: int, high: int) -> int: ...


@ensures(lambda result: result >= 0)
@ensures(lambda a, result: result == a or result == 0 - a)
@trusted
def magnitude(a: int) -> int: ...


@ensures(lambda start, result: result.startswith(start) and result.endswith(".txt"))
@trusted
def named(start: str) -> str: ...


@ensures(lambda a, b, result: result.startswith(a) and result.startswith(b))
@trusted
def starts_with_both(a: str, b: str) -> str: ...


@ensures(lambda x, result: result == (x > 3))
@trusted
def big(x: int) -> bool: ...


@ensures(lambda x, result: (result or x > 0) and not (result and x > 0) and not (result and x < -5))
@trusted
def odd_flag(x: int) -> bool: ...


@ensures(lambda x, result: x in result and len(result) <= 5)
@trusted
def holding(x: str) -> list[str]: ...


@ensures(lambda result: result > 0.5 and result < 0.75)
@trusted
def share() -> float: ...


@ensures(lambda x, result: result > x)
@trusted
def more(x: float) -> float: ...


@ensures(lambda result: re.fullmatch("[A-Z]{2}-[0-9]{3}", result) is not None)
@trusted
def ticket() -> str: ...


@ensures(lambda result: result == 1 or result == 2)
@trusted
def one_or_two() -> int: ...


@ensures(lambda x, result: result > x and result < 3)
@trusted
def up_to_three(x: int) -> int: ...
"""
CONTRACTS = """\
from lictor_layer import Spec, contract, effect
from .effects import Locked, charge


@contract
def none() -> Spec:
    return effect(charge).empty()


@contract
def locked_up() -> Spec:
    return Locked.final.all(lambda s: s.value == True)
"""
HEAD = """\
import lictor_layer
from tools.bank.trusted import contracts as c
from tools.bank.trusted.effects import (
    balance,
    accounts,
    pick,
    charge,
    unlock,
    code,
    take,
    between,
    inside,
    magnitude,
    named,
    starts_with_both,
    big,
    odd_flag,
    holding,
    share,
    more,
    ticket,
    one_or_two,
    up_to_three,
)


@lictor_layer.guarantee(c.none())
def main() -> None:
"""


@pytest.fixture(scope="module")
def layer(tmp_path_factory: pytest.TempPathFactory) -> Layer:
    base = tmp_path_factory.mktemp("layers")
    root = base / "tools" / "bank" / "trusted"
    root.mkdir(parents=True)
    (root / "effects.py").write_text(EFFECTS, "utf-8")
    (root / "contracts.py").write_text(CONTRACTS, "utf-8")
    return load_layer([root], [base])


def proof_of(layer: Layer, body: str, head: str = HEAD) -> Proof:
    lines = "".join(f"    {line}\n" for line in body.strip().splitlines())
    return certified(prove(head + lines, name="p.py", layer=layer), FrontEnd.PYTHON)


EXCLUDING = {
    "the program of the issue": """
n = balance("a")
i = pick(n)
j = pick(0 - n)
if i >= 0 and j >= 0:
    charge("victim", 1000000)
""",
    "in a loop": """
for row in accounts():
    i = pick(row.n)
    j = pick(0 - row.n)
    if i >= 0 and j >= 0:
        charge("victim", 1000000)
""",
    "in nested loops": """
for row in accounts():
    if row.n > 0:
        i = pick(row.n)
        for other in accounts():
            j = pick(other.n - row.n)
            k = pick(row.n - other.n)
            charge("victim", 1000000)
""",
    "after a loop": """
n = balance("a")
for row in accounts():
    i = inside(n, n + 1)
    charge("victim", 1)
""",
    "through lengths": """
n = balance("a")
text = code(n)
other = code(0 - n - 1)
charge("victim", 1)
""",
    "through strings": """
text = named("a")
other = starts_with_both(text, "b")
charge("victim", 1)
""",
    "through bools": """
x = balance("a")
if odd_flag(x):
    charge("victim", 1)
else:
    charge("victim", 1)
""",
    "through two functions": """
n = one_or_two()
m = up_to_three(n)
k = up_to_three(m)
charge("victim", 1)
""",
    "the later call alone can't keep it": """
x = magnitude(balance("a"))
y = inside(x, x + 1)
charge("victim", 1)
""",
    "a float above every float": """
x = more(more(share()))
charge("victim", 1)
""",
}


@pytest.mark.parametrize("body", EXCLUDING.values(), ids=EXCLUDING)
def test_promises_that_can_not_be_kept_prove_nothing(layer: Layer, body: str) -> None:
    proof = proof_of(layer, body)
    assert proof.verdict is not ProofVerdict.PROVED, body
    assert any(reason.code == "vacuous" for reason in proof.reasons), proof.reasons


def test_the_promises_are_named_with_the_lines_of_their_calls(layer: Layer) -> None:
    proof = proof_of(layer, EXCLUDING["the program of the issue"])
    assert proof.verdict is ProofVerdict.UNKNOWN
    told = [reason for reason in proof.reasons if reason.code == "vacuous"]
    start = HEAD.count("\n") + 1
    assert [reason.line for reason in told] == [start + 1, start + 2]
    for reason in told:
        assert f"what pick promises (an index below n, line {reason.line})" in reason.message
    second = proof_of(layer, EXCLUDING["through two functions"])
    after = next(each for each in second.reasons if each.line == start + 1)
    assert f"what one_or_two promises (result == 1 or result == 2, line {start})" in after.message


def test_promises_that_can_not_be_kept_prove_nothing_about_the_end(layer: Layer) -> None:
    head = HEAD.replace("c.none()", "c.locked_up()")
    excluding = 'n = balance("a")\ni = inside(n, n + 1)\nunlock("door")'
    assert proof_of(layer, excluding, head).verdict is not ProofVerdict.PROVED
    behind = 'n = balance("a")\ni = inside(n, n + 2)\nif i == n:\n    unlock("door")'
    assert proof_of(layer, behind, head).verdict is ProofVerdict.PROVED


KEPT = {
    "an index below what is there": """
n = balance("a")
if n > 0:
    i = pick(n)
    j = pick(n + 1)
    if i < 0 or j < 0 or i >= n:
        charge("victim", 1)
""",
    "in nested loops": """
for row in accounts():
    if row.n > 0:
        i = pick(row.n)
        for other in accounts():
            if other.n > i:
                j = pick(other.n - i)
                if j < 0:
                    charge("victim", 1)
""",
    "between what another call returned": """
low = magnitude(balance("a"))
x = between(low, low + 10)
if x < 0:
    charge("victim", 1)
""",
    "neither value fits every run": """
x = magnitude(balance("a"))
if x < 0:
    charge("victim", 1)
""",
    "a string with both ends": """
start = named("a")
text = named(start)
if not text.endswith(".txt"):
    charge("victim", 1)
""",
    "a string with a form": """
text = ticket()
if text == "":
    charge("victim", 1)
""",
    "a string of a length": """
text = code(5)
if text == "":
    charge("victim", 1)
""",
    "a list of a length that is not known": """
n = balance("a")
if n >= 0:
    found = take(n)
    if len(found) != n:
        charge("victim", 1)
""",
    "a list that holds a value": """
found = holding(code(3))
if len(found) > 5:
    charge("victim", 1)
""",
    "a bool that says what is so": """
x = balance("a")
if big(x) and x < 3:
    charge("victim", 1)
""",
    "dead code behind kept promises": """
n = one_or_two()
if n > 7:
    i = inside(n, n + 1)
    charge("victim", 1)
""",
    "dead code of its own": """
n = balance("a")
if n > 5 and n < 3:
    i = pick(0 - 4)
    charge("victim", 1)
""",
    "each for the values that it can": """
n = balance("a")
if n > 0:
    i = pick(n)
if n < 0:
    j = pick(0 - n)
""",
}


@pytest.mark.parametrize("body", KEPT.values(), ids=KEPT)
def test_promises_that_can_be_kept_in_every_run_are_relied_on(layer: Layer, body: str) -> None:
    proof = proof_of(layer, body)
    assert proof.verdict is ProofVerdict.PROVED, proof.reasons
    assert proof.certificate is not None, proof.uncertified
    report = check(proof.certificate.data)
    assert report.level is Level.C, report.goals
    assert any(goal.kind is GoalKind.PROMISE for goal in report.derived)


def test_floats_are_kept_by_a_float_that_is_known_or_nothing_is_said(layer: Layer) -> None:
    proof = proof_of(layer, "x = share()\nif x > 1.0:\n    charge('victim', 1)")
    assert proof.verdict is ProofVerdict.PROVED, proof.reasons
    assert proof.certificate is not None
    assert check(proof.certificate.data).level >= Level.B
