from tools.office.trusted import contracts
from tools.office.trusted.effects import list_products, write_file

from lictor_layer import guarantee


@guarantee(contracts.writes_only(["/shared/reports/prices.txt"]))
@guarantee(contracts.at_most_writes(1))
def main() -> None:
    products = [p for p in list_products() if not p.discontinued]
    width = max((len(p.name) for p in products), default=10)
    table = [f"{'Product':<{width}}  {'SKU':<8}  {'Price':>10}", "-" * (width + 22)]
    for p in sorted(products, key=lambda p: p.name.lower()):
        table.append(f"{p.name:<{width}}  {p.sku:<8}  {p.price_cents / 100:>10,.2f}")
    table.append(f"{len(products)} products")
    write_file("/shared/reports/prices.txt", "\n".join(table))
