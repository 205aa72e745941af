"""Guarantees for generated programs, with what each means over recorded calls, in plain Python.

Bounds come from what some runs did, so that a guarantee is near the edge of the truth: a prover that overlooks an
effect proves it wrongly, and one that invents effects can't prove it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from concrete_runs import Run
from plain_contracts import CONTRACTS, Check

BAD = "eve@evil.com"
_ON_COMPLETION = ("at_least", "exactly", "spend", "spend_at_least", "sold_at_most", "copied_to_audit",
                  "all_locked", "locked")  # fmt: skip
_OF_ORIGIN = ("to_users", "not_names", "stock_from_orders", "shares_from_orders", "sells_an_order")


@dataclass(frozen=True, slots=True)
class Stated:
    """A guarantee as a program spells it, and whether a run keeps it."""

    text: str
    kept: Check
    by_prefixes: bool
    """Whether it holds of every beginning of a run that keeps it; others speak of completed runs."""
    is_exact: bool
    """Whether values tell it: where one came from they can only deny."""


def _stated(name: str, *given: Any) -> Stated:
    return Stated(
        f"{name}({', '.join(map(repr, given))})",
        CONTRACTS[name](*given),
        name not in _ON_COMPLETION,
        name not in _OF_ORIGIN,
    )


def stated(runs: Sequence[Run], slack: int) -> list[Stated]:
    """Guarantees that these runs keep, or with a negative slack just break."""
    sent, logged, sold = (
        [len(run.of(*each)) for run in runs]
        for each in (("send_email", "addr"), ("log", "text"), ("sell", "stock"))
    )
    pays = [len(run.of("pay", "amount")) for run in runs]
    paid = [sum(run.of("pay", "amount")) for run in runs]
    shares = [sum(run.of("sell", "shares")) for run in runs]
    bobs = [run.of("send_email", "addr").count("bob@example.com") for run in runs]
    highest = max(_all(runs, "pay", "amount"), default=0) + slack
    people = sorted(set(_all(runs, "send_email", "addr")))
    sums = sorted({int(amount) for amount in _all(runs, "pay", "amount")})
    if slack < 0:
        people, sums = people[1:], sums[1:]
    copies = next((list(each) for each in _all(runs, "send_copies", "copies")), [])
    text = next(iter(_all(runs, "send_email", "msg")), "")
    line = next(iter(_all(runs, "log", "text")), "a")
    top = max((each for each in _all(runs, "pay_float", "amount") if each == each), default=0.0)
    top = float(top) if abs(top) < 1e300 else 0.0
    door = next(iter(_all(runs, "unlock", "door")), "a")
    return [
        _stated("at_most", max(sent) + slack),
        _stated("at_least", min(sent) - slack),
        _stated("exactly", max(sent) + slack),
        _stated("only", people),
        _stated("never_to", [BAD]),
        _stated("none_sent"),
        _stated("unique"),
        _stated("message_is", text),
        _stated("message_starts", text[:1]),
        _stated("to_bob_at_most", max(bobs) + slack),
        _stated("copied_to_audit"),
        _stated("spend", max(paid) + slack),
        _stated("spend_at_least", min(paid) - slack),
        _stated("each_at_most", highest),
        _stated("amounts", sums),
        _stated("no_pay"),
        _stated("pays_at_most", max(pays) + slack),
        _stated("logs_at_most", max(logged) + slack),
        _stated("log_never", line),
        _stated("log_is", line),
        _stated("no_lookups"),
        _stated("different_accounts"),
        _stated("copies_are", copies),
        _stated("never_urgent"),
        _stated("float_at_most", top),
        _stated("logged_first"),
        _stated("logged_by_text"),
        _stated("no_send_after_lookup"),
        _stated("quiet_and_bounded", max(sent) + slack),
        _stated("not_names"),
        _stated("to_users"),
        _stated("sells_at_most", max(sold) + slack),
        _stated("sold_at_most", max(shares) + slack),
        _stated("stock_from_orders"),
        _stated("shares_from_orders"),
        _stated("sells_an_order"),
        _stated("all_locked"),
        _stated("locked", door),
    ]


def breaks(run: Run, guarantee: Stated) -> bool:
    """Whether a run shows that a guarantee does not hold: all of it, or as far as it came."""
    if run.refused or (run.raised is not None and not guarantee.by_prefixes):
        return False
    return not guarantee.kept(run)


def _all(runs: Iterable[Run], effect: str, field: str) -> Iterator[Any]:
    for run in runs:
        yield from run.of(effect, field)
