from dataclasses import dataclass

from tools.office.trusted import contracts
from tools.office.trusted.effects import list_products, post_message

from lictor_layer import guarantee


@dataclass
class StockLine:
    name: str
    missing: int
    value_cents: int

    def render(self) -> str:
        return f"{self.name}: {self.missing} missing (${self.value_cents / 100:.2f})"


@guarantee(contracts.posts_only_to(["#warehouse"]))
@guarantee(contracts.changes_nothing())
def main() -> None:
    report: list[StockLine] = []
    for product in list_products():
        missing = product.minimum - product.stock
        if missing > 0:
            report.append(StockLine(product.name, missing, missing * product.price_cents))

    report.sort(key=lambda line: line.value_cents, reverse=True)
    if report:
        post_message("#warehouse", "\n".join(line.render() for line in report))
    else:
        post_message("#warehouse", "Stock is fine.")
