"""Charge open orders; what fails is listed in the log."""

from tools.office.trusted import contracts
from tools.office.trusted.effects import charge, list_orders, log

from lictor_layer import guarantee

LIMIT_CENTS = 100_000


@guarantee(contracts.charges_only_buyers())
@guarantee(contracts.each_charge_at_most(100_000))
@guarantee(contracts.at_most_charges(200))
def main() -> None:
    failed = []
    for order in list_orders("open"):
        if not 0 < order.total_cents <= LIMIT_CENTS:
            continue
        try:
            reference = charge(order.customer_id, order.total_cents, f"Order {order.id}")
        except ConnectionError:
            failed.append(order)
        else:
            log(f"Charged order {order.id}: {reference}")

    for order in failed:
        log(f"Could not charge order {order.id} of {order.customer}")
