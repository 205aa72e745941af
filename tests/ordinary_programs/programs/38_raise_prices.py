"""Raise all prices by the percentage of the setting price_rules, to at least $1."""

import json

from tools.office.trusted import contracts
from tools.office.trusted.effects import get_setting, list_products, log, set_price

from lictor_layer import guarantee

MINIMUM_CENTS = 100


@guarantee(contracts.prices_at_least(100))
@guarantee(contracts.prices_only_listed_products())
def main() -> None:
    try:
        rules = json.loads(get_setting("price_rules"))
        percent = int(rules["increase_percent"])
    except (ValueError, KeyError, TypeError):
        log("price_rules can't be read")
        return

    for product in list_products():
        price = max(round(product.price_cents * (100 + percent) / 100), MINIMUM_CENTS)
        if price != product.price_cents:
            set_price(product.sku, price)
            log(f"{product.sku}: {product.price_cents} -> {price}")
