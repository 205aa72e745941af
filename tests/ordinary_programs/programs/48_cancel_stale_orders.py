"""Cancel open orders that are overdue by more than 60 days, and tell the buyer."""

from datetime import date

from tools.office.trusted import contracts
from tools.office.trusted.effects import list_orders, log, send_email, set_order_status, today

from lictor_layer import guarantee

MAX_DAYS_OVERDUE = 60


def days_between(earlier: str, later: str) -> int:
    return (date.fromisoformat(later) - date.fromisoformat(earlier)).days


@guarantee(contracts.order_status_only(["cancelled"]))
@guarantee(contracts.only_listed_orders_change())
@guarantee(contracts.mails_only_to_buyers())
def main() -> None:
    now = today()
    for order in list_orders("open"):
        try:
            overdue = days_between(order.due, now)
        except ValueError:
            log(f"Order {order.id} has a strange due date: {order.due}")
            continue
        if overdue > MAX_DAYS_OVERDUE:
            set_order_status(order.id, "cancelled")
            send_email(
                order.email,
                f"Order {order.id} was cancelled",
                f"Dear {order.customer}, your order was {overdue} days overdue, so we cancelled it.",
            )
