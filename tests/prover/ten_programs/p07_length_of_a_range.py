from tools.bank.trusted import contracts as c
from tools.bank.trusted.effects import balance, charge

import lictor_layer


@lictor_layer.guarantee(c.at_most(5))
def main() -> None:
    if len(range(balance("ann"))) > 3:
        charge("ann", 5)
