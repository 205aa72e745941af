"""Post a digest of all open orders to the team channel."""

from tools.office.trusted import contracts
from tools.office.trusted.effects import list_orders, post_message

from lictor_layer import guarantee


@guarantee(contracts.posts_only_to(["#team"]))
@guarantee(contracts.exactly_posts(1))
@guarantee(contracts.changes_nothing())
def main() -> None:
    orders = list_orders("open")
    lines = [f"Open orders: {len(orders)}"]
    total = 0
    for order in orders:
        lines.append(f"- #{order.id} {order.customer}: ${order.total_cents / 100:,.2f}")
        total += order.total_cents
    lines.append(f"Total: ${total / 100:,.2f}")
    post_message("#team", "\n".join(lines))
