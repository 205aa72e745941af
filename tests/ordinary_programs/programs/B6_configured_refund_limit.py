"""Refund returned orders up to the limit of the setting refund_limit_cents."""

from tools.office.trusted import contracts
from tools.office.trusted.effects import get_setting, list_orders, log, refund

from lictor_layer import guarantee


@guarantee(contracts.each_refund_at_most(5_000))
@guarantee(contracts.refunds_only_listed_orders())
def main() -> None:
    try:
        limit = int(get_setting("refund_limit_cents"))
    except ValueError:
        limit = 5_000
    for order in list_orders("returned"):
        if 0 < order.total_cents <= limit:
            refund(order.id, order.total_cents)
        else:
            log(f"Order {order.id} is not refunded automatically")
