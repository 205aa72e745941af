from tools.office.trusted.contracts import at_most_posts, changes_nothing, posts_only_to
from tools.office.trusted.effects import list_orders, post_message

from lictor_layer import guarantee

LARGE = 100_000  # cents


@guarantee(posts_only_to(["#finance"]))
@guarantee(at_most_posts(1))
@guarantee(changes_nothing())
def main() -> None:
    orders = list_orders("open")
    if any(order.total_cents >= LARGE for order in orders):
        count = sum(1 for order in orders if order.total_cents >= LARGE)
        biggest = max(order.total_cents for order in orders)
        post_message("#finance", f"{count} large orders are open, the largest over ${biggest / 100:,.2f}")
    elif orders and all(order.total_cents < 1_000 for order in orders):
        post_message("#finance", "Only tiny orders today")


if __name__ == "__main__":
    main()
