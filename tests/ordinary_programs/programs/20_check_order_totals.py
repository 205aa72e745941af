"""Compare the total of each open order with the sum of its lines."""

from tools.office.trusted import contracts
from tools.office.trusted.effects import list_items, list_orders, log

from lictor_layer import guarantee


@guarantee(contracts.only_reads_and_logs())
@guarantee(contracts.something_is_logged())
def main() -> None:
    mismatches = 0
    for order in list_orders("open"):
        expected = 0
        for item in list_items(order.id):
            expected += item.quantity * item.unit_cents
        if expected != order.total_cents:
            mismatches += 1
            difference = (order.total_cents - expected) / 100
            log(f"Order {order.id}: off by {difference:+.2f}")
    log(f"{mismatches} orders don't add up" if mismatches else "All orders add up")
