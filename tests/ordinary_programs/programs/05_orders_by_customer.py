"""Send every customer one summary of their open orders."""

from tools.office.trusted import contracts
from tools.office.trusted.effects import list_orders, send_email
from tools.office.trusted.schemas import Order

from lictor_layer import guarantee


def summarize(orders: list[Order]) -> str:
    lines = []
    for order in orders:
        lines.append(f"Order {order.id} from {order.day}: ${order.total_cents / 100:.2f}")
    return "\n".join(lines)


@guarantee(contracts.mails_only_to_buyers())
@guarantee(contracts.one_mail_per_address())
def main() -> None:
    by_email: dict[str, list[Order]] = {}
    for order in list_orders("open"):
        if order.email not in by_email:
            by_email[order.email] = []
        by_email[order.email].append(order)

    for email, orders in by_email.items():
        send_email(email, "Your open orders", summarize(orders))
