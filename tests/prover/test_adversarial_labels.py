"""The verdicts that adversarial programs carry are right: Python itself says so.

Programs labelled `refuted` break a guarantee, a precondition, or raise, for some answers of the trusted calls; programs
labelled `proved` never do. The programs run with stand-ins for the layer, so nothing happens. Where a guarantee is
about the origin of a value, values can't tell, and the label stands on its reason alone.
"""

from __future__ import annotations

import builtins
import random
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from types import CodeType, SimpleNamespace
from typing import Any

import pytest
from concrete_runs import Answers, Call, Run
from test_adversarial_programs import PROGRAMS, right_verdicts

from lictor_layer.rows import row_class

SEEDS = 300
ORIGINS = ("to_users", "not_names", "stock_from", "shares_from", "sells_an_order")
OrderRow = row_class("OrderRow", {"stock": str, "shares": int, "approved": bool})
LotRow = row_class("LotRow", {"stock": str, "shares": int})
PARAMETERS = {
    "send_email": ("addr", "msg"),
    "send_inside": ("addr", "msg"),
    "send_copies": ("addr", "copies", "urgent"),
    "pay": ("account", "amount"),
    "refund": ("amount",),
    "pay_float": ("amount",),
    "log": ("text",),
    "is_allowed": ("addr",),
    "lookup": ("name",),
    "balance": ("account",),
    "orders": ("desk",),
    "lots": ("desk",),
    "sell": ("stock", "shares"),
    "sell_lot": ("stock", "shares"),
    "mail": ("addr", "msg"),
    "unlock": ("door",),
    "lock": ("door",),
    **dict.fromkeys(
        ("number", "rate", "bob", "opaque", "nothing", "users", "everybody", "names"), ()
    ),
    "impossible": (),
}
Check = Callable[[Run], bool]


class Wide(Answers):
    """Answers of every function of the layers."""

    def __init__(self, source: random.Random) -> None:
        super().__init__(source)
        self._any = source

    def give(self, effect: str) -> Any:
        match effect:
            case "bob":
                return "bob@example.com"
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
            case "orders" | "lots":
                row = OrderRow if effect == "orders" else LotRow
                extra = {"approved": True} if effect == "orders" else {}
                count = self._any.randint(0, 5)
                return [
                    row(stock=self._text(), shares=self._number(), **extra) for _ in range(count)
                ]
            case "number":
                return self._any.choice((self._number(), 0, -5, 2**65, 2**53 + 1))
            case _:
                return super().give(effect)


def _each(effect: str, field: str, holds: Callable[[Any], bool]) -> Check:
    return lambda run: all(holds(value) for value in run.of(effect, field))


def _count(effect: str, holds: Callable[[int], bool]) -> Check:
    return lambda run: holds(sum(call.effect == effect for call in run.calls))


def _different(effect: str, field: str) -> Check:
    return lambda run: len(set(run.of(effect, field))) == len(run.of(effect, field))


def _doors(run: Run) -> Mapping[str, bool]:
    state: dict[str, bool] = {}
    for call in run.calls:
        if call.effect in ("lock", "unlock"):
            state[call.arguments["door"]] = call.effect == "lock"
    return state


def _shared(run: Run) -> bool:
    told: dict[str, set[str]] = {"bob@example.com": set(), "audit@example.com": set()}
    for call in run.calls:
        if call.effect == "send_email" and call.arguments["addr"] in told:
            told[call.arguments["addr"]].add(call.arguments["msg"])
    return bool(told["bob@example.com"] & told["audit@example.com"])


def _before(first: str, then: str, same: tuple[str, str] | None = None) -> Check:
    def check(run: Run) -> bool:
        seen: list[Any] = []
        for call in run.calls:
            if call.effect == then and not (
                call.arguments[same[1]] in seen if same else bool(seen)
            ):
                return False
            if call.effect == first:
                seen.append(call.arguments[same[0]] if same else True)
        return True

    return check


def _never_after(first: str, then: str) -> Check:
    def check(run: Run) -> bool:
        order = [call.effect for call in run.calls]
        return first not in order or then not in order[order.index(first) :]

    return check


def _sum(holds: Callable[[int], bool]) -> Check:
    return lambda run: holds(sum(run.of("pay", "amount")))


CONTRACTS: dict[str, Callable[..., Check]] = {
    "no_guarantees": lambda: lambda _: True,
    "only": lambda allowed: _each("send_email", "addr", lambda to: to in allowed),
    "never_to": lambda bad: _each("send_email", "addr", lambda to: to not in bad),
    "none_sent": lambda: _count("send_email", lambda n: n == 0),
    "none": lambda: _count("mail", lambda n: n == 0),
    "nothing_written": lambda: (
        lambda run: all(call.effect not in ("send_email", "send_inside") for call in run.calls)
    ),
    "at_most": lambda most: _count("send_email", lambda n: n <= most),
    "at_least": lambda least: _count("send_email", lambda n: n >= least),
    "exactly": lambda count: _count("send_email", lambda n: n == count),
    "unique": lambda: _different("send_email", "addr"),
    "message_is": lambda text: _each("send_email", "msg", lambda msg: msg == text),
    "message_starts": lambda text: _each("send_email", "msg", lambda msg: msg.startswith(text)),
    "to_bob_at_most": lambda most: (
        lambda run: run.of("send_email", "addr").count("bob@example.com") <= most
    ),
    "copied_to_audit": lambda: _shared,
    "copies_are": lambda copies: _each("send_copies", "copies", lambda given: given == copies),
    "never_urgent": lambda: (
        lambda run: not any(call.arguments.get("urgent", False) for call in run.calls)
    ),
    "spend": lambda most: _sum(lambda total: total <= most),
    "spend_at_least": lambda least: _sum(lambda total: total >= least),
    "each_at_most": lambda most: _each("pay", "amount", lambda amount: amount <= most),
    "amounts": lambda allowed: _each("pay", "amount", lambda amount: amount in allowed),
    "no_pay": lambda: _count("pay", lambda n: n == 0),
    "pays_at_most": lambda most: _count("pay", lambda n: n <= most),
    "different_accounts": lambda: _different("pay", "account"),
    "float_at_most": lambda most: _each("pay_float", "amount", lambda amount: amount <= most),
    "float_amounts": lambda allowed: _each("pay_float", "amount", lambda a: a in allowed),
    "logs_at_most": lambda most: _count("log", lambda n: n <= most),
    "log_is": lambda text: _each("log", "text", lambda told: told == text),
    "log_never": lambda text: _each("log", "text", lambda told: told != text),
    "no_lookups": lambda: _count("lookup", lambda n: n == 0),
    "sells_at_most": lambda most: _count("sell", lambda n: n <= most),
    "sold_at_most": lambda most: lambda run: sum(run.of("sell", "shares")) <= most,
    "all_locked": lambda: lambda run: all(_doors(run).values()),
    "locked": lambda door: lambda run: _doors(run).get(door, True),
    "logged_first": lambda: _before("log", "send_email"),
    "logged_by_text": lambda: _before("log", "send_email", ("text", "msg")),
    "no_send_after_lookup": lambda: _never_after("lookup", "send_email"),
    "quiet_and_bounded": lambda most: (
        lambda run: (
            sum(call.effect == "send_email" for call in run.calls) <= most
            and not run.of("pay", "amount")
        )
    ),
    **dict.fromkeys(
        ("to_users", "not_names", "stock_from_orders", "shares_from_orders", "sells_an_order"),
        lambda: lambda _: True,
    ),
    **dict.fromkeys(("stock_from", "shares_from"), lambda *_: lambda _: True),
}


@lru_cache(maxsize=8)
def _compiled(source: str) -> CodeType:
    return compile(source, "<adversarial>", "exec", dont_inherit=True)


def breaks(source: str, seed: int) -> bool:
    """Whether the program, with these answers, breaks what it promises, or raises."""
    done, promised = Run(), list[Check]()
    answers = Wide(random.Random(seed))

    def stand_in(effect: str) -> Callable[..., Any]:
        def call(*given: Any, **named: Any) -> Any:
            bound = {**dict(zip(PARAMETERS[effect], given, strict=False)), **named}
            copied = {name: list(v) if isinstance(v, list) else v for name, v in bound.items()}
            done.calls.append(Call(effect, copied, None))
            return answers.give(effect)

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
        return True
    refused = any(
        (call.effect == "refund" and call.arguments["amount"] < 0)
        or (call.effect == "sell_lot" and call.arguments["shares"] < 0)
        or (call.effect == "send_inside" and not call.arguments["addr"].endswith("@example.com"))
        for call in done.calls
    )
    return refused or not all(check(done) for check in promised)


def labelled(verdict: str) -> list[Path]:
    return [path for path in PROGRAMS if right_verdicts(path.read_text("utf-8")) == {verdict}]


@pytest.mark.parametrize("program", labelled("proved"), ids=lambda path: path.stem)
def test_program_labelled_proved_never_breaks_its_promise(program: Path) -> None:
    source = program.read_text("utf-8")
    assert not any(breaks(source, seed) for seed in range(SEEDS))


@pytest.mark.parametrize("program", labelled("refuted"), ids=lambda path: path.stem)
def test_program_labelled_refuted_can_break_its_promise(program: Path) -> None:
    source = program.read_text("utf-8")
    about_origin = any(f"c.{name}" in source for name in ORIGINS)
    assert about_origin or any(breaks(source, seed) for seed in range(SEEDS * 10))
