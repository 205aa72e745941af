"""Refund returned orders until today's budget of $200 is spent."""

from tools.office.trusted import contracts
from tools.office.trusted.effects import list_orders, log, refund

from lictor_layer import guarantee

BUDGET_CENTS = 20_000


@guarantee(contracts.refunds_in_sum_at_most(20_000))
@guarantee(contracts.refunds_only_listed_orders())
def main() -> None:
    spent = 0
    for order in list_orders("returned"):
        if spent >= BUDGET_CENTS:
            log("The budget is spent")
            break
        if order.total_cents > 0:
            refund(order.id, order.total_cents)
            spent += order.total_cents
    log(f"Refunded ${spent / 100:.2f}")
