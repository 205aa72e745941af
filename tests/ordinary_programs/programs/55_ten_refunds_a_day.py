"""Refund returned orders below $30, at most ten a day."""

from tools.office.trusted import contracts
from tools.office.trusted.effects import list_orders, log, refund

from lictor_layer import guarantee

MAX_REFUNDS = 10
MAX_CENTS = 3000


@guarantee(contracts.at_most_refunds(10))
@guarantee(contracts.each_refund_at_most(3000))
@guarantee(contracts.no_charge())
def main() -> None:
    done = 0
    for order in list_orders("returned"):
        if done >= MAX_REFUNDS:
            log("The rest has to wait until tomorrow")
            break
        if order.total_cents <= 0 or order.total_cents > MAX_CENTS:
            continue
        refund(order.id, order.total_cents)
        done += 1
    log(f"{done} refunds made")
