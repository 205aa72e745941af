"""Send every customer one summary of their open orders."""

from tools.office.trusted import contracts
from tools.office.trusted.effects import list_orders, send_email

from lictor_layer import guarantee


@guarantee(contracts.mails_only_to_buyers())
@guarantee(contracts.one_mail_per_address())
def main() -> None:
    done = set()
    orders = list_orders("open")
    for order in orders:
        if order.customer in done:
            continue
        done.add(order.customer)
        mine = [o for o in orders if o.customer == order.customer]
        total = sum(o.total_cents for o in mine)
        send_email(order.email, "Your open orders", f"{len(mine)} orders, ${total / 100:.2f} in all")
