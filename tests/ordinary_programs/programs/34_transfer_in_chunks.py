"""Move up to $200 from main to payroll in transfers of at most $50."""

from tools.office.trusted import contracts
from tools.office.trusted.effects import get_balance, log, transfer

from lictor_layer import guarantee

MAX_TOTAL = 20_000
CHUNK = 5_000


@guarantee(contracts.transfers_only("main", "payroll"))
@guarantee(contracts.transfers_in_sum_at_most(20_000))
@guarantee(contracts.at_most_transfers(4))
def main() -> None:
    remaining = min(get_balance("main"), MAX_TOTAL)
    while remaining > 0:
        amount = min(remaining, CHUNK)
        transfer("main", "payroll", amount)
        remaining -= amount
    log("Done")
