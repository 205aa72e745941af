"""Late orders get 10 % back, at most $10 each."""

from tools.office.trusted import contracts
from tools.office.trusted.effects import list_orders, refund, send_email, today

from lictor_layer import guarantee


def goodwill(total_cents: int) -> int:
    return min(total_cents // 10, 1_000)


@guarantee(contracts.each_refund_at_most(1_000))
@guarantee(contracts.refunds_in_sum_at_most(200_000))
@guarantee(contracts.mails_only_to_buyers())
def main() -> None:
    now = today()
    late_orders = [order for order in list_orders("open") if order.due < now]
    for order in late_orders:
        cents = goodwill(order.total_cents)
        if cents > 0:
            refund(order.id, cents)
            send_email(
                order.email,
                "Sorry for the delay",
                f"Hi {order.customer}, we have refunded ${cents / 100:.2f} of order {order.id}.",
            )
