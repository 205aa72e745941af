"""Whatever decides an unknown flows into it: a guarantee about origin is not proved of what another table decided."""

from __future__ import annotations

import pytest
from differential import desk

from lictor_prove.layer_model import Layer
from lictor_prove.proof.prover import prove

HEAD = """\
from dataclasses import dataclass

import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email, users


@dataclass
class Line:
    name: str


@lictor_layer.guarantee(c.not_names())
def main(n: int) -> None:
    boss = users()
    who = boss[0].name if boss else ""
    xs = []
    seen = set()
    d = {}
    groups = {}
    for i in range(n):
        xs.append("a" if i % 2 else "b")
        xs.append("c")
        seen.add("a" if i % 2 else "b")
        d["a" if i % 2 else "b"] = "c" if i % 2 else "d"
    some = [["a"] for i in range(n)]
    lines = [Line("a") for i in range(n)]
    some[0][0] = "z"
    lines[0].name = "z"
"""
DECIDED_BY_A_NAME = {
    "the item that is removed": "if who in xs:\n    xs.remove(who)\nto = xs[0] if xs else ''",
    "the place of what is inserted": "xs.insert(len(who), 'z')\nto = xs[0]",
    "what is discarded": "seen.discard(who)\nto = sorted(seen)[0] if seen else ''",
    "the key that is popped": "d.pop(who, '')\nto = sorted(d)[0] if d else ''",
    "what pop leaves": "y = xs.pop(len(who))\nto = xs[0] if xs else ''",
    "what pop takes": "to = xs.pop(len(who))",
    "the key of max": "to = max(xs, key=lambda x: x == who)",
    "the key of sorted": "to = sorted(xs, key=lambda x: x == who)[0]",
    "the direction of sorted": "to = sorted(xs, reverse=who == 'a')[0]",
    "the direction of sort": "xs.sort(reverse=who == 'a')\nto = xs[0] if xs else ''",
    "what a set is reduced by": "to = sorted(seen - {who})[0]",
    "the key that is asked for": "to = d.get(who, 'a')",
    "a condition to leave": "to = ''\nfor x in xs:\n    if x == who:\n        break\n    to = x",
    "a condition to go on": "to = ''\nfor x in xs:\n    if x == who:\n        continue\n    to = x",
    "a slice": "to = xs[len(who):][0]",
    "a filter": "rest = [x for x in xs if x != who]\nto = rest[0] if rest else ''",
    "whether one of many lists is cleared": (
        "to = ''\nfor x in xs:\n    h = groups.setdefault(x, [])\n    if x == who:\n        h.clear()\n"
        "    h.append('f')\n    to = 'abc'[:len(h)]"
    ),
    "which of many lists is read": "to = some[0][0] if who == 'a' else some[1][0]",
    "the index of one of many lists": "to = some[len(who)][0]",
    "which of many lists is changed": (
        "one = some[0] if who == 'a' else some[1]\none[0] = 'y'\nto = some[0][0]"
    ),
    "which of many instances is read": (
        "one = lines[0] if who == 'a' else lines[1]\nto = one.name"
    ),
    "the index of one of many instances": "to = lines[len(who)].name",
    "which of many instances is changed": "lines[len(who)].name = 'y'\nto = lines[0].name",
    "which of many instances a loop takes": (
        "one = lines[0]\nfor at, line in enumerate(lines):\n    if at == len(who):\n        one = line\n"
        "to = one.name"
    ),
    "which of many instances a later call decides": (
        "one = lines[0]\nto = ''\nfor i in range(n):\n    to = one.name\n    for user in users():\n"
        "        one = lines[len(user.name)]"
    ),
}


@pytest.fixture(scope="module")
def layer() -> Layer:
    return desk()


def verdict(body: str, layer: Layer) -> str:
    lines = [*body.split("\n"), 'send_email(to, "x")']
    source = HEAD + "".join(f"    {line}\n" for line in lines)
    return str(prove(source, name="program.py", layer=layer).verdict)


@pytest.mark.parametrize("case", DECIDED_BY_A_NAME)
def test_what_a_name_decides_is_not_free_of_names(case: str, layer: Layer) -> None:
    assert verdict(DECIDED_BY_A_NAME[case], layer) in ("refuted", "unknown")


@pytest.mark.parametrize("body", ["xs.reverse()\nto = xs[0]", "to = max(xs, key=len)"])
def test_what_no_name_decides_is_free_of_names(body: str, layer: Layer) -> None:
    assert verdict(body, layer) == "proved"
