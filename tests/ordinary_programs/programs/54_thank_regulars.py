"""Thank customers with three or more shipped orders."""

from collections import Counter

from tools.office.trusted import contracts
from tools.office.trusted.effects import get_customer, list_orders, log, send_email

from lictor_layer import guarantee


@guarantee(contracts.mails_only_to_customers())
@guarantee(contracts.at_most_mails(200))
def main() -> None:
    orders_per_customer = Counter(order.customer_id for order in list_orders("shipped"))
    for customer_id, count in orders_per_customer.most_common():
        if count < 3:
            break
        try:
            customer = get_customer(customer_id)
        except KeyError:
            log(f"Customer {customer_id} does not exist any more")
            continue
        send_email(
            customer.email,
            "Thank you!",
            f"Dear {customer.name},\n\nthank you for {count} orders. It means a lot to us.",
        )
