"""Guarantees for generated programs, with what each means over recorded calls, in plain Python.

Bounds come from what some runs did, so that a guarantee is near the edge of the truth: a prover that overlooks an
effect proves it wrongly, and one that invents effects can't prove it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from concrete_runs import Run

Check = Callable[[Run], bool]
BAD = "eve@evil.com"


@dataclass(frozen=True, slots=True)
class Stated:
    """A guarantee as a program spells it, and whether a run keeps it."""

    text: str
    kept: Check
    by_prefixes: bool
    """Whether it holds of every beginning of a run that keeps it; others speak of completed runs."""


def stated(runs: Sequence[Run], slack: int) -> list[Stated]:
    """Guarantees that these runs keep, or with a negative slack just break."""
    most_sent = max(len(run.of("send_email", "addr")) for run in runs) + slack
    least_sent = min(len(run.of("send_email", "addr")) for run in runs) - slack
    most_paid = max(sum(run.of("pay", "amount")) for run in runs) + slack
    least_paid = min(sum(run.of("pay", "amount")) for run in runs) - slack
    highest = max((a for run in runs for a in run.of("pay", "amount")), default=0) + slack
    logs = max(len(run.of("log", "text")) for run in runs) + slack
    people = sorted({to for run in runs for to in run.of("send_email", "addr")})
    sums = sorted({int(a) for run in runs for a in run.of("pay", "amount")})
    if slack < 0:
        people, sums = people[1:], sums[1:]
    copies = next((list(c) for run in runs for c in run.of("send_copies", "copies")), [])
    floats = [a for run in runs for a in run.of("pay_float", "amount") if a == a]
    top = max(floats, default=0.0)
    top = top if abs(top) < 1e300 else 0.0
    return [
        Stated(f"at_most({most_sent})", lambda r: len(_to(r)) <= most_sent, True),
        Stated(f"at_least({least_sent})", lambda r: len(_to(r)) >= least_sent, False),
        Stated(f"exactly({most_sent})", lambda r: len(_to(r)) == most_sent, False),
        Stated(f"only({people!r})", lambda r: all(to in people for to in _to(r)), True),
        Stated(f"never_to([{BAD!r}])", lambda r: BAD not in _to(r), True),
        Stated("none_sent()", lambda r: not _to(r), True),
        Stated("unique()", lambda r: len(set(_to(r))) == len(_to(r)), True),
        Stated(f"spend({most_paid})", lambda r: sum(_paid(r)) <= most_paid, False),
        Stated(f"spend_at_least({least_paid})", lambda r: sum(_paid(r)) >= least_paid, False),
        Stated(f"each_at_most({highest})", lambda r: all(a <= highest for a in _paid(r)), True),
        Stated(f"amounts({sums!r})", lambda r: all(a in sums for a in _paid(r)), True),
        Stated(f"logs_at_most({logs})", lambda r: len(r.of("log", "text")) <= logs, True),
        Stated('log_never("a")', lambda r: "a" not in r.of("log", "text"), True),
        Stated("no_lookups()", lambda r: not r.of("lookup", "name"), True),
        Stated("different_accounts()", _different_accounts, True),
        Stated(
            f"copies_are({copies!r})",
            lambda r: all(given == copies for given in r.of("send_copies", "copies")),
            True,
        ),
        Stated(
            f"float_at_most({top!r})",
            lambda r: all(amount <= top for amount in r.of("pay_float", "amount")),
            True,
        ),
        Stated("logged_first()", _logged_first, True),
        Stated("logged_by_text()", _logged_by_text, True),
        Stated("no_send_after_lookup()", _no_send_after_lookup, True),
        Stated("not_names()", lambda _: True, True),
    ]


def _to(run: Run) -> list[str]:
    return run.of("send_email", "addr")


def _paid(run: Run) -> list[int]:
    return run.of("pay", "amount")


def _different_accounts(run: Run) -> bool:
    accounts = run.of("pay", "account")
    return len(set(accounts)) == len(accounts)


def _logged_first(run: Run) -> bool:
    order = [call.effect for call in run.calls if call.effect in ("log", "send_email")]
    return "send_email" not in order or order[0] == "log"


def _logged_by_text(run: Run) -> bool:
    logged: set[str] = set()
    for call in run.calls:
        if call.effect == "log":
            logged.add(call.arguments["text"])
        if call.effect == "send_email" and call.arguments["msg"] not in logged:
            return False
    return True


def _no_send_after_lookup(run: Run) -> bool:
    order = [call.effect for call in run.calls if call.effect in ("lookup", "send_email")]
    return "lookup" not in order or "send_email" not in order[order.index("lookup") :]
