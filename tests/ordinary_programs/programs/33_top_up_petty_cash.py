"""Top up petty cash to $100 from the main account, by at most $80."""

from tools.office.trusted import contracts
from tools.office.trusted.effects import get_balance, log, transfer

from lictor_layer import guarantee

TARGET_CENTS = 10_000
MAX_TOP_UP_CENTS = 8_000


@guarantee(contracts.transfers_only("main", "petty_cash"))
@guarantee(contracts.transfers_in_sum_at_most(8_000))
@guarantee(contracts.at_most_transfers(1))
def main() -> None:
    petty_cash = get_balance("petty_cash")
    if petty_cash >= TARGET_CENTS:
        log("Petty cash is full")
        return

    amount = min(TARGET_CENTS - petty_cash, MAX_TOP_UP_CENTS)
    if get_balance("main") < amount:
        log("Not enough money in the main account")
        return

    transfer("main", "petty_cash", amount)
    log(f"Moved ${amount / 100:.2f} to petty cash")
