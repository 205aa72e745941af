"""The verdicts that adversarial programs carry are right: Python itself says so.

Programs labelled `refuted` break a guarantee, a precondition, or raise, for some answers of the trusted calls; programs
labelled `proved` never do. The programs run with stand-ins for the layer, so nothing happens. Where a guarantee is
about the origin of a value, values can deny it and can't confirm it, so `refuted` stands there on its reason alone.
"""

from __future__ import annotations

import builtins
import copy
import random
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from types import CodeType, SimpleNamespace
from typing import Any

import pytest
from concrete_runs import PARAMETERS as DESK
from concrete_runs import Answers, Call, OrderRow, Run
from plain_contracts import CONTRACTS, Check
from test_adversarial_programs import LAYERS, PROGRAMS, right_verdicts

from lictor_layer.rows import row_class
from lictor_prove.layer_model import Layer
from lictor_prove.layers import load_layer
from lictor_prove.python import read_program

SEEDS = 300
ORIGINS = ("to_users", "not_names", "stock_from", "shares_from", "sells_an_order")
LotRow = row_class("LotRow", {"stock": str, "shares": int})
PARAMETERS = {
    **DESK,
    "send_inside": ("addr", "msg"),
    "lots": ("desk",),
    "sell_lot": ("stock", "shares"),
    "mail": ("addr", "msg"),
    "find_user": ("email",),
    **dict.fromkeys(("opaque", "nothing", "impossible"), ()),
}


class Wide(Answers):
    """Answers of every function of the layers."""

    def __init__(self, source: random.Random) -> None:
        super().__init__(source)
        self._any = source

    def give(self, effect: str) -> Any:
        match effect:
            case "everybody":
                return [
                    self._row()
                    for _ in range(
                        self._any.choice((0, 1, 2, 3, 1500 if self._any.random() < 0.02 else 1))
                    )
                ]
            case "lookup":
                return self._any.choice(
                    (self._text(), "-5", "eve", "front", "ok", "bobXexample.com", "k", "")
                )
            case "find_user":
                return self._any.choice((None, self._row()))
            case "lots":
                count = self._any.randint(0, 5)
                return [LotRow(stock=self._text(), shares=self._number()) for _ in range(count)]
            case "number":
                return self._any.choice((self._number(), 0, -5, 2**65, 2**53 + 1))
            case _:
                return super().give(effect)


@lru_cache(maxsize=8)
def _compiled(source: str) -> CodeType:
    return compile(source, "<adversarial>", "exec", dont_inherit=True)


def breaks(source: str, seed: int, *, may_end: bool = False) -> bool:
    """Whether the program, with these answers, breaks what it promises, or raises where it may not end early."""
    done, promised = Run(), list[Check]()
    answers = Wide(random.Random(seed))

    def stand_in(effect: str) -> Callable[..., Any]:
        def call(*given: Any, **named: Any) -> Any:
            bound = {**dict(zip(PARAMETERS[effect], given, strict=False)), **named}
            copied = {name: list(v) if isinstance(v, list) else v for name, v in bound.items()}
            result = answers.give(effect)
            done.calls.append(Call(effect, copied, copy.deepcopy(result)))
            return result

        return call

    def guarantee(check: Check) -> Callable[[Any], Any]:
        promised.append(check)
        return lambda function: function

    effects = SimpleNamespace(**{name: stand_in(name) for name in PARAMETERS})
    contracts = SimpleNamespace(**CONTRACTS)
    rows = SimpleNamespace(LotRow=LotRow, OrderRow=OrderRow)
    modules = {"effects": effects, "contracts": contracts, "schemas": rows, "rows": rows}

    def imported(
        name: str,
        globals_: Mapping[str, object] | None = None,
        locals_: Mapping[str, object] | None = None,
        fromlist: Sequence[str] = (),
        level: int = 0,
    ) -> Any:
        if name in ("lictor_layer", "clauz3"):
            return SimpleNamespace(guarantee=guarantee)
        if name.startswith("tools."):
            last = name.rpartition(".")[2]
            return modules[last] if last in modules else SimpleNamespace(**modules)
        return builtins.__import__(name, globals_, locals_, fromlist, level)

    names: dict[str, Any] = {"__builtins__": {**vars(builtins), "__import__": imported}}
    try:
        exec(_compiled(source), names)  # noqa: S102 -- our own programs, with stand-ins
        names["main"]()
    except Exception:  # noqa: BLE001 -- whatever is raised, raising is what the label speaks of
        return not may_end
    refused = any(
        (call.effect == "refund" and call.arguments["amount"] < 0)
        or (call.effect == "sell_lot" and call.arguments["shares"] < 0)
        or (call.effect == "send_inside" and not call.arguments["addr"].endswith("@example.com"))
        for call in done.calls
    )
    return refused or not all(check(done) for check in promised)


@pytest.fixture(scope="module")
def layer() -> Layer:
    return load_layer([LAYERS / f"tools/{each}/trusted" for each in ("desk", "switched")], [LAYERS])


def labelled(verdict: str) -> list[Path]:
    return [path for path in PROGRAMS if right_verdicts(path.read_text("utf-8")) == {verdict}]


@pytest.mark.parametrize("program", labelled("proved"), ids=lambda path: path.stem)
def test_program_labelled_proved_never_breaks_its_promise(program: Path, layer: Layer) -> None:
    source = program.read_text("utf-8")
    document = read_program(source, name=program.name, layer=layer)
    may_end = any(each.may_raise for each in document.unknowns)
    assert not any(breaks(source, seed, may_end=may_end) for seed in range(SEEDS))


@pytest.mark.parametrize("program", labelled("refuted"), ids=lambda path: path.stem)
def test_program_labelled_refuted_can_break_its_promise(program: Path) -> None:
    source = program.read_text("utf-8")
    about_origin = any(f"c.{name}" in source for name in ORIGINS)
    assert about_origin or any(breaks(source, seed) for seed in range(SEEDS * 10))
