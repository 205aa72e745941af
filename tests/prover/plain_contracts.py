"""The contracts of the test layers over recorded calls, in plain Python: what they mean, said a second time.

Values can't tell where they came from. But what came from a column is one of the values that it had; and where every
name in a table is one of `a_name`, no text that a name did not flow into holds one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from concrete_runs import MARKED_NAME, Run

Check = Callable[[Run], bool]
_NAME = re.compile(MARKED_NAME, re.IGNORECASE)


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


def _rows(run: Run, schema: str) -> Iterator[Any]:
    """The rows that trusted calls returned."""
    for call in run.calls:
        for held in call.result if isinstance(call.result, list) else (call.result,):
            if type(held).__name__ == schema:
                yield held


def _came_from(effect: str, schema: str, **columns: str) -> Check:
    """These arguments are columns of one row that was returned: whether they may be, as far as values tell."""

    def check(run: Run) -> bool:
        # Of one type too: True is no 1 here.
        known = {
            tuple(repr(getattr(row, column)) for column in columns.values())
            for row in _rows(run, schema)
        }
        given = (call.arguments for call in run.calls if call.effect == effect)
        return all(tuple(repr(each[name]) for name in columns) in known for each in given)

    return check


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
    "to_users": lambda: _came_from("send_email", "UserRow", addr="email"),
    "not_names": lambda: _each("send_email", "addr", lambda to: not _NAME.search(to)),
    "stock_from_orders": lambda: _came_from("sell", "OrderRow", stock="stock"),
    "shares_from_orders": lambda: _came_from("sell", "OrderRow", shares="shares"),
    "sells_an_order": lambda: _came_from("sell", "OrderRow", stock="stock", shares="shares"),
    **dict.fromkeys(("stock_from", "shares_from"), lambda *_: lambda _: True),
}
