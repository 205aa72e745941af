import json

from tools.office.trusted import contracts
from tools.office.trusted.effects import list_invoices, log, today, write_file

from lictor_layer import guarantee


@guarantee(contracts.writes_only_under("/shared/exports"))
@guarantee(contracts.at_most_writes(1))
@guarantee(contracts.no_money())
def main() -> None:
    invoices = list_invoices(False)
    payload = {
        "generated": today(),
        "count": len(invoices),
        "total_cents": sum(i.amount_cents for i in invoices),
        "invoices": [
            {"number": i.number, "customer": i.customer, "amount_cents": i.amount_cents, "due": i.due}
            for i in invoices
        ],
    }
    write_file("/shared/exports/unpaid_invoices.json", json.dumps(payload, indent=2))
    log(f"Exported {len(invoices)} invoices")
