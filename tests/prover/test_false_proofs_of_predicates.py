"""Layers of a fourth hunt: their predicates were read otherwise than Python runs them, and programs proved by that.

Each program here breaks at run time what its layer demands. None may be proved.
"""

from __future__ import annotations

import linecache
from collections.abc import Mapping
from pathlib import Path

import pytest

from lictor_prove.errors import ProverConfigError
from lictor_prove.layer_model import Layer
from lictor_prove.layers import load_layer
from lictor_prove.proof.prover import prove

NOTHING = """
from lictor_layer import Spec, contract, effect, no_guarantees

@contract
def nothing() -> Spec:
    return no_guarantees()
"""
IMPORTS = "from lictor_layer import ensures, requires, trusted\n"
AMOUNT = """
@trusted
def pay(amount: int) -> None: ...
"""
PROMISED = """
@trusted
def name() -> str: return "z"

@requires(lambda who: who == "a")
@trusted
def pay(who: str) -> None: ...
"""

BROKEN: Mapping[str, tuple[str, str]] = {
    "a form feed moves the lines of a helper": (
        """
X = "a\x0cb"
def low(a): return a < 10
def mid(a): return a < 5

@requires(lambda amount: mid(amount))"""
        + AMOUNT,
        "pay(7)",
    ),
    "a helper has other defaults than the function that it wraps": (
        """
import functools

def base(a, limit=1000): return a < limit

def strict(f):
    def inner(a, limit=5):
        return f(a, limit)
    functools.update_wrapper(inner, f)
    return inner

low = strict(base)

@requires(lambda amount: low(amount))"""
        + AMOUNT,
        "pay(7)",
    ),
    "a counter has an item for every key": (
        """
from collections import Counter
SEEN = Counter({"a": 0, "b": 3})

@ensures(lambda result: SEEN[result] == 0)"""
        + PROMISED,
        "pay(name())",
    ),
    "a number with an order of its own": (
        """
class Never(int):
    def __gt__(self, other): return False

LIMIT = Never(10)

@requires(lambda amount: amount < LIMIT)"""
        + AMOUNT,
        "pay(1)",
    ),
    "a list with a membership of its own": (
        """
class Nobody(list):
    def __contains__(self, other): return False

ALLOWED = Nobody([1])

@requires(lambda amount: amount in ALLOWED)"""
        + AMOUNT,
        "pay(1)",
    ),
    "an enum in text is its name": (
        """
import enum

class Account(str, enum.Enum):
    MAIN = "a"

MAIN = Account.MAIN

@requires(lambda who: f"{MAIN}" == who)
@trusted
def pay(who: str) -> None: ...
""",
        "pay('a')",
    ),
    "a predicate fills a list of the layer": (
        """
seen = []

@requires(lambda amount: not seen.append(amount) and len(seen) < 2)"""
        + AMOUNT,
        "pay(1)\n    pay(2)",
    ),
    "a helper fills a list of the layer": (
        """
seen = []

def once(a):
    seen.append(a)
    return len(seen) < 2

@requires(lambda amount: once(amount))"""
        + AMOUNT,
        "pay(1)\n    pay(2)",
    ),
    "a helper fills its own default": (
        """
def once(a, seen=[]):
    seen.append(a)
    return len(seen) < 2

@requires(lambda amount: once(amount))"""
        + AMOUNT,
        "pay(1)\n    pay(2)",
    ),
    "a helper empties a set inside of a tuple": (
        """
left = ({1, 2}, 0)

def once(a):
    if a in left[0]:
        left[0].remove(a)
        return True
    return False

@requires(lambda amount: once(amount))"""
        + AMOUNT,
        "pay(1)\n    pay(1)",
    ),
    "a name that `:=` binds is read before": (
        """
n = 1000

@requires(lambda amount: amount < n and (n := amount) > 0)"""
        + AMOUNT,
        "pay(3)",
    ),
    "an int is passed where a float is declared, and written out": (
        """
@requires(lambda amount: str(amount) == "5.0")
@trusted
def pay(amount: float) -> None: ...
""",
        "pay(5)",
    ),
    "an int is passed where a float is declared, and asked for its type": (
        """
@requires(lambda amount: isinstance(amount, float))
@trusted
def pay(amount: float) -> None: ...
""",
        "pay(5)",
    ),
    "a row class is passed where the default is None": (
        """
from typing import TypeVar
from lictor_layer import Row

class UserRow(Row):
    a: int

T = TypeVar("T", bound=Row)

@requires(lambda n, table=None: table is None)
@trusted
def pay(n: int, table: type[T] = None) -> list[T]: ...
""",
        "pay(1, UserRow)",
    ),
    "a generator is true before it has run": (
        """
def ok(r):
    return r == "a"
    yield

@ensures(lambda result: ok(result))"""
        + PROMISED,
        "pay(name())",
    ),
    "an int that is passed on one path only, where the other has the float that equals it": (
        """
@trusted
def urgent() -> bool: return True

@requires(lambda amount: isinstance(amount, float))
@trusted
def pay(amount: float) -> None: ...
""",
        "pay(1 if urgent() else 1.0)",
    ),
    "an int that a solver finds to be the only one passed": (
        """
@trusted
def count() -> int: return 9

@requires(lambda amount: isinstance(amount, float))
@trusted
def pay(amount: float) -> None: ...
""",
        "n = count(); x = 1 if n > 0 else None; pay(x) if n > 5 else None",
    ),
    "a promise about an int that the runner passes as a float": (
        """
@ensures(lambda amount, result: result == str(amount))
@trusted
def shown(amount: float) -> str: return str(amount)

@requires(lambda text: text == "1")
@trusted
def pay(text: str) -> None: ...
""",
        "pay(shown(1))",
    ),
    "a demand on a float that the runner passes for an int": (
        """
@requires(lambda amount: isinstance(amount, int))
@trusted
def pay(amount: float) -> None: ...
""",
        "pay(1)",
    ),
}


def loaded(folder: Path, effects: str, contracts: str = NOTHING) -> Layer:
    root = folder / "tools/bank/trusted"
    root.mkdir(parents=True, exist_ok=True)
    (root / "effects.py").write_text(IMPORTS + effects, "utf-8")
    (root / "contracts.py").write_text(contracts, "utf-8")
    return load_layer([root], [folder])


def verdict(layer: Layer, body: str, contract: str = "nothing") -> str:
    used = ", ".join((*layer.functions, *layer.schemas))
    program = f"""
import lictor_layer
from tools.bank.trusted import contracts
from tools.bank.trusted.effects import {used}

@lictor_layer.guarantee(contracts.{contract}())
def main() -> None:
    {body}
"""
    return str(prove(program, name="program.py", layer=layer).verdict)


@pytest.mark.parametrize("name", BROKEN)
def test_it_is_not_proved(name: str, tmp_path: Path) -> None:
    effects, body = BROKEN[name]
    assert verdict(loaded(tmp_path, effects), body) in ("refuted", "unknown", "rejected")


def test_a_predicate_that_takes_the_rest_is_refused(tmp_path: Path) -> None:
    contracts = """
from lictor_layer import Spec, contract, effect
from .effects import pay

allowed = [1]

@contract
def only() -> Spec:
    return effect(pay).all(lambda e, *allowed: e.amount in allowed)
"""
    layer = loaded(tmp_path, AMOUNT, contracts)
    with pytest.raises(ProverConfigError, match="one by one"):
        verdict(layer, "pay(1)", "only")


def test_a_contract_does_not_tell_an_int_from_the_float_that_was_declared(tmp_path: Path) -> None:
    contracts = """
from lictor_layer import Spec, contract, effect
from .effects import pay

@contract
def floats() -> Spec:
    return effect(pay).all(lambda e: isinstance(e.amount, float))
"""
    layer = loaded(tmp_path, AMOUNT.replace("int", "float"), contracts)
    assert verdict(layer, "pay(5)", "floats") == "rejected"


@pytest.mark.parametrize(
    ("holds", "amount", "expected"),
    [
        ("e.amount + 9007199254740992 == 9007199254740992", "1", "rejected"),
        ("e.amount * e.amount * e.amount < 1e30", "2", "rejected"),
        ("e.amount * e.amount == 4611686014132420608.0", "2147483647", "rejected"),
        ("e.amount <= 1e300", "5", "proved"),
        ("e.amount * e.amount * 1.5 - 2 <= 400.0", "5", "proved"),
        ("e.amount * e.amount + e.amount / 4 <= 20.0", "5", "refuted"),
    ],
)
def test_a_contract_does_not_round_what_python_does_not(
    holds: str, amount: str, expected: str, tmp_path: Path
) -> None:
    contracts = f"""
from lictor_layer import Spec, contract, effect
from .effects import pay

@contract
def bounded() -> Spec:
    return effect(pay).all(lambda e: {holds})
"""
    layer = loaded(tmp_path, AMOUNT.replace("int", "float"), contracts)
    assert verdict(layer, f"pay({amount})", "bounded") == expected


@pytest.mark.parametrize(
    "update",
    [
        "Lock.set(door, door != 'a')",
        "Lock.set(door, False) if door else Lock.set('x', True)",
        "Lock.set(f'{door}', False)",
        "Lock.set(f'{door!r}', False)",
        "Lock.set(str(door), False)",
        "Lock.set({'a': 'b'}.get(door, 'c'), False)",
        "Lock.set('x', door in ('a', 'b'))",
        "Lock.set('x', door is None)",
        "Lock.set('x', isinstance(door, str))",
        "chosen(door)",
    ],
)
def test_what_a_call_sets_is_not_computed_of_its_arguments(update: str, tmp_path: Path) -> None:
    effects = f"""
from lictor_layer import fluent, sets

Lock = fluent("lock", key=str, value=bool, initial=True)

def chosen(door):
    return Lock.set("x", True) if door is None else Lock.set("y", True)

@sets(lambda door: {update})
@trusted
def unlock(door: str) -> None: ...
"""
    with pytest.raises(
        ProverConfigError, match=r"is computed with|decides something|computes nothing"
    ):
        loaded(tmp_path, effects)


def test_a_promise_may_take_its_result_by_position_only(tmp_path: Path) -> None:
    promised = PROMISED.replace(
        "@trusted\ndef name", "@ensures(lambda r, /: r == 'a')\n@trusted\ndef name"
    )
    assert verdict(loaded(tmp_path, promised), "pay(name())") == "proved"


HONEST: Mapping[str, tuple[str, str]] = {
    "a helper builds its own list": (
        """
def low(a):
    seen = []
    seen.append(a)
    return sum(seen) < LIMIT

LIMIT = 5

@requires(lambda amount: low(amount) and (n := amount + 1) > 0 and n < 5)"""
        + AMOUNT,
        "pay(3)",
    ),
    "a list of the layer is copied and filled": (
        """
ALLOWED = [1, 2]

def allowed(a):
    found = list(ALLOWED)
    found.append(7)
    return a in found

@requires(lambda amount: allowed(amount))"""
        + AMOUNT,
        "pay(7)",
    ),
}


@pytest.mark.parametrize("name", HONEST)
def test_its_honest_neighbour_is_still_proved(name: str, tmp_path: Path) -> None:
    effects, body = HONEST[name]
    assert verdict(loaded(tmp_path, effects), body) == "proved"


# -- a layer is what was hashed --------------------------------------------------------------------

LIMITED = """
def low(a):
    return a < {limit}

@requires(lambda amount: low(amount))
@trusted
def pay(amount: int) -> None: ...
"""
CONTRACTS = """
from lictor_layer import Spec, contract, effect
from .effects import pay

def small(a):
    return a < {limit}

@contract
def little() -> Spec:
    return effect(pay).all(lambda e: small(e.amount))
"""


# Limits of their own: code that is equal must not have been read before.
@pytest.mark.parametrize(("also", "limit"), [("written", 4), ("loaded", 5), ("forgotten", 6)])
def test_a_layer_that_is_loaded_stays_as_it_was_when_its_files_change(
    also: str, limit: int, tmp_path: Path
) -> None:
    first = loaded(tmp_path, LIMITED.format(limit=limit), CONTRACTS.format(limit=limit))
    if also == "loaded":
        second = loaded(tmp_path, LIMITED.format(limit=1000), CONTRACTS.format(limit=1000))
        assert second.hash != first.hash
        assert verdict(second, "pay(7)", "little") == "proved"
    else:
        root = tmp_path / "tools/bank/trusted"
        (root / "effects.py").write_text(IMPORTS + LIMITED.format(limit=1000), "utf-8")
        (root / "contracts.py").write_text(CONTRACTS.format(limit=1000), "utf-8")
    if also == "forgotten":
        linecache.clearcache()
    assert verdict(first, "pay(7)", "little") == "refuted"
    assert verdict(first, "pay(3)", "little") == "proved"


def test_a_helper_that_no_hash_covers_is_not_read(tmp_path: Path) -> None:
    layer = loaded(
        tmp_path,
        "from posixpath import isabs\n\n@requires(lambda who: isabs(who))\n@trusted\n"
        "def pay(who: str) -> None: ...\n",
    )
    assert verdict(layer, "pay('/a')") == "rejected"
