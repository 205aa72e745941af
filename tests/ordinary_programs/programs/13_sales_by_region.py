"""Weekly summary: sales per region, the largest first."""

from collections import defaultdict

from tools.office.trusted import contracts
from tools.office.trusted.effects import list_orders, post_message, today

from lictor_layer import guarantee


@guarantee(contracts.posts_only_to(["#management"]))
@guarantee(contracts.exactly_posts(1))
@guarantee(contracts.no_mail())
def main() -> None:
    totals = defaultdict(int)
    for status in ("open", "shipped"):
        for order in list_orders(status):
            totals[order.region] += order.total_cents

    lines = [f"Sales by region, {today()}"]
    for region, cents in sorted(totals.items(), key=lambda pair: pair[1], reverse=True):
        lines.append(f"{region:<10}{cents / 100:>12,.2f}")
    post_message("#management", "\n".join(lines))
