"""Refund returned orders, the oldest first, until today's budget of $200 is spent."""

from tools.office.trusted import contracts
from tools.office.trusted.effects import list_orders, log, refund

from lictor_layer import guarantee

BUDGET_CENTS = 20_000


@guarantee(contracts.refunds_in_sum_at_most(20_000))
@guarantee(contracts.refunds_only_listed_orders())
def main() -> None:
    remaining = BUDGET_CENTS
    for order in sorted(list_orders("returned"), key=lambda o: o.day):
        if order.total_cents == 0:
            continue
        if order.total_cents > remaining:
            log(f"Budget is spent, stopped at order {order.id}")
            break
        refund(order.id, order.total_cents)
        remaining -= order.total_cents
    log(f"${remaining / 100:.2f} of the budget left")
