"""Go through all pages of orders and log how many there are and what they are worth."""

from tools.office.trusted import contracts
from tools.office.trusted.effects import log, orders_page

from lictor_layer import guarantee


@guarantee(contracts.only_reads_and_logs())
@guarantee(contracts.at_most_log_lines(1))
def main() -> None:
    page = 1
    count = 0
    total_cents = 0
    while True:
        orders = orders_page(page)
        if not orders:
            break
        count += len(orders)
        total_cents += sum(order.total_cents for order in orders)
        page += 1
    log(f"{count} orders on {page - 1} pages, worth ${total_cents / 100:,.2f}")
