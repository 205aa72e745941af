"""Refund returned orders in full, if they are not above the limit for automatic refunds."""

from tools.office.trusted import contracts
from tools.office.trusted.effects import list_orders, log, refund

from lictor_layer import guarantee

LIMIT_CENTS = 5_000


@guarantee(contracts.each_refund_at_most(5000))
@guarantee(contracts.refunds_are_order_totals())
def main() -> None:
    skipped = []
    for order in list_orders("returned"):
        if 0 < order.total_cents <= LIMIT_CENTS:
            reference = refund(order.id, order.total_cents)
            log(f"Refunded order {order.id}: {reference}")
        else:
            skipped.append(order.id)
    if skipped:
        log("Needs a person: " + ", ".join(str(order_id) for order_id in skipped))
