import statistics

from tools.office.trusted import contracts
from tools.office.trusted.effects import list_orders, log

from lictor_layer import guarantee


def dollars(cents: float) -> str:
    return f"${cents / 100:,.2f}"


@guarantee(contracts.only_reads_and_logs())
def main() -> None:
    totals = [order.total_cents for order in list_orders("shipped")]
    if not totals:
        log("Nothing was shipped")
        return
    average = sum(totals) / len(totals)
    median = statistics.median(totals)
    log(f"{len(totals)} orders, average {dollars(average)}, median {dollars(median)}")
    log(f"from {dollars(min(totals))} to {dollars(max(totals))}")
