"""What loops collect: lists are known exactly, keys of dicts and items of sets differ. And what only looks so.

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
from tools.desk.trusted.effects import everybody, orders, pay


@lictor_layer.guarantee(c.{contract})
def main() -> None:
"""
CHEAP = """\
    cheap = []
    for order in orders("a"):
        if 0 <= order.shares <= 5:
            cheap.append(order)
    for order in cheap:
        pay("a", order.shares)
"""
SEEN = """\
    seen = {}
    for user in everybody():
        seen[user.name] = user.age
    for name in seen:
        pay(name, 1)
"""
EITHER = """\
    amounts = []
    for order in orders("a"):
        if order.approved:
            amounts.append(min(max(order.shares, 0), 5))
        else:
            amounts.append(1)
    for amount in amounts:
        pay("a", amount)
"""
ROWS = """\
    rows = [
        {"a": 1, "b": user.name, "c": user.email, "d": 2.5, "e": None, "f": user.age, "g": True, "h": (1, 2)}
        for user in everybody()
        if user.age
    ]
    text = str(rows)
    for row in rows:
        pay(text, min(len(row), 5))
"""
NOTHING = """\
    people = everybody()
    is_verbose = len(people) > 2
    if not is_verbose:
        lines = [user.name.title() for user in people if is_verbose]
        for line in lines:
            pay(line, 9)
        pay("a", len(lines) + len(", ".join(user.name.title() for user in people if is_verbose)))
        pay("b", len({user.name.title() for user in people if is_verbose}))
        pay("c", len({user.name.title(): user.age for user in people if is_verbose}))
        pay("d", sum(len(user.name.title()) for user in people if is_verbose))
        pay("e", len(sorted(user.name.title() for user in people if is_verbose)))
        pay("f", len(max((user.name.title() for user in people if is_verbose), default="")))
        if any(user.name.title() == "A" for user in people if is_verbose):
            pay("g", 9)
        if not all(user.name.title() == "A" for user in people if is_verbose):
            pay("h", 9)
"""
EITHER_LIST = """\
    names = {"a": [], "b": ["none"]}
    for order in orders("a"):
        if order.shares > 0:
            names["a"].append("one")
    for key, held in names.items():
        pay(", ".join(held), 5)
"""
GUARDED = """\
    some = [{first}]
    for account in ("a", "b"):
        found = orders(account)
        if found:
            some.append(min(found[0].shares, {most}))
    some.sort()
    for amount in reversed(sorted(some)):
        pay("a", amount)
    if len(some) < 3:
        pay("b", len(some))
    if some:
        pay("c", some[-1])
"""
PAGES = """\
    amounts, page = [], 0
    while True:
        found = orders("a")
        amounts.extend(min(each.shares, 5) for each in found if each.shares)
        page += 1
        if not found:
            break
    if amounts:
        pay(f"{page} pages", min(max(amounts), 5))
"""
PAIRS = """\
    for amounts in [[each.shares, 3] for each in orders("a"){condition}]:
        for amount in amounts:
            {amount}
"""
ONCE = "different_accounts()"

EMPTY = """\
    seen = {}
    for user in everybody():
        seen = seen.copy()
    for name in seen.copy():
        pay(name, 6)
"""

KEPT = {
    "a filter that no item passes": ("each_at_most(0)", NOTHING),
    "a filter that is known": ("each_at_most(0)", NOTHING.replace("len(people) > 2", "False")),
    "a dict that stays empty has no keys": ("each_at_most(5)", EMPTY),
    "what was appended where a condition held": ("each_at_most(5)", CHEAP),
    "the same, a few of them": ("each_at_most(5)", CHEAP.replace("in cheap:", "in cheap[:3]:")),
    "one of them": (
        "each_at_most(5)",
        CHEAP.replace(
            "    for order in cheap:\n        pay",
            "    if cheap:\n        order = cheap[0]\n        pay",
        ),
    ),
    "a comprehension, a few of them": (
        "each_at_most(5)",
        '    for order in [each for each in orders("a") if 0 <= each.shares <= 5][:3]:\n'
        '        pay("a", order.shares)\n',
    ),
    "continue instead of if": (
        "each_at_most(5)",
        CHEAP.replace(
            "        if 0 <= order.shares <= 5:\n            cheap.append(order)\n",
            "        if not 0 <= order.shares <= 5:\n            continue\n        cheap.append(order)\n",
        ),
    ),
    "either of two": ("each_at_most(5)", EITHER),
    "behind what was there": (
        "each_at_most(5)",
        EITHER.replace("amounts = []", "amounts = [4, 5]"),
    ),
    "until the loop is left": (
        "each_at_most(5)",
        CHEAP.replace(
            "            cheap.append(order)\n",
            "            cheap.append(order)\n        elif order.approved:\n            break\n",
        ),
    ),
    "keys of a dict": (ONCE, SEEN),
    "keys that are grouped by": (
        ONCE,
        SEEN.replace(
            "seen[user.name] = user.age", "seen.setdefault(user.name, []).append(user.age)"
        ),
    ),
    "items of a dict": (ONCE, SEEN.replace("for name in seen:", "for name, _ in seen.items():")),
    "keys in order": (ONCE, SEEN.replace("in seen:", "in sorted(seen):")),
    "items of a set": (
        ONCE,
        SEEN.replace("seen = {}", "seen = set()").replace(
            "seen[user.name] = user.age", "seen.add(user.name)"
        ),
    ),
    "a set of a list": (
        ONCE,
        "    for name in set([user.name for user in everybody()]):\n        pay(name, 1)\n",
    ),
    "dicts of many kinds that a comprehension makes": ("each_at_most(5)", ROWS),
    "what stands in the lists of a list": (
        "each_at_most(5)",
        PAIRS.format(condition="", amount='pay("a", min(amount, 5))'),
    ),
    "one of two lists that are joined": ("each_at_most(5)", EITHER_LIST),
    "pages until one is empty": ("each_at_most(5)", PAGES),
    "what is appended on some paths, in order": (
        "each_at_most(5)",
        GUARDED.format(first=4, most=5),
    ),
}

BROKEN = {
    "a greater one": ("each_at_most(4)", CHEAP),
    "something is inserted": (
        "each_at_most(5)",
        CHEAP.replace(
            "            cheap.append(order)\n",
            "            cheap.append(order)\n        elif order.shares == 7:\n            cheap.insert(0, order)\n",
        ),
    ),
    "something is appended afterwards": (
        "each_at_most(5)",
        CHEAP.replace(
            "    for order in cheap:", '    cheap.extend(orders("b"))\n    for order in cheap:'
        ).replace('pay("a", order.shares)', 'pay("a", abs(order.shares))'),
    ),
    "the round that leaves the loop appends": (
        "each_at_most(5)",
        CHEAP.replace(
            "        if 0 <=",
            "        if order.shares > 90:\n            cheap.append(order)\n            break\n        if 0 <=",
        ),
    ),
    "an alias is changed": (
        "each_at_most(5)",
        CHEAP.replace("    cheap = []\n", "    cheap = []\n    others = cheap\n").replace(
            "            cheap.append(order)\n",
            "            cheap.append(order)\n        elif order.shares > 5:\n            others.append(order)\n",
        ),
    ),
    "either of two, and the other is too large": (
        "each_at_most(5)",
        EITHER.replace("amounts.append(1)", "amounts.append(6)"),
    ),
    "a value of the round before": (
        "each_at_most(5)",
        CHEAP.replace("    cheap = []\n", "    cheap = []\n    last = None\n")
        .replace(
            "            cheap.append(order)\n",
            "            if last is not None:\n                cheap.append(last)\n        last = order\n",
        )
        .replace('pay("a", order.shares)', 'pay("a", abs(order.shares))'),
    ),
    "what was there": ("each_at_most(5)", EITHER.replace("amounts = []", "amounts = [6]")),
    "values of a dict": (
        ONCE,
        SEEN.replace("seen[user.name] = user.age", "seen[user.email] = user.name").replace(
            "for name in seen:", "for name in seen.values():"
        ),
    ),
    "keys that are made alike": (ONCE, SEEN.replace("pay(name, 1)", "pay(name[:1], 1)")),
    "twice": (ONCE, SEEN + SEEN.split("\n", 4)[4].replace("1)", "2)")),
    "two dicts": (ONCE, SEEN + SEEN),
    "a list of keys and more": (
        ONCE,
        SEEN.replace(
            "    for name in seen:",
            '    names = list(seen)\n    names.append("a")\n    for name in names:',
        ),
    ),
    "lists of a dict": (
        ONCE,
        SEEN.replace(
            "seen[user.name] = user.age", "seen.setdefault(user.email, []).append(user.name)"
        ).replace(
            "    for name in seen:\n        pay(",
            "    for held in seen.values():\n        for name in held:\n            pay(",
        ),
    ),
    "what stands in the lists of a list": (
        "each_at_most(5)",
        PAIRS.format(condition=" if each.shares < 6", amount='pay("a", abs(amount))'),
    ),
    "one list in every item": (
        "each_at_most(5)",
        "    one = [3]\n"
        '    for other in [one for _ in orders("a")]:\n'
        "        other.append(6)\n"
        '    pay("a", one[-1])\n',
    ),
    "a list that the loop changes that collects it": (
        "each_at_most(5)",
        "    one, pairs = [3], []\n"
        '    for _ in orders("a"):\n'
        "        one.append(6)\n"
        "        pairs.append([one])\n"
        '    pay("a", one[-1] if pairs else 5)\n',
    ),
    "a list of lists that shares one with another": (
        "each_at_most(5)",
        '    pairs = [[3] for _ in orders("a")]\n'
        "    for pair in pairs[:1]:\n"
        "        pair.append(6)\n"
        "    for pair in pairs:\n"
        '        pay("a", pair[-1])\n',
    ),
    "what is appended on some paths, in order": (
        "each_at_most(5)",
        GUARDED.format(first=4, most=6),
    ),
    "what is appended on some paths, behind what was there": (
        "each_at_most(5)",
        GUARDED.format(first=6, most=5),
    ),
    "the names of a list": (
        ONCE,
        "    for user in sorted(everybody(), key=lambda u: u.name):\n        pay(user.name, 1)\n",
    ),
}


def source_of(case: tuple[str, str]) -> str:
    contract, body = case
    return HEADER.format(contract=contract) + body


@pytest.mark.parametrize("case", KEPT)
def test_what_is_collected_is_known(case: str) -> None:
    proof = prove(source_of(KEPT[case]), name="kept.py", layer=desk())
    assert proof.verdict is ProofVerdict.PROVED, (proof.reasons, proof.guarantees)


@pytest.mark.parametrize("case", BROKEN)
def test_what_only_looks_so_is_never_proved(case: str) -> None:
    proof = prove(source_of(BROKEN[case]), name="broken.py", layer=desk())
    assert proof.verdict in (ProofVerdict.UNKNOWN, ProofVerdict.REFUTED), proof


@pytest.mark.parametrize("case", BROKEN)
def test_python_breaks_it(case: str) -> None:
    """So that the ones above are what they say."""
    contract, body = BROKEN[case]
    code = compile("def main():\n" + body, case, "exec")
    assert not all(_keeps(code, seed, contract) for seed in range(3_000))


METHOD = """\
    put = None
    for user in everybody():
        if put is not None:
            put(user.name)
        names = []
        put = names.append
"""


def test_a_method_of_what_an_earlier_round_made_is_refused() -> None:
    proof = prove(
        HEADER.format(contract="each_at_most(5)") + METHOD, name="program.py", layer=desk()
    )
    assert [each.code for each in proof.reasons][:1] == ["loop.carried"]


@pytest.mark.parametrize("case", KEPT)
def test_python_keeps_it(case: str) -> None:
    contract, body = KEPT[case]
    code = compile("def main():\n" + body, case, "exec")
    assert all(_keeps(code, seed, contract) for seed in range(1_000))


def _keeps(code: CodeType, seed: int, contract: str) -> bool:
    """Whether a run of the program keeps it."""
    source, paid = Random(seed), list[tuple[str, int]]()

    def user() -> SimpleNamespace:
        name, email = source.choice(("a", "ab", "b")), source.choice(("x", "y"))
        return SimpleNamespace(name=name, email=email, age=source.randrange(2))

    def order() -> SimpleNamespace:
        shares = source.choice((-7, 0, 1, 5, 6, 7, 100))
        return SimpleNamespace(shares=shares, approved=source.random() < 0.5)

    names: dict[str, Any] = {
        "orders": lambda _: [order() for _ in range(source.randrange(6))],
        "everybody": lambda: [user() for _ in range(source.randrange(6))],
        "pay": lambda account, amount: paid.append((account, amount)),
    }
    exec(code, names)  # noqa: S102 -- the text is ours
    names["main"]()
    if contract == ONCE:
        return len({account for account, _ in paid}) == len(paid)
    most = int(contract.rstrip(")").split("(")[1])
    return all(amount <= most for _, amount in paid)
