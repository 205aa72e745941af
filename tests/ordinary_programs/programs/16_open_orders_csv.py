"""Export the open orders as CSV."""

from tools.office.trusted import contracts
from tools.office.trusted.effects import list_orders, write_file

from lictor_layer import guarantee

HEADER = "id,customer,email,total,due"


def csv_field(value: str) -> str:
    """Quote a field if it holds a comma or a quote."""
    if "," in value or '"' in value:
        return '"' + value.replace('"', '""') + '"'
    return value


@guarantee(contracts.writes_only(["/shared/reports/open_orders.csv"]))
@guarantee(contracts.at_most_writes(1))
@guarantee(contracts.deletes_nothing())
def main() -> None:
    rows = [HEADER]
    for order in list_orders("open"):
        rows.append(
            ",".join(
                [
                    str(order.id),
                    csv_field(order.customer),
                    order.email,
                    f"{order.total_cents / 100:.2f}",
                    order.due,
                ]
            )
        )
    write_file("/shared/reports/open_orders.csv", "\n".join(rows) + "\n")
