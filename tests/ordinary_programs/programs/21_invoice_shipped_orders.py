"""Write an invoice with sales tax for every shipped order."""

from tools.office.trusted import contracts
from tools.office.trusted.effects import create_invoice, list_orders, log, tax_percent

from lictor_layer import guarantee


def with_tax(cents: int, percent: int) -> int:
    return round(cents * (1 + percent / 100))


@guarantee(contracts.invoices_only_buyers())
@guarantee(contracts.at_most_invoices(200))
@guarantee(contracts.no_charge())
def main() -> None:
    written = 0
    for order in list_orders("shipped"):
        gross = with_tax(order.total_cents, tax_percent(order.region))
        if gross <= 0:
            log(f"Order {order.id} costs nothing, no invoice")
            continue
        number = create_invoice(order.customer_id, gross, f"Order {order.id} of {order.day}")
        log(f"Invoice {number}: ${gross / 100:.2f}")
        written += 1
    log(f"{written} invoices written")
