"""Programs of a hunt through the front-end: each was proved once, although a run breaks what it promises.

The name of a program says what it tries. None of them may be proved; most are refused.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from lictor_prove.layer_model import Layer
from lictor_prove.layers import load_layer
from lictor_prove.proof.prover import prove

LAYERS = Path(__file__).parent / "layers"
HEAD = """
import lictor_layer
import math
import re
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import bob, everybody, log, lookup, names, number, orders
from tools.desk.trusted.effects import pay, pay_float, send_copies, send_email, sell, users
from tools.desk.trusted.schemas import OrderRow, UserRow
"""

FALSE_PROOFS = {
    "the copy of a set has another order": """
@lictor_layer.guarantee(c.none_sent())
def main() -> None:
    some = {each.name for each in users()}
    for one, other in zip(some, some.copy()):
        if one != other:
            send_email(one, other)
""",
    "union of lists, config raises": """
@lictor_layer.guarantee(c.only(["bob"]))
def main(x: int) -> None:
    xs = ["a"]
    if x > 3:
        xs.append("eve")
    ys = ["a", "bob"]
    zs = xs if x > 5 else ys
    send_email(zs[1], "m")
""",
    "stale view in zip": """
@lictor_layer.guarantee(c.only(["bob"]))
def main() -> None:
    d = {"a": "bob"}
    def change() -> int:
        d["a"] = "eve"
        return 1
    pairs = list(zip(d.values(), [change()]))
    send_email(pairs[0][0], "m")
""",
    "stale view in sum": """
@lictor_layer.guarantee(c.each_at_most(5))
def main() -> None:
    d = {"a": 5}
    def change() -> int:
        d["a"] = 50
        return 0
    pay("x", sum(d.values(), change()))
""",
    "stale view in tuple": """
@lictor_layer.guarantee(c.only(["bob"]))
def main() -> None:
    d = {"a": "bob"}
    t = (d.values(), 1)
    d["a"] = "eve"
    send_email(list(t[0])[0], "m")
""",
    "zip used twice through a tuple": """
@lictor_layer.guarantee(c.at_least(2))
def main() -> None:
    t = (zip(["a"], ["b"]), 1)
    for x, y in t[0]:
        send_email(x, y)
    for x, y in t[0]:
        send_email(x, y)
""",
    "enumerate of symbolic twice through a tuple": """
@lictor_layer.guarantee(c.none_sent())
def main() -> None:
    t = (enumerate(["a"]), 1)
    a = list(t[0])
    b = list(t[0])
    if not b:
        send_email("eve", "x")
""",
    "sum of a set of tuples": """
@lictor_layer.guarantee(c.only(["bob"]))
def main() -> None:
    t = sum({("bob",), ("eve",)}, ())
    send_email(t[0], "x")
""",
    "min of a set with nan": """
@lictor_layer.guarantee(c.float_at_most(1.0))
def main() -> None:
    pay_float(min({1.0, float("nan")}))
""",
    "sorted set with nan": """
@lictor_layer.guarantee(c.float_at_most(1.0))
def main() -> None:
    pay_float(sorted({1.0, float("nan"), 3.0})[0])
""",
    "nan lists ordered": """
@lictor_layer.guarantee(c.none_sent())
def main() -> None:
    if not [float("nan")] <= [float("nan")]:
        send_email("eve", "x")
""",
    "nan tuples ordered": """
@lictor_layer.guarantee(c.none_sent())
def main() -> None:
    if (float("nan"), 1) < (float("nan"), 2):
        pass
    else:
        send_email("eve", "x")
""",
    "format mixed": """
@lictor_layer.guarantee(c.at_least(1))
def main() -> None:
    x = "{0}{}".format("a", "b")
    send_email("eve", x)
""",
    "sum of strings": """
@lictor_layer.guarantee(c.at_least(1))
def main() -> None:
    x = sum(["a"], "")
    send_email("eve", x)
""",
    "min default with two args": """
@lictor_layer.guarantee(c.at_least(1))
def main() -> None:
    x = min(1, 2, default=3)
    send_email("eve", "x")
""",
    "print sep": """
@lictor_layer.guarantee(c.at_least(1))
def main() -> None:
    print("a", sep=5)
    send_email("eve", "x")
""",
    "reversed zip": """
@lictor_layer.guarantee(c.at_least(1))
def main() -> None:
    for a, b in reversed(zip([1], [2])):
        send_email("eve", "x")
""",
    "enumerate two starts": """
@lictor_layer.guarantee(c.at_least(1))
def main() -> None:
    for a, b in enumerate([1], 0, start=0):
        send_email("eve", "x")
""",
    "append zip": """
@lictor_layer.guarantee(c.at_least(2))
def main() -> None:
    xs = []
    xs.append(zip(["a"], ["b"]))
    for x, y in xs[0]:
        send_email(x, y)
    for x, y in xs[0]:
        send_email(x, y)
""",
    "tuple doubling": """
@lictor_layer.guarantee(c.none_sent())
def main() -> None:
    t = (1,)
    for i in range(40):
        t = t + t
""",
    "nested tuple str": """
@lictor_layer.guarantee(c.none_sent())
def main(x: int) -> None:
    t = (1,)
    for i in range(40):
        t = (t, t)
    log(str(t))
""",
    "nested tuple merge": """
@lictor_layer.guarantee(c.none_sent())
def main(x: int) -> None:
    t = (1,)
    u = (2,)
    for i in range(40):
        t = (t, t)
        u = (u, u)
    v = t if x > 3 else u
""",
    "huge ints": """
@lictor_layer.guarantee(c.none_sent())
def main() -> None:
    x = 3
    for i in range(40):
        x = x * x
    if x < 0:
        send_email("eve", "x")
""",
    "a union of unions compared": """
@lictor_layer.guarantee(c.none_sent())
def main(x: int, k: bool) -> None:
    v = None if k else "eve"
    w = 5 if k else "eve"
    xs = [v]
    ys = [w, 1]
    zs = xs if x > 3 else ys
    if zs[0] == "eve":
        send_email("eve", "m")
""",
    "a union of unions that is None": """
@lictor_layer.guarantee(c.none_sent())
def main(x: int, k: bool) -> None:
    v = None if k else "eve"
    w = None if k else 5
    xs = [v]
    ys = [w, 1]
    zs = xs if x > 3 else ys
    if zs[0] is None:
        send_email("eve", "m")
""",
    "a union of unions whose type is asked": """
@lictor_layer.guarantee(c.none_sent())
def main(x: int, k: bool) -> None:
    v = None if k else "eve"
    w = None if k else 5
    xs = [v]
    ys = [w, 1]
    zs = xs if x > 3 else ys
    if isinstance(zs[0], str):
        send_email("eve", "m")
""",
    "a list made from a list compared with it": """
@lictor_layer.guarantee(c.none_sent())
def main() -> None:
    ws = names()
    if [w for w in ws] == ws:
        send_email("eve", "m")
""",
    "a slice compared with its list": """
@lictor_layer.guarantee(c.none_sent())
def main() -> None:
    ws = names()
    if ws[0:] == ws:
        send_email("eve", "m")
""",
    "a slice not equal to its list": """
@lictor_layer.guarantee(c.none_sent())
def main() -> None:
    ws = names()
    if not (ws[0:] != ws):
        send_email("eve", "m")
""",
    "a slice looked for in a list of lists": """
@lictor_layer.guarantee(c.none_sent())
def main() -> None:
    ws = names()
    if ws[0:] in [ws]:
        send_email("eve", "m")
""",
    "tuple of slices compared": """
@lictor_layer.guarantee(c.none_sent())
def main() -> None:
    ws = names()
    if (ws[0:], 1) == (ws, 1):
        send_email("eve", "m")
""",
    "set intersection element of which side": """
@lictor_layer.guarantee(c.log_is("True"))
def main(x: int) -> None:
    t = {True} & {1}
    for a in t:
        log(str(a))
""",
    "set intersection bigger left": """
@lictor_layer.guarantee(c.log_is("True"))
def main(x: int) -> None:
    t = {True, 5, 6} & {1}
    for a in t:
        log(str(a))
""",
    "set intersection method": """
@lictor_layer.guarantee(c.log_is("True"))
def main(x: int) -> None:
    t = {True}.intersection([1])
    for a in t:
        log(str(a))
""",
    "set intersection in place": """
@lictor_layer.guarantee(c.log_is("True"))
def main(x: int) -> None:
    t = {True, 5}
    t &= {1}
    for a in t:
        log(str(a))
""",
    "set intersection update": """
@lictor_layer.guarantee(c.log_is("True"))
def main(x: int) -> None:
    t = {True, 5}
    t.intersection_update([1.0])
    for a in t:
        log(str(a))
""",
}

STILL_PROVED = {
    "index across configurations": """
@lictor_layer.guarantee(c.only(["bob", "al"]))
def main(x: int) -> None:
    xs = ["a"]
    if x > 3:
        xs.append("bob")
    ys = ["a", "al"]
    zs = xs if x > 5 else ys
    send_email(zs[1], "m")
""",
    "views": """
@lictor_layer.guarantee(c.only(["bob"]))
def main(x: int) -> None:
    d = {"a": "bob"}
    for k, v in reversed(d.items()):
        send_email(v, k)
    for v in d.values():
        send_email(v, str(max({1, 2, 3})) + "".join(sorted({"a", "b"})))
""",
    "intersection of strings": """
@lictor_layer.guarantee(c.only(["bob"]))
def main(s: str) -> None:
    for a in {s} & {"bob"}:
        send_email(a, "m")
""",
}


@pytest.fixture(scope="module")
def layer() -> Layer:
    return load_layer([LAYERS / "tools/desk/trusted"], [LAYERS])


@pytest.mark.parametrize("name", FALSE_PROOFS)
def test_it_is_not_proved(name: str, layer: Layer) -> None:
    proof = prove(HEAD + FALSE_PROOFS[name], name="program.py", layer=layer)
    assert str(proof.verdict) in ("refuted", "unknown", "rejected"), proof


@pytest.mark.parametrize("name", STILL_PROVED)
def test_its_honest_neighbour_is_still_proved(name: str, layer: Layer) -> None:
    proof = prove(HEAD + STILL_PROVED[name], name="program.py", layer=layer)
    assert str(proof.verdict) == "proved", proof.reasons


EFFECTS = """
from lictor_layer import ensures, trusted

@ensures(lambda result, *, limit=5: result <= limit)
@trusted
def draw(limit: int = 5) -> int: ...

@trusted
def pay(amount: int) -> None: ...
"""
CONTRACTS = """
from lictor_layer import Spec, contract, effect
from tools.bank.trusted.effects import pay

@contract
def at_most(most: int) -> Spec:
    return effect(pay).all(lambda e: e.amount <= most)
"""
DRAWS = """
import lictor_layer
from tools.bank.trusted import contracts
from tools.bank.trusted.effects import draw, pay

@lictor_layer.guarantee(contracts.at_most(5))
def main() -> None:
    pay(draw({limit}))
"""


@pytest.mark.parametrize(("limit", "verdict"), [("1000", "refuted"), ("", "proved")])
def test_a_promise_with_a_parameter_by_keyword_only_is_about_what_was_passed(
    limit: str, verdict: str, tmp_path: Path
) -> None:
    root = tmp_path / "tools/bank/trusted"
    root.mkdir(parents=True)
    (root / "effects.py").write_text(EFFECTS, "utf-8")
    (root / "contracts.py").write_text(CONTRACTS, "utf-8")
    bank = load_layer([root], [tmp_path])
    proof = prove(DRAWS.format(limit=limit), name="program.py", layer=bank)
    assert str(proof.verdict) == verdict, proof
