"""Charge a customer's fee, with up to three attempts."""

from tools.office.trusted import contracts
from tools.office.trusted.effects import charge, log

from lictor_layer import guarantee

CUSTOMER = 4
FEE_CENTS = 1_900


def try_charge() -> bool:
    try:
        charge(CUSTOMER, FEE_CENTS, "monthly fee")
    except ConnectionError as error:
        log(f"Charge failed: {error}")
        return False
    return True


@guarantee(contracts.at_most_charges(3))
@guarantee(contracts.each_charge_at_most(1_900))
def main() -> None:
    attempts = 0
    done = try_charge()
    while not done and attempts < 3:
        attempts += 1
        done = try_charge()
    log("Charged" if done else "Gave up")
