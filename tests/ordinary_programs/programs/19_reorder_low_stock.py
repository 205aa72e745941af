"""Reorder what is below its minimum, but never more than 100 pieces at once."""

from tools.office.trusted import contracts
from tools.office.trusted.effects import list_products, log, reorder

from lictor_layer import guarantee

MAX_QUANTITY = 100


@guarantee(contracts.each_reorder_at_most(100))
@guarantee(contracts.reorders_only_listed_products())
def main() -> None:
    for product in list_products():
        if product.discontinued or product.stock >= product.minimum:
            continue
        quantity = min(2 * product.minimum - product.stock, MAX_QUANTITY)
        reorder(product.sku, quantity)
        log(f"Reordered {quantity} x {product.name} ({product.sku})")
