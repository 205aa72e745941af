"""What programs at the desk may promise."""

from lictor_layer import Spec, comes_from, contract, effect, same_row
from lictor_layer import no_guarantees as core_no_guarantees

from .effects import (
    DoorLocked,
    log,
    lookup,
    pay,
    pay_float,
    refund,
    sell,
    send_copies,
    send_email,
    send_inside,
)
from .schemas import OrderRow, UserRow

Send = effect(send_email)
Written = effect(send_email, send_inside)
Copies = effect(send_copies)
Pay = effect(pay)
PayFloat = effect(pay_float)
Refund = effect(refund)
Log = effect(log)
Lookup = effect(lookup)
Sell = effect(sell)


@contract
def no_guarantees() -> Spec:
    return core_no_guarantees()


@contract
def only(addresses: list[str]) -> Spec:
    return Send.all(lambda e: e.addr in addresses)


@contract
def never_to(addresses: list[str]) -> Spec:
    return Send.all(lambda e: e.addr not in addresses)


@contract
def none_sent() -> Spec:
    return Send.empty()


@contract
def nothing_written() -> Spec:
    return Written.empty()


@contract
def at_most(count: int) -> Spec:
    return Send.count() <= count


@contract
def at_least(count: int) -> Spec:
    return Send.count() >= count


@contract
def unique() -> Spec:
    return Send.distinct(lambda e: e.addr)


@contract
def message_is(text: str) -> Spec:
    return Send.all(lambda e: e.msg == text)


@contract
def message_starts(text: str) -> Spec:
    return Send.all(lambda e: e.msg.startswith(text))


@contract
def to_bob_at_most(count: int) -> Spec:
    return Send.where(lambda e: e.addr == "bob@example.com").count() <= count


@contract
def copied_to_audit() -> Spec:
    told = Send.where(lambda e: e.addr == "bob@example.com")
    audit = Send.where(lambda e: e.addr == "audit@example.com")
    return told.shares_value(audit, lambda e: e.msg)


@contract
def copies_are(copies: list[str]) -> Spec:
    return Copies.all(lambda e: e.copies == copies)


@contract
def never_urgent() -> Spec:
    return Copies.all(lambda e: not e.urgent)


@contract
def spend(most: int) -> Spec:
    return Pay.sum(lambda e: e.amount) <= most


@contract
def spend_at_least(least: int) -> Spec:
    return Pay.sum(lambda e: e.amount) >= least


@contract
def each_at_most(most: int) -> Spec:
    return Pay.all(lambda e: e.amount <= most)


@contract
def amounts(allowed: list[int]) -> Spec:
    return Pay.all(lambda e: e.amount in allowed)


@contract
def no_pay() -> Spec:
    return Pay.empty()


@contract
def pays_at_most(count: int) -> Spec:
    return Pay.count() <= count


@contract
def different_accounts() -> Spec:
    return Pay.distinct(lambda e: e.account)


@contract
def float_at_most(most: float) -> Spec:
    return PayFloat.all(lambda e: e.amount <= most)


@contract
def float_amounts(allowed: list[float]) -> Spec:
    return PayFloat.all(lambda e: e.amount in allowed)


@contract
def logs_at_most(count: int) -> Spec:
    return Log.count() <= count


@contract
def log_is(text: str) -> Spec:
    return Log.all(lambda e: e.text == text)


@contract
def log_never(text: str) -> Spec:
    return Log.all(lambda e: e.text != text)


@contract
def no_lookups() -> Spec:
    return Lookup.empty()


@contract
def to_users() -> Spec:
    return Send.all(lambda e: e.addr == UserRow.email)


@contract
def not_names() -> Spec:
    return Send.all(lambda e: e.addr != UserRow.name)


@contract
def stock_from_orders() -> Spec:
    return Sell.all(lambda e: e.stock == OrderRow.stock)


@contract
def shares_from_orders() -> Spec:
    return Sell.all(lambda e: comes_from(e.shares, OrderRow.shares))


@contract
def sells_an_order() -> Spec:
    return Sell.all(lambda e: same_row((e.stock, OrderRow.stock), (e.shares, OrderRow.shares)))


@contract
def sells_at_most(count: int) -> Spec:
    return Sell.count() <= count


@contract
def sold_at_most(shares: int) -> Spec:
    return Sell.sum(lambda e: e.shares) <= shares


@contract
def all_locked() -> Spec:
    return DoorLocked.final.all(lambda d: d.value == True)  # noqa: E712


@contract
def locked(door: str) -> Spec:
    return DoorLocked.final[door] == True  # noqa: E712


@contract
def logged_first() -> Spec:
    return Log.before(Send)


@contract
def logged_by_text() -> Spec:
    return Log.before(Send, lambda e: e.text, lambda e: e.msg)


@contract
def no_send_after_lookup() -> Spec:
    return Send.never_after(Lookup)


@contract
def exactly(count: int) -> Spec:
    return Send.count() == count


@contract
def quiet_and_bounded(count: int) -> Spec:
    return (Send.count() <= count) & Pay.empty()
