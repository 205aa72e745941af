"""Discontinued products cost 30 % less, but never below $1."""

from tools.office.trusted import contracts
from tools.office.trusted.effects import list_products, log, set_price

from lictor_layer import guarantee

MINIMUM_CENTS = 100


@guarantee(contracts.prices_at_least(100))
@guarantee(contracts.prices_only_listed_products())
def main() -> None:
    for product in list_products():
        if not product.discontinued or product.price_cents <= MINIMUM_CENTS:
            continue
        price = product.price_cents * 70 // 100
        set_price(product.sku, price)
        log(f"{product.name}: ${product.price_cents / 100:.2f} -> ${price / 100:.2f}")
