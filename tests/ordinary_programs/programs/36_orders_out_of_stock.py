"""Tell the warehouse which open orders can't be shipped because something is missing."""

from tools.office.trusted import contracts
from tools.office.trusted.effects import list_items, list_orders, list_products, post_message

from lictor_layer import guarantee


@guarantee(contracts.posts_only_to(["#warehouse"]))
@guarantee(contracts.at_most_posts(1))
@guarantee(contracts.changes_nothing())
def main() -> None:
    products = {product.sku: product for product in list_products()}
    blocked = []
    for order in list_orders("open"):
        for item in list_items(order.id):
            product = products.get(item.sku)
            if product is None:
                blocked.append(f"Order {order.id}: unknown product {item.sku}")
            elif product.stock < item.quantity:
                blocked.append(
                    f"Order {order.id}: {item.quantity} x {product.name}, only {product.stock} in stock"
                )
    if blocked:
        post_message("#warehouse", "\n".join(blocked))
