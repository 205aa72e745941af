"""Programs of a third hunt through the front-end: each was proved once, although a run breaks what it promises.

The name of a program says what it tries. None of them may be proved; those that can be read are refuted.
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
from lictor_layer import Row
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import everybody, log, lookup, names, number, orders
from tools.desk.trusted.effects import pay, pay_float, rate, send_copies, send_email, users
from tools.desk.trusted.schemas import OrderRow, UserRow
"""

FALSE_PROOFS = {
    "a default of a lambda binds a name around it, where no path leads": """
@lictor_layer.guarantee(c.at_least(1))
def main() -> None:
    if False:
        f = lambda x=(send_email := 1): x
    send_email("eve", "m")
""",
    "a default of a function binds a name around it, where no path leads": """
@lictor_layer.guarantee(c.at_least(1))
def main() -> None:
    for _ in []:
        def f(*, x=(send_email := 1)) -> int:
            return x
    send_email("eve", "m")
""",
    "a comprehension in a default binds a name around it, where no path leads": """
@lictor_layer.guarantee(c.at_least(1))
def main() -> None:
    if False:
        f = lambda x=[(send_email := y) for y in [1]]: x
    send_email("eve", "m")
""",
    "a break in else leaves the loop around": """
@lictor_layer.guarantee(c.none_sent())
def main(x: int) -> None:
    last = ""
    for a in ["x", "y"]:
        last = a
        for b in ["1"]:
            if x > 5:
                break
        else:
            break
    if last == "x":
        send_email("eve", "m")
""",
    "what follows a break in else does not happen": """
@lictor_layer.guarantee(c.at_least(1))
def main(x: int) -> None:
    for a in ["x", "y"]:
        for b in ["1"]:
            if x > 5:
                break
        else:
            break
        send_email("eve", "m")
""",
    "dict() of one of two dicts with pairs for keys": """
@lictor_layer.guarantee(c.only(["bob"]))
def main(x: int) -> None:
    d = {("a", "bob"): 1} if x > 3 else {("a", "bob"): 2}
    e = dict(d)
    if "a" in e:
        send_email("bob", "m")
    else:
        send_email("eve", "m")
""",
    "a list is extended by a zip of itself": """
@lictor_layer.guarantee(c.none_sent())
def main() -> None:
    xs = ["a"]
    xs.extend(zip(xs, [1, 2]))
    if len(xs) != 2:
        send_email("eve", "m")
""",
    "a list is extended in place by a zip of itself": """
@lictor_layer.guarantee(c.none_sent())
def main() -> None:
    xs = ["a"]
    xs += zip(xs, [1, 2])
    if len(xs) != 2:
        send_email("eve", "m")
""",
    "a set is changed by a zip of itself": """
@lictor_layer.guarantee(c.at_least(1))
def main() -> None:
    s = {"a"}
    s.update(zip(s, [1, 2]))
    send_email("eve", "m")
""",
    "a parameter is annotated with a name that is not there": """
@lictor_layer.guarantee(c.at_least(1))
def main() -> None:
    def helper(a: NoSuch) -> None:
        pass
    send_email("eve", "m")
""",
    "the result is annotated with a name that is not there": """
@lictor_layer.guarantee(c.at_least(1))
def main() -> NoSuch:
    send_email("eve", "m")
""",
    "an annotation that raises": """
def helper(a: "x" | int) -> None:
    pass

@lictor_layer.guarantee(c.at_least(1))
def main() -> None:
    send_email("eve", "m")
""",
    "a row class that is defined below": """
def helper(a: Later) -> None:
    pass

class Later(Row):
    a: int

@lictor_layer.guarantee(c.at_least(1))
def main() -> None:
    send_email("eve", "m")
""",
    "a constant is annotated with a name that is not there": """
LIMIT: NoSuch = 5

@lictor_layer.guarantee(c.at_least(1))
def main() -> None:
    send_email("eve", "m")
""",
    "typing has no such name": """
from typing import NoSuch

@lictor_layer.guarantee(c.at_least(1))
def main() -> None:
    send_email("eve", "m")
""",
    "the contracts are imported below the guarantee": """
@lictor_layer.guarantee(later.at_least(1))
def main() -> None:
    send_email("eve", "m")

from tools.desk.trusted import contracts as later
""",
}

STILL_PROVED = {
    "annotations of all kinds": """
import typing
from typing import Any, Optional

class Mine(Row):
    self: int

def helper(a: list[Mine], b: Mine | None, c: "NoSuch", d: Optional[int], e: typing.Any) -> dict[str, tuple[int, ...]]:
    def inner(f: UserRow | OrderRow | None, g: Any = None) -> None:
        pass
    inner(None)
    return {}

@lictor_layer.guarantee(c.at_least(1))
def main(n: int) -> None:
    helper([], Mine(self=1), 1, n, None)
    send_email("eve", "m")
""",
    "one of three paths makes an object": """
@lictor_layer.guarantee(c.none_sent())
def main(x: int) -> None:
    for i in [1, 2]:
        if x == i:
            log(str([x][0]))
            break
""",
    "break in else of one loop": """
@lictor_layer.guarantee(c.only(["x"]))
def main(x: int) -> None:
    for a in ["x", "y"]:
        for b in ["1"]:
            if x > 5:
                break
        else:
            send_email(a, "m")
            break
""",
    "dict of one of two dicts": """
@lictor_layer.guarantee(c.only(["bob"]))
def main(x: int) -> None:
    d = dict({"a": "bob"} if x > 3 else [("a", "bob"), ("b", "eve")])
    send_email(d["a"], "m")
""",
    "a list is extended by itself": """
@lictor_layer.guarantee(c.at_least(4))
def main() -> None:
    xs = ["a", "b"]
    xs.extend(xs)
    for x in xs:
        send_email(x, "m")
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


# -- names of a layer's own functions -------------------------------------------------------------------

BANK = {
    "effects": """
from lictor_layer import trusted

@trusted
def pay(amount: int) -> None: ...
""",
    "elsewhere": """
LIMIT = 1000

def holds(amount, test):
    return test(amount)
""",
    "limits": """
from . import elsewhere

LIMIT = 5

def under(more):
    return lambda amount: amount < LIMIT + more

def holds(amount, test):
    return test(amount)

def holds_here(amount):
    return elsewhere.holds(amount, lambda each: each < LIMIT)
""",
    "contracts": """
from lictor_layer import Spec, contract, effect
from .effects import pay
from .limits import holds, holds_here, under

LIMIT = 1000
Pay = effect(pay)

@contract
def by_a_function_that_was_returned() -> Spec:
    return Pay.all(lambda e: under(0)(e.amount) and LIMIT > 0)

@contract
def by_a_function_that_is_passed() -> Spec:
    return Pay.all(lambda e: holds(e.amount, lambda amount: amount < LIMIT))

@contract
def by_a_function_that_a_helper_passes() -> Spec:
    return Pay.all(lambda e: holds_here(e.amount))
""",
}
PAYS = """
import lictor_layer
from tools.bank.trusted import contracts
from tools.bank.trusted.effects import pay

@lictor_layer.guarantee(contracts.{contract}())
def main() -> None:
    pay({amount})
"""


@pytest.mark.parametrize(
    ("contract", "amount", "verdict"),
    [
        ("by_a_function_that_was_returned", 4, "proved"),
        ("by_a_function_that_was_returned", 900, "refuted"),
        ("by_a_function_that_is_passed", 900, "proved"),
        ("by_a_function_that_is_passed", 1000, "refuted"),
        ("by_a_function_that_a_helper_passes", 4, "proved"),
        ("by_a_function_that_a_helper_passes", 900, "refuted"),
    ],
)
def test_a_function_of_a_layer_keeps_the_names_of_its_module(
    contract: str, amount: int, verdict: str, tmp_path: Path
) -> None:
    root = tmp_path / "tools/bank/trusted"
    root.mkdir(parents=True)
    for name, text in BANK.items():
        (root / f"{name}.py").write_text(text, "utf-8")
    program = PAYS.format(contract=contract, amount=amount)
    proof = prove(program, name="program.py", layer=load_layer([root], [tmp_path]))
    assert str(proof.verdict) == verdict, proof


# -- indices of a program's loops in conditions of its layer --------------------------------------------

SHOP = {
    "effects": """
from lictor_layer import requires, trusted

@trusted
def names() -> list[str]: ...

@trusted
def items(name: str) -> list[str]: ...

@trusted
def numbers() -> list[int]: ...

@requires(lambda held: len([each for each in held]) > 0 and [each for each in held][0] == "ok")
@trusted
def act(held: list[str]) -> None: ...

@requires(lambda held: len([10 // each for each in held]) >= 0)
@trusted
def divide(held: list[int]) -> None: ...
""",
    "contracts": """
from lictor_layer import Spec, contract, no_guarantees

@contract
def nothing() -> Spec:
    return no_guarantees()
""",
}
ORDERS = {
    "what holds of the first list holds of the others": """
    held = [items(name) for name in names()]
    if len(held) > 0 and len(held[0]) > 0 and held[0][0] == "ok":
        for each in held:
            if len(each) > 0:
                act(each)
""",
    "what holds of one item holds of the others": """
    held = numbers()
    for each in held:
        if each != 0:
            divide(held)
""",
}


@pytest.mark.parametrize("name", ORDERS)
def test_a_condition_of_a_layer_is_not_about_the_iteration_of_a_program(
    name: str, tmp_path: Path
) -> None:
    root = tmp_path / "tools/shop/trusted"
    root.mkdir(parents=True)
    for module, text in SHOP.items():
        (root / f"{module}.py").write_text(text, "utf-8")
    program = f"""
import lictor_layer
from tools.shop.trusted import contracts
from tools.shop.trusted.effects import act, divide, items, names, numbers

@lictor_layer.guarantee(contracts.nothing())
def main() -> None:
{ORDERS[name]}
"""
    proof = prove(program, name="program.py", layer=load_layer([root], [tmp_path]))
    assert str(proof.verdict) in ("refuted", "unknown", "rejected"), proof
