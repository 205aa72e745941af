from tools.office.trusted import contracts
from tools.office.trusted.effects import list_orders, post_message

from lictor_layer import guarantee


@guarantee(contracts.posts_only_to(["#sales"]))
@guarantee(contracts.exactly_posts(1))
def main() -> None:
    orders = list_orders("shipped")
    top = sorted(orders, key=lambda order: order.total_cents, reverse=True)[:5]
    text = "Top 5 shipped orders:\n"
    for rank, order in enumerate(top, start=1):
        text += f"{rank}. {order.customer} - ${order.total_cents / 100:,.2f}\n"
    post_message("#sales", text)
