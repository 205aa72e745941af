"""Bounds that a loop keeps by itself: a budget that is spent, a counter that is asked. And those that it only seems to.

Every false one is made by real Python here, too: a run of it breaks what it states.
"""

from __future__ import annotations

from random import Random
from types import CodeType, SimpleNamespace
from typing import Any

import pytest
from differential import desk

from lictor_prove.proof.prover import prove
from lictor_schema.proofs.proof import ProofVerdict

HEADER = """\
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import balance, everybody, log, number, orders, pay, refund, users


@lictor_layer.guarantee(c.{contract})
def main() -> None:
"""

BUDGET = """\
    left = 100
    for order in orders("a"):
        price = order.shares
        if price < 0:
            continue
        if price > left:
            break
        pay("a", price)
        left -= price
"""
COUNTER = """\
    done = 0
    for user in everybody():
        if done >= 3:
            break
        if not user.active:
            continue
        pay(user.name, 1)
        done += 1
"""
CHUNKS = """\
    left = min(balance("a"), 100)
    while left > 0:
        amount = min(left, 30)
        pay("a", amount)
        left -= amount
"""

EACH = """\
    done = 0
    for user in everybody():
        if done >= 3:
            break
        pay(user.name, 1)
        done += 1
"""
NUMBERED = """\
    for number, user in enumerate(everybody()):
        if number >= 3:
            break
        pay(user.name, 1)
"""

KEPT = {
    "a counter of every round": ("pays_at_most(3)", EACH),
    "the number of the round": ("pays_at_most(3)", NUMBERED),
    "rounds in which nothing is paid": (
        "pays_at_most(3)",
        NUMBERED.replace("        pay", "        if user.active:\n            pay"),
    ),
    "a budget": ("spend(100)", BUDGET),
    "a budget that is counted up": (
        "spend(100)",
        BUDGET.replace("left = 100", "left = 0")
        .replace("price > left", "left + price > 100")
        .replace("left -=", "left +="),
    ),
    "a counter that is asked first": ("pays_at_most(3)", COUNTER),
    "a counter without break": (
        "pays_at_most(3)",
        "    done = 0\n    for user in everybody():\n        if user.active and done < 3:\n"
        "            pay(user.name, 1)\n            done += 1\n",
    ),
    "as much each time": ("spend(15)", COUNTER.replace(", 1)", ", 5)")),
    "what is there, in chunks": ("spend(100)", CHUNKS),
    "as many chunks": ("pays_at_most(4)", CHUNKS),
    "two loops, one budget": (
        "spend(100)",
        BUDGET + BUDGET.split("\n", 1)[1].replace('orders("a")', 'orders("b")'),
    ),
    "a payment before it": (
        "spend(130)",
        '    pay("b", 30)\n' + BUDGET,
    ),
}

BROKEN = {
    "a counter of every round, one fewer": ("pays_at_most(2)", EACH),
    "the number of the round, one fewer": ("pays_at_most(2)", NUMBERED),
    "the number of the round, asked after it": (
        "pays_at_most(3)",
        NUMBERED.replace(
            "        if number >= 3:\n            break\n        pay(user.name, 1)\n", ""
        )
        + "        pay(user.name, 1)\n        if number >= 3:\n            break\n",
    ),
    "a round that goes on where it should not": (
        "pays_at_most(3)",
        NUMBERED.replace("number >= 3", "number >= 3 and user.active"),
    ),
    "one round that leaves, and pays": (
        "pays_at_most(3)",
        NUMBERED.replace("            break", '            pay("b", 1)\n            break'),
    ),
    "rounds of two loops": ("pays_at_most(3)", NUMBERED + NUMBERED),
    "a counter that a condition counts": (
        "pays_at_most(3)",
        EACH.replace("        done += 1", "        if user.active:\n            done += 1"),
    ),
    "an inner loop that is left": (
        "pays_at_most(3)",
        "    for one in everybody():\n"
        + "".join(f"    {line}\n" for line in NUMBERED.splitlines()),
    ),
    "asked after it was spent": (
        "spend(100)",
        '    left = 100\n    for order in orders("a"):\n        if left <= 0:\n            break\n'
        '        if order.shares > 0:\n            pay("a", order.shares)\n            left -= order.shares\n',
    ),
    "reset in the loop": (
        "pays_at_most(3)",
        COUNTER.replace("        done += 1\n", "        done += 1\n        done = done % 3\n"),
    ),
    "set back in the loop": (
        "pays_at_most(3)",
        COUNTER.replace(
            "        if not user.active:\n",
            "        if user.age == 0:\n            done = 0\n        if not user.active:\n",
        ),
    ),
    "two counters mixed up": (
        "pays_at_most(3)",
        COUNTER.replace("    done = 0\n", "    done = 0\n    seen = 0\n", 1).replace(
            "        done += 1\n", "        seen += 1\n"
        ),
    ),
    "negative amounts give back": (
        "spend(100)",
        '    left = 100\n    for order in orders("a"):\n        if order.shares > left:\n            break\n'
        '        if order.shares > 0:\n            pay("a", order.shares)\n        left -= order.shares\n',
    ),
    "a continue before the decrement": (
        "spend(100)",
        BUDGET.replace(
            "        left -=", "        if order.approved:\n            continue\n        left -="
        ),
    ),
    "one too many": ("pays_at_most(2)", COUNTER),
    "one cent too little": ("spend(99)", BUDGET),
    "a greater start": ("spend(100)", BUDGET.replace("left = 100", "left = 101")),
    "chunks of any balance": (
        "spend(100)",
        CHUNKS.replace('min(balance("a"), 100)', 'balance("a")'),
    ),
    "one chunk fewer": ("pays_at_most(3)", CHUNKS),
    "chunks that do not shrink it by what was paid": (
        "spend(100)",
        CHUNKS.replace("left -= amount", "left -= amount // 2 + 1"),
    ),
    "paid twice": (
        "spend(100)",
        BUDGET.replace('        pay("a", price)\n', '        pay("a", price)\n' * 2),
    ),
    "an inner loop": (
        "pays_at_most(3)",
        COUNTER.replace(
            "        pay(user.name, 1)\n",
            "        for other in users():\n            pay(other.name, 1)\n",
        ),
    ),
    "counted again in another loop": ("pays_at_most(3)", COUNTER + COUNTER),
    "one more after the loop": ("pays_at_most(3)", COUNTER + '    pay("b", 1)\n'),
    "the last round pays": (
        "pays_at_most(3)",
        COUNTER.replace("            break\n", '            pay("b", 1)\n            break\n', 1),
    ),
    "the other order of condition": ("pays_at_most(3)", COUNTER.replace("done >= 3", "done > 3")),
    "a copy of the number": (
        "spend(100)",
        BUDGET.replace("left = 100\n", "left = 100\n    was = left\n").replace("> left", "> was"),
    ),
    "a budget in a list": (
        "spend(100)",
        BUDGET.replace("left = 100\n", "left = 100\n    box = [left]\n").replace(
            "> left", "> box[0]"
        ),
    ),
    "bought back": (
        "spend(100)",
        BUDGET.replace("        left -= price\n", "        left -= price\n        left += 1\n"),
    ),
    "less than it costs": (
        "spend(100)",
        BUDGET.replace("left -= price", "left -= price // 2"),
    ),
}


ATTEMPTS = {
    "an attempt that fails is not counted": (
        "pays_at_most(3)",
        COUNTER.replace(
            "        pay(user.name, 1)\n        done += 1\n",
            "        try:\n            pay(user.name, 1)\n            done += 1\n"
            "        except Exception:\n            continue\n",
        ),
    ),
    "an attempt that fails gives back": (
        "spend(100)",
        BUDGET.replace(
            '        pay("a", price)\n',
            '        try:\n            pay("a", price)\n        except Exception:\n            price = 0\n',
        ),
    ),
    "reset at last": (
        "spend(100)",
        BUDGET.replace(
            '        pay("a", price)\n',
            '        try:\n            pay("a", price)\n        finally:\n            left = 100 + price\n',
        ),
    ),
}
"""A call that fails may have had its effect."""


def source_of(case: tuple[str, str]) -> str:
    contract, body = case
    return HEADER.format(contract=contract) + body


@pytest.mark.parametrize("case", KEPT)
def test_a_bound_that_a_loop_keeps_is_proved(case: str) -> None:
    proof = prove(source_of(KEPT[case]), name="kept.py", layer=desk())
    assert proof.verdict is ProofVerdict.PROVED, proof.reasons


@pytest.mark.parametrize("case", BROKEN)
def test_a_bound_that_it_does_not_keep_is_never_proved(case: str) -> None:
    proof = prove(source_of(BROKEN[case]), name="broken.py", layer=desk())
    assert proof.verdict in (ProofVerdict.UNKNOWN, ProofVerdict.REFUTED), proof


DEEP = """\
    done = 0
    stop = 9
    while True:
        if done == stop:
            break
        for user in [user for user in users() if user.active]:
            done += 1
        for user in users():
            if user.active:
                done += 1
            pay("a", done)
"""


def test_a_counter_of_many_loops_is_read_part_by_part() -> None:
    """Each loop counts from what the one before it left: as a tree, what that is has no end."""
    proof = prove(HEADER.format(contract="pays_at_most(3)") + DEEP, name="deep.py", layer=desk())
    assert proof.verdict is not ProofVerdict.PROVED


@pytest.mark.parametrize("case", ATTEMPTS)
def test_an_attempt_counts(case: str) -> None:
    proof = prove(source_of(ATTEMPTS[case]), name="attempts.py", layer=desk())
    assert proof.verdict in (ProofVerdict.UNKNOWN, ProofVerdict.REFUTED), proof


@pytest.mark.parametrize("case", BROKEN)
def test_python_breaks_it(case: str) -> None:
    """So that the ones above are what they say."""
    contract, body = BROKEN[case]
    kind, most = contract.rstrip(")").split("(")
    code = compile("def main():\n" + body, case, "exec")
    assert any(_total(code, seed, kind) > int(most) for seed in range(3_000))


@pytest.mark.parametrize("case", KEPT)
def test_python_keeps_it(case: str) -> None:
    contract, body = KEPT[case]
    kind, most = contract.rstrip(")").split("(")
    code = compile("def main():\n" + body, case, "exec")
    assert all(_total(code, seed, kind) <= int(most) for seed in range(1_000))


def _total(code: CodeType, seed: int, kind: str) -> int:
    """What a run of the program pays, or how often."""
    source, paid = Random(seed), list[int]()

    def user() -> SimpleNamespace:
        return SimpleNamespace(name="a", age=source.randrange(2), active=source.random() < 0.9)

    def order() -> SimpleNamespace:
        shares = source.choice((-7, 0, 1, 1, 40, 60, 100, 101))
        return SimpleNamespace(shares=shares, approved=source.random() < 0.5)

    names: dict[str, Any] = {
        "orders": lambda _: [order() for _ in range(source.randrange(6))],
        "everybody": lambda: [user() for _ in range(source.randrange(9))],
        "users": lambda: [user() for _ in range(source.randrange(4))],
        "balance": lambda _: source.choice((0, 29, 99, 100, 150)),
        "pay": lambda _, amount: paid.append(amount),
    }
    exec(code, names)  # noqa: S102 -- the text is ours
    names["main"]()
    return len(paid) if kind == "pays_at_most" else sum(paid)
