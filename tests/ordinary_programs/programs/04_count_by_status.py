from tools.office.trusted.contracts import only_reads_and_logs
from tools.office.trusted.effects import list_orders, log

from lictor_layer import guarantee

STATUSES = ["open", "shipped", "cancelled", "returned"]


@guarantee(only_reads_and_logs())
def main() -> None:
    counts = {status: len(list_orders(status)) for status in STATUSES}
    for status, count in counts.items():
        log(f"{status}: {count}")
    log(f"total: {sum(counts.values())}")


if __name__ == "__main__":
    main()
