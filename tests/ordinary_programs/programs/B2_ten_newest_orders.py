"""Post the ten newest open orders, and how many there are in all."""

from tools.office.trusted import contracts
from tools.office.trusted.effects import list_orders, post_message

from lictor_layer import guarantee


@guarantee(contracts.posts_only_to(["#sales"]))
@guarantee(contracts.at_most_posts(10))
def main() -> None:
    orders = list_orders("open")
    newest = sorted(orders, key=lambda order: order.day, reverse=True)
    for order in newest[:10]:
        post_message("#sales", f"{order.day}: {order.customer}, ${order.total_cents / 100:.2f}")
    if len(orders) > 10:
        post_message("#sales", f"... and {len(orders) - 10} more")
